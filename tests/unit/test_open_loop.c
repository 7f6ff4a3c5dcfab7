/* The open loop on the null engine's clock: what is due is done, waits or is missed, exactly. */
#include "worker_rig.h"

#include <pthread.h>

#include "hist.h"

/* Everything that was due by the window's end has become of one of these. */
static void all_is_told(const struct rig *g, uint32_t lun, uint64_t due)
{
	const struct lb_figures *f = rig_lun(g, lun);
	const struct lb_open *o = &g->r.luns[lun].open;

	assert_int_equal(f->xfers + f->errors + o->missed + o->backlog, due);
	assert_int_equal(o->backlog, o->waiting + f->late + f->outstanding);
	assert_int_equal(lb_hist_total(f->response_hist), f->xfers);
}

/* As long from when it was due as from its issue, and to the nanosecond. */
static void all_responses_are(const struct lb_figures *f, uint64_t ns)
{
	assert_int_equal(f->response.min_ns.v, ns);
	assert_int_equal(f->response.mean_ns.v, ns);
	assert_int_equal(f->response.max_ns.v, ns);
	assert_int_equal(f->response.pct_ns[LB_PCT_99].v, ns);
	assert_false(f->response.pct_over[LB_PCT_99]);
	assert_false(f->response.max_is_bound);
	assert_memory_equal(f->response_hist, &f->hist, sizeof(f->hist));
}

static void a_rate_that_can_be_kept_is_kept(void **state)
{
	struct rig g;
	const struct lb_open *o;

	(void)state;
	rig_run(&g, "--null-latency 5ms --qd 8 --rate 1000 --time 10s lun");
	o = &g.r.luns[0].open;
	assert_int_equal(rig_lun(&g, 0)->xfers, 9995); /* those due to 9994 ms */
	all_responses_are(rig_lun(&g, 0), 5 * MS);
	all_is_told(&g, 0, 10000);
	assert_int_equal(o->backlog, 5); /* in flight, as 5 always are */
	assert_int_equal(o->waiting, 0);
	assert_int_equal(o->oldest_age_ns, 5 * MS);
	assert_true(o->asked_per_s == 1000);
	assert_true(o->held_mean_ns.v == 0);
	assert_int_equal(g.r.status, 0);
	assert_int_equal(g.r.n_findings, 0);
	rig_done(&g);
	/* after a ramp as many come back as are due */
	rig_run(&g, "--null-latency 5ms --qd 8 --rate 1234.5 --ramp 1s --time 10s lun");
	assert_int_equal(rig_lun(&g, 0)->xfers, 12345);
	assert_true(g.r.total.xfer_per_s.v == 1234.5);
	all_responses_are(rig_lun(&g, 0), 5 * MS);
	rig_done(&g);
}

static void a_day_at_a_low_rate(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 5ms --qd 1 --rate 0.5 --time 1d lun");
	assert_int_equal(rig_lun(&g, 0)->xfers, 43200);
	all_responses_are(rig_lun(&g, 0), 5 * MS);
	assert_true(g.r.total.xfer_per_s.v == 0.5);
	rig_done(&g);
}

static void luns_share_a_total(void **state)
{
	struct rig g;
	const struct lb_io *ios;

	(void)state;
	/* 1000/s over three: 333.3 each, and in turn */
	rig_run(&g, "--null-latency 500us --qd 2 --rate-total 1000 --time 3s a b c");
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(rig_lun(&g, i)->xfers, 1000);
		assert_true(g.r.luns[i].open.asked_per_s == 1000.0 / 3);
		all_responses_are(rig_lun(&g, i), 500 * US);
	}
	assert_int_equal(g.r.total.xfers, 3000);
	assert_true(g.r.open.asked_per_s == 1000);
	rig_done(&g);
	/* each at its own rate: they do not all fire at once */
	rig_run(&g, "--null-latency 1s --qd 1 --rate 1 --time 999ms a b c");
	ios = g.board->ios;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(rig_lun(&g, i)->late_max_ns, SEC);
	assert_int_equal(rig_end_ns(&g), SEC + 666666666);
	assert_int_equal(ios[0].issue_ns, 0);
	rig_done(&g);
}

