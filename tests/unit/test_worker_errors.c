/* I/O that fails: in no rate and no latency, written down, and never a storm. */
#include "worker_rig.h"

#include "hist.h"
#include "rng.h"

/* The offset of the NTH (from 1) transfer of a lane, by its generator alone. */
static uint64_t nth_offset(const struct rig *g, uint32_t lane, uint32_t nth)
{
	const struct lb_lane_plan *lp = &g->board->plan->lanes[lane];
	struct lb_rng rng;
	uint64_t block = 0;

	lb_rng_seed(&rng, g->board->plan->seed, lp->rng_stream);
	for (uint32_t i = 0; i < nth; i++)
		block = lb_rng_below(&rng, lp->n_blocks);
	return block * 4096;
}

static void errors_are_in_no_rate_or_latency(void **state)
{
	struct rig g;
	const struct lb_figures *f;
	const struct lb_fault *fault;

	(void)state;
	/*
	 * Nine good ones, an error after 1 ms, 1 ms of backing off: 11 ms a turn, 100 turns. As it
	 * ends, the last one is about to be issued again.
	 */
	rig_run(&g, "--null-latency 1ms --null-script error:10:EIO --qd 1 --time 1100ms lun");
	f = rig_lun(&g, 0);
	assert_int_equal(f->xfers, 900);
	assert_int_equal(f->errors, 100);
	assert_int_equal(f->errors_outside, 0);
	assert_int_equal(f->ios_issued, 1000);
	assert_int_equal(f->bytes, 900 * 4096);
	assert_int_equal(f->late, 0);
	assert_int_equal(f->outstanding, 0);
	assert_int_equal(lb_hist_total(&f->hist), 900);
	assert_true(f->xfer_per_s.v == 900 / 1.1);
	assert_int_equal(f->lat.max_ns.v, MS);
	assert_false(f->lat.max_is_bound);
	fault = lb_faults_row(&f->faults, 0);
	assert_int_equal(fault->res, -EIO);
	assert_int_equal(fault->n, 100);
	assert_int_equal(fault->first.ns, T0 + 10 * MS);
	assert_int_equal(fault->first.offset_bytes, nth_offset(&g, 0, 10));
	assert_int_equal(fault->last.ns, T0 + 10 * MS + 99 * 11 * MS);
	assert_int_equal(fault->last.offset_bytes, nth_offset(&g, 0, 1000));
	assert_null(lb_faults_row(&f->faults, 1));
	assert_int_equal(g.r.window_ns.v, 1100 * MS);
	assert_true(g.r.is_complete);
	assert_int_equal(g.r.status, LB_ST_FAULTY);
	rig_done(&g);
}

static void short_and_empty_transfers_are_errors(void **state)
{
	static const int32_t bytes[] = {0, 512, 4095};
	struct rig g;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		char line[200];

		snprintf(line, sizeof(line),
			"--null-latency 1ms --null-script short:10:%d --qd 1 --time 1100ms lun",
			bytes[i]);
		rig_run(&g, line);
		assert_int_equal(rig_lun(&g, 0)->xfers, 900);
		assert_int_equal(rig_lun(&g, 0)->bytes, 900 * 4096);
		assert_int_equal(rig_lun(&g, 0)->errors, 100);
		assert_int_equal(lb_faults_first(&rig_lun(&g, 0)->faults)->res, bytes[i]);
		assert_int_equal(g.r.status, LB_ST_FAULTY);
		rig_done(&g);
	}
}

static void errors_do_not_count_towards_the_count(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 1ms --null-script error:10:EIO --qd 1 --count 900 lun");
	assert_int_equal(rig_lun(&g, 0)->xfers, 900);
	assert_int_equal(rig_lun(&g, 0)->errors, 100);
	assert_int_equal(rig_lun(&g, 0)->errors_outside, 1); /* issued as the run ended */
	assert_int_equal(g.r.window_ns.v, (99 * 11 + 9) * MS);
	rig_done(&g);
	/* also where most of a batch are errors, and all return together */
	rig_run(&g,
		"--null-latency 1ms --null-script error:2:EIO,error:3:EIO --qd 64 --count 101 lun");
	assert_int_equal(rig_lun(&g, 0)->xfers, 101);
	assert_string_equal(g.r.ended_by, "count");
	rig_done(&g);
}

