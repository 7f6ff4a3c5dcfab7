/*
 * What an open loop writes down beside the cells (stats.h): how long what was due took from when
 * it was due, and how late the host was to issue it. One for each lane and op, written by one
 * worker alone. Where the loop is closed there are none.
 */
#ifndef LB_RESPONSE_H
#define LB_RESPONSE_H

#include <stdint.h>

#include "hist.h"
#include "shm.h"

struct lb_resp {
	/* of the xfers that the cell counts */
	double sum_ns;   /* of hours behind its schedule a device fills 64 bits in minutes */
	uint64_t min_ns; /* UINT64_MAX: none */
	uint64_t max_ns;
	struct lb_hist *hist;
	uint64_t late_max_ns, late_due_ns; /* of what returned in the drain: longest, and when the
					      first was due */
	/* of what was issued in the window: how long after it was due and a transfer was free */
	uint64_t issued;
	uint64_t held_sum_ns, held_max_ns;
} __attribute__((aligned(64)));

struct lb_board;
struct lb_plan;

/* Puts on the board what an open loop of its plan needs: schedules, cells, due times; of a closed
 * one nothing. Returns 0 or -ENOMEM. */
int lb_responses_make(struct lb_shm *shm, struct lb_board *b);

/* How much of the shared mapping that takes. */
uint64_t lb_responses_bytes(uint64_t n_luns, uint64_t n_lanes, uint64_t n_hists, uint64_t n_slots);

static inline struct lb_resp *lb_resp_of(struct lb_resp *all, uint32_t lane, uint32_t op)
{
	return &all[(uint64_t)lane * 2 + op];
}

/* While another process may write to it. */
static inline double lb_resp_sum_ns(const struct lb_resp *resp)
{
	double ns;

	__atomic_load(&resp->sum_ns, &ns, __ATOMIC_RELAXED);
	return ns;
}

#endif
