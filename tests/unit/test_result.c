#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made.h"

#define assert_near(a, b) assert_true((a) > (b)*0.999999999 && (a) < (b)*1.000000001)

static void whole_run(void **state)
{
	struct made *m = made_new(2, 1, 4);
	struct lb_result *r;

	(void)state;
	made_xfers(m, 0, 999, 2 * MS);
	made_xfers(m, 0, 1, 40 * MS);
	made_xfers(m, 1, 500, 3 * MS);
	lb_board_cell(&m->board, 0, LB_READ)->outside = 7;
	r = made_result(m);
	assert_int_equal(r->status, LB_OK);
	assert_true(r->is_complete);
	assert_string_equal(r->ended_by, "time");
	assert_string_equal(r->error, "");
	assert_int_equal(r->signal, 0);
	assert_int_equal(r->n_luns, 2);
	assert_true(r->luns[1].lun == &m->board.luns[1]);
	assert_int_equal(r->window_ns.v, 10 * SEC);
	assert_int_equal(r->warmup_ns, SEC / 2);
	assert_int_equal(r->start_realtime_ns, 1700000000 * SEC);

	assert_int_equal(r->luns[0].fig.xfers, 1000);
	assert_int_equal(r->luns[0].fig.bytes, 1000 * 16384);
	assert_near(r->luns[0].fig.xfer_per_s.v, 100.0);
	assert_near(r->luns[0].fig.bytes_per_s.v, 1638400.0);
	assert_int_equal(r->luns[0].fig.ios_issued, 1007);
	assert_int_equal(r->luns[0].fig.bytes_issued, 1007 * 16384);
	assert_int_equal(r->luns[0].fig.lat.min_ns.v, 2 * MS);
	assert_int_equal(r->luns[0].fig.lat.mean_ns.v, 2038000);
	assert_int_equal(r->luns[0].fig.lat.max_ns.v, 40 * MS);
	assert_false(r->luns[0].fig.lat.max_is_bound);
	assert_int_equal(r->luns[0].fig.lat.pct_ns[LB_PCT_999].v,
		lb_hist_high_ns(lb_hist_bucket(2 * MS)) - 1);
	assert_true(r->luns[0].fig.lat.pct_ns[LB_PCT_999].has);
	assert_false(r->luns[0].fig.lat.pct_ns[LB_PCT_9999].has);
	assert_false(r->luns[0].fig.zero_fraction.has);
	assert_false(r->luns[0].passes.has);
	assert_false(r->luns[0].is_late_start);

	assert_int_equal(r->total.xfers, 1500);
	assert_int_equal(r->total.bytes, r->luns[0].fig.bytes + r->luns[1].fig.bytes);
	assert_near(r->total.xfer_per_s.v, 150.0);
	assert_int_equal(r->total.lat.min_ns.v, 2 * MS);
	assert_int_equal(r->total.lat.max_ns.v, 40 * MS);
	assert_int_equal(lb_hist_total(&r->total.hist), 1500);
	assert_int_equal(r->total.ios_issued, 1507);
	made_done(m);
}

static void mean_is_rounded(void **state)
{
	struct made *m = made_new(1, 1, 1);

	(void)state;
	made_xfers(m, 0, 1, 10);
	made_xfers(m, 0, 1, 11);
	made_xfers(m, 0, 1, 11);
	assert_int_equal(made_result(m)->total.lat.mean_ns.v, 11); /* 10.67 */
	made_done(m);
}

static void nothing_came_back(void **state)
{
	struct made *m = made_new(2, 2, 4);
	struct lb_result *r;

	(void)state;
	made_xfers(m, 0, 10, MS);
	r = made_result(m);
	assert_int_equal(r->status, LB_ST_FAULTY); /* no xfers on one */
	assert_true(r->is_complete);
	assert_true(r->luns[1].fig.xfer_per_s.has);
	assert_true(r->luns[1].fig.xfer_per_s.v == 0);
	assert_false(r->luns[1].fig.lat.min_ns.has);
	assert_false(r->luns[1].fig.lat.mean_ns.has);
	assert_false(r->luns[1].fig.lat.max_ns.has);
	assert_false(r->luns[1].fig.lat.pct_ns[LB_PCT_50].has);
	made_done(m);
}

