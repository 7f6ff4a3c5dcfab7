/* The time series: each point to the exact figure, sums that are the window's, merging. */
#include "worker_rig.h"

#include "sampler.h"

static const struct lb_point *point(const struct rig *g, uint32_t row, uint32_t i)
{
	assert_true(i < g->board->series->n);
	return lb_series_point(g->board->series, row, 0, i);
}

static uint64_t end_ns(const struct rig *g, uint32_t i)
{
	return g->board->series->end_ns[i] - g->board->series->begin_ns;
}

/* Row ROW, by position POS, against FIG: what adds up does so exactly. */
static void row_is_whole(
	const struct rig *g, uint32_t row, uint32_t pos, const struct lb_figures *fig)
{
	const struct lb_series *s = g->board->series;
	struct lb_point sum = {0};

	for (uint32_t i = 0; i < s->n; i++) {
		const struct lb_point *p = lb_series_point(s, row, pos, i);

		sum.xfers += p->xfers;
		sum.bytes += p->bytes;
		sum.errors += p->errors;
		if (p->max_ns > sum.max_ns)
			sum.max_ns = p->max_ns;
	}
	assert_int_equal(sum.xfers, fig->xfers);
	assert_int_equal(sum.bytes, fig->bytes);
	assert_int_equal(sum.errors, fig->errors - fig->errors_outside);
	if (fig->xfers && !fig->lat.max_is_bound)
		assert_int_equal(sum.max_ns, fig->lat.max_ns.v);
}

static void hists_are_whole(const struct rig *g, uint32_t pos, const struct lb_figures *fig)
{
	const struct lb_series *s = g->board->series;
	struct lb_hist all = {{0}};

	for (uint32_t i = 0; i < s->n; i++) {
		const struct lb_hist *h = &s->total[pos * s->room + i];

		assert_int_equal(
			lb_hist_total(h), lb_series_point(s, s->n_rows - 1, pos, i)->xfers);
		lb_hist_add(&all, h);
	}
	assert_memory_equal(&all, &fig->hist, sizeof(all));
}

static void is_whole(const struct rig *g)
{
	const struct lb_series *s = g->board->series;

	assert_int_equal(s->begin_ns, atomic_load(&g->board->window.open_ns));
	assert_true(s->n > 0);
	assert_int_equal(end_ns(g, s->n - 1), g->r.window_ns.v);
	for (enum lb_op op = LB_READ; op < LB_OPS; op++) {
		uint32_t pos = (uint32_t)s->pos[op];

		if (s->pos[op] < 0)
			continue;
		for (uint32_t i = 0; i < g->r.n_luns; i++)
			row_is_whole(g, i, pos, g->r.luns[i].op[op]);
		row_is_whole(g, g->r.n_luns, pos, g->r.op[op]);
		hists_are_whole(g, pos, g->r.op[op]);
	}
}

static void each_interval_to_the_exact_figure(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 5ms --qd 4 --time 10s a b");
	assert_int_equal(g.board->series->n, 10);
	assert_int_equal(g.board->series->interval_ns, SEC);
	for (uint32_t i = 0; i < 10; i++) {
		/* what comes back at an interval's end is in it, but not at the window's */
		uint64_t xfers = i < 9 ? 4 * 200 : 4 * 199;

		assert_int_equal(end_ns(&g, i), (i + 1) * SEC);
		for (uint32_t row = 0; row < 3; row++) {
			const struct lb_point *p = point(&g, row, i);
			uint32_t n = row < 2 ? 1 : 2;

			assert_int_equal(p->xfers, n * xfers);
			assert_int_equal(p->bytes, n * xfers * 4096);
			assert_int_equal(p->sum_ns, n * xfers * 5 * MS);
			assert_int_equal(p->errors, 0);
			assert_int_equal(p->max_ns, 5 * MS);
			assert_int_equal(p->p50_ns, 5 * MS);
			assert_int_equal(p->p99_ns, 5 * MS);
			assert_int_equal(lb_series_both(g.board->series, row, i)->in_flight, n * 4);
		}
	}
	is_whole(&g);
	rig_done(&g);
}

static void nothing_counts_as_zero(void **state)
{
	struct rig g;
	const struct lb_point_both *total;

	(void)state;
	/* what would come back from 2 s on waits until 5 s, on the second LUN */
	rig_run(&g, "--null-latency 10ms --null-script stall:2s:3s@1 --qd 2 --time 8s a b");
	assert_int_equal(g.board->series->n, 8);
	for (uint32_t i = 0; i < 8; i++) {
		const struct lb_point *p = point(&g, 1, i);
		bool is_stalled = i >= 2 && i < 4;

		total = lb_series_both(g.board->series, 2, i);
		assert_int_equal(total->n_silent, is_stalled);
		assert_int_equal(total->in_flight, 4);
		assert_int_equal(p->xfers == 0, is_stalled);
		/* the last answer before came 10 ms before 2 s */
		assert_int_equal(lb_series_both(g.board->series, 1, i)->gap_ns,
			is_stalled ? (i - 1) * SEC + 10 * MS
			: i == 4   ? 3 * SEC + 10 * MS
				   : 10 * MS);
		if (is_stalled)
			assert_int_equal(
				p->bytes + p->sum_ns + p->max_ns + p->p50_ns + p->p99_ns, 0);
		assert_int_equal(point(&g, 2, i)->xfers, point(&g, 0, i)->xfers + p->xfers);
	}
	/* at 5 s, when they come back, the fifth interval ends */
	assert_int_equal(point(&g, 1, 4)->xfers, 2);
	assert_int_equal(point(&g, 1, 4)->max_ns, 3 * SEC + 10 * MS);
	assert_in_range(point(&g, 1, 5)->max_ns, 10 * MS, 10 * MS + 10 * MS / 64);
	is_whole(&g);
	rig_done(&g);
}

