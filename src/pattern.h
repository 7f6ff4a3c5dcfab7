/*
 * Where the next transfer of a lane goes, for the patterns that are more than a random number:
 * blocks in order, each of them once, or some more often than others.
 */
#ifndef LB_PATTERN_H
#define LB_PATTERN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "perm.h"
#include "rng.h"
#include "zipf.h"

/* Shared by the lanes of a stream on a LUN. */
struct lb_cursor {
	_Atomic uint64_t blocks; /* handed out so far */
} __attribute__((aligned(64)));

/* One lane's own. */
struct lb_pattern {
	struct lb_pat pat; /* not LB_RAND */
	bool shares_cursor;
	uint64_t n_blocks;
	uint64_t next; /* seq, perm: when the cursor is this lane's alone */
	struct lb_cursor *cursor;
	struct lb_perm perm; /* all but seq; the same for all lanes of a LUN */
	struct lb_zipf zipf;
	uint64_t n_hot; /* hot: so many of the blocks */
};

/*
 * PAT over N_BLOCKS > 0 blocks. CURSOR is the lane's alone unless SHARES_CURSOR. SEED and LUN
 * decide over the order of perm, and over which blocks are the hot ones.
 */
void lb_pattern_init(struct lb_pattern *p, const struct lb_pat *pat, uint64_t n_blocks,
	struct lb_cursor *cursor, bool shares_cursor, uint64_t seed, uint32_t lun);

/* The next block, below n_blocks; chance comes from RNG. */
uint64_t lb_pattern_next(struct lb_pattern *p, struct lb_rng *rng);

#endif