static void stalled_lun(void **state)
{
	struct made *m = made_new(2, 1, 4);
	struct lb_result *r;

	(void)state;
	made_xfers(m, 0, 10, MS);
	made_xfers(m, 1, 10, 2 * MS);
	made_outstanding(m, 1, 2, 9 * SEC);
	made_outstanding(m, 1, 1, 11 * SEC); /* issued before the window closed */
	m->board.ios[0].issue_ns = 0;
	m->outcome.timed_out = true;
	m->board.stage = LB_STAGE_RUNNING;
	r = made_result(m);
	assert_int_equal(r->status, LB_ST_FAULTY);
	assert_true(r->is_complete);
	assert_string_equal(r->ended_by, "time");
	assert_int_equal(r->luns[0].fig.outstanding, 0);
	assert_false(r->luns[0].fig.lat.max_is_bound);
	assert_int_equal(r->luns[1].fig.outstanding, 2); /* one slot was used again */
	assert_int_equal(r->luns[1].fig.outstanding_max_age_ns, 11 * SEC);
	assert_int_equal(r->luns[1].fig.ios_issued, 12);
	assert_true(r->luns[1].fig.lat.max_is_bound);
	assert_int_equal(r->luns[1].fig.lat.max_ns.v, 11 * SEC);
	assert_int_equal(r->luns[1].fig.lat.min_ns.v, 2 * MS);
	assert_int_equal(r->total.outstanding, 2);
	assert_int_equal(r->total.outstanding_max_age_ns, 11 * SEC);
	assert_true(r->total.lat.max_is_bound);
	assert_int_equal(r->total.lat.max_ns.v, 11 * SEC);
	made_done(m);
}

static void only_outstanding(void **state)
{
	struct made *m = made_new(1, 1, 4);
	const struct lb_latency *lat;

	(void)state;
	made_outstanding(m, 0, 4, 12 * SEC);
	m->outcome.timed_out = true;
	lat = &made_result(m)->total.lat;
	assert_false(lat->min_ns.has);
	assert_false(lat->mean_ns.has);
	assert_false(lat->pct_ns[LB_PCT_50].has);
	assert_true(lat->max_ns.has && lat->max_is_bound);
	assert_int_equal(lat->max_ns.v, 12 * SEC);
	made_done(m);
}

static void reads_and_writes_apart_and_together(void **state)
{
	struct made *m = made_new(2, 1, 4);
	struct lb_result *r;

	(void)state;
	m->stream.read_pct = 70;
	made_op_xfers(m, 0, LB_READ, 70, MS);
	made_op_xfers(m, 0, LB_WRITE, 30, 3 * MS);
	made_op_xfers(m, 1, LB_WRITE, 5, 9 * MS);
	m->board.ios[0].op = LB_WRITE;
	made_outstanding(m, 0, 1, 2 * SEC);
	r = made_result(m);
	assert_int_equal(r->total.xfers, 105);
	assert_int_equal(r->op[LB_READ]->xfers, 70);
	assert_int_equal(r->op[LB_WRITE]->xfers, 35);
	assert_int_equal(r->luns[0].op[LB_READ]->lat.max_ns.v, MS);
	assert_false(r->luns[0].op[LB_READ]->lat.max_is_bound);
	assert_int_equal(r->luns[0].op[LB_WRITE]->lat.mean_ns.v, 3 * MS);
	assert_int_equal(r->luns[0].op[LB_WRITE]->lat.max_ns.v, 2 * SEC);
	assert_true(r->luns[0].op[LB_WRITE]->lat.max_is_bound);
	assert_int_equal(r->luns[0].op[LB_WRITE]->outstanding, 1);
	assert_int_equal(r->luns[0].op[LB_READ]->outstanding, 0);
	assert_int_equal(r->luns[0].fig.outstanding, 1);
	assert_int_equal(r->luns[0].fig.ios_issued, 101);
	assert_int_equal(r->luns[1].op[LB_READ]->xfers, 0);
	assert_false(r->luns[1].op[LB_READ]->lat.min_ns.has);
	assert_int_equal(lb_hist_total(&r->op[LB_WRITE]->hist), 35);
	assert_int_equal(lb_hist_total(&r->total.hist), 105);
	made_done(m);
}

static void a_run_of_one_op_has_its_figures_there(void **state)
{
	struct made *m = made_new(1, 1, 4);
	struct lb_result *r;

	(void)state;
	m->stream.read_pct = 0;
	made_xfers(m, 0, 12, MS);
	r = made_result(m);
	assert_ptr_equal(r->op[LB_WRITE], &r->total);
	assert_int_equal(r->luns[0].op[LB_WRITE]->xfers, 12);
	assert_int_equal(r->op[LB_READ]->xfers, 0);
	assert_int_equal(r->op[LB_READ]->ios_issued, 0);
	made_done(m);
}

