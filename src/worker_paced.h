/*
 * The worker of an open loop: nothing is issued before it is due, and what is due is issued as soon
 * as a transfer is free for it.
 */
#ifndef LB_WORKER_PACED_H
#define LB_WORKER_PACED_H

#include <stdbool.h>
#include <stdint.h>

#include "engine.h"
#include "pace.h"
#include "response.h"

struct lb_worker;

/* Beside each of the worker's lanes. */
struct lb_paced_lane {
	struct lb_pace *pace;
	struct lb_resp *resp[2]; /* by op */
	struct lb_io **free;     /* a stack with room for all of the lane */
	uint32_t n_free;
	uint64_t free_ns; /* since when there has been one without a break */
};

struct lb_paced {
	uint64_t start_ns; /* of the schedules */
	uint64_t *dues;    /* by slot */
	enum lb_catch_up catch_up;
	struct lb_paced_lane *lanes;
	struct lb_io **free; /* what the lanes' stacks are parts of */
	/* the lanes that have a transfer free, by when the next is due: a binary heap. Others may
	 * have claimed that one meanwhile: then the lane has time */
	struct lb_paced_due {
		uint64_t due_ns;
		uint32_t lane;
	} * heap;
	uint32_t n_heap;
};

/* What W needs beside the rest if its plan has a rate: w->paced, else NULL. Returns 0 or -ENOMEM;
 * lb_paced_done() may be called after either. */
int lb_paced_make(struct lb_worker *w);
void lb_paced_done(struct lb_worker *w);

/* IO has come back at T, good and inside the window; or after its end. */
void lb_paced_take(const struct lb_worker *w, const struct lb_io *io, uint64_t t);
void lb_paced_take_late(const struct lb_worker *w, const struct lb_io *io, uint64_t t);

/* lb_worker_loop() of an open loop. */
int lb_paced_loop(struct lb_worker *w);

#endif
