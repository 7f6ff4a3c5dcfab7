#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "made.h"

static const char *text_of(const struct lb_result *r, const char *code, int lun)
{
	for (uint32_t i = 0; i < r->n_findings; i++)
		if (!strcmp(r->findings[i].code, code) && r->findings[i].lun == lun)
			return r->findings[i].text;
	return NULL;
}

/* N_LUNS that all did well. */
static struct made *good(uint32_t n_luns)
{
	struct made *m = made_new(n_luns, 1, 16);

	for (uint32_t i = 0; i < n_luns; i++)
		made_xfers(m, i, 1000, MS);
	return m;
}

/* The findings of M are just one, as given; TEXT NULL: none at all. */
static void expect(struct made *m, const char *code, int lun, const char *text)
{
	struct lb_result *r = made_result(m);

	if (text) {
		assert_int_equal(r->n_findings, 1);
		assert_string_equal(r->findings[0].code, code);
		assert_int_equal(r->findings[0].lun, lun);
		assert_string_equal(r->findings[0].text, text);
	} else {
		assert_int_equal(r->n_findings, 0);
	}
	made_done(m);
}

static void nothing_to_find(void **state)
{
	(void)state;
	expect(good(4), "", 0, NULL);
}

static void who_else_is_there(void **state)
{
	struct made *m = good(3);

	(void)state;
	strcpy(m->board.luns[1].in_use, "mounted on /u01");
	expect(m, "in-use", 1,
		"mounted on /u01: what others do there is in the figures, and the load is theirs "
		"too");
	m = good(3);
	strcpy(m->board.luns[2].wwid, "36000");
	m->board.luns[2].wwid_not_unique = true;
	expect(m, "wwid-not-unique", 2,
		"a LUN of another size has the same WWID 36000: they are taken for two, but one of "
		"them may be shown wrongly");
}

static void no_xfers(void **state)
{
	struct made *m = made_new(2, 1, 16);

	(void)state;
	made_xfers(m, 0, 1000, MS);
	expect(m, "no-xfers", 1, "nothing came back in the measured time");

	m = made_new(1, 1, 16); /* not when there was no such time */
	m->board.window.open_ns = LB_NEVER;
	expect(m, "", 0, NULL);
}

static void stall(void **state)
{
	struct made *m = good(2);

	(void)state;
	made_xfers(m, 1, 1, 5 * SEC);
	expect(m, "stall", 1, "the slowest I/O took 5.0 s");

	m = good(2);
	made_xfers(m, 1, 1, 5 * SEC - 1);
	expect(m, "", 0, NULL);

	m = good(1);
	made_outstanding(m, 0, 1, 9 * SEC);
	expect(m, "stall", 0, "nothing came back for 7.0 s from 3.0 s on");

	m = good(1); /* the LUN went on without it */
	made_outstanding(m, 0, 1, 9 * SEC);
	m->board.lun_states[0].last_ns = m->board.window.close_ns - MS;
	expect(m, "stall", 0, "the slowest I/O took at least 9.0 s");

	m = good(1);
	m->board.lun_states[0].n_stalls = 3;
	m->board.lun_states[0].n_late_stalls = 1;
	m->board.lun_states[0].stalled_ns = 14 * SEC;
	m->board.lun_states[0].longest_ns = 8 * SEC;
	m->board.lun_states[0].longest_end_ns = MADE_OPEN_NS + 9 * SEC;
	expect(m, "stall", 0,
		"nothing came back for 8.0 s from 1.0 s on; 2 such times, 14.0 s in all");

	m = made_new(1, 1, 16); /* a slow device, but no stall */
	made_xfers(m, 0, 100, 5 * SEC);
	made_xfers(m, 0, 1, 40 * SEC);
	expect(m, "", 0, NULL);
}

static void luns_differ(void **state)
{
	struct made *m = made_new(4, 1, 16);

	(void)state;
	made_xfers(m, 0, 1000, MS);
	made_xfers(m, 1, 799, MS);
	made_xfers(m, 2, 1000, MS);
	made_xfers(m, 3, 1250, MS);
	expect(m, "lun-differs", 1, "the rate is 80% of the median LUN's");

	m = made_new(4, 1, 16);
	made_xfers(m, 0, 10000, MS);
	made_xfers(m, 1, 8000, MS);
	made_xfers(m, 2, 10000, MS);
	made_xfers(m, 3, 12501, MS);
	expect(m, "lun-differs", 3, "the rate is 125% of the median LUN's");

	m = made_new(4, 1, 16); /* an even number: the median is between two */
	made_xfers(m, 0, 1000, MS);
	made_xfers(m, 1, 1200, MS);
	made_xfers(m, 2, 1000, MS);
	made_xfers(m, 3, 1200, MS);
	expect(m, "", 0, NULL);

	m = made_new(3, 1, 16);
	made_xfers(m, 0, 1000000, MS);
	made_xfers(m, 1, 1000000, MS);
	made_xfers(m, 2, 123, MS);
	expect(m, "lun-differs", 2, "the rate is 0.01% of the median LUN's");

	m = made_new(2, 1, 16); /* of two, neither is the odd one */
	made_xfers(m, 0, 1000, MS);
	made_xfers(m, 1, 10, MS);
	expect(m, "", 0, NULL);
}

