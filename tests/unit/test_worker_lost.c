/* LUNs that are given up: nothing more is issued to them, and the others go on. */
#include "worker_rig.h"

#include "hist.h"
#include "pulse.h"

/* What a stand-in around the null engine's exchange does from outside. */
static struct {
	struct lb_board *board;
	uint64_t at_ns;    /* give up at the first exchange from here on */
	uint32_t from, to; /* these LUNs */
	uint32_t n_won;
} outside;

static int exchange(
	void *st, struct lb_io **ios, uint32_t n, uint32_t min, uint32_t max, uint64_t wait_ns)
{
	uint64_t now_ns = lb_engine_null.now(st);

	for (uint32_t i = outside.from; now_ns >= outside.at_ns && i < outside.to; i++)
		outside.n_won += (uint32_t)lb_lun_retire(outside.board, i, now_ns, "told so");
	return lb_engine_null.exchange(st, ios, n, min, max, wait_ns);
}

static void outside_run(struct rig *g, const char *line)
{
	static struct lb_engine_ops ops;
	char all[400];

	snprintf(all, sizeof(all), "--engine null --size 4k %s", line);
	rig_make(g, all, -1);
	ops = lb_engine_null;
	ops.exchange = exchange;
	g->worker.ops = &ops;
	outside.board = g->board;
	outside.n_won = 0;
	rig_loop(g);
	assert_int_equal(g->ret, 0);
	rig_result(g);
	for (uint32_t i = 0; i < g->board->plan->n_slots; i++)
		assert_true(!g->board->ios[i].issue_ns || g->r.total.outstanding);
}

static void nothing_more_is_issued(void **state)
{
	struct rig g;

	(void)state;
	outside.at_ns = T0 + 500 * MS;
	outside.from = 1;
	outside.to = 2;
	outside_run(&g, "--null-latency 5ms --qd 4 --time 1s a b c");
	assert_int_equal(outside.n_won, 1);
	/* it was told while those due at 505 ms were on their way */
	assert_int_equal(rig_lun(&g, 1)->ios_issued, 4 * 101);
	assert_int_equal(rig_lun(&g, 1)->xfers + rig_lun(&g, 1)->late, 4 * 101);
	assert_int_equal(rig_lun(&g, 1)->late, 4);
	assert_int_equal(g.board->lun_states[1].retired_ns, T0 + 500 * MS);
	assert_int_equal(lb_pulse_silent_since(&g.board->lun_states[1]), LB_NEVER);
	assert_int_equal(rig_lun(&g, 0)->xfers, 4 * 199);
	assert_int_equal(rig_lun(&g, 2)->xfers, 4 * 199);
	assert_int_equal(g.r.window_ns.v, SEC);
	assert_int_equal(lb_events_n(&g.board->events), 1);
	assert_int_equal(g.board->events.at[0].kind, LB_EV_LOST);
	assert_int_equal(g.board->events.at[0].lun, 1);
	assert_int_equal(g.board->events.at[0].begin_ns, T0 + 500 * MS);
	assert_string_equal(g.board->events.at[0].what, "told so");
	rig_done(&g);
}

static void when_all_are_given_up_the_run_ends(void **state)
{
	struct rig g;

	(void)state;
	outside.at_ns = T0 + 500 * MS;
	outside.from = 0;
	outside.to = 2;
	outside_run(&g, "--null-latency 5ms --qd 4 --time 1s a b");
	assert_int_equal(outside.n_won, 2);
	assert_int_equal(g.r.window_ns.v, 500 * MS);
	assert_int_equal(atomic_load(&g.board->window.lost), 1);
	assert_int_equal(g.r.total.xfers + g.r.total.late, g.r.total.ios_issued);
	assert_int_equal(rig_end_ns(&g), 505 * MS);
	rig_done(&g);
}

