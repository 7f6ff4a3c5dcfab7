/* Stalls, as events and in the result: on the virtual clock, and on boards made by hand. */
#include "made.h"
#include "worker_rig.h"

#include "pulse.h"
#include "watch.h"

static const struct lb_event *event(const struct rig *g, uint32_t i)
{
	assert_true(i < g->r.n_events);
	return g->r.events[i];
}

/* Event I is a stall of LUN from FROM to TO, by the window; TO 0: it lasts. */
static void assert_stall(
	const struct rig *g, uint32_t i, int lun, uint64_t from_ns, uint64_t to_ns, uint64_t n)
{
	const struct lb_event *ev = event(g, i);

	assert_int_equal(ev->kind, LB_EV_STALL);
	assert_int_equal(ev->lun, lun);
	assert_int_equal(ev->begin_ns - g->r.open_ns, from_ns);
	assert_int_equal(ev->n, n);
	if (to_ns)
		assert_int_equal(ev->end_ns - g->r.open_ns, to_ns);
	else
		assert_true(ev->end_ns == LB_NEVER);
}

static void a_stall_has_its_begin_and_end(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 1ms --null-script stall:2s:7300ms@1 --qd 4 --time 20s a b");
	assert_int_equal(g.r.n_events, 1);
	assert_stall(&g, 0, 1, 1999 * MS, 9300 * MS, 4);
	assert_int_equal(g.r.luns[1].silence.longest_ns.v, 7301 * MS);
	assert_true(g.r.luns[1].silence.longest_s.v == 1.999);
	assert_int_equal(g.r.luns[1].silence.n_stalls, 1);
	assert_int_equal(g.r.luns[1].silence.stalled_ns, 7301 * MS);
	assert_int_equal(g.r.luns[0].silence.n_stalls, 0);
	assert_int_equal(g.r.silence.longest_ns.v, 7301 * MS);
	assert_int_equal(g.r.silence.n_stalls, 1);
	assert_int_equal(g.r.status, 0);
	rig_done(&g);
}

static void what_is_shorter_is_none(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 1ms --null-script stall:2s:4998ms --qd 4 --time 20s a");
	assert_int_equal(g.r.n_events, 0);
	rig_done(&g);
	rig_run(&g, "--null-latency 1ms --null-script stall:2s:5s --qd 4 --time 20s a");
	assert_int_equal(g.r.n_events, 1);
	rig_done(&g);
	rig_run(&g, "--null-latency 1ms --null-script stall:2s:50ms --stall 20ms --time 20s a");
	assert_int_equal(g.r.n_events, 1);
	rig_done(&g);
}

static void several_stalls_add_up(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g,
		"--null-latency 1ms --null-script stall:2s:1s,stall:10s:2s --stall 500ms --qd 2 "
		"--time 20s a b");
	assert_int_equal(g.r.n_events, 4);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(g.r.luns[i].silence.n_stalls, 2);
		assert_int_equal(g.r.luns[i].silence.stalled_ns, 3002 * MS);
		assert_int_equal(g.r.luns[i].silence.longest_ns.v, 2001 * MS);
		assert_true(g.r.luns[i].silence.longest_s.v == 9.999);
	}
	assert_int_equal(g.r.silence.n_stalls, 4);
	assert_int_equal(g.r.silence.stalled_ns, 6004 * MS);
	rig_done(&g);
}

static void one_that_lasts_to_the_end_has_none(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 1ms --null-script dead:8s@0 --qd 3 --time 20s --drain 2s a b");
	assert_int_equal(g.r.n_events, 1);
	assert_stall(&g, 0, 0, 7999 * MS, 0, 3);
	assert_int_equal(g.r.luns[0].silence.stalled_ns, 12001 * MS); /* to the window's end */
	assert_int_equal(g.r.status, LB_ST_FAULTY);
	rig_done(&g);
}

