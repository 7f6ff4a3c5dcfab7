/* What a lane does next: the op, offset and size of its next transfer. */
#ifndef LB_WORKLOAD_H
#define LB_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "data.h"
#include "engine.h"
#include "pattern.h"
#include "plan.h"
#include "rng.h"
#include "stats.h"

/* The ops of a mixed stream, dealt from a shuffled deck: any 100 in a row have the asked share. */
struct lb_deck {
	struct lb_rng rng;
	uint8_t read_pct, phase, at;
	uint8_t card[100]; /* enum lb_op */
};

void lb_deck_init(struct lb_deck *deck, uint8_t read_pct, uint64_t seed, uint64_t stream);
enum lb_op lb_deck_deal(struct lb_deck *deck);

/* What a lane has that writes: the ops of a mix, and where data comes from. */
struct lb_lane_writes {
	struct lb_deck deck;
	struct lb_data *data;
	uint64_t first_block; /* of its LUN, in the numbering of the data */
	uint32_t first_slot;  /* of its worker, likewise */
};

/* A lane at work: one worker's own. The first line is what every transfer touches. */
struct lb_lane {
	struct lb_cell *cell[LB_OPS];
	struct lb_rng rng;
	uint64_t n_blocks, block_bytes, start_bytes;
	bool is_plain; /* random and only reads: lb_lane_next() does all there is to do */
	bool is_mixed;
	bool shares_count;        /* with other lanes on this LUN */
	uint8_t n_batch, allowed; /* of the batch at hand: good ones, and how many of them count */
	uint8_t n_backoffs;       /* in a row */
	bool is_retired;          /* its LUN, as the worker has seen it */

	uint64_t sample_at;    /* the number of reads at which to look at the data next */
	uint64_t near_full_at; /* that of transfers from which a batch may end the run; LB_NEVER:
				  not known here */
	struct lb_pattern *pattern;    /* NULL: random */
	uint32_t qd, n_resting;        /* its places in flight; those that are not, now */
	struct lb_lane_writes *writes; /* NULL: it only reads */
	/* after errors */
	struct lb_faults *faults;
	uint64_t backoff_until_ns, good_at_error;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct lb_lane) == 128, "two cache lines, the hot one first");

/*
 * Makes LANE what PLAN->lanes[AT] says, on the cells and cursors of BOARD. PATTERN is its own, and
 * so is WRITES, with all but the deck filled in, if the stream writes; else NULL.
 */
void lb_lane_init(struct lb_lane *lane, const struct lb_board *board, uint32_t at,
	struct lb_pattern *pattern, struct lb_lane_writes *writes);

/* The next transfer of a lane that is not plain. */
void lb_lane_next_other(struct lb_lane *lane, struct lb_io *io);

/* Aims IO at what LANE does next. */
static inline void lb_lane_next(struct lb_lane *lane, struct lb_io *io)
{
	if (__builtin_expect(!lane->is_plain, 0)) {
		lb_lane_next_other(lane, io);
		return;
	}
	io->offset_bytes =
		lane->start_bytes + lb_rng_below(&lane->rng, lane->n_blocks) * lane->block_bytes;
}

#endif
