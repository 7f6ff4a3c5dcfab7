#include "worker.h"

#include <string.h>

#include "clock.h"
#include "control.h"

#define BACKOFF_FIRST_NS  LB_NSEC_PER_MSEC
#define BACKOFF_DOUBLINGS 10 /* then 1.024 s */

static inline uint64_t now_ns(const struct lb_worker *w)
{
	return __builtin_expect(w->ops->now != NULL, 0) ? w->ops->now(w->engine) : lb_now_ns();
}

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

/*
 * A good transfer inside the window. Returns whether there is more to do: the `look_at` number of
 * transfers has been reached.
 */
static inline __attribute__((always_inline)) bool count_io(
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

/* From 1 ms, doubling to a second while nothing of the lane succeeds. */
static void back_off(struct lb_lane *lane, const struct lb_cell *cell, uint64_t t)
{
	uint64_t good = cell->xfers + cell->outside;

	if (t < lane->backoff_until_ns)
		return; /* of the same moment */
	if (good != lane->good_at_error)
		lane->n_backoffs = 0;
	lane->good_at_error = good;
	lane->backoff_until_ns = t + (BACKOFF_FIRST_NS << lane->n_backoffs);
	if (lane->n_backoffs < BACKOFF_DOUBLINGS)
		lane->n_backoffs++;
}

/* Failed or short: written down, and the lane backs off, so that errors do not come in storms. */
static void count_error(struct lb_worker *w, struct lb_io *io, uint64_t t, bool in_window)
{
	struct lb_lane *lane = io->lane;
	struct lb_cell *cell = lane->cell[io->op];

	if (!cell->errors && !cell->errors_other) {
		cell->first_error_offset = io->offset_bytes;
		cell->first_error_res = io->res;
		cell->first_error_ns = t;
	}
	if (in_window)
		cell->errors++;
	else
		cell->errors_other++;
	cell->last_ns = t;
	back_off(lane, cell, t);
	io->issue_ns = 0;
	w->parked[w->n_parked++] = io;
	w->is_special = true;
	if (lane->backoff_until_ns < w->parked_ns)
		w->parked_ns = w->wake_ns = lane->backoff_until_ns;
}

static inline bool is_good(const struct lb_io *io)
{
	return __builtin_expect((uint32_t)io->res == io->len, 1);
}

/*
 * The lane has come to a number of transfers at which something is to be done: look at its data,
 * or, when the next batch may bring it to --count, settle from then on which of a batch still
 * count.
 */
static __attribute__((noinline)) void look_at_lane(
	struct lb_worker *w, struct lb_lane *lane, const struct lb_io *io)
{
	struct lb_cell *cell = lane->cell[io->op];

	if (cell->xfers == lane->near_full_at)
		w->is_near_count = w->is_special = true;
	cell->look_at = LB_NEVER;
	if (io->op == LB_READ) {
		if (cell->xfers == lane->sample_at)
			sample_data(lane, cell, io);
		cell->look_at = lane->sample_at;
		if (lane->near_full_at > cell->xfers && lane->near_full_at < lane->sample_at)
			cell->look_at = lane->near_full_at;
	}
}

/*
 * The batch at hand lies inside the window. Aims each I/O anew; returns how many of the batch are
 * to be issued again, moved to its front.
 */
static inline __attribute__((always_inline)) uint32_t take_counted(
	struct lb_worker *w, struct lb_io **batch, uint32_t n, uint64_t t, const bool shares_hist)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct lb_io *io = batch[i];
		struct lb_lane *lane = io->lane;

		if (!is_good(io)) {
			count_error(w, io, t, true);
			continue;
		}
		if (count_io(io, lane, t, shares_hist))
			look_at_lane(w, lane, io);
		lb_lane_next(lane, io);
		batch[kept++] = io;
	}
	return kept;
}

static uint64_t engine_now(void *w)
{
	return now_ns(w);
}