static void above_its_capacity_a_backlog_grows(void **state)
{
	struct rig g;

	(void)state;
	for (uint64_t s = 10; s <= 40; s += 10) {
		const struct lb_figures *f;
		char line[200];

		/* 4 each 5 ms: 800 of 1000/s */
		snprintf(line, sizeof(line), "--null-latency 5ms --qd 4 --rate 1000 --time %us lun",
			(unsigned)s);
		rig_run(&g, line);
		f = rig_lun(&g, 0);
		assert_int_equal(f->xfers, 800 * s - 4);
		all_is_told(&g, 0, 1000 * s);
		assert_int_equal(g.r.open.waiting, 200 * s);
		/* the first of the four in flight was due so long ago */
		assert_int_equal(g.r.open.oldest_age_ns, (200 * s + 4) * MS);
		assert_true(f->lat.max_ns.v == 5 * MS && f->lat.min_ns.v == 5 * MS);
		assert_int_equal(f->response.min_ns.v, 5 * MS);
		assert_int_equal(f->response.max_ns.v, (200 * s + 4) * MS);
		assert_true(f->response.max_is_bound && f->response.mean_is_bound);
		for (int i = 0; i < LB_PCT_999; i++)
			assert_true(f->response.pct_ns[i].has && f->response.pct_over[i]);
		assert_string_equal(g.r.findings[0].code, "rate-not-kept");
		rig_done(&g);
	}
}

/* What an outage of 5 s does to those who use the LUN, and what a closed loop sees of it. */
static void an_outage_is_in_the_response(void **state)
{
	struct rig g;
	const struct lb_figures *f;

	(void)state;
	rig_run(&g, "--null-latency 5ms --null-script stall:20s:5s --qd 8 --time 60s lun");
	f = rig_lun(&g, 0);
	assert_in_range(f->lat.pct_ns[LB_PCT_99].v, 5 * MS, 5 * MS * 65 / 64);
	assert_in_range(f->lat.pct_ns[LB_PCT_999].v, 5 * MS, 5 * MS * 65 / 64);
	assert_false(f->response.max_ns.has);
	assert_false(g.r.is_open);
	rig_done(&g);

	rig_run(&g,
		"--null-latency 5ms --null-script stall:20s:5s --qd 8 --rate 100 --time 60s lun");
	f = rig_lun(&g, 0);
	assert_int_equal(f->xfers, 6000); /* made up for, 1600 a second */
	assert_in_range(f->lat.pct_ns[LB_PCT_99].v, 5 * MS, 5 * MS * 65 / 64);
	/* of 6000, 500 were due in it: the 60th longest waited 4.4 s and more */
	assert_in_range(f->response.pct_ns[LB_PCT_99].v, 4400 * MS, 4500 * MS);
	assert_in_range(f->response.pct_ns[LB_PCT_90].v, 5 * MS, 5 * MS * 65 / 64);
	assert_int_equal(f->response.max_ns.v, 5 * SEC);
	assert_false(f->response.max_is_bound);
	assert_int_equal(g.r.open.backlog, 0);
	rig_done(&g);
}

/* The same second by second. */
/* More than 64 bits of nanoseconds, all together. */
static void days_behind_the_schedule_are_added_up(void **state)
{
	struct rig g;
	const struct lb_series *s;
	const uint64_t behind_ns = 10 * 86400 * SEC; /* at the end: half of it waits */
	uint64_t last_ns;

	(void)state;
	rig_run(&g, "--null-latency 20s --qd 1 --rate 0.1 --time 20d --interval 1d a");
	s = g.r.series;
	assert_int_equal(s->n, 20);
	last_ns = lb_point_response_mean_ns(lb_series_point(s, 0, 0, 19));
	assert_in_range(last_ns, behind_ns - 86400 * SEC, behind_ns);
	assert_in_range(g.r.total.response.mean_ns.v, behind_ns / 2 - 1000 * SEC,
		behind_ns / 2 + 1000 * SEC);
	rig_done(&g);
}

