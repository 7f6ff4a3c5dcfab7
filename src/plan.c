#include "plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "board.h"
#include "data.h"
#include "series.h"
#include "stats.h"

/* What is being worked out; only in here. */
struct draft {
	struct lb_shm *shm;
	const struct lb_config *cfg;
	struct lb_plan *plan;
	uint32_t lanes_per_lun;
	bool *has_own;  /* of a LUN: gets workers of its own */
	uint32_t *rank; /* of a LUN: its place among those that do, or those that do not */
	uint32_t n_own;
};

static void *alloc(const struct draft *d, size_t n, size_t size)
{
	return lb_shm_alloc(d->shm, n ? n : 1, size, 64);
}

static uint64_t buffer_bytes(uint64_t size)
{
	return (size + 4095) & ~4095ull;
}

/*
 * io_uring where it works and is cheap. On a device without NOWAIT (dm-multipath, zram) it hands
 * every transfer to kernel threads: measured 4.7 times the CPU of libaio and a quarter of its rate.
 */
static int choose_engine(const struct draft *d, struct lb_err *err)
{
	struct lb_plan *p = d->plan;
	const struct lb_lun *slow = NULL;
	struct lb_err why = {0};

	if (d->cfg->engine != LB_ENGINE_AUTO) {
		p->engine = lb_engines[d->cfg->engine - 1];
		return p->engine->probe ? p->engine->probe(err) : 0;
	}
	for (uint32_t i = 0; i < p->n_luns && !slow; i++)
		if (!p->luns[i]->has_nowait)
			slow = p->luns[i];
	if (lb_engine_io_uring.probe(&why) == 0 && !slow) {
		p->engine = &lb_engine_io_uring;
		return 0;
	}
	p->engine = &lb_engine_libaio;
	if (why.text[0])
		snprintf(p->engine_why, sizeof(p->engine_why), "%.255s", why.text);
	else
		snprintf(p->engine_why, sizeof(p->engine_why),
			"%.120s has no NOWAIT: io_uring would hand every transfer to kernel threads",
			slow->name);
	return p->engine->probe(err);
}

static int make_streams(struct draft *d)
{
	struct lb_plan *p = d->plan;
	struct lb_group *group = p->groups = alloc(d, 1, sizeof(*group));
	struct lb_phase *phase = p->phases = alloc(d, 1, sizeof(*phase));
	struct lb_stream *stream = alloc(d, 1, sizeof(*stream));
	const uint32_t read_pct[] = {
		[LB_OP_READ] = 100, [LB_OP_WRITE] = 0, [LB_OP_RW] = d->cfg->read_pct};

	if (!group || !phase || !stream || !(group->luns = alloc(d, p->n_luns, sizeof(uint32_t))))
		return -ENOMEM;
	p->n_groups = p->n_phases = 1;
	group->name = "all";
	group->n_luns = p->n_luns;
	for (uint32_t i = 0; i < p->n_luns; i++)
		group->luns[i] = i;
	*stream = (struct lb_stream){.name = "main",
		.group = group,
		.read_pct = (uint8_t)read_pct[d->cfg->op],
		.is_dsync = d->cfg->sync == LB_SYNC_DSYNC,
		.pat = d->cfg->pat,
		.n_seq_streams = d->cfg->seq_streams,
		.sizes = d->cfg->sizes,
		.size_bytes = d->cfg->size_bytes,
		.block_bytes = d->cfg->pat.kind == LB_SEQ ? lb_sizes_unit(&d->cfg->sizes)
							  : d->cfg->size_bytes,
		.qd = d->cfg->qd,
		.think_ns = d->cfg->think_ns,
		.rate_milli_per_s =
			d->cfg->rate_total_milli_per_s ?: d->cfg->rate_milli_per_s * p->n_luns,
		.arrival = (enum lb_arrival)d->cfg->arrival,
		.catch_up = (enum lb_catch_up)d->cfg->catch_up};
	*phase = (struct lb_phase){.name = "run",
		.streams = stream,
		.n_streams = 1,
		.time_ns = d->cfg->time_ns,
		.ramp_ns = d->cfg->ramp_ns,
		.count = d->cfg->count,
		.steady_ns = d->cfg->until == LB_UNTIL_STEADY ? d->cfg->steady_window_ns : 0,
		.steady_on = (enum lb_steady_on)d->cfg->steady_on};
	return 0;
}

