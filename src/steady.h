/*
 * Steady state, by the rule of SNIA's Performance Test Specification (PTS 2.0.2, "Steady State"):
 * over five windows the values' range is at most 20% of their mean, and the straight line fitted
 * to them (least squares) rises or falls by at most 10% of it from the first to the last.
 */
#ifndef LB_STEADY_H
#define LB_STEADY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hist.h"
#include "series.h"

#define LB_STEADY_WINDOWS 5

enum lb_steady_on { LB_STEADY_XFER, LB_STEADY_KB, LB_STEADY_P99 }; /* xfers/s, KB/s, ns */

struct lb_steady_fit {
	double mean, range_pct, slope_pct; /* of the mean; slope over all windows (|slope| x 4) */
	bool is_steady;
};

/* V: the five last windows' values, in order. A mean of 0 is never steady. */
struct lb_steady_fit lb_steady_judge(const double v[LB_STEADY_WINDOWS]);

/* How far a run has come. On the board: written by who drives control, read when it is over. */
struct lb_steady {
	uint32_t n; /* of the values, which are of the last windows, in order */
	double value[LB_STEADY_WINDOWS];
	uint64_t end_ns[LB_STEADY_WINDOWS];
	struct lb_steady_fit fit; /* of all five, when there are so many */
	bool is_reached;
};

/* The window that goes on. */
struct lb_steady_gauge {
	enum lb_steady_on on;
	uint64_t window_ns, begin_ns, due_ns;
	uint64_t xfers, bytes;
	uint32_t first_bucket, last_bucket; /* hist lies between */
	struct lb_hist hist;
};

/* From OPEN_NS on, in windows of WINDOW_NS. */
void lb_steady_begin(
	struct lb_steady_gauge *g, enum lb_steady_on on, uint64_t window_ns, uint64_t open_ns);

/*
 * Adds an interval of the time series, the only point of SAMPLE, and at the end of a window judges
 * the last five. Returns whether the steady state is reached.
 */
bool lb_steady_add(
	struct lb_steady_gauge *g, struct lb_steady *steady, const struct lb_series *sample);

#endif
