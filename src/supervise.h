/*
 * The supervising process. It opens no LUN, so nothing can keep it from its deadlines: it starts
 * the measuring process, watches the board, takes signals, and leaves without the other when that
 * cannot.
 */
#ifndef LB_SUPERVISE_H
#define LB_SUPERVISE_H

#include "board.h"
#include "config.h"
#include "feed.h"
#include "result.h"
#include "shm.h"

/*
 * Runs CFG to its end, tells FEED of it (whose `out` may be NULL) and fills OUTCOME. Returns 0;
 * -EINTR when a second signal asked to end at once (outcome->signal); or negative with ERR when the
 * run could not be started.
 */
int lb_supervise(const struct lb_config *cfg, struct lb_shm *shm, struct lb_board *board,
	struct lb_outcome *outcome, struct lb_feed *feed, struct lb_err *err);

/* A board for the targets of CFG, in SHM. */
int lb_board_make(struct lb_board **board, struct lb_shm *shm, const struct lb_config *cfg,
	struct lb_err *err);

#endif
