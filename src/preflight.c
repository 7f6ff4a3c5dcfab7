#include "preflight.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "engine.h"
#include "hist.h"
#include "paths.h"
#include "result.h"
#include "series.h"
#include "units.h"
#include "worker.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

/* As measured: a thread has its stack, the page that guards it, and a hole between. */
#define MAPS_PER_THREAD 3
#define MAPS_PER_QUEUE  3 /* the rings of io_uring or libaio */
#define MAPS_SPARE      32
#define THREAD_BYTES    (32u << 10) /* kernel stack and what is touched of the other */

/* ---- limits ---- */

struct rule {
	const char *code;
	size_t need, have; /* offsets in struct lb_need, struct lb_limits */
	bool is_bytes;
	const char *what, *whose; /* what of whose limit */
	size_t path;              /* of struct lb_limits; 0: none */
	const char *raise;        /* the new value follows it; NULL: it cannot be raised */
	const char *else_do;
};

#define NEED(field) offsetof(struct lb_need, field)
#define HAVE(field) offsetof(struct lb_limits, field)

#define FEWER_THREADS "take a smaller --qd (engine sync) or fewer --workers"

static const struct rule rules[] = {
	{"aio-slots", NEED(aio_slots), HAVE(aio), false, "aio slots", "fs.aio-max-nr", 0,
		"sysctl -w fs.aio-max-nr=", "take a smaller --qd, or --engine io_uring"},
	{"open-files", NEED(files), HAVE(files), false, "more open files",
		"the hard limit (ulimit -Hn)", 0, "ulimit -n ", "take fewer --workers"},
	{"user-threads", NEED(threads), HAVE(user_tasks), false, "threads", "ulimit -u", 0,
		"ulimit -u ", FEWER_THREADS},
	{"pid-max", NEED(threads), HAVE(pids), false, "threads", "kernel.pid_max", 0,
		"sysctl -w kernel.pid_max=", FEWER_THREADS},
	{"threads-max", NEED(threads), HAVE(tasks), false, "threads", "kernel.threads-max", 0,
		"sysctl -w kernel.threads-max=", FEWER_THREADS},
	{"cgroup-pids", NEED(threads), HAVE(group_tasks), false, "threads", "pids.max of cgroup ",
		HAVE(group_tasks_path), "systemd: TasksMax=", FEWER_THREADS},
	{"memory-maps", NEED(maps), HAVE(maps), false, "memory maps", "vm.max_map_count", 0,
		"sysctl -w vm.max_map_count=", FEWER_THREADS},
	{"memory", NEED(memory_bytes), HAVE(memory), true, "memory for buffers and figures",
		"this host", 0, NULL, "take a smaller --qd or --size, or fewer LUNs"},
	{"cgroup-memory", NEED(memory_bytes), HAVE(group_memory), true,
		"memory for buffers and figures", "the memory limit of cgroup ",
		HAVE(group_memory_path),
		"systemd: MemoryMax=", "take a smaller --qd or --size, or fewer LUNs"},
};

/* Numbers as they are, bytes in whole MiB, or GiB where they are many: rounded UP or down. */
static const char *amount(char buf[32], const struct rule *r, uint64_t v, bool up)
{
	uint64_t unit = v < 90 * GIB ? MIB : GIB;

	if (r->is_bytes)
		return lb_format_size(buf, 32, (v + (up ? unit - 1 : 0)) / unit * unit);
	snprintf(buf, 32, "%" PRIu64, v);
	return buf;
}

static void judge(struct lb_findings *f, const struct rule *r, const struct lb_need *need,
	const struct lb_limits *have)
{
	uint64_t wanted = *(const uint64_t *)((const char *)need + r->need);
	const struct lb_limit *l = (const void *)((const char *)have + r->have);
	uint64_t left = l->max > l->used ? l->max - l->used : 0;
	const char *path = r->path ? (const char *)have + r->path : "";
	char n[32], free[32], used[32], max[32], raised[32], how[96] = "";

	if (!wanted || l->max == LB_UNLIMITED)
		return;
	amount(n, r, wanted, true);
	amount(free, r, left, false);
	if (wanted <= left) {
		lb_findings_add(f, LB_FINE, LB_OF_RUN, r->code, "%s of %s %s by %s%s", n, free,
			r->what, r->whose, path);
		return;
	}
	if (r->raise)
		snprintf(how, sizeof(how), "raise it (%s%s), or ", r->raise,
			amount(raised, r, l->used + wanted, true));
	lb_findings_add(f, LB_STOPS, LB_OF_RUN, r->code,
		"the run needs %s %s, and %s%s leaves %s (%s of %s in use): %s%s", n, r->what,
		r->whose, path, free, amount(used, r, l->used, true), amount(max, r, l->max, false),
		how, r->else_do);
}

