#include "worker.h"

#include "control.h"
#include "worker_take.h"
#include "worker_think.h"

/* Whether the window ends after T; while someone decides that, its end reads as 0: then not. */
static inline bool is_before_end(const struct lb_window *window, uint64_t t)
{
	return t < atomic_load_explicit(&window->close_ns, memory_order_acquire);
}

static inline void stamp(struct lb_io **batch, uint32_t n, uint64_t t)
{
	if (n == 1) {
		batch[0]->issue_ns = t;
		return;
	}
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
		uint64_t due = lb_lane_first(io->lane)->backoff_until_ns;

		if (due <= t && n < LB_BATCH) {
			lb_lane_wakes(io->lane, t);
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

void lb_worker_control(struct lb_worker *w, uint64_t t)
{
	if (t < w->control_ns)
		return;
	w->control_ns = lb_control_step(w->control, t);
	if (w->control->state == LB_CTL_OVER)
		w->n_left = 0; /* what is still in flight is given up */
}

/*
 * What is done by the clock and not by completions: parked I/O, and control on a virtual clock. N
 * of BATCH are about to be issued; parked ones may join them. Returns how many there are then, and
 * in *WAIT_NS how long the exchange may wait.
 */
static __attribute__((noinline)) uint32_t run_timers(
	struct lb_worker *w, struct lb_io **batch, uint32_t n, uint64_t *wait_ns)
{
	uint64_t t = lb_worker_now(w), close, next_ns;

	lb_worker_control(w, t);
	close = lb_window_end(&w->board->window);
	if (t >= close)
		lb_take_close(w);
	else if (t >= w->parked_ns)
		n = take_parked(w, batch, n, t);
	n = lb_think_wake(w, batch, n, t);
	w->wake_ns = w->parked_ns < w->control_ns ? w->parked_ns : w->control_ns;
	next_ns = lb_think_next_ns(w, t);
	if (next_ns < w->wake_ns)
		w->wake_ns = next_ns;
	if ((w->n_parked || w->n_rests) && close < w->wake_ns)
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
	uint64_t wait = LB_NEVER, t;
	int got;

	if (w->wake_ns != LB_NEVER) {
		*n = run_timers(w, batch, *n, &wait);
		if (!w->n_left)
			return 0;
		/* a device that is never short of completions must leave room for what is parked */
		if (w->n_parked && max > LB_BATCH / 2)
			max = LB_BATCH / 2;
	}
	stamp(batch, *n, lb_worker_now(w));
	got = w->ops->exchange(w->engine, batch, *n, min, max, wait);
	t = lb_worker_now(w);
	*n = got > 0 ? lb_take(w, batch, (uint32_t)got, t) : 0;
	if (w->think_ns) {
		lb_think_rest(w, batch, *n, t);
		*n = 0;
	}
	return got < 0 ? got : 0;
}

static inline bool is_called(const struct lb_worker_state *state)
{
	return atomic_load_explicit(&state->attention, memory_order_relaxed);
}

/*
 * The same while nothing is out of the ordinary, as it is for all but a few of a run's transfers:
 * in here every instruction counts.
 */
static inline __attribute__((always_inline)) int run_plain(
	struct lb_worker *w, struct lb_io **batch, uint32_t *left, const enum lb_sharing sharing)
{
	const struct lb_window *const window = &w->board->window;
	const struct lb_worker_state *const state = w->state;
	const struct lb_engine_ops *const ops = w->ops;
	uint32_t n = *left;
	int got = 0;

	while (!is_called(state)) {
		uint64_t t;

		stamp(batch, n, lb_now_ns());
		got = ops->exchange(w->engine, batch, n, 1, LB_BATCH, LB_NEVER);
		n = 0;
		if (__builtin_expect(got <= 0, 0))
			break;
		t = lb_now_ns();
		if (__builtin_expect(is_before_end(window, t), 1))
			n = lb_take_counted(w, batch, (uint32_t)got, t, sharing);
		else
			n = lb_take(w, batch, (uint32_t)got, t);
	}
	*left = n;
	return got < 0 ? got : 0;
}

static __attribute__((noinline)) int run_plain_apart(
	struct lb_worker *w, struct lb_io **batch, uint32_t *left)
{
	return run_plain(w, batch, left, LB_SHARES_NOTHING);
}

static __attribute__((noinline)) int run_plain_shared(
	struct lb_worker *w, struct lb_io **batch, uint32_t *left)
{
	return run_plain(w, batch, left, LB_SHARES_LUN);
}

/* And with an engine that carries one I/O: there is but this one, of this lane. */
static __attribute__((noinline)) int run_plain_one(
	struct lb_worker *w, struct lb_io **batch, uint32_t *left)
{
	const struct lb_window *const window = &w->board->window;
	const struct lb_engine_ops *const ops = w->ops;
	const struct lb_worker_state *const state = w->state;
	struct lb_io *const io = w->ios;
	struct lb_lane *const lane = io->lane;
	int got;

	do {
		struct lb_cell *cell = lane->cell[io->op];
		uint64_t t;

		io->issue_ns = lb_now_ns();
		got = ops->exchange(w->engine, batch, 1, 1, 1, LB_NEVER);
		t = lb_now_ns();
		if (__builtin_expect(got <= 0, 0)) {
			*left = 0;
			break;
		}
		if (__builtin_expect(!is_before_end(window, t) || !lb_is_good(io), 0)) {
			*left = lb_take(w, batch, 1, t);
			break;
		}
		lb_pulse(cell->lun, t);
		if (lb_take_one(io, cell, t, LB_SHARES_NOTHING))
			lb_take_look(w, lane, io);
		lb_lane_next(lane, io);
	} while (!is_called(state));
	return got < 0 ? got : 0;
}

void lb_worker_started(struct lb_worker *w, uint32_t lanes)
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
	int ret;

	*n = lb_take_retired(w, batch, *n);
	ret = round_trip(w, batch, n, 0, is_deep ? LB_BATCH / 2 : 0);

	if (ret >= 0 && lanes > atomic_load_explicit(&w->state->n_started, memory_order_relaxed))
		lb_worker_started(w, lanes);
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
			uint64_t t;

			if (lp->qd > depth)
				depth = lp->qd;
			if (level >= lp->qd || io->lane->is_retired)
				continue;
			t = lb_worker_now(w);
			if (lb_window_end(&w->board->window) <= t)
				return 0;
			lb_lane_wakes(io->lane, t);
			lb_lane_next(io->lane, io);
			batch[(*n)++] = io;
			w->n_left++;
			if (*n == LB_BATCH || (!level && l + 1 == w->n_lanes))
				ret = fill_batch(w, batch, n, level ? w->n_lanes : l + 1);
		}
	}
	return ret;
}