static void what_waits_is_dropped(void **state)
{
	struct rig g;

	(void)state;
	/* it fails from 600 ms on, all back off to 663 ms, and are given up at 640 */
	outside.at_ns = T0 + 640 * MS;
	outside.from = 1;
	outside.to = 2;
	outside_run(&g, "--null-latency 5ms --null-script gone:600ms:EIO@1 --qd 4 --time 1s a b");
	assert_int_equal(g.board->workers[0].n_started, 2);
	assert_int_equal(rig_lun(&g, 1)->errors, 4 * 6); /* at 600, 601, 603, 607, 615, 631 */
	assert_int_equal(rig_lun(&g, 1)->late, 0);
	assert_int_equal(rig_lun(&g, 0)->xfers, 4 * 199);
	assert_int_equal(g.worker.n_lost, 0);
	rig_done(&g);
}

static void before_the_first_io(void **state)
{
	struct rig g;

	(void)state;
	outside.at_ns = 0;
	outside.from = 1;
	outside.to = 2;
	/* 64 deep: given up as the first batch goes out, the rest never does */
	outside_run(&g, "--null-latency 5ms --qd 64 --time 1s a b");
	assert_in_range(rig_lun(&g, 1)->ios_issued, 1, LB_BATCH);
	assert_int_equal(rig_lun(&g, 1)->xfers, 0);
	assert_int_equal(rig_lun(&g, 0)->xfers, 64 * 199);
	rig_done(&g);
}

static void what_never_returns_is_outstanding(void **state)
{
	struct rig g;

	(void)state;
	outside.at_ns = T0 + 500 * MS;
	outside.from = 1;
	outside.to = 2;
	outside_run(
		&g, "--null-latency 5ms --null-script dead:0s@1 --qd 4 --time 1s --drain 2s a b");
	assert_int_equal(rig_lun(&g, 1)->outstanding, 4);
	assert_int_equal(g.worker.n_lost, 4);
	assert_int_equal(rig_lun(&g, 0)->xfers, 4 * 199);
	rig_done(&g);
}

static const struct lb_lun_result *lun_of(const struct rig *g, uint32_t i)
{
	return &g->r.luns[i];
}

static void a_device_that_is_gone_is_given_up_at_once(void **state)
{
	static const char *const errors[] = {"ENODEV", "ENXIO"};
	char line[200];
	struct rig g;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		snprintf(line, sizeof(line),
			"--null-latency 5ms --null-script gone:400ms:%s@1 --qd 4 --time 1s a b c",
			errors[i]);
		rig_run(&g, line);
		assert_true(lun_of(&g, 1)->is_lost);
		assert_int_equal(lun_of(&g, 1)->lost_ns, T0 + 400 * MS);
		assert_int_equal(lun_of(&g, 1)->lived_ns.v, 400 * MS);
		assert_int_equal(rig_lun(&g, 1)->errors, 4); /* what was in flight, and no more */
		assert_int_equal(rig_lun(&g, 1)->errors_outside, 0);
		assert_int_equal(rig_lun(&g, 1)->xfers, 4 * 79);
		assert_true(rig_lun(&g, 1)->xfer_per_s.v == 4 * 79 / 0.4);
		assert_int_equal(rig_lun(&g, 1)->ios_issued, 4 * 80);
		assert_non_null(strstr(lun_of(&g, 1)->lost_why, errors[i]));
		assert_non_null(strstr(lun_of(&g, 1)->lost_why, "device gone"));
		for (uint32_t k = 0; k < 3; k += 2) {
			assert_false(lun_of(&g, k)->is_lost);
			assert_int_equal(lun_of(&g, k)->lived_ns.v, SEC);
			assert_int_equal(rig_lun(&g, k)->xfers, 4 * 199);
			assert_true(rig_lun(&g, k)->xfer_per_s.v == 4 * 199);
		}
		assert_int_equal(g.r.n_lost, 1);
		assert_int_equal(g.r.window_ns.v, SEC);
		assert_true(g.r.total.xfer_per_s.v == 4 * (199 + 79 + 199));
		assert_true(g.r.is_complete);
		assert_string_equal(g.r.ended_by, "time");
		assert_int_equal(g.r.status, LB_ST_FAULTY);
		rig_done(&g);
	}
}

