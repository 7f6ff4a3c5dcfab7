#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hist.h"
#include "rng.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void edges_are_contiguous(void **state)
{
	(void)state;
	assert_int_equal(lb_hist_low_ns(0), 0);
	for (uint32_t i = 0; i < LB_HIST_OVER; i++) {
		uint64_t low = lb_hist_low_ns(i), high = lb_hist_high_ns(i);

		assert_true(low < high);
		assert_int_equal(high, lb_hist_low_ns(i + 1));
		assert_int_equal(lb_hist_bucket(low), i);
		assert_int_equal(lb_hist_bucket(high - 1), i);
		assert_int_equal(lb_hist_bucket(high), i + 1);
	}
}

static void buckets_are_narrow(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LB_HIST_OVER; i++) {
		uint64_t low = lb_hist_low_ns(i), width = lb_hist_high_ns(i) - low;

		if (low < 2 * LB_HIST_SUB)
			assert_int_equal(width, 1);
		else
			assert_true(width * LB_HIST_SUB <= low);
	}
}

static void range_ends_at_2_to_41(void **state)
{
	const uint64_t end = 1ull << LB_HIST_TOP_BITS;

	(void)state;
	assert_true(end > 30ull * 60 * 1000000000); /* half an hour is inside */
	assert_int_equal(lb_hist_low_ns(LB_HIST_OVER), end);
	assert_int_equal(lb_hist_high_ns(LB_HIST_OVER), UINT64_MAX);
	assert_int_equal(lb_hist_bucket(end - 1), LB_HIST_OVER - 1);
	assert_int_equal(lb_hist_bucket(end), LB_HIST_OVER);
	assert_int_equal(lb_hist_bucket(UINT64_MAX), LB_HIST_OVER);
	assert_int_equal(LB_HIST_BUCKETS, 2305);
}

static void powers_of_two_us_are_edges(void **state)
{
	(void)state;
	for (uint64_t ns = 125; ns < 1ull << LB_HIST_TOP_BITS; ns *= 2)
		assert_int_equal(lb_hist_low_ns(lb_hist_bucket(ns)), ns);
}

/* N equal samples of NS. */
static struct lb_hist *uniform(struct lb_hist *h, uint64_t n, uint64_t ns)
{
	memset(h, 0, sizeof(*h));
	h->count[lb_hist_bucket(ns)] = n;
	return h;
}

static void too_few_samples_are_null(void **state)
{
	static const struct {
		uint32_t ppm;
		uint64_t from;
	} cases[] = {
		{500000, 2},
		{900000, 10},
		{990000, 100},
		{999000, 1000},
		{999900, 10000},
		{0, 1},
	};
	struct lb_hist h;
	uint64_t ns = 77;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uniform(&h, cases[i].from - 1, 10);
		assert_int_equal(lb_hist_percentile(&h, cases[i].ppm, 10, 10, &ns), -ERANGE);
		assert_int_equal(ns, 77);
		uniform(&h, cases[i].from, 10);
		assert_int_equal(lb_hist_percentile(&h, cases[i].ppm, 10, 10, &ns), 0);
		assert_int_equal(ns, 10);
		ns = 77;
	}
	uniform(&h, UINT64_MAX, 10); /* the hundredth percentile of no finite run */
	assert_int_equal(lb_hist_percentile(&h, 1000000, 10, 10, &ns), -ERANGE);
}

static void rank_is_ceil_of_p_n(void **state)
{
	struct lb_hist h = {0};
	uint64_t ns;

	(void)state;
	for (uint32_t v = 1; v <= 101; v++)
		h.count[lb_hist_bucket(v)]++;
	assert_int_equal(lb_hist_percentile(&h, 500000, 1, 101, &ns), 0);
	assert_int_equal(ns, 51); /* ceil(50.5) */
	assert_int_equal(lb_hist_percentile(&h, 990000, 1, 101, &ns), 0);
	assert_int_equal(ns, 100); /* ceil(99.99) */
	h.count[101]--;
	assert_int_equal(lb_hist_percentile(&h, 990000, 1, 100, &ns), 0);
	assert_int_equal(ns, 99); /* 99 exactly, not the next */
	assert_int_equal(lb_hist_percentile(&h, 0, 1, 100, &ns), 0);
	assert_int_equal(ns, 1);
}

static void rank_is_exact_past_53_bits(void **state)
{
	struct lb_hist h = {0};
	uint64_t ns;

	(void)state;
	/* 10^18 samples: the rank of p99 is 99 * 10^16, one sample decides. */
	h.count[10] = 990000000000000000ull;
	h.count[20] = 10000000000000000ull;
	assert_int_equal(lb_hist_percentile(&h, 990000, 10, 20, &ns), 0);
	assert_int_equal(ns, 10);
	h.count[10]--;
	h.count[20]++;
	assert_int_equal(lb_hist_percentile(&h, 990000, 10, 20, &ns), 0);
	assert_int_equal(ns, 20);
}

