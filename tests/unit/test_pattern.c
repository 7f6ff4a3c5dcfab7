/* Patterns: what they visit, and how often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pattern.h"

#define BLOCKS_OF_20T ((20ull << 40) / 512)

static struct lb_perm perm_of(uint64_t n, uint64_t seed)
{
	struct lb_perm perm;

	lb_perm_init(&perm, n, seed, 0);
	return perm;
}

static void reaches_each_once(uint64_t n)
{
	struct lb_perm perm = perm_of(n, n);
	uint8_t *seen = calloc(n, 1);

	assert_non_null(seen);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = lb_perm_at(&perm, i);

		assert_true(at < n);
		assert_int_equal(seen[at]++, 0);
	}
	free(seen);
}

static void a_permutation_is_one_for_any_size(void **state)
{
	static const uint64_t primes[] = {3, 5, 7, 97, 997, 65537, 1000003};

	(void)state;
	for (uint64_t n = 1; n <= 300; n++)
		reaches_each_once(n);
	for (uint64_t n = 512; n <= 1 << 20; n *= 2) {
		reaches_each_once(n - 1);
		reaches_each_once(n);
		reaches_each_once(n + 1);
	}
	for (size_t i = 0; i < sizeof(primes) / sizeof(primes[0]); i++)
		reaches_each_once(primes[i]);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * 20 TB in sectors cannot be walked. Of the first 2^20 places none comes twice; and they lie as
 * evenly as chance would have it, by 1000 parts (chi-square, 999 degrees: 1143 is passed once in a
 * thousand).
 */
static void a_permutation_of_20T_is_sampled(void **state)
{
	static const uint64_t sizes[] = {BLOCKS_OF_20T, (1ull << 35) + 1, (1ull << 35) - 1};
	const uint64_t n = 1 << 20;
	uint64_t *at = malloc(n * sizeof(*at));

	(void)state;
	assert_non_null(at);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		struct lb_perm perm = perm_of(sizes[s], 1);
		uint64_t part[1000] = {0};
		double chi = 0, expected = (double)n / 1000;

		for (uint64_t i = 0; i < n; i++) {
			at[i] = lb_perm_at(&perm, i);
			assert_true(at[i] < sizes[s]);
			part[at[i] * 1000 / sizes[s]]++;
		}
		for (int i = 0; i < 1000; i++)
			chi += ((double)part[i] - expected) * ((double)part[i] - expected) /
			       expected;
		assert_true(chi < 1143);
		qsort(at, n, sizeof(*at), by_value);
		for (uint64_t i = 1; i < n; i++)
			assert_int_not_equal(at[i], at[i - 1]);
	}
	free(at);
}

/*
 * Neighbours in time are no neighbours in place: the correlation of places LAG apart is that of
 * chance (standard deviation 1 / sqrt(n): 0.001), and a step of one block is as rare.
 */
static void a_permutation_shows_no_order(void **state)
{
	const uint64_t n = 1 << 20, size = (1 << 20) - 3;

	(void)state;
	for (uint64_t lag = 1; lag <= 4096; lag *= 2) {
		struct lb_perm perm = perm_of(size, 1);
		double sum = 0, mean = (double)(size - 1) / 2;
		double variance = ((double)size * (double)size - 1) / 12;
		uint64_t n_steps = 0;

		for (uint64_t i = 0; i + 3 < n; i++) {
			uint64_t a = lb_perm_at(&perm, i);
			uint64_t b = lb_perm_at(&perm, (i + lag) % size);

			sum += ((double)a - mean) * ((double)b - mean);
			n_steps += b == a + 1 || a == b + 1;
		}
		sum /= variance * (double)size;
		assert_true(sum < 0.0045 && sum > -0.0045);
		assert_true(n_steps < 12); /* 2 are expected */
	}
}

static struct lb_pattern pattern_of(struct lb_pat pat, uint64_t n, uint64_t seed, uint32_t lun)
{
	struct lb_pattern_cfg c = {.pat = pat,
		.n_blocks = n,
		.block_bytes = 1,
		.n_seq_streams = 1,
		.n_lanes = 1,
		.seed = seed,
		.lun = lun};
	struct lb_pattern p;

	lb_pattern_init(&p, &c);
	return p;
}

static void a_seed_and_a_lun_choose_the_order(void **state)
{
	const struct lb_pat perm = {.kind = LB_PERM};
	struct lb_pattern p[] = {pattern_of(perm, BLOCKS_OF_20T, 1, 0),
		pattern_of(perm, BLOCKS_OF_20T, 1, 0), pattern_of(perm, BLOCKS_OF_20T, 2, 0),
		pattern_of(perm, BLOCKS_OF_20T, 1, 1)};
	struct lb_rng rng;
	int same[4] = {0};

	(void)state;
	lb_rng_seed(&rng, 1, 0);
	for (int i = 0; i < 1000; i++) {
		uint64_t at = lb_pattern_next(&p[0], &rng, 0, 1);

		for (int k = 1; k < 4; k++)
			same[k] += lb_pattern_next(&p[k], &rng, 0, 1) == at;
	}
	assert_int_equal(same[1], 1000);
	assert_int_equal(same[2], 0);
	assert_int_equal(same[3], 0);
}

