#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "data.h"
#include "made.h"
#include "preflight.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

static struct lb_finding rows[64];

static struct lb_limits no_limits(void)
{
	const struct lb_limit none = {LB_UNLIMITED, 0};

	return (struct lb_limits){.aio = none,
		.files = none,
		.locked = none,
		.user_tasks = none,
		.pids = none,
		.tasks = none,
		.group_tasks = none,
		.maps = none,
		.memory = none,
		.group_memory = none,
		.group_tasks_path = "/user.slice",
		.group_memory_path = "/user.slice/a"};
}

/* How many rows there are. */
static uint32_t judge(const struct lb_need *need, const struct lb_limits *have)
{
	struct lb_findings f = {.at = rows, .room = 64};

	lb_preflight_limits(&f, need, have);
	return f.n;
}

/* Exactly one row, as given. */
static void expect(const struct lb_need *need, const struct lb_limits *have,
	enum lb_gravity gravity, const char *code, const char *text)
{
	assert_int_equal(judge(need, have), 1);
	assert_int_equal(rows[0].gravity, gravity);
	assert_int_equal(rows[0].lun, LB_OF_RUN);
	assert_string_equal(rows[0].code, code);
	assert_string_equal(rows[0].text, text);
}

static void what_is_not_needed_or_not_limited_is_not_told(void **state)
{
	struct lb_need need = {.aio_slots = 1000000,
		.threads = 1000000,
		.files = 1000000,
		.maps = 1000000,
		.memory_bytes = 1ull << 50,
		.locked_bytes = 1ull << 50};
	struct lb_limits have = no_limits();

	(void)state;
	assert_int_equal(judge(&need, &have), 0);
	have = (struct lb_limits){0}; /* of everything nothing is left */
	need = (struct lb_need){0};
	assert_int_equal(judge(&need, &have), 0);
}

static void aio_slots(void **state)
{
	struct lb_need need = {.aio_slots = 81920};
	struct lb_limits have = no_limits();

	(void)state;
	have.aio = (struct lb_limit){65536, 65000};
	expect(&need, &have, LB_STOPS, "aio-slots",
		"the run needs 81920 aio slots, and fs.aio-max-nr leaves 536 (65000 of 65536 in use): raise "
		"it (sysctl -w fs.aio-max-nr=146920), or take a smaller --qd, or --engine io_uring");
	need.aio_slots = 537;
	assert_int_equal(judge(&need, &have), 1);
	assert_int_equal(rows[0].gravity, LB_STOPS);
	need.aio_slots = 536;
	expect(&need, &have, LB_FINE, "aio-slots", "536 of 536 aio slots by fs.aio-max-nr");
	/* lowered below what is in use */
	have.aio.max = 1000;
	need.aio_slots = 1;
	assert_int_equal(judge(&need, &have), 1);
	assert_non_null(strstr(rows[0].text, " leaves 0 (65000 of 1000 in use): "));
	assert_non_null(strstr(rows[0].text, "fs.aio-max-nr=65001)"));
}

static void open_files(void **state)
{
	struct lb_need need = {.files = 100};
	struct lb_limits have = no_limits();

	(void)state;
	have.files = (struct lb_limit){1024, 925};
	expect(&need, &have, LB_STOPS, "open-files",
		"the run needs 100 more open files, and the hard limit (ulimit -Hn) leaves 99 (925 of 1024 "
		"in use): raise it (ulimit -n 1025), or take fewer --workers");
	need.files = 99;
	expect(&need, &have, LB_FINE, "open-files",
		"99 of 99 more open files by the hard limit (ulimit -Hn)");
}

