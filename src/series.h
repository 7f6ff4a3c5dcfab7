/*
 * The time series: what each LUN, and all together, did in each interval of the window. Points are
 * differences of the cells' counters, taken by whoever drives control; when the room is used up
 * neighbours are merged two by two and the interval doubles, so a run of days takes no more memory
 * than one of an hour. The points lie on the board; what is needed to take them does not.
 */
#ifndef LB_SERIES_H
#define LB_SERIES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hist.h"
#include "shm.h"

#define LB_SERIES_MOST 3600u /* points of one LUN, at most; see lb_series_room() */

struct lb_board;
struct lb_plan;

/* One op in one interval. Percentiles: 0 where they cannot be told (too few, or merged). */
struct lb_point {
	uint64_t xfers, bytes, errors;
	uint64_t sum_ns, max_ns; /* of latencies; max to within a bucket of the histogram */
	uint64_t p50_ns, p99_ns;
	uint64_t response_sum_ns, response_max_ns, response_p99_ns; /* open loop only, else 0 */
};

/* Of both ops. */
struct lb_point_both {
	uint64_t gap_ns;    /* longest gap that ended or lasted in it; total: of any LUN */
	uint32_t in_flight; /* at its end */
	uint32_t n_silent;  /* total only: LUNs with I/O in flight that did nothing in it */
	uint64_t backlog;   /* open loop: due and not begun, at its end */
};

/*
 * Row R (the LUNs in plan order, then the total), point I: points[(R * n_ops + op) * room + I],
 * both[R * room + I]. Ops that the run does not have take no room: see op_at.
 */
struct lb_series {
	uint64_t interval_ns; /* of one point, as merged by now */
	uint64_t asked_ns;    /* --interval */
	uint32_t room, n_rows, n_ops;
	int8_t op_at[2]; /* of enum lb_op: its position, or -1 */
	/* n points are whole; read n, then points, then version again: if that has changed, they
	 * were merged meanwhile */
	_Atomic uint32_t n, version;
	uint64_t begin_ns; /* the window's opening */
	uint64_t *end_ns;  /* of each point: its begin is the end of the one before */
	struct lb_point *points;
	struct lb_point_both *both;
	struct lb_hist *total; /* of the total: hist of point I, op O at total[O * room + I] */
};

/* Points of one row for N_LUNS: min(3600, 1,000,000 / LUNs), even, at least 4. */
uint32_t lb_series_room(uint32_t n_luns);

/* Bytes of the shared mapping that it takes, at most. */
uint64_t lb_series_bytes(uint32_t n_luns);

/* Makes the empty series of a run of PLAN, a point each INTERVAL_NS. NULL: out of room in SHM. */
struct lb_series *lb_series_make(
	struct lb_shm *shm, const struct lb_plan *plan, uint64_t interval_ns);

static inline struct lb_point *lb_series_point(
	const struct lb_series *s, uint32_t row, uint32_t pos, uint32_t i)
{
	return &s->points[((uint64_t)row * s->n_ops + pos) * s->room + i];
}

/* What the next point is the difference from; private to who takes them. */
struct lb_sampler;

/* Returns 0 or -ENOMEM; allocates all that lb_sampler_take() will ever need. */
int lb_sampler_make(struct lb_sampler **s, struct lb_board *board);
void lb_sampler_done(struct lb_sampler *s);

/* Begins at the window's opening: what was counted so far is in no point. */
void lb_sampler_begin(struct lb_sampler *s, uint64_t open_ns);

/* When the next point ends; LB_NEVER before the beginning and after the end. */
uint64_t lb_sampler_due(const struct lb_sampler *s);

/* Ends the current point at NOW_NS, and begins the next. */
void lb_sampler_take(struct lb_sampler *s, uint64_t now_ns);

#endif