/* How many of the N good ones of a batch still count towards its LUN's --count. */
static uint8_t settle(struct lb_worker *w, struct lb_lane *lane, uint8_t n)
{
	uint64_t before, left;

	if (lane->shares_count)
		before = atomic_fetch_add_explicit(&lane->lun->counted, n, memory_order_relaxed);
	else
		before = lane->cell[LB_READ]->xfers + lane->cell[LB_WRITE]->xfers;
	left = before < w->count ? w->count - before : 0;
	if (left && n >= left && lb_window_close(&w->board->window, engine_now, w))
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
		batch[i]->lane->n_batch += is_good(batch[i]);
	for (uint32_t i = 0; i < n; i++) {
		struct lb_lane *lane = batch[i]->lane;

		if (lane->n_batch)
			lane->allowed = settle(w, lane, lane->n_batch);
		lane->n_batch = 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct lb_io *io = batch[i];
		struct lb_lane *lane = io->lane;

		if (!is_good(io)) {
			count_error(w, io, t, true);
			continue;
		}
		if (!lane->allowed) {
			lane->cell[io->op]->outside++;
		} else {
			lane->allowed--;
			if (count_io(io, lane, t, w->shares_hist))
				look_at_lane(w, lane, io);
		}
		lb_lane_next(lane, io);
		batch[kept++] = io;
	}
	return kept;
}

/* The window has not opened yet, or has closed: then nothing is issued again. */
static uint32_t take_outside(
	struct lb_worker *w, struct lb_io **batch, uint32_t n, uint64_t t, bool has_closed)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct lb_io *io = batch[i];
		struct lb_cell *cell = io->lane->cell[io->op];
		uint64_t lat = t - io->issue_ns;

		if (!is_good(io)) {
			count_error(w, io, t, false);
			continue;
		}
		cell->last_ns = t;
		if (!has_closed) {
			cell->outside++;
			lb_lane_next(io->lane, io);
			batch[kept++] = io;
			continue;
		}
		cell->late++;
		if (lat > cell->late_max_ns)
			cell->late_max_ns = lat;
		io->issue_ns = 0;
		w->n_left--;
	}
	return kept;
}

