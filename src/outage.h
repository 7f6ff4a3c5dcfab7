/*
 * What an outage cost, worked out from a plain series: points of a rate over time, and the events
 * beside them. Sees neither board nor result, so that it works on a saved result as well.
 */
#ifndef LB_OUTAGE_H
#define LB_OUTAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One interval; times in seconds from the window's opening. */
struct lb_outage_point {
	double begin_s, end_s;
	double xfers;
	double p99_ns; /* of reads and writes together, or of responses in open loop; < 0: unknown
			*/
};

/* A moment, or span, in which something happened to the LUN: a stall, errors, a path's state. */
struct lb_outage_event {
	double begin_s, end_s;
};

struct lb_outage {
	double begin_s, end_s; /* end_s: when it had recovered, or the last point's end */
	bool has_recovered;
	double baseline_per_s; /* median rate of the intervals before it */
	double fall_pct;       /* depth: the lowest rate below the baseline, 0 to 100 */
	double below_s;        /* time in it below 95% of the baseline */
	double lost_xfers;     /* against the baseline, what a burst made up not counted */
	double worst_p99_ns;   /* < 0: unknown */
	double catch_up_pct;   /* the highest rate after it above the baseline; 0: no burst */
	double catch_up_s;     /* how long that lasted */
};

/*
 * Finds the outages of N points, in order of time, and writes at most MAX to OUT; returns how many
 * there are, or -ENOMEM. What makes one is said in lunbench(8), "Outages".
 */
int lb_outages_find(const struct lb_outage_point *points, size_t n,
	const struct lb_outage_event *events, size_t n_events, struct lb_outage *out, size_t max);

#endif
