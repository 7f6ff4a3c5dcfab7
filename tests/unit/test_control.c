/* When the window opens and closes, and how long what is in flight is waited for. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "control.h"
#include "made.h"

#define START_NS (MADE_OPEN_NS - 100 * SEC)
#define LEAD_NS  (2 * MS)

/* Two workers with a LUN each, not begun; TIME_NS and COUNT may be 0. */
struct bench {
	struct made *m;
	struct lb_control c;
	struct lb_window *w;
	struct lb_worker_state *workers;
};

static void begin(struct bench *b, uint64_t time_ns, uint64_t count, uint64_t ramp_ns)
{
	b->m = made_new(2, 2, 1);
	b->m->phase.time_ns = time_ns;
	b->m->phase.count = count;
	b->m->phase.ramp_ns = ramp_ns;
	b->w = &b->m->board.window;
	*b->w = (struct lb_window){.start_ns = START_NS, .open_ns = LB_NEVER, .close_ns = LB_NEVER};
	b->workers = b->m->board.workers;
	b->workers[0].n_started = b->workers[1].n_started = 0;
	assert_int_equal(lb_control_init(&b->c, &b->m->board, 4 * SEC, LEAD_NS), 0);
	lb_control_done(&b->c); /* here it only decides: what it takes along has tests of its own */
}

/* At START_NS + NOW; returns when to look again, counted from there. */
static uint64_t step(struct bench *b, uint64_t now)
{
	uint64_t next = lb_control_step(&b->c, START_NS + now);

	return next == LB_NEVER ? LB_NEVER : next - START_NS;
}

static void start_all(struct bench *b)
{
	b->workers[0].n_started = b->workers[1].n_started = 1;
}

static void set_ended(struct bench *b, int worker)
{
	b->workers[worker].has_closed = 1;
	b->workers[worker].has_ended = 1;
}

static void opens_when_all_have_started(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 10 * SEC, 0, 3 * SEC);
	assert_int_equal(step(&b, 0), 5 * SEC);
	b.workers[0].n_started = 1;
	assert_int_equal(step(&b, MS), 5 * SEC);
	assert_int_equal(b.c.state, LB_CTL_STARTING);
	assert_true(b.w->open_ns == LB_NEVER);
	start_all(&b);
	/* ahead of its coming, so that everyone knows in time */
	assert_int_equal(step(&b, 7 * MS), 3 * SEC + 9 * MS + 10 * SEC);
	assert_int_equal(b.w->open_ns, START_NS + 3 * SEC + 9 * MS);
	assert_int_equal(b.w->close_ns, START_NS + 13 * SEC + 9 * MS);
	assert_int_equal(b.c.state, LB_CTL_MEASURING);
	made_done(b.m);
}

static void opens_without_the_stalled_after_5_s(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 10 * SEC, 0, 0);
	b.workers[1].n_started = 1;
	step(&b, 5 * SEC - 1);
	assert_int_equal(b.c.state, LB_CTL_STARTING);
	step(&b, 5 * SEC);
	assert_int_equal(b.c.state, LB_CTL_MEASURING);
	assert_int_equal(b.w->open_ns, START_NS + 5 * SEC + LEAD_NS);
	made_done(b.m);
}

static void ends_when_nothing_is_in_flight(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, SEC, 0, 0);
	start_all(&b);
	assert_int_equal(step(&b, 0), SEC + LEAD_NS);
	step(&b, SEC + LEAD_NS - 1);
	assert_int_equal(b.c.state, LB_CTL_MEASURING);
	assert_int_equal(step(&b, SEC + LEAD_NS), SEC + LEAD_NS + 100 * MS);
	assert_int_equal(b.c.state, LB_CTL_DRAINING);
	set_ended(&b, 0);
	step(&b, 2 * SEC);
	assert_int_equal(b.c.state, LB_CTL_DRAINING);
	set_ended(&b, 1);
	assert_true(step(&b, 3 * SEC) == LB_NEVER);
	assert_int_equal(b.c.state, LB_CTL_OVER);
	assert_false(b.c.timed_out);
	made_done(b.m);
}