/* Begun in the window, noticed after it. */
static void one_that_ends_in_the_drain_is_told_whole(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 1ms --null-script stall:8s:9s --qd 3 --time 10s a");
	assert_int_equal(g.r.n_events, 1);
	assert_stall(&g, 0, 0, 7999 * MS, 17 * SEC, 3);
	assert_int_equal(g.r.luns[0].silence.longest_ns.v, 2001 * MS); /* in the window */
	assert_int_equal(g.r.luns[0].silence.n_stalls, 0);
	rig_done(&g);
	rig_run(&g, "--null-latency 1ms --null-script stall:8s:9s --qd 3 --time 14s a");
	assert_stall(&g, 0, 0, 7999 * MS, 17 * SEC, 3);
	assert_int_equal(g.r.luns[0].silence.stalled_ns, 6001 * MS);
	assert_int_equal(g.r.luns[0].silence.n_stalls, 1);
	rig_done(&g);
}

/* What happened in the warm-up does not count. */
static void none_begins_before_the_window(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 1ms --null-script stall:1s:20s --qd 3 --ramp 10s --time 20s a");
	assert_int_equal(g.r.n_events, 1);
	assert_stall(&g, 0, 0, 0, 11 * SEC, 3);
	rig_done(&g);
	rig_run(&g, "--null-latency 1ms --null-script stall:1s:7s --ramp 10s --time 20s a");
	assert_int_equal(g.r.n_events, 0);
	rig_done(&g);
}

static void a_day_takes_no_time_and_no_room(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 30s --null-script stall:1h:12h@0 --stall 1m --time 1d a b");
	assert_int_equal(g.r.n_events, 1);
	assert_stall(&g, 0, 0, 3570 * SEC, 46800 * SEC, 32);
	rig_done(&g);
}

static void assert_burst(
	const struct rig *g, uint32_t i, int lun, uint64_t from_ns, uint64_t to_ns, uint64_t n)
{
	const struct lb_event *ev = event(g, i);

	assert_int_equal(ev->kind, LB_EV_ERRORS);
	assert_int_equal(ev->lun, lun);
	assert_int_equal(ev->begin_ns - g->r.open_ns, from_ns);
	assert_int_equal(ev->end_ns - g->r.open_ns, to_ns);
	assert_int_equal(ev->n, n);
}

/* One of a thousand fails, of 1000 a second: each is less than 5 s from the next. */
static void errors_are_one_event_until_there_are_none_for_a_while(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 1ms --null-script error:1000:EIO@1 --qd 1 --time 10s a b");
	assert_int_equal(g.r.n_events, 1);
	/* after each there is a pause of 1 ms */
	assert_burst(&g, 0, 1, SEC, 9 * SEC + 8 * MS, 9);
	rig_done(&g);
	rig_run(&g, "--null-latency 1s --null-script error:6:EIO@0 --qd 1 --time 20s a b");
	assert_int_equal(g.r.n_events, 3);
	assert_burst(&g, 0, 0, 6 * SEC, 6 * SEC, 1);
	assert_burst(&g, 1, 0, 12 * SEC + MS, 12 * SEC + MS, 1);
	assert_burst(&g, 2, 0, 18 * SEC + 2 * MS, 18 * SEC + 2 * MS, 1);
	rig_done(&g);
	rig_run(&g, "--null-latency 1s --null-script error:5:EIO@0 --qd 1 --time 20s a b");
	assert_burst(&g, 0, 0, 5 * SEC, 5 * SEC, 1); /* 5 s and 1 ms apart */
	rig_done(&g);
}

