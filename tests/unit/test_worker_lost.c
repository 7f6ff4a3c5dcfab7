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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_more_is_issued),
		cmocka_unit_test(when_all_are_given_up_the_run_ends),
		cmocka_unit_test(what_waits_is_dropped),
		cmocka_unit_test(before_the_first_io),
		cmocka_unit_test(what_never_returns_is_outstanding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
