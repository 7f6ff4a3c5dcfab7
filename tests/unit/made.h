/* Runs made by hand: a board as workers would have left it, for tests of what is read from it. */
#ifndef LB_TEST_MADE_H
#define LB_TEST_MADE_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "clock.h"
#include "preflight.h"
#include "result.h"
#include "sampler.h"

#define MADE_OPEN_NS (1000 * LB_NSEC_PER_SEC)
#define MS           LB_NSEC_PER_MSEC
#define SEC          LB_NSEC_PER_SEC
#define MADE_EVENTS  256

/* One stream, LANES_PER_LUN lanes on each LUN, lanes in LUN order and spread over the workers. */
struct made {
	struct lb_config cfg;
	struct lb_board board;
	struct lb_plan plan;
	struct lb_engine_ops engine;
	struct lb_group group;
	struct lb_stream stream;
	struct lb_phase phase;
	struct lb_outcome outcome;
	struct lb_result r;
	struct lb_shm shm;      /* of the time series; see made_series() */
	struct lb_shm open_shm; /* of an open loop; see made_open() */
	struct lb_sampler *sampler;
	char (*names)[128];
};

static inline void *made_zeros(size_t n, size_t size, size_t align)
{
	size_t bytes = (n * size + align - 1) / align * align;
	void *p = aligned_alloc(align, bytes ? bytes : align);

	assert(p);
	return memset(p, 0, bytes);
}

static inline void made_lanes(struct made *m, uint32_t n_luns, uint32_t n_workers, uint32_t qd)
{
	struct lb_plan *p = &m->plan;

	p->lanes = calloc(n_luns, sizeof(*p->lanes));
	p->workers = calloc(n_workers, sizeof(*p->workers));
	assert(p->lanes && p->workers);
	for (uint32_t i = 0; i < n_luns; i++) {
		uint32_t w = (uint32_t)((uint64_t)i * n_workers / n_luns);

		p->lanes[i] = (struct lb_lane_plan){.lun = i,
			.worker = w,
			.qd = qd,
			.slot = i * qd,
			.cursor = i,
			.hist = i * LB_OPS,
			.n_blocks = m->board.luns[i].size_bytes / m->stream.size_bytes};
		if (!p->workers[w].n_lanes) {
			p->workers[w].lane = i;
			p->workers[w].slot = i * qd;
		}
		p->workers[w].n_lanes++;
		p->workers[w].n_slots += qd;
	}
}

static inline void made_board(struct made *m)
{
	struct lb_board *b = &m->board;
	const struct lb_plan *p = &m->plan;

	b->plan = &m->plan;
	b->findings.room = lb_findings_room(p->n_luns);
	b->findings.at = made_zeros(b->findings.room, sizeof(*b->findings.at), 64);
	b->events.room = MADE_EVENTS;
	b->events.at = made_zeros(MADE_EVENTS, sizeof(*b->events.at), 64);
	b->cells = made_zeros((size_t)p->n_lanes * LB_OPS, sizeof(*b->cells), 128);
	b->faults = made_zeros(p->n_lanes, sizeof(*b->faults), 64);
	b->hists = made_zeros(p->n_hists, sizeof(*b->hists), 64);
	b->ios = made_zeros(p->n_slots, sizeof(*b->ios), 64);
	b->workers = made_zeros(p->n_workers, sizeof(*b->workers), 64);
	b->lun_states = made_zeros(p->n_luns, sizeof(*b->lun_states), 64);
	lb_board_cells_init(b);
	b->stage = LB_STAGE_DRAINED;
	b->kick_fd = b->edge_fd = -1;
	b->stall_ns = 5 * SEC;
	b->window.start_ns = MADE_OPEN_NS - SEC / 2;
	b->window.open_ns = MADE_OPEN_NS;
	b->window.close_ns = MADE_OPEN_NS + 10 * SEC;
	b->usage_open_ns = b->window.open_ns;
	b->usage_close_ns = b->window.close_ns;
	for (uint32_t i = 0; i < p->n_workers; i++) {
		b->workers[i].n_started = p->workers[i].n_lanes;
		b->workers[i].cpu_close_at_ns = b->window.close_ns;
	}
	m->outcome.end_ns = MADE_OPEN_NS + 12 * SEC;
	m->board.realtime_minus_monotonic_ns = 1700000000 * SEC - MADE_OPEN_NS;
}