static void an_outage_is_in_the_series(void **state)
{
	struct rig g;
	const struct lb_series *s;
	uint64_t max_ns = 0;

	(void)state;
	rig_run(&g,
		"--null-latency 5ms --null-script stall:20s:5s@1 --qd 8 --rate 100 --time 60s a b");
	s = g.r.series;
	assert_int_equal(s->n, 60);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct lb_point *a = lb_series_point(s, 0, 0, i);
		const struct lb_point *b = lb_series_point(s, 1, 0, i);
		const struct lb_point *total = lb_series_point(s, 2, 0, i);
		/* LUN b's are due 5 ms after a's: of the 8 in flight one is of before */
		uint64_t backlog = i >= 20 && i < 25 ? (i - 19) * 100 - 7 : 0;

		assert_int_equal(a->response_sum_ns, a->sum_ns);
		assert_int_equal(a->response_max_ns, a->xfers ? 5 * MS : 0);
		assert_int_equal(lb_series_both(s, 0, i)->backlog, 0);
		assert_int_equal(lb_series_both(s, 1, i)->backlog, backlog);
		assert_int_equal(lb_series_both(s, 2, i)->backlog, backlog);
		assert_int_equal(total->response_sum_ns, a->response_sum_ns + b->response_sum_ns);
		assert_true(total->response_max_ns >= b->response_max_ns);
		max_ns = b->response_max_ns > max_ns ? b->response_max_ns : max_ns;
	}
	assert_int_equal(max_ns, 5 * SEC + 5 * MS);
	assert_int_equal(max_ns, rig_lun(&g, 1)->response.max_ns.v);
	/* what was caught up with in the second after it */
	assert_true(lb_series_point(s, 1, 0, 25)->response_p99_ns > 4800 * MS);
	assert_true(lb_series_point(s, 2, 0, 25)->response_p99_ns > 4800 * MS);
	assert_in_range(lb_series_point(s, 1, 0, 30)->response_p99_ns, 5 * MS, 5 * MS * 65 / 64);
	rig_done(&g);
}

static void a_lun_that_died_is_in_the_response(void **state)
{
	struct rig g;
	const struct lb_figures *f;

	(void)state;
	rig_run(&g, "--null-latency 5ms --null-script dead:9s --qd 8 --rate 100 --time 10s "
		    "--drain 2s lun");
	f = rig_lun(&g, 0);
	/* the last to come back was due at 8990 ms; 101 were due since */
	assert_int_equal(f->xfers, 900);
	assert_int_equal(f->outstanding, 8);
	all_is_told(&g, 0, 1000);
	assert_int_equal(g.r.open.backlog, 100);
	assert_int_equal(g.r.open.oldest_age_ns, SEC);
	assert_false(f->response.pct_over[LB_PCT_50]);
	assert_in_range(f->response.pct_ns[LB_PCT_50].v, 5 * MS, 5 * MS * 65 / 64);
	/* 92 waited up to 920 ms, 8 are out since 2930 ms and more */
	assert_true(f->response.pct_over[LB_PCT_99]);
	assert_in_range(f->response.pct_ns[LB_PCT_99].v, 900 * MS, 935 * MS);
	assert_int_equal(f->response.max_ns.v, 3 * SEC);
	rig_done(&g);
}