/* The sum of k^-THETA for k in (FROM, TO], by the midpoint rule where there are many: exact to
 * 1e-9. */
static double zipf_sum(uint64_t from, uint64_t to, double theta)
{
	double sum = 0, a = 1 - theta;
	uint64_t k = from + 1;

	for (; k <= to && k <= 10000; k++)
		sum += pow((double)k, -theta);
	if (k > to)
		return sum;
	if (theta == 1)
		return sum + log(((double)to + 0.5) / ((double)k - 0.5));
	return sum + (pow((double)to + 0.5, a) - pow((double)k - 0.5, a)) / a;
}

/* Bins for ranks below N: the first thirty each by itself, then ever wider ones. Returns how many.
 */
static int make_bins(uint64_t *end, uint64_t n)
{
	int bins = 0;

	for (uint64_t at = 1; at < n; at += at < 30 ? 1 : at / 2)
		end[bins++] = at;
	end[bins++] = n;
	return bins;
}

/*
 * Chi-square of drawn ranks against the law, over bins of which at least five draws are expected.
 * Its square root is nearly normal: 3.1 past its mean is reached once in a thousand.
 */
static void follows_zipf(uint64_t n, double theta)
{
	const uint64_t draws = 200000;
	uint64_t end[200], seen[200] = {0}, from = 0, of_bin = 0;
	int bins = make_bins(end, n), degrees = -1;
	double all = zipf_sum(0, n, theta), expected = 0, chi = 0;
	struct lb_zipf zipf;
	struct lb_rng rng;

	lb_zipf_init(&zipf, n, theta);
	lb_rng_seed(&rng, 7, n);
	for (uint64_t i = 0; i < draws; i++) {
		uint64_t rank = lb_zipf_draw(&zipf, &rng);
		int bin = 0;

		assert_true(rank < n);
		while (rank >= end[bin])
			bin++;
		seen[bin]++;
	}
	for (int bin = 0; bin < bins; from = end[bin++]) {
		expected += (double)draws * zipf_sum(from, end[bin], theta) / all;
		of_bin += seen[bin];
		if (expected < 5)
			continue;
		chi += ((double)of_bin - expected) * ((double)of_bin - expected) / expected;
		degrees++;
		expected = 0;
		of_bin = 0;
	}
	if (degrees > 0 && sqrt(2 * chi) - sqrt(2.0 * degrees - 1) > 3.1)
		fail_msg("n %llu, theta %g: chi-square %g of %d degrees", (unsigned long long)n,
			theta, chi, degrees);
}