static void late_is_kept_apart(void **state)
{
	struct made *m = made_new(1, 1, 4);
	struct lb_cell *cell = lb_board_cell(&m->board, 0, LB_READ);
	struct lb_result *r;

	(void)state;
	made_xfers(m, 0, 100, MS);
	cell->late = 3;
	cell->late_max_ns = 1500 * MS;
	r = made_result(m);
	assert_int_equal(r->status, LB_OK); /* it did come back */
	assert_int_equal(r->total.xfers, 100);
	assert_int_equal(r->total.late, 3);
	assert_int_equal(r->total.late_max_ns, 1500 * MS);
	assert_int_equal(r->total.ios_issued, 103);
	assert_true(r->total.lat.max_is_bound); /* no xfer took so long */
	assert_int_equal(r->total.lat.max_ns.v, 1500 * MS);
	made_done(m);
}

/* The last qd I/Os of every run come late; that alone changes nothing. */
static void late_and_no_longer_than_xfers(void **state)
{
	struct made *m = made_new(1, 1, 4);
	struct lb_cell *cell = lb_board_cell(&m->board, 0, LB_READ);
	const struct lb_latency *lat;

	(void)state;
	made_xfers(m, 0, 100, 7 * MS);
	cell->late = 4;
	cell->late_max_ns = 7 * MS;
	lat = &made_result(m)->total.lat;
	assert_int_equal(lat->max_ns.v, 7 * MS);
	assert_false(lat->max_is_bound);
	made_done(m);
}

static void only_late(void **state)
{
	struct made *m = made_new(1, 1, 4);
	struct lb_cell *cell = lb_board_cell(&m->board, 0, LB_READ);
	const struct lb_latency *lat;

	(void)state;
	cell->late = 4;
	cell->late_max_ns = 11 * SEC;
	lat = &made_result(m)->total.lat;
	assert_int_equal(lat->max_ns.v, 11 * SEC);
	assert_true(lat->max_is_bound);
	assert_false(lat->mean_ns.has);
	made_done(m);
}

static void errors_and_the_first(void **state)
{
	struct made *m = made_new(2, 1, 4);
	const struct lb_fault *f;
	struct lb_result *r;

	(void)state;
	made_xfers(m, 0, 100, MS);
	made_xfers(m, 1, 100, MS);
	made_errors(m, 0, -EIO, 5, (struct lb_fault_at){MADE_OPEN_NS + 3 * SEC, 1 << 20});
	made_errors(m, 1, 512, 2, (struct lb_fault_at){MADE_OPEN_NS - SEC / 4, 8192});
	r = made_result(m);
	assert_int_equal(r->status, LB_ST_FAULTY);
	assert_true(r->is_complete);
	assert_int_equal(r->luns[0].fig.errors, 5);
	assert_int_equal(r->luns[0].fig.errors_outside, 0);
	f = lb_faults_first(&r->luns[0].fig.faults);
	assert_int_equal(f->res, -EIO);
	assert_int_equal(f->n, 5);
	assert_int_equal(f->first.ns - r->open_ns, 3 * SEC);
	assert_int_equal(f->first.offset_bytes, 1 << 20);
	assert_int_equal(f->last.ns - r->open_ns, 3 * SEC + 4 * MS);
	assert_int_equal(f->last.offset_bytes, (1 << 20) + 4 * 16384);
	assert_null(lb_faults_row(&r->luns[0].fig.faults, 1));
	assert_int_equal(r->luns[0].fig.ios_issued, 105);
	assert_int_equal(r->luns[1].fig.errors, 2);
	assert_int_equal(r->luns[1].fig.errors_outside, 2);
	assert_int_equal(r->total.errors, 7);
	assert_int_equal(r->total.errors_outside, 2);
	f = lb_faults_first(&r->total.faults);
	assert_int_equal(f->res, 512);
	assert_int_equal(f->n, 2);
	assert_int_equal(f->n_outside, 2);
	assert_int_equal(f->first.ns, r->open_ns - SEC / 4);
	assert_int_equal(lb_faults_row(&r->total.faults, 0)->res, -EIO);
	made_done(m);
}

static void error_in_warm_up_alone_is_faulty(void **state)
{
	struct made *m = made_new(1, 1, 4);

	(void)state;
	made_xfers(m, 0, 100, MS);
	lb_board_cell(&m->board, 0, LB_READ)->errors_other = 1;
	assert_int_equal(made_result(m)->status, LB_ST_FAULTY);
	made_done(m);
}

