/*
 * Think time: what has come back rests for a while before it is issued again, as the sessions of
 * users do. All rest equally long, so they wait in a ring, the first to wake in front.
 */
#ifndef LB_WORKER_THINK_H
#define LB_WORKER_THINK_H

#include "worker.h"

/* The N of BATCH, aimed at what they do next, begin to rest at T. */
void lb_think_rest(struct lb_worker *w, struct lb_io **batch, uint32_t n, uint64_t t);

/* Those that have rested by T join the N of BATCH, as far as there is room; returns how many. */
uint32_t lb_think_wake(struct lb_worker *w, struct lb_io **batch, uint32_t n, uint64_t t);

/* When to look again, at T; LB_NEVER: nothing rests. */
uint64_t lb_think_next_ns(const struct lb_worker *w, uint64_t t);

/* Those that rest will not be issued any more: all of them, or those of LUNs that were given up. */
void lb_think_drop(struct lb_worker *w, bool all);

#endif