static void the_drain_is_as_long_as_was_asked(void **state)
{
	struct bench b;
	uint64_t end = SEC + LEAD_NS + 4 * SEC;

	(void)state;
	begin(&b, SEC, 0, 0);
	start_all(&b);
	step(&b, 0);
	step(&b, SEC + LEAD_NS);
	set_ended(&b, 0);
	assert_int_equal(step(&b, end - 1), end);
	assert_int_equal(b.c.state, LB_CTL_DRAINING);
	step(&b, end);
	assert_int_equal(b.c.state, LB_CTL_OVER);
	assert_true(b.c.timed_out);
	made_done(b.m);
}

static void a_signal_leaves_its_own_time(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, SEC, 0, 0);
	start_all(&b);
	step(&b, 0);
	step(&b, SEC + LEAD_NS);
	b.c.hurry_ns = START_NS + 2 * SEC;
	assert_int_equal(step(&b, 2 * SEC - 1), 2 * SEC);
	step(&b, 2 * SEC);
	assert_int_equal(b.c.state, LB_CTL_OVER);
	assert_true(b.c.timed_out);
	made_done(b.m);
}

/* A worker that only came late to the clock has a moment to leave its cells whole. */
static void without_a_drain_workers_may_still_see_the_end(void **state)
{
	struct bench b;
	uint64_t end = SEC + LEAD_NS;

	(void)state;
	for (int seen = 0; seen < 2; seen++) {
		begin(&b, SEC, 0, 0);
		b.c.drain_ns = 0;
		start_all(&b);
		step(&b, 0);
		b.workers[0].has_closed = 1;
		step(&b, end);
		step(&b, end + 100 * MS - 1);
		assert_int_equal(b.c.state, LB_CTL_DRAINING);
		b.workers[1].has_closed = seen;
		step(&b, end + 100 * MS - (unsigned)seen);
		assert_int_equal(b.c.state, LB_CTL_OVER);
		assert_true(b.c.timed_out);
		made_done(b.m);
	}
}

static void silence_ends_a_run_by_count(void **state)
{
	struct bench b;
	struct lb_cell *cell;

	(void)state;
	begin(&b, 0, 1000, 0);
	cell = lb_board_cell(&b.m->board, 1, LB_READ);
	start_all(&b);
	assert_int_equal(step(&b, 0), 100 * MS);
	assert_true(b.w->close_ns == LB_NEVER);
	step(&b, SEC);
	cell->xfers = 1;
	step(&b, 3 * SEC);
	cell->errors = 7; /* that is nothing done */
	step(&b, 7 * SEC - 1);
	assert_int_equal(b.c.state, LB_CTL_MEASURING);
	assert_int_equal(b.w->stalled, 0);
	step(&b, 7 * SEC);
	assert_int_equal(b.c.state, LB_CTL_DRAINING);
	assert_int_equal(b.w->stalled, 1);
	assert_int_equal(b.w->close_ns, START_NS + 7 * SEC);
	b.workers[0].has_closed = b.workers[1].has_closed = 1;
	step(&b, 7 * SEC + 1); /* that was the drain */
	assert_int_equal(b.c.state, LB_CTL_OVER);
	made_done(b.m);
}

static void silence_is_a_second_at_least(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 0, 1000, 0);
	b.c.drain_ns = 0;
	start_all(&b);
	step(&b, 0);
	step(&b, LEAD_NS);
	step(&b, SEC + LEAD_NS - 1);
	assert_int_equal(b.c.state, LB_CTL_MEASURING);
	step(&b, SEC + LEAD_NS);
	assert_int_equal(b.w->stalled, 1);
	made_done(b.m);
}

static void silence_does_not_end_a_run_by_time(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 100 * SEC, 1000, 0);
	start_all(&b);
	step(&b, 0);
	step(&b, SEC);
	step(&b, 99 * SEC);
	assert_int_equal(b.c.state, LB_CTL_MEASURING);
	made_done(b.m);
}