static void threads(void **state)
{
	struct lb_need need = {.threads = 4096};
	struct lb_limits have = no_limits();

	(void)state;
	have.user_tasks = (struct lb_limit){1024, 10};
	expect(&need, &have, LB_STOPS, "user-threads",
		"the run needs 4096 threads, and ulimit -u leaves 1014 (10 of 1024 in use): raise it (ulimit "
		"-u 4106), or take a smaller --qd (engine sync) or fewer --workers");
	have = no_limits();
	have.pids = (struct lb_limit){4200, 105};
	expect(&need, &have, LB_STOPS, "pid-max",
		"the run needs 4096 threads, and kernel.pid_max leaves 4095 (105 of 4200 in use): raise it "
		"(sysctl -w kernel.pid_max=4201), or take a smaller --qd (engine sync) or fewer --workers");
	have.pids.used = 104;
	expect(&need, &have, LB_FINE, "pid-max", "4096 of 4096 threads by kernel.pid_max");
	have = no_limits();
	have.tasks = (struct lb_limit){4000, 200};
	expect(&need, &have, LB_STOPS, "threads-max",
		"the run needs 4096 threads, and kernel.threads-max leaves 3800 (200 of 4000 in use): raise "
		"it (sysctl -w kernel.threads-max=4296), or take a smaller --qd (engine sync) or fewer "
		"--workers");
	have = no_limits();
	have.group_tasks = (struct lb_limit){512, 12};
	expect(&need, &have, LB_STOPS, "cgroup-pids",
		"the run needs 4096 threads, and pids.max of cgroup /user.slice leaves 500 (12 of 512 in "
		"use): raise it (systemd: TasksMax=4108), or take a smaller --qd (engine sync) or fewer "
		"--workers");
}

static void memory_maps(void **state)
{
	struct lb_need need = {.maps = 65531};
	struct lb_limits have = no_limits();

	(void)state;
	have.maps = (struct lb_limit){65530, 40};
	expect(&need, &have, LB_STOPS, "memory-maps",
		"the run needs 65531 memory maps, and vm.max_map_count leaves 65490 (40 of 65530 in use): "
		"raise it (sysctl -w vm.max_map_count=65571), or take a smaller --qd (engine sync) or fewer "
		"--workers");
}

static void memory(void **state)
{
	struct lb_need need = {.memory_bytes = 64 * GIB + 1};
	struct lb_limits have = no_limits();

	(void)state;
	have.memory = (struct lb_limit){24 * GIB, GIB + 1};
	expect(&need, &have, LB_STOPS, "memory",
		"the run needs 65537M memory for buffers and figures, and this host leaves 23551M (1025M of "
		"24G in use): take a smaller --qd or --size, or fewer LUNs");
	need.memory_bytes = 23 * GIB;
	assert_int_equal(judge(&need, &have), 1);
	assert_int_equal(rows[0].gravity, LB_STOPS);
	need.memory_bytes--;
	expect(&need, &have, LB_FINE, "memory",
		"23G of 23551M memory for buffers and figures by this host");
	have = no_limits();
	need.memory_bytes = 300 * MIB;
	have.group_memory = (struct lb_limit){256 * MIB, 6 * MIB};
	expect(&need, &have, LB_STOPS, "cgroup-memory",
		"the run needs 300M memory for buffers and figures, and the memory limit of cgroup "
		"/user.slice/a leaves 250M (6M of 256M in use): raise it (systemd: MemoryMax=306M), or take "
		"a smaller --qd or --size, or fewer LUNs");
}

static void locked_memory_is_no_stop(void **state)
{
	struct lb_need need = {.locked_bytes = MIB};
	struct lb_limits have = no_limits();

	(void)state;
	have.locked.max = 64 << 10;
	expect(&need, &have, LB_DISTORTS, "locked-memory",
		"io_uring will do without registered buffers: they need 1M of locked memory, and "
		"RLIMIT_MEMLOCK (ulimit -l) is 64k");
	have.locked.max = MIB;
	assert_int_equal(judge(&need, &have), 0);
}

static void all_of_it_at_once(void **state)
{
	struct lb_need need = {.aio_slots = 2, .threads = 2, .files = 2, .maps = 2};
	struct lb_limits have = {.memory.max = 1, .aio.max = 5};
	struct lb_findings f = {.at = rows, .room = 3};
	uint32_t stops = 0;

	(void)state;
	need.memory_bytes = 2 * MIB;
	assert_int_equal(judge(&need, &have), 9);
	for (uint32_t i = 0; i < 9; i++)
		stops += rows[i].gravity == LB_STOPS;
	assert_int_equal(stops, 8);
	lb_preflight_limits(&f, &need, &have); /* what does not fit is dropped */
	assert_int_equal(atomic_load(&f.n), 3);
}

