/* What is counted, and what is not: the window, --count, ramp, drain, to the exact figure. */
#include "worker_rig.h"

#include "hist.h"

/* Every figure of a LUN or the total adds up within itself. */
static void is_whole(const struct lb_figures *f, uint64_t size)
{
	assert_int_equal(lb_hist_total(&f->hist), f->xfers);
	assert_int_equal(f->bytes, f->xfers * size);
	assert_int_equal(f->bytes_issued, f->ios_issued * size);
	assert_int_equal(f->lat.min_ns.has, f->xfers != 0);
	assert_int_equal(f->lat.mean_ns.has, f->xfers != 0);
}

static void total_is_the_sum(const struct rig *g)
{
	uint64_t xfers = 0, bytes = 0, issued = 0, late = 0, outstanding = 0, errors = 0;

	for (uint32_t i = 0; i < g->r.n_luns; i++) {
		const struct lb_figures *f = rig_lun(g, i);

		is_whole(f, 4096);
		xfers += f->xfers;
		bytes += f->bytes;
		issued += f->ios_issued;
		late += f->late;
		outstanding += f->outstanding;
		errors += f->errors;
	}
	is_whole(&g->r.total, 4096);
	assert_int_equal(g->r.total.xfers, xfers);
	assert_int_equal(g->r.total.bytes, bytes);
	assert_int_equal(g->r.total.ios_issued, issued);
	assert_int_equal(g->r.total.late, late);
	assert_int_equal(g->r.total.outstanding, outstanding);
	assert_int_equal(g->r.total.errors, errors);
}

static void window_is_half_open(void **state)
{
	struct rig g;
	const struct lb_figures *f;

	(void)state;
	rig_run(&g, "--null-latency 5ms --qd 4 --time 10s lun");
	f = rig_lun(&g, 0);
	assert_int_equal(g.r.window_ns.v, 10 * SEC);
	assert_int_equal(g.r.warmup_ns, 0);
	assert_int_equal(f->xfers, 4 * 1999); /* at 5, 10 ... 9995 ms, not at 10 s */
	assert_int_equal(f->ios_issued, 4 * 2000);
	assert_int_equal(f->late, 4);
	assert_int_equal(f->late_max_ns, 5 * MS);
	assert_int_equal(f->outstanding, 0);
	assert_int_equal(f->errors, 0);
	assert_int_equal(f->lat.min_ns.v, 5 * MS);
	assert_int_equal(f->lat.mean_ns.v, 5 * MS);
	assert_int_equal(f->lat.max_ns.v, 5 * MS);
	for (int i = 0; i < LB_PCT_9999; i++) {
		assert_true(f->lat.pct_ns[i].has);
		assert_int_equal(f->lat.pct_ns[i].v, 5 * MS);
	}
	assert_false(f->lat.pct_ns[LB_PCT_9999].has); /* 7996 are too few */
	assert_true(f->xfer_per_s.v == 799.6);
	assert_true(f->bytes_per_s.v == 799.6 * 4096);
	assert_string_equal(g.r.ended_by, "time");
	assert_true(g.r.is_complete);
	assert_int_equal(g.r.status, 0);
	assert_int_equal(rig_end_ns(&g), 10 * SEC); /* the late ones came at once */
	total_is_the_sum(&g);
	rig_done(&g);
}

