/*
 * The hot loop on the bench: one worker, in this process, from a command line to its result. The
 * null engine's clock is virtual, so that everything is exact and takes no time.
 */
#ifndef LB_TEST_WORKER_RIG_H
#define LB_TEST_WORKER_RIG_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "board.h"
#include "clock.h"
#include "config.h"
#include "control.h"
#include "plan.h"
#include "result.h"
#include "shm.h"
#include "supervise.h"
#include "worker.h"

#define T0  LB_NSEC_PER_SEC /* where the virtual clock starts */
#define US  LB_NSEC_PER_USEC
#define MS  LB_NSEC_PER_MSEC
#define SEC LB_NSEC_PER_SEC

#define RIG_LUN_BYTES (1ull << 30)

struct rig {
	struct lb_config cfg;
	struct lb_shm shm;
	struct lb_board *board;
	struct lb_control control;
	struct lb_worker worker;
	struct lb_outcome outcome;
	struct lb_result r;
	char *bufs;
	char line[512];
	char *argv[40];
	int ret; /* of the loop */
};

/* LINE: the arguments, split at blanks. */
static inline void rig_parse(struct rig *g, const char *line)
{
	struct lb_err err = {.text = ""};
	char *rest;
	int argc = 0;

	snprintf(g->line, sizeof(g->line), "lunbench %s", line);
	for (char *s = strtok_r(g->line, " ", &rest); s; s = strtok_r(NULL, " ", &rest))
		g->argv[argc++] = s;
	g->argv[argc] = NULL;
	if (lb_config_parse(&g->cfg, argc, g->argv, &err) || lb_config_check(&g->cfg, &err))
		fail_msg("%s: %s", line, err.text);
}

/* The plan over the targets as they are: files of 1 GiB that FD stands for. */
static inline void rig_plan(struct rig *g, int fd)
{
	struct lb_err err = {.text = ""};
	struct lb_board *b;

	if (lb_board_make(&g->board, &g->shm, &g->cfg, &err))
		fail_msg("%s", err.text);
	b = g->board;
	for (uint32_t i = 0; i < b->n_luns; i++) {
		b->luns[i].fate = LB_FATE_USED;
		b->luns[i].fd = fd;
		b->luns[i].size_bytes = b->luns[i].region_end = RIG_LUN_BYTES;
		b->luns[i].nr_requests = LB_LUN_UNKNOWN;
		b->luns[i].has_nowait = true;
	}
	if (lb_plan_make(&g->shm, &g->cfg, b->luns, b->n_luns, &b->plan, &err))
		fail_msg("%s", err.text);
	assert_int_equal(b->plan->n_workers, 1);
}

static inline void *rig_alloc(struct rig *g, size_t n, size_t size)
{
	void *p = lb_shm_alloc(&g->shm, n, size, 128);

	assert_non_null(p);
	return p;
}

static inline void rig_cells(struct rig *g)
{
	struct lb_board *b = g->board;
	const struct lb_plan *p = b->plan;

	b->cells = rig_alloc(g, (size_t)p->n_lanes * p->n_sizes * LB_OPS, sizeof(*b->cells));
	b->faults = rig_alloc(g, p->n_lanes, sizeof(*b->faults));
	b->hists = rig_alloc(g, p->n_hists, sizeof(*b->hists));
	b->ios = rig_alloc(g, p->n_slots, sizeof(*b->ios));
	b->cursors = rig_alloc(g, p->n_cursors, sizeof(*b->cursors));
	b->workers = rig_alloc(g, 1, sizeof(*b->workers));
	b->lun_states = rig_alloc(g, p->n_luns, sizeof(*b->lun_states));
	lb_board_cells_init(b);
	b->series = lb_series_make(&g->shm, p);
	assert_non_null(b->series);
	assert_int_equal(lb_responses_make(&g->shm, b), 0);
}

static inline void rig_lane(struct rig *g, uint32_t l)
{
	struct lb_worker *w = &g->worker;
	const struct lb_lane_plan *lp = &g->board->plan->lanes[l];
	uint64_t slot_bytes = g->board->plan->slot_bytes;

	lb_lane_init(
		&w->lanes[l * w->n_sizes], g->board, l, &w->aims[l], &w->writes[l * w->n_sizes]);
	w->fds[l] = g->board->luns[l].fd;
	lb_worker_shares(w, lp);
	w->is_near_count |= w->count && w->lanes[l * w->n_sizes].near_full_at == LB_NEVER;
	for (uint32_t s = lp->slot; s < lp->slot + lp->qd; s++)
		w->ios[s] = (struct lb_io){.lane = &w->lanes[l * w->n_sizes],
			.buf = g->bufs + s * slot_bytes,
			.len = (uint32_t)g->cfg.size_bytes,
			.slot = s,
			.fd = w->fds[l],
			.lun = l};
}

