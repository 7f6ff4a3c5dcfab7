#include "workload.h"

#include <string.h>

#include "clock.h"

void lb_lane_init(struct lb_lane *lane, const struct lb_board *board, uint32_t at)
{
	const struct lb_plan *plan = board->plan;
	const struct lb_lane_plan *lp = &plan->lanes[at];
	uint64_t count = plan->phases[0].count;
	const struct lb_stream *stream = &plan->phases[0].streams[lp->stream];

	memset(lane, 0, sizeof(*lane));
	for (int op = 0; op < LB_OPS; op++)
		lane->cell[op] = lb_board_cell(board, at, op);
	lb_rng_seed(&lane->rng, plan->seed, lp->rng_stream);
	lane->n_blocks = lp->n_blocks;
	lane->block_bytes = stream->size_bytes;
	lane->start_bytes = lp->region_start;
	lane->look_at = lane->sample_at = 1;
	lane->near_full_at = LB_NEVER;
	if (count > LB_BATCH && !lp->shares_cursor)
		lane->near_full_at = count - LB_BATCH;
	lane->pat = stream->pat;
	lane->shares_cursor = lane->shares_count = lp->shares_cursor;
	lane->cursor = &board->cursors[lp->cursor];
	lane->lun = &board->lun_states[lp->lun];
}

uint64_t lb_lane_next_shared(struct lb_lane *lane)
{
	uint64_t n = atomic_fetch_add_explicit(&lane->cursor->blocks, 1, memory_order_relaxed);

	return n % lane->n_blocks;
}