/* 10 s of random 16k reads, qd QD, over N_LUNS of 100 GiB; nothing has come back yet. */
static inline struct made *made_new(uint32_t n_luns, uint32_t n_workers, uint32_t qd)
{
	struct made *m = calloc(1, sizeof(*m));

	assert(m);
	m->names = calloc(n_luns, sizeof(*m->names));
	m->engine = (struct lb_engine_ops){.name = "made"};
	m->stream = (struct lb_stream){.name = "main",
		.group = &m->group,
		.read_pct = 100,
		.pat = {.kind = LB_RAND},
		.n_seq_streams = 1,
		.sizes = {1, {16384}, {100}},
		.size_bytes = 16384,
		.block_bytes = 16384,
		.qd = qd};
	m->phase = (struct lb_phase){
		.name = "main", .streams = &m->stream, .n_streams = 1, .time_ns = 10 * SEC};
	m->cfg = (struct lb_config){.size_bytes = 16384, .qd = qd, .time_ns = 10 * SEC};
	CPU_SET(0, &m->cfg.cpus);
	CPU_SET(1, &m->cfg.cpus);
	m->board.n_luns = n_luns;
	m->board.luns = calloc(n_luns, sizeof(*m->board.luns));
	m->plan = (struct lb_plan){.engine = &m->engine,
		.n_luns = n_luns,
		.luns = calloc(n_luns, sizeof(*m->plan.luns)),
		.groups = &m->group,
		.n_groups = 1,
		.phases = &m->phase,
		.n_phases = 1,
		.n_lanes = n_luns,
		.n_workers = n_workers,
		.n_slots = n_luns * qd,
		.n_hists = n_luns * LB_OPS,
		.n_sizes = 1,
		.n_cursors = n_luns,
		.slot_bytes = 16384};
	m->group = (struct lb_group){
		.name = "all", .n_luns = n_luns, .luns = calloc(n_luns, sizeof(*m->group.luns))};
	assert(m->names && m->board.luns && m->plan.luns && m->group.luns);
	for (uint32_t i = 0; i < n_luns; i++) {
		struct lb_lun *lun = &m->board.luns[i];

		snprintf(m->names[i], sizeof(m->names[i]), "/dev/mapper/mpath%u", i);
		*lun = (struct lb_lun){.name = m->names[i],
			.fate = LB_FATE_USED,
			.size_bytes = 100ull << 30,
			.logical_block = 512,
			.physical_block = 512,
			.vendor = "3PARdata",
			.model = "VV",
			.queue_depth = LB_LUN_UNKNOWN,
			.nr_requests = LB_LUN_UNKNOWN,
			.max_io_bytes = LB_LUN_UNKNOWN,
			.rotational = LB_LUN_UNKNOWN,
			.optimal_io_bytes = LB_LUN_UNKNOWN,
			.read_only = LB_LUN_UNKNOWN,
			.has_nowait = true,
			.region_end = 100ull << 30};
		snprintf(lun->kernel_name, sizeof(lun->kernel_name), "dm-%u", i);
		m->plan.luns[i] = lun;
		m->group.luns[i] = i;
	}
	made_lanes(m, n_luns, n_workers, qd);
	made_board(m);
	return m;
}

/* N xfers of LAT_NS each came back on LANE inside the window: OP by op, or of the only one. */
static inline void made_op_xfers(
	struct made *m, uint32_t lane, enum lb_op op, uint64_t n, uint64_t lat_ns)
{
	struct lb_cell *cell = lb_board_cell(&m->board, lane, op);

	cell->xfers += n;
	cell->size_bytes = m->stream.size_bytes; /* a scene may have changed it */
	cell->sum_ns += n * lat_ns;
	if (lat_ns < cell->min_ns)
		cell->min_ns = lat_ns;
	if (lat_ns > cell->max_ns)
		cell->max_ns = lat_ns;
	cell->hist->count[lb_hist_bucket(lat_ns)] += n;
}

static inline void made_xfers(struct made *m, uint32_t lane, uint64_t n, uint64_t lat_ns)
{
	made_op_xfers(m, lane, m->stream.read_pct ? LB_READ : LB_WRITE, n, lat_ns);
}

/*
 * N I/Os of LANE returned RES, a millisecond and a block apart from AT on; those before the window
 * opened are outside it.
 */
static inline void made_errors(
	struct made *m, uint32_t lane, int32_t res, uint32_t n, struct lb_fault_at at)
{
	uint8_t op = m->stream.read_pct ? LB_READ : LB_WRITE;
	struct lb_cell *cell = lb_board_cell(&m->board, lane, (enum lb_op)op);

	for (uint32_t i = 0; i < n; i++) {
		bool in_window = at.ns >= m->board.window.open_ns;

		cell->errors += in_window;
		cell->errors_other += !in_window;
		lb_fault_note(&m->board.faults[lane], op, res, at, in_window);
		at.ns += MS;
		at.offset_bytes += m->stream.size_bytes;
	}
}