/* The share of lane T in a LUN's depth, dealt as evenly as can be. */
static uint32_t lane_qd(const struct draft *d, uint32_t t)
{
	uint32_t qd = d->cfg->qd, n = d->lanes_per_lun;

	return qd / n + (t < qd % n);
}

/*
 * libaio waits in its submit while a LUN's queue is full, and every LUN of that worker waits with
 * it: a LUN whose depth can fill its queue gets a worker to itself.
 */
static int find_own_workers(struct draft *d)
{
	const struct lb_plan *p = d->plan;
	uint32_t n_shared = 0;

	d->has_own = alloc(d, p->n_luns, sizeof(*d->has_own));
	d->rank = alloc(d, p->n_luns, sizeof(*d->rank));
	if (!d->has_own || !d->rank)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_luns; i++) {
		int64_t nr = p->luns[i]->nr_requests;

		d->has_own[i] = p->engine->caps & LB_CAP_BLOCKS_ON_QUEUE && !d->cfg->workers &&
				nr != LB_LUN_UNKNOWN && (int64_t)d->cfg->qd >= nr;
		d->rank[i] = d->has_own[i] ? d->n_own++ : n_shared++;
	}
	return 0;
}

static int allowed_cpus(const struct lb_config *cfg, cpu_set_t *set)
{
	*set = cfg->cpus;
	if (CPU_COUNT(set) == 0 && sched_getaffinity(0, sizeof(*set), set))
		CPU_SET(0, set);
	return CPU_COUNT(set);
}

/* How many workers the lanes of LUNs without one of their own are spread over. */
static int count_workers(struct draft *d, uint32_t *n, struct lb_err *err)
{
	const struct lb_plan *p = d->plan;
	uint32_t lanes = (p->n_luns - d->n_own) * d->lanes_per_lun, most, least;
	uint32_t fit = p->engine->slots_max / lane_qd(d, 0);
	cpu_set_t cpus;

	if (p->engine->caps & LB_CAP_DEPTH_ONE) {
		*n = lanes;
		if (d->cfg->workers)
			return lb_fail(err, LB_ST_USAGE, EINVAL,
				"--workers: engine %s makes one worker for each transfer in flight, %u here",
				p->engine->name, lanes);
		return 0;
	}
	least = (lanes + fit - 1) / fit;
	if (least < d->lanes_per_lun && lanes)
		least = d->lanes_per_lun;
	if (p->is_virtual)
		most = 1;
	else
		most = d->cfg->workers ? d->cfg->workers : (uint32_t)allowed_cpus(d->cfg, &cpus);
	*n = most < lanes ? most : lanes;
	if (*n >= least)
		return 0;
	if (p->is_virtual)
		return lb_fail(err, LB_ST_USAGE, EINVAL,
			"--null-latency, --null-script: a virtual clock takes one worker, this run needs %u: "
			"fewer --threads-per-lun, LUNs or --qd",
			least);
	if (d->cfg->workers)
		return lb_fail(err, LB_ST_USAGE, EINVAL,
			"--workers: %u are too few for %u LUNs at --qd %u, --threads-per-lun %u: at least %u",
			d->cfg->workers, p->n_luns, d->cfg->qd, d->lanes_per_lun, least);
	*n = least;
	return 0;
}

/* LUNs are dealt out in turn, a LUN's lanes to different workers; SHARED workers come first. */
static uint32_t worker_of(const struct draft *d, uint32_t shared, uint32_t i, uint32_t t)
{
	uint32_t nth = d->rank[i] * d->lanes_per_lun + t;

	return d->has_own[i] ? shared + nth : nth % shared;
}

static bool shares_hists(const struct draft *d)
{
	return d->plan->engine->caps & LB_CAP_DEPTH_ONE && d->lanes_per_lun > 1;
}

