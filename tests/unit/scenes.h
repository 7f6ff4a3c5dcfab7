/* Whole runs, made by hand, of every kind that a report must tell of. */
#ifndef LB_TEST_SCENES_H
#define LB_TEST_SCENES_H

#include <errno.h>
#include <signal.h>

#include "made.h"

/* Below N; Knuth's MMIX generator: goldens must not change with lunbench's own. */
static inline uint64_t scene_below(uint64_t *x, uint64_t n)
{
	*x = *x * 6364136223846793005u + 1442695040888963407u;
	return (*x >> 33) % n;
}

/* Latencies as a disk array has them: most around MEDIAN_NS, a tail of some milliseconds. */
static inline void scene_load(struct made *m, uint32_t lun, uint64_t xfers, uint64_t median_ns)
{
	uint64_t x = lun;

	for (uint64_t left = xfers, n; left; left -= n) {
		uint64_t lat = median_ns / 2 + scene_below(&x, median_ns);

		if (scene_below(&x, 20) == 0)
			lat = median_ns * (2 + scene_below(&x, 10));
		n = left > 200 ? left / 100 : 1;
		made_xfers(m, lun, n, lat);
	}
}

static inline void scene_usage(struct made *m, double user_s, double sys_s)
{
	struct lb_board *b = &m->board;

	b->has_usage = 2;
	b->usage_open_ns = b->window.open_ns;
	b->usage_close_ns = b->window.close_ns;
	b->usage_close.ru_utime.tv_sec = (time_t)user_s;
	b->usage_close.ru_utime.tv_usec = (suseconds_t)((user_s - (double)(time_t)user_s) * 1e6);
	b->usage_close.ru_stime.tv_sec = (time_t)sys_s;
	b->usage_close.ru_stime.tv_usec = (suseconds_t)((sys_s - (double)(time_t)sys_s) * 1e6);
	for (uint32_t i = 0; i < m->plan.n_workers; i++) {
		b->workers[i].cpu_open_ns = SEC;
		b->workers[i].cpu_close_ns =
			SEC + (uint64_t)((user_s + sys_s) / m->plan.n_workers * 1e9);
		b->workers[i].cpu_close_at_ns = b->window.close_ns;
	}
}

/* The command line that M's run may have had, with two more options. */
static inline void scene_options(struct made *m, const char *a, const char *b)
{
	static char words[5][32];
	char *argv[] = {words[0], words[1], words[2], words[3], words[4], m->names[0], NULL};
	cpu_set_t cpus = m->cfg.cpus;
	struct lb_err err;
	int rc;

	snprintf(words[0], sizeof(words[0]), "lunbench");
	snprintf(words[1], sizeof(words[1]), "--size=16k");
	snprintf(words[2], sizeof(words[2]), "--qd=%u", m->stream.qd);
	snprintf(words[3], sizeof(words[3]), "%s", a);
	snprintf(words[4], sizeof(words[4]), "%s", b);
	memset(&m->cfg, 0, sizeof(m->cfg));
	rc = lb_config_parse(&m->cfg, 6, argv, &err);
	assert(rc == 0);
	(void)rc;
	m->cfg.cpus = cpus;
}

/* The run that iot's sample shows. */
static inline struct made *scene_four(void)
{
	static const uint64_t xfers[] = {49632, 49928, 49743, 50000};
	struct made *m = made_new(4, 2, 64);

	scene_options(m, "--count=50000", "--region=0-10%");
	m->phase.count = 50000;
	m->phase.time_ns = 0;
	m->board.window.close_ns = MADE_OPEN_NS + 33440 * MS;
	m->board.window.closed_early = 1;
	m->outcome.end_ns = m->board.window.close_ns + 5 * MS;
	snprintf(m->plan.engine_why, sizeof(m->plan.engine_why),
		"dm-0 has no NOWAIT, there io_uring needs a kernel thread for each xfer");
	for (uint32_t i = 0; i < 4; i++)
		scene_load(m, i, xfers[i], 5 * MS + i * MS / 7);
	scene_usage(m, 0.61, 2.89);
	return m;
}

