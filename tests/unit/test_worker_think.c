/* Think time: how often a place in flight is used, and that rest is no silence. */
#include "worker_rig.h"

/* Each place goes round in 5 + 15 ms: it comes back at 5, 25, 45 ... 985 ms. */
static void a_round_is_latency_and_rest(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 5ms --think 15ms --qd 4 --time 1s a b");
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(rig_lun(&g, i)->xfers, 4 * 50);
		assert_int_equal(rig_lun(&g, i)->ios_issued, 4 * 50);
		assert_int_equal(rig_lun(&g, i)->lat.min_ns.v, 5 * MS);
		assert_int_equal(rig_lun(&g, i)->lat.max_ns.v, 5 * MS);
		assert_int_equal(rig_lun(&g, i)->late, 0);
		assert_int_equal(rig_lun(&g, i)->outstanding, 0);
	}
	assert_int_equal(rig_end_ns(&g), 1 * SEC);
	rig_done(&g);
	/* at most a batch wakes at once; the others follow at the same instant */
	rig_run(&g, "--null-latency 5ms --think 15ms --qd 1000 --time 1s lun");
	assert_int_equal(rig_lun(&g, 0)->xfers, 1000 * 50);
	rig_done(&g);
}

/* Lanes of different speed rest each for themselves. */
static void each_place_rests_by_itself(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency list:1ms/1ms/6ms/1ms --think 9ms --qd 1 --time 1s lun");
	/* four rounds take 10 + 10 + 15 + 10 ms: 22 such, then ends at 991 and 1001 ms */
	assert_int_equal(rig_lun(&g, 0)->xfers, 89);
	rig_done(&g);
}

static void a_count_is_exact(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 5ms --think 15ms --qd 8 --count 101 a b");
	assert_string_equal(g.r.ended_by, "count");
	assert_int_equal(rig_lun(&g, 0)->xfers, 101);
	assert_int_equal(g.r.window_ns.v, 12 * 20 * MS + 5 * MS);
	rig_done(&g);
}

/* Nothing is in flight while all rest: that is no stall, and no gap. */
static void rest_is_no_silence(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 5ms --think 20s --qd 4 --time 100s lun");
	assert_int_equal(rig_lun(&g, 0)->xfers, 4 * 5);
	assert_int_equal(atomic_load(&g.board->lun_states[0].n_stalls), 0);
	assert_int_equal(g.worker.lanes[0].n_resting, 4);
	assert_int_equal(atomic_load(&g.board->lun_states[0].n_busy), 0);
	assert_true(g.r.is_complete);
	rig_done(&g);
}

/* Errors wait out their back-off and not the rest; a LUN that is given up takes its rests along. */
static void errors_and_lost_luns(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g,
		"--null-latency 1ms --null-script error:2:EIO --think 7ms --qd 1 --time 1s lun");
	/* good at 1, fails at 1 + 7 + 1, backs off 1 ms, good at 11: a round of 10 ms */
	assert_int_equal(rig_lun(&g, 0)->xfers, 100);
	assert_int_equal(rig_lun(&g, 0)->errors, 100);
	rig_done(&g);
	rig_run(&g, "--null-latency 5ms --null-script gone:100ms:ENODEV@0 --think 15ms --qd 4 "
		    "--time 1s a b");
	assert_int_equal(g.r.n_lost, 1);
	assert_int_equal(rig_lun(&g, 0)->xfers, 4 * 5);
	assert_int_equal(rig_lun(&g, 1)->xfers, 4 * 50);
	assert_int_equal(g.worker.n_left, 0);
	rig_done(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_round_is_latency_and_rest),
		cmocka_unit_test(each_place_rests_by_itself),
		cmocka_unit_test(a_count_is_exact),
		cmocka_unit_test(rest_is_no_silence),
		cmocka_unit_test(errors_and_lost_luns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
