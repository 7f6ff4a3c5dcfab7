/*
 * Taking what has come back: each I/O into the cell of its lane, or to those that wait; what is to
 * be issued again is aimed anew and left at the front of its batch. What every transfer passes
 * through is inline here; the loops that turn around it are those of worker.c.
 */
#ifndef LB_WORKER_TAKE_H
#define LB_WORKER_TAKE_H

#include "clock.h"
#include "pulse.h"
#include "worker.h"

static inline uint64_t lb_worker_now(const struct lb_worker *w)
{
	return __builtin_expect(w->ops->now != NULL, 0) ? w->ops->now(w->engine) : lb_now_ns();
}

/* The same for lb_window_close(). */
uint64_t lb_worker_clock(void *w);

static inline bool lb_is_good(const struct lb_io *io)
{
	return __builtin_expect((uint32_t)io->res == io->len, 1);
}

/* Failed or short: written down, and the lane backs off, so that errors do not come in storms. */
void lb_take_error(struct lb_worker *w, struct lb_io *io, uint64_t t, bool in_window);

/*
 * The lane of IO has come to a number of transfers at which something is to be done: look at its
 * data, or, when the next batch may bring it to --count, settle from then on which of a batch
 * still count.
 */
void lb_take_look(struct lb_worker *w, struct lb_lane *lane, const struct lb_io *io);

/*
 * Records the batch reaped at T, whatever the moment; what is to be issued again is left at its
 * front and counted.
 */
uint32_t lb_take(struct lb_worker *w, struct lb_io **batch, uint32_t n, uint64_t t);

/*
 * Looks whether LUNs were retired: their I/O leaves the N of BATCH, which are about to be issued,
 * and those that are parked. Returns how many are left.
 */
uint32_t lb_take_retired(struct lb_worker *w, struct lb_io **batch, uint32_t n);

/* From here on nothing is issued, and nothing changes in the cells but what came late. */
void lb_take_close(struct lb_worker *w);

/* One more I/O of LANE is about to be in flight; one that was is not any more. */
static inline void lb_lane_wakes(struct lb_lane *lane, uint64_t t)
{
	lane = lb_lane_first(lane);
	if (lane->n_resting-- == lane->qd)
		lb_pulse_begin(lane->cell[LB_READ]->lun, t);
}

static inline void lb_lane_rests(struct lb_lane *lane)
{
	lane = lb_lane_first(lane);
	if (++lane->n_resting == lane->qd)
		lb_pulse_rest(lane->cell[LB_READ]->lun);
}

/* Something of CELL's lane came back at T, in the window. */
static inline __attribute__((always_inline)) void lb_take_pulse(
	struct lb_cell *cell, uint64_t t, const enum lb_sharing sharing)
{
	if (sharing)
		lb_pulse_shared(cell->lun, t);
	else
		lb_pulse(cell->lun, t);
}

/*
 * IO, a good transfer inside the window, into CELL. Returns whether there is more to do: the
 * `look_at` number of transfers has been reached.
 */
static inline __attribute__((always_inline)) bool lb_take_one(
	const struct lb_io *io, struct lb_cell *cell, uint64_t t, const enum lb_sharing sharing)
{
	uint64_t lat = t - io->issue_ns;
	uint64_t *bucket = &cell->hist->count[lb_hist_bucket(lat)];

	if (sharing == LB_SHARES_HIST)
		__atomic_fetch_add(bucket, 1, __ATOMIC_RELAXED);
	else
		++*bucket;
	cell->sum_ns += lat;
	if (__builtin_expect(lat < cell->min_ns, 0))
		cell->min_ns = lat;
	if (__builtin_expect(lat > cell->max_ns, 0))
		cell->max_ns = lat;
	return __builtin_expect(++cell->xfers == cell->look_at, 0);
}

/* As lb_take_counted(), from I/O FROM of the batch on, which may have failed; of an open loop too.
 */
uint32_t lb_take_with_errors(
	struct lb_worker *w, struct lb_io **batch, uint32_t from, uint32_t n, uint64_t t);

/*
 * The batch at hand lies inside the window. Aims each I/O anew; returns how many of the batch are
 * to be issued again, moved to its front.
 */
static inline __attribute__((always_inline)) uint32_t lb_take_counted(struct lb_worker *w,
	struct lb_io **batch, uint32_t n, uint64_t t, const enum lb_sharing sharing)
{
	struct lb_io **const end = batch + n;

	for (struct lb_io **at = batch; at < end; at++) {
		struct lb_io *io = *at;
		struct lb_lane *lane = io->lane;
		struct lb_cell *cell = lane->cell[io->op];

		if (!lb_is_good(io))
			return lb_take_with_errors(w, batch, (uint32_t)(at - batch), n, t);
		lb_take_pulse(cell, t, sharing);
		if (lb_take_one(io, cell, t, sharing))
			lb_take_look(w, lane, io);
		lb_lane_next(lane, io);
	}
	return n;
}

#endif