static void zeros(void **state)
{
	struct made *m = good(2);
	struct lb_cell *cell = lb_board_cell(&m->board, 1, LB_READ);

	(void)state;
	cell->samples = cell->zero_samples = 8;
	expect(m, "zeros", 1,
		"only zeros came back: thin and never written? Such reads may be far faster than "
		"those of data");

	m = good(2);
	cell = lb_board_cell(&m->board, 1, LB_READ);
	cell->samples = cell->zero_samples = 7; /* too few to tell */
	cell = lb_board_cell(&m->board, 0, LB_READ);
	cell->samples = 1000;
	cell->zero_samples = 899;
	expect(m, "", 0, NULL);

	m = good(1);
	cell = lb_board_cell(&m->board, 0, LB_READ);
	cell->samples = 1000;
	cell->zero_samples = 900;
	expect(m, "zeros", 0,
		"90% of the blocks looked into were zeros: thin and never written? Such reads may "
		"be far faster than those of data");
	m = good(1);
	cell = lb_board_cell(&m->board, 0, LB_READ);
	cell->samples = 1000;
	cell->zero_samples = 999; /* not all of them */
	expect(m, "zeros", 0,
		"99% of the blocks looked into were zeros: thin and never written? Such reads may "
		"be far faster than those of data");

	m = good(1); /* of no device */
	m->engine.caps = LB_CAP_NO_DEVICE;
	cell = lb_board_cell(&m->board, 0, LB_READ);
	cell->samples = cell->zero_samples = 8;
	expect(m, "", 0, NULL);
}

/* One LUN, 1000 xfers of 16k at qd 16, with the kernel's count of KERNEL_BYTES. */
static struct made *counted(uint64_t kernel_bytes)
{
	struct made *m = good(1);
	struct lb_lun_state *s = &m->board.lun_states[0];

	s->has_kernel_stat = 2;
	s->kernel_after.read_sectors = kernel_bytes / 512;
	return m;
}

static void kernel_count(void **state)
{
	const uint64_t ours = 1000 * 16384;
	struct made *m;

	(void)state;
	expect(counted(ours), "", 0, NULL);
	expect(counted(ours + 20 * 16384), "", 0, NULL); /* 2% */
	expect(counted(ours + 21 * 16384), "kernel-count", 0,
		"the kernel counted 16728064 bytes and lunbench issued 16384000: someone else is "
		"using the device");
	expect(counted(ours - 21 * 16384), "kernel-count", 0,
		"the kernel counted 16039936 bytes and lunbench issued 16384000: not all I/O "
		"reached the device");
	m = counted(21 * 16384);
	lb_board_cell(&m->board, 0, LB_READ)->xfers = 5; /* 16 off: one qd */
	expect(m, "", 0, NULL);
	m = counted(ours / 2); /* nothing of it was to reach the device */
	m->engine.caps = LB_CAP_NO_DEVICE;
	expect(m, "", 0, NULL);
	m = counted(ours); /* the failed ones may be in the kernel's count or not */
	lb_board_cell(&m->board, 0, LB_READ)->errors = 40;
	expect(m, "", 0, NULL);
}

static void host_bound(void **state)
{
	struct made *m = good(1);

	(void)state;
	m->board.has_usage = 2;
	m->board.workers[0].cpu_open_ns = SEC;
	m->board.workers[0].cpu_close_ns = SEC + 9600 * MS;
	expect(m, "host-bound", -1,
		"a worker was 96% busy: it is the limit of its LUNs; spread them with --workers, "
		"or one LUN with --threads-per-lun");

	m = good(1);
	m->board.workers[0].cpu_open_ns = SEC;
	m->board.workers[0].cpu_close_ns = SEC + 9500 * MS;
	m->board.has_usage = 2;
	m->board.usage_close.ru_stime.tv_sec = 19;
	expect(m, "", 0, NULL);

	m = good(1);
	m->board.has_usage = 2;
	m->board.usage_close.ru_stime.tv_sec = 19;
	m->board.usage_close.ru_utime.tv_usec = 100000;
	expect(m, "host-bound", -1,
		"1.91 of the 2 CPUs allowed were busy: this host is the limit, not the LUNs");

	m = good(1);
	m->engine.caps = LB_CAP_NO_DEVICE;
	m->board.workers[0].cpu_open_ns = SEC;
	m->board.workers[0].cpu_close_ns = SEC + 9600 * MS;
	expect(m, "", 0, NULL);
}

