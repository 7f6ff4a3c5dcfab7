#include "worker_take.h"

#include <string.h>

#include "worker_think.h"

#include "on_error.h"

#define BACKOFF_FIRST_NS  LB_NSEC_PER_MSEC
#define BACKOFF_DOUBLINGS 10 /* then 1.024 s */

/* LEN is a multiple of 512. Each piece is looked at whole, which the compiler does 16 bytes at a
 * time. */
static bool is_all_zero(const void *buf, size_t len)
{
	const uint64_t *p = buf;

	for (size_t i = 0; i < len / 8; i += 64) {
		uint64_t any = 0;

#pragma GCC unroll 64
		for (size_t k = 0; k < 64; k++)
			any |= p[i + k];
		if (any)
			return false;
	}
	return true;
}

/*
 * Every read at first, then fewer and fewer: some 8 for each e-fold of transfers, over the whole
 * run. Data that is not zero is told by its first bytes.
 */
static void sample_data(struct lb_lane *lane, struct lb_cell *cell, const struct lb_io *io)
{
	lane->sample_at = cell->xfers + 1 + cell->xfers / 8;
	cell->samples++;
	cell->zero_samples += is_all_zero(io->buf, io->len);
}

/* Of LANE, the first of its sizes, all that succeeded. */
static uint64_t count_good(const struct lb_worker *w, const struct lb_lane *lane)
{
	uint64_t good = 0;

	for (uint32_t s = 0; s < w->n_sizes; s++)
		for (int op = 0; op < LB_OPS; op++)
			good += lane[s].cell[op]->xfers + lane[s].cell[op]->outside;
	return good;
}

/* From 1 ms, doubling to a second while nothing of the lane succeeds. */
static void back_off(const struct lb_worker *w, struct lb_lane *lane, uint64_t t)
{
	uint64_t good = count_good(w, lane);

	if (t < lane->backoff_until_ns)
		return; /* of the same moment */
	if (good != lane->good_at_error)
		lane->n_backoffs = 0;
	lane->good_at_error = good;
	lane->backoff_until_ns = t + (BACKOFF_FIRST_NS << lane->n_backoffs);
	if (lane->n_backoffs < BACKOFF_DOUBLINGS)
		lane->n_backoffs++;
}

static void note_error(const struct lb_io *io, uint64_t t, bool in_window)
{
	struct lb_cell *cell = io->lane->cell[io->op];

	struct lb_fault_at at = {.ns = t, .offset_bytes = io->offset_bytes};

	lb_fault_note(io->lane->faults, io->op, io->res, at, in_window);
	lb_pulse_error(cell->lun, t);
	if (in_window)
		cell->errors++;
	else
		cell->errors_other++;
}

void lb_take_error(struct lb_worker *w, struct lb_io *io, uint64_t t, bool in_window)
{
	struct lb_lane *lane = lb_lane_first(io->lane);
	struct lb_cell *cell = io->lane->cell[io->op];

	note_error(io, t, in_window);
	if (in_window)
		lb_take_pulse(cell, t, w->sharing);
	back_off(w, lane, t);
	io->issue_ns = 0;
	lb_lane_rests(lane);
	if (w->paced)
		w->paced->dues[io->slot] = 0;
	w->parked[w->n_parked++] = io;
	lb_worker_call(w->state);
	if (lane->backoff_until_ns < w->parked_ns)
		w->parked_ns = w->wake_ns = lane->backoff_until_ns;
	lb_on_error(w, io, t);
}

void lb_take_look(struct lb_worker *w, struct lb_lane *lane, const struct lb_io *io)
{
	struct lb_cell *cell = lane->cell[io->op];

	if (cell->xfers == lane->near_full_at) {
		w->is_near_count = true;
		lb_worker_call(w->state);
	}
	cell->look_at = LB_NEVER;
	if (io->op == LB_READ) {
		if (cell->xfers == lane->sample_at)
			sample_data(lane, cell, io);
		cell->look_at = lane->sample_at;
		if (lane->near_full_at > cell->xfers && lane->near_full_at < lane->sample_at)
			cell->look_at = lane->near_full_at;
	}
}

