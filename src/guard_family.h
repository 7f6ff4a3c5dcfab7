/*
 * All that shares bytes with a LUN, so that its use is the LUN's: partitions, holders and loop
 * devices on it, at whatever depth; what it lies on, and what else is on that behind a loop device.
 */
#ifndef LB_GUARD_FAMILY_H
#define LB_GUARD_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

#include "guard_scan.h"
#include "lun.h"

/* Where a device (or file) is, as seen from the LUN. */
enum lb_role { LB_ROLE_SELF, LB_ROLE_PART, LB_ROLE_ABOVE, LB_ROLE_BELOW };

struct lb_member {
	enum lb_role role;
	unsigned int depth; /* above */
	struct lb_guard_id id;
};

struct lb_family {
	const struct lb_scan *scan;
	struct lb_member *members; /* each once; the LUN first */
	size_t n, room;
	enum lb_role role; /* of what is found next */
	unsigned int depth;
	bool is_cut; /* there may be more: of no memory, or sysfs does not tell */
};

/* Fills in F for LUN, by sysfs and the loop devices of SCAN, which must outlive it. The caller ends
 * it with lb_family_done(). */
void lb_family_gather(struct lb_family *f, const struct lb_scan *scan, const struct lb_lun *lun);
void lb_family_done(struct lb_family *f);

/* NULL: ID is none of it. */
const struct lb_member *lb_family_find(const struct lb_family *f, const struct lb_guard_id *id);

#endif
