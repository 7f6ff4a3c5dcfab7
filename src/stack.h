/* What LUNs stand on and what stands on them: device-mapper, md, partitions, mounts, swap. */
#ifndef LB_STACK_H
#define LB_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "err.h"
#include "lun.h"

/* LUN number `lun` lies on device `dev`, at whatever depth. */
struct lb_below {
	uint32_t lun;
	bool is_path; /* LUN is a multipath map and `dev` one of its paths */
	dev_t dev;
};

struct lb_use {
	dev_t dev;
	char *what; /* "mounted on /u01", "swap" */
};

struct lb_stack {
	int sysfs;   /* of lb_sysfs_open(); the caller's */
	int control; /* /dev/mapper/control; negative: not opened */
	bool has_tried_control;
	bool is_short;       /* of memory: something is missing */
	struct lb_use *uses; /* by dev */
	size_t n_uses, uses_room;
	struct lb_below *below; /* of all LUNs described */
	size_t n_below, below_room;
};

/*
 * Reads who uses which device, in this mount namespace, from PROC ("/proc"); what cannot be read is
 * not known. SYSFS may be negative. lb_stack_done() frees.
 */
void lb_stack_init(struct lb_stack *s, int sysfs, const char *proc);
void lb_stack_done(struct lb_stack *s);

/* Whether DEV is a path below a multipath map: told sooner than by describing it. */
bool lb_stack_is_path(struct lb_stack *s, dev_t dev);

/*
 * Fills in paths, held_by, lies_on, in_use of LUN, number INDEX, a block device that
 * lb_sysfs_describe() has told of, and dm_type where the uuid did not tell; appends to `below`. By
 * sysfs, and ioctls on device-mapper's control: nothing of it waits for a device.
 */
void lb_stack_describe(struct lb_stack *s, struct lb_lun *lun, uint32_t index);

#endif
