/*
 * Steady state, by the rule of SNIA's Performance Test Specification (PTS 2.0.2, "Steady State"):
 * over five windows the values' range is at most 20% of their mean, and the straight line fitted
 * to them (least squares) rises or falls by at most 10% of it from the first to the last.
 */
#ifndef LB_STEADY_H
#define LB_STEADY_H

#include <stdbool.h>

#define LB_STEADY_WINDOWS 5

struct lb_steady_fit {
	double mean, range_pct, slope_pct; /* of the mean; slope over all windows (|slope| x 4) */
	bool is_steady;
};

/* V: the five last windows' values, in order. A mean of 0 is never steady. */
struct lb_steady_fit lb_steady_judge(const double v[LB_STEADY_WINDOWS]);

#endif