/* Nothing is out of the ordinary. */
static bool is_plain(const struct lb_worker *w)
{
	return w->is_open && w->wake_ns == LB_NEVER && !w->is_near_count && !w->n_lost &&
	       w->sharing != LB_SHARES_HIST;
}

int lb_worker_loop(struct lb_worker *w)
{
	struct lb_io *batch[LB_BATCH];
	bool is_deep = !(w->ops->caps & LB_CAP_DEPTH_ONE);
	uint32_t n = 0;
	int ret;

	if (w->paced)
		return lb_paced_loop(w);
	w->parked_ns = LB_NEVER;
	w->wake_ns = w->control_ns = w->control ? 0 : LB_NEVER;
	ret = fill(w, batch, &n);
	if (w->control)
		w->wake_ns = w->control_ns = 0; /* all have started: look at once */
	while (ret >= 0 && w->n_left) {
		if (is_called(w->state)) {
			atomic_exchange_explicit(&w->state->attention, 0, memory_order_acquire);
			n = lb_take_retired(w, batch, n);
			continue;
		}
		if (!is_plain(w) || (!is_deep && (!n || w->n_sizes > 1)))
			ret = round_trip(w, batch, &n, 1, is_deep ? LB_BATCH : 1);
		else if (!is_deep)
			ret = run_plain_one(w, batch, &n);
		else
			ret = w->sharing ? run_plain_shared(w, batch, &n)
					 : run_plain_apart(w, batch, &n);
	}
	lb_take_close(w);
	return ret < 0 ? ret : 0;
}