void lb_preflight_limits(
	struct lb_findings *f, const struct lb_need *need, const struct lb_limits *have)
{
	char want[32], limit[32];

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		judge(f, &rules[i], need, have);
	if (need->locked_bytes > have->locked.max)
		lb_findings_add(f, LB_DISTORTS, LB_OF_RUN, "locked-memory",
			"io_uring will do without registered buffers: they need %s of locked memory, and "
			"RLIMIT_MEMLOCK (ulimit -l) is %s",
			lb_format_size(want, sizeof(want), need->locked_bytes),
			lb_format_size(limit, sizeof(limit), have->locked.max));
}

/* The time series, and the histograms as it saw them last. */
static uint64_t series_bytes(const struct lb_plan *p)
{
	const struct lb_phase *phase = &p->phases[0];
	uint8_t read_pct = phase->streams[0].read_pct;
	uint32_t n_ops = read_pct && read_pct < 100 ? 2 : 1;

	return lb_series_bytes(p->n_luns, n_ops, p->interval_ns, phase->time_ns) +
	       p->n_hists / LB_OPS * n_ops * sizeof(struct lb_hist);
}

static bool reads(const struct lb_plan *p, const struct lb_worker_plan *w)
{
	for (uint32_t l = w->lane; l < w->lane + w->n_lanes; l++)
		if (p->phases[0].streams[p->lanes[l].stream].read_pct > 0)
			return true;
	return false;
}

/*
 * What the workers' rings register, see worker_setup.c: buffers of their own where they read, and
 * each all of the pools where the run writes.
 */
static uint64_t registered_bytes(const struct lb_plan *p, uint64_t pool_bytes)
{
	uint64_t bytes = p->n_workers * pool_bytes;

	for (uint32_t i = 0; i < p->n_workers; i++)
		if (reads(p, &p->workers[i]))
			bytes += lb_worker_buffer_bytes(p->workers[i].n_slots, p->slot_bytes);
	return bytes;
}

/* What BYTES says of the pools that the run's writes take their data from, one for each size. */
static uint64_t pools_sum(const struct lb_plan *p, uint64_t (*bytes)(const struct lb_data_cfg *))
{
	const struct lb_stream *stream = &p->phases[0].streams[0];
	uint64_t sum = 0;

	for (uint32_t s = 0; s < stream->sizes.n && stream->read_pct < 100; s++) {
		const struct lb_data_cfg data = {.size_bytes = stream->sizes.bytes[s],
			.n_blocks = p->n_blocks[s],
			.n_slots = p->n_slots};

		sum += bytes(&data);
	}
	return sum;
}

void lb_need_of(struct lb_need *need, const struct lb_plan *p)
{
	const struct lb_stream *stream = &p->phases[0].streams[0];
	bool is_uring = p->engine == &lb_engine_io_uring;
	bool is_libaio = p->engine == &lb_engine_libaio;
	bool has_buffers = stream->read_pct && !(p->engine->caps & LB_CAP_NO_DEVICE);

	*need = (struct lb_need){.threads = p->n_workers,
		.aio_slots = is_libaio ? p->n_slots : 0,
		.files = is_uring ? p->n_workers : 0,
		.locked_bytes =
			is_uring ? registered_bytes(p, pools_sum(p, lb_data_pool_bytes)) : 0};
	need->maps = (uint64_t)p->n_workers *
			     (MAPS_PER_THREAD + (is_uring || is_libaio ? MAPS_PER_QUEUE : 0)) +
		     MAPS_SPARE;
	/* in small pages: where memory is short there are no huge ones */
	need->memory_bytes = (has_buffers ? p->n_slots * p->slot_bytes : 0) +
			     pools_sum(p, lb_data_bytes) + p->n_hists * sizeof(struct lb_hist) +
			     p->n_slots * sizeof(struct lb_io) +
			     p->n_luns * sizeof(struct lb_lun_result) +
			     (uint64_t)p->n_workers * THREAD_BYTES + series_bytes(p);
	if (p->phases[0].streams[0].rate_milli_per_s)
		need->memory_bytes +=
			lb_responses_bytes(p->n_luns, p->n_lanes, p->n_hists, p->n_slots) +
			p->n_luns * sizeof(struct lb_hist);
}

/* ---- LUNs ---- */

/* What the plan does to one LUN. */
struct load {
	const struct lb_lun *lun;
	uint32_t qd;
	uint64_t io_bytes; /* of its largest transfer */
};

struct look {
	struct lb_findings *f;
	const struct lb_config *cfg;
	const struct lb_plan *plan;
	bool for_writing;
	struct load *loads; /* of plan->luns */
};

static void in_use(const struct look *k, int i, const struct load *l)
{
	if (l->lun->in_use[0])
		lb_findings_add(k->f, LB_DISTORTS, i, "in-use",
			"%.200s: what others do there is in the figures, and the load is theirs too",
			l->lun->in_use);
}

