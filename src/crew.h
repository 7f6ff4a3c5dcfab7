/* The crew: all workers as threads, set up together, started together, and attended to the end. */
#ifndef LB_CREW_H
#define LB_CREW_H

#include <stdint.h>

#include "board.h"
#include "config.h"
#include "err.h"
#include "lock.h"

/*
 * Runs the plan of BOARD, whose cells are made, until nothing is in flight any more. RUN_ID is of
 * the data that is written: another for each run. Returns 0, or negative with ERR when not all
 * workers could be set up: then none has begun.
 */
int lb_crew_run(const struct lb_config *cfg, struct lb_board *board, struct lb_lock *lock,
	uint64_t run_id, struct lb_err *err);

#endif