static void so_many_errors_in_a_row(void **state)
{
	struct rig g;

	(void)state;
	/* at 1, 3, 6, 11, 20, 37, 70 ms: the 25th is the first of the seventh four */
	rig_run(&g, "--null-latency 1ms --null-script error:1:EBADE@0 --qd 4 --max-errors 25 "
		    "--time 1s a b");
	assert_int_equal(lun_of(&g, 0)->lost_ns, T0 + 70 * MS);
	assert_int_equal(rig_lun(&g, 0)->errors, 4 * 7);
	assert_string_equal(lun_of(&g, 0)->lost_why,
		"25 errors in a row, the last EBADE, reservation conflict");
	assert_int_equal(rig_lun(&g, 0)->xfers, 0);
	assert_true(rig_lun(&g, 0)->xfer_per_s.has && rig_lun(&g, 0)->xfer_per_s.v == 0);
	assert_int_equal(rig_lun(&g, 1)->xfers, 4 * 999);
	rig_done(&g);
	/* never, when that is asked */
	rig_run(&g, "--null-latency 1ms --null-script error:1:EIO@0 --qd 128 --max-errors 0 "
		    "--time 1s a b");
	assert_false(lun_of(&g, 0)->is_lost);
	assert_true(rig_lun(&g, 0)->errors > 1000);
	rig_done(&g);
}

static void a_success_begins_the_row_anew(void **state)
{
	struct rig g;

	(void)state;
	/* two of three fail */
	rig_run(&g, "--null-latency 1ms --null-script short:3:4k,error:1:EIO --qd 3 --max-errors 3 "
		    "--time 5s a");
	assert_false(lun_of(&g, 0)->is_lost);
	assert_true(rig_lun(&g, 0)->errors > 1000);
	rig_done(&g);
	rig_run(&g, "--null-latency 1ms --null-script short:3:4k,error:1:EIO --qd 3 --max-errors 2 "
		    "--time 5s a");
	assert_true(lun_of(&g, 0)->is_lost);
	rig_done(&g);
}

static void the_first_error_of_a_lun(void **state)
{
	struct rig g;

	(void)state;
	/* the hundredth I/O, qd 4: the last of the 25th round */
	rig_run(&g, "--null-latency 1ms --null-script short:100:512@1 --qd 4 --on-error lun "
		    "--time 1s a b");
	assert_int_equal(lun_of(&g, 1)->lost_ns, T0 + 25 * MS);
	assert_string_equal(lun_of(&g, 1)->lost_why, "short, moved in part");
	assert_int_equal(rig_lun(&g, 1)->xfers, 99);
	assert_int_equal(rig_lun(&g, 1)->ios_issued, 100);
	assert_int_equal(rig_lun(&g, 0)->xfers, 4 * 999);
	assert_string_equal(g.r.ended_by, "time");
	rig_done(&g);
}

static void the_first_error_of_all(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 1ms --null-script error:100:EIO@1 --qd 4 --on-error stop "
		    "--time 1s a b");
	assert_int_equal(g.r.window_ns.v, 25 * MS);
	assert_string_equal(g.r.ended_by, "error");
	assert_false(g.r.is_complete);
	assert_int_equal(g.r.status, LB_ST_FAULTY);
	assert_int_equal(g.r.total.errors, 1);
	assert_int_equal(g.r.n_lost, 0);
	assert_int_equal(g.r.total.xfers, 2 * 100 - 1);
	assert_true(rig_end_ns(&g) <= 26 * MS);
	rig_done(&g);
}

