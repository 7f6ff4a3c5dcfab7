#include "on_error.h"

#include <errno.h>
#include <stdio.h>

#include "worker_take.h"

/* Good ones of all lanes of a LUN; LANE is one of them, as the plan numbers them. */
static uint64_t sum_good(const struct lb_board *b, uint32_t lane)
{
	uint32_t at = lane;
	uint64_t n = 0;

	do {
		for (uint32_t k = 0; k < b->plan->n_sizes * LB_OPS; k++) {
			const struct lb_cell *cell = lb_board_cell_at(b, at, k);

			n += __atomic_load_n(&cell->xfers, __ATOMIC_RELAXED) +
			     __atomic_load_n(&cell->outside, __ATOMIC_RELAXED);
		}
		at = b->plan->lanes[at].next_of_lun;
	} while (at != lane);
	return n;
}

/* How many have failed on the LUN, this one with them, since one last succeeded. */
static uint32_t errors_in_row(struct lb_lun_state *lun, uint64_t good)
{
	if (atomic_exchange(&lun->good_at_error, good) != good)
		atomic_store(&lun->errors_in_row, 0);
	return atomic_fetch_add(&lun->errors_in_row, 1) + 1;
}

void lb_on_error(struct lb_worker *w, const struct lb_io *io, uint64_t t)
{
	struct lb_board *b = w->board;
	const struct lb_plan *plan = b->plan;
	uint32_t lane = w->first_lane + (uint32_t)(io->lane - w->lanes) / w->n_sizes, n;
	uint32_t lun = plan->lanes[lane].lun;
	char why[96], name[16];

	if (plan->on_error == LB_ON_ERROR_STOP && lb_window_close(&b->window, lb_worker_clock, w)) {
		atomic_store(&b->window.failed, 1);
		lb_board_kick(b);
	}
	if (!atomic_exchange(&b->lun_states[lun].is_suspect, 1)) {
		atomic_store(&b->has_suspects, 1);
		lb_board_kick(b);
	}
	n = errors_in_row(&b->lun_states[lun], sum_good(b, lane));
	lb_fault_name(name, sizeof(name), io->res);
	if (io->res == -ENODEV || io->res == -ENXIO || plan->on_error == LB_ON_ERROR_LUN)
		snprintf(why, sizeof(why), "%s, %s", name, lb_fault_words(io->res));
	else if (plan->max_errors && n >= plan->max_errors)
		snprintf(why, sizeof(why), "%u errors in a row, the last %s, %s", n, name,
			lb_fault_words(io->res));
	else
		return;
	lb_lun_retire(b, lun, t, why);
}