static inline struct made *scene_one(void)
{
	struct made *m = made_new(1, 1, 1);

	m->cfg.hist = LB_HIST_TOTAL;
	m->board.luns[0].name = "lun.img";
	m->board.luns[0].kind = LB_LUN_FILE;
	m->board.luns[0].size_bytes = 500107862016;
	m->board.luns[0].vendor[0] = m->board.luns[0].model[0] = '\0';
	scene_load(m, 0, 123456, 80000);
	lb_board_cell(&m->board, 0, LB_READ)->late = 1; /* as in every run */
	lb_board_cell(&m->board, 0, LB_READ)->late_max_ns = 90000;
	scene_usage(m, 0.11, 0.49);
	return m;
}

/* One of them slow, one larger, names that differ in their middle, some never written. */
static inline struct made *scene_sixty_four(void)
{
	struct made *m = made_new(64, 2, 32);

	for (uint32_t i = 0; i < 64; i++) {
		struct lb_lun *lun = &m->board.luns[i];
		struct lb_cell *cell = lb_board_cell(&m->board, i, LB_READ);

		snprintf(m->names[i], sizeof(m->names[i]),
			"/dev/disk/by-id/dm-uuid-mpath-360002ac%020x0001f3a4", i * 7919);
		snprintf(lun->vendor, sizeof(lun->vendor), "PURE");
		snprintf(lun->model, sizeof(lun->model), "FlashArray");
		lun->queue_depth = 16;
		cell->samples = 100;
		cell->zero_samples = i % 10 == 3 ? 100 : 1;
		scene_load(m, i, i == 17 ? 2000 : 90000 + i * 31, i == 17 ? 9 * MS : 300000);
	}
	m->board.luns[40].size_bytes = 200ull << 30;
	scene_usage(m, 8.2, 11.2);
	return m;
}

static inline struct made *scene_errors(void)
{
	struct made *m = made_new(3, 1, 16);

	for (uint32_t i = 0; i < 3; i++)
		scene_load(m, i, 20000, 700000);
	made_errors(m, 1, -EIO, 12, (struct lb_fault_at){MADE_OPEN_NS - SEC / 4, 53687091200});
	made_errors(m, 1, -EIO, 3000, (struct lb_fault_at){MADE_OPEN_NS + SEC / 4, 4096});
	made_errors(m, 1, -EBADE, 2, (struct lb_fault_at){MADE_OPEN_NS + 7 * SEC, 0});
	made_errors(m, 2, 1536, 1, (struct lb_fault_at){MADE_OPEN_NS + 3210 * MS, 107374178304});
	return m;
}

/* One LUN is gone after 4 s, another was before it was measured. */
static inline struct made *scene_lost(void)
{
	struct made *m = made_new(4, 1, 16);

	scene_load(m, 0, 20000, 700000);
	scene_load(m, 1, 8000, 700000);
	scene_load(m, 3, 21000, 700000);
	made_errors(m, 1, -ENODEV, 16, (struct lb_fault_at){MADE_OPEN_NS + 4 * SEC, 1 << 20});
	made_errors(m, 2, -EIO, 100, (struct lb_fault_at){MADE_OPEN_NS - SEC / 4, 0});
	lb_lun_retire(&m->board, 1, MADE_OPEN_NS + 4 * SEC, "ENODEV, device gone");
	lb_lun_retire(&m->board, 2, MADE_OPEN_NS - SEC / 10,
		"100 errors in a row, the last EIO, I/O error");
	return m;
}

/* The first I/O error ended the run, as --on-error stop asks. */
static inline struct made *scene_stopped(void)
{
	struct made *m = made_new(2, 1, 16);

	scene_load(m, 0, 6000, 700000);
	scene_load(m, 1, 6100, 700000);
	m->board.window.close_ns = MADE_OPEN_NS + 3204 * MS;
	m->board.window.closed_early = m->board.window.failed = 1;
	m->outcome.end_ns = MADE_OPEN_NS + 3205 * MS;
	made_errors(m, 1, -EREMOTEIO, 1, (struct lb_fault_at){MADE_OPEN_NS + 3203 * MS, 1 << 20});
	return m;
}

