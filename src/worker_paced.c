#include "worker_paced.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "worker_take.h"

#define LOOK_NS                                                                                    \
	(100 * LB_NSEC_PER_MSEC) /* at most, until the window's edges are looked at again          \
				  */

int lb_paced_make(struct lb_worker *w)
{
	struct lb_board *b = w->board;
	struct lb_paced *p;

	if (!b->paces)
		return 0;
	p = w->paced = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->dues = b->dues + w->first_slot;
	p->catch_up = b->plan->phases[0].streams[0].catch_up;
	p->lanes = calloc(w->n_lanes, sizeof(*p->lanes));
	p->free = calloc(w->n_ios, sizeof(struct lb_io *));
	p->heap = calloc(w->n_lanes, sizeof(*p->heap));
	if (!p->lanes || !p->free || !p->heap)
		return -ENOMEM;
	for (uint32_t l = 0; l < w->n_lanes; l++) {
		uint32_t at = w->first_lane + l;
		const struct lb_lane_plan *lp = &b->plan->lanes[at];

		p->lanes[l] = (struct lb_paced_lane){.pace = &b->paces[lp->lun],
			.resp = {lb_resp_of(b->resps, at, LB_READ),
				lb_resp_of(b->resps, at, LB_WRITE)},
			.free = p->free + (lp->slot - w->first_slot)};
	}
	return 0;
}

void lb_paced_done(struct lb_worker *w)
{
	if (!w->paced)
		return;
	free(w->paced->lanes);
	free(w->paced->free);
	free(w->paced->heap);
	free(w->paced);
}

static uint32_t lane_of(const struct lb_worker *w, const struct lb_io *io)
{
	return (uint32_t)(io->lane - w->lanes) / w->n_sizes;
}

/* ---- which lane is next ---- */

static void sink(struct lb_paced *p)
{
	struct lb_paced_due d = p->heap[0];
	uint32_t i = 0, down;

	while ((down = 2 * i + 1) < p->n_heap) {
		if (down + 1 < p->n_heap && p->heap[down + 1].due_ns < p->heap[down].due_ns)
			down++;
		if (p->heap[down].due_ns >= d.due_ns)
			break;
		p->heap[i] = p->heap[down];
		i = down;
	}
	p->heap[i] = d;
}

static void push(struct lb_paced *p, struct lb_paced_due d)
{
	uint32_t i = p->n_heap++;

	for (uint32_t up; i && p->heap[up = (i - 1) / 2].due_ns > d.due_ns; i = up)
		p->heap[i] = p->heap[up];
	p->heap[i] = d;
}

static uint64_t next_due(const struct lb_paced *p, const struct lb_paced_lane *pl)
{
	return p->start_ns + lb_pace_next_ns(pl->pace);
}

/* ---- transfers that are free ---- */

/* How many arrivals of the window nothing was free for in time, until T. */
static void skip_missed(const struct lb_worker *w, struct lb_pace *pace, uint64_t t)
{
	uint64_t start = w->paced->start_ns;
	uint64_t open = atomic_load_explicit(&w->board->window.open_ns, memory_order_relaxed);
	uint64_t from = open > t ? t + 1 : open > start ? open : start;
	uint64_t n = lb_pace_skip(pace, t - start, from - start);

	if (n)
		atomic_fetch_add_explicit(&pace->missed, n, memory_order_relaxed);
}

/* From T on IO is free for what is due next. */
static void make_free(struct lb_worker *w, struct lb_io *io, uint64_t t)
{
	struct lb_paced *p = w->paced;
	uint32_t lane = lane_of(w, io);
	struct lb_paced_lane *pl = &p->lanes[lane];

	pl->free[pl->n_free++] = io;
	if (pl->n_free > 1)
		return;
	pl->free_ns = t;
	if (p->catch_up == LB_CATCH_UP_NONE && !atomic_fetch_add(&pl->pace->n_free, 1))
		skip_missed(w, pl->pace, t);
	push(p, (struct lb_paced_due){next_due(p, pl), lane});
}

/* IO has come back at T, and all that there is to write down of it has been. */
static void release(struct lb_worker *w, struct lb_io *io, uint64_t t)
{
	io->issue_ns = 0;
	w->paced->dues[io->slot] = 0;
	w->n_left--;
	lb_lane_rests(io->lane);
	make_free(w, io, t);
}