static void lanes_of_one_lun_add_up(void **state)
{
	struct made *m = made_new(4, 4, 1);
	struct lb_result *r;

	(void)state;
	/* LUN 1 has lanes 0 and 3 on a histogram of their own, LUN 0 lanes 1 and 2 sharing one. */
	m->plan.n_luns = 2;
	m->plan.lanes[0].lun = m->plan.lanes[3].lun = 1;
	for (uint32_t i = 1; i <= 2; i++) {
		m->plan.lanes[i].lun = 0;
		m->plan.lanes[i].hist = 2;
		m->plan.lanes[i].shares_hist = true;
		lb_board_cell(&m->board, i, LB_READ)->hist = &m->board.hists[2];
	}
	made_xfers(m, 0, 1, 10);
	made_xfers(m, 1, 20, 20);
	made_xfers(m, 2, 300, 30);
	made_xfers(m, 3, 4000, 40);
	r = made_result(m);
	assert_int_equal(r->n_luns, 2);
	assert_int_equal(r->luns[0].fig.xfers, 320);
	assert_int_equal(lb_hist_total(&r->luns[0].fig.hist), 320);
	assert_int_equal(r->luns[0].fig.hist.count[20], 20);
	assert_int_equal(r->luns[0].fig.hist.count[30], 300);
	assert_int_equal(r->luns[1].fig.xfers, 4001);
	assert_int_equal(r->luns[1].fig.hist.count[10], 1);
	assert_int_equal(r->luns[1].fig.hist.count[40], 4000);
	assert_int_equal(lb_hist_total(&r->total.hist), 4321);
	made_done(m);
}

static void shared_histogram_counts_whoever_used_it(void **state)
{
	struct made *m = made_new(2, 2, 1);
	struct lb_result *r;

	(void)state;
	m->plan.n_luns = 1;
	for (uint32_t i = 0; i < 2; i++) {
		m->plan.lanes[i].lun = 0;
		m->plan.lanes[i].hist = 0;
		m->plan.lanes[i].shares_hist = true;
		lb_board_cell(&m->board, i, LB_READ)->hist = &m->board.hists[0];
	}
	made_xfers(m, 1, 5, 50); /* the first lane has none */
	r = made_result(m);
	assert_int_equal(lb_hist_total(&r->luns[0].fig.hist), 5);
	assert_int_equal(r->total.lat.min_ns.v, 50);
	made_done(m);
}

static void signal_in_the_window(void **state)
{
	struct made *m = made_new(1, 1, 4);
	struct lb_result *r;

	(void)state;
	made_xfers(m, 0, 64, MS);
	m->board.window.close_ns = MADE_OPEN_NS + 3200 * MS;
	m->board.window.closed_early = 1;
	m->outcome.signal = SIGTERM;
	r = made_result(m);
	assert_int_equal(r->status, 143);
	assert_int_equal(r->signal, SIGTERM);
	assert_false(r->is_complete);
	assert_string_equal(r->ended_by, "signal");
	assert_int_equal(r->window_ns.v, 3200 * MS);
	assert_near(r->total.xfer_per_s.v, 20.0);
	made_done(m);
}

static void assert_no_window(struct made *m)
{
	struct lb_result *r = made_result(m);

	assert_int_equal(r->status, 130);
	assert_false(r->is_complete);
	assert_false(r->window_ns.has);
	assert_int_equal(r->start_realtime_ns, 0);
	assert_false(r->total.xfer_per_s.has);
	assert_false(r->total.bytes_per_s.has);
	assert_false(r->total.lat.max_ns.has);
	assert_int_equal(r->open_ns, 0);
	assert_int_equal(r->total.errors, 1);
	assert_int_equal(r->total.outstanding, 1);
	assert_false(r->luns[0].is_late_start);
	made_done(m);
}

static void signal_before_the_window(void **state)
{
	for (int i = 0; i < 3; i++) {
		struct made *m = made_new(1, 1, 4);
		struct lb_window *w = &m->board.window;

		(void)state;
		lb_board_cell(&m->board, 0, LB_READ)->outside = 9;
		lb_board_cell(&m->board, 0, LB_READ)->errors_other = 1;
		m->outcome.signal = SIGINT;
		m->outcome.end_ns = MADE_OPEN_NS - SEC / 10;
		made_outstanding(m, 0, 1, SEC / 10);
		w->close_ns = MADE_OPEN_NS - SEC / 5;
		w->closed_early = 1;
		m->board.workers[0].n_started = 0;
		if (i == 0)
			w->open_ns = LB_NEVER;
		else if (i == 1)
			w->open_ns = w->close_ns;
		assert_no_window(m);
	}
}

