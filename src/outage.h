/*
 * What an outage cost, worked out from a plain series: points of a rate over time, and the events
 * beside them. Sees neither board nor result, so that it works on a saved result as well.
 */
#ifndef LB_OUTAGE_H
#define LB_OUTAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LB_OUTAGE_POINTS_MIN 5 /* fewer have no baseline */

/* One interval; times in seconds from the window's opening. Latencies of reads and writes, the
 * worse of both, in open loop of the responses; < 0: unknown. */
struct lb_outage_point {
	double begin_s, end_s;
	double xfers;
	double p99_ns, max_ns;
};

/* A moment, or span, in which something happened to the LUN: a stall, errors, a path's state. */
struct lb_outage_event {
	double begin_s, end_s;
};

struct lb_outage {
	double begin_s, end_s; /* end_s: when it had recovered, or the last point's end */
	bool has_recovered;
	bool has_event;        /* one stands beside it; else the rate alone tells of it */
	double baseline_per_s; /* median rate of the quiet intervals before it; > 0 */
	double fall_pct;       /* depth: the lowest rate below the baseline, 0 to 100 */
	double mean_fall_pct;  /* the mean rate in it below the baseline */
	double below_s;        /* time in it below 95% of the baseline */
	double lost_xfers;     /* in it, against the baseline */
	double worst_p99_ns, worst_max_ns; /* in it, or as it ended; < 0: unknown */
	double catch_up_pct;   /* the highest rate after it above the baseline; 0: no burst */
	double catch_up_s;     /* how long that lasted */
	double catch_up_xfers; /* what it did above the baseline */
};

/*
 * Finds the outages of N points, which are in order of time, and events in any order. Returns how
 * many there are, in *OUT (the caller frees it; NULL where there are none), or -ENOMEM. What makes
 * an outage is said in lunbench(8), "Outages".
 */
int lb_outages_find(const struct lb_outage_point *points, size_t n,
	const struct lb_outage_event *events, size_t n_events, struct lb_outage **out);

#endif
