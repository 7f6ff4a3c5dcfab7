/* The measuring process: it opens the targets, works the plan out, and runs the workers. */
#ifndef LB_RUN_H
#define LB_RUN_H

#include <sys/types.h>

#include "board.h"
#include "config.h"
#include "shm.h"

/*
 * All that touches a device happens in here, in a process of its own. BOARD->luns are pending and
 * its eventfds made; it ends when PARENT does. Says everything it has to say on the board; never
 * returns.
 */
_Noreturn void lb_run(
	const struct lb_config *cfg, struct lb_shm *shm, struct lb_board *board, pid_t parent);

#endif
