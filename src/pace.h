/*
 * Open loop: when the transfers of a LUN are due, whatever the LUN does. One schedule for each
 * stream and LUN; it lies on the board, and however many lanes serve it, each claims the next
 * arrival with one atomic step. All times here are ns from the schedule's start (the window's
 * start_ns).
 */
#ifndef LB_PACE_H
#define LB_PACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hist.h"

#define LB_RATE_MILLI_MIN 1ull           /* 0.001/s */
#define LB_RATE_MILLI_MAX 10000000000ull /* 10M/s */

enum lb_arrival { LB_ARRIVAL_FIXED, LB_ARRIVAL_POISSON };
enum lb_catch_up { LB_CATCH_UP_QD, LB_CATCH_UP_NONE };

struct lb_pace {
	/* fixed: the number of the next arrival; poisson: its time, in ticks of 1/256 ns */
	_Atomic uint64_t next;
	/* LUN `lun` of `n_luns` gets its share of the total rate, and is due a LUN's part of a
	 * period after the one before it: so they do not all fire at once */
	uint64_t total_milli_per_s; /* thousandths of an arrival, over all LUNs */
	uint32_t n_luns, lun;
	enum lb_arrival arrival;
	uint64_t key;            /* poisson: what its gaps are drawn by */
	_Atomic uint32_t n_free; /* LB_CATCH_UP_NONE: lanes that have a transfer free */
	_Atomic uint64_t missed; /* LB_CATCH_UP_NONE: arrivals due in the window and skipped */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct lb_pace) == 64, "one cache line: LUNs do not share one");

/* What is due and unclaimed. */
struct lb_waiting {
	uint64_t n;
	uint64_t oldest_ns; /* age of the first; 0: there is none */
	double sum_ns;      /* of the ages */
};

/* SEED and LUN name the sequence of a poisson schedule: equal pairs repeat it. */
void lb_pace_init(struct lb_pace *p, enum lb_arrival arrival, uint64_t total_milli_per_s,
	uint32_t lun, uint32_t n_luns, uint64_t seed);

/* When the next arrival that nobody has claimed is due. It only ever moves on. */
uint64_t lb_pace_next_ns(const struct lb_pace *p);

/* Claims the next arrival if it is due by NOW_NS: true, and when it was due. */
bool lb_pace_claim(struct lb_pace *p, uint64_t now_ns, uint64_t *due_ns);

/*
 * Leaves out the arrivals after which another one was due by FREE_NS: nothing was free for them in
 * time. Returns how many of them were due at OPEN_NS or later.
 */
uint64_t lb_pace_skip(struct lb_pace *p, uint64_t free_ns, uint64_t open_ns);

/*
 * What is due before NOW_NS and unclaimed. AGES, unless NULL, gets them added, each at its age. Of
 * a poisson schedule arrivals past the first million, without AGES past the first 1024, are counted
 * by the mean rate and have age 0.
 */
struct lb_waiting lb_pace_waiting(const struct lb_pace *p, uint64_t now_ns, struct lb_hist *ages);

#endif
