#include "board.h"

#include <unistd.h>

#include "clock.h"

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
	return 1;
}

void lb_board_kick(const struct lb_board *b)
{
	static const uint64_t one = 1;

	/* a full counter is as good as a full mailbox: it has been kicked */
	if (write(b->kick_fd, &one, sizeof(one)) < 0 || write(b->edge_fd, &one, sizeof(one)) < 0)
		return;
}