static void child_died_in_the_window(void **state)
{
	struct made *m = made_new(1, 1, 4);
	struct lb_result *r;

	(void)state;
	made_xfers(m, 0, 40, MS);
	m->board.stage = LB_STAGE_RUNNING;
	m->outcome.child_died = true;
	m->outcome.child_status = SIGKILL;
	m->outcome.end_ns = MADE_OPEN_NS + 4 * SEC;
	r = made_result(m);
	assert_int_equal(r->status, LB_ST_FAULTY);
	assert_false(r->is_complete);
	assert_string_equal(r->ended_by, "failure");
	assert_string_equal(r->error, "the measuring process was killed by SIGKILL");
	assert_int_equal(r->window_ns.v, 4 * SEC);
	assert_near(r->total.xfer_per_s.v, 10.0);
	made_done(m);
}

static void child_died_with_the_end_claimed(void **state)
{
	struct made *m = made_new(1, 1, 4);
	struct lb_result *r;

	(void)state;
	m->board.stage = LB_STAGE_RUNNING;
	m->board.window.close_ns = LB_CLOSE_CLAIMED;
	m->outcome.child_died = true;
	m->outcome.child_status = 7 << 8;
	m->outcome.end_ns = MADE_OPEN_NS + 4 * SEC;
	r = made_result(m); /* comes back at all */
	assert_int_equal(r->window_ns.v, 4 * SEC);
	assert_string_equal(r->error, "the measuring process ended too early, with status 7");
	made_done(m);
}

static void ended_child_is_no_failure(void **state)
{
	struct made *m = made_new(1, 1, 4);
	struct lb_result *r;

	(void)state;
	made_xfers(m, 0, 40, MS);
	m->outcome.child_died = true;
	r = made_result(m);
	assert_int_equal(r->status, LB_OK);
	assert_string_equal(r->ended_by, "time");
	made_done(m);
}

static void worker_failed(void **state)
{
	struct made *m = made_new(2, 2, 4);
	struct lb_result *r;

	(void)state;
	made_xfers(m, 0, 40, MS);
	made_xfers(m, 1, 40, MS);
	m->board.workers[1].fatal = -ENOMEM;
	r = made_result(m);
	assert_int_equal(r->status, LB_ST_FAULTY);
	assert_false(r->is_complete);
	assert_string_equal(r->ended_by, "failure");
	assert_string_equal(r->error, "worker 1: made failed: Cannot allocate memory");
	made_done(m);
}

static void ended_by_count(void **state)
{
	struct made *m = made_new(1, 1, 4);
	struct lb_result *r;

	(void)state;
	made_xfers(m, 0, 40, MS);
	m->board.window.closed_early = 1;
	r = made_result(m);
	assert_string_equal(r->ended_by, "count");
	assert_true(r->is_complete);
	assert_int_equal(r->status, LB_OK);
	made_done(m);
}

static void ended_by_stall(void **state)
{
	struct made *m = made_new(1, 1, 4);
	struct lb_result *r;

	(void)state;
	made_xfers(m, 0, 40, MS);
	m->board.window.closed_early = 1;
	m->outcome.stalled = true;
	r = made_result(m);
	assert_string_equal(r->ended_by, "stall");
	assert_false(r->is_complete);
	assert_int_equal(r->status, LB_ST_FAULTY);
	made_done(m);
}

/* It has no end by its own clock then: nothing may count in one place and not in another. */
static void virtual_run_stopped(void **state)
{
	struct made *m = made_new(1, 1, 16);
	struct lb_result *r;

	(void)state;
	m->plan.is_virtual = true;
	m->board.window.open_ns = 1;
	m->board.window.close_ns = 1 + 10 * SEC;
	m->outcome.signal = SIGINT;
	m->board.virtual_end_ns = 0;
	made_xfers(m, 0, 1000, MS);
	made_outstanding(m, 0, 16, SEC);
	lb_board_cell(&m->board, 0, LB_READ)->errors = 3;
	r = made_result(m);
	assert_int_equal(r->status, 130);
	assert_false(r->is_complete);
	assert_false(r->window_ns.has);
	assert_int_equal(r->total.xfers + r->total.bytes + r->total.errors, 0);
	assert_int_equal(r->total.outstanding + r->luns[0].fig.xfers, 0);
	assert_int_equal(r->n_findings, 0);
	made_done(m);
}