static void what_is_missed_is_counted(void **state)
{
	struct rig g;
	const struct lb_figures *f;

	(void)state;
	/* due each 10 ms, done each 25 ms: two of five, and the last is overdue by 0 or 5 ms */
	rig_run(&g, "--null-latency 25ms --qd 1 --rate 100 --catch-up none --time 1s lun");
	f = rig_lun(&g, 0);
	assert_int_equal(f->xfers, 39);
	all_is_told(&g, 0, 100);
	assert_int_equal(g.r.open.missed, 59);
	assert_int_equal(g.r.open.waiting, 1); /* of 990 ms; that of 980 ms is missed */
	assert_int_equal(f->response.min_ns.v, 25 * MS);
	assert_false(f->response.mean_ns.has || f->response.pct_ns[LB_PCT_50].has);
	assert_true(f->response.max_is_bound);
	rig_done(&g);
	/* of a ramp nothing is counted */
	rig_run(&g,
		"--null-latency 25ms --qd 1 --rate 100 --catch-up none --ramp 1s --time 1s lun");
	assert_int_equal(rig_lun(&g, 0)->xfers, 40);
	assert_in_range(g.r.open.missed, 59, 60);
	rig_done(&g);
	/* where nothing is missed there are all figures */
	rig_run(&g, "--null-latency 25ms --qd 3 --rate 100 --catch-up none --time 10s lun");
	assert_int_equal(g.r.open.missed, 0);
	all_responses_are(rig_lun(&g, 0), 25 * MS);
	rig_done(&g);
	/* a stall of 5 s: of what is due from 20 s on all but the first 8, until that of 25 s */
	rig_run(&g, "--null-latency 5ms --null-script stall:20s:5s --qd 8 --rate 100 --time 60s "
		    "--catch-up none lun");
	assert_int_equal(g.r.open.missed, 492);
	assert_int_equal(rig_lun(&g, 0)->xfers, 6000 - 492);
	rig_done(&g);
}

static void chance_is_the_same_each_time(void **state)
{
	struct rig g;
	struct lb_pace p;
	uint64_t due = 0, n = 0;

	(void)state;
	lb_pace_init(&p, LB_ARRIVAL_POISSON, 2000 * 1000, 1, 2, 7);
	while (lb_pace_claim(&p, 20 * SEC - 1, &due))
		n++;
	rig_run(&g,
		"--null-latency 1ms --qd 64 --rate 1000 --arrival poisson --seed 7 --time 20s a b");
	all_is_told(&g, 1, n);
	assert_true(rig_lun(&g, 0)->xfers != rig_lun(&g, 1)->xfers);
	/* a queue of 64 is never full at this rate */
	all_responses_are(rig_lun(&g, 1), MS);
	assert_in_range(n, 20000 - 5 * 142, 20000 + 5 * 142);
	rig_done(&g);
}

/* A single server of twice the rate: by Pollaczek and Khinchine the wait is half a service. */
static void chance_makes_queues(void **state)
{
	struct rig g;
	const struct lb_figures *f;
	double mean;

	(void)state;
	rig_run(&g, "--null-latency 1ms --qd 1 --rate 500 --arrival poisson --time 2000s lun");
	f = rig_lun(&g, 0);
	mean = (double)f->response.mean_ns.v / 1e6;
	assert_true(mean > 1.48 && mean < 1.52);
	assert_int_equal(f->lat.max_ns.v, MS);
	rig_done(&g);
}

static void errors_hold_nothing_up_but_their_place(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g,
		"--null-latency 5ms --null-script error:10:EIO --qd 8 --rate 100 --time 10s lun");
	assert_int_equal(rig_lun(&g, 0)->errors, 100);
	all_is_told(&g, 0, 1000);
	all_responses_are(rig_lun(&g, 0), 5 * MS); /* others were free */
	rig_done(&g);
	/* gone at 5 s: what is due waits out the lane's back-off, then fails in its turn */
	rig_run(&g,
		"--null-latency 5ms --null-script gone:5s:EIO --qd 4 --rate 100 --time 10s lun");
	all_is_told(&g, 0, 1000);
	assert_int_equal(rig_lun(&g, 0)->xfers, 500);
	assert_in_range(rig_lun(&g, 0)->errors, 10, 100);
	assert_true(g.r.open.waiting > 400);
	rig_done(&g);
}