static void wwid_not_unique(const struct look *k, int i, const struct load *l)
{
	if (l->lun->wwid_not_unique)
		lb_findings_add(k->f, LB_DISTORTS, i, "wwid-not-unique",
			"a LUN of another size has the same WWID %.150s: they are taken for two, but one "
			"of them may be shown wrongly",
			l->lun->wwid);
}

/* A local NVMe disk that could have two ports mostly has one, as it should. */
static bool is_local(const struct lb_lun *lun)
{
	return !strcmp(lun->paths[0].transport, "pcie");
}

/* "sdd offline", "sde failed, though running". */
static size_t put_path(char *buf, size_t n, const struct lb_path *p)
{
	bool is_failed = !strcmp(p->dm_state, "failed");

	return (size_t)snprintf(buf, n, "%s %s%s%s", p->name, is_failed ? p->dm_state : p->state,
		is_failed && p->state[0] ? ", though " : "", is_failed ? p->state : "");
}

/* Paths that do not run, or only one; of a path: that it is no more than that. */
static void paths(const struct look *k, int i, const struct load *l)
{
	const struct lb_lun *lun = l->lun;
	char down[160] = "";
	size_t len = 0;

	if (lun->map[0])
		lb_findings_add(k->f, LB_DISTORTS, i, "single-path",
			"one path of the multipath map %.128s: give the map, for its rate and what is "
			"lost with a path",
			lun->map);
	for (uint32_t p = 0; p < lun->n_paths && p < LB_PATHS_MAX && len + 3 < sizeof(down); p++) {
		if (!lb_path_is_down(&lun->paths[p]))
			continue;
		len += (size_t)snprintf(down + len, sizeof(down) - len, "%s", len ? ", " : ": ");
		len += put_path(down + len, sizeof(down) - len, &lun->paths[p]);
	}
	if (len)
		lb_findings_add(k->f, LB_DISTORTS, i, "paths-down", "%u of %u paths are up%s",
			lun->n_paths_up, lun->n_paths, down);
	else if (lun->n_paths == 1 && !is_local(lun))
		lb_findings_add(k->f, LB_DISTORTS, i, "single-path",
			"%s one path only: its rate is that of one port, and nothing is left when it is "
			"lost",
			lun->dm_type[0] ? "the map has" : "there is");
}

static void scheduler_over_multipath(const struct look *k, int i, const struct load *l)
{
	const struct lb_lun *lun = l->lun;

	if (!strcmp(lun->dm_type, "mpath") && lun->scheduler[0] && strcmp(lun->scheduler, "none"))
		lb_findings_add(k->f, LB_DISTORTS, i, "scheduler",
			"scheduler %s over multipath: it delays what the array would order itself; none "
			"costs least (/sys/block/%s/queue/scheduler)",
			lun->scheduler, lun->kernel_name);
}

static void qd_above_device(const struct look *k, int i, const struct load *l)
{
	int64_t depth = l->lun->queue_depth, requests = l->lun->nr_requests;
	bool is_depth = depth > 0 && (requests <= 0 || depth <= requests);
	int64_t least = is_depth ? depth : requests;

	if (least > 0 && l->qd > (uint64_t)least)
		lb_findings_add(k->f, LB_DISTORTS, i, "qd-above-device",
			"qd %u is above the device's %s of %" PRIi64
			": the rest waits in the host, and the wait is in the latency",
			l->qd, is_depth ? "queue depth" : "nr_requests", least);
}

static void split_io(const struct look *k, int i, const struct load *l)
{
	char size[32], max[32];

	if (l->lun->max_io_bytes > 0 && l->io_bytes > (uint64_t)l->lun->max_io_bytes)
		lb_findings_add(k->f, LB_DISTORTS, i, "split-io",
			"the kernel splits each %s xfer: it takes at most %s at once",
			lb_format_size(size, sizeof(size), l->io_bytes),
			lb_format_size(max, sizeof(max), (uint64_t)l->lun->max_io_bytes));
}

static void partial_writes(const struct look *k, int i, const struct load *l)
{
	uint32_t physical = l->lun->physical_block;
	bool is_size = physical && l->io_bytes % physical;
	char what[32];

	if (!k->for_writing || !physical || (!is_size && !(l->lun->region_start % physical)))
		return;
	lb_findings_add(k->f, LB_DISTORTS, i, "partial-writes",
		"512e: %s %s is no multiple of the physical block of %u, so writes are partial and the "
		"device must read before it writes",
		is_size ? "--size" : "the region's start",
		lb_format_size(what, sizeof(what), is_size ? l->io_bytes : l->lun->region_start),
		physical);
}

