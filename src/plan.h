/*
 * The plan: phases of streams over groups of LUNs, worked out in full before the first I/O and
 * const from then on. It lies in the shared mapping, so that both processes read one plan.
 */
#ifndef LB_PLAN_H
#define LB_PLAN_H

#include <stdint.h>

#include "config.h"
#include "engine.h"
#include "lun.h"
#include "pace.h"
#include "shm.h"
#include "steady.h"

struct lb_group {
	const char *name;
	uint32_t *luns; /* indices in lb_plan.luns */
	uint32_t n_luns;
};

struct lb_stream {
	const char *name;
	const struct lb_group *group;
	uint8_t read_pct; /* 100: reads, 0: writes, between: mixed */
	bool is_dsync;    /* each write is on stable storage when it comes back (RWF_DSYNC) */
	struct lb_pat pat;
	uint32_t n_seq_streams; /* cursors of seq on each LUN; of others 1 */
	struct lb_sizes sizes;
	uint64_t size_bytes;  /* the only one or the largest */
	uint64_t block_bytes; /* what places are counted in: that, or of a mix that is seq its unit
			       */
	uint32_t qd;          /* per LUN */
	uint64_t think_ns;    /* between a transfer's return and the next in its place */
	uint64_t rate_milli_per_s; /* thousandths, of all its LUNs together; 0: closed loop */
	enum lb_arrival arrival;
	enum lb_catch_up catch_up;
};

/* One stream on one LUN in one worker. */
struct lb_lane_plan {
	uint32_t stream, lun, worker;
	uint32_t qd;              /* its share */
	uint32_t slot;            /* the first of its qd slots */
	uint32_t next_of_lun;     /* the next lane on its LUN, in a ring */
	uint32_t cursor;          /* seq, perm: the first of those that the stream has on the LUN */
	uint32_t nth, n_siblings; /* which of the stream's lanes on the LUN, and of how many */
	bool shares_hist; /* one histogram for all lanes of the stream and LUN: depth-one engines */
	uint32_t hist;    /* the first of its histograms: LB_OPS for each size */
	uint64_t rng_stream;
	uint64_t region_start, region_bytes;
	uint64_t n_blocks; /* of the stream's block_bytes */
	/* of its LUN by size, where all LUNs' blocks of that are numbered through (data.h) */
	uint64_t first_block[LB_SIZES_MAX];
};

struct lb_worker_plan {
	uint32_t lane, n_lanes; /* lanes [lane, lane + n_lanes) */
	uint32_t slot, n_slots; /* likewise of slots */
	int cpu;                /* pinned there; -1: not pinned */
};

struct lb_phase {
	const char *name;
	struct lb_stream *streams;
	uint32_t n_streams;
	uint64_t time_ns, ramp_ns, count; /* 0: none */
	uint64_t steady_ns; /* it ends when steady over windows of this length; 0: it does not */
	enum lb_steady_on steady_on;
};

struct lb_plan {
	const struct lb_engine_ops *engine; /* const data: at one address in both processes */
	char engine_why[256]; /* why this one, when it was not asked for by name; else "" */
	bool is_virtual;      /* runs on the engine's clock */
	struct lb_lun **luns; /* the ones used */
	uint32_t n_luns;
	struct lb_group *groups;
	uint32_t n_groups;
	struct lb_phase *phases;
	uint32_t n_phases;
	struct lb_lane_plan *lanes;
	uint32_t n_lanes;
	struct lb_worker_plan *workers;
	uint32_t n_workers;
	uint32_t n_slots, n_cursors, n_hists;
	uint32_t n_sizes;    /* of the stream that has most */
	uint64_t slot_bytes; /* buffer of one slot */
	uint64_t seed;
	int on_error; /* enum lb_on_error */
	uint32_t max_errors;
	uint64_t n_blocks[LB_SIZES_MAX]; /* by size, of all LUNs, as data.h numbers them */
	uint64_t interval_ns;            /* of the time series */
};

/*
 * Chooses the engine for these LUNs and works the plan out. Returns 0, or negative with ERR: too
 * many workers or slots for what was asked.
 */
int lb_plan_make(struct lb_shm *shm, const struct lb_config *cfg, struct lb_lun *luns, size_t n,
	struct lb_plan **plan, struct lb_err *err);

/* Lane indices, those of one LUN together; FIRST[lun] where they begin, FIRST[n_luns] the end.
 * FIRST is all 0 at first. */
void lb_plan_lanes_by_lun(const struct lb_plan *plan, uint32_t *lanes, uint32_t *first);

/* Upper bound, in bytes, of what a plan for N LUNs and its cells take of the shared mapping. */
uint64_t lb_plan_size_bound(const struct lb_config *cfg, size_t n);

#endif