/* PL, on top of the heap, has no transfer free any more, or its LUN was retired. */
static void drop_lane(struct lb_paced *p, struct lb_paced_lane *pl)
{
	if (p->catch_up == LB_CATCH_UP_NONE)
		atomic_fetch_sub(&pl->pace->n_free, 1);
	p->heap[0] = p->heap[--p->n_heap];
}

/* IO serves what was due at DUE_NS, from T on. */
static void aim(struct lb_worker *w, struct lb_paced_lane *pl, struct lb_io *io, uint64_t due_ns,
	uint64_t t)
{
	struct lb_lane *lane = io->lane;
	uint64_t ready_ns = due_ns > pl->free_ns ? due_ns : pl->free_ns;
	struct lb_resp *resp;

	lb_lane_next(lane, io);
	w->paced->dues[io->slot] = due_ns;
	w->n_left++;
	lb_lane_wakes(lane, t);
	if (t < atomic_load_explicit(&w->board->window.open_ns, memory_order_relaxed))
		return;
	resp = pl->resp[io->op];
	resp->issued++;
	resp->held_sum_ns += t - ready_ns;
	if (t - ready_ns > resp->held_max_ns)
		resp->held_max_ns = t - ready_ns;
}

/* Those whose lanes have waited long enough after an error. */
static void release_parked(struct lb_worker *w, uint64_t t)
{
	uint32_t left = 0;

	w->parked_ns = LB_NEVER;
	for (uint32_t i = 0; i < w->n_parked; i++) {
		struct lb_io *io = w->parked[i];
		uint64_t due = lb_lane_first(io->lane)->backoff_until_ns;

		if (due <= t) {
			w->n_left--;
			make_free(w, io, t);
			continue;
		}
		w->parked[left++] = io;
		if (due < w->parked_ns)
			w->parked_ns = due;
	}
	w->n_parked = left;
}

/* Puts into BATCH what is due at T, the longest overdue first; returns how many. */
static uint32_t gather(struct lb_worker *w, struct lb_io **batch, uint64_t t)
{
	struct lb_paced *p = w->paced;
	uint32_t n = 0;

	while (n < LB_BATCH && p->n_heap && p->heap[0].due_ns <= t) {
		struct lb_paced_lane *pl = &p->lanes[p->heap[0].lane];
		bool is_retired = w->lanes[p->heap[0].lane].is_retired;
		uint64_t due;

		if (!is_retired && lb_pace_claim(pl->pace, t - p->start_ns, &due)) {
			struct lb_io *io = pl->free[--pl->n_free];

			aim(w, pl, io, p->start_ns + due, t);
			batch[n++] = io;
		}
		if (pl->n_free && !is_retired)
			p->heap[0].due_ns = next_due(p, pl);
		else
			drop_lane(p, pl);
		sink(p);
	}
	return n;
}

/* ---- what came back ---- */

void lb_paced_take(const struct lb_worker *w, const struct lb_io *io, uint64_t t)
{
	struct lb_resp *resp = w->paced->lanes[lane_of(w, io)].resp[io->op];
	uint64_t ns = t - w->paced->dues[io->slot];
	uint64_t *bucket = &resp->hist->count[lb_hist_bucket(ns)];

	if (w->sharing == LB_SHARES_HIST)
		__atomic_fetch_add(bucket, 1, __ATOMIC_RELAXED);
	else
		++*bucket;
	resp->sum_ns += (double)ns;
	if (ns < resp->min_ns)
		resp->min_ns = ns;
	if (ns > resp->max_ns)
		resp->max_ns = ns;
}

void lb_paced_take_late(const struct lb_worker *w, const struct lb_io *io, uint64_t t)
{
	struct lb_resp *resp = w->paced->lanes[lane_of(w, io)].resp[io->op];
	uint64_t *due_ns = &w->paced->dues[io->slot];

	if (lb_is_good(io)) {
		if (t - *due_ns > resp->late_max_ns)
			resp->late_max_ns = t - *due_ns;
		if (!resp->late_due_ns || *due_ns < resp->late_due_ns)
			resp->late_due_ns = *due_ns;
	}
	*due_ns = 0;
}