/* Nothing in flight is no gap, and what is in flight after that counts from its issue. */
static void an_idle_lun_does_not_stall(void **state)
{
	struct made *m = made_new(2, 1, 2);
	struct lb_lun_state *lun = &m->board.lun_states[0];
	uint64_t t = MADE_OPEN_NS;
	struct lb_watch *w;

	(void)state;
	m->board.stall_ns = 5 * SEC;
	assert_int_equal(lb_watch_make(&w, &m->board), 0);
	assert_int_equal(lb_watch_look(w, t - SEC), t); /* not before the window opens */
	for (uint64_t i = 0; i < 20; i++)               /* at leisure */
		assert_int_equal(lb_watch_look(w, t + i * SEC / 2), t + (i + 1) * SEC / 2);
	assert_int_equal(m->board.events.n, 0);
	m->board.ios[0].issue_ns = t + 10 * SEC;
	lb_pulse_begin(lun, t + 10 * SEC);
	assert_int_equal(lb_watch_look(w, t + 15 * SEC - 1), t + 15 * SEC);
	assert_int_equal(m->board.events.n, 0);
	assert_int_equal(lb_watch_look(w, t + 15 * SEC), t + 15 * SEC + 100 * MS); /* closely */
	assert_int_equal(m->board.events.n, 1);
	assert_int_equal(m->board.events.at[0].begin_ns, t + 10 * SEC);
	assert_int_equal(m->board.events.at[0].n, 1);
	lb_watch_done(w);
	made_done(m);
}

/*
 * A worker with three LUNs is in a call that submits, of I/O to LUN 0, and does not come out of it:
 * LUN 0 stalls, and the others only wait.
 */
static void who_is_held_does_not_stall(void **state)
{
	struct made *m = made_new(3, 1, 1);
	struct lb_lun_state *luns = m->board.lun_states;
	const struct lb_event *ev = m->board.events.at;
	uint64_t t = MADE_OPEN_NS, end_ns;
	struct lb_watch *w;

	(void)state;
	m->board.stall_ns = 5 * SEC;
	assert_int_equal(lb_watch_make(&w, &m->board), 0);
	for (uint32_t i = 0; i < 2; i++) { /* nothing is in flight on LUN 2 */
		luns[i].board = &m->board;
		lb_pulse_begin(&luns[i], t + SEC - i * MS);
		m->board.ios[i].issue_ns = t + SEC - i * MS;
	}
	m->board.workers[0].submit_call.since_ns = t + SEC;
	lb_watch_look(w, t + 2 * SEC - 1);
	assert_int_equal(m->board.events.n, 0);
	lb_watch_look(w, t + 2 * SEC);
	assert_int_equal(m->board.events.n, 1);
	assert_int_equal(ev->kind, LB_EV_HELD);
	assert_int_equal(ev->lun, 0);
	assert_int_equal(ev->begin_ns, t + SEC);
	assert_true(ev->end_ns == LB_NEVER);
	assert_int_equal(ev->n, 1);
	assert_string_equal(ev->what, "with it waited /dev/mapper/mpath1");
	lb_watch_look(w, t + 9 * SEC);
	assert_int_equal(m->board.events.n, 2); /* LUN 0 alone */
	assert_int_equal(ev[1].kind, LB_EV_STALL);
	assert_int_equal(ev[1].lun, 0);
	assert_true(lb_pulse_silent_since(&luns[1]) == LB_NEVER);

	m->board.workers[0].submit_call = (struct lb_submit_call){.until_ns = t + 10 * SEC};
	for (uint32_t i = 0; i < 2; i++)
		lb_pulse(&luns[i], t + 10 * SEC + MS);
	lb_watch_look(w, t + 10 * SEC + 2 * MS);
	assert_int_equal(ev->end_ns, t + 10 * SEC);
	assert_int_equal(ev[1].end_ns, t + 10 * SEC + MS);
	assert_int_equal(lb_pulse_take_gap(&luns[1], &end_ns), MS); /* up to where it was held */
	assert_int_equal(luns[1].n_stalls, 0);
	assert_int_equal(m->board.events.n, 2);
	lb_watch_done(w);
	made_done(m);
}