static void a_count_that_only_errors_answer_ends(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g,
		"--null-latency 1ms --null-script gone:1s:EIO --qd 4 --count 5000 --drain 2s lun");
	assert_int_equal(rig_lun(&g, 0)->xfers, 4 * 999);
	/* 2 s after the last good one; it is looked for every 100 ms */
	assert_in_range(g.r.window_ns.v, 2999 * MS, 3200 * MS);
	/* at 1000, 1001, 1003 ... 2023 ms; the next would be at 3047 */
	assert_int_equal(rig_lun(&g, 0)->errors, 4 * (11 + (g.r.window_ns.v > 3047 * MS)));
	assert_string_equal(g.r.ended_by, "stall");
	assert_int_equal(g.r.status, LB_ST_FAULTY);
	assert_int_equal(rig_lun(&g, 0)->outstanding, 0);
	rig_done(&g);
}

static void backing_off_doubles_to_about_a_second(void **state)
{
	/* errors at these ms: each 1 ms after the back-off of 1, 2, 4 ... 512, 1024, 1024 ms */
	static const uint64_t at_ms[] = {1, 3, 6, 11, 20, 37, 70, 135, 264, 521, 1034, 2059, 3084};
	const uint32_t n = sizeof(at_ms) / sizeof(at_ms[0]);
	struct rig g;
	char line[200];

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		for (uint64_t before = 0; before < 2; before++) {
			snprintf(line, sizeof(line),
				"--null-latency 1ms --null-script error:1:EIO --qd 4 --time %llums lun",
				(unsigned long long)(at_ms[i] + 1 - before));
			rig_run(&g, line);
			/* all four fail in one moment: that is one step */
			assert_int_equal(rig_lun(&g, 0)->errors, 4 * (i + 1));
			assert_int_equal(rig_lun(&g, 0)->errors_outside, 4 * before);
			assert_int_equal(rig_lun(&g, 0)->xfers, 0);
			assert_false(rig_lun(&g, 0)->lat.max_ns.has);
			/* what is parked is not waited for */
			assert_int_equal(rig_end_ns(&g), (at_ms[i] + 1 - before) * MS);
			assert_int_equal(rig_lun(&g, 0)->outstanding, 0);
			rig_done(&g);
		}
	}
}

static void a_good_one_ends_the_backing_off(void **state)
{
	struct rig g;

	(void)state;
	/* error, error, error, good: errors at 1, 3, 6 ms, good at 11 ms; and the same again */
	rig_run(&g, "--null-latency 1ms --null-script short:4:4k,error:1:EIO --qd 1 --time 110ms "
		    "lun");
	assert_int_equal(rig_lun(&g, 0)->xfers, 9); /* at 11, 22 ... 99 ms */
	assert_int_equal(rig_lun(&g, 0)->errors, 3 * 10);
	assert_int_equal(rig_lun(&g, 0)->late, 1);
	rig_done(&g);
}

static void a_device_that_fails_at_once_is_no_storm(void **state)
{
	struct rig g;
	const struct lb_figures *f;

	(void)state;
	/* in flight at 100 ms, then at 101, 103, 107 ... 611 ms, and no time passes for any */
	rig_run(&g, "--null-latency 5ms --null-script gone:100ms:EIO@0 --qd 4 --time 1s a b");
	f = rig_lun(&g, 0);
	assert_int_equal(f->xfers, 4 * 19);
	assert_int_equal(f->errors, 4 * (1 + 9));
	assert_int_equal(lb_faults_first(&f->faults)->res, -EIO);
	assert_int_equal(lb_faults_first(&f->faults)->first.ns, T0 + 100 * MS);
	assert_int_equal(f->late, 0);
	assert_int_equal(f->lat.max_ns.v, 5 * MS);
	assert_int_equal(rig_lun(&g, 1)->xfers, 4 * 199); /* the other one never noticed */
	assert_int_equal(rig_lun(&g, 1)->errors, 0);
	assert_int_equal(g.r.total.errors, 40);
	assert_int_equal(g.r.window_ns.v, SEC);
	rig_done(&g);
}