static void virtual_run(void **state)
{
	struct made *m = made_new(1, 1, 4);
	struct lb_result *r;

	(void)state;
	m->plan.is_virtual = true;
	m->board.window.start_ns = 1;
	m->board.window.open_ns = 1;
	m->board.window.close_ns = 1 + 5 * SEC;
	m->board.virtual_end_ns = 1 + 8 * SEC;
	m->board.has_usage = 2;
	m->board.usage_close.ru_utime.tv_usec = 80;
	made_xfers(m, 0, 40, MS);
	m->board.ios[0].issue_ns = 1 + 2 * SEC;
	m->board.workers[0].cpu_open_ns = 5;
	m->board.workers[0].cpu_close_ns = 8;
	r = made_result(m);
	assert_int_equal(r->window_ns.v, 5 * SEC);
	assert_int_equal(r->start_realtime_ns, 0);
	assert_int_equal(r->warmup_ns, 0);
	assert_int_equal(r->total.outstanding_max_age_ns, 6 * SEC);
	assert_false(r->cpu_user_us_per_xfer.has); /* its clock is not the CPUs' */
	assert_false(r->process_cpus.has);
	assert_false(r->busiest_worker.has);
	made_done(m);
}

static void cpu_figures(void **state)
{
	struct made *m = made_new(2, 2, 4);
	struct lb_board *b = &m->board;
	struct lb_result *r;

	(void)state;
	made_xfers(m, 0, 500000, MS);
	made_xfers(m, 1, 500000, MS);
	b->has_usage = 2;
	b->usage_open.ru_utime = (struct timeval){.tv_sec = 1, .tv_usec = 900000};
	b->usage_close.ru_utime = (struct timeval){.tv_sec = 4, .tv_usec = 100000};
	b->usage_open.ru_stime = (struct timeval){.tv_sec = 1};
	b->usage_close.ru_stime = (struct timeval){.tv_sec = 9, .tv_usec = 800000};
	b->workers[0].cpu_open_ns = 1 * SEC;
	b->workers[0].cpu_close_ns = 5 * SEC;
	b->workers[1].cpu_open_ns = 1 * SEC;
	b->workers[1].cpu_close_ns = 10 * SEC;
	b->workers[0].engine = (struct lb_engine_stats){.submit_ns = 3000, .submit_calls = 1};
	b->workers[1].engine = (struct lb_engine_stats){.submit_ns = 1000, .submit_calls = 3};
	r = made_result(m);
	assert_near(r->cpu_user_us_per_xfer.v, 2.2);
	assert_near(r->cpu_sys_us_per_xfer.v, 8.8);
	assert_near(r->process_cpus.v, 1.1);
	assert_near(r->busiest_worker.v, 0.9);
	assert_near(r->submit_mean_ns.v, 1000.0);
	assert_int_equal(r->n_cpus, 2);
	made_done(m);

	m = made_new(1, 1, 4); /* no xfers, nothing known */
	m->board.has_usage = 1;
	r = made_result(m);
	assert_false(r->cpu_user_us_per_xfer.has);
	assert_false(r->process_cpus.has);
	assert_false(r->busiest_worker.has);
	assert_false(r->submit_mean_ns.has);
	made_done(m);
}

static void kernel_counts(void **state)
{
	struct made *m = made_new(4, 1, 4);
	struct lb_lun_state *s = m->board.lun_states;
	struct lb_result *r;

	(void)state;
	s[0].has_kernel_stat = 2;
	s[0].kernel_before = (struct lb_kernel_stat){10, 100, 1000, 10000};
	s[0].kernel_after = (struct lb_kernel_stat){13, 196, 1004, 10032};
	s[1].has_kernel_stat = 1;
	s[1].kernel_after = (struct lb_kernel_stat){10, 100, 1000, 10000}; /* one is missing */
	s[2].has_kernel_stat = 2;
	s[2].kernel_before = (struct lb_kernel_stat){10, 100, 1000, 10000};
	s[2].kernel_after = (struct lb_kernel_stat){10, 99, 1000, 10000};
	s[3].has_kernel_stat = 2; /* nothing is ever counted there */
	r = made_result(m);
	assert_true(r->luns[0].has_kernel);
	assert_int_equal(r->luns[0].kernel_ios, 7);
	assert_int_equal(r->luns[0].kernel_bytes, 128 * 512);
	assert_false(r->luns[1].has_kernel);
	assert_false(r->luns[2].has_kernel);
	assert_false(r->luns[3].has_kernel);
	made_done(m);
}

