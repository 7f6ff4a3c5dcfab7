/* What one look at the cells makes of them: late, torn, shared, in the instant of the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "made.h"
#include "sampler.h"

struct bench {
	struct made *m;
	struct lb_sampler *s;
	struct lb_series *series;
};

/* N_LUNS of a lane each, or two lanes of one LUN that share a histogram; a point each second. */
static void begin(struct bench *b, uint32_t n_luns, bool is_shared, uint8_t read_pct)
{
	b->m = made_new(is_shared ? 2 : n_luns, 1, 2);
	if (is_shared) {
		b->m->plan.n_luns = 1;
		for (uint32_t l = 0; l < 2; l++) {
			b->m->plan.lanes[l].lun = 0;
			b->m->plan.lanes[l].shares_hist = true;
			b->m->plan.lanes[l].hist = 0;
			lb_board_cell(&b->m->board, l, LB_READ)->hist = &b->m->board.hists[0];
		}
	}
	b->m->stream.read_pct = read_pct;
	made_series(b->m, SEC);
	b->s = b->m->sampler;
	b->series = b->m->board.series;
	assert_int_equal(lb_sampler_due(b->s), MADE_OPEN_NS + SEC);
}

/* A parent that was held up: the point is longer, and the next one ends where it should. */
static void a_late_point_carries_its_end(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 1, false, 100);
	made_xfers(b.m, 0, 100, MS);
	made_point(b.m, SEC + 3 * MS);
	assert_int_equal(lb_sampler_due(b.s), MADE_OPEN_NS + 2 * SEC);
	made_xfers(b.m, 0, 350, MS);
	made_point(b.m, 4500 * MS);
	assert_int_equal(lb_sampler_due(b.s), MADE_OPEN_NS + 5 * SEC);
	lb_sampler_finish(b.s, MADE_OPEN_NS + 5 * SEC);
	assert_true(lb_sampler_due(b.s) == LB_NEVER);
	assert_int_equal(b.series->n, 3);
	assert_int_equal(b.series->end_ns[0], MADE_OPEN_NS + SEC + 3 * MS);
	assert_int_equal(b.series->end_ns[1], MADE_OPEN_NS + 4500 * MS);
	assert_int_equal(b.series->end_ns[2], MADE_OPEN_NS + 5 * SEC);
	assert_int_equal(lb_series_point(b.series, 0, 0, 1)->xfers, 350);
	assert_int_equal(lb_series_point(b.series, 0, 0, 2)->xfers, 0);
	made_done(b.m);
}

/* What a worker has half written is made whole by the next point. */
static void torn_reads_add_up_later(void **state)
{
	struct bench b;
	struct lb_cell *cell;
	struct lb_hist *h;

	(void)state;
	begin(&b, 1, false, 100);
	cell = lb_board_cell(&b.m->board, 0, LB_READ);
	h = cell->hist;
	made_xfers(b.m, 0, 10, MS);
	h->count[lb_hist_bucket(40 * MS)]++; /* in the histogram, not yet in the count */
	made_point(b.m, SEC);
	cell->sum_ns += 40 * MS;
	cell->max_ns = 40 * MS;
	cell->xfers++;
	made_point(b.m, 2 * SEC);
	assert_int_equal(lb_series_point(b.series, 0, 0, 0)->xfers, 10);
	assert_int_equal(lb_series_point(b.series, 0, 0, 0)->max_ns, MS);
	assert_int_equal(lb_series_point(b.series, 0, 0, 1)->xfers, 1);
	assert_int_equal(lb_series_point(b.series, 0, 0, 1)->max_ns, 40 * MS);
	assert_int_equal(lb_hist_total(&b.series->total[0]), 10);
	assert_int_equal(lb_hist_total(&b.series->total[1]), 1);
	made_done(b.m);
}

