/* The pulse of a LUN: its gaps, to the nanosecond on the null engine's clock. */
#include "worker_rig.h"

#include "pulse.h"

static struct lb_lun_state *pulse(const struct rig *g, uint32_t lun)
{
	return &g->board->lun_states[lun];
}

static void a_stall_is_one_gap(void **state)
{
	struct rig g;
	struct lb_lun_state *s;
	uint64_t end_ns;

	(void)state;
	/* 4 deep, an answer each 5 ms; what is due from 1 s on comes 7 s later, on LUN 1 alone */
	rig_run(&g, "--null-latency 5ms --null-script stall:1s:7s@1 --qd 4 --time 10s a b");
	s = pulse(&g, 1);
	assert_int_equal(s->longest_ns, 8000 * MS - 995 * MS);
	assert_int_equal(s->longest_end_ns, T0 + 8 * SEC);
	assert_int_equal(s->stalled_ns, 7005 * MS);
	assert_int_equal(s->n_stalls, 1);
	assert_int_equal(s->stalls[0].from_ns, T0 + 995 * MS);
	assert_int_equal(s->stalls[0].to_ns, T0 + 8 * SEC);
	assert_int_equal(lb_pulse_take_gap(s, &end_ns), 0); /* the time series has it */
	assert_int_equal(lb_series_both(g.board->series, 1, 7)->gap_ns, 7005 * MS);
	assert_int_equal(s->last_ns, T0 + 9995 * MS); /* what came as the window closed is late */

	s = pulse(&g, 0);
	assert_int_equal(s->longest_ns, 5 * MS);
	assert_int_equal(s->stalled_ns, 0);
	assert_int_equal(s->n_stalls, 0);
	rig_done(&g);
}

static void a_gap_begins_in_the_window(void **state)
{
	struct rig g;

	(void)state;
	/* the stall lasts from the ramp, at 0.5 s, into the window, which opens at 2 s */
	rig_run(&g, "--null-latency 5ms --null-script stall:500ms:3s --qd 1 --ramp 2s --time 4s a");
	assert_int_equal(pulse(&g, 0)->longest_ns, 1500 * MS);
	assert_int_equal(pulse(&g, 0)->longest_end_ns, T0 + 3500 * MS);
	rig_done(&g);
}

static void an_idle_lun_has_no_gap(void **state)
{
	struct rig g;

	(void)state;
	/*
	 * Every I/O fails at once, and backs off up to a second: nothing is in flight meanwhile,
	 * and each gap is that of one I/O's 1 ms.
	 */
	rig_run(&g, "--null-latency 1ms --null-script error:1:EIO --qd 4 --time 30s a");
	assert_int_equal(pulse(&g, 0)->longest_ns, MS);
	assert_int_equal(pulse(&g, 0)->n_busy, 0);
	assert_int_equal(lb_pulse_silent_since(pulse(&g, 0)), LB_NEVER);
	rig_done(&g);
}

static void errors_are_answers(void **state)
{
	struct rig g;

	(void)state;
	/* 10 ms apart, good or not; the one that backs off is not alone */
	rig_run(&g, "--null-latency 10ms --null-script error:3:EIO --qd 2 --time 5s a");
	assert_in_range(pulse(&g, 0)->longest_ns, 1, 10 * MS);
	assert_int_equal(pulse(&g, 0)->n_busy, 1);
	rig_done(&g);
}

static void silence_lasts(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 5ms --null-script dead:2s --qd 4 --time 9s --drain 1s a");
	assert_int_equal(pulse(&g, 0)->longest_ns, 5 * MS);
	assert_int_equal(lb_pulse_silent_since(pulse(&g, 0)), T0 + 1995 * MS);
	rig_done(&g);
}

static void the_last_stalls_are_kept(void **state)
{
	char line[400] = "--null-latency 10ms --qd 1 --time 200s --null-script stall:1s:5s";
	struct rig g;
	const struct lb_lun_state *s;

	(void)state;
	for (uint32_t i = 1; i < 20; i++)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), ",stall:%us:5s",
			1 + 7 * i);
	strcat(line, " a");
	rig_run(&g, line);
	s = pulse(&g, 0);
	assert_int_equal(s->n_stalls, 20);
	assert_int_equal(s->stalled_ns, 20 * 5010 * MS);
	for (uint32_t i = 20 - LB_STALLS; i < 20; i++) {
		assert_int_equal(
			s->stalls[i % LB_STALLS].from_ns, T0 + (1 + 7 * i) * SEC - 10 * MS);
		assert_int_equal(s->stalls[i % LB_STALLS].to_ns, T0 + (6 + 7 * i) * SEC);
	}
	rig_done(&g);
}

/* Lanes that share a LUN, by hand: nothing is written until last_ns is old. */
static void shared_luns_are_exact_to_a_step(void **state)
{
	struct lb_board b = {.window.open_ns = SEC, .stall_ns = 5 * SEC};
	struct lb_lun_state lun = {.board = &b};

	(void)state;
	lb_pulse_begin(&lun, 2 * SEC);
	lb_pulse_begin(&lun, 3 * SEC); /* a second lane: it is not idle */
	assert_int_equal(lb_pulse_silent_since(&lun), 2 * SEC);
	lb_pulse_shared(&lun, 2 * SEC + LB_PULSE_STEP_NS);
	assert_int_equal(lun.last_ns, 2 * SEC);
	lb_pulse_shared(&lun, 2 * SEC + LB_PULSE_STEP_NS + 1);
	assert_int_equal(lun.last_ns, 2 * SEC + LB_PULSE_STEP_NS + 1);
	assert_int_equal(lun.longest_ns, LB_PULSE_STEP_NS + 1);
	lb_pulse_shared(&lun, 2 * SEC); /* stamped before, and come too late */
	assert_int_equal(lun.last_ns, 2 * SEC + LB_PULSE_STEP_NS + 1);
	lb_pulse_move(&lun, 2 * SEC, 9 * SEC); /* another has moved it meanwhile */
	assert_int_equal(lun.longest_ns, LB_PULSE_STEP_NS + 1);
	lb_pulse_shared(&lun, 9 * SEC);
	assert_int_equal(lun.longest_ns, 7 * SEC - LB_PULSE_STEP_NS - 1);
	assert_int_equal(lun.n_stalls, 1);
	lb_pulse_rest(&lun);
	assert_int_equal(lb_pulse_silent_since(&lun), 9 * SEC);
	lb_pulse_rest(&lun);
	assert_int_equal(lb_pulse_silent_since(&lun), LB_NEVER);
	lb_pulse_begin(&lun, 20 * SEC);
	assert_int_equal(lb_pulse_silent_since(&lun), 20 * SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stall_is_one_gap),
		cmocka_unit_test(a_gap_begins_in_the_window),
		cmocka_unit_test(an_idle_lun_has_no_gap),
		cmocka_unit_test(errors_are_answers),
		cmocka_unit_test(silence_lasts),
		cmocka_unit_test(the_last_stalls_are_kept),
		cmocka_unit_test(shared_luns_are_exact_to_a_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