/* The last LUN hangs after 3 s of the window, and never answers. */
static inline struct made *scene_stalled(void)
{
	struct made *m = made_new(3, 1, 4);
	struct lb_cell *a = lb_board_cell(&m->board, 0, LB_READ);

	scene_load(m, 0, 20000, 700000);
	scene_load(m, 1, 20100, 700000);
	scene_load(m, 2, 6000, 700000);
	a->late = 2;
	a->late_max_ns = 1234567890;
	m->outcome.end_ns = MADE_OPEN_NS + 70 * SEC;
	made_outstanding(m, 2, 4, 67 * SEC);
	m->outcome.timed_out = true;
	m->board.stage = LB_STAGE_RUNNING;
	return m;
}

/* Times from the window's opening; TO_NS LB_NEVER: it lasts. */
static inline void scene_event(struct made *m, struct lb_event ev, uint64_t from_ns, uint64_t to_ns)
{
	ev.begin_ns = MADE_OPEN_NS + from_ns;
	ev.end_ns = to_ns == LB_NEVER ? LB_NEVER : MADE_OPEN_NS + to_ns;
	lb_event_add(&m->board.events, &ev);
}

static inline void scene_moment(struct made *m, struct lb_event ev, uint64_t at_ns)
{
	scene_event(m, ev, at_ns, at_ns);
}

/* LUN was silent from FROM_NS to TO_NS. */
static inline void scene_stall(struct made *m, int lun, uint64_t from_ns, uint64_t to_ns)
{
	struct lb_lun_state *state = &m->board.lun_states[lun];
	struct lb_event ev = {.kind = LB_EV_STALL, .lun = lun, .n = m->stream.qd};

	scene_event(m, ev, from_ns, to_ns);
	state->n_stalls++;
	state->stalled_ns += to_ns - from_ns;
	if (to_ns - from_ns > state->longest_ns) {
		state->longest_ns = to_ns - from_ns;
		state->longest_end_ns = MADE_OPEN_NS + to_ns;
	}
}

/* A cable is pulled, and all that can befall a LUN does: each kind of event. */
static inline struct made *scene_events(void)
{
	struct made *m = made_new(3, 1, 64);

	m->board.window.close_ns = MADE_OPEN_NS + 60 * SEC;
	m->outcome.end_ns = MADE_OPEN_NS + 61 * SEC;
	for (uint32_t i = 0; i < 3; i++)
		scene_load(m, i, 20000, 700000);
	scene_moment(m,
		(struct lb_event){.kind = LB_EV_PATH,
			.lun = 0,
			.what = "sdc",
			.from = "running",
			.to = "offline"},
		12 * SEC);
	scene_moment(m, (struct lb_event){.kind = LB_EV_PATHS, .lun = 0, .n = 2, .m = 1}, 12 * SEC);
	scene_stall(m, 0, 12100 * MS, 19400 * MS);
	scene_stall(m, 0, 40 * SEC, 46 * SEC);
	scene_event(m, (struct lb_event){.kind = LB_EV_ERRORS, .lun = 1, .n = 123}, 13 * SEC,
		15250 * MS);
	scene_event(m, (struct lb_event){.kind = LB_EV_SUSPENDED, .lun = 1}, 20 * SEC, LB_NEVER);
	scene_moment(m,
		(struct lb_event){
			.kind = LB_EV_LOST, .lun = 2, .what = "the device is gone \x1b (ENODEV)"},
		50 * SEC);
	scene_moment(m,
		(struct lb_event){.kind = LB_EV_SIZE, .lun = 2, .n = 107374182400, .m = 1073741824},
		49 * SEC);
	scene_event(m,
		(struct lb_event){.kind = LB_EV_HELD,
			.lun = 1,
			.n = 1,
			.what = "with it waited /dev/mapper/mpath0"},
		30 * SEC, 34500 * MS);
	m->board.events.at[m->board.events.n] = (struct lb_event){0}; /* handed out, not there */
	m->board.events.n++;
	lb_event_add(&m->board.events, &(struct lb_event){.kind = LB_EV_PATH,
					       .lun = 2,
					       .begin_ns = MADE_OPEN_NS - 300 * MS,
					       .end_ns = MADE_OPEN_NS - 300 * MS,
					       .from = "running",
					       .to = "blocked"});
	scene_moment(m, (struct lb_event){.kind = LB_EV_STEADY, .lun = LB_EVENT_OF_RUN}, 55 * SEC);
	m->board.events.dropped = 7;
	return m;
}