static void shared_histograms_count_once(void **state)
{
	struct bench b;
	const struct lb_point *p;

	(void)state;
	begin(&b, 1, true, 100);
	made_xfers(b.m, 0, 300, MS);
	made_xfers(b.m, 1, 700, 9 * MS);
	made_point(b.m, SEC);
	p = lb_series_point(b.series, 0, 0, 0);
	assert_int_equal(p->xfers, 1000);
	assert_int_equal(p->sum_ns, 300 * MS + 700 * 9 * MS);
	assert_int_equal(p->p99_ns, 9 * MS);
	assert_int_equal(lb_hist_total(&b.series->total[0]), 1000);
	/* the second lane alone: its share is found in what they share */
	made_xfers(b.m, 1, 100, 2 * MS);
	made_point(b.m, 2 * SEC);
	p = lb_series_point(b.series, 0, 0, 1);
	assert_int_equal(p->xfers, 100);
	assert_in_range(p->p99_ns, 2 * MS, 2 * MS + 2 * MS / 64);
	assert_int_equal(p->p99_ns, p->max_ns); /* both by the bucket's edge */
	made_done(b.m);
}

/* What came back after the window's last look is in its last point, in flight as it was then. */
static void the_end_has_what_was_written_down_late(void **state)
{
	struct bench b;
	const struct lb_series *last;
	uint32_t n_kept;

	(void)state;
	begin(&b, 2, false, 100);
	made_xfers(b.m, 0, 200, MS);
	made_point(b.m, SEC);
	last = lb_sampler_last(b.s, &n_kept);
	assert_int_equal(n_kept, 1);
	assert_int_equal(lb_series_point(last, 2, 0, 0)->xfers, 200);
	assert_int_equal(last->both[2].n_silent, 0);
	b.m->board.ios[0].issue_ns = b.m->board.ios[2].issue_ns = MADE_OPEN_NS;
	lb_sampler_close(b.s);
	assert_true(lb_sampler_due(b.s) == LB_NEVER);
	b.m->board.ios[0].issue_ns = 0;
	lb_board_cell(&b.m->board, 0, LB_READ)->late = 1;
	made_xfers(b.m, 0, 150, 2 * MS);
	lb_sampler_finish(b.s, MADE_OPEN_NS + 1500 * MS);
	lb_sampler_finish(b.s, MADE_OPEN_NS + 1500 * MS);
	last = lb_sampler_last(b.s, &n_kept);
	assert_int_equal(n_kept, 2);
	assert_int_equal(b.series->n, 2);
	assert_int_equal(last->begin_ns, MADE_OPEN_NS + SEC);
	assert_int_equal(last->end_ns[0], MADE_OPEN_NS + 1500 * MS);
	assert_int_equal(lb_series_point(b.series, 2, 0, 1)->xfers, 150);
	assert_int_equal(lb_series_both(b.series, 0, 1)->in_flight, 1);
	assert_int_equal(lb_series_both(b.series, 2, 1)->in_flight, 2);
	assert_int_equal(lb_series_both(b.series, 2, 1)->n_silent, 1);
	made_done(b.m);
}

/* A point that ends with the window takes the rest of that instant, without another point. */
static void the_rest_of_an_instant_joins_its_point(void **state)
{
	struct bench b;

	(void)state;
	for (int is_kept = 0; is_kept < 2; is_kept++) {
		begin(&b, 2, false, 100);
		made_xfers(b.m, 0, 200, MS);
		made_xfers(b.m, 1, 200, 3 * MS);
		lb_sampler_take(b.s, MADE_OPEN_NS + SEC);
		if (is_kept)
			lb_sampler_keep(b.s);
		made_xfers(b.m, 0, 7, MS);
		lb_sampler_finish(b.s, MADE_OPEN_NS + SEC);
		assert_int_equal(b.series->n, 1);
		assert_int_equal(b.series->end_ns[0], MADE_OPEN_NS + SEC);
		assert_int_equal(lb_series_point(b.series, 0, 0, 0)->xfers, 207);
		assert_int_equal(lb_series_point(b.series, 0, 0, 0)->p99_ns, is_kept ? 0 : MS);
		assert_int_equal(lb_series_point(b.series, 1, 0, 0)->p99_ns, 3 * MS);
		assert_int_equal(lb_series_point(b.series, 2, 0, 0)->xfers, 407);
		assert_int_equal(lb_series_point(b.series, 2, 0, 0)->p99_ns, 3 * MS);
		assert_int_equal(lb_hist_total(&b.series->total[0]), 407);
		made_done(b.m);
	}
}

