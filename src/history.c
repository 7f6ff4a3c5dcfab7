#include "history.h"

#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "pulse.h"

/* What is handed out of the log in order of time is in order of its place, where times are equal.
 */
static int by_begin(const void *a, const void *b)
{
	const struct lb_event *x = *(const struct lb_event *const *)a;
	const struct lb_event *y = *(const struct lb_event *const *)b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int events_make(struct lb_result *r, const struct lb_events *log)
{
	uint32_t n = lb_events_n(log);

	r->events_dropped = atomic_load(&log->dropped);
	r->events = malloc((n + 1) * sizeof(*r->events));
	if (!r->events)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (atomic_load_explicit(&log->at[i].is_there, memory_order_acquire))
			r->events[r->n_events++] = &log->at[i];
	qsort(r->events, r->n_events, sizeof(*r->events), by_begin);
	return 0;
}

/* Of one LUN: the gaps that its lanes have told of, and the one that the window's end cut short. */
static void silence_make(struct lb_silence *out, const struct lb_lun_state *state,
	uint64_t stall_ns, const struct lb_span *s)
{
	uint64_t from_ns, to_ns;

	out->longest_ns = lb_figure(__atomic_load_n(&state->longest_ns, __ATOMIC_RELAXED));
	out->n_stalls = atomic_load(&state->n_stalls) - state->n_late_stalls;
	out->stalled_ns = state->stalled_ns;
	if (out->longest_ns.v)
		out->longest_s = (struct lb_fig_f64){true,
			lb_seconds_since(s->open_ns, state->longest_end_ns - out->longest_ns.v)};
	if (!lb_pulse_last_gap(state, s->open_ns, s->close_ns, &from_ns, &to_ns))
		return;
	if (to_ns - from_ns >= stall_ns) {
		out->n_stalls++;
		out->stalled_ns += to_ns - from_ns;
	}
	if (to_ns - from_ns > out->longest_ns.v) {
		out->longest_ns.v = to_ns - from_ns;
		out->longest_s = (struct lb_fig_f64){true, lb_seconds_since(s->open_ns, from_ns)};
	}
}

int lb_history_make(struct lb_result *r, const struct lb_board *b, const struct lb_span *s)
{
	int ret = events_make(r, &b->events);

	if (ret || s->open_ns >= s->close_ns)
		return ret;
	r->silence.longest_ns.has = true;
	for (uint32_t i = 0; i < r->n_luns; i++) {
		struct lb_silence *lun = &r->luns[i].silence;

		silence_make(lun, &b->lun_states[i], b->stall_ns, s);
		r->silence.n_stalls += lun->n_stalls;
		r->silence.stalled_ns += lun->stalled_ns;
		if (lun->longest_ns.v > r->silence.longest_ns.v) {
			r->silence.longest_ns = lun->longest_ns;
			r->silence.longest_s = lun->longest_s;
		}
	}
	return 0;
}