/* A switch restarts: each LUN stalls, none quite when the others do, and then paths flap. */
static inline struct made *scene_all_stall(void)
{
	struct lb_event ev = {.kind = LB_EV_PATH, .what = "sdc", .from = "blocked"};
	struct made *m = made_new(12, 1, 8);

	m->board.window.close_ns = MADE_OPEN_NS + 60 * SEC;
	m->outcome.end_ns = MADE_OPEN_NS + 61 * SEC;
	for (int i = 0; i < 12; i++) {
		uint64_t late_ns = (uint64_t)i * 10 * MS;

		scene_load(m, (uint32_t)i, 20000, 700000);
		scene_stall(m, i, 10 * SEC + late_ns, 17 * SEC + 2 * late_ns);
		ev.lun = i;
		strcpy(ev.to, "offline");
		scene_moment(m, ev, (20 + 3 * (uint64_t)i) * SEC + late_ns);
		strcpy(ev.to, "running");
		scene_moment(m, ev, (20 + 3 * (uint64_t)i) * SEC + 1500 * MS + late_ns);
	}
	return m;
}

static inline struct made *scene_nothing(void)
{
	struct made *m = made_new(2, 1, 2);

	m->outcome.end_ns = MADE_OPEN_NS + 70 * SEC;
	made_outstanding(m, 0, 2, 70 * SEC);
	made_outstanding(m, 1, 2, 70 * SEC);
	m->outcome.timed_out = true;
	m->board.stage = LB_STAGE_RUNNING;
	return m;
}

/* All that may be known of a LUN. */
static inline void scene_identity(struct lb_lun *lun)
{
	snprintf(lun->wwid, sizeof(lun->wwid), "360002ac0000000000000002300007d1a");
	snprintf(lun->dm_name, sizeof(lun->dm_name), "mpath0");
	snprintf(lun->dm_uuid, sizeof(lun->dm_uuid), "mpath-%.100s", lun->wwid);
	snprintf(lun->dm_type, sizeof(lun->dm_type), "mpath");
	snprintf(lun->write_cache, sizeof(lun->write_cache), "write back");
	lun->optimal_io_bytes = 16384;
	lun->read_only = 0;
	lun->n_paths = 2;
	lun->paths[0] = (struct lb_path){.name = "sda",
		.hctl = "2:0:0:1",
		.state = "running",
		.dm_state = "active",
		.queue_depth = 64};
	lun->paths[1] = (struct lb_path){.name = "sdb", .queue_depth = LB_LUN_UNKNOWN};
	lun->held_by = (struct lb_names){2, {"mpath0p1", "mounted on /u01"}};
	lun->lies_on = (struct lb_names){2, {"sda", "sdb"}};
}

static inline struct made *scene_signal(void)
{
	struct made *m = made_new(2, 2, 8);

	scene_identity(&m->board.luns[0]);
	m->cfg.hist = LB_HIST_EACH;
	scene_load(m, 0, 64, 3 * MS);
	scene_load(m, 1, 9, 3 * MS);
	m->outcome.signal = SIGINT;
	m->board.window.close_ns = MADE_OPEN_NS + 3204 * MS;
	m->board.window.closed_early = 1;
	m->outcome.end_ns = MADE_OPEN_NS + 3220 * MS;
	return m;
}

static inline struct made *scene_no_window(void)
{
	struct made *m = made_new(2, 2, 8);

	m->outcome.signal = SIGTERM;
	m->board.window.open_ns = LB_NEVER;
	m->board.window.close_ns = MADE_OPEN_NS - SEC / 3;
	m->outcome.end_ns = MADE_OPEN_NS;
	return m;
}

