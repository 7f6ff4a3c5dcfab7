/*
 * The time series: what each LUN, and all together, did in each interval of the window. Points are
 * differences of the cells' counters (sampler.h); when the room is used up neighbours are merged
 * two by two, and from then on twice as many intervals make a point, so a run of days takes no more
 * memory than one of an hour. It lies on the board.
 */
#ifndef LB_SERIES_H
#define LB_SERIES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hist.h"
#include "shm.h"

#define LB_SERIES_MOST 3600u /* points of one LUN, at most; see lb_series_room() */

struct lb_plan;

/*
 * One op in one interval. Percentiles: 0 where they cannot be told: too few, or a LUN's in a point
 * of several intervals. Of the counters of one point some may have seen a batch more than others.
 */
struct lb_point {
	uint64_t xfers, bytes, errors;
	uint64_t sum_ns, max_ns; /* of latencies; max to within a bucket of the histogram */
	uint64_t p50_ns, p99_ns;
	/* open loop only, else 0 */
	double response_sum_ns; /* see lb_resp */
	uint64_t response_max_ns, response_p99_ns;
};

/* Of both ops. */
struct lb_point_both {
	uint64_t gap_ns;    /* longest gap that ended or lasted in it; total: of any LUN */
	uint32_t in_flight; /* at its end */
	uint32_t n_silent;  /* total only: LUNs with I/O in flight that did nothing in it */
	uint64_t backlog;   /* open loop: due and not begun, at its end */
};

/*
 * Row R (the LUNs in plan order, then the total), point I: points[(R * n_ops + pos) * room + I],
 * both[R * room + I]. Ops that the run does not have take no room: see pos.
 */
struct lb_series {
	uint64_t asked_ns;    /* --interval */
	uint64_t interval_ns; /* of one point by now: a multiple of asked_ns */
	uint32_t room, n_rows, n_ops;
	int8_t pos[2]; /* of enum lb_op: its position among the n_ops, or -1 */
	/* The first n points are whole. Read version, n, points, version: when that is odd, or has
	 * changed, they were being merged. */
	_Atomic uint32_t n, version;
	uint32_t n_folded; /* intervals that point n has so far */
	uint64_t begin_ns; /* the window's opening */
	uint64_t *end_ns;  /* of each point: its begin is the end of the one before */
	struct lb_point *points;
	struct lb_point_both *both;
	struct lb_hist *total; /* of the total: that of point I at total[pos * room + I] */
	uint32_t first_bucket[2], last_bucket[2]; /* by position: all of total[] lies between */
};

/*
 * Points of one row for N_LUNS: min(3600, 1,000,000 / LUNs), even, at least 4; fewer where TIME_NS
 * (0: not known) has fewer INTERVAL_NS.
 */
uint32_t lb_series_room(uint32_t n_luns, uint64_t interval_ns, uint64_t time_ns);

/* Bytes that it takes, at most: of N_OPS ops. */
uint64_t lb_series_bytes(uint32_t n_luns, uint32_t n_ops, uint64_t interval_ns, uint64_t time_ns);

/* The empty series of a run of PLAN, a point each plan->interval_ns. NULL: out of room in SHM. */
struct lb_series *lb_series_make(struct lb_shm *shm, const struct lb_plan *plan);

/* Adds one more interval, which is the only point of SAMPLE, a series over the same rows. */
void lb_series_fold(struct lb_series *s, const struct lb_series *sample);

/* No interval will come any more. */
void lb_series_end(struct lb_series *s);

static inline struct lb_point *lb_series_point(
	const struct lb_series *s, uint32_t row, uint32_t pos, uint32_t i)
{
	return &s->points[((uint64_t)row * s->n_ops + pos) * s->room + i];
}

static inline struct lb_point_both *lb_series_both(
	const struct lb_series *s, uint32_t row, uint32_t i)
{
	return &s->both[(uint64_t)row * s->room + i];
}

/* Rounded; 0: nothing came back. */
static inline uint64_t lb_point_mean_ns(const struct lb_point *p)
{
	return p->xfers ? p->sum_ns / p->xfers + (p->sum_ns % p->xfers * 2 >= p->xfers) : 0;
}

static inline uint64_t lb_point_response_mean_ns(const struct lb_point *p)
{
	return p->xfers ? (uint64_t)(p->response_sum_ns / (double)p->xfers + 0.5) : 0;
}

/* The begin of point I. */
static inline uint64_t lb_series_begin_ns(const struct lb_series *s, uint32_t i)
{
	return i ? s->end_ns[i - 1] : s->begin_ns;
}

/* The total's percentiles at point I, of the histogram, and how many LUNs did nothing in it. */
void lb_series_settle(struct lb_series *s, uint32_t i);

/* Percentiles of P, whose max_ns is set, from latencies that H has between two buckets. */
void lb_point_rank(struct lb_point *p, const struct lb_hist *h, uint32_t first, uint32_t last);

#endif