static void ramp_is_in_no_figure(void **state)
{
	struct rig g;
	const struct lb_cell *cell;

	(void)state;
	/* 50 ms of ramp in which everything takes 10 times as long as after it */
	rig_run(&g, "--null-latency list:10ms/10ms/10ms/10ms/10ms/1ms/1ms/1ms/1ms/1ms/1ms "
		    "--qd 1 --ramp 50ms --time 5ms lun");
	assert_int_equal(atomic_load(&g.board->window.open_ns), T0 + 50 * MS);
	assert_int_equal(g.r.warmup_ns, 50 * MS);
	assert_int_equal(g.r.window_ns.v, 5 * MS);
	/* the one that returns as the window opens is in it: 50 (10 ms), 51, 52, 53, 54 ms */
	assert_int_equal(rig_lun(&g, 0)->xfers, 5);
	assert_int_equal(rig_lun(&g, 0)->lat.max_ns.v, 10 * MS);
	assert_int_equal(rig_lun(&g, 0)->lat.mean_ns.v, 14 * MS / 5);
	assert_int_equal(rig_lun(&g, 0)->ios_issued, 10);
	cell = lb_board_cell(g.board, 0, LB_READ);
	assert_int_equal(cell->outside, 4);
	assert_int_equal(rig_lun(&g, 0)->late, 1);
	total_is_the_sum(&g);
	rig_done(&g);
}

static void percentiles_are_by_rank(void **state)
{
	struct rig g;
	const struct lb_latency *lat;

	(void)state;
	/* 100 each of 1 to 10 ms; upper edges are those of buckets 2^16 and 2^17 ns wide */
	rig_run(&g, "--null-latency list:10ms/1ms/9ms/2ms/8ms/3ms/7ms/4ms/6ms/5ms --qd 1 "
		    "--count 1000 lun");
	lat = &rig_lun(&g, 0)->lat;
	assert_int_equal(rig_lun(&g, 0)->xfers, 1000);
	assert_int_equal(g.r.window_ns.v, 100 * 55 * MS);
	assert_int_equal(lat->min_ns.v, MS);
	assert_int_equal(lat->mean_ns.v, 5500 * US);
	assert_int_equal(lat->max_ns.v, 10 * MS);
	assert_int_equal(lat->pct_ns[LB_PCT_50].v, 77 * 65536 - 1);  /* of 5 ms */
	assert_int_equal(lat->pct_ns[LB_PCT_90].v, 69 * 131072 - 1); /* of 9 ms */
	assert_int_equal(lat->pct_ns[LB_PCT_99].v, 10 * MS);         /* clamped to the maximum */
	assert_true(lat->pct_ns[LB_PCT_999].has);
	assert_int_equal(lat->pct_ns[LB_PCT_999].v, 10 * MS);
	assert_false(lat->pct_ns[LB_PCT_9999].has);
	rig_done(&g);
}

/* COUNT of a LUN whose QD transfers return together every 5 ms, and another at half its speed. */
static void count_is_exact(uint64_t count, uint32_t qd)
{
	struct rig g;
	char line[200];
	uint64_t rounds = (count + qd - 1) / qd;

	snprintf(line, sizeof(line),
		"--null-latency 5ms --null-script slow:2@1 --qd %u --count %llu fast slow", qd,
		(unsigned long long)count);
	rig_run(&g, line);
	assert_int_equal(rig_lun(&g, 0)->xfers, count);
	assert_int_equal(g.r.window_ns.v, rounds * 5 * MS);
	/* together with the last of the fast one, some of the slow one's may come or not */
	assert_in_range(rig_lun(&g, 1)->xfers, (rounds - 1) / 2 * qd, rounds / 2 * qd);
	assert_true(rig_lun(&g, 1)->xfers < count || count <= qd);
	assert_string_equal(g.r.ended_by, "count");
	assert_true(g.r.is_complete);
	assert_int_equal(g.r.status, rig_lun(&g, 1)->xfers ? 0 : 1);
	assert_int_equal(rig_lun(&g, 0)->outstanding + rig_lun(&g, 1)->outstanding, 0);
	total_is_the_sum(&g);
	rig_done(&g);
}

static void count_ends_the_run_exactly(void **state)
{
	static const uint64_t counts[] = {
		1, 2, 4, 31, 32, 33, 34, 63, 64, 65, 96, 97, 998, 1000, 1001, 4096};
	static const uint32_t qds[] = {1, 3, 4, 31, 32, 33, 64, 100};

	(void)state;
	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
		for (size_t q = 0; q < sizeof(qds) / sizeof(qds[0]); q++)
			count_is_exact(counts[c], qds[q]);
}

