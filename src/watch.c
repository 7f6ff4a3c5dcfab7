#include "watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "pulse.h"

#define LOOK_NS     (500 * LB_NSEC_PER_MSEC)
#define CLOSE_NS    (100 * LB_NSEC_PER_MSEC) /* between looks while something lasts */
#define HELD_NS     LB_NSEC_PER_SEC          /* no call that submits takes so long by itself */
#define READ(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

struct lun {
	uint32_t n_stalls;                   /* that its lanes have told of and that are events */
	uint64_t over_from_ns;               /* of the last of these */
	uint64_t stall_from_ns;              /* of the one that lasts; 0: none does */
	struct lb_event *stall;              /* NULL: the log was full */
	uint64_t burst_from_ns, burst_to_ns; /* of errors: the one that was seen last */
	struct lb_event *burst;              /* while it lasts */
	uint64_t from_ns;                    /* silent since; of one look */
	uint32_t in_flight;                  /* likewise */
	bool is_silent;
};

/* A worker. */
struct holder {
	uint64_t since_ns; /* held in a call that submits, and others with it; 0: it is not */
	struct lb_event *event;
};

struct lb_watch {
	struct lb_board *board;
	struct holder *workers;
	struct lun luns[];
};

int lb_watch_make(struct lb_watch **w, struct lb_board *board)
{
	const struct lb_plan *plan = board->plan;

	struct lb_watch *made = calloc(1, sizeof(*made) + plan->n_luns * sizeof(made->luns[0]));
	struct holder *workers = calloc(plan->n_workers, sizeof(*workers));

	*w = NULL;
	if (!made || !workers) {
		free(made);
		free(workers);
		return -ENOMEM;
	}
	made->board = board;
	made->workers = workers;
	*w = made;
	return 0;
}

void lb_watch_done(struct lb_watch *w)
{
	if (w)
		free(w->workers);
	free(w);
}

/* ---- stalls ---- */

static struct lb_event *add_stall(const struct lb_watch *w, const struct lun *lun, uint64_t from_ns,
	uint64_t to_ns, uint32_t in_flight)
{
	struct lb_event ev = {.kind = LB_EV_STALL,
		.lun = (int32_t)(lun - w->luns),
		.begin_ns = from_ns,
		.end_ns = to_ns,
		.n = in_flight};

	return lb_event_add(&w->board->events, &ev);
}

static void end_stall(struct lun *lun, uint64_t to_ns)
{
	if (lun->stall)
		atomic_store_explicit(&lun->stall->end_ns, to_ns, memory_order_release);
	lun->stall_from_ns = 0;
}

/* The LUN's lanes tell of each stall when it is over, to the nanosecond. */
static void take_ended(const struct lb_watch *w, struct lun *lun, const struct lb_lun_state *state)
{
	uint32_t n = atomic_load_explicit(&state->n_stalls, memory_order_acquire);

	if (n - lun->n_stalls > LB_STALLS) /* older ones have been written over */
		lun->n_stalls = n - LB_STALLS;
	for (; lun->n_stalls < n; lun->n_stalls++) {
		struct lb_stall s = state->stalls[lun->n_stalls % LB_STALLS];

		if (s.from_ns == lun->stall_from_ns)
			end_stall(lun, s.to_ns);
		else
			add_stall(w, lun, s.from_ns, s.to_ns, 0);
		lun->over_from_ns = s.from_ns;
	}
}

/* What is in flight on the LUNs that are silent. */
static void count_in_flight(struct lb_watch *w)
{
	const struct lb_board *b = w->board;

	for (uint32_t i = 0; i < b->plan->n_lanes; i++) {
		const struct lb_lane_plan *lane = &b->plan->lanes[i];
		struct lun *lun = &w->luns[lane->lun];

		for (uint32_t k = lane->slot; lun->is_silent && k < lane->slot + lane->qd; k++)
			lun->in_flight += READ(b->ios[k].issue_ns) != 0;
	}
}

static void begin_stalls(struct lb_watch *w)
{
	count_in_flight(w);
	for (uint32_t i = 0; i < w->board->plan->n_luns; i++) {
		struct lun *lun = &w->luns[i];

		/* after the window's end all of it may be back */
		if (!lun->is_silent || !lun->in_flight)
			continue;
		lun->stall_from_ns = lun->from_ns;
		lun->stall = add_stall(w, lun, lun->from_ns, LB_NEVER, lun->in_flight);
	}
}

/* ---- errors ---- */