static void the_last_one_may_be_shorter(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 10ms --qd 1 --interval 700ms --ramp 3s --time 2s a");
	assert_int_equal(g.board->series->n, 3);
	assert_int_equal(end_ns(&g, 0), 700 * MS);
	assert_int_equal(end_ns(&g, 1), 1400 * MS);
	assert_int_equal(end_ns(&g, 2), 2000 * MS);
	/* the one that comes back as the window opens is in the window */
	assert_int_equal(point(&g, 0, 0)->xfers, 71);
	assert_int_equal(point(&g, 0, 1)->xfers, 70);
	assert_int_equal(point(&g, 0, 2)->xfers, 59);
	is_whole(&g);
	rig_done(&g);
}

static void sums_are_the_windows(void **state)
{
	static const char *const lines[] = {
		"--null-latency exp:1ms --qd 33 --count 12345 a b c",
		/* the batch that has the last one comes at an interval's end, in two parts */
		"--null-latency 10ms --qd 64 --interval 100ms --count 640 a",
		"--null-latency 10ms --qd 64 --interval 100ms --count 600 a",
		"--null-latency exp:1ms --null-script error:7:EIO,short:11:512 --qd 3 --time 1s a",
		"--null-latency exp:100us --null-script slow:99@1 --interval 10ms --time 777ms a b",
		"--null-latency list:1ms/5s --qd 2 --interval 10ms --time 20s a b",
		"--null-latency 30ms --null-script dead:2s --qd 2 --interval 1s --count 9999 a",
		"--null-latency 3ms --time 1us a",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct rig g;

		rig_run(&g, lines[i]);
		is_whole(&g);
		rig_done(&g);
	}
}

static void a_day_in_as_much_memory_as_an_hour(void **state)
{
	struct rig g;
	const struct lb_series *s;

	(void)state;
	rig_run(&g, "--null-latency list:90ms/110ms --qd 1 --time 1d a");
	s = g.board->series;
	assert_int_equal(s->room, LB_SERIES_MOST);
	assert_int_equal(s->interval_ns, 32 * SEC);
	assert_int_equal(s->n, 86400 / 32);
	assert_true(g.shm.used <= g.shm.size);
	for (uint32_t i = 0; i < s->n; i++) {
		assert_int_equal(end_ns(&g, i), (i + 1) * 32 * SEC);
		assert_int_equal(point(&g, 0, i)->xfers, i + 1 < s->n ? 320 : 319);
		assert_int_equal(point(&g, 0, i)->max_ns, 110 * MS);
		assert_int_equal(point(&g, 0, i)->p50_ns, 0); /* cannot be told any more, */
		assert_int_equal(point(&g, 0, i)->p99_ns, 0);
		/* but of all together */
		assert_in_range(point(&g, 1, i)->p50_ns, 90 * MS, 90 * MS + 90 * MS / 64);
		assert_int_equal(point(&g, 1, i)->p99_ns, 110 * MS);
	}
	is_whole(&g);
	rig_done(&g);
}

static void room_is_for_a_million_points_of_all_luns(void **state)
{
	(void)state;
	assert_int_equal(lb_series_room(1, SEC, 0), 3600);
	assert_int_equal(lb_series_room(277, SEC, 0), 3600);
	assert_int_equal(lb_series_room(1000, SEC, 0), 1000);
	assert_int_equal(lb_series_room(999, SEC, 0), 1002);
	assert_int_equal(lb_series_room(1000000, SEC, 0), 4);
	assert_int_equal(lb_series_room(1, SEC, 30 * SEC), 32);
	assert_int_equal(lb_series_room(1, SEC, 30 * SEC + 1), 32);
	assert_int_equal(lb_series_room(1, 10 * SEC, SEC), 4);
	assert_int_equal(lb_series_room(1000, SEC, 365 * 86400 * SEC), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_interval_to_the_exact_figure),
		cmocka_unit_test(nothing_counts_as_zero),
		cmocka_unit_test(the_last_one_may_be_shorter),
		cmocka_unit_test(sums_are_the_windows),
		cmocka_unit_test(a_day_in_as_much_memory_as_an_hour),
		cmocka_unit_test(room_is_for_a_million_points_of_all_luns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