static void an_engine_that_fails_ends_the_window(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 100 * SEC, 0, 0);
	start_all(&b);
	step(&b, 0);
	b.workers[1].fatal = -ENOMEM;
	set_ended(&b, 1);
	step(&b, 3 * SEC);
	assert_int_equal(b.w->close_ns, START_NS + 3 * SEC);
	assert_int_equal(b.c.state, LB_CTL_DRAINING);
	set_ended(&b, 0);
	step(&b, 3 * SEC + 1);
	assert_int_equal(b.c.state, LB_CTL_OVER);
	made_done(b.m);
}

/* The parent must not wait for a process that was killed while it closed the window. */
static void a_claim_that_is_not_resolved_holds_nobody_up(void **state)
{
	struct bench b;

	(void)state;
	alarm(10);
	begin(&b, 10 * SEC, 1000, 0);
	start_all(&b);
	step(&b, 0);
	b.w->closed_early = 1;
	b.w->close_ns = LB_CLOSE_CLAIMED;
	assert_int_equal(step(&b, SEC), SEC + 100 * MS);
	assert_int_equal(b.c.state, LB_CTL_MEASURING);
	b.w->close_ns = START_NS + SEC;
	step(&b, SEC + 100 * MS);
	assert_int_equal(b.c.state, LB_CTL_DRAINING);
	alarm(0);
	made_done(b.m);
}

/* A point is due each interval from the opening, and the last one when the window is over. */
static void takes_the_time_series(void **state)
{
	uint64_t open = LEAD_NS;
	struct lb_series *s;
	struct bench b;

	(void)state;
	begin(&b, 2500 * MS, 0, 0);
	made_series(b.m, SEC);
	s = b.m->board.series;
	assert_int_equal(lb_control_init(&b.c, &b.m->board, 4 * SEC, LEAD_NS), 0);
	lb_watch_done(b.c.watch); /* has times of its own */
	b.c.watch = NULL;
	start_all(&b);
	assert_int_equal(step(&b, 0), open + SEC);
	made_xfers(b.m, 0, 100, MS);
	assert_int_equal(step(&b, open + SEC - 1), open + SEC);
	assert_int_equal(s->n, 0);
	assert_int_equal(step(&b, open + SEC), open + 2 * SEC);
	assert_int_equal(s->n, 1);
	/* while the end is being decided it may lie before now */
	b.w->close_ns = LB_CLOSE_CLAIMED;
	assert_int_equal(step(&b, open + 2 * SEC), open + 2 * SEC + 100 * MS);
	assert_int_equal(s->n, 1);
	b.w->close_ns = START_NS + open + 2 * SEC - 1;
	made_xfers(b.m, 1, 50, MS);
	step(&b, open + 2 * SEC);
	assert_int_equal(b.c.state, LB_CTL_DRAINING);
	made_xfers(b.m, 1, 3, MS);
	assert_int_equal(s->n, 1);
	lb_control_finish(&b.c, START_NS + 3 * SEC);
	assert_int_equal(s->n, 2);
	assert_int_equal(s->end_ns[0], START_NS + open + SEC);
	assert_int_equal(s->end_ns[1], START_NS + open + 2 * SEC - 1);
	assert_int_equal(lb_series_point(s, 2, 0, 0)->xfers, 100);
	assert_int_equal(lb_series_point(s, 2, 0, 1)->xfers, 53);
	lb_control_done(&b.c);
	made_done(b.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_when_all_have_started),
		cmocka_unit_test(opens_without_the_stalled_after_5_s),
		cmocka_unit_test(ends_when_nothing_is_in_flight),
		cmocka_unit_test(the_drain_is_as_long_as_was_asked),
		cmocka_unit_test(a_signal_leaves_its_own_time),
		cmocka_unit_test(without_a_drain_workers_may_still_see_the_end),
		cmocka_unit_test(silence_ends_a_run_by_count),
		cmocka_unit_test(silence_is_a_second_at_least),
		cmocka_unit_test(silence_does_not_end_a_run_by_time),
		cmocka_unit_test(an_engine_that_fails_ends_the_window),
		cmocka_unit_test(a_claim_that_is_not_resolved_holds_nobody_up),
		cmocka_unit_test(takes_the_time_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