/* What ended in the interval, and what lasts: from its begin, or the window's. */
static void the_longest_gap_of_an_interval(void **state)
{
	struct lb_lun_state *lun;
	struct bench b;

	(void)state;
	begin(&b, 2, false, 100);
	lun = b.m->board.lun_states;
	b.m->board.ios[0].issue_ns = 1;
	lun[0].last_ns = MADE_OPEN_NS - SEC;
	lun[0].look_ns = lun[0].gap_ns = 300 * MS;
	lun[1].look_ns = lun[1].gap_ns = 700 * MS;
	made_point(b.m, SEC); /* LUN 0 is silent since before the window */
	assert_int_equal(lb_series_both(b.series, 0, 0)->gap_ns, SEC);
	assert_int_equal(lb_series_both(b.series, 1, 0)->gap_ns, 700 * MS);
	assert_int_equal(lb_series_both(b.series, 2, 0)->gap_ns, SEC);
	assert_int_equal(lun[1].gap_ns + lun[1].look_ns, 0);
	lun[0].last_ns = MADE_OPEN_NS + 1900 * MS;
	lun[0].gap_ns = 1900 * MS; /* that is how it ended */
	made_point(b.m, 2 * SEC);
	assert_int_equal(lb_series_both(b.series, 0, 1)->gap_ns, 1900 * MS);
	assert_int_equal(lb_series_both(b.series, 1, 1)->gap_ns, 0);
	lun[0].retired_ns = MADE_OPEN_NS + 2100 * MS;
	made_point(b.m, 3 * SEC);
	assert_int_equal(lb_series_both(b.series, 0, 2)->gap_ns, 0);
	made_done(b.m);
}

static void reads_and_writes_are_kept_apart(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 2, false, 70);
	made_op_xfers(b.m, 0, LB_READ, 200, MS);
	made_op_xfers(b.m, 1, LB_WRITE, 300, 7 * MS);
	lb_board_cell(&b.m->board, 0, LB_WRITE)->errors = 5;
	made_point(b.m, SEC);
	assert_int_equal(lb_series_point(b.series, 0, LB_READ, 0)->xfers, 200);
	assert_int_equal(lb_series_point(b.series, 0, LB_WRITE, 0)->xfers, 0);
	assert_int_equal(lb_series_point(b.series, 1, LB_WRITE, 0)->xfers, 300);
	assert_int_equal(lb_series_point(b.series, 2, LB_READ, 0)->p99_ns, MS);
	assert_int_equal(lb_series_point(b.series, 2, LB_WRITE, 0)->p99_ns, 7 * MS);
	assert_int_equal(lb_series_point(b.series, 2, LB_WRITE, 0)->errors, 5);
	made_done(b.m);
}

static void a_window_that_never_opened_has_no_points(void **state)
{
	struct made *m = made_new(1, 1, 1);
	struct lb_sampler *s;

	(void)state;
	made_series(m, SEC);
	assert_int_equal(lb_sampler_make(&s, &m->board), 0); /* another, that was never begun */
	assert_true(lb_sampler_due(s) == LB_NEVER);
	lb_sampler_close(s);
	lb_sampler_finish(s, MADE_OPEN_NS);
	assert_int_equal(m->board.series->n, 0);
	lb_sampler_done(s);
	lb_sampler_done(NULL);
	made_done(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_late_point_carries_its_end),
		cmocka_unit_test(torn_reads_add_up_later),
		cmocka_unit_test(shared_histograms_count_once),
		cmocka_unit_test(the_end_has_what_was_written_down_late),
		cmocka_unit_test(the_rest_of_an_instant_joins_its_point),
		cmocka_unit_test(the_longest_gap_of_an_interval),
		cmocka_unit_test(reads_and_writes_are_kept_apart),
		cmocka_unit_test(a_window_that_never_opened_has_no_points),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
