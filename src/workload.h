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

#define LB_DECK_CARDS 100u
#define LB_DECK_KINDS LB_SIZES_MAX

/* A mix, dealt from a shuffled deck: any 100 in a row have the asked shares. */
struct lb_deck {
	struct lb_rng rng;
	uint8_t at;
	uint8_t card[LB_DECK_CARDS]; /* its kind */
};

/* N <= LB_DECK_KINDS kinds; PCT of each add up to 100. */
void lb_deck_init(
	struct lb_deck *deck, const uint8_t *pct, uint32_t n, uint64_t seed, uint64_t stream);
uint32_t lb_deck_deal(struct lb_deck *deck);

/* What a lane has that writes: where data comes from, and the ops of a mix. */
struct lb_lane_writes {
	struct lb_data *data;
	uint64_t first_block; /* of its LUN, in the numbering of the data */
	uint32_t first_slot;  /* of its worker, likewise */
	uint32_t first_slab;  /* of the data, among those of the worker */
	struct lb_deck deck;  /* enum lb_op; of the first size */
};

/*
 * What a lane has whose pattern is not rand, or that has several sizes. Of a mix each size has a
 * lane of its own, side by side, and so its own cells; what is one for all of them (depth, random
 * numbers, back-off) the first one has.
 */
struct lb_aim {
	bool has_pattern;
	struct lb_lane *lanes;        /* of a mix; NULL: one size */
	struct lb_deck sizes[LB_OPS]; /* reads and writes have the same mix, each for itself */
	struct lb_pattern pattern;
};

/* A lane at work: one worker's own. The first line is what every transfer touches. */
struct lb_lane {
	struct lb_cell *cell[LB_OPS];
	struct lb_rng rng;
	uint64_t n_blocks, block_bytes, start_bytes;
	bool is_plain;     /* random and only reads: lb_lane_next() does all there is to do */
	bool is_mixed;     /* reads and writes */
	bool shares_count; /* with other lanes on this LUN */
	uint8_t n_batch, allowed; /* of the batch at hand: good ones, and how many of them count */
	uint8_t n_backoffs;       /* in a row */
	bool is_retired;          /* its LUN, as the worker has seen it */

	uint64_t sample_at;     /* the number of reads at which to look at the data next */
	uint64_t near_full_at;  /* that of transfers from which a batch may end the run; LB_NEVER:
				   not known here */
	struct lb_aim *aim;     /* NULL: random, of one size */
	uint32_t qd, n_resting; /* its places in flight; those that are not, now */
	struct lb_lane_writes *writes; /* NULL: it only reads */
	/* after errors */
	struct lb_faults *faults;
	uint64_t backoff_until_ns, good_at_error;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct lb_lane) == 128, "two cache lines, the hot one first");

/* The lane that stands for all sizes of a mix; LANE itself where there is one. */
static inline struct lb_lane *lb_lane_first(struct lb_lane *lane)
{
	return lane->aim && lane->aim->lanes ? lane->aim->lanes : lane;
}

/*
 * Makes LANES, one for each size, what PLAN->lanes[AT] says, on the cells and cursors of BOARD. AIM
 * is its own, and so are WRITES, one for each size with all but the deck filled in; used where the
 * stream needs them.
 */
void lb_lane_init(struct lb_lane *lanes, const struct lb_board *board, uint32_t at,
	struct lb_aim *aim, struct lb_lane_writes *writes);

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