/* Ten seconds on a host that was busy for BUSY of 1000 ticks; lunbench used SYS_S seconds. */
static struct made *on_busy_host(uint64_t busy, time_t sys_s)
{
	struct made *m = good(1);

	m->board.has_usage = 2;
	m->board.usage_close.ru_stime.tv_sec = sys_s;
	m->board.host_open = (struct lb_host_cpu){.busy = 100, .all = 5000};
	m->board.host_close = (struct lb_host_cpu){.busy = 100 + busy, .all = 6000};
	return m;
}

static void host_busy(void **state)
{
	struct made *m;

	(void)state;
	expect(on_busy_host(951, 2), "host-busy", -1,
		"the CPUs were 95% busy, but lunbench used 0.20 of 2: others, or the kernel's own "
		"threads, kept it waiting for a CPU, and that is in the latency");
	expect(on_busy_host(950, 2), "", 0, NULL);
	expect(on_busy_host(1000, 19), "host-busy", -1,
		"the CPUs were 100% busy, but lunbench used 1.90 of 2: others, or the kernel's own "
		"threads, kept it waiting for a CPU, and that is in the latency");
	expect(on_busy_host(1000, 20), "host-bound", -1,
		"2.00 of the 2 CPUs allowed were busy: this host is the limit, not the LUNs");
	m = on_busy_host(1000, 2);
	m->board.host_open.all = m->board.host_open.busy = 0; /* not known */
	expect(m, "", 0, NULL);
	m = on_busy_host(1000, 2);
	m->engine.caps = LB_CAP_NO_DEVICE;
	expect(m, "", 0, NULL);
}

static void host_cache(void **state)
{
	struct made *m = good(2);

	(void)state;
	m->board.luns[1].is_host_cached = true;
	expect(m, "host-cache", 1,
		"a loop device without direct I/O: its data lies in this host's memory too, and the "
		"figures may be memory's (losetup --direct-io=on)");
}

static void submit_slow(void **state)
{
	struct made *m = good(1);

	(void)state;
	m->board.workers[0].engine = (struct lb_engine_stats){
		.submit_ns = 50001 * 10, .submit_calls = 10, .submit_ios = 10};
	expect(m, "submit-slow", -1,
		"the calls that hand I/O to the kernel took 50.0 us on average, 5% of the median "
		"latency, and are in it: the host or a full queue takes that time, not the LUN; try "
		"a smaller --qd, or more --workers");
	m = good(1);
	m->board.workers[0].engine = (struct lb_engine_stats){
		.submit_ns = 50000 * 10, .submit_calls = 10, .submit_ios = 10};
	expect(m, "", 0, NULL);
	m = good(1); /* long calls, but of many I/Os */
	m->board.workers[0].engine = (struct lb_engine_stats){
		.submit_ns = 500000 * 10, .submit_calls = 10, .submit_ios = 101};
	expect(m, "", 0, NULL);
}

/* 2000/s on a LUN that did what it could: N of 10 s are claimed, all with a transfer free. */
static struct made *paced(uint64_t n, uint64_t late_ns)
{
	struct made *m = made_new(1, 1, 16);
	struct lb_resp *resp;

	made_open(m, 2000000, LB_ARRIVAL_FIXED, LB_CATCH_UP_QD);
	made_responses(m, 0, n, MS, late_ns);
	resp = lb_resp_of(m->board.resps, 0, LB_READ);
	resp->held_sum_ns = n * late_ns;
	resp->held_max_ns = 10 * late_ns;
	made_due(m, 0, n);
	return m;
}

static void rate_not_kept(void **state)
{
	struct made *m;

	(void)state;
	expect(paced(20000, 0), "", 0, NULL);
	expect(paced(19980, 0), "", 0, NULL); /* one in a thousand */
	expect(paced(19979, 100000), "rate-not-kept", 0,
		"21 of some 20000 transfers that were due had not begun when the measured time ended; "
		"transfers were free: this host was late to issue, by 100 us on average");
	m = paced(19000, 0);
	lb_board_cell(&m->board, 0, LB_READ)->late = 16;
	expect(m, "rate-not-kept", 0,
		"1000 of some 20000 transfers that were due had not begun when the measured time ended; "
		"all 16 of --qd were in flight: the LUN is slower than that, or --qd too low");
	m = paced(20000, 0);
	m->board.paces[0].missed = 21;
	expect(m, "rate-not-kept", 0,
		"21 of some 20000 transfers that were due were skipped; all 16 of --qd were in flight: "
		"the LUN is slower than that, or --qd too low");
}

