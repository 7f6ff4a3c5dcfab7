/* The ways to a LUN: a multipath map's paths, and those of an NVMe namespace that the kernel joins.
 */
#ifndef LB_PATHS_H
#define LB_PATHS_H

#include <stdbool.h>

#include "dmstat.h"
#include "lun.h"

/* It takes I/O, by all that is known; neither up nor down: nothing is known. */
bool lb_path_is_up(const struct lb_path *p);
bool lb_path_is_down(const struct lb_path *p);

/*
 * Counts one path of LUN, a multipath map, and keeps it if there is room: the device DEV, called
 * NAME, whose directory in sysfs is DIR. DM: what device-mapper says of the map; no paths: nothing.
 */
void lb_paths_add(
	struct lb_lun *lun, int dir, const char *name, dev_t dev, const struct lb_dmstat *dm);

/*
 * The same of all paths of LUN, which is an NVMe namespace that the kernel's own multipath shows as
 * one device; DIR is its directory. None otherwise.
 */
void lb_paths_add_nvme(struct lb_lun *lun, int dir);

#endif