static inline struct made *scene_died(void)
{
	struct made *m = made_new(2, 2, 8);

	scene_load(m, 0, 6400, 3 * MS);
	scene_load(m, 1, 6400, 3 * MS);
	m->board.stage = LB_STAGE_RUNNING;
	m->outcome.child_died = true;
	m->outcome.child_status = SIGKILL;
	m->outcome.end_ns = MADE_OPEN_NS + 4 * SEC;
	return m;
}

static inline struct made *scene_stall_of_count(void)
{
	struct made *m = made_new(2, 2, 8);

	m->cfg.drain_ns = 60 * SEC;
	m->phase.count = m->cfg.count = 50000;
	m->phase.time_ns = 0;
	scene_load(m, 0, 6400, 3 * MS);
	scene_load(m, 1, 6000, 3 * MS);
	m->stream.pat.kind = LB_SEQ;
	m->board.workers[0].engine =
		(struct lb_engine_stats){.submit_ns = 12345, .submit_calls = 7};
	m->board.lun_states[0].has_kernel_stat = 2;
	m->board.lun_states[0].kernel_after =
		(struct lb_kernel_stat){.read_ios = 6400, .read_sectors = 6400 * 32};
	snprintf(m->board.workers[1].note.text, sizeof(m->board.workers[1].note.text),
		"no registered files: \xe9");
	m->board.window.close_ns = MADE_OPEN_NS + 93 * SEC;
	m->board.window.closed_early = 1;
	m->outcome.stalled = true;
	m->outcome.timed_out = true;
	m->outcome.end_ns = MADE_OPEN_NS + 153 * SEC;
	made_outstanding(m, 0, 8, 120 * SEC);
	made_outstanding(m, 1, 8, 121 * SEC);
	return m;
}

/* Figures at the ends of what can be shown: columns still line up, nothing reads as 0. */
static inline struct made *scene_extremes(void)
{
	struct made *m = made_new(3, 1, 4096);

	m->stream.size_bytes = m->stream.sizes.bytes[0] = 64 << 20;
	m->stream.pat = (struct lb_pat){.kind = LB_ZIPF, .theta_e4 = 9900};
	m->cfg.hist = LB_HIST_TOTAL;
	m->board.luns[0].size_bytes = 20ull << 40;
	m->board.luns[1].name = "tab\there";
	snprintf(m->board.luns[1].vendor, sizeof(m->board.luns[1].vendor), "\x1b[31mred");
	m->board.luns[1].model[0] = '\0';
	made_xfers(m, 0, 123456789012345, 812);
	made_xfers(m, 0, 1, 3000 * SEC);
	made_xfers(m, 0, 1, 17);
	made_xfers(m, 1, 1, 1800 * SEC);
	m->board.window.close_ns = MADE_OPEN_NS + 86400 * SEC;
	m->outcome.end_ns = MADE_OPEN_NS + 86401 * SEC;
	return m;
}

/* A million xfers on a clock of its own, each exactly 5 ms. */
/* Nothing is lost, but a LUN's last answers took longer than all before them. */
static inline struct made *scene_late(void)
{
	struct made *m = made_new(2, 1, 16);

	m->stream.think_ns = 15 * MS;
	m->stream.pat = (struct lb_pat){LB_HOT, .hot_ppm = 200000, .hot_xfers_ppm = 805000};
	scene_load(m, 0, 20000, 700000);
	scene_load(m, 1, 20000, 700000);
	lb_board_cell(&m->board, 1, LB_READ)->late = 3;
	lb_board_cell(&m->board, 1, LB_READ)->late_max_ns = 1500 * MS;
	scene_usage(m, 0.1, 0.9);
	m->board.host_open = (struct lb_host_cpu){.busy = 10, .all = 1000};
	m->board.host_close = (struct lb_host_cpu){.busy = 510, .all = 3000};
	return m;
}

static inline struct made *scene_virtual(void)
{
	struct made *m = made_new(1, 1, 500);

	m->plan.is_virtual = true;
	m->board.virtual_end_ns = m->outcome.end_ns;
	made_xfers(m, 0, 1000000, 5 * MS);
	return m;
}

