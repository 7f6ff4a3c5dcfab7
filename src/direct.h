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

/*
 * Whether FD (O_DIRECT) takes RWF_NOWAIT, by reading its first ALIGN_BYTES. Devices such as
 * dm-multipath and zram refuse it; then io_uring hands each I/O to kernel threads. May hang where
 * the device does.
 */
bool lb_direct_has_nowait(int fd, uint32_t align_bytes);

#endif
