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

struct lb_pattern_cfg {
	struct lb_pat pat;    /* not LB_RAND */
	uint64_t n_blocks;    /* more than 0, */
	uint64_t block_bytes; /* each of these */
	/* seq, perm */
	struct lb_cursor *cursors; /* one, or n_seq_streams */
	uint32_t n_seq_streams;    /* of seq, else 1; at most n_blocks */
	uint32_t lane, n_lanes;    /* which of the lanes on these cursors, and of how many */
	uint32_t first_slot;       /* of this lane */
	/* They decide over the order of perm, and over which blocks are the hot ones. */
	uint64_t seed;
	uint32_t lun;
};

/* One lane's own. */
struct lb_pattern {
	struct lb_pattern_cfg cfg;
	uint64_t next;       /* seq, perm: where there is one lane and one cursor */
	struct lb_perm perm; /* all but seq; the same for all lanes of a LUN */
	struct lb_zipf zipf;
	uint64_t n_hot; /* hot: so many of the blocks */
};

void lb_pattern_init(struct lb_pattern *p, const struct lb_pattern_cfg *cfg);

/*
 * Where the next transfer of SIZE_BYTES in SLOT of the lane begins, in bytes from the region's
 * start. SIZE_BYTES is block_bytes; or several of them, of seq; or fewer, of zipf and hot: then it
 * is taken by chance from a block, on a multiple of itself. Chance comes from RNG.
 */
uint64_t lb_pattern_next(
	struct lb_pattern *p, struct lb_rng *rng, uint32_t slot, uint64_t size_bytes);

#endif