/* Begins a time series of a point each INTERVAL_NS; lb_sampler_take() and _keep() go on. */
static inline void made_series(struct made *m, uint64_t interval_ns)
{
	const struct lb_phase *phase = &m->phase;
	struct lb_err err;
	int ret;

	m->plan.interval_ns = interval_ns;
	ret = lb_shm_create(&m->shm,
		lb_series_bytes(m->plan.n_luns, LB_OPS, interval_ns, phase->time_ns), &err);
	assert(ret == 0);
	m->board.series = lb_series_make(&m->shm, &m->plan);
	assert(m->board.series);
	ret = lb_sampler_make(&m->sampler, &m->board);
	assert(ret == 0);
	lb_sampler_begin(m->sampler, MADE_OPEN_NS);
	(void)ret;
}

/* The next point ends AT_NS after the opening. */
static inline void made_point(struct made *m, uint64_t at_ns)
{
	lb_sampler_take(m->sampler, MADE_OPEN_NS + at_ns);
	lb_sampler_keep(m->sampler);
}

/* N I/Os of LANE are still in flight, issued AGE_NS before the end. */
static inline void made_outstanding(struct made *m, uint32_t lane, uint32_t n, uint64_t age_ns)
{
	struct lb_lun_state *lun = &m->board.lun_states[m->plan.lanes[lane].lun];

	for (uint32_t i = 0; i < n; i++) {
		struct lb_io *io = &m->board.ios[m->plan.lanes[lane].slot + i];

		io->issue_ns = m->outcome.end_ns - age_ns;
		io->len = (uint32_t)m->stream.size_bytes;
	}
	lun->last_ns = m->outcome.end_ns - age_ns;
	lun->n_busy = 1;
}

/* Makes M an open loop at a rate over all LUNs, in thousandths. */
static inline void made_open(struct made *m, uint64_t total_milli_per_s, enum lb_arrival arrival,
	enum lb_catch_up catch_up)
{
	struct lb_err err;

	m->stream.rate_milli_per_s = total_milli_per_s;
	m->stream.arrival = arrival;
	m->stream.catch_up = catch_up;
	if (lb_shm_create(&m->open_shm, 1 << 20, &err) ||
		lb_responses_make(&m->open_shm, &m->board))
		abort();
}

/* N xfers of LANE, each issued LATE_NS after it was due. */
static inline void made_responses(
	struct made *m, uint32_t lane, uint64_t n, uint64_t lat_ns, uint64_t late_ns)
{
	uint32_t op = m->stream.read_pct ? LB_READ : LB_WRITE;
	struct lb_resp *resp = lb_resp_of(m->board.resps, lane, op);
	uint64_t ns = lat_ns + late_ns;

	made_xfers(m, lane, n, lat_ns);
	resp->hist->count[lb_hist_bucket(ns)] += n;
	resp->sum_ns += (double)n * (double)ns;
	resp->min_ns = ns < resp->min_ns ? ns : resp->min_ns;
	resp->max_ns = ns > resp->max_ns ? ns : resp->max_ns;
	resp->issued += n;
	resp->held_sum_ns += n * 12345;
	resp->held_max_ns = 54321;
}

/* The first N arrivals of LUN have been claimed, those before the window too. */
static inline void made_due(struct made *m, uint32_t lun, uint64_t n)
{
	uint64_t due_ns, open_ns = MADE_OPEN_NS - m->board.window.start_ns;

	while (lb_pace_claim(&m->board.paces[lun], open_ns - 1, &due_ns))
		;
	while (n-- && lb_pace_claim(&m->board.paces[lun], open_ns + 10 * SEC - 1, &due_ns))
		;
}

static inline struct lb_result *made_result(struct made *m)
{
	struct lb_err err;
	int ret = 0;

	m->board.findings.n = 0;
	if (m->board.plan)
		ret = lb_preflight_luns(&m->board.findings, &m->cfg, &m->plan, false);
	if (!ret)
		ret = lb_result_make(&m->r, &m->cfg, &m->board, &m->outcome, &err);

	assert(ret == 0);
	(void)ret;
	return &m->r;
}

static inline void made_done(struct made *m)
{
	lb_sampler_done(m->sampler);
	lb_shm_done(&m->shm);
	lb_shm_done(&m->open_shm);
	lb_result_done(&m->r);
	lb_config_done(&m->cfg);
	free(m->names);
	free(m->board.luns);
	free(m->board.findings.at);
	free(m->board.events.at);
	free(m->plan.luns);
	free(m->group.luns);
	free(m->plan.lanes);
	free(m->plan.workers);
	free(m->board.cells);
	free(m->board.faults);
	free(m->board.hists);
	free(m->board.ios);
	free(m->board.workers);
	free(m->board.lun_states);
	free(m);
}

#endif