static void past_the_count_is_not_counted(void **state)
{
	struct rig g;
	const struct lb_cell *cell;

	(void)state;
	/* of the round that reaches it 2 of 4 */
	rig_run(&g, "--null-latency 5ms --qd 4 --count 998 lun");
	cell = lb_board_cell(g.board, 0, LB_READ);
	assert_int_equal(rig_lun(&g, 0)->xfers, 998);
	assert_int_equal(cell->outside, 2);
	assert_int_equal(rig_lun(&g, 0)->late, 4); /* qd stayed full to the end */
	assert_int_equal(rig_lun(&g, 0)->late_max_ns, 5 * MS);
	assert_int_equal(g.r.window_ns.v, 1250 * MS);
	rig_done(&g);
	/* of one moment the first batch of 32 reaches it: the second is past the end */
	rig_run(&g, "--null-latency 5ms --qd 64 --count 970 lun");
	cell = lb_board_cell(g.board, 0, LB_READ);
	assert_int_equal(rig_lun(&g, 0)->xfers, 970);
	assert_int_equal(g.r.window_ns.v, 80 * MS);
	assert_int_equal(cell->outside + rig_lun(&g, 0)->late, 16 * 64 - 970 + 32);
	rig_done(&g);
}

static void count_and_time_the_first_ends_it(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 5ms --qd 4 --count 1000 --time 1s lun");
	assert_int_equal(rig_lun(&g, 0)->xfers, 4 * 199);
	assert_int_equal(g.r.window_ns.v, SEC);
	assert_string_equal(g.r.ended_by, "time");
	rig_done(&g);
	rig_run(&g, "--null-latency 5ms --qd 4 --count 100 --time 1s --ramp 7ms lun");
	assert_int_equal(rig_lun(&g, 0)->xfers, 100);
	assert_int_equal(g.r.window_ns.v, (25 + 1) * 5 * MS - 7 * MS); /* the ramp ate a round */
	assert_string_equal(g.r.ended_by, "count");
	assert_int_equal(g.r.status, 0);
	rig_done(&g);
}

static void late_has_its_age(void **state)
{
	struct rig g;
	const struct lb_figures *f;

	(void)state;
	rig_run(&g, "--null-latency 5ms --null-script stall:900ms:2s@1 --qd 4 --time 1s a b");
	f = rig_lun(&g, 1);
	assert_int_equal(f->xfers, 4 * 179); /* to 895 ms; then issued, due at 900 ms */
	assert_int_equal(f->late, 4);
	assert_int_equal(f->late_max_ns, 2900 * MS - 895 * MS);
	assert_int_equal(f->lat.max_ns.v, 2005 * MS);
	assert_true(f->lat.max_is_bound);
	assert_int_equal(f->lat.mean_ns.v, 5 * MS); /* in no other figure */
	assert_int_equal(f->outstanding, 0);
	assert_int_equal(g.r.window_ns.v, SEC);
	assert_int_equal(rig_end_ns(&g), 2900 * MS);
	assert_int_equal(rig_lun(&g, 0)->xfers, 4 * 199); /* the other one never noticed */
	assert_int_equal(rig_lun(&g, 0)->late_max_ns, 5 * MS);
	assert_int_equal(g.r.total.late, 8);
	assert_int_equal(g.r.total.late_max_ns, 2005 * MS);
	assert_int_equal(g.r.status, 0); /* a stall that recovered is no error */
	assert_false(g.control.timed_out);
	total_is_the_sum(&g);
	rig_done(&g);
}

