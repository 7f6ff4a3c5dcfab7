/* What O_DIRECT and NOWAIT mean for an open LUN: tried, not assumed. */
#ifndef LB_DIRECT_H
#define LB_DIRECT_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

/*
 * Of a regular file, not empty, open with O_DIRECT: the offset and length alignment in bytes that
 * direct I/O needs, from statx(2) or, where it does not tell, by reading the file's beginning.
 * Returns 0; -EINVAL with ERR (status 2) when the file system takes O_DIRECT but buffers (tmpfs
 * does); or what reading failed with (status 3).
 */
int lb_direct_align(int fd, uint32_t *align_bytes, struct lb_err *err);

/* A look at one open LUN (O_DIRECT), and what it showed. */
struct lb_nowait {
	int fd;
	uint32_t align_bytes;
	bool has;
};

/*
 * Finds which of N LUNs take RWF_NOWAIT, by reading the beginning of each. Devices such as
 * dm-multipath and zram refuse it; then io_uring hands each I/O to kernel threads. A refusal comes
 * at once, so of what does not answer for 100 ms it is known too, and nobody waits longer. Negative
 * errno: the kernel has no libaio for us; nothing was found.
 */
int lb_direct_find_nowait(struct lb_nowait *luns, uint32_t n);

/* The same of one LUN, without libaio. May hang where the device does. */
bool lb_direct_has_nowait(int fd, uint32_t align_bytes);

#endif
