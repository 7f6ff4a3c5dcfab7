/* A mix of sizes in the hot loop: what is counted, and where. */
#include "worker_rig.h"

/* Rows by size add up to what the figures say, in the total and in each LUN. */
static void adds_up(const struct lb_result *r, const struct lb_size_figures *rows,
	const struct lb_figures *f, uint32_t n)
{
	uint64_t xfers = 0, bytes = 0;

	assert_int_equal(r->n_by_size, n);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(rows[i].bytes, rows[i].xfers * rows[i].size_bytes);
		xfers += rows[i].xfers;
		bytes += rows[i].bytes;
	}
	assert_int_equal(f->xfers, xfers);
	assert_int_equal(f->bytes, bytes);
	assert_int_equal(lb_hist_total(&f->hist), xfers);
}

static void all_add_up(const struct rig *g, uint32_t n)
{
	adds_up(&g->r, g->r.by_size, &g->r.total, n);
	for (uint32_t i = 0; i < g->r.n_luns; i++)
		adds_up(&g->r, g->r.luns[i].by_size, rig_lun(g, i), n);
}

static void each_size_has_its_share(void **state)
{
	struct rig g;

	(void)state;
	rig_run_sized(&g, "4k:60,64k:30,1M:10", "--null-latency 5ms --qd 4 --time 1s a b");
	all_add_up(&g, 3);
	for (uint32_t i = 0; i < 2; i++) {
		const struct lb_size_figures *f = g.r.luns[i].by_size;

		assert_int_equal(rig_lun(&g, i)->xfers, 796);
		/* of each hundred exactly; of what is over, within a hand */
		assert_in_range(f[0].xfers, 474, 480);
		assert_in_range(f[1].xfers, 236, 241);
		assert_in_range(f[2].xfers, 78, 81);
		assert_int_equal(f[0].size_bytes, 4096);
		assert_int_equal(f[1].lat.min_ns.v, 5 * MS);
		assert_int_equal(f[1].lat.pct_ns[LB_PCT_50].v, 5 * MS);
		assert_int_equal(f[2].lat.max_ns.v, 5 * MS);
		assert_true(f[2].xfer_per_s.v == (double)f[2].xfers);
	}
	assert_int_equal(g.r.total.late, 8);
	rig_done(&g);
	rig_run_sized(&g, "4k", "--null-latency 5ms --qd 4 --time 1s a b");
	assert_int_equal(g.r.n_by_size, 0);
	rig_done(&g);
}

static void a_count_ends_at_the_nth_of_any_size(void **state)
{
	struct rig g;

	(void)state;
	for (int n = 997; n < 1003; n++) {
		char line[128];

		snprintf(line, sizeof(line), "--null-latency 5ms --qd 7 --count %d a b", n);
		rig_run_sized(&g, "8k:90,1M:10", line);
		assert_string_equal(g.r.ended_by, "count");
		assert_int_equal(rig_lun(&g, 0)->xfers, n);
		assert_in_range(rig_lun(&g, 1)->xfers, n - 7, n);
		all_add_up(&g, 2);
		rig_done(&g);
	}
}

/* A failed one is counted with its size's, and the lane as a whole backs off. */
static void errors_are_of_the_lane(void **state)
{
	struct rig g;

	(void)state;
	rig_run_sized(&g, "4k:50,8k:50",
		"--null-latency 1ms --null-script error:10:EIO --qd 1 --count 900 lun");
	assert_int_equal(rig_lun(&g, 0)->xfers, 900);
	assert_int_equal(rig_lun(&g, 0)->errors, 100);
	assert_int_equal(g.r.window_ns.v, (99 * 11 + 9) * MS); /* as of one size */
	assert_int_equal(rig_lun(&g, 0)->ios_issued, 1000);
	all_add_up(&g, 2);
	assert_int_equal(g.worker.lanes[0].n_resting, 0); /* what failed last is on its way again */
	rig_done(&g);
	/* none succeeds: at 1, 3, 6, 11, 20, 37, 70, 135, 264 and 521 ms, whatever the size */
	rig_run_sized(&g, "4k:50,8k:50",
		"--null-latency 1ms --null-script error:1:EIO --qd 1 --time 1s lun");
	assert_int_equal(rig_lun(&g, 0)->errors, 10);
	rig_done(&g);
}

/* An open loop deals sizes as well; its response times are of the lane. */
static void an_open_loop_has_a_mix_too(void **state)
{
	struct rig g;

	(void)state;
	rig_run_sized(
		&g, "4k:60,64k:30,1M:10", "--null-latency 5ms --rate 500 --qd 8 --time 1s a b");
	all_add_up(&g, 3);
	for (uint32_t i = 0; i < 2; i++) {
		assert_in_range(rig_lun(&g, i)->xfers, 495, 500);
		assert_in_range(g.r.luns[i].by_size[0].xfers, 292, 302);
		assert_in_range(g.r.luns[i].by_size[2].xfers, 47, 52);
	}
	rig_done(&g);
}

/* What is in flight at the end is of its own size. */
static void issued_bytes_are_exact(void **state)
{
	struct rig g;
	uint64_t bytes = 0;

	(void)state;
	rig_run_sized(&g, "4k:50,64k:50",
		"--null-latency 5ms --null-script dead:1s --qd 8 --time 2s --drain 0s lun");
	assert_int_equal(rig_lun(&g, 0)->outstanding, 8);
	for (uint32_t i = 0; i < 8; i++)
		bytes += g.board->ios[i].len;
	assert_int_equal(rig_lun(&g, 0)->bytes_issued, rig_lun(&g, 0)->bytes + bytes);
	rig_done(&g);
}

/* Places of each size are multiples of it, and reach to the last that fits. */
static void places_are_multiples(void **state)
{
	uint64_t last[2] = {0};
	struct rig g;

	(void)state;
	rig_make(&g, "--engine null --null-latency 1ms --size 768k:50,1M:50 --qd 1 --time 1s lun",
		-1);
	for (int i = 0; i < 40000; i++) {
		struct lb_io *io = g.worker.ios;
		int is_large;

		lb_lane_next(io->lane, io);
		is_large = io->len == 1 << 20;
		assert_int_equal(io->len, io->lane->block_bytes);
		assert_int_equal(io->offset_bytes % io->len, 0);
		if (io->offset_bytes > last[is_large])
			last[is_large] = io->offset_bytes;
	}
	assert_int_equal(last[0], 1364 * (768ull << 10)); /* 1365 and a third fit */
	assert_int_equal(last[1], RIG_LUN_BYTES - (1 << 20));
	rig_loop(&g);
	rig_result(&g);
	rig_done(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_size_has_its_share),
		cmocka_unit_test(a_count_ends_at_the_nth_of_any_size),
		cmocka_unit_test(errors_are_of_the_lane),
		cmocka_unit_test(an_open_loop_has_a_mix_too),
		cmocka_unit_test(issued_bytes_are_exact),
		cmocka_unit_test(places_are_multiples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
