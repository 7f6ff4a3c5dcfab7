/*
 * Who uses which device or file on this host, looked up once for all LUNs: mounts in every mount
 * namespace, swap, open descriptors of every process, loop devices, exports to other hosts.
 */
#ifndef LB_GUARD_SCAN_H
#define LB_GUARD_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lun.h"

enum lb_user_kind { LB_USER_MOUNT, LB_USER_SWAP, LB_USER_EXPORT, LB_USER_PROCESS, LB_USER_LOOP };

/* A device (ino 0, dev its number) or a file (dev of its file system). */
struct lb_guard_id {
	dev_t dev;
	ino_t ino;
};

/* Something that uses a device or a file. */
struct lb_user {
	enum lb_user_kind kind;
	struct lb_guard_id id;
	pid_t pid;           /* the process; of a mount: one that sees it, 0: so do we */
	bool can_write;      /* the process has it open for writing */
	dev_t loop;          /* the loop device, and */
	uint64_t start, end; /* what it has of the file or device, bytes; end 0: all of it */
	char name[256];      /* mount point, swap's name, command, export's name */
};

struct lb_scan {
	struct lb_user *users;
	size_t n, room;
	struct lb_guard_id *files; /* of which processes that have them open are noted */
	size_t n_files;
	char undecided[256]; /* why it does not tell all there is; "": it does */
};

/* Looks. FILES among LUNS, and those behind loop devices, are looked for in other processes. What
 * cannot be found out stands in S->undecided. The caller ends it with lb_scan_done(). */
void lb_scan_make(struct lb_scan *s, const struct lb_lun *luns, size_t n);
void lb_scan_done(struct lb_scan *s);

#endif
