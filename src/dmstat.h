/* What device-mapper itself knows of a map: its first target, and the states of multipath's paths.
 */
#ifndef LB_DMSTAT_H
#define LB_DMSTAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LB_DMSTAT_PATHS_MAX 64 /* that are kept; more are counted */

struct lb_dmstat_path {
	dev_t dev;
	bool is_active;      /* false: device-mapper has given it up, until it is reinstated */
	uint32_t fail_count; /* how often it was given up since the map was loaded */
};

struct lb_dmstat {
	bool queues_if_no_path;     /* with all paths failed I/O waits, where it else would fail */
	uint32_t n_paths, n_active; /* of all, kept or not */
	struct lb_dmstat_path paths[LB_DMSTAT_PATHS_MAX]; /* in the map's order */
};

/*
 * Device-mapper's control, which only root may use. Returns a descriptor that the caller closes, or
 * -errno.
 */
int lb_dmstat_open(void);

/*
 * The state of the paths of map DEV, by FD of lb_dmstat_open(). Two ioctls, no allocation, no
 * process, and no I/O is waited for, also where the map is suspended: made to be asked once a
 * second. Returns 0; or -errno, *OUT being all zeros then: -EBADF when FD is negative, -ENXIO when
 * there is no such map, -ENODATA when it is no multipath map, -ENOSPC when its status has more than
 * 16 KiB, -EPROTO when that is not understood.
 */
int lb_dmstat_multipath(int fd, dev_t dev, struct lb_dmstat *out);

/*
 * The type of the first target of map DEV ("linear", "multipath") into TYPE of N bytes; "" where it
 * has none. Returns 0 or -errno, as above, and "".
 */
int lb_dmstat_type(int fd, dev_t dev, char *type, size_t n);

/*
 * lb_dmstat_multipath() from the words of one target: STATUS is what it gives as its state, TABLE
 * as its table. Returns 0 or -EPROTO.
 */
int lb_dmstat_parse(const char *status, const char *table, struct lb_dmstat *out);

#endif
