/*
 * What a worker writes down: one cell for each lane and op, written by that worker alone with plain
 * aligned stores. The reader is another process: it may see counts of a moment ago, never halves.
 */
#ifndef LB_STATS_H
#define LB_STATS_H

#include <stdint.h>

#include "fault.h"
#include "hist.h"

struct lb_lun_state;

struct lb_cell {
	/* in the window: the hot line */
	uint64_t xfers;
	uint64_t min_ns; /* UINT64_MAX: none */
	uint64_t max_ns;
	uint64_t sum_ns; /* of latencies */
	struct lb_hist *hist;
	uint64_t look_at; /* the worker's: the number of xfers at which there is more to do */
	struct lb_lun_state *lun; /* of the board */
	uint64_t size_bytes;      /* of each xfer */

	uint64_t outside; /* good completions not counted: before the window opened, past --count */
	uint64_t errors;  /* in the window: failed or short */
	uint64_t errors_other; /* the same outside it */
	uint64_t late;         /* issued in the window or before, returned in the drain */
	uint64_t late_max_ns;
	uint16_t samples;      /* read blocks looked at: some hundreds in the longest run */
	uint16_t zero_samples; /* those that were all zeros */
} __attribute__((aligned(128)));
_Static_assert(sizeof(struct lb_cell) == 128, "two cache lines, the hot one first");

/* Moved in the window. */
static inline uint64_t lb_cell_bytes(const struct lb_cell *cell)
{
	return __atomic_load_n(&cell->xfers, __ATOMIC_RELAXED) * cell->size_bytes;
}

/* Counters and histogram of several cells, added up; what reports are made from. */
struct lb_tally {
	uint64_t xfers, bytes, min_ns, max_ns;
	unsigned __int128 sum_ns; /* of 2000 LUNs at depth 128 64 bits are full in a day */
	uint64_t outside, errors, errors_other, late, late_max_ns;
	uint64_t zero_samples, samples;
	struct lb_faults faults;
	struct lb_hist hist;
};

/* An empty tally: min_ns UINT64_MAX, the rest 0. */
void lb_tally_init(struct lb_tally *t);

/* Adds CELL; its histogram too when WITH_HIST (cells that share one: once). */
void lb_tally_add_cell(struct lb_tally *t, const struct lb_cell *cell, int with_hist);
void lb_tally_add(struct lb_tally *into, const struct lb_tally *t);

#endif