static void a_retired_lun_owes_nothing_more(void **state)
{
	struct rig g;

	(void)state;
	/* two are out when it goes, and their errors tell so: none is due after that */
	rig_run(&g,
		"--null-latency 15ms --null-script gone:5s:ENODEV@1 --qd 4 --rate 100 --time 10s a b");
	assert_true(g.r.luns[1].is_lost);
	assert_int_equal(g.r.luns[1].lived_ns.v, 5 * SEC);
	assert_int_equal(rig_lun(&g, 1)->xfers + rig_lun(&g, 1)->errors, 500);
	assert_int_equal(g.r.luns[1].open.backlog, 0);
	assert_int_equal(g.r.luns[1].open.missed, 0);
	all_is_told(&g, 0, 1000);
	assert_int_equal(rig_lun(&g, 0)->xfers, 999);
	rig_done(&g);
	/* one that is behind owes what was due until then */
	rig_run(&g,
		"--null-latency 20ms --null-script gone:5s:ENODEV@1 --qd 1 --rate 100 --time 10s a b");
	assert_true(g.r.luns[1].is_lost);
	all_is_told(&g, 1, 500);
	assert_in_range(g.r.luns[1].open.waiting, 249, 251);
	assert_in_range(g.r.luns[1].open.oldest_age_ns, 2490 * MS, 2510 * MS);
	assert_int_equal(g.r.open.oldest_age_ns, g.r.luns[0].open.oldest_age_ns);
	rig_done(&g);
}

static void a_count_ends_it_too(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 5ms --qd 8 --rate 1000 --count 777 a b");
	assert_int_equal(rig_lun(&g, 0)->xfers, 777);
	assert_int_equal(g.r.window_ns.v, 776 * MS + 5 * MS);
	assert_string_equal(g.r.ended_by, "count");
	all_responses_are(rig_lun(&g, 0), 5 * MS);
	rig_done(&g);
}

/* Seconds without anything to do are no silence; seconds without an answer are. */
static void a_slow_schedule_is_no_stall(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 5ms --qd 2 --rate 0.1 --count 10 --drain 2s lun");
	assert_string_equal(g.r.ended_by, "count");
	assert_int_equal(g.r.window_ns.v, 90 * SEC + 5 * MS);
	rig_done(&g);
	rig_run(&g,
		"--null-latency 5ms --null-script dead:35s --qd 2 --rate 0.1 --count 10 --drain 2s "
		"lun");
	assert_string_equal(g.r.ended_by, "stall");
	assert_in_range(g.r.window_ns.v, 42 * SEC - 100 * MS, 42 * SEC + 200 * MS);
	rig_done(&g);
}

/* A LUN that nothing is asked of is not silent. */
static void idle_is_no_gap(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 5ms --qd 2 --rate 0.1 --time 100s lun");
	assert_int_equal(rig_lun(&g, 0)->xfers, 10);
	assert_int_equal(g.board->lun_states[0].longest_ns, 5 * MS);
	assert_int_equal(g.board->lun_states[0].n_stalls, 0);
	rig_done(&g);
	/* one that does not answer is, from when it was asked */
	rig_run(&g,
		"--null-latency 5ms --null-script stall:52s:30s --qd 4 --rate 0.1 --time 100s lun");
	assert_int_equal(g.board->lun_states[0].longest_ns, 22 * SEC);
	assert_int_equal(g.board->lun_states[0].n_stalls, 1);
	rig_done(&g);
}

