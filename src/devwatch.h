/*
 * The watch over the devices themselves: once a second what sysfs and device-mapper say of each LUN
 * and its paths, and every change becomes an event. It has a thread of its own, so that a read that
 * hangs holds nobody; descriptors stay open, so that a look is one read for each fact.
 */
#ifndef LB_DEVWATCH_H
#define LB_DEVWATCH_H

#include <stdint.h>

#include "board.h"

struct lb_devwatch;

/*
 * A watch over the LUNs of BOARD's plan. SYSFS: of lb_sysfs_open(), DM: of lb_dmstat_open(); either
 * may be negative: then what it would tell is not told. The caller keeps both. Returns 0 or
 * -ENOMEM.
 */
int lb_devwatch_make(struct lb_devwatch **w, struct lb_board *board, int sysfs, int dm);
void lb_devwatch_done(struct lb_devwatch *w);

/* Looks at all of it, at NOW_NS. The first look only notes how things are. */
void lb_devwatch_look(struct lb_devwatch *w, uint64_t now_ns);

/* How many facts it keeps an eye on, as of the last look. */
uint32_t lb_devwatch_n(const struct lb_devwatch *w);

/*
 * Starts a thread that looks, once a second, or less often where that would take more than one in a
 * hundred of a CPU, until the process ends. Without one nothing is told, and nothing else happens.
 */
void lb_devwatch_start(struct lb_board *board);

#endif
