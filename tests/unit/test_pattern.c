/* Patterns: what they visit, and how often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
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

/* What stands where: a first place that depends on the seed, and on the LUN. */
static void a_seed_and_a_lun_choose_the_order(void **state)
{
	struct lb_cursor cursor = {0};
	struct lb_pattern p[4];
	int same[4] = {0};

	(void)state;
	lb_pattern_init(&p[0], LB_PERM, BLOCKS_OF_20T, &cursor, false, 1, 0);
	lb_pattern_init(&p[1], LB_PERM, BLOCKS_OF_20T, &cursor, false, 1, 0);
	lb_pattern_init(&p[2], LB_PERM, BLOCKS_OF_20T, &cursor, false, 2, 0);
	lb_pattern_init(&p[3], LB_PERM, BLOCKS_OF_20T, &cursor, false, 1, 1);
	for (int i = 0; i < 1000; i++) {
		uint64_t at = lb_pattern_next(&p[0]);

		for (int k = 1; k < 4; k++)
			same[k] += lb_pattern_next(&p[k]) == at;
	}
	assert_int_equal(same[1], 1000);
	assert_int_equal(same[2], 0);
	assert_int_equal(same[3], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_permutation_is_one_for_any_size),
		cmocka_unit_test(a_permutation_of_20T_is_sampled),
		cmocka_unit_test(a_permutation_shows_no_order),
		cmocka_unit_test(a_seed_and_a_lun_choose_the_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