static void sequential_is_in_order(void **state)
{
	struct rig g;

	(void)state;
	/* one each 10 ms, and each comes back before the next: the next block all the same */
	rig_run(&g, "--null-latency 5ms --qd 8 --rate 100 --pat seq --time 10s lun");
	assert_int_equal(rig_lun(&g, 0)->ios_issued, 1000);
	for (int i = 0; i < 8; i++)
		assert_true(g.board->ios[i].offset_bytes <= 999 * 4096);
	assert_int_equal(g.worker.lanes[0].aim->pattern.next, 1000);
	rig_done(&g);
}

static void *sleep_by_the_window(void *window)
{
	lb_window_sleep(window, lb_now_ns() + 3600 * SEC);
	return NULL;
}

/* Whoever sleeps until something is due wakes when the window ends, planned or not. */
static void the_windows_end_wakes_sleepers(void **state)
{
	static struct lb_window planned, early;
	pthread_t a, b;
	uint64_t now = lb_now_ns();

	(void)state;
	atomic_store(&planned.close_ns, LB_NEVER);
	atomic_store(&early.close_ns, LB_NEVER);
	assert_int_equal(pthread_create(&a, NULL, sleep_by_the_window, &planned), 0);
	assert_int_equal(pthread_create(&b, NULL, sleep_by_the_window, &early), 0);
	usleep(20000);
	atomic_store(&planned.close_ns, now + 100 * MS);
	lb_window_changed(&planned);
	pthread_join(a, NULL);
	assert_true(lb_now_ns() >= now + 100 * MS);
	assert_int_equal(lb_window_close(&early, NULL, NULL), 1);
	pthread_join(b, NULL);
	/* nothing to wait for */
	lb_window_sleep(&early, lb_now_ns() + 3600 * SEC);
	atomic_store(&planned.close_ns, LB_NEVER);
	lb_window_sleep(&planned, lb_now_ns());
}

/* On the real clock nothing is issued early; how late is the host's affair. */
static void on_the_real_clock(void **state)
{
	struct rig g;
	uint64_t now;

	(void)state;
	rig_make(&g, "--engine null --size 4k --qd 8 --workers 1 --rate 1000 --time 1s a b", -1);
	now = lb_now_ns();
	atomic_store(&g.board->window.open_ns, now);
	atomic_store(&g.board->window.close_ns, now + 300 * MS);
	rig_loop(&g);
	assert_int_equal(g.ret, 0);
	rig_result(&g);
	for (uint32_t i = 0; i < 2; i++) {
		const struct lb_figures *f = rig_lun(&g, i);

		assert_in_range(f->xfers + f->late + g.r.luns[i].open.waiting, 299, 301);
		assert_true(f->response.mean_ns.v >= f->lat.mean_ns.v);
		assert_true(f->response.min_ns.v >= f->lat.min_ns.v);
	}
	rig_done(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rate_that_can_be_kept_is_kept),
		cmocka_unit_test(a_day_at_a_low_rate),
		cmocka_unit_test(luns_share_a_total),
		cmocka_unit_test(above_its_capacity_a_backlog_grows),
		cmocka_unit_test(an_outage_is_in_the_response),
		cmocka_unit_test(days_behind_the_schedule_are_added_up),
		cmocka_unit_test(an_outage_is_in_the_series),
		cmocka_unit_test(a_lun_that_died_is_in_the_response),
		cmocka_unit_test(what_is_missed_is_counted),
		cmocka_unit_test(chance_is_the_same_each_time),
		cmocka_unit_test(chance_makes_queues),
		cmocka_unit_test(errors_hold_nothing_up_but_their_place),
		cmocka_unit_test(a_retired_lun_owes_nothing_more),
		cmocka_unit_test(a_count_ends_it_too),
		cmocka_unit_test(a_slow_schedule_is_no_stall),
		cmocka_unit_test(idle_is_no_gap),
		cmocka_unit_test(sequential_is_in_order),
		cmocka_unit_test(the_windows_end_wakes_sleepers),
		cmocka_unit_test(on_the_real_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
