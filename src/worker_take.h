/*
 * Taking what has come back: each I/O into the cell of its lane, or to those that wait; what is to
 * be issued again is aimed anew and left at the front of its batch. What every transfer passes
 * through is inline here; the loops that turn around it are those of worker.c.
 */
#ifndef LB_WORKER_TAKE_H
#define LB_WORKER_TAKE_H

#include "clock.h"
#include "worker.h"

static inline uint64_t lb_worker_now(const struct lb_worker *w)
{
	return __builtin_expect(w->ops->now != NULL, 0) ? w->ops->now(w->engine) : lb_now_ns();
}

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

/* From here on nothing is issued, and nothing changes in the cells but what came late. */
void lb_take_close(struct lb_worker *w);

/*
 * A good transfer inside the window. Returns whether there is more to do: the `look_at` number of
 * transfers has been reached.
 */
static inline __attribute__((always_inline)) bool lb_take_one(
	struct lb_io *io, struct lb_lane *lane, uint64_t t, const bool shares_hist)
{
	struct lb_cell *cell = lane->cell[io->op];
	uint64_t lat = t - io->issue_ns;
	uint64_t *bucket = &cell->hist->count[lb_hist_bucket(lat)];

	if (shares_hist)
		__atomic_fetch_add(bucket, 1, __ATOMIC_RELAXED);
	else
		++*bucket;
	cell->bytes += io->len;
	cell->sum_ns += lat;
	if (__builtin_expect(lat < cell->min_ns, 0))
		cell->min_ns = lat;
	if (__builtin_expect(lat > cell->max_ns, 0))
		cell->max_ns = lat;
	cell->last_ns = t;
	return __builtin_expect(++cell->xfers == cell->look_at, 0);
}

/*
 * The batch at hand lies inside the window. Aims each I/O anew; returns how many of the batch are
 * to be issued again, moved to its front.
 */
static inline __attribute__((always_inline)) uint32_t lb_take_counted(
	struct lb_worker *w, struct lb_io **batch, uint32_t n, uint64_t t, const bool shares_hist)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct lb_io *io = batch[i];
		struct lb_lane *lane = io->lane;

		if (!lb_is_good(io)) {
			lb_take_error(w, io, t, true);
			continue;
		}
		if (lb_take_one(io, lane, t, shares_hist))
			lb_take_look(w, lane, io);
		lb_lane_next(lane, io);
		batch[kept++] = io;
	}
	return kept;
}

#endif
