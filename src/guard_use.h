/* Whether a LUN is in use, and by whom: itself, its partitions, what lies on it and below it. */
#ifndef LB_GUARD_USE_H
#define LB_GUARD_USE_H

#include <stdbool.h>

#include "guard_scan.h"
#include "lun.h"

struct lb_use {
	bool in_use;    /* or it cannot be told */
	bool is_hung;   /* no I/O may be sent to it: it would not return */
	bool may_pass;  /* only a process has it open, as udev does for a moment */
	char what[256]; /* "its partition sda1 is mounted on /u01" */
	char say[256];  /* what ends the use: "umount /u01" */
};

/*
 * Judges LUN, open, by SCAN, sysfs, and whether it opens exclusively for reading (unless IS_OURS:
 * we hold it so ourselves). All that cannot be told counts as use.
 */
void lb_guard_use(
	const struct lb_scan *scan, const struct lb_lun *lun, bool is_ours, struct lb_use *use);

#endif