/* A good one inside the window. */
static void take_good(struct lb_worker *w, struct lb_io *io, uint64_t t)
{
	struct lb_lane *lane = io->lane;
	struct lb_cell *cell = lane->cell[io->op];

	lb_take_pulse(cell, t, w->sharing);
	if (lb_take_one(io, cell, t, w->sharing))
		lb_take_look(w, lane, io);
	if (w->paced)
		lb_paced_take(w, io, t);
}

/* In an open loop that waits until the next is due. */
static void aim_anew(const struct lb_worker *w, struct lb_io *io)
{
	if (!w->paced)
		lb_lane_next(io->lane, io);
}

uint32_t lb_take_with_errors(
	struct lb_worker *w, struct lb_io **batch, uint32_t from, uint32_t n, uint64_t t)
{
	uint32_t kept = from;

	for (uint32_t i = from; i < n; i++) {
		struct lb_io *io = batch[i];

		if (!lb_is_good(io)) {
			lb_take_error(w, io, t, true);
			continue;
		}
		take_good(w, io, t);
		aim_anew(w, io);
		batch[kept++] = io;
	}
	return kept;
}

uint64_t lb_worker_clock(void *w)
{
	return lb_worker_now(w);
}

/* How many of the N good ones of a batch still count towards its LUN's --count. */
static uint8_t settle(struct lb_worker *w, struct lb_lane *lane, uint8_t n)
{
	uint64_t before, left;

	if (lane->shares_count)
		before = atomic_fetch_add_explicit(
			&lane->cell[LB_READ]->lun->counted, n, memory_order_relaxed);
	else
		before = lane->cell[LB_READ]->xfers + lane->cell[LB_WRITE]->xfers;
	left = before < w->count ? w->count - before : 0;
	if (left && n >= left && lb_window_close(&w->board->window, lb_worker_clock, w))
		lb_board_kick(w->board);
	return n < left ? n : (uint8_t)left;
}

/*
 * The same where the batch may hold a LUN's N-th transfer: which of it still count is settled
 * first, for each LUN with one step on its counter. Who takes that to N closes the window.
 */
static uint32_t take_until_count(struct lb_worker *w, struct lb_io **batch, uint32_t n, uint64_t t)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		batch[i]->lane->n_batch += lb_is_good(batch[i]);
	for (uint32_t i = 0; i < n; i++) {
		struct lb_lane *lane = batch[i]->lane;

		if (lane->n_batch)
			lane->allowed = settle(w, lane, lane->n_batch);
		lane->n_batch = 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct lb_io *io = batch[i];
		struct lb_lane *lane = io->lane;

		if (!lb_is_good(io)) {
			lb_take_error(w, io, t, true);
			continue;
		}
		if (!lane->allowed) {
			lane->cell[io->op]->outside++;
		} else {
			lane->allowed--;
			take_good(w, io, t);
		}
		aim_anew(w, io);
		batch[kept++] = io;
	}
	return kept;
}

/* The window has not opened yet. */
static uint32_t take_early(struct lb_worker *w, struct lb_io **batch, uint32_t n, uint64_t t)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct lb_io *io = batch[i];
		struct lb_cell *cell = io->lane->cell[io->op];

		lb_pulse_before(cell->lun, t);
		if (!lb_is_good(io)) {
			lb_take_error(w, io, t, false);
			continue;
		}
		cell->outside++;
		aim_anew(w, io);
		batch[kept++] = io;
	}
	return kept;
}

/* IO will not be issued again. */
static void take_late(struct lb_worker *w, struct lb_io *io, uint64_t t)
{
	struct lb_cell *cell = io->lane->cell[io->op];
	uint64_t lat = t - io->issue_ns;

	if (lb_is_good(io)) {
		cell->late++;
		if (lat > cell->late_max_ns)
			cell->late_max_ns = lat;
	} else {
		note_error(io, t, false);
	}
	lb_pulse_late(cell->lun, t);
	if (w->paced)
		lb_paced_take_late(w, io, t);
	io->issue_ns = 0;
	w->n_left--;
}