static void many_parked_are_issued_together(void **state)
{
	struct rig g;

	(void)state;
	/* 100 fail at 1 ms, in four batches, and at 3 ms; they are issued again in four too */
	rig_run(&g, "--null-latency 1ms --null-script gone:3ms:EIO,error:1:EIO --qd 100 "
		    "--max-errors 0 --time 4ms lun");
	assert_int_equal(rig_lun(&g, 0)->errors, 200);
	assert_int_equal(rig_lun(&g, 0)->ios_issued, 200);
	assert_int_equal(rig_lun(&g, 0)->late, 0);
	rig_done(&g);
}

static void errors_outside_the_window_are_kept_apart(void **state)
{
	struct rig g;
	const struct lb_figures *f;

	(void)state;
	/* errors at 1, 3, 6 ... 264 ms, then at 521 ms in the window; the next is after it */
	rig_run(&g, "--null-latency 1ms --null-script error:1:EIO@1 --qd 1 --ramp 500ms "
		    "--time 500ms a b");
	f = rig_lun(&g, 1);
	assert_int_equal(f->errors, 10);
	assert_int_equal(f->errors_outside, 9);
	assert_int_equal(g.board->cells[LB_OPS].errors, 1);
	assert_int_equal(lb_faults_first(&f->faults)->first.ns, g.r.open_ns - 499 * MS);
	assert_int_equal(lb_faults_first(&f->faults)->n_outside, 9);
	assert_int_equal(rig_lun(&g, 0)->errors, 0);
	assert_int_equal(rig_lun(&g, 0)->xfers, 500);
	rig_done(&g);
	/* in the drain: what was in flight comes back failed */
	rig_run(&g, "--null-latency 5ms --null-script gone:1002ms:EIO --qd 4 --time 1s lun");
	f = rig_lun(&g, 0);
	assert_int_equal(f->xfers, 4 * 199);
	assert_int_equal(f->late, 4); /* due and returned as the window closed */
	rig_done(&g);
	rig_run(&g, "--null-latency 7ms --null-script gone:1001ms:EIO --qd 4 --time 1s lun");
	f = rig_lun(&g, 0);
	assert_int_equal(f->xfers, 4 * 142);
	assert_int_equal(f->late, 0);
	assert_int_equal(f->errors, 4);
	assert_int_equal(f->errors_outside, 4);
	assert_int_equal(f->outstanding, 0);
	assert_int_equal(rig_end_ns(&g), 1001 * MS);
	rig_done(&g);
}

static int broken_exchange(
	void *st, struct lb_io **ios, uint32_t n, uint32_t min, uint32_t max, uint64_t wait_ns)
{
	static const struct lb_engine_ops *const null = &lb_engine_null;

	if (null->now(st) >= T0 + 100 * MS)
		return -ENXIO;
	return null->exchange(st, ios, n, min, max, wait_ns);
}

static void an_engine_that_fails_ends_the_worker(void **state)
{
	struct lb_engine_ops broken = lb_engine_null;
	struct rig g;

	(void)state;
	broken.exchange = broken_exchange;
	rig_make(&g, "--engine null --size 4k --null-latency 5ms --qd 4 --time 1s lun", -1);
	g.worker.ops = &broken;
	rig_loop(&g);
	assert_int_equal(g.ret, -ENXIO);
	lb_window_close(&g.board->window, broken.now, g.worker.engine);
	rig_result(&g);
	assert_int_equal(rig_lun(&g, 0)->xfers, 4 * 20); /* all that was measured is there */
	assert_string_equal(g.r.ended_by, "failure");
	assert_string_equal(g.r.error, "worker 0: null failed: No such device or address");
	assert_false(g.r.is_complete);
	assert_int_equal(g.r.status, LB_ST_FAULTY);
	rig_done(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_are_in_no_rate_or_latency),
		cmocka_unit_test(short_and_empty_transfers_are_errors),
		cmocka_unit_test(errors_do_not_count_towards_the_count),
		cmocka_unit_test(a_count_that_only_errors_answer_ends),
		cmocka_unit_test(backing_off_doubles_to_about_a_second),
		cmocka_unit_test(a_good_one_ends_the_backing_off),
		cmocka_unit_test(a_device_that_fails_at_once_is_no_storm),
		cmocka_unit_test(many_parked_are_issued_together),
		cmocka_unit_test(errors_outside_the_window_are_kept_apart),
		cmocka_unit_test(an_engine_that_fails_ends_the_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
