#include "control.h"

#include "clock.h"

#define ACK_NS  (100 * LB_NSEC_PER_MSEC) /* a worker that can see the window's end has by then */
#define LOOK_NS (100 * LB_NSEC_PER_MSEC) /* between looks where no deadline is known */

int lb_control_init(
	struct lb_control *c, struct lb_board *board, uint64_t drain_ns, uint64_t lead_ns)
{
	const struct lb_phase *phase = &board->plan->phases[0];
	int ret;

	*c = (struct lb_control){
		.board = board,
		.time_ns = phase->time_ns,
		.ramp_ns = phase->ramp_ns,
		.count = phase->count,
		.drain_ns = drain_ns,
		.lead_ns = lead_ns,
		.hurry_ns = LB_NEVER,
	};
	ret = lb_watch_make(&c->watch, board);
	return !ret && board->series ? lb_sampler_make(&c->sampler, board) : ret;
}

void lb_control_done(struct lb_control *c)
{
	lb_sampler_done(c->sampler);
	c->sampler = NULL;
	lb_watch_done(c->watch);
	c->watch = NULL;
}

static uint64_t sum_started(const struct lb_board *b)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < b->plan->n_workers; i++)
		n += atomic_load_explicit(&b->workers[i].n_started, memory_order_acquire);
	return n;
}

static bool any_failed(const struct lb_board *b)
{
	for (uint32_t i = 0; i < b->plan->n_workers; i++)
		if (atomic_load_explicit(&b->workers[i].fatal, memory_order_relaxed))
			return true;
	return false;
}

static bool all_seen_close(const struct lb_board *b)
{
	for (uint32_t i = 0; i < b->plan->n_workers; i++)
		if (!atomic_load_explicit(&b->workers[i].has_closed, memory_order_acquire))
			return false;
	return true;
}

static bool all_ended(const struct lb_board *b)
{
	for (uint32_t i = 0; i < b->plan->n_workers; i++)
		if (!atomic_load_explicit(&b->workers[i].has_ended, memory_order_acquire))
			return false;
	return true;
}