/* What comes back of LUNs that were retired leaves the batch. */
static uint32_t take_lost(struct lb_worker *w, struct lb_io **batch, uint32_t n, uint64_t t)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!batch[i]->lane->is_retired) {
			batch[kept++] = batch[i];
			continue;
		}
		take_late(w, batch[i], t);
		w->n_lost--;
	}
	return kept;
}

/* Those of the N of IOS, not in flight, whose LUN was retired are gone. */
static uint32_t drop_retired(struct lb_worker *w, struct lb_io **ios, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!ios[i]->lane->is_retired) {
			ios[kept++] = ios[i];
			continue;
		}
		ios[i]->issue_ns = 0;
		w->n_left--;
	}
	return kept;
}

uint32_t lb_take_retired(struct lb_worker *w, struct lb_io **batch, uint32_t n)
{
	uint32_t n_retired = atomic_load_explicit(&w->board->n_retired, memory_order_acquire);

	if (n_retired == w->n_retired)
		return n;
	w->n_retired = n_retired;
	for (uint32_t i = 0; i < w->n_lanes * w->n_sizes; i++)
		w->lanes[i].is_retired = atomic_load_explicit(
			&w->lanes[i].cell[LB_READ]->lun->retired_ns, memory_order_relaxed);
	n = drop_retired(w, batch, n);
	w->n_parked = drop_retired(w, w->parked, w->n_parked);
	lb_think_drop(w, false);
	w->n_lost = 0;
	for (uint32_t i = 0; i < w->n_ios; i++)
		w->n_lost += w->ios[i].lane->is_retired && w->ios[i].issue_ns;
	return n;
}

static void drop_parked(struct lb_worker *w)
{
	lb_think_drop(w, true);
	w->n_left -= w->n_parked;
	w->n_parked = 0;
	w->parked_ns = LB_NEVER;
	w->wake_ns = w->control_ns;
}

/* Here and not from without: the thread may end before anyone looks, and its clock with it. */
static void note_cpu(struct lb_worker_state *s)
{
	struct timespec ts = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	atomic_store_explicit(&s->cpu_close_ns,
		(uint64_t)ts.tv_sec * LB_NSEC_PER_SEC + (uint64_t)ts.tv_nsec, memory_order_relaxed);
	atomic_store_explicit(&s->cpu_close_at_ns, lb_now_ns(), memory_order_relaxed);
}

void lb_take_close(struct lb_worker *w)
{
	drop_parked(w);
	lb_worker_call(w->state);
	if (atomic_load_explicit(&w->state->has_closed, memory_order_relaxed))
		return;
	if (w->ops->stats)
		w->ops->stats(w->engine, &w->state->engine);
	note_cpu(w->state);
	atomic_store_explicit(&w->state->has_closed, 1, memory_order_release);
}

uint32_t lb_take(struct lb_worker *w, struct lb_io **batch, uint32_t n, uint64_t t)
{
	struct lb_window *window = &w->board->window;
	uint64_t open = atomic_load_explicit(&window->open_ns, memory_order_relaxed);
	uint64_t close = lb_window_end(window);

	lb_take_retired(w, batch, 0); /* of the batch nothing is about to be issued yet */
	if (w->n_lost)
		n = take_lost(w, batch, n, t);
	if (t >= close) {
		for (uint32_t i = 0; i < n; i++)
			take_late(w, batch[i], t);
		lb_take_close(w);
		return 0;
	}
	if (t < open)
		return take_early(w, batch, n, t);
	w->is_open = true;
	if (w->is_near_count)
		return take_until_count(w, batch, n, t);
	if (w->paced)
		return lb_take_with_errors(w, batch, 0, n, t);
	switch (w->sharing) {
	case LB_SHARES_HIST:
		return lb_take_counted(w, batch, n, t, LB_SHARES_HIST);
	case LB_SHARES_LUN:
		return lb_take_counted(w, batch, n, t, LB_SHARES_LUN);
	default:
		return lb_take_counted(w, batch, n, t, LB_SHARES_NOTHING);
	}
}