static void fill_lane(const struct draft *d, struct lb_lane_plan *lane, uint32_t i, uint32_t t)
{
	const struct lb_plan *p = d->plan;
	const struct lb_stream *stream = &p->phases[0].streams[0];
	const struct lb_lun *lun = p->luns[i];
	bool shares_hist = shares_hists(d);

	lane->lun = i;
	lane->qd = lane_qd(d, t);
	lane->cursor = i * stream->n_seq_streams;
	lane->nth = t;
	lane->n_siblings = d->lanes_per_lun;
	lane->shares_hist = shares_hist;
	lane->hist = (shares_hist ? i : i * d->lanes_per_lun + t) * p->n_sizes * LB_OPS;
	lane->rng_stream = (uint64_t)i << 32 | t;
	lane->region_start = lun->region_start;
	lane->region_bytes = lun->region_end - lun->region_start;
	lane->n_blocks = lane->region_bytes / stream->block_bytes;
	memcpy(lane->first_block, p->n_blocks, sizeof(lane->first_block));
}

/* The blocks of LUN join those of the LUNs before it. */
static void number_blocks(struct lb_plan *p, const struct lb_lun *lun)
{
	const struct lb_sizes *sizes = &p->phases[0].streams[0].sizes;
	uint64_t bytes = lun->region_end - lun->region_start;

	for (uint32_t s = 0; s < sizes->n; s++)
		p->n_blocks[s] += lb_data_share(bytes / sizes->bytes[s]);
}

/* Lanes lie by worker, so that each worker's lanes and slots are one range. */
static void deal_lanes(const struct draft *d, uint32_t shared)
{
	struct lb_plan *p = d->plan;
	uint32_t lane = 0, slot = 0;

	for (uint32_t i = 0; i < p->n_luns; i++)
		for (uint32_t t = 0; t < d->lanes_per_lun; t++)
			p->workers[worker_of(d, shared, i, t)].n_lanes++;
	for (uint32_t w = 0; w < p->n_workers; w++) {
		p->workers[w].lane = lane;
		lane += p->workers[w].n_lanes;
		p->workers[w].n_lanes = 0;
	}
	for (uint32_t i = 0; i < p->n_luns; i++) {
		uint32_t first = 0, before = 0;

		for (uint32_t t = 0; t < d->lanes_per_lun; t++) {
			uint32_t w = worker_of(d, shared, i, t);
			struct lb_worker_plan *wp = &p->workers[w];
			uint32_t at = wp->lane + wp->n_lanes++;
			struct lb_lane_plan *lp = &p->lanes[at];

			if (t == 0)
				first = before = at;
			p->lanes[before].next_of_lun = at;
			before = at;
			fill_lane(d, lp, i, t);
			lp->worker = w;
		}
		p->lanes[before].next_of_lun = first;
		number_blocks(p, p->luns[i]);
	}
	for (uint32_t w = 0; w < p->n_workers; w++) {
		struct lb_worker_plan *wp = &p->workers[w];

		wp->slot = slot;
		for (uint32_t l = wp->lane; l < wp->lane + wp->n_lanes; l++) {
			p->lanes[l].slot = slot;
			slot += p->lanes[l].qd;
		}
		wp->n_slots = slot - wp->slot;
	}
	p->n_slots = slot;
}

/* With --cpus each worker has one of them to itself, in turn, unless there are more workers. */
static void pin_workers(const struct draft *d)
{
	const struct lb_plan *p = d->plan;
	cpu_set_t set;
	int n = allowed_cpus(d->cfg, &set), cpu = -1;
	bool pin = CPU_COUNT(&d->cfg->cpus) && p->n_workers <= (uint32_t)n;

	for (uint32_t w = 0; w < p->n_workers; w++) {
		p->workers[w].cpu = -1;
		if (!pin)
			continue;
		do {
			cpu++;
		} while (!CPU_ISSET(cpu, &set));
		p->workers[w].cpu = cpu;
	}
}