/* ---- the loops ---- */

/* How long from T on nothing is to be done but what completions bring. */
static uint64_t idle_ns(const struct lb_worker *w, uint64_t t, uint64_t close)
{
	const struct lb_paced *p = w->paced;
	uint64_t until = w->control_ns;

	if (t < close) {
		if (p->n_heap && p->heap[0].due_ns < until)
			until = p->heap[0].due_ns;
		if (w->parked_ns < until)
			until = w->parked_ns;
		if (close < until)
			until = close;
		if (!w->control && t + LOOK_NS < until)
			until = t + LOOK_NS;
	}
	return until == LB_NEVER ? LB_NEVER : until > t ? until - t : 0;
}

static int run_deep(struct lb_worker *w)
{
	struct lb_io *batch[LB_BATCH];
	int got = 0;

	while (got >= 0) {
		uint64_t t = lb_worker_now(w), close, idle;
		uint32_t n = 0;

		lb_worker_control(w, t);
		lb_take_retired(w, batch, 0);
		close = lb_window_end(&w->board->window);
		if (t >= close) {
			lb_take_close(w);
			if (!w->n_left)
				break;
		} else {
			if (t >= w->parked_ns)
				release_parked(w, t);
			n = gather(w, batch, t);
			t = lb_worker_now(w);
		}
		idle = idle_ns(w, t, close);
		for (uint32_t i = 0; i < n; i++)
			batch[i]->issue_ns = t;
		got = w->ops->exchange(w->engine, batch, n, idle != 0, LB_BATCH, idle);
		if (got <= 0)
			continue;
		t = lb_worker_now(w);
		n = lb_take(w, batch, (uint32_t)got, t);
		for (uint32_t i = 0; i < n; i++)
			release(w, batch[i], t);
	}
	return got;
}

/* Whether the LUN of a worker that has but one was given up. */
static bool is_retired(struct lb_worker *w)
{
	lb_take_retired(w, NULL, 0);
	return w->lanes[0].is_retired;
}

/*
 * An engine that carries one I/O: its lane claims the next arrival and sleeps until it is due, so
 * that of the lanes that are free only one wakes for each.
 */
static int run_one(struct lb_worker *w)
{
	struct lb_paced *p = w->paced;
	struct lb_paced_lane *pl = p->lanes;
	struct lb_window *window = &w->board->window;
	struct lb_io *batch[1];
	uint64_t due = 0, t = p->start_ns;
	int got = 0;

	while (got >= 0) {
		if (w->n_parked) {
			lb_window_sleep(window, w->parked_ns);
			release_parked(w, t = lb_now_ns());
		}
		if (t >= lb_window_end(window) || is_retired(w))
			break;
		lb_pace_claim(pl->pace, LB_NEVER, &due);
		due += p->start_ns;
		p->dues[0] = due;
		lb_window_sleep(window, due);
		t = lb_now_ns();
		if (t >= lb_window_end(window) || is_retired(w))
			break;
		batch[0] = pl->free[--pl->n_free];
		drop_lane(p, pl);
		aim(w, pl, batch[0], due, t);
		batch[0]->issue_ns = lb_now_ns();
		got = w->ops->exchange(w->engine, batch, 1, 1, 1, LB_NEVER);
		t = lb_now_ns();
		if (got > 0 && lb_take(w, batch, 1, t))
			release(w, batch[0], t);
	}
	return got;
}

int lb_paced_loop(struct lb_worker *w)
{
	struct lb_paced *p = w->paced;
	bool is_deep = !(w->ops->caps & LB_CAP_DEPTH_ONE);
	int ret;

	prctl(PR_SET_TIMERSLACK, 1); /* 50 us by default: it would be in each response time */
	p->start_ns = atomic_load(&w->board->window.start_ns);
	w->parked_ns = LB_NEVER;
	w->wake_ns = w->control_ns = w->control ? 0 : LB_NEVER;
	for (uint32_t i = w->n_ios; i-- > 0;)
		make_free(w, &w->ios[i], p->start_ns);
	lb_worker_started(w, w->n_lanes); /* there may be nothing to issue for long */
	ret = is_deep ? run_deep(w) : run_one(w);
	lb_take_close(w);
	return ret < 0 ? ret : 0;
}
