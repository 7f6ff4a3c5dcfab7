/* What a lane does next: the op, offset and size of its next transfer. */
#ifndef LB_WORKLOAD_H
#define LB_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "engine.h"
#include "plan.h"
#include "rng.h"
#include "stats.h"

/* A lane at work: one worker's own. The first line is what every transfer touches. */
struct lb_lane {
	struct lb_cell *cell[LB_OPS];
	struct lb_rng rng;
	uint64_t n_blocks, block_bytes, start_bytes;
	uint64_t look_at; /* the number of transfers at which there is more to do: the lesser of */

	uint64_t sample_at;    /* that at which to look at the data next, */
	uint64_t near_full_at; /* and that from which a batch may end the run (LB_NEVER: not known
				  here) */
	uint8_t pat;
	bool shares_cursor, shares_count; /* with other lanes on this LUN */
	uint8_t n_batch, allowed; /* of the batch at hand: good ones, and how many of them count */
	uint8_t n_backoffs;       /* in a row */
	uint64_t next_block;      /* sequential, when the cursor is this lane's alone */
	struct lb_cursor *cursor;
	struct lb_lun_state *lun; /* for --count */
	/* after errors */
	uint64_t backoff_until_ns, good_at_error;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct lb_lane) == 128, "two cache lines, the hot one first");

/* Makes LANE what PLAN->lanes[AT] says, on the cells and cursors of BOARD. */
void lb_lane_init(struct lb_lane *lane, const struct lb_board *board, uint32_t at);

/* The next block of a sequential stream whose lanes share one cursor. */
uint64_t lb_lane_next_shared(struct lb_lane *lane);

static inline void lb_lane_next(struct lb_lane *lane, struct lb_io *io)
{
	uint64_t block;

	if (__builtin_expect(lane->pat == LB_RAND, 1)) {
		block = lb_rng_below(&lane->rng, lane->n_blocks);
	} else if (!lane->shares_cursor) {
		block = lane->next_block;
		lane->next_block = block + 1 == lane->n_blocks ? 0 : block + 1;
	} else {
		block = lb_lane_next_shared(lane);
	}
	io->offset_bytes = lane->start_bytes + block * lane->block_bytes;
}

#endif
