/*
 * Ranks by Zipf's law: rank k of n comes with a chance in proportion to k^-theta. By rejection and
 * inversion (Hoermann and Derflinger, "Rejection-Inversion to Generate Variates from Monotone
 * Discrete Distributions", 1996): no table, and the same cost for any n. Ranks past 2^53 are not
 * told apart from their neighbours.
 */
#ifndef LB_ZIPF_H
#define LB_ZIPF_H

#include <stdint.h>

#include "rng.h"

struct lb_zipf {
	double theta, n;
	double area_1, area_n; /* where the areas under the hat begin and end */
	double sure;           /* so near to its rank a number needs no second look */
};

/* N > 0, 0 < THETA. */
void lb_zipf_init(struct lb_zipf *z, uint64_t n, double theta);

/* A rank from 0, the most frequent, to n - 1. */
uint64_t lb_zipf_draw(const struct lb_zipf *z, struct lb_rng *rng);

#endif
