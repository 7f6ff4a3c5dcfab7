/*
 * The plain loop, on the real clock: nothing is exact but the sums. A stand-in around the null
 * engine counts what is handed to it, lets some of it fail, and closes the window after a number of
 * transfers, so that no test depends on how fast it runs.
 */
#include "worker_rig.h"

#include "hist.h"

static const struct lb_engine_ops *const null = &lb_engine_null;

static struct {
	struct lb_board *board;
	struct lb_window *window;
	uint64_t retire_at;      /* this many issued: the last LUN is given up; 0: never */
	uint64_t issued_to_lost; /* in calls after that one */
	uint64_t issued, good;
	uint64_t fail_from, fail_n, fail_every; /* of those issued, from 0; n, every 0: none */
	uint64_t close_at;                      /* this many issued; 0: never */
	uint64_t last_issue_ns, last_wait_ns;
	uint64_t last_error_ns;
	uint32_t calls_since; /* calls since 2 ms after the last error */
} seen;

/* Enough is done, and all that has failed has had its time and its turn to be issued again. */
static bool is_enough(uint64_t now)
{
	if (!seen.close_at || seen.issued < seen.close_at)
		return false;
	if (seen.fail_every)
		return true;
	return now > seen.last_error_ns + 2 * MS && ++seen.calls_since > 100;
}

static int stand_in(
	void *st, struct lb_io **ios, uint32_t n, uint32_t min, uint32_t max, uint64_t wait_ns)
{
	int got;

	assert_true(n <= LB_BATCH && max <= LB_BATCH);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(ios[i]->issue_ns >= seen.last_issue_ns);
		seen.last_issue_ns = ios[i]->issue_ns;
		ios[i]->fd = seen.issued - seen.fail_from < seen.fail_n ||
			     (seen.fail_every && seen.issued % seen.fail_every == 0);
		seen.issued++;
	}
	if (wait_ns != LB_NEVER)
		seen.last_wait_ns = wait_ns;
	for (uint32_t i = 0; i < n && seen.board->n_retired; i++)
		seen.issued_to_lost += ios[i]->lun == seen.board->n_luns - 1;
	if (seen.retire_at && seen.issued >= seen.retire_at)
		lb_lun_retire(seen.board, seen.board->n_luns - 1, lb_now_ns(), "told so");
	got = null->exchange(st, ios, n, min, max, wait_ns);
	for (int i = 0; i < got; i++) {
		seen.good += !ios[i]->fd;
		if (!ios[i]->fd)
			continue;
		ios[i]->res = -EIO;
		seen.last_error_ns = lb_now_ns();
		seen.calls_since = 0;
	}
	if (is_enough(lb_now_ns()))
		lb_window_close(seen.window, NULL, NULL);
	return got;
}

static struct lb_engine_ops ops;

/* Over the stand-in; the window is open, and closes after CLOSE_NS or as the stand-in sees fit. */
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
	seen.board = g->board;
	seen.window = &g->board->window;
	seen.issued_to_lost = 0;
	seen.issued = seen.good = seen.last_issue_ns = seen.last_error_ns = seen.calls_since = 0;
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
		seen.close_at = 20000;
		plain_run(&g, cases[i].more, cases[i].caps, LB_NEVER);
		seen.close_at = 0;
		nothing_is_lost(&g);
		assert_true(g.r.total.xfers > 19000);
		assert_int_equal(g.r.total.late, cases[i].slots); /* it closes between two looks */
		assert_int_equal(g.r.total.errors, 0);
		assert_true(g.r.total.lat.min_ns.v <= g.r.total.lat.pct_ns[LB_PCT_50].v);
		assert_true(g.r.total.lat.max_ns.v <= rig_now(&g) - g.board->window.start_ns);
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
		const char *more = caps ? "--qd 1 --time 1s a" : "--qd 48 --time 1s a b";
		uint32_t slots = caps ? 1 : 96;

		/* as it begins, or later on: each place was in flight again at the end */
		seen.close_at = 5000;
		for (seen.fail_from = 0; seen.fail_from <= 2000; seen.fail_from += 1000) {
			seen.fail_n = slots;
			plain_run(&g, more, caps, LB_NEVER);
			nothing_is_lost(&g);
			assert_int_equal(g.r.total.errors, slots);
			assert_int_equal(g.r.total.late, slots);
			rig_done(&g);
		}
		seen.fail_n = 0;

		seen.close_at = 700;
		seen.fail_every = 7;
		plain_run(&g, more, caps, LB_NEVER);
		nothing_is_lost(&g);
		assert_in_range(g.r.total.errors, 100, 120);
		rig_done(&g);
		seen.fail_every = seen.close_at = 0;
	}
}

/* As another thread or process would: in the middle of the plain loop. */
static void a_lun_is_given_up_from_outside(void **state)
{
	struct rig g;

	(void)state;
	seen.retire_at = 5000;
	seen.close_at = 20000;
	plain_run(&g, "--qd 33 --time 1s a b c", 0, LB_NEVER);
	nothing_is_lost(&g);
	assert_int_equal(seen.issued_to_lost, 0);
	assert_in_range(rig_lun(&g, 2)->ios_issued, 5000 / 3 - 64, 5000 / 3 + 64);
	assert_true(rig_lun(&g, 0)->xfers > 9000);
	assert_int_equal(g.worker.n_lost, 0);
	rig_done(&g);
	/* with one place in flight: all are lost, and the loop ends */
	plain_run(&g, "--qd 1 --time 1s a", LB_CAP_DEPTH_ONE, LB_NEVER);
	nothing_is_lost(&g);
	assert_int_equal(seen.issued, 5000);
	assert_string_equal(g.r.ended_by, "lost");
	rig_done(&g);
	seen.retire_at = seen.close_at = 0;
}

static void backing_off_ends_with_the_window(void **state)
{
	struct rig g;

	(void)state;
	seen.fail_every = 1;
	plain_run(&g, "--qd 2 --time 1s a", 0, 100 * MS);
	seen.fail_every = 0;
	nothing_is_lost(&g);
	/* the last wait, after the error at 63 ms or later, was not for the back-off's end */
	assert_true(
		seen.last_issue_ns + seen.last_wait_ns <= atomic_load(&g.board->window.close_ns));
	assert_true(rig_now(&g) >= atomic_load(&g.board->window.close_ns));
	assert_in_range(g.r.total.errors, 2, 14);
	assert_int_equal(g.r.total.late, 0);
	rig_done(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_transfer_is_in_one_figure),
		cmocka_unit_test(count_is_exact_without_a_shared_counter),
		cmocka_unit_test(what_has_failed_is_issued_again),
		cmocka_unit_test(a_lun_is_given_up_from_outside),
		cmocka_unit_test(backing_off_ends_with_the_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