static void issue_late(void **state)
{
	(void)state;
	expect(paced(20000, 250000), "", 0, NULL);
	expect(paced(20000, 260000), "issue-late", -1,
		"this host issued what was due 260us late on average, and 2.60ms at most, with "
		"transfers free for it: that is 21% of the median response");
}

static void qd_above_device(void **state)
{
	struct made *m = good(3);

	(void)state;
	m->board.luns[0].queue_depth = 16;
	m->board.luns[0].nr_requests = 16;
	m->board.luns[1].queue_depth = 15;
	m->board.luns[1].nr_requests = 256;
	expect(m, "qd-above-device", 1,
		"qd 16 is above the device's queue depth of 15: the rest waits in the host, and the wait is "
		"in the latency");
	m = good(1);
	m->board.luns[0].nr_requests = 8;
	m->board.luns[0].queue_depth = 32;
	expect(m, "qd-above-device", 0,
		"qd 16 is above the device's nr_requests of 8: the rest waits in the host, and the wait is "
		"in the latency");
}

static void split_io(void **state)
{
	struct made *m = good(2);

	(void)state;
	m->board.luns[0].max_io_bytes = 16384;
	m->board.luns[1].max_io_bytes = 8192;
	expect(m, "split-io", 1, "the kernel splits each 16k xfer: it takes at most 8k at once");
}

static void wrapped(void **state)
{
	struct made *m = good(2);

	(void)state;
	m->stream.pat.kind = LB_SEQ;
	m->plan.lanes[0].n_blocks = 400;
	m->plan.lanes[1].n_blocks = 1000; /* to its end and no further */
	expect(m, "wrapped", 0,
		"the region was passed 2.5 times: later passes may be served by a cache");
}

static void uring_punts(void **state)
{
	for (int asked = 0; asked < 2; asked++) {
		struct made *m = good(2);

		(void)state;
		m->engine.name = "io_uring";
		m->engine.caps = LB_CAP_NEEDS_NOWAIT;
		m->cfg.engine = asked ? 1 : LB_ENGINE_AUTO;
		m->board.luns[1].has_nowait = false;
		expect(m, "uring-punts", 1,
			asked ? "no NOWAIT there: the kernel hands each io_uring I/O to a thread, "
				"which costs CPU and rate; libaio does not"
			      : NULL);
	}
}

static void late_start(void **state)
{
	struct made *m = good(2);

	(void)state;
	m->board.workers[0].n_late = 1;
	expect(m, "late-start", 1, "the first I/O had not been taken when the measured time began");
}

static void sizes_differ(void **state)
{
	struct made *m = good(3);

	(void)state;
	m->board.luns[1].size_bytes = 2ull << 40;
	expect(m, "sizes-differ", -1,
		"the LUNs are not of one size (100G to 2T), as those of an ASM disk group should "
		"be");
}

static void engine_notes(void **state)
{
	struct made *m = made_new(4, 4, 16);
	static const char *const notes[] = {"no huge pages", "", "no huge pages", "no files"};
	struct lb_result *r;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		made_xfers(m, i, 1000, MS);
		strcpy(m->board.workers[i].note.text, notes[i]);
	}
	r = made_result(m);
	assert_int_equal(r->n_findings, 2);
	assert_string_equal(r->findings[0].code, "engine-note");
	assert_string_equal(r->findings[0].text, "no huge pages");
	assert_string_equal(r->findings[1].text, "no files");
	made_done(m);
}

static void many_at_once(void **state)
{
	struct made *m = made_new(100, 1, 16);
	struct lb_result *r;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		m->board.luns[i].max_io_bytes = 4096;
	r = made_result(m);
	assert_int_equal(r->n_findings, 200);
	assert_non_null(text_of(r, "no-xfers", 99));
	assert_non_null(text_of(r, "split-io", 99));
	assert_null(text_of(r, "split-io", -1));
	made_done(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_to_find),
		cmocka_unit_test(who_else_is_there),
		cmocka_unit_test(no_xfers),
		cmocka_unit_test(stall),
		cmocka_unit_test(luns_differ),
		cmocka_unit_test(zeros),
		cmocka_unit_test(kernel_count),
		cmocka_unit_test(host_bound),
		cmocka_unit_test(host_busy),
		cmocka_unit_test(host_cache),
		cmocka_unit_test(submit_slow),
		cmocka_unit_test(rate_not_kept),
		cmocka_unit_test(issue_late),
		cmocka_unit_test(qd_above_device),
		cmocka_unit_test(split_io),
		cmocka_unit_test(wrapped),
		cmocka_unit_test(uring_punts),
		cmocka_unit_test(late_start),
		cmocka_unit_test(sizes_differ),
		cmocka_unit_test(engine_notes),
		cmocka_unit_test(many_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
