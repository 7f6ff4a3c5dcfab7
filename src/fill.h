/* Fills the regions of LUNs once, in order, so that thin ones have the blocks that are measured. */
#ifndef LB_FILL_H
#define LB_FILL_H

#include <stdatomic.h>
#include <stdint.h>

#include "err.h"
#include "lun.h"

/* Bytes of the regions of the N LUNS that are used. */
uint64_t lb_fill_bytes(const struct lb_lun *luns, uint32_t n);

/*
 * Writes every byte of them, through descriptors that the write guard has given. *DONE grows by
 * what has been written. SEED and RUN as of lb_data. Returns 0, or negative with ERR: a write
 * failed, or none came back for PATIENCE_NS.
 */
int lb_fill(const struct lb_lun *luns, uint32_t n, uint64_t seed, uint64_t run,
	uint64_t patience_ns, _Atomic uint64_t *done, struct lb_err *err);

#endif
