/* Steady state: the verdict by hand-worked cases, and runs that come to it, to the exact time. */
#include "worker_rig.h"

#include "steady.h"

static void the_verdict_by_hand(void **state)
{
	static const struct {
		double v[LB_STEADY_WINDOWS], mean, range_pct, slope_pct;
		bool is_steady;
	} cases[] = {
		{{100, 100, 100, 100, 100}, 100, 0, 0, true},
		/* at both bounds, and past them */
		{{90, 110, 100, 100, 100}, 100, 20, 4, true},
		{{90, 110.5, 99.5, 100, 100}, 100, 20.5, 3.8, false},
		{{95, 97.5, 100, 102.5, 105}, 100, 10, 10, true},
		{{105, 102.5, 100, 97.5, 95}, 100, 10, 10, true},
		{{94, 97, 100, 103, 106}, 100, 12, 12, false},
		{{106, 103, 100, 97, 94}, 100, 12, 12, false},
		/* a single step that both tell of */
		{{120, 100, 100, 100, 80}, 100, 40, 32, false},
		/* up and down: the line is level, the range is not */
		{{80, 120, 100, 120, 80}, 100, 40, 0, false},
		{{0, 0, 0, 0, 0}, 0, 0, 0, false},
		{{0, 0, 0, 0, 5}, 1, 500, 400, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct lb_steady_fit fit = lb_steady_judge(cases[i].v);

		assert_float_equal(fit.mean, cases[i].mean, 1e-9);
		assert_float_equal(fit.range_pct, cases[i].range_pct, 1e-9);
		assert_float_equal(fit.slope_pct, cases[i].slope_pct, 1e-9);
		assert_int_equal(fit.is_steady, cases[i].is_steady);
	}
}

static uint64_t series_xfers(const struct rig *g)
{
	const struct lb_series *s = g->board->series;
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		n += lb_series_point(s, s->n_rows - 1, 0, i)->xfers;
	return n;
}

static void ends_with_the_fifth_steady_window(void **state)
{
	struct rig g;
	const struct lb_steady *steady;

	(void)state;
	/* nothing until 5 s, then 100 a second: of windows of 2 s the fourth is the first whole */
	rig_run(&g, "--null-latency 10ms --null-script stall:0s:5s --qd 1 --until steady "
		    "--steady-window 2s --max-time 1h a");
	steady = &g.r.steady;
	assert_true(steady->is_reached);
	assert_int_equal(g.r.window_ns.v, 16 * SEC);
	assert_int_equal(steady->n, LB_STEADY_WINDOWS);
	for (uint32_t i = 0; i < LB_STEADY_WINDOWS; i++) {
		assert_int_equal(steady->end_ns[i] - T0, (8 + 2 * i) * SEC);
		assert_true(steady->value[i] == 100);
	}
	assert_string_equal(g.r.ended_by, "steady");
	assert_true(g.r.is_complete);
	assert_int_equal(g.r.status, 0);
	assert_int_equal(g.r.total.xfers, 1101); /* from 5 s to 16 s, both of them in it */
	assert_int_equal(series_xfers(&g), g.r.total.xfers);
	assert_int_equal(g.board->series->end_ns[g.board->series->n - 1] - T0, 16 * SEC);
	assert_int_equal(lb_events_n(&g.board->events), 2); /* the stall before */
	assert_int_equal(g.board->events.at[1].kind, LB_EV_STEADY);
	assert_int_equal(g.board->events.at[1].begin_ns - T0, 16 * SEC);
	rig_done(&g);
}

static void is_judged_by_what_was_asked(void **state)
{
	static const struct {
		const char *on;
		double value;
	} cases[] = {{"xfer", 400}, {"kb", 1600}};
	struct rig g;
	char line[200];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		snprintf(line, sizeof(line),
			"--null-latency 10ms --qd 2 --until steady --steady-on %s --steady-window 1s "
			"--interval 250ms a b",
			cases[i].on);
		rig_run(&g, line);
		assert_true(g.r.steady.is_reached);
		assert_true(g.r.steady.value[4] == cases[i].value);
		assert_int_equal(g.r.window_ns.v, 5 * SEC);
		rig_done(&g);
	}
	rig_run(&g,
		"--null-latency 10ms --qd 2 --until steady --steady-on p99 --steady-window 1s a");
	assert_true(g.r.steady.is_reached);
	assert_in_range((uint64_t)g.r.steady.value[4], 10 * MS, 10 * MS + 10 * MS / 64);
	rig_done(&g);
	/* too few for a 99th percentile are never steady */
	rig_run(&g, "--null-latency 20ms --qd 1 --until steady --steady-on p99 --steady-window 1s "
		    "--max-time 9s a");
	assert_false(g.r.steady.is_reached);
	assert_true(g.r.steady.value[4] == 0);
	rig_done(&g);
}

static void the_last_moment_counts(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g,
		"--null-latency 10ms --qd 1 --until steady --steady-window 2s --max-time 10s a");
	assert_true(g.r.steady.is_reached);
	assert_string_equal(g.r.ended_by, "steady");
	assert_int_equal(g.r.window_ns.v, 10 * SEC);
	assert_true(
		g.r.steady.value[4] == 99.5); /* what comes back at its end is not in a window */
	assert_int_equal(g.r.status, 0);
	rig_done(&g);
}

static void a_requirement_that_is_not_met(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency list:1ms/3s --qd 1 --until steady --steady-window 2s "
		    "--max-time 31s a");
	assert_false(g.r.steady.is_reached);
	assert_string_equal(g.r.ended_by, "time");
	assert_true(g.r.is_complete);
	assert_int_equal(g.r.window_ns.v, 31 * SEC);
	assert_int_equal(g.r.status, 1);
	assert_int_equal(g.r.steady.n, LB_STEADY_WINDOWS);
	assert_int_equal(g.r.steady.end_ns[4] - T0, 30 * SEC); /* the last whole one */
	assert_true(g.r.n_findings > 0);
	assert_string_equal(g.r.findings[0].code, "not-steady");
	assert_int_equal(lb_events_n(&g.board->events), 0);
	rig_done(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_verdict_by_hand),
		cmocka_unit_test(ends_with_the_fifth_steady_window),
		cmocka_unit_test(is_judged_by_what_was_asked),
		cmocka_unit_test(the_last_moment_counts),
		cmocka_unit_test(a_requirement_that_is_not_met),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