int lb_plan_make(struct lb_shm *shm, const struct lb_config *cfg, struct lb_lun *luns, size_t n,
	struct lb_plan **plan, struct lb_err *err)
{
	struct draft d = {.shm = shm, .cfg = cfg};
	struct lb_plan *p = d.plan = alloc(&d, 1, sizeof(*p));
	uint32_t shared = 0;
	int ret;

	if (!p || !(p->luns = alloc(&d, n, sizeof(struct lb_lun *))))
		goto no_room;
	for (size_t i = 0; i < n; i++)
		if (luns[i].fate == LB_FATE_USED)
			p->luns[p->n_luns++] = &luns[i];
	ret = choose_engine(&d, err);
	if (ret)
		return ret;
	p->is_virtual = p->engine == &lb_engine_null && lb_null_is_virtual(cfg->null_opts);
	p->seed = cfg->seed;
	p->on_error = cfg->on_error;
	p->max_errors = cfg->max_errors;
	p->interval_ns = cfg->interval_ns;
	p->n_sizes = cfg->sizes.n;
	p->slot_bytes = buffer_bytes(cfg->size_bytes);
	d.lanes_per_lun = p->engine->caps & LB_CAP_DEPTH_ONE ? cfg->qd : cfg->threads_per_lun;
	if (make_streams(&d) || find_own_workers(&d))
		goto no_room;
	ret = count_workers(&d, &shared, err);
	if (ret)
		return ret;
	p->n_workers = shared + d.n_own * d.lanes_per_lun;
	p->n_lanes = p->n_luns * d.lanes_per_lun;
	p->n_cursors = p->n_luns * cfg->seq_streams;
	p->n_hists = (shares_hists(&d) ? p->n_luns : p->n_lanes) * p->n_sizes * LB_OPS;
	p->workers = alloc(&d, p->n_workers, sizeof(*p->workers));
	p->lanes = alloc(&d, p->n_lanes, sizeof(*p->lanes));
	if (!p->workers || !p->lanes)
		goto no_room;
	deal_lanes(&d, shared);
	pin_workers(&d);
	*plan = p;
	return 0;
no_room:
	return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "out of shared memory for the plan");
}

void lb_plan_lanes_by_lun(const struct lb_plan *plan, uint32_t *lanes, uint32_t *first)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < plan->n_lanes; i++)
		first[plan->lanes[i].lun + 1]++;
	for (uint32_t i = 0; i < plan->n_luns; i++)
		first[i + 1] += first[i];
	for (uint32_t i = 0; i < plan->n_lanes; i++)
		lanes[first[plan->lanes[i].lun]++] = i;
	for (uint32_t i = 0; i < plan->n_luns; i++) { /* each now stands at its end: move back */
		uint32_t end = first[i];

		first[i] = at;
		at = end;
	}
}

uint64_t lb_plan_size_bound(const struct lb_config *cfg, size_t n)
{
	bool is_deep = cfg->engine == LB_ENGINE_AUTO ||
		       !(lb_engines[cfg->engine - 1]->caps & LB_CAP_DEPTH_ONE);
	uint64_t slots = (uint64_t)n * cfg->qd;
	uint64_t lanes = is_deep ? (uint64_t)n * cfg->threads_per_lun : slots;
	uint64_t cells = cfg->sizes.n * LB_OPS; /* of a lane */
	uint64_t hists = (is_deep ? lanes : n) * cells;

	return (1 << 20) +
	       n * (sizeof(struct lb_lun) + sizeof(struct lb_lun_state) +
			   cfg->seq_streams * sizeof(struct lb_cursor) + 256) +
	       slots * sizeof(struct lb_io) +
	       lanes * (sizeof(struct lb_lane_plan) + sizeof(struct lb_worker_plan) +
			       sizeof(struct lb_worker_state) + cells * sizeof(struct lb_cell) +
			       sizeof(struct lb_faults) + 64) +
	       hists * sizeof(struct lb_hist) +
	       lb_series_bytes((uint32_t)n, LB_OPS, cfg->interval_ns, cfg->time_ns) +
	       (lb_config_is_paced(cfg) ? lb_responses_bytes(n, lanes, hists, slots) : 0);
}