static void zero_samples(void **state)
{
	struct made *m = made_new(2, 1, 4);
	struct lb_cell *cell = lb_board_cell(&m->board, 1, LB_READ);
	struct lb_result *r;

	(void)state;
	cell->samples = 40;
	cell->zero_samples = 10;
	r = made_result(m);
	assert_false(r->luns[0].fig.zero_fraction.has);
	assert_true(r->luns[1].fig.zero_fraction.v == 0.25);
	assert_int_equal(r->luns[1].fig.samples, 40);
	assert_true(r->total.zero_fraction.v == 0.25);
	made_done(m);
}

static void sequential_passes(void **state)
{
	struct made *m = made_new(1, 1, 4);
	struct lb_result *r;

	(void)state;
	m->stream.pat.kind = LB_SEQ;
	m->plan.lanes[0].n_blocks = 1000;
	made_xfers(m, 0, 2500, MS);
	r = made_result(m);
	assert_true(r->luns[0].passes.has);
	assert_near(r->luns[0].passes.v, 2.5);
	made_done(m);
}

/* Of several streams, each with its part, the one that went round most often. */
static void passes_of_streams(void **state)
{
	struct made *m = made_new(1, 1, 4);

	(void)state;
	m->stream.pat.kind = LB_SEQ;
	m->stream.n_seq_streams = 3;
	m->plan.lanes[0].n_blocks = 1000; /* in parts of 334, 333, 333 */
	m->board.cursors = made_zeros(3, sizeof(*m->board.cursors), 64);
	atomic_store(&m->board.cursors[0].blocks, 334);
	atomic_store(&m->board.cursors[2].blocks, 999);
	made_xfers(m, 0, 1333, MS);
	made_result(m);
	assert_near(m->r.luns[0].passes.v, 3);
	free(m->board.cursors);
	made_done(m);
}

static void late_starts(void **state)
{
	struct made *m = made_new(4, 2, 4);
	struct lb_result *r;

	(void)state;
	m->board.workers[0].n_late = 1;    /* lane 1 */
	m->board.workers[1].n_started = 1; /* lane 3 never did */
	r = made_result(m);
	assert_false(r->luns[0].is_late_start);
	assert_true(r->luns[1].is_late_start);
	assert_false(r->luns[2].is_late_start);
	assert_true(r->luns[3].is_late_start);
	made_done(m);
}

static void percentile_past_the_range(void **state)
{
	struct made *m = made_new(1, 1, 4);
	const struct lb_latency *lat;

	(void)state;
	made_xfers(m, 0, 5, MS);
	made_xfers(m, 0, 15, 3000 * SEC);
	lat = &made_result(m)->total.lat;
	assert_true(lat->pct_over[LB_PCT_50]);
	assert_int_equal(lat->pct_ns[LB_PCT_50].v, 1ull << LB_HIST_TOP_BITS);
	assert_true(lat->pct_ns[LB_PCT_50].has);
	assert_int_equal(lat->max_ns.v, 3000 * SEC);
	assert_false(lat->max_is_bound);
	made_done(m);
}

static struct made *unplanned(uint32_t n_luns, enum lb_stage stage)
{
	struct made *m = made_new(n_luns, 1, 4);

	m->board.plan = NULL;
	m->board.stage = stage;
	for (uint32_t i = 0; i < n_luns; i++)
		m->board.luns[i].fate = LB_FATE_PENDING;
	return m;
}

static void refuse(struct made *m, uint32_t i, enum lb_status status, const char *why)
{
	m->board.luns[i].fate = LB_FATE_REFUSED;
	m->board.luns[i].refusal = status;
	snprintf(m->board.luns[i].why, sizeof(m->board.luns[i].why), "%s", why);
}

static void refused_targets(void **state)
{
	struct made *m = unplanned(3, LB_STAGE_REFUSED);
	struct lb_result *r;

	(void)state;
	refuse(m, 0, LB_ST_UNAVAILABLE, "no such device");
	refuse(m, 2, LB_ST_USAGE, "a directory");
	r = made_result(m);
	assert_int_equal(r->status, LB_ST_USAGE); /* both 2 and 3: 2 */
	assert_false(r->is_complete);
	assert_string_equal(r->ended_by, "refused");
	assert_string_equal(r->error, "2 of 3 targets refused; /dev/mapper/mpath0: no such device");
	assert_null(r->plan);
	assert_int_equal(r->n_luns, 0);
	assert_int_equal(r->n_targets, 3);
	assert_false(r->window_ns.has);
	made_done(m);

	m = unplanned(1, LB_STAGE_REFUSED);
	refuse(m, 0, LB_ST_UNAVAILABLE, "no such device");
	assert_int_equal(made_result(m)->status, LB_ST_UNAVAILABLE);
	made_done(m);
}