static void stall_in_the_window_is_counted_in_full(void **state)
{
	struct rig g;
	const struct lb_figures *f;

	(void)state;
	rig_run(&g, "--null-latency 5ms --null-script stall:200ms:500ms --qd 2 --time 1s lun");
	f = rig_lun(&g, 0);
	/* to 195 ms, the stalled ones at 700 ms, and on to 995 ms */
	assert_int_equal(f->xfers, 2 * (39 + 1 + 59));
	assert_int_equal(f->lat.max_ns.v, 505 * MS);
	assert_int_equal(f->lat.mean_ns.v, (98 * 5 * MS + 505 * MS) / 99);
	assert_true(f->xfer_per_s.v == 198.0); /* over the whole second */
	rig_done(&g);
}

static void lost_io_is_outstanding_with_its_age(void **state)
{
	struct rig g;
	const struct lb_figures *f;

	(void)state;
	rig_run(&g, "--null-latency 5ms --null-script lose:3 --qd 4 --time 1s --drain 5s lun");
	f = rig_lun(&g, 0);
	assert_int_equal(f->xfers, 3 * 199); /* the others kept on */
	assert_int_equal(f->late, 3);
	assert_int_equal(f->outstanding, 1);
	assert_int_equal(rig_end_ns(&g), 6 * SEC); /* the drain was waited out */
	assert_int_equal(f->outstanding_max_age_ns, 6 * SEC);
	assert_int_equal(f->lat.max_ns.v, 6 * SEC);
	assert_true(f->lat.max_is_bound);
	assert_int_equal(f->ios_issued, 3 * 200 + 1);
	assert_int_equal(g.r.window_ns.v, SEC);
	assert_true(g.control.timed_out);
	assert_int_equal(g.r.status, LB_ST_FAULTY);
	assert_true(g.r.is_complete);
	total_is_the_sum(&g);
	rig_done(&g);
}

static void a_dead_lun_keeps_no_other_from_its_time(void **state)
{
	struct rig g;
	const struct lb_figures *f;

	(void)state;
	rig_run(&g, "--null-latency 5ms --null-script dead:0@1 --qd 40 --time 2s --drain 0s a b");
	f = rig_lun(&g, 1);
	assert_int_equal(f->xfers, 0);
	assert_int_equal(f->outstanding, 40);
	assert_int_equal(f->outstanding_max_age_ns, rig_end_ns(&g));
	assert_false(f->lat.mean_ns.has || f->lat.min_ns.has || f->lat.pct_ns[LB_PCT_50].has);
	assert_int_equal(g.r.window_ns.v, 2 * SEC);
	assert_int_equal(rig_lun(&g, 0)->xfers, 40 * 399);
	assert_int_equal(g.r.status, LB_ST_FAULTY);
	total_is_the_sum(&g);
	rig_done(&g);
}

static void a_count_that_cannot_come_ends_by_silence(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 5ms --null-script dead:1s --qd 4 --count 1000 --drain 2s lun");
	assert_int_equal(rig_lun(&g, 0)->xfers, 4 * 199);
	/* silent for 2 s after 995 ms; it is looked for every 100 ms */
	assert_in_range(g.r.window_ns.v, 2995 * MS, 3095 * MS);
	assert_true(g.board->window.stalled);
	assert_string_equal(g.r.ended_by, "stall");
	assert_false(g.r.is_complete);
	assert_int_equal(g.r.status, LB_ST_FAULTY);
	assert_int_equal(rig_lun(&g, 0)->outstanding, 4);
	assert_int_equal(rig_lun(&g, 0)->outstanding_max_age_ns, rig_end_ns(&g) - 995 * MS);
	rig_done(&g);
}

static void silence_shorter_than_the_drain_ends_nothing(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g, "--null-latency 5ms --null-script stall:100ms:1990ms --qd 4 --count 1000 "
		    "--drain 2s lun");
	assert_int_equal(rig_lun(&g, 0)->xfers, 1000);
	assert_string_equal(g.r.ended_by, "count");
	/* 19 rounds, then one after the stall, then 230 more */
	assert_int_equal(g.r.window_ns.v, 2090 * MS + 230 * 5 * MS);
	rig_done(&g);
}