static void zipf_is_followed(void **state)
{
	static const double thetas[] = {
		0.0001, 0.5, 0.9, 0.99, 0.9999, 1, 1.0001, 1.2, 1.5, 1.9999};
	static const uint64_t sizes[] = {1, 2, 3, 10, 1000, 1000003, BLOCKS_OF_20T, 1ull << 52};

	(void)state;
	for (size_t t = 0; t < sizeof(thetas) / sizeof(thetas[0]); t++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
			follows_zipf(sizes[s], thetas[t]);
}

static uint64_t share_of(struct lb_pattern *p, uint64_t draws, const uint8_t *is_hot)
{
	struct lb_rng rng;
	uint64_t n_hot = 0;

	lb_rng_seed(&rng, 11, 0);
	for (uint64_t i = 0; i < draws; i++) {
		uint64_t at = lb_pattern_next(p, &rng, 0, 1);

		assert_true(at < p->cfg.n_blocks);
		n_hot += is_hot[at];
	}
	return n_hot;
}

/* The hot blocks get their share, evenly; and they are scattered, not side by side. */
static void hot_blocks_get_their_share(void **state)
{
	enum { BLOCKS = 1000, DRAWS = 1000000 };
	const struct lb_pat pat = {.kind = LB_HOT, .hot_ppm = 200000, .hot_xfers_ppm = 800000};
	struct lb_pattern p = pattern_of(pat, BLOCKS, 1, 0);
	uint64_t n[BLOCKS] = {0}, n_hot = 0, hot_in_half = 0;
	uint8_t is_hot[BLOCKS];
	double chi = 0;
	struct lb_rng rng;

	(void)state;
	lb_rng_seed(&rng, 3, 0);
	for (int i = 0; i < DRAWS; i++)
		n[lb_pattern_next(&p, &rng, 0, 1)]++;
	for (int i = 0; i < BLOCKS; i++) {
		double expected = (is_hot[i] = n[i] > 2000) ? 4000 : 250;

		chi += ((double)n[i] - expected) * ((double)n[i] - expected) / expected;
		n_hot += is_hot[i];
		hot_in_half += is_hot[i] && i < BLOCKS / 2;
	}
	assert_int_equal(n_hot, 200);
	assert_true(chi < 1143); /* 999 degrees: once in a thousand */
	assert_in_range(hot_in_half, 80, 120);
	/* another lane of the LUN finds the same blocks hot: 800 in 1000, standard deviation 0.4 */
	p = pattern_of(pat, BLOCKS, 1, 0);
	assert_in_range(share_of(&p, DRAWS, is_hot), 798600, 801400);
	p = pattern_of(
		pat, BLOCKS, 1, 1); /* and another LUN others: 0.8 / 5 + 0.2 / 5 on average */
	assert_in_range(share_of(&p, DRAWS, is_hot), 120000, 280000);
}

static void few_blocks_have_a_hot_one(void **state)
{
	const struct lb_pat pat = {.kind = LB_HOT, .hot_ppm = 1, .hot_xfers_ppm = 500000};
	const struct lb_pat most = {.kind = LB_HOT, .hot_ppm = 999998, .hot_xfers_ppm = 999999};
	struct lb_pattern p = pattern_of(pat, 1, 1, 0);
	struct lb_rng rng;
	uint64_t n[2] = {0};

	(void)state;
	lb_rng_seed(&rng, 3, 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(lb_pattern_next(&p, &rng, 0, 1), 0);
	p = pattern_of(pat, 2, 1, 0);
	for (int i = 0; i < 1000; i++)
		n[lb_pattern_next(&p, &rng, 0, 1)]++;
	assert_in_range(n[0], 430, 570);
	p = pattern_of(most, 2, 1, 0); /* rounded, both were hot */
	assert_int_equal(p.n_hot, 1);
}

/* Of Zipf's law too the frequent ones are scattered, and the same for all lanes of a LUN. */
static void zipf_is_scattered(void **state)
{
	const struct lb_pat pat = {.kind = LB_ZIPF, .theta_e4 = 12000};
	uint64_t last = 0, first = 0;

	(void)state;
	for (uint64_t lane = 0; lane < 2; lane++) {
		struct lb_pattern p = pattern_of(pat, 1000, 1, 0);
		uint64_t n[1000] = {0}, top = 0, second = 0;
		struct lb_rng rng;

		lb_rng_seed(&rng, 1, lane);
		for (int i = 0; i < 100000; i++)
			n[lb_pattern_next(&p, &rng, 0, 1)]++;
		for (uint64_t i = 0; i < 1000; i++)
			top = n[i] > n[top] ? i : top;
		for (uint64_t i = 0; i < 1000; i++)
			second = i != top && (n[i] > n[second] || second == top) ? i : second;
		assert_int_equal(top, lb_perm_at(&p.perm, 0));
		assert_int_equal(second, lb_perm_at(&p.perm, 1));
		assert_true(top > second + 1 || second > top + 1);
		assert_true(!lane || (top == first && second == last));
		first = top;
		last = second;
	}
}

/* Lanes 0 to N_LANES - 1 of a LUN of N blocks with that many STREAMS; lane l's slots begin at 10 l.
 */
static void make_lanes(struct lb_pattern *p, struct lb_cursor *cursors, uint64_t n,
	uint32_t streams, uint32_t n_lanes)
{
	for (uint32_t l = 0; l < n_lanes; l++) {
		struct lb_pattern_cfg c = {.pat = {.kind = LB_SEQ},
			.n_blocks = n,
			.block_bytes = 1,
			.cursors = cursors,
			.n_seq_streams = streams,
			.lane = l,
			.n_lanes = n_lanes,
			.first_slot = 10 * l};

		lb_pattern_init(&p[l], &c);
	}
}

/* Ten blocks in parts of 4, 3 and 3; a slot stays with its stream, which begins anew by itself. */
static void streams_have_parts_of_their_own(void **state)
{
	static const uint64_t want[3][7] = {
		{0, 1, 2, 3, 0, 1, 2}, {4, 5, 6, 4, 5, 6, 4}, {7, 8, 9, 7, 8, 9, 7}};
	struct lb_cursor cursors[3] = {0};
	struct lb_pattern p;

	(void)state;
	make_lanes(&p, cursors, 10, 3, 1);
	for (int i = 0; i < 7; i++)
		for (uint32_t slot = 0; slot < 3; slot++)
			assert_int_equal(lb_pattern_next(&p, NULL, slot, 1), want[slot][i]);
	assert_int_equal(
		lb_pattern_next(&p, NULL, 3, 1), 3); /* the fourth slot is the first stream's */
	assert_int_equal(lb_pattern_next(&p, NULL, 5, 1), 8);
}

/* qd 7 in lanes of 4 and 3 slots, 3 streams: slots are dealt 3, 2, 2, and streams go on as one. */
static void lanes_share_the_streams(void **state)
{
	struct lb_cursor cursors[3] = {0};
	struct lb_pattern p[2];
	uint64_t slots[3] = {0}, first[3] = {0, 100, 200};

	(void)state;
	make_lanes(p, cursors, 300, 3, 2);
	for (uint32_t slot = 0; slot < 7; slot++) {
		uint64_t at = lb_pattern_next(&p[slot % 2], NULL, 10 * (slot % 2) + slot / 2, 1);
		uint64_t stream = at / 100;

		assert_int_equal(at, first[stream] + slots[stream]);
		slots[stream]++;
	}
	assert_int_equal(slots[0], 3);
	assert_int_equal(slots[1], 2);
	assert_int_equal(slots[2], 2);
}

/*
 * A mix of 1, 2 and 3 blocks in ten: end to end, and what does not fit any more begins at the
 * start; by a lane alone, and by two that share the cursor.
 */
static void sizes_follow_each_other(void **state)
{
	static const uint64_t size[] = {3, 2, 3, 1, 2, 3, 3, 3, 1, 1, 2};
	static const uint64_t want[] = {0, 3, 5, 8, 0, 2, 5, 0, 3, 4, 5};
	struct lb_cursor cursor = {0};
	struct lb_pattern p[2];

	(void)state;
	for (uint32_t n_lanes = 1; n_lanes <= 2; n_lanes++) {
		make_lanes(p, &cursor, 10, 1, n_lanes);
		for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++)
			assert_int_equal(
				lb_pattern_next(&p[i % n_lanes], NULL, 0, size[i]), want[i]);
	}
}

/* Hot places are hot for all sizes: small ones lie in the blocks that large ones are, on their own
 * multiples, and none past the end. */
static void small_ones_lie_in_hot_blocks(void **state)
{
	const struct lb_pat pat = {.kind = LB_HOT, .hot_ppm = 100000, .hot_xfers_ppm = 900000};
	struct lb_pattern p = pattern_of(pat, 10, 1, 0);
	uint64_t hot = lb_perm_at(&p.perm, 0), n_hot = 0, seen[10] = {0};
	struct lb_rng rng;

	(void)state;
	p.cfg.block_bytes = 1000;
	lb_rng_seed(&rng, 5, 0);
	for (int i = 0; i < 100000; i++) {
		uint64_t at = lb_pattern_next(&p, &rng, 0, 100);

		assert_int_equal(at % 100, 0);
		assert_true(at + 100 <= 10000);
		n_hot += at / 1000 == hot;
		seen[at % 1000 / 100]++;
		at = lb_pattern_next(&p, &rng, 0, 300); /* no part of 1000 */
		assert_int_equal(at % 300, 0);
		assert_true(at + 300 <= 10000);
	}
	assert_in_range(n_hot, 89500, 90500);
	for (int i = 0; i < 10; i++)
		assert_in_range(seen[i], 9600, 10400);
}

static void a_stream_may_have_one_block(void **state)
{
	struct lb_cursor cursors[5] = {0};
	struct lb_pattern p;

	(void)state;
	make_lanes(&p, cursors, 5, 5, 1);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(lb_pattern_next(&p, NULL, i % 5, 1), i % 5);
	make_lanes(&p, cursors, BLOCKS_OF_20T, 5, 1);
	atomic_store(&cursors[4].blocks, BLOCKS_OF_20T / 5 - 1);
	assert_int_equal(lb_pattern_next(&p, NULL, 4, 1), BLOCKS_OF_20T - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_permutation_is_one_for_any_size),
		cmocka_unit_test(a_permutation_of_20T_is_sampled),
		cmocka_unit_test(a_permutation_shows_no_order),
		cmocka_unit_test(a_seed_and_a_lun_choose_the_order),
		cmocka_unit_test(zipf_is_followed),
		cmocka_unit_test(hot_blocks_get_their_share),
		cmocka_unit_test(few_blocks_have_a_hot_one),
		cmocka_unit_test(zipf_is_scattered),
		cmocka_unit_test(streams_have_parts_of_their_own),
		cmocka_unit_test(lanes_share_the_streams),
		cmocka_unit_test(sizes_follow_each_other),
		cmocka_unit_test(small_ones_lie_in_hot_blocks),
		cmocka_unit_test(a_stream_may_have_one_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