static void what_a_plan_needs(void **state)
{
	const struct lb_data_cfg data = {
		.size_bytes = 16384, .n_blocks = 1 << 20, .n_slots = 2 * 16};
	struct made *m = made_new(2, 3, 16);
	struct lb_need need;
	uint64_t figures = 2 * LB_OPS * sizeof(struct lb_hist) + 32 * sizeof(struct lb_io) +
			   2 * sizeof(struct lb_lun_result) + 3 * 32768 +
			   /* of the time series: itself, and what it saw last */
			   lb_series_bytes(2, 1, SEC, 10 * SEC) + 2 * sizeof(struct lb_hist);

	(void)state;
	m->plan.interval_ns = SEC;
	lb_need_of(&need, &m->plan); /* some engine that makes no rings */
	assert_int_equal(need.threads, 3);
	assert_int_equal(need.aio_slots, 0);
	assert_int_equal(need.files, 0);
	assert_int_equal(need.locked_bytes, 0);
	assert_int_equal(need.maps, 3 * 3 + 32);
	assert_int_equal(need.memory_bytes, 32 * 16384 + figures);
	m->plan.engine = &lb_engine_libaio;
	lb_need_of(&need, &m->plan);
	assert_int_equal(need.aio_slots, 32);
	assert_int_equal(need.files, 0);
	assert_int_equal(need.maps, 3 * 6 + 32);
	m->plan.engine = &lb_engine_io_uring;
	lb_need_of(&need, &m->plan);
	assert_int_equal(need.aio_slots, 0);
	assert_int_equal(need.files, 3);
	assert_int_equal(need.locked_bytes, 2 * (2 << 20)); /* two workers have slots */
	m->plan.n_blocks[0] = data.n_blocks;
	m->stream.read_pct = 50; /* each of the three rings has the whole pool */
	lb_need_of(&need, &m->plan);
	assert_int_equal(need.locked_bytes, 2 * (2 << 20) + 3 * lb_data_pool_bytes(&data));
	assert_int_equal(need.memory_bytes,
		32 * 16384 + lb_data_bytes(&data) + figures + lb_series_bytes(2, 2, SEC, 10 * SEC) -
			lb_series_bytes(2, 1, SEC, 10 * SEC) + 2 * sizeof(struct lb_hist));
	m->stream.read_pct = 0; /* and no buffers beside it */
	lb_need_of(&need, &m->plan);
	assert_int_equal(need.locked_bytes, 3 * lb_data_pool_bytes(&data));
	assert_int_equal(need.memory_bytes, lb_data_bytes(&data) + figures);
	m->stream.read_pct = 100;
	m->plan.engine = &lb_engine_null; /* touches no buffer */
	lb_need_of(&need, &m->plan);
	assert_int_equal(need.memory_bytes, figures);
	made_done(m);
}

/* ---- LUNs; the rules that a run's findings are tested with are in test_findings.c ---- */

static void expect_of_luns(
	struct made *m, bool for_writing, int lun, const char *code, const char *text)
{
	struct lb_findings f = {.at = rows, .room = 64};

	assert_int_equal(lb_preflight_luns(&f, &m->cfg, &m->plan, for_writing), 0);
	assert_int_equal(atomic_load(&f.n), code ? 1 : 0);
	if (code) {
		assert_int_equal(rows[0].gravity, LB_DISTORTS);
		assert_int_equal(rows[0].lun, lun);
		assert_string_equal(rows[0].code, code);
		assert_string_equal(rows[0].text, text);
	}
}

static void partial_writes(void **state)
{
	struct made *m = made_new(1, 1, 16);

	(void)state;
	m->board.luns[0].physical_block = 4096;
	expect_of_luns(m, true, 0, NULL, NULL);
	m->stream.size_bytes = 4096;
	expect_of_luns(m, true, 0, NULL, NULL);
	m->stream.size_bytes = 512;
	expect_of_luns(m, false, 0, NULL, NULL); /* reads may be of any part */
	expect_of_luns(m, true, 0, "partial-writes",
		"512e: --size 512 is no multiple of the physical block of 4096, so writes are partial and "
		"the device must read before it writes");
	m->stream.size_bytes = 8192;
	m->board.luns[0].region_start = 1536;
	expect_of_luns(m, true, 0, "partial-writes",
		"512e: the region's start 1.5k is no multiple of the physical block of 4096, so writes are "
		"partial and the device must read before it writes");
	m->board.luns[0].physical_block = 0; /* not known */
	expect_of_luns(m, true, 0, NULL, NULL);
	made_done(m);
}