static void silence_is_counted_from_the_opening(void **state)
{
	struct rig g;

	(void)state;
	rig_run(&g,
		"--null-latency 5ms --null-script dead:0 --qd 1 --count 10 --ramp 5s --drain 2s lun");
	assert_in_range(g.r.window_ns.v, 2000 * MS, 2100 * MS);
	assert_int_equal(g.r.warmup_ns, 5 * SEC);
	assert_string_equal(g.r.ended_by, "stall");
	assert_false(rig_lun(&g, 0)->lat.mean_ns.has);
	assert_int_equal(rig_lun(&g, 0)->outstanding_max_age_ns, rig_end_ns(&g));
	rig_done(&g);
}

/* Reads are looked at more and more seldom: one in 17 after the first 16. */
static void samples_tell_zeros_from_data(void **state)
{
	struct rig g;
	uint32_t n = 0, size = 4096;

	(void)state;
	for (uint32_t at = 1; at <= 5000; at += 1 + at / 8)
		n++;
	rig_make(&g, "--engine null --size 4k --null-latency 1ms --qd 4 --count 5000 a b c", -1);
	memset(g.bufs, 0, 12 * size);
	for (uint32_t slot = 4; slot < 8; slot++)
		g.bufs[slot * size + size - 1] = 1; /* its last byte tells */
	for (uint32_t slot = 8; slot < 10; slot++)
		g.bufs[slot * size] = 1; /* half of the third LUN's */
	rig_loop(&g);
	rig_result(&g);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(rig_lun(&g, i)->samples, n);
	assert_true(rig_lun(&g, 0)->zero_fraction.v == 1.0);
	assert_true(rig_lun(&g, 1)->zero_fraction.v == 0.0);
	assert_true(rig_lun(&g, 2)->zero_fraction.v > 0.3 && rig_lun(&g, 2)->zero_fraction.v < 0.7);
	assert_int_equal(g.r.total.samples, 3 * n);
	rig_done(&g);
}

static void each_lane_has_its_depth_and_its_offsets(void **state)
{
	struct rig g;
	uint64_t offset[2][100];

	(void)state;
	for (int run = 0; run < 2; run++) {
		rig_run(&g, "--null-latency 1s --qd 50 --time 500ms --seed 7 a b");
		assert_int_equal(rig_lun(&g, 0)->late, 50);
		assert_int_equal(rig_lun(&g, 1)->late, 50);
		for (int i = 0; i < 100; i++)
			offset[run][i] = g.board->ios[i].offset_bytes;
		rig_done(&g);
	}
	assert_memory_equal(offset[0], offset[1], sizeof(offset[0])); /* repeatable */
	assert_memory_not_equal(offset[0], offset[0] + 50, 50 * sizeof(uint64_t));
	for (int i = 0; i < 100; i++) {
		assert_int_equal(offset[0][i] % 4096, 0);
		assert_true(offset[0][i] <= RIG_LUN_BYTES - 4096);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(window_is_half_open),
		cmocka_unit_test(ramp_is_in_no_figure),
		cmocka_unit_test(percentiles_are_by_rank),
		cmocka_unit_test(count_ends_the_run_exactly),
		cmocka_unit_test(past_the_count_is_not_counted),
		cmocka_unit_test(count_and_time_the_first_ends_it),
		cmocka_unit_test(late_has_its_age),
		cmocka_unit_test(stall_in_the_window_is_counted_in_full),
		cmocka_unit_test(lost_io_is_outstanding_with_its_age),
		cmocka_unit_test(a_dead_lun_keeps_no_other_from_its_time),
		cmocka_unit_test(a_count_that_cannot_come_ends_by_silence),
		cmocka_unit_test(silence_shorter_than_the_drain_ends_nothing),
		cmocka_unit_test(silence_is_counted_from_the_opening),
		cmocka_unit_test(samples_tell_zeros_from_data),
		cmocka_unit_test(each_lane_has_its_depth_and_its_offsets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
