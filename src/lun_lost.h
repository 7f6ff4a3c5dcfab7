/*
 * The watch over the LUNs themselves, in the measuring process: one that has shrunk, whose device
 * is gone, or that came back as another is given up. The size of each is looked at once a second;
 * all there is to see, of those that I/O has failed on within a second, at once the first time,
 * and of the others in turn.
 */
#ifndef LB_LUN_LOST_H
#define LB_LUN_LOST_H

#include "board.h"

struct lb_lost_watch {
	struct lb_board *board;
	int sysfs;                    /* see lb_sysfs_open(); negative: there is none */
	uint64_t all_ns, suspects_ns; /* when these were looked at last */
	uint32_t turn;
};

/* SYSFS is what lb_sysfs_open() gave, and the watch's from here on. */
void lb_lost_init(struct lb_lost_watch *l, struct lb_board *board, int sysfs, uint64_t now_ns);
void lb_lost_done(struct lb_lost_watch *l);

/* Looks at what is due at NOW_NS; returns when to come again, or when I/O fails (a kick). */
uint64_t lb_lost_look(struct lb_lost_watch *l, uint64_t now_ns);

#endif