/* Which LUN of a batch holds the worker cannot be told. */
static void a_batch_of_several_is_named(void **state)
{
	struct made *m = made_new(9, 1, 1);
	const struct lb_event *ev = m->board.events.at;
	struct lb_watch *w;

	(void)state;
	assert_int_equal(lb_watch_make(&w, &m->board), 0);
	for (uint32_t i = 0; i < 9; i++) {
		lb_pulse_begin(&m->board.lun_states[i], MADE_OPEN_NS + i / 4);
		m->board.ios[i].issue_ns = MADE_OPEN_NS + i / 4;
		snprintf(m->names[i], sizeof(m->names[i]), "%c", 'a' + (char)i);
	}
	m->board.workers[0].submit_call.since_ns = MADE_OPEN_NS + SEC;
	m->board.ios[7].issue_ns = m->board.ios[8].issue_ns;
	lb_watch_look(w, MADE_OPEN_NS + 2 * SEC);
	assert_int_equal(ev->lun, LB_EVENT_OF_RUN);
	assert_int_equal(ev->n, 7);
	assert_string_equal(ev->what, "by one of h, i; with it waited a, b, c and 4 more");
	lb_watch_done(w);
	made_done(m);
}

/* What a LUN does not answer after its worker was let go is its own again. */
static void after_a_hold_silence_counts_again(void **state)
{
	struct made *m = made_new(1, 1, 1);
	struct lb_lun_state *lun = m->board.lun_states;
	uint64_t t = MADE_OPEN_NS, from, to;

	(void)state;
	m->board.stall_ns = 5 * SEC;
	lun->board = &m->board;
	lb_pulse_begin(lun, t);
	lb_pulse_held(lun, t + SEC);
	assert_true(lb_pulse_silent_since(lun) == LB_NEVER);
	assert_true(lb_pulse_last_gap(lun, t, t + 60 * SEC, &from, &to));
	assert_int_equal(from, t);
	assert_int_equal(to, t + SEC);
	lb_pulse_let_go(lun, t + 20 * SEC);
	assert_int_equal(lb_pulse_silent_since(lun), t + 20 * SEC);
	assert_true(lb_pulse_last_gap(lun, t, t + 60 * SEC, &from, &to));
	assert_int_equal(from, t + 20 * SEC);
	lb_pulse(lun, t + 27 * SEC);
	assert_int_equal(lun->longest_ns, 7 * SEC);
	assert_int_equal(lun->longest_end_ns, t + 27 * SEC);
	assert_int_equal(lun->stalls[0].from_ns, t + 20 * SEC);
	lb_pulse(lun, t + 40 * SEC); /* that was long ago */
	assert_int_equal(lun->longest_ns, 13 * SEC);
	made_done(m);
}

/* Between the moment that a stall is told of and the one that the LUN's time moves on. */
static void a_stall_is_told_once(void **state)
{
	struct made *m = made_new(1, 1, 1);
	struct lb_lun_state *lun = &m->board.lun_states[0];
	uint64_t t = MADE_OPEN_NS;
	struct lb_watch *w;

	(void)state;
	m->board.stall_ns = SEC;
	m->board.ios[0].issue_ns = t;
	assert_int_equal(lb_watch_make(&w, &m->board), 0);
	lb_pulse_begin(lun, t);
	lb_pulse_gap(lun, t, t + 3 * SEC);
	lb_watch_look(w, t + 3 * SEC);
	lb_watch_look(w, t + 3 * SEC + 1);
	assert_int_equal(m->board.events.n, 1);
	assert_int_equal(m->board.events.at[0].end_ns, t + 3 * SEC);
	lb_watch_done(w);
	made_done(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stall_has_its_begin_and_end),
		cmocka_unit_test(what_is_shorter_is_none),
		cmocka_unit_test(several_stalls_add_up),
		cmocka_unit_test(one_that_lasts_to_the_end_has_none),
		cmocka_unit_test(one_that_ends_in_the_drain_is_told_whole),
		cmocka_unit_test(none_begins_before_the_window),
		cmocka_unit_test(a_day_takes_no_time_and_no_room),
		cmocka_unit_test(errors_are_one_event_until_there_are_none_for_a_while),
		cmocka_unit_test(an_idle_lun_does_not_stall),
		cmocka_unit_test(who_is_held_does_not_stall),
		cmocka_unit_test(a_batch_of_several_is_named),
		cmocka_unit_test(after_a_hold_silence_counts_again),
		cmocka_unit_test(a_stall_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