static inline void rig_worker(struct rig *g)
{
	struct lb_worker *w = &g->worker;
	struct lb_board *b = g->board;
	const struct lb_plan *p = b->plan;
	struct iovec slab = {.iov_len = p->n_slots * p->slot_bytes};
	struct lb_engine_cfg ec;
	struct lb_err err = {.text = ""};

	slab.iov_base = g->bufs = aligned_alloc(4096, slab.iov_len);
	assert_non_null(g->bufs);
	memset(g->bufs, 0x5a, slab.iov_len);
	*w = (struct lb_worker){.ops = p->engine,
		.board = b,
		.state = b->workers,
		.ios = b->ios,
		.n_ios = p->n_slots,
		.n_lanes = p->n_lanes,
		.n_sizes = p->n_sizes,
		.count = p->phases[0].count,
		.control = p->is_virtual ? &g->control : NULL,
		.cpu = -1};
	w->think_ns = p->phases[0].streams[0].think_ns;
	w->rests = calloc(p->n_slots, sizeof(*w->rests));
	w->lanes = aligned_alloc(64, p->n_lanes * p->n_sizes * sizeof(*w->lanes));
	w->aims = calloc(p->n_lanes, sizeof(*w->aims));
	w->writes = calloc(p->n_lanes * p->n_sizes, sizeof(*w->writes));
	w->fds = calloc(p->n_lanes, sizeof(*w->fds));
	w->parked = calloc(p->n_slots, sizeof(struct lb_io *));
	assert_true(w->rests && w->lanes && w->aims && w->writes && w->fds && w->parked);
	for (uint32_t l = 0; l < p->n_lanes; l++)
		rig_lane(g, l);
	assert_int_equal(lb_paced_make(w), 0);
	ec = (struct lb_engine_cfg){.fds = w->fds,
		.n_fds = p->n_lanes,
		.ios = w->ios,
		.n_ios = w->n_ios,
		.slabs = &slab,
		.n_slabs = 1,
		.opts = g->cfg.null_opts,
		.note = &w->state->note,
		.submit_call = &w->state->submit_call};
	if (w->ops->setup(&w->engine, &ec, &err))
		fail_msg("%s", err.text);
}

/* All but the loop itself. FD: the open file that every target stands for, or -1. */
static inline void rig_make(struct rig *g, const char *line, int fd)
{
	memset(g, 0, sizeof(*g));
	rig_parse(g, line);
	rig_plan(g, fd);
	rig_cells(g);
	rig_worker(g);
	atomic_store(&g->board->window.open_ns, LB_NEVER);
	atomic_store(&g->board->window.close_ns, LB_NEVER);
	if (g->worker.control)
		assert_int_equal(lb_control_init(&g->control, g->board, g->cfg.drain_ns, 0), 0);
	atomic_store(&g->board->stage, LB_STAGE_RUNNING);
}

static inline uint64_t rig_now(struct rig *g)
{
	return g->worker.ops->now ? g->worker.ops->now(g->worker.engine) : lb_now_ns();
}

static inline void rig_loop(struct rig *g)
{
	atomic_store(&g->board->window.start_ns, rig_now(g));
	g->ret = lb_worker_loop(&g->worker);
	if (g->worker.control)
		lb_control_finish(&g->control, rig_now(g));
}

static inline void rig_result(struct rig *g)
{
	struct lb_err err = {.text = ""};

	assert_int_equal(atomic_load(&g->board->workers[0].has_closed), 1);
	assert_int_equal(atomic_load(&g->board->workers[0].n_started), g->board->plan->n_lanes);
	if (g->ret < 0)
		atomic_store(&g->board->workers[0].fatal, g->ret);
	g->board->virtual_end_ns = g->outcome.end_ns = rig_now(g);
	atomic_store(&g->board->workers[0].has_ended, 1);
	atomic_store(&g->board->stage, LB_STAGE_DRAINED);
	g->outcome.timed_out = g->control.timed_out;
	g->outcome.stalled = atomic_load(&g->board->window.stalled);
	if (lb_result_make(&g->r, &g->cfg, g->board, &g->outcome, &err))
		fail_msg("%s", err.text);
}

/* A whole run of the null engine on N targets, on its virtual clock. */
static inline void rig_run_sized(struct rig *g, const char *size, const char *line)
{
	char all[400];

	snprintf(all, sizeof(all), "--engine null --size %s %s", size, line);
	rig_make(g, all, -1);
	assert_true(g->board->plan->is_virtual);
	rig_loop(g);
	assert_int_equal(g->ret, 0);
	rig_result(g);
}

static inline void rig_run(struct rig *g, const char *line)
{
	rig_run_sized(g, "4k", line);
}

static inline void rig_done(struct rig *g)
{
	lb_control_done(&g->control);
	g->worker.ops->teardown(g->worker.engine);
	lb_paced_done(&g->worker);
	free(g->worker.lanes);
	free(g->worker.aims);
	free(g->worker.rests);
	free(g->worker.writes);
	free(g->worker.fds);
	free(g->worker.parked);
	free(g->bufs);
	lb_result_done(&g->r);
	lb_control_done(&g->control);
	close(g->board->kick_fd);
	close(g->board->edge_fd);
	lb_shm_done(&g->shm);
	lb_config_done(&g->cfg);
}

static inline const struct lb_figures *rig_lun(const struct rig *g, uint32_t i)
{
	assert_true(i < g->r.n_luns);
	return &g->r.luns[i].fig;
}

/* When the loop ended, from the start of the clock. */
static inline uint64_t rig_end_ns(const struct rig *g)
{
	return g->board->virtual_end_ns - T0;
}

#endif