static void map_with(struct lb_lun *lun, const char *const states[])
{
	strcpy(lun->dm_type, "mpath");
	lun->n_paths = lun->n_paths_up = 0;
	for (uint32_t i = 0; states[i]; i++) {
		struct lb_path *p = &lun->paths[i];

		*p = (struct lb_path){.queue_depth = LB_LUN_UNKNOWN};
		snprintf(p->name, sizeof(p->name), "sd%c", 'c' + (int)i);
		snprintf(p->state, sizeof(p->state), "%s", states[i]);
		lun->n_paths++;
		lun->n_paths_up += !strcmp(states[i], "running") || !strcmp(states[i], "live");
	}
}

static void paths_of_a_map(void **state)
{
	struct made *m = made_new(1, 1, 16);
	struct lb_lun *lun = &m->board.luns[0];

	(void)state;
	map_with(lun, (const char *const[]){"running", "live", NULL});
	expect_of_luns(m, false, 0, NULL, NULL);
	map_with(lun,
		(const char *const[]){"running", "offline", "running", "transport-offline", NULL});
	expect_of_luns(m, false, 0, "paths-down",
		"2 of 4 paths are up: sdd offline, sdf transport-offline");
	map_with(lun, (const char *const[]){"running", NULL});
	expect_of_luns(m, false, 0, "single-path",
		"the map has one path only: its rate is that of one port, and nothing is left when it is "
		"lost");
	map_with(lun, (const char *const[]){"blocked", NULL});
	expect_of_luns(m, false, 0, "paths-down", "0 of 1 paths are up: sdc blocked");
	map_with(lun, (const char *const[]){"running", "", NULL}); /* not told */
	expect_of_luns(m, false, 0, NULL, NULL);
	map_with(lun, (const char *const[]){"running", "running", NULL});
	strcpy(lun->paths[0].dm_state, "active");
	expect_of_luns(m, false, 0, NULL, NULL);
	strcpy(lun->paths[1].dm_state, "failed"); /* SCSI has not noticed, or it is back by now */
	lun->n_paths_up = 1;
	expect_of_luns(
		m, false, 0, "paths-down", "1 of 2 paths are up: sdd failed, though running");
	map_with(lun, (const char *const[]){"", "", NULL}); /* paths that are no disks */
	strcpy(lun->paths[0].dm_state, "failed");
	strcpy(lun->paths[1].dm_state, "active");
	lun->n_paths_up = 1;
	expect_of_luns(m, false, 0, "paths-down", "1 of 2 paths are up: sdc failed");
	map_with(lun, (const char *const[]){"live", NULL}); /* native NVMe */
	lun->dm_type[0] = '\0';
	strcpy(lun->paths[0].transport, "tcp");
	expect_of_luns(m, false, 0, "single-path",
		"there is one path only: its rate is that of one port, and nothing is left when it is "
		"lost");
	strcpy(lun->paths[0].transport, "pcie"); /* as a disk in a slot has it */
	expect_of_luns(m, false, 0, NULL, NULL);
	lun->n_paths = 0;
	memset(lun->paths, 0, sizeof(lun->paths));
	strcpy(lun->map, "mpatha");
	expect_of_luns(m, false, 0, "single-path",
		"one path of the multipath map mpatha: give the map, for its rate and what is lost with a "
		"path");
	made_done(m);
}

static void schedulers(void **state)
{
	struct made *m = made_new(1, 1, 16);
	struct lb_lun *lun = &m->board.luns[0];

	(void)state;
	strcpy(lun->scheduler, "mq-deadline");
	expect_of_luns(m, false, 0, NULL, NULL); /* of a disk: as it may be */
	map_with(lun, (const char *const[]){"running", "running", NULL});
	expect_of_luns(m, false, 0, "scheduler",
		"scheduler mq-deadline over multipath: it delays what the array would order itself; none "
		"costs least (/sys/block/dm-0/queue/scheduler)");
	strcpy(lun->scheduler, "none");
	expect_of_luns(m, false, 0, NULL, NULL);
	lun->scheduler[0] = '\0';
	expect_of_luns(m, false, 0, NULL, NULL);
	made_done(m);
}

