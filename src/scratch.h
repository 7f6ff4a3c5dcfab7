/* Scratch LUNs: files without a name, so that nothing is left behind whatever ends the run. */
#ifndef LB_SCRATCH_H
#define LB_SCRATCH_H

#include <stdatomic.h>
#include <stdint.h>

#include "config.h"
#include "err.h"

/* Is there room for the files in their directory, with some to spare? 0, or negative with ERR. */
int lb_scratch_check(const struct lb_scratch *scratch, struct lb_err *err);

/*
 * A new file in scratch->dir, unlinked, of which only the beginning is written. Returns a
 * descriptor for reading and writing with O_DIRECT, which the caller closes, or negative with ERR.
 */
int lb_scratch_create(const struct lb_scratch *scratch, struct lb_err *err);

/*
 * Writes the whole file FD (of lb_scratch_create()) with data that neither compresses nor repeats,
 * in the file, in the others or in another run's, past the page cache; FILLED_BYTES grows. Returns
 * 0, or negative with ERR.
 */
int lb_scratch_fill(int fd, const struct lb_scratch *scratch, _Atomic uint64_t *filled_bytes,
	struct lb_err *err);

/* The same file O_RDONLY|O_DIRECT; FD is closed in any case. Negative with ERR. */
int lb_scratch_seal(int fd, struct lb_err *err);

#endif
