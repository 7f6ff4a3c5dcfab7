#include "worker_think.h"

#include "worker_take.h"

/* The window may end early, by a count or a signal: sleep no longer than this. */
#define LOOK_NS (100 * LB_NSEC_PER_MSEC)

static struct lb_rest *rest_at(const struct lb_worker *w, uint32_t i)
{
	return &w->rests[(w->first_rest + i) % w->n_ios];
}

void lb_think_rest(struct lb_worker *w, struct lb_io **batch, uint32_t n, uint64_t t)
{
	for (uint32_t i = 0; i < n; i++) {
		batch[i]->issue_ns = 0;
		lb_lane_rests(batch[i]->lane);
		*rest_at(w, w->n_rests++) = (struct lb_rest){batch[i], t + w->think_ns};
	}
	if (n && t + w->think_ns < w->wake_ns)
		w->wake_ns = t + w->think_ns;
}

uint32_t lb_think_wake(struct lb_worker *w, struct lb_io **batch, uint32_t n, uint64_t t)
{
	while (w->n_rests && n < LB_BATCH && rest_at(w, 0)->due_ns <= t) {
		struct lb_io *io = rest_at(w, 0)->io;

		lb_lane_wakes(io->lane, t);
		batch[n++] = io;
		w->first_rest = (w->first_rest + 1) % w->n_ios;
		w->n_rests--;
	}
	return n;
}

uint64_t lb_think_next_ns(const struct lb_worker *w, uint64_t t)
{
	uint64_t due_ns;

	if (!w->n_rests)
		return LB_NEVER;
	due_ns = rest_at(w, 0)->due_ns;
	return due_ns < t + LOOK_NS ? due_ns : t + LOOK_NS;
}

void lb_think_drop(struct lb_worker *w, bool all)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < w->n_rests; i++) {
		struct lb_rest rest = *rest_at(w, i);

		if (!all && !rest.io->lane->is_retired)
			*rest_at(w, kept++) = rest;
	}
	w->n_left -= w->n_rests - kept;
	w->n_rests = kept;
}