/* Good transfers so far, in the window or not. */
static uint64_t sum_done(const struct lb_board *b)
{
	uint64_t n = 0;

	for (size_t i = 0; i < (size_t)b->plan->n_lanes * b->plan->n_sizes * LB_OPS; i++)
		n += __atomic_load_n(&b->cells[i].xfers, __ATOMIC_RELAXED) +
		     __atomic_load_n(&b->cells[i].outside, __ATOMIC_RELAXED);
	return n;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The clock that control itself runs on. */
static uint64_t step_time(void *now)
{
	return *(const uint64_t *)now;
}

/* Sets the planned end, unless someone has closed the window for good already. */
static void plan_end(struct lb_window *w, uint64_t close_ns)
{
	uint64_t none = LB_NEVER;

	if (atomic_compare_exchange_strong(&w->close_ns, &none, close_ns))
		lb_window_changed(w);
}

static void starting(struct lb_control *c, uint64_t now)
{
	const struct lb_phase *phase = &c->board->plan->phases[0];
	struct lb_window *w = &c->board->window;
	uint64_t start = atomic_load(&w->start_ns), open;

	if (sum_started(c->board) < c->board->plan->n_lanes && now < start + LB_START_LIMIT_NS)
		return;
	open = now + c->ramp_ns + c->lead_ns;
	atomic_store(&w->open_ns, open);
	if (c->time_ns)
		plan_end(w, open + c->time_ns);
	if (c->sampler)
		lb_sampler_begin(c->sampler, open);
	if (phase->steady_ns)
		lb_steady_begin(&c->steady, phase->steady_on, phase->steady_ns, open);
	c->state = LB_CTL_MEASURING;
}

/* An open loop may have nothing to do for long. */
static bool nothing_is_due(const struct lb_board *b, uint64_t now)
{
	uint64_t start = atomic_load(&b->window.start_ns);

	if (!b->paces)
		return false;
	for (uint32_t i = 0; i < b->plan->n_luns; i++)
		if (start + lb_pace_next_ns(&b->paces[i]) <= now)
			return false;
	for (uint32_t i = 0; i < b->plan->n_slots; i++) {
		uint64_t due = __atomic_load_n(&b->dues[i], __ATOMIC_RELAXED);

		if (due && due <= now)
			return false;
	}
	return true;
}

/*
 * A run that ends by count alone would wait for ever for LUNs that have all gone silent, or only
 * fail.
 */
static void look_for_silence(struct lb_control *c, uint64_t now)
{
	uint64_t done = sum_done(c->board);

	if (done != c->done || !c->done_ns || nothing_is_due(c->board, now)) {
		c->done = done;
		c->done_ns = now;
	}
	if (now - c->done_ns >= lb_silence_ns(c->drain_ns) &&
		lb_window_close(&c->board->window, step_time, &now)) {
		atomic_store(&c->board->window.stalled, 1);
		c->drain_until_ns = now;
		c->state = LB_CTL_DRAINING;
	}
}

static void draining(struct lb_control *c, uint64_t now)
{
	uint64_t close = lb_window_end_now(&c->board->window);

	if (all_ended(c->board)) {
		c->state = LB_CTL_OVER;
	} else if (now >= min_u64(c->drain_until_ns, c->hurry_ns) &&
		   (all_seen_close(c->board) || (now >= close && now - close >= ACK_NS))) {
		c->timed_out = true;
		c->state = LB_CTL_OVER;
	}
}

/* Adds the last interval; whether the run was to go on until this, and NOW is the time. */
static bool is_steady(struct lb_control *c, uint64_t now)
{
	struct lb_steady *steady = &c->board->steady;
	uint32_t n_kept;

	if (!c->board->plan->phases[0].steady_ns || steady->is_reached ||
		!lb_steady_add(&c->steady, steady, lb_sampler_last(c->sampler, &n_kept)))
		return false;
	steady->is_reached = true;
	lb_event_add(&c->board->events, &(struct lb_event){.kind = LB_EV_STEADY,
						.lun = LB_EVENT_OF_RUN,
						.begin_ns = now,
						.end_ns = now});
	return true;
}

/*
 * The point that is due, if the window is open. While someone decides over its end, that may lie
 * before NOW: then at the next look.
 */
static void sample(struct lb_control *c, uint64_t now)
{
	struct lb_window *w = &c->board->window;
	uint64_t close = atomic_load_explicit(&w->close_ns, memory_order_acquire);

	if (c->sampler && now >= lb_sampler_due(c->sampler) && now < close) {
		lb_sampler_take(c->sampler, now);
		/* the last one is kept when all is quiet */
		if (!is_steady(c, now) || !lb_window_close(w, step_time, &now))
			lb_sampler_keep(c->sampler);
	}
}

void lb_control_finish(struct lb_control *c, uint64_t now)
{
	struct lb_window *w = &c->board->window;
	uint64_t open = atomic_load(&w->open_ns), close = lb_window_end_now(w);

	lb_watch_finish(c->watch, now);
	close = min_u64(close, now);
	if (!c->sampler || open >= close)
		return;
	lb_sampler_finish(c->sampler, close);
	is_steady(c, close); /* at the last moment, it may be */
}

/* When a step is due, now that CLOSE is the window's end. */
static uint64_t next_step(const struct lb_control *c, uint64_t now, uint64_t close)
{
	uint64_t due;

	switch (c->state) {
	case LB_CTL_STARTING:
		return min_u64(atomic_load(&c->board->window.start_ns) + LB_START_LIMIT_NS, close);
	case LB_CTL_MEASURING:
		if (!c->time_ns || close == LB_NEVER)
			close = min_u64(close, now + LOOK_NS);
		due = c->sampler ? lb_sampler_due(c->sampler) : LB_NEVER;
		return due > now ? min_u64(close, due) : close;
	case LB_CTL_DRAINING:
		return min_u64(now + LOOK_NS, min_u64(c->drain_until_ns, c->hurry_ns));
	default:
		return LB_NEVER;
	}
}

uint64_t lb_control_step(struct lb_control *c, uint64_t now)
{
	struct lb_window *w = &c->board->window;
	uint64_t close, open;

	if (c->state == LB_CTL_STARTING)
		starting(c, now);
	if (any_failed(c->board))
		lb_window_close(w, step_time, &now);
	if (c->state == LB_CTL_MEASURING)
		sample(c, now);

	close = lb_window_end_now(w);
	open = atomic_load(&w->open_ns);
	if (c->state <= LB_CTL_MEASURING && now >= close) {
		c->state = LB_CTL_DRAINING;
		c->drain_until_ns = close + c->drain_ns;
		if (c->drain_until_ns < close)
			c->drain_until_ns = LB_NEVER;
		if (c->sampler && open < close)
			lb_sampler_close(c->sampler);
	} else if (c->state == LB_CTL_MEASURING && !c->time_ns && now >= open) {
		look_for_silence(c, now);
	}
	if (c->state == LB_CTL_DRAINING)
		draining(c, now);

	return min_u64(next_step(c, now, close), lb_watch_look(c->watch, now));
}
