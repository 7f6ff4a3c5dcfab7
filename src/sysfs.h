/* What sysfs tells of a block device. No I/O reaches the device, and nothing fails: what is not
 * told stays unknown. */
#ifndef LB_SYSFS_H
#define LB_SYSFS_H

#include "lun.h"

/* A descriptor of /sys/dev/block, or -errno. The caller closes it. */
int lb_sysfs_open(void);

/* Reads NAME in DIR into BUF as it is, NUL after it: the bytes read, 0 when there is none. */
size_t lb_sysfs_raw(int dir, const char *name, char *buf, size_t n);

/* A line without the blanks around it; false, and "" in BUF, when there is none. */
bool lb_sysfs_text(int dir, const char *name, char *buf, size_t n);

/* LB_LUN_UNKNOWN when there is none, or it is negative. */
int64_t lb_sysfs_number(int dir, const char *name);

/* A descriptor of the directory NAME in DIR, which the caller closes, or negative. */
int lb_sysfs_dir(int dir, const char *name);

/*
 * The directory of the device DEV; its kernel name, with / in it, goes into NAME. The caller closes
 * it. Negative when DIR (of lb_sysfs_open()) is, or has none.
 */
int lb_sysfs_device(int dir, dev_t dev, char *name, size_t n);

/*
 * Fills in of LUN, a block device, by its dev: kernel_name, vendor, model, revision, serial,
 * scheduler, queue_depth, nr_requests, max_io_bytes, optimal_io_bytes, rotational, write_cache,
 * read_only, is_partition, is_host_cached, wwid, dm_name, dm_uuid and, where the uuid tells it,
 * dm_type. DIR is what lb_sysfs_open() gave, or negative. A partition is told of by its disk; a map
 * by its first path, serial and WWID only if it is a multipath map. SUSPENDED becomes the name of
 * the device-mapper map that is suspended, LUN itself or one below it, or "": then any I/O would
 * hang.
 */
void lb_sysfs_describe(int dir, struct lb_lun *lun, char suspended[128]);

/* Size and blocks of LUN by its dev, for who must not open it; 0: not told. */
void lb_sysfs_measure(int dir, struct lb_lun *lun);

#endif