static void end_burst(struct lun *lun)
{
	if (lun->burst)
		atomic_store_explicit(&lun->burst->end_ns, lun->burst_to_ns, memory_order_release);
	lun->burst = NULL;
}

/* A burst of errors lasts until there have been none for a while, or the run is OVER. */
static void look_at_errors(struct lb_watch *w, struct lun *lun, const struct lb_lun_state *state,
	uint64_t now_ns, bool over)
{
	uint64_t from_ns = atomic_load_explicit(&state->burst_from_ns, memory_order_acquire);
	struct lb_event ev = {.kind = LB_EV_ERRORS,
		.lun = (int32_t)(lun - w->luns),
		.begin_ns = from_ns,
		.end_ns = LB_NEVER};

	if (from_ns != lun->burst_from_ns) {
		end_burst(lun);
		lun->burst_from_ns = from_ns;
		lun->burst = lb_event_add(&w->board->events, &ev);
	}
	lun->burst_to_ns = atomic_load_explicit(&state->burst_to_ns, memory_order_relaxed);
	if (!lun->burst)
		return;
	atomic_store_explicit(&lun->burst->n,
		atomic_load_explicit(&state->burst_n, memory_order_acquire), memory_order_relaxed);
	if (over || (lun->burst_to_ns <= now_ns && now_ns - lun->burst_to_ns >= LB_LULL_NS))
		end_burst(lun);
}

/* ---- workers held ---- */

/* When the last batch was handed over that worker WP is handing over now. */
static uint64_t last_issue_ns(const struct lb_board *b, const struct lb_worker_plan *wp)
{
	uint64_t last_ns = 0;

	for (uint32_t k = wp->slot; k < wp->slot + wp->n_slots; k++)
		if (READ(b->ios[k].issue_ns) > last_ns)
			last_ns = READ(b->ios[k].issue_ns);
	return last_ns;
}

/* Whether LANE has part in the batch that was handed over at ISSUE_NS. */
static bool is_in_batch(
	const struct lb_board *b, const struct lb_lane_plan *lane, uint64_t issue_ns)
{
	for (uint32_t k = lane->slot; k < lane->slot + lane->qd; k++)
		if (READ(b->ios[k].issue_ns) == issue_ns)
			return true;
	return false;
}

/* Whether LANE's LUN waits for nothing but its worker: no other lane of it has I/O in flight. */
static bool is_merely_held(const struct lb_lun_state *state)
{
	return atomic_load_explicit(&state->n_busy, memory_order_acquire) == 1;
}

/* Names, the first few of them. */
struct names {
	uint32_t n;
	char text[112];
};

static void add_name(struct names *names, const char *name)
{
	size_t len = strlen(names->text);

	if (names->n < LB_EVENTS_SHOWN)
		snprintf(names->text + len, sizeof(names->text) - len, "%s%s", names->n ? ", " : "",
			name);
	names->n++;
}

static void say_more(char *buf, size_t size, const struct names *names)
{
	buf[0] = '\0';
	if (names->n > LB_EVENTS_SHOWN)
		snprintf(buf, size, " and %u more", names->n - LB_EVENTS_SHOWN);
}

/*
 * Worker I has been in a call that submits since SINCE_NS. One LUN of the batch holds it, which of
 * them cannot be told; the LUNs of its other lanes wait with it.
 */
static void begin_hold(struct lb_watch *w, uint32_t i, uint64_t since_ns)
{
	struct lb_board *b = w->board;
	const struct lb_worker_plan *wp = &b->plan->workers[i];
	struct lb_event ev = {
		.kind = LB_EV_HELD, .lun = -1, .begin_ns = since_ns, .end_ns = LB_NEVER};
	uint64_t issue_ns = last_issue_ns(b, wp);
	struct names batch = {0}, held = {0};
	char more_batch[32], more_held[32];

	for (uint32_t l = wp->lane; l < wp->lane + wp->n_lanes; l++) {
		const struct lb_lane_plan *lane = &b->plan->lanes[l];

		if (is_in_batch(b, lane, issue_ns)) {
			add_name(&batch, b->plan->luns[lane->lun]->name);
			ev.lun = batch.n == 1 ? (int32_t)lane->lun : LB_EVENT_OF_RUN;
		} else if (is_merely_held(&b->lun_states[lane->lun])) {
			lb_pulse_held(&b->lun_states[lane->lun], since_ns);
			add_name(&held, b->plan->luns[lane->lun]->name);
		}
	}
	ev.n = held.n;
	say_more(more_batch, sizeof(more_batch), &batch);
	say_more(more_held, sizeof(more_held), &held);
	snprintf(ev.what, sizeof(ev.what), "%s%s%s%s%s%s%s", batch.n > 1 ? "by one of " : "",
		batch.n > 1 ? batch.text : "", batch.n > 1 ? more_batch : "",
		batch.n > 1 && held.n ? "; " : "", held.n ? "with it waited " : "", held.text,
		more_held);
	w->workers[i] = (struct holder){since_ns, NULL};
	if (ev.what[0])
		w->workers[i].event = lb_event_add(&b->events, &ev);
}

