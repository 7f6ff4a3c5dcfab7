/*
 * The lock that tells two runs of each other: flock(2) on the node of each LUN, shared by those
 * that read, held to the end. Shared locks do not conflict, so whoever else has one is looked up in
 * /proc/locks, which asks nobody to give a lock up for it.
 *
 * A device's lock is on the node that devtmpfs has for it, whatever node was given. Not seen: runs
 * in a container with a /dev or process numbers of its own, and on another host.
 */
#ifndef LB_LOCK_H
#define LB_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "finding.h"
#include "lun.h"

struct lb_lock {
	struct lb_lun **luns; /* the caller's */
	uint32_t n;
	struct lb_locked {
		int fd; /* of this lock alone; -1: the LUN's own */
		uint64_t dev, ino;
		bool is_told; /* of another run */
	} * locked;
};

/*
 * Locks LUNS, for at most a second if others (udev does, for a moment) are in the way. FOR_WRITING:
 * exclusively, and a LUN that cannot be had is refused, in its fate. Returns 0 (also when LUNs were
 * refused) or -ENOMEM with ERR.
 */
int lb_lock_take(struct lb_lock *lock, struct lb_lun **luns, uint32_t n, bool for_writing,
	struct lb_err *err);

/* Adds a finding, "shared-lun", for each LUN that another run has, once. No I/O; never waits. */
void lb_lock_look(struct lb_lock *lock, struct lb_findings *f);

void lb_lock_done(struct lb_lock *lock);

#endif