static inline struct made *scene_unplanned(enum lb_stage stage)
{
	struct made *m = made_new(3, 1, 8);

	m->board.stage = stage;
	m->board.plan = NULL;
	for (uint32_t i = 0; i < 3; i++)
		m->board.luns[i].fate = LB_FATE_PENDING;
	return m;
}

static inline struct made *scene_refused(void)
{
	struct made *m = scene_unplanned(LB_STAGE_REFUSED);
	struct lb_lun *luns = m->board.luns;

	luns[0].fate = LB_FATE_USED;
	luns[1].fate = LB_FATE_REFUSED;
	luns[1].refusal = LB_ST_UNAVAILABLE;
	luns[1].name = "/dev/mapper/\xff\"\\\x01";
	snprintf(luns[1].why, sizeof(luns[1].why), "no such device: \xc3\x28");
	luns[2].fate = LB_FATE_PASSED_OVER;
	snprintf(luns[2].why, sizeof(luns[2].why), "a character device");
	return m;
}

static inline struct made *scene_mixed(void)
{
	struct made *m = made_new(2, 1, 8);

	m->stream.read_pct = 70;
	m->stream.is_dsync = true;
	for (uint32_t i = 0; i < 2; i++) {
		made_op_xfers(m, i, LB_READ, 7000 + i, 400000);
		made_op_xfers(m, i, LB_WRITE, 3000 - i, 1500000);
	}
	return m;
}

/* A mixed run with its time series; the second LUN is silent for a while. */
static inline struct made *scene_series(void)
{
	struct made *m = made_new(2, 1, 8);

	m->stream.read_pct = 70;
	made_series(m, SEC);
	for (uint32_t i = 0; i < 10; i++) {
		made_op_xfers(m, 0, LB_READ, 700 + i, 400000);
		made_op_xfers(m, 0, LB_WRITE, 50 + i, 1500000);
		if (i < 3 || i > 4) {
			made_op_xfers(m, 1, LB_READ, 700, 500000);
			m->board.lun_states[1].last_ns = MADE_OPEN_NS + (i + 1) * SEC;
		}
		m->board.ios[8].issue_ns = i < 9 ? 1 : 0;
		if (i < 9)
			made_point(m, (i + 1) * SEC + (i == 4) * 3 * MS);
	}
	lb_sampler_finish(m->sampler, MADE_OPEN_NS + 10 * SEC);
	return m;
}

/* Two hours of writes, whose rate falls to less than half in the second. */
static inline struct made *scene_cliff(void)
{
	struct made *m = made_new(1, 1, 8);

	m->stream.read_pct = 0;
	m->phase.time_ns = 7200 * SEC;
	made_series(m, SEC);
	for (uint32_t i = 0; i < 7200; i++) {
		made_op_xfers(m, 0, LB_WRITE, i < 3600 ? 1000 : 430 - (i == 5000), 400000);
		if (i < 7199)
			made_point(m, (i + 1) * SEC);
	}
	m->board.window.close_ns = MADE_OPEN_NS + 7200 * SEC;
	m->outcome.end_ns = m->board.window.close_ns;
	lb_sampler_finish(m->sampler, m->board.window.close_ns);
	return m;
}

/* 2000/s on each of two LUNs: one keeps it, the other stalls at the end and leaves a backlog. */
static inline struct made *scene_open(void)
{
	struct made *m = made_new(2, 1, 8);

	made_open(m, 4000000, LB_ARRIVAL_FIXED, LB_CATCH_UP_QD);
	made_series(m, SEC);
	for (uint32_t i = 0; i < 2; i++) {
		made_responses(m, i, 15000, 700000, 0);
		made_responses(m, i, 1000, 900000, 3 * MS);
	}
	made_due(m, 0, 16000);
	made_due(m, 1, 16008);
	made_point(m, 8 * SEC);
	made_responses(m, 0, 4000, 800000, 20000);
	made_due(m, 0, 4000);
	made_outstanding(m, 1, 8, 4 * SEC);
	for (uint32_t i = 8; i < 16; i++)
		m->board.dues[i] = m->outcome.end_ns - 4 * SEC;
	lb_sampler_finish(m->sampler, MADE_OPEN_NS + 10 * SEC);
	m->outcome.timed_out = true;
	m->board.stage = LB_STAGE_RUNNING;
	return m;
}

