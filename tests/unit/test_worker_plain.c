/*
 * The plain loop, on the real clock: nothing is exact but the sums. A stand-in around the null
 * engine counts what is handed to it, and lets some of it fail.
 */
#include "worker_rig.h"

#include "hist.h"

static const struct lb_engine_ops *const null = &lb_engine_null;

static struct {
	uint64_t issued, good;
	uint64_t fail_from, fail_n, fail_every; /* of those issued, from 0; n, every 0: none */
	uint64_t last_issue_ns;
} seen;

/* Passes on what may succeed; a failed one returns with the next batch. */
static int stand_in(
	void *st, struct lb_io **ios, uint32_t n, uint32_t min, uint32_t max, uint64_t wait_ns)
{
	uint64_t before = seen.issued;
	int got;

	for (uint32_t i = 0; i < n; i++) {
		assert_true(ios[i]->issue_ns >= seen.last_issue_ns);
		seen.last_issue_ns = ios[i]->issue_ns;
		ios[i]->fd = seen.issued - seen.fail_from < seen.fail_n ||
			     (seen.fail_every && seen.issued % seen.fail_every == 0);
		seen.issued++;
	}
	assert_true(n <= LB_BATCH && max <= LB_BATCH);
	got = null->exchange(st, ios, n, min, max, wait_ns);
	for (int i = 0; i < got; i++) {
		seen.good += !ios[i]->fd;
		if (ios[i]->fd)
			ios[i]->res = -EIO;
	}
	assert_true(seen.issued == before + n);
	return got;
}

static struct lb_engine_ops ops;

/* QD on each of two LUNs, over a stand-in; the window is open, and closes after CLOSE_NS. */
static void plain_run(struct rig *g, const char *more, uint32_t caps, uint64_t close_ns)
{
	char line[200];
	uint64_t now;

	snprintf(line, sizeof(line), "--engine null --size 4k --workers 1 %s", more);
	rig_make(g, line, -1);
	assert_null(g->worker.control);
	ops = *null;
	ops.exchange = stand_in;
	ops.caps |= caps;
	ops.now = NULL;
	g->worker.ops = &ops;
	seen.issued = seen.good = seen.last_issue_ns = 0;
	now = lb_now_ns();
	atomic_store(&g->board->window.open_ns, now);
	atomic_store(&g->board->window.close_ns, close_ns == LB_NEVER ? LB_NEVER : now + close_ns);
	rig_loop(g);
	assert_int_equal(g->ret, 0);
	rig_result(g);
}

/* Whatever was issued is in exactly one figure. */
static void nothing_is_lost(const struct rig *g)
{
	uint64_t outside = 0;

	for (uint32_t l = 0; l < g->board->plan->n_lanes; l++)
		outside += lb_board_cell(g->board, l, LB_READ)->outside;
	assert_int_equal(g->r.total.ios_issued, seen.issued);
	assert_int_equal(g->r.total.xfers + outside + g->r.total.late, seen.good);
	assert_int_equal(g->r.total.errors, seen.issued - seen.good);
	assert_int_equal(lb_hist_total(&g->r.total.hist), g->r.total.xfers);
	assert_int_equal(g->r.total.bytes, g->r.total.xfers * 4096);
	assert_int_equal(g->r.total.outstanding, 0);
	for (uint32_t i = 0; i < g->board->plan->n_slots; i++)
		assert_int_equal(g->board->ios[i].issue_ns, 0);
}

static void every_transfer_is_in_one_figure(void **state)
{
	static const struct {
		const char *more;
		uint32_t caps, slots;
	} cases[] = {{"--qd 1 --time 1s a", 0, 1}, {"--qd 33 --time 1s a", 0, 33},
		{"--qd 64 --time 1s a b", 0, 128}, {"--qd 1 --time 1s a", LB_CAP_DEPTH_ONE, 1}};
	struct rig g;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		plain_run(&g, cases[i].more, cases[i].caps, 20 * MS);
		nothing_is_lost(&g);
		assert_true(g.r.total.xfers > 100);
		assert_int_equal(g.r.total.late, cases[i].slots);
		assert_int_equal(g.r.total.errors, 0);
		assert_int_equal(g.r.window_ns.v, 20 * MS);
		assert_true(g.r.total.lat.min_ns.v <= g.r.total.lat.pct_ns[LB_PCT_50].v);
		assert_true(g.r.total.lat.max_ns.v < 1000 * SEC);
		rig_done(&g);
	}
}

static void count_is_exact_without_a_shared_counter(void **state)
{
	static const uint64_t counts[] = {1, 32, 33, 64, 1000, 99999};
	char more[100];
	struct rig g;

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (uint32_t qd = 1; qd <= 64; qd += 21) {
			uint32_t caps = qd == 1 && i % 2 ? LB_CAP_DEPTH_ONE : 0;

			snprintf(more, sizeof(more), "--qd %u --count %llu a", qd,
				(unsigned long long)counts[i]);
			plain_run(&g, more, caps, LB_NEVER);
			nothing_is_lost(&g);
			assert_int_equal(g.r.total.xfers, counts[i]);
			assert_string_equal(g.r.ended_by, "count");
			rig_done(&g);
		}
	}
}

static void what_has_failed_is_issued_again(void **state)
{
	struct rig g;

	(void)state;
	for (uint32_t caps = 0; caps <= LB_CAP_DEPTH_ONE; caps += LB_CAP_DEPTH_ONE) {
		uint32_t slots = caps ? 1 : 96;

		/* as it begins, or later on: each place was in flight again at the end */
		for (seen.fail_from = 0; seen.fail_from <= 2000; seen.fail_from += 1000) {
			seen.fail_n = slots;
			plain_run(&g, caps ? "--qd 1 --time 1s a" : "--qd 48 --time 1s a b", caps,
				50 * MS);
			nothing_is_lost(&g);
			assert_int_equal(g.r.total.errors, slots);
			assert_int_equal(g.r.total.late, slots);
			assert_true(g.r.total.xfers > 1000);
			rig_done(&g);
		}
		seen.fail_n = 0;

		seen.fail_every = 7;
		plain_run(&g, caps ? "--qd 1 --time 1s a" : "--qd 48 --time 1s a b", caps, 50 * MS);
		nothing_is_lost(&g);
		assert_true(g.r.total.errors >= 3 && g.r.total.xfers >= 6 * (g.r.total.errors - 1));
		rig_done(&g);
		seen.fail_every = 0;
	}
}

static void backing_off_ends_with_the_window(void **state)
{
	struct rig g;
	uint64_t open, end;

	(void)state;
	seen.fail_every = 1;
	/* the 9th error comes after 255 ms, the next would after 511 */
	plain_run(&g, "--qd 2 --time 1s a", 0, 280 * MS);
	seen.fail_every = 0;
	open = atomic_load(&g.board->window.open_ns);
	end = g.board->virtual_end_ns - open;
	nothing_is_lost(&g);
	assert_in_range(end, 280 * MS, 480 * MS);
	assert_in_range(g.r.total.errors, 2, 18);
	assert_int_equal(g.r.total.late, 0);
	rig_done(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_transfer_is_in_one_figure),
		cmocka_unit_test(count_is_exact_without_a_shared_counter),
		cmocka_unit_test(what_has_failed_is_issued_again),
		cmocka_unit_test(backing_off_ends_with_the_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
