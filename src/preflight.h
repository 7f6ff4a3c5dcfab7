/*
 * Before the first buffer, thread and I/O: what would stop the run, all of it at once, and what
 * would distort it. The judgement is apart from the gathering of facts (limits.h, lun.h).
 */
#ifndef LB_PREFLIGHT_H
#define LB_PREFLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "err.h"
#include "finding.h"
#include "limits.h"
#include "plan.h"

/* What a plan takes of the host. */
struct lb_need {
	uint64_t aio_slots, threads, files, maps;
	uint64_t memory_bytes; /* buffers, histograms, stacks */
	uint64_t locked_bytes; /* io_uring would like to: it can do without */
};

void lb_need_of(struct lb_need *need, const struct lb_plan *plan);

/*
 * Adds to F a row for each limit that is known and of which the run takes something: LB_STOPS with
 * limit, need and setting, or LB_FINE.
 */
void lb_preflight_limits(
	struct lb_findings *f, const struct lb_need *need, const struct lb_limits *have);

/*
 * Adds to F what would distort: of each LUN of PLAN, or of them together. FOR_WRITING: the plan
 * writes. Returns 0 or -ENOMEM.
 */
int lb_preflight_luns(struct lb_findings *f, const struct lb_config *cfg,
	const struct lb_plan *plan, bool for_writing);

/*
 * Gathers and judges all of it. Returns 0, or -EAGAIN with ERR (status 3), which has the texts of
 * all LB_STOPS, as many as fit.
 */
int lb_preflight(struct lb_findings *f, const struct lb_config *cfg, const struct lb_plan *plan,
	bool for_writing, struct lb_err *err);

#endif