static void uring_punts(const struct look *k, int i, const struct load *l)
{
	const struct lb_engine_ops *engine = k->plan->engine;

	if (k->cfg->engine != LB_ENGINE_AUTO && engine->caps & LB_CAP_NEEDS_NOWAIT &&
		!l->lun->has_nowait)
		lb_findings_add(k->f, LB_DISTORTS, i, "uring-punts",
			"no NOWAIT there: the kernel hands each %s I/O to a thread, which costs CPU "
			"and rate; libaio does not",
			engine->name);
}

static void host_cache(const struct look *k, int i, const struct load *l)
{
	if (l->lun->is_host_cached)
		lb_findings_add(k->f, LB_DISTORTS, i, "host-cache",
			"a loop device without direct I/O: its data lies in this host's memory too, and the "
			"figures may be memory's (losetup --direct-io=on)");
}

static void sizes_differ(const struct look *k)
{
	uint64_t least = UINT64_MAX, most = 0;
	char a[32], b[32];

	for (uint32_t i = 0; i < k->plan->n_luns; i++) {
		uint64_t size = k->plan->luns[i]->size_bytes;

		least = size < least ? size : least;
		most = size > most ? size : most;
	}
	if (least < most)
		lb_findings_add(k->f, LB_DISTORTS, LB_OF_RUN, "sizes-differ",
			"the LUNs are not of one size (%s to %s), as those of an ASM disk group should "
			"be",
			lb_format_size(a, sizeof(a), least), lb_format_size(b, sizeof(b), most));
}

/* Files have no sectors of their own. */
static void blocks_differ(const struct look *k)
{
	const struct lb_lun *first = NULL;

	for (uint32_t i = 0; i < k->plan->n_luns; i++) {
		const struct lb_lun *lun = k->plan->luns[i];

		if (lun->kind != LB_LUN_BLOCK)
			continue;
		if (!first)
			first = lun;
		if (lun->logical_block == first->logical_block &&
			lun->physical_block == first->physical_block)
			continue;
		lb_findings_add(k->f, LB_DISTORTS, LB_OF_RUN, "blocks-differ",
			"the LUNs are not of one sector size: %.60s has blocks of %u (physical %u), "
			"%.60s of %u (physical %u); an ASM disk group takes one only",
			first->name, first->logical_block, first->physical_block, lun->name,
			lun->logical_block, lun->physical_block);
		return;
	}
}

static struct load *loads_of(const struct lb_plan *p)
{
	struct load *loads = calloc(p->n_luns + 1, sizeof(*loads));

	for (uint32_t i = 0; loads && i < p->n_luns; i++)
		loads[i].lun = p->luns[i];
	for (uint32_t l = 0; loads && l < p->n_lanes; l++) {
		struct load *load = &loads[p->lanes[l].lun];
		uint64_t size = p->phases[0].streams[p->lanes[l].stream].size_bytes;

		load->qd += p->lanes[l].qd;
		load->io_bytes = size > load->io_bytes ? size : load->io_bytes;
	}
	return loads;
}

int lb_preflight_luns(struct lb_findings *f, const struct lb_config *cfg,
	const struct lb_plan *plan, bool for_writing)
{
	static void (*const of_lun[])(const struct look *, int, const struct load *) = {
		wwid_not_unique, in_use, paths, scheduler_over_multipath, qd_above_device, split_io,
		partial_writes, uring_punts, host_cache};
	struct look k = {.f = f,
		.cfg = cfg,
		.plan = plan,
		.for_writing = for_writing,
		.loads = loads_of(plan)};

	if (!k.loads)
		return -ENOMEM;
	for (size_t n = 0; n < sizeof(of_lun) / sizeof(of_lun[0]); n++)
		for (uint32_t i = 0; i < plan->n_luns; i++)
			of_lun[n](&k, (int)i, &k.loads[i]);
	sizes_differ(&k);
	blocks_differ(&k);
	free(k.loads);
	return 0;
}

/* ---- all of it ---- */

int lb_preflight(struct lb_findings *f, const struct lb_config *cfg, const struct lb_plan *plan,
	bool for_writing, struct lb_err *err)
{
	struct lb_limits have;
	struct lb_need need;
	size_t len = 0;

	lb_need_of(&need, plan);
	if (cfg->command != LB_CMD_CHECK)
		need.locked_bytes = 0; /* the engine tries, and says so itself */
	lb_limits_gather(&have, "");
	lb_preflight_limits(f, &need, &have);
	if (lb_preflight_luns(f, cfg, plan, for_writing))
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < f->n; i++) {
		if (f->at[i].gravity != LB_STOPS)
			continue;
		err->status = LB_ST_UNAVAILABLE;
		if (len < sizeof(err->text))
			len += (size_t)snprintf(err->text + len, sizeof(err->text) - len, "%s%s",
				len ? "; " : "", f->at[i].text);
	}
	return len ? -EAGAIN : 0;
}