static void drop_parked(struct lb_worker *w)
{
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

/* From here on nothing is issued, and nothing changes in the cells but what came late. */
static void see_close(struct lb_worker *w)
{
	drop_parked(w);
	w->is_special = true;
	if (atomic_load_explicit(&w->state->has_closed, memory_order_relaxed))
		return;
	if (w->ops->stats)
		w->ops->stats(w->engine, &w->state->engine);
	note_cpu(w->state);
	atomic_store_explicit(&w->state->has_closed, 1, memory_order_release);
}

/*
 * Records the batch reaped at T, whatever the moment; what is to be issued again is left at its
 * front and counted.
 */
static __attribute__((noinline)) uint32_t take(
	struct lb_worker *w, struct lb_io **batch, uint32_t n, uint64_t t)
{
	struct lb_window *window = &w->board->window;
	uint64_t open = atomic_load_explicit(&window->open_ns, memory_order_relaxed);
	uint64_t close = lb_window_end(window);

	if (t >= close) {
		n = take_outside(w, batch, n, t, true);
		see_close(w);
		return n;
	}
	if (t < open)
		return take_outside(w, batch, n, t, false);
	if (w->is_near_count)
		return take_until_count(w, batch, n, t);
	if (w->shares_hist)
		return take_counted(w, batch, n, t, true);
	return take_counted(w, batch, n, t, false);
}

/* Whether T lies in the window; while someone decides over its end, that reads as 0: then not. */
static inline bool is_inside(const struct lb_window *window, uint64_t t)
{
	return t >= atomic_load_explicit(&window->open_ns, memory_order_relaxed) &&
	       t < atomic_load_explicit(&window->close_ns, memory_order_acquire);
}

static inline void stamp(struct lb_io **batch, uint32_t n, uint64_t t)
{
#pragma GCC unroll 8
	for (uint32_t i = 0; i < n; i++)
		batch[i]->issue_ns = t;
}

/* Those of the parked whose time has come join the N of BATCH, as far as there is room. */
static uint32_t take_parked(struct lb_worker *w, struct lb_io **batch, uint32_t n, uint64_t t)
{
	uint32_t left = 0;

	w->parked_ns = LB_NEVER;
	for (uint32_t i = 0; i < w->n_parked; i++) {
		struct lb_io *io = w->parked[i];
		uint64_t due = io->lane->backoff_until_ns;

		if (due <= t && n < LB_BATCH) {
			lb_lane_next(io->lane, io);
			batch[n++] = io;
			continue;
		}
		w->parked[left++] = io;
		if (due < w->parked_ns)
			w->parked_ns = due;
	}
	w->n_parked = left;
	return n;
}

/*
 * What is done by the clock and not by completions: parked I/O, and control on a virtual clock. N
 * of BATCH are about to be issued; parked ones may join them. Returns how many there are then, and
 * in *WAIT_NS how long the exchange may wait.
 */
static __attribute__((noinline)) uint32_t run_timers(
	struct lb_worker *w, struct lb_io **batch, uint32_t n, uint64_t *wait_ns)
{
	uint64_t t = now_ns(w), close;

	if (t >= w->control_ns) {
		w->control_ns = lb_control_step(w->control, t);
		if (w->control->state == LB_CTL_OVER)
			w->n_left = 0; /* what is still in flight is given up */
	}
	close = lb_window_end(&w->board->window);
	if (t >= close)
		see_close(w);
	else if (t >= w->parked_ns)
		n = take_parked(w, batch, n, t);
	w->wake_ns = w->parked_ns < w->control_ns ? w->parked_ns : w->control_ns;
	if (w->n_parked && close < w->wake_ns)
		w->wake_ns = close;
	*wait_ns = w->wake_ns == LB_NEVER ? LB_NEVER : w->wake_ns > t ? w->wake_ns - t : 0;
	return n;
}

/*
 * One round: issues the *N of BATCH, collects at most MAX, records, and leaves in BATCH what is to
 * be issued next. MIN 0 does not wait.
 */
static int round_trip(
	struct lb_worker *w, struct lb_io **batch, uint32_t *n, uint32_t min, uint32_t max)
{
	uint64_t wait = LB_NEVER;
	int got;

	if (w->wake_ns != LB_NEVER) {
		*n = run_timers(w, batch, *n, &wait);
		if (!w->n_left)
			return 0;
		/* a device that is never short of completions must leave room for what is parked */
		if (w->n_parked && max > LB_BATCH / 2)
			max = LB_BATCH / 2;
	}
	stamp(batch, *n, now_ns(w));
	got = w->ops->exchange(w->engine, batch, *n, min, max, wait);
	*n = got > 0 ? take(w, batch, (uint32_t)got, now_ns(w)) : 0;
	return got < 0 ? got : 0;
}

/*
 * The same while nothing is out of the ordinary, as it is for all but a few of a run's transfers:
 * in here every instruction counts.
 */
static int run_plain(struct lb_worker *w, struct lb_io **batch, uint32_t *left)
{
	const struct lb_window *const window = &w->board->window;
	const struct lb_engine_ops *const ops = w->ops;
	uint32_t n = *left;
	int got = 0;

	while (!w->is_special) {
		uint64_t t;

		stamp(batch, n, lb_now_ns());
		got = ops->exchange(w->engine, batch, n, 1, LB_BATCH, LB_NEVER);
		n = 0;
		if (__builtin_expect(got <= 0, 0))
			break;
		t = lb_now_ns();
		if (__builtin_expect(is_inside(window, t), 1))
			n = take_counted(w, batch, (uint32_t)got, t, false);
		else
			n = take(w, batch, (uint32_t)got, t);
	}
	*left = n;
	return got < 0 ? got : 0;
}

/* And with an engine that carries one I/O: there is but this one, of this lane. */
static int run_plain_one(struct lb_worker *w, struct lb_io **batch, uint32_t *left)
{
	const struct lb_window *const window = &w->board->window;
	const struct lb_engine_ops *const ops = w->ops;
	struct lb_io *const io = w->ios;
	struct lb_lane *const lane = io->lane;
	int got = 0;

	while (!w->is_special && *left) {
		uint64_t t;

		io->issue_ns = lb_now_ns();
		got = ops->exchange(w->engine, batch, 1, 1, 1, LB_NEVER);
		t = lb_now_ns();
		if (__builtin_expect(got <= 0, 0)) {
			*left = 0;
		} else if (__builtin_expect(is_inside(window, t) && is_good(io), 1)) {
			if (count_io(io, lane, t, false))
				look_at_lane(w, lane, io);
			lb_lane_next(lane, io);
		} else {
			*left = take(w, batch, 1, t);
		}
	}
	return got < 0 ? got : 0;
}

/* LANES of this worker are on their way, as far as their first I/O goes. */
static void tell_started(struct lb_worker *w, uint32_t lanes)
{
	atomic_store_explicit(&w->state->n_started, lanes, memory_order_release);
	if (lanes == w->n_lanes)
		lb_board_kick(w->board);
}

/*
 * Issues what fill() has gathered. Of what has come back meanwhile at most half a batch is taken,
 * to be issued again: so the fill gets on, however fast the device is.
 */
static int fill_batch(struct lb_worker *w, struct lb_io **batch, uint32_t *n, uint32_t lanes)
{
	bool is_deep = !(w->ops->caps & LB_CAP_DEPTH_ONE);
	int ret = round_trip(w, batch, n, 0, is_deep ? LB_BATCH / 2 : 0);

	if (ret >= 0 && lanes > atomic_load_explicit(&w->state->n_started, memory_order_relaxed))
		tell_started(w, lanes);
	return ret;
}

/*
 * The first I/O of every lane before the second of any: all LUNs start together. *N of BATCH are
 * left to be issued with the first round.
 */
static int fill(struct lb_worker *w, struct lb_io **batch, uint32_t *n)
{
	uint32_t depth = 1;
	int ret = 0;

	for (uint32_t level = 0; level < depth; level++) {
		for (uint32_t l = 0; l < w->n_lanes && ret >= 0; l++) {
			const struct lb_lane_plan *lp = &w->board->plan->lanes[w->first_lane + l];
			struct lb_io *io = &w->ios[lp->slot - w->first_slot + level];

			if (lp->qd > depth)
				depth = lp->qd;
			if (level >= lp->qd)
				continue;
			if (lb_window_end(&w->board->window) <= now_ns(w))
				return 0;
			lb_lane_next(io->lane, io);
			batch[(*n)++] = io;
			w->n_left++;
			if (*n == LB_BATCH || (!level && l + 1 == w->n_lanes))
				ret = fill_batch(w, batch, n, level ? w->n_lanes : l + 1);
		}
	}
	return ret;
}

int lb_worker_loop(struct lb_worker *w)
{
	struct lb_io *batch[LB_BATCH];
	bool is_deep = !(w->ops->caps & LB_CAP_DEPTH_ONE);
	uint32_t n = 0;
	int ret;

	w->parked_ns = LB_NEVER;
	w->wake_ns = w->control_ns = w->control ? 0 : LB_NEVER;
	ret = fill(w, batch, &n);
	if (w->control)
		w->wake_ns = w->control_ns = 0; /* all have started: look at once */
	while (ret >= 0 && w->n_left) {
		w->is_special = w->wake_ns != LB_NEVER || w->is_near_count || w->shares_hist;
		if (w->is_special || (!is_deep && !n))
			ret = round_trip(w, batch, &n, 1, is_deep ? LB_BATCH : 1);
		else
			ret = is_deep ? run_plain(w, batch, &n) : run_plain_one(w, batch, &n);
	}
	see_close(w);
	return ret < 0 ? ret : 0;
}
