#include "event.h"

#include <stddef.h>

const char *const lb_event_names[LB_EV_KINDS] = {
	[LB_EV_STALL] = "stall",
	[LB_EV_ERRORS] = "errors",
	[LB_EV_LOST] = "lost",
	[LB_EV_PATH] = "path",
	[LB_EV_PATHS] = "paths",
	[LB_EV_SUSPENDED] = "suspended",
	[LB_EV_SIZE] = "size",
	[LB_EV_HELD] = "held",
	[LB_EV_STEADY] = "steady",
};

struct lb_event *lb_event_add(struct lb_events *log, const struct lb_event *ev)
{
	uint32_t at = atomic_fetch_add_explicit(&log->n, 1, memory_order_relaxed);
	struct lb_event *to;

	if (at >= log->room) {
		atomic_store_explicit(&log->n, log->room, memory_order_relaxed);
		atomic_fetch_add_explicit(&log->dropped, 1, memory_order_relaxed);
		return NULL;
	}
	to = &log->at[at];
	*to = *ev;
	atomic_store_explicit(&to->is_there, 1, memory_order_release);
	return to;
}

bool lb_event_has_ended(const struct lb_event *ev)
{
	return atomic_load_explicit(&ev->is_there, memory_order_acquire) &&
	       atomic_load_explicit(&ev->end_ns, memory_order_acquire) != UINT64_MAX;
}

uint32_t lb_events_n(const struct lb_events *log)
{
	uint32_t n = atomic_load_explicit(&log->n, memory_order_relaxed);

	return n < log->room ? n : log->room;
}
