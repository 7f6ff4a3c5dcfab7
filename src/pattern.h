/*
 * Where the next transfer of a lane goes, for the patterns that are more than a random number:
 * blocks in order, or each of them once.
 */
#ifndef LB_PATTERN_H
#define LB_PATTERN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "perm.h"

/* Shared by the lanes of a stream on a LUN. */
struct lb_cursor {
	_Atomic uint64_t blocks; /* handed out so far */
} __attribute__((aligned(64)));

/* One lane's own. */
struct lb_pattern {
	enum lb_pat pat; /* not LB_RAND */
	bool shares_cursor;
	uint64_t n_blocks;
	uint64_t next; /* when the cursor is this lane's alone */
	struct lb_cursor *cursor;
	struct lb_perm perm; /* the same for all lanes of a LUN */
};

/*
 * PAT over N_BLOCKS > 0 blocks. CURSOR is the lane's alone unless SHARES_CURSOR. SEED and LUN
 * decide over the order of LB_PERM.
 */
void lb_pattern_init(struct lb_pattern *p, enum lb_pat pat, uint64_t n_blocks,
	struct lb_cursor *cursor, bool shares_cursor, uint64_t seed, uint32_t lun);

/* The next block, below n_blocks. */
uint64_t lb_pattern_next(struct lb_pattern *p);

#endif