static void end_hold(struct lb_watch *w, uint32_t i)
{
	struct lb_board *b = w->board;
	const struct lb_worker_plan *wp = &b->plan->workers[i];
	struct holder *h = &w->workers[i];
	uint64_t until_ns = READ(b->workers[i].submit_call.until_ns);

	for (uint32_t l = wp->lane; l < wp->lane + wp->n_lanes; l++) {
		struct lb_lun_state *state = &b->lun_states[b->plan->lanes[l].lun];

		if (atomic_load(&state->held_from_ns) == h->since_ns)
			lb_pulse_let_go(state, until_ns);
	}
	if (h->event)
		atomic_store_explicit(&h->event->end_ns, until_ns, memory_order_release);
	*h = (struct holder){0};
}

static void look_at_worker(struct lb_watch *w, uint32_t i, uint64_t now_ns)
{
	uint64_t since_ns =
		__atomic_load_n(&w->board->workers[i].submit_call.since_ns, __ATOMIC_ACQUIRE);

	if (w->workers[i].since_ns && since_ns != w->workers[i].since_ns)
		end_hold(w, i);
	if (since_ns && since_ns != w->workers[i].since_ns && now_ns >= since_ns + HELD_NS)
		begin_hold(w, i, since_ns);
}

/* ---- a look ---- */

/* LUN I: whether it is silent for too long, or else when it will be. */
static uint64_t look_at(struct lb_watch *w, uint32_t i, uint64_t open_ns, uint64_t now_ns)
{
	const struct lb_lun_state *state = &w->board->lun_states[i];
	struct lun *lun = &w->luns[i];
	uint64_t since_ns, due_ns;

	take_ended(w, lun, state);
	look_at_errors(w, lun, state, now_ns, false);
	since_ns = lb_pulse_silent_since(state);
	lun->in_flight = 0;
	lun->is_silent = false;
	if (since_ns == LB_NEVER || lun->stall_from_ns)
		return LB_NEVER;
	lun->from_ns = since_ns > open_ns ? since_ns : open_ns;
	if (lun->from_ns == lun->over_from_ns) /* it has just ended */
		return LB_NEVER;
	due_ns = lun->from_ns + w->board->stall_ns;
	lun->is_silent = due_ns <= now_ns;
	return due_ns;
}

uint64_t lb_watch_look(struct lb_watch *w, uint64_t now_ns)
{
	const struct lb_board *b;
	uint64_t next_ns = now_ns + LOOK_NS, open_ns;
	uint32_t n_silent = 0;
	bool lasts = false;

	if (!w)
		return LB_NEVER;
	b = w->board;
	open_ns = atomic_load(&b->window.open_ns);
	if (now_ns < open_ns)
		return open_ns;
	for (uint32_t i = 0; i < b->plan->n_workers; i++) {
		look_at_worker(w, i, now_ns); /* first: who is held has not stalled */
		lasts |= w->workers[i].since_ns != 0;
	}
	for (uint32_t i = 0; i < b->plan->n_luns; i++) {
		uint64_t due_ns = look_at(w, i, open_ns, now_ns);

		n_silent += w->luns[i].is_silent;
		lasts |= w->luns[i].stall_from_ns || w->luns[i].burst;
		if (due_ns > now_ns && due_ns < next_ns)
			next_ns = due_ns;
	}
	if (n_silent)
		begin_stalls(w);
	if ((lasts || n_silent) && next_ns > now_ns + CLOSE_NS)
		next_ns = now_ns + CLOSE_NS;
	return next_ns;
}

void lb_watch_finish(struct lb_watch *w, uint64_t now_ns)
{
	lb_watch_look(w, now_ns);
	for (uint32_t i = 0; w && i < w->board->plan->n_luns; i++)
		look_at_errors(w, &w->luns[i], &w->board->lun_states[i], now_ns, true);
}