static void percentile_is_clamped(void **state)
{
	struct lb_hist h;
	uint64_t ns, low = lb_hist_low_ns(lb_hist_bucket(1000000)),
		     last = lb_hist_high_ns(lb_hist_bucket(1000000)) - 1;

	(void)state;
	uniform(&h, 5, 1000000);
	assert_int_equal(lb_hist_percentile(&h, 500000, low, last + 1000, &ns), 0);
	assert_int_equal(ns, last);
	assert_int_equal(lb_hist_percentile(&h, 500000, low, 1000000, &ns), 0);
	assert_int_equal(ns, 1000000);
	assert_int_equal(lb_hist_percentile(&h, 500000, last + 7, last + 9, &ns), 0);
	assert_int_equal(ns, last + 7);
}

static void past_the_range_is_said(void **state)
{
	const uint64_t end = 1ull << LB_HIST_TOP_BITS;
	struct lb_hist h = {0};
	uint64_t ns;

	(void)state;
	h.count[lb_hist_bucket(5)] = 1;
	h.count[LB_HIST_OVER] = 9;
	assert_int_equal(lb_hist_percentile(&h, 0, 5, 3 * end, &ns), 0);
	assert_int_equal(ns, 5);
	assert_int_equal(lb_hist_percentile(&h, 500000, 5, 3 * end, &ns), 1);
	assert_int_equal(ns, end);
	h.count[lb_hist_bucket(5)] = 0;
	assert_int_equal(lb_hist_percentile(&h, 500000, 2 * end, 3 * end, &ns), 1);
	assert_int_equal(ns, 2 * end);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Against all samples, sorted: the value asked for lies in the bucket that was found. */
static void agrees_with_sorted_samples(void **state)
{
	static const uint32_t ppm[] = {0, 10000, 250000, 500000, 900000, 990000, 999000, 999900};
	struct lb_rng rng;

	(void)state;
	lb_rng_seed(&rng, 20, 1);
	for (unsigned round = 0; round < 60; round++) {
		size_t n = 1 + (size_t)lb_rng_below(&rng, round < 30 ? 300 : 20000);
		uint64_t *v = calloc(n, sizeof(*v));
		struct lb_hist h = {0};

		assert_non_null(v);
		for (size_t i = 0; i < n; i++) {
			v[i] = lb_rng_next(&rng) >> (23 + lb_rng_below(&rng, 41));
			h.count[lb_hist_bucket(v[i])]++;
		}
		qsort(v, n, sizeof(*v), by_value);
		assert_int_equal(lb_hist_total(&h), n);
		for (size_t i = 0; i < COUNT(ppm); i++) {
			size_t rank = (n * ppm[i] + 999999) / 1000000;
			uint64_t ns = 0, truth = v[rank ? rank - 1 : 0], last;
			int r = lb_hist_percentile(&h, ppm[i], v[0], v[n - 1], &ns);

			if (n < 1000000 / (1000000 - ppm[i])) {
				assert_int_equal(r, -ERANGE);
				continue;
			}
			assert_int_equal(r, 0);
			last = lb_hist_high_ns(lb_hist_bucket(truth)) - 1;
			assert_int_equal(ns, last < v[n - 1] ? last : v[n - 1]);
			assert_true(ns >= truth && ns - truth <= truth / LB_HIST_SUB);
		}
		free(v);
	}
}

static void histograms_add_up(void **state)
{
	struct lb_hist a = {0}, b = {0};

	(void)state;
	a.count[0] = 1;
	a.count[LB_HIST_OVER] = 2;
	b.count[0] = 10;
	b.count[700] = 5;
	lb_hist_add(&a, &b);
	assert_int_equal(a.count[0], 11);
	assert_int_equal(a.count[700], 5);
	assert_int_equal(a.count[LB_HIST_OVER], 2);
	assert_int_equal(lb_hist_total(&a), 18);
	assert_int_equal(lb_hist_total(&b), 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edges_are_contiguous),
		cmocka_unit_test(buckets_are_narrow),
		cmocka_unit_test(range_ends_at_2_to_41),
		cmocka_unit_test(powers_of_two_us_are_edges),
		cmocka_unit_test(too_few_samples_are_null),
		cmocka_unit_test(rank_is_ceil_of_p_n),
		cmocka_unit_test(rank_is_exact_past_53_bits),
		cmocka_unit_test(percentile_is_clamped),
		cmocka_unit_test(past_the_range_is_said),
		cmocka_unit_test(agrees_with_sorted_samples),
		cmocka_unit_test(histograms_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
