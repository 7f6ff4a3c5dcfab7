/* What is on a LUN: signatures by libblkid, Oracle ASM's, partitions, and samples of the rest. */
#ifndef LB_GUARD_DATA_H
#define LB_GUARD_DATA_H

#include <stdbool.h>

#include "lun.h"

struct lb_found {
	bool is_something; /* data that may be somebody's, or that cannot be read */
	bool is_ours;      /* else: lunbench's own data; neither: only zeros */
	char what[400];    /* all that was found, in words */
};

/*
 * Reads LUN through FD (open with O_DIRECT) and the same inode again with buffers, for libblkid.
 * Never writes. What cannot be read or decided is something.
 */
void lb_guard_data(const struct lb_lun *lun, int fd, struct lb_found *found);

#endif