/* The same without catching up: a mix, by chance, of which some was skipped. */
static inline struct made *scene_open_missed(void)
{
	struct made *m = made_new(1, 1, 8);

	m->stream.read_pct = 70;
	made_open(m, 100000, LB_ARRIVAL_POISSON, LB_CATCH_UP_NONE);
	made_responses(m, 0, 500, 2 * MS, 10000);
	m->board.paces[0].missed = 480;
	m->board.paces[0].n_free = 1;
	made_due(m, 0, 1 << 20);
	return m;
}

/* Ten windows of a minute, of which the last five are alike. */
static inline struct made *scene_steady(void)
{
	struct made *m = made_new(1, 1, 8);
	struct lb_steady_gauge gauge;

	m->phase.time_ns = 86400 * SEC;
	m->phase.steady_ns = 60 * SEC;
	m->phase.steady_on = LB_STEADY_P99;
	made_series(m, 60 * SEC);
	lb_steady_begin(&gauge, LB_STEADY_P99, 60 * SEC, MADE_OPEN_NS);
	for (uint32_t i = 0; !m->board.steady.is_reached; i++) {
		made_xfers(m, 0, 60000, i < 5 ? (10 - i) * MS : (50 + i % 2) * MS / 10);
		lb_sampler_take(m->sampler, MADE_OPEN_NS + (i + 1) * 60 * SEC);
		m->board.steady.is_reached = lb_steady_add(
			&gauge, &m->board.steady, lb_sampler_last(m->sampler, &(uint32_t){0}));
		lb_sampler_keep(m->sampler);
	}
	m->board.window.close_ns = m->board.steady.end_ns[4];
	m->board.window.closed_early = 1;
	m->outcome.end_ns = m->board.window.close_ns;
	lb_sampler_finish(m->sampler, m->board.window.close_ns);
	return m;
}

static inline struct made *scene_refused_run(void)
{
	struct made *m = scene_unplanned(LB_STAGE_REFUSED);

	lb_fail(&m->board.err, LB_ST_UNAVAILABLE, ENOMEM, "needs 81920 aio slots");
	return m;
}

static inline struct made *scene_no_answer(void)
{
	struct made *m = scene_unplanned(LB_STAGE_OPENING);

	snprintf(m->outcome.no_answer, sizeof(m->outcome.no_answer),
		"/dev/mapper/mpath1: no answer for 5 s");
	return m;
}

static const struct {
	const char *name;
	struct made *(*make)(void);
} scenes[] = {
	{"four", scene_four},
	{"mixed", scene_mixed},
	{"one", scene_one},
	{"sixty_four", scene_sixty_four},
	{"errors", scene_errors},
	{"lost", scene_lost},
	{"stopped", scene_stopped},
	{"stalled", scene_stalled},
	{"events", scene_events},
	{"all_stall", scene_all_stall},
	{"nothing", scene_nothing},
	{"signal", scene_signal},
	{"no_window", scene_no_window},
	{"died", scene_died},
	{"stall_of_count", scene_stall_of_count},
	{"extremes", scene_extremes},
	{"virtual", scene_virtual},
	{"late", scene_late},
	{"series", scene_series},
	{"cliff", scene_cliff},
	{"open", scene_open},
	{"open_missed", scene_open_missed},
	{"steady", scene_steady},
	{"refused", scene_refused},
	{"refused_run", scene_refused_run},
	{"no_answer", scene_no_answer},
};
#define N_SCENES (sizeof(scenes) / sizeof(scenes[0]))

/* Scene I with its result made, the same on every host. */
static inline struct made *scene(size_t i)
{
	struct made *m = scenes[i].make();

	made_result(m);
	snprintf(m->r.host, sizeof(m->r.host), "dbhost1");
	snprintf(m->r.kernel, sizeof(m->r.kernel), "6.1.0-18-amd64");
	snprintf(m->r.version, sizeof(m->r.version), "0.0.0");
	return m;
}

#endif
