/* A worker: the loop that keeps its lanes' transfers in flight and writes down what came back. */
#ifndef LB_WORKER_H
#define LB_WORKER_H

#include <stdint.h>

#include "board.h"
#include "engine.h"
#include "worker_paced.h"
#include "workload.h"

/* Who decides over the window on a virtual clock: called by the worker, see control.h. */
struct lb_control;

/* What the lanes of a worker have in common with those of others. */
enum lb_sharing {
	LB_SHARES_NOTHING,
	LB_SHARES_LUN,  /* --threads-per-lun */
	LB_SHARES_HIST, /* and the histogram too: depth-one engines */
};

/* An I/O that rests until DUE_NS. */
struct lb_rest {
	struct lb_io *io;
	uint64_t due_ns;
};

struct lb_worker {
	const struct lb_engine_ops *ops;
	void *engine;
	struct lb_board *board;
	struct lb_worker_state *state;
	struct lb_io *ios; /* its slots, on the board */
	uint32_t n_ios;
	uint32_t n_lanes, n_sizes;
	struct lb_lane *lanes;         /* n_sizes for each lane of the plan */
	struct lb_lane_writes *writes; /* likewise; used by those that write */
	struct lb_aim *aims; /* one a lane of the plan; used where rand of one size is not */
	struct lb_data
		*data[LB_SIZES_MAX]; /* where writes take theirs from; NULL: there are none */
	uint64_t count;              /* --count, 0: none */
	bool is_near_count;          /* the next batch may bring a LUN to `count` */
	enum lb_sharing sharing;
	struct lb_control *control; /* virtual clock only; else NULL */
	struct lb_paced *paced;     /* open loop only; else NULL */

	/* of the loop */
	bool is_open;       /* the window has opened */
	uint32_t n_left;    /* in flight or parked */
	uint32_t n_retired; /* of the board, as last seen */
	uint32_t n_lost;    /* in flight on LUNs that were retired */
	uint32_t n_parked;
	struct lb_io **parked; /* waiting out a lane's back-off; room for all */
	uint64_t parked_ns;    /* when the first of them is due; LB_NEVER: none */
	uint64_t think_ns;     /* how long what has come back rests; 0: not at all */
	struct lb_rest *rests; /* a ring of n_ios, see worker_think.h; NULL without think_ns */
	uint32_t first_rest, n_rests;
	uint64_t control_ns; /* when the control wants to look; LB_NEVER: there is none */
	uint64_t wake_ns;    /* the earlier of the two */

	/* of the thread, see run.c */
	struct iovec *slabs;
	uint32_t n_slabs, n_pool_slabs; /* the first ones are the data's */
	bool reads;                     /* a lane does: slots have buffers of their own */
	int *fds;
	int cpu;
	uint32_t first_lane, first_slot;
};

/* One of its lanes is LANE. */
static inline void lb_worker_shares(struct lb_worker *w, const struct lb_lane_plan *lane)
{
	w->sharing = lane->shares_hist      ? LB_SHARES_HIST
		     : lane->n_siblings > 1 ? LB_SHARES_LUN
					    : LB_SHARES_NOTHING;
}

/*
 * What a worker has of its own, made in its own thread: place, buffers, lanes, engine. Of W the
 * fields up to `cpu` and the first lane and slot are set. Returns 0 or negative with ERR;
 * lb_worker_tear_down() after either.
 */
int lb_worker_set_up(struct lb_worker *w, const struct lb_config *cfg, struct lb_err *err);
void lb_worker_tear_down(struct lb_worker *w);

/*
 * What the buffers of N_SLOTS, of SLOT_BYTES each, of a worker that reads are mapped in, and
 * registered with its engine as: bytes, in whole huge pages.
 */
uint64_t lb_worker_buffer_bytes(uint64_t n_slots, uint64_t slot_bytes);

/*
 * Fills every lane to its depth, then runs until the window has closed and nothing is in flight.
 * Allocates nothing and takes no lock. Returns 0, or the negative errno with which the engine
 * failed.
 */
int lb_worker_loop(struct lb_worker *w);

/* For the loops. LANES of this worker are on their way, as far as their first I/O goes. */
void lb_worker_started(struct lb_worker *w, uint32_t lanes);

/* For the loops. Lets control look at time T, if it wants to; on a virtual clock. */
void lb_worker_control(struct lb_worker *w, uint64_t t);

#endif