static void refused_for_the_run(void **state)
{
	struct made *m = unplanned(1, LB_STAGE_REFUSED);
	struct lb_result *r;

	(void)state;
	lb_fail(&m->board.err, LB_ST_UNAVAILABLE, EPERM, "io_uring is off");
	r = made_result(m);
	assert_int_equal(r->status, LB_ST_UNAVAILABLE);
	assert_string_equal(r->error, "io_uring is off");
	made_done(m);
}

static void no_target_left(void **state)
{
	struct made *m = unplanned(1, LB_STAGE_REFUSED);
	struct lb_result *r;

	(void)state;
	m->board.luns[0].fate = LB_FATE_PASSED_OVER;
	r = made_result(m);
	assert_int_equal(r->status, LB_ST_USAGE);
	assert_string_equal(r->error, "no target is left to measure");
	made_done(m);
}

static void no_answer_while_opening(void **state)
{
	struct made *m = unplanned(2, LB_STAGE_OPENING);
	struct lb_result *r;

	(void)state;
	snprintf(m->outcome.no_answer, sizeof(m->outcome.no_answer), "mpath1: no answer for 5 s");
	r = made_result(m);
	assert_int_equal(r->status, LB_ST_UNAVAILABLE);
	assert_string_equal(r->ended_by, "refused");
	assert_string_equal(r->error, "mpath1: no answer for 5 s");
	made_done(m);
}

static void signal_while_opening(void **state)
{
	struct made *m = unplanned(2, LB_STAGE_OPENING);
	struct lb_result *r;

	(void)state;
	m->outcome.signal = SIGHUP;
	r = made_result(m);
	assert_int_equal(r->status, 129);
	assert_string_equal(r->ended_by, "signal");
	assert_string_equal(r->error, "");
	made_done(m);
}

static void child_died_while_opening(void **state)
{
	struct made *m = unplanned(2, LB_STAGE_OPENING);
	struct lb_result *r;

	(void)state;
	m->outcome.child_died = true;
	m->outcome.child_status = SIGSEGV;
	r = made_result(m);
	assert_int_equal(r->status, LB_ST_UNAVAILABLE);
	assert_string_equal(r->ended_by, "failure");
	assert_string_equal(r->error, "the measuring process was killed by SIGSEGV");
	made_done(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_run),
		cmocka_unit_test(mean_is_rounded),
		cmocka_unit_test(nothing_came_back),
		cmocka_unit_test(stalled_lun),
		cmocka_unit_test(only_outstanding),
		cmocka_unit_test(reads_and_writes_apart_and_together),
		cmocka_unit_test(a_run_of_one_op_has_its_figures_there),
		cmocka_unit_test(late_is_kept_apart),
		cmocka_unit_test(late_and_no_longer_than_xfers),
		cmocka_unit_test(only_late),
		cmocka_unit_test(errors_and_the_first),
		cmocka_unit_test(error_in_warm_up_alone_is_faulty),
		cmocka_unit_test(lanes_of_one_lun_add_up),
		cmocka_unit_test(shared_histogram_counts_whoever_used_it),
		cmocka_unit_test(signal_in_the_window),
		cmocka_unit_test(signal_before_the_window),
		cmocka_unit_test(child_died_in_the_window),
		cmocka_unit_test(child_died_with_the_end_claimed),
		cmocka_unit_test(ended_child_is_no_failure),
		cmocka_unit_test(worker_failed),
		cmocka_unit_test(ended_by_count),
		cmocka_unit_test(ended_by_stall),
		cmocka_unit_test(virtual_run),
		cmocka_unit_test(virtual_run_stopped),
		cmocka_unit_test(cpu_figures),
		cmocka_unit_test(kernel_counts),
		cmocka_unit_test(zero_samples),
		cmocka_unit_test(sequential_passes),
		cmocka_unit_test(passes_of_streams),
		cmocka_unit_test(late_starts),
		cmocka_unit_test(percentile_past_the_range),
		cmocka_unit_test(refused_targets),
		cmocka_unit_test(refused_for_the_run),
		cmocka_unit_test(no_target_left),
		cmocka_unit_test(no_answer_while_opening),
		cmocka_unit_test(signal_while_opening),
		cmocka_unit_test(child_died_while_opening),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
