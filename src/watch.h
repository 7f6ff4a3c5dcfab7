/*
 * The watch over I/O that does not come back. It knows for each LUN since when nothing has, and
 * writes stalls, and bursts of errors, down as events. It only looks at the board, at the time that
 * it is given, so that whoever drives control drives it, by whatever clock. A look costs O(LUNs):
 * what is in flight is looked through only for LUNs that have been silent for long.
 */
#ifndef LB_WATCH_H
#define LB_WATCH_H

#include <stdint.h>

#include "board.h"

struct lb_watch;

/*
 * A watch over the LUNs of BOARD, for those that do nothing for its stall_ns with I/O in flight,
 * and over its workers. Allocates all that it will ever need. 0, or -ENOMEM and *W NULL.
 */
int lb_watch_make(struct lb_watch **w, struct lb_board *board);
void lb_watch_done(struct lb_watch *w); /* NULL is none */

/* Looks at NOW_NS, when the board has plan and cells. Returns when to look again at the latest. W
 * NULL: LB_NEVER. */
uint64_t lb_watch_look(struct lb_watch *w, uint64_t now_ns);

/* The last look, when nothing more will come. */
void lb_watch_finish(struct lb_watch *w, uint64_t now_ns);

#endif