static void whose_it_is(void **state)
{
	struct made *m = made_new(1, 1, 16);

	(void)state;
	strcpy(m->board.luns[0].in_use, "mounted on /u01");
	expect_of_luns(m, false, 0, "in-use",
		"mounted on /u01: what others do there is in the figures, and the load is theirs too");
	m->board.luns[0].in_use[0] = '\0';
	m->board.luns[0].wwid_not_unique = true;
	strcpy(m->board.luns[0].wwid, "naa.5000");
	expect_of_luns(m, false, 0, "wwid-not-unique",
		"a LUN of another size has the same WWID naa.5000: they are taken for two, but one of them "
		"may be shown wrongly");
	made_done(m);
}

static void sector_sizes(void **state)
{
	struct made *m = made_new(4, 1, 16);

	(void)state;
	m->board.luns[3].physical_block = 4096;
	expect_of_luns(m, false, LB_OF_RUN, "blocks-differ",
		"the LUNs are not of one sector size: /dev/mapper/mpath0 has blocks of 512 (physical 512), "
		"/dev/mapper/mpath3 of 512 (physical 4096); an ASM disk group takes one only");
	m->board.luns[0].logical_block = m->board.luns[0].physical_block = 4096;
	expect_of_luns(m, false, LB_OF_RUN, "blocks-differ",
		"the LUNs are not of one sector size: /dev/mapper/mpath0 has blocks of 4096 (physical "
		"4096), /dev/mapper/mpath1 of 512 (physical 512); an ASM disk group takes one only");
	for (int i = 0; i < 3; i++) /* a file's blocks are its file system's */
		m->board.luns[i].kind = LB_LUN_FILE;
	expect_of_luns(m, false, LB_OF_RUN, NULL, NULL);
	made_done(m);
}

static void the_depth_of_a_lun_is_that_of_all_its_lanes(void **state)
{
	struct made *m = made_new(2, 1, 16);

	(void)state;
	m->board.luns[0].queue_depth = 31;
	expect_of_luns(m, false, 0, NULL, NULL);
	m->plan.lanes[1].lun = 0; /* both on one LUN */
	expect_of_luns(m, false, 0, "qd-above-device",
		"qd 32 is above the device's queue depth of 31: the rest waits in the host, and the wait is "
		"in the latency");
	made_done(m);
}

static void this_host_takes_a_small_run(void **state)
{
	struct made *m = made_new(1, 1, 1);
	struct lb_findings f = {.at = rows, .room = 64};
	struct lb_err err = {0};

	(void)state;
	assert_int_equal(lb_preflight(&f, &m->cfg, &m->plan, false, &err), 0);
	assert_true(f.n >= 2);
	m->plan.n_workers = 200 * 1000 * 1000; /* but not this one */
	f.n = 0;
	assert_int_equal(lb_preflight(&f, &m->cfg, &m->plan, false, &err), -EAGAIN);
	assert_int_equal(err.status, LB_ST_UNAVAILABLE);
	assert_non_null(
		strstr(err.text, "the run needs 200000000 threads, and kernel.pid_max leaves "));
	assert_non_null(strstr(err.text, "; the run needs 600000032 memory maps, "));
	made_done(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_needed_or_not_limited_is_not_told),
		cmocka_unit_test(aio_slots),
		cmocka_unit_test(open_files),
		cmocka_unit_test(threads),
		cmocka_unit_test(memory_maps),
		cmocka_unit_test(memory),
		cmocka_unit_test(locked_memory_is_no_stop),
		cmocka_unit_test(all_of_it_at_once),
		cmocka_unit_test(what_a_plan_needs),
		cmocka_unit_test(partial_writes),
		cmocka_unit_test(paths_of_a_map),
		cmocka_unit_test(schedulers),
		cmocka_unit_test(whose_it_is),
		cmocka_unit_test(sector_sizes),
		cmocka_unit_test(the_depth_of_a_lun_is_that_of_all_its_lanes),
		cmocka_unit_test(this_host_takes_a_small_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
