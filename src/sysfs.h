/* What sysfs tells of a block device. No I/O reaches the device, and nothing fails: what is not
 * told stays unknown. */
#ifndef LB_SYSFS_H
#define LB_SYSFS_H

#include "lun.h"

/* A descriptor of /sys/dev/block, or -errno. The caller closes it. */
int lb_sysfs_open(void);

/*
 * Fills in of LUN, a block device, by its dev: kernel_name, vendor, model, revision, serial,
 * scheduler, queue_depth, nr_requests, max_io_bytes, rotational. DIR is what lb_sysfs_open() gave,
 * or negative. A partition is told of by its disk; a map by its first path, the serial only if it
 * is a multipath map. SUSPENDED becomes the name of the device-mapper map that is suspended, LUN
 * itself or one below it, or "": then any I/O would hang.
 */
void lb_sysfs_describe(int dir, struct lb_lun *lun, char suspended[128]);

#endif
