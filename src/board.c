#include "board.h"

#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "pulse.h"

void lb_board_cells_init(struct lb_board *b)
{
	const struct lb_plan *plan = b->plan;

	for (uint32_t i = 0; i < plan->n_luns; i++)
		b->lun_states[i].board = b;
	for (uint32_t i = 0; i < plan->n_lanes; i++) {
		const struct lb_lane_plan *lane = &plan->lanes[i];
		const struct lb_sizes *sizes = &plan->phases[0].streams[lane->stream].sizes;

		for (uint32_t k = 0; k < sizes->n * LB_OPS; k++)
			*lb_board_cell_at(b, i, k) = (struct lb_cell){
				.min_ns = UINT64_MAX,
				.hist = &b->hists[lane->hist + k],
				.size_bytes = sizes->bytes[k / LB_OPS],
				.lun = &b->lun_states[lane->lun],
			};
	}
}

int lb_window_close(struct lb_window *w, uint64_t (*now)(void *), void *clock)
{
	uint64_t planned = atomic_load_explicit(&w->close_ns, memory_order_relaxed);
	uint64_t end;
	uint32_t open = 0;

	if (!atomic_compare_exchange_strong(&w->closed_early, &open, 1))
		return 0;
	/* the planned end may be set at this very moment: claim whatever is there */
	while (!atomic_compare_exchange_weak(&w->close_ns, &planned, LB_CLOSE_CLAIMED))
		;
	end = now ? now(clock) : lb_now_ns();
	atomic_store(&w->close_ns, end < planned ? end : planned);
	lb_window_changed(w);
	return 1;
}

static uint64_t given(void *now_ns)
{
	return *(const uint64_t *)now_ns;
}

int lb_lun_retire(struct lb_board *b, uint32_t lun, uint64_t now_ns, const char *why)
{
	struct lb_lun_state *s = &b->lun_states[lun];
	struct lb_event ev = {
		.kind = LB_EV_LOST, .lun = (int32_t)lun, .begin_ns = now_ns, .end_ns = now_ns};
	uint64_t since = lb_pulse_silent_since(s), lives = 0;

	if (!atomic_compare_exchange_strong(&s->retired_ns, &lives, now_ns))
		return 0;
	if (since < now_ns && now_ns > atomic_load(&b->window.open_ns))
		lb_pulse_move(s, since, now_ns); /* with it ends the gap, if there is one */
	snprintf(s->retired_why, sizeof(s->retired_why), "%s", why);
	snprintf(ev.what, sizeof(ev.what), "%s", why);
	lb_event_add(&b->events, &ev);
	if (atomic_fetch_add(&b->n_retired, 1) + 1 == b->plan->n_luns &&
		lb_window_close(&b->window, given, &now_ns))
		atomic_store(&b->window.lost, 1);
	for (uint32_t i = 0; i < b->plan->n_workers; i++)
		lb_worker_call(&b->workers[i]);
	lb_board_kick(b);
	return 1;
}

void lb_window_changed(struct lb_window *w)
{
	atomic_fetch_add(&w->changes, 1);
	syscall(SYS_futex, &w->changes, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void lb_window_sleep(struct lb_window *w, uint64_t until_ns)
{
	for (;;) {
		uint32_t seen = atomic_load(&w->changes); /* before what it is the change of */
		uint64_t end_ns = lb_window_end(w);
		uint64_t at_ns = end_ns < until_ns ? end_ns : until_ns;
		struct timespec ts = {.tv_sec = (time_t)(at_ns / LB_NSEC_PER_SEC),
			.tv_nsec = (long)(at_ns % LB_NSEC_PER_SEC)};

		if (lb_now_ns() >= at_ns)
			return;
		syscall(SYS_futex, &w->changes, FUTEX_WAIT_BITSET, seen, &ts, NULL,
			FUTEX_BITSET_MATCH_ANY);
	}
}

void lb_board_kick(const struct lb_board *b)
{
	static const uint64_t one = 1;

	/* a full counter is as good as a full mailbox: it has been kicked */
	if (write(b->kick_fd, &one, sizeof(one)) < 0 || write(b->edge_fd, &one, sizeof(one)) < 0)
		return;
}