static void all_are_gone(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g,
		"--null-latency 5ms --null-script gone:300ms:ENODEV@0,gone:400ms:ENXIO@1 --qd 4 "
		"--time 1s a b");
	assert_string_equal(g.r.ended_by, "lost");
	assert_false(g.r.is_complete);
	assert_int_equal(g.r.window_ns.v, 400 * MS);
	assert_int_equal(lun_of(&g, 0)->lived_ns.v, 300 * MS);
	assert_int_equal(lun_of(&g, 1)->lived_ns.v, 400 * MS);
	assert_int_equal(g.r.n_lost, 2);
	assert_int_equal(rig_end_ns(&g), 400 * MS);
	rig_done(&g);
	/* in the warm-up: nothing was measured */
	rig_run(&g, "--null-latency 5ms --null-script gone:300ms:ENODEV --qd 4 --ramp 1s --time 1s "
		    "a b");
	assert_string_equal(g.r.ended_by, "lost");
	assert_false(g.r.window_ns.has);
	assert_false(lun_of(&g, 0)->lived_ns.has);
	assert_int_equal(g.r.status, LB_ST_FAULTY);
	rig_done(&g);
}

static void gone_before_it_was_measured(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 5ms --null-script gone:300ms:ENODEV@1 --qd 4 --ramp 1s --time "
		    "1s a b");
	assert_true(lun_of(&g, 1)->is_lost);
	assert_int_equal(lun_of(&g, 1)->lived_ns.v, 0);
	assert_false(rig_lun(&g, 1)->xfer_per_s.has);
	assert_int_equal(rig_lun(&g, 1)->xfers, 0);
	assert_int_equal(rig_lun(&g, 1)->errors_outside, 4);
	assert_int_equal(rig_lun(&g, 0)->xfers, 4 * 200); /* the first come as it opens */
	rig_done(&g);
}

static void a_hung_lun_that_is_given_up_has_its_gap(void **state)
{
	struct rig g;

	(void)state;
	outside.at_ns = T0 + 8 * SEC;
	outside.from = 1;
	outside.to = 2;
	outside_run(
		&g, "--null-latency 5ms --null-script dead:1s@1 --qd 4 --time 10s --drain 1s a b");
	assert_int_equal(g.board->lun_states[1].longest_ns, 7005 * MS);
	assert_int_equal(g.board->lun_states[1].n_stalls, 1);
	assert_int_equal(g.board->lun_states[1].stalls[0].to_ns, T0 + 8 * SEC);
	assert_true(rig_lun(&g, 1)->xfer_per_s.v == 4 * 199 / 8.0);
	rig_done(&g);
}

static void a_count_goes_on_without_the_lost(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 5ms --null-script gone:100ms:ENODEV@1 --qd 4 --count 4000 a b");
	assert_string_equal(g.r.ended_by, "count");
	assert_int_equal(rig_lun(&g, 0)->xfers, 4000);
	assert_int_equal(lun_of(&g, 1)->lived_ns.v, 100 * MS);
	assert_int_equal(g.r.window_ns.v, 5 * SEC);
	rig_done(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_more_is_issued),
		cmocka_unit_test(when_all_are_given_up_the_run_ends),
		cmocka_unit_test(what_waits_is_dropped),
		cmocka_unit_test(before_the_first_io),
		cmocka_unit_test(what_never_returns_is_outstanding),
		cmocka_unit_test(a_device_that_is_gone_is_given_up_at_once),
		cmocka_unit_test(so_many_errors_in_a_row),
		cmocka_unit_test(a_success_begins_the_row_anew),
		cmocka_unit_test(the_first_error_of_a_lun),
		cmocka_unit_test(the_first_error_of_all),
		cmocka_unit_test(all_are_gone),
		cmocka_unit_test(gone_before_it_was_measured),
		cmocka_unit_test(a_hung_lun_that_is_given_up_has_its_gap),
		cmocka_unit_test(a_count_goes_on_without_the_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
