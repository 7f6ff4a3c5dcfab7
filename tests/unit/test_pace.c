/* When transfers are due: exact where it is exact, by its moments where chance decides. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "pace.h"

#define SEC   LB_NSEC_PER_SEC
#define MS    LB_NSEC_PER_MSEC
#define DAY   (86400 * SEC)
#define MILLI 1000ull

static struct lb_pace fixed(uint64_t total_milli, uint32_t lun, uint32_t n)
{
	struct lb_pace p;

	lb_pace_init(&p, LB_ARRIVAL_FIXED, total_milli, lun, n, 1);
	return p;
}

static struct lb_pace poisson(uint64_t milli, uint32_t lun, uint64_t seed)
{
	struct lb_pace p;

	lb_pace_init(&p, LB_ARRIVAL_POISSON, milli, lun, 1, seed);
	return p;
}

/* The next one, whenever it is due. */
static uint64_t take(struct lb_pace *p)
{
	uint64_t due_ns = 0, next_ns = lb_pace_next_ns(p);

	assert_true(lb_pace_claim(p, UINT64_MAX, &due_ns));
	assert_int_equal(due_ns, next_ns);
	return due_ns;
}

static void fixed_is_exact_for_days(void **state)
{
	/* a third, and rates without a whole number of ns between two */
	static const uint64_t rates[] = {1, 333, 500, 1000, 1234567, 3 * MILLI, 7 * MILLI,
		2000 * MILLI, 999999999, LB_RATE_MILLI_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct lb_pace p = fixed(rates[i], 0, 1);
		/* of day 300 */
		uint64_t k = (uint64_t)((unsigned __int128)300 * 86400 * rates[i] / MILLI);

		for (uint64_t n = 0; n < 1000; n++)
			assert_int_equal(take(&p), n * (MILLI * SEC) / rates[i]);
		atomic_store(&p.next, k);
		assert_int_equal(lb_pace_next_ns(&p),
			(uint64_t)((unsigned __int128)k * MILLI * SEC / rates[i]));
		assert_in_range(300 * DAY - lb_pace_next_ns(&p), 0, MILLI * SEC / rates[i] + 1);
	}
}

static void luns_take_turns(void **state)
{
	(void)state;
	/* 4 LUNs at 10/s each: one of them is due each 25 ms */
	for (uint32_t lun = 0; lun < 4; lun++) {
		struct lb_pace p = fixed(4 * 10 * MILLI, lun, 4);

		for (uint64_t k = 0; k < 100; k++)
			assert_int_equal(take(&p), k * 100 * MS + lun * 25 * MS);
	}
	/* 1000/s over three of them, which is no whole number for each */
	for (uint32_t lun = 0; lun < 3; lun++) {
		struct lb_pace p = fixed(1000 * MILLI, lun, 3);

		for (uint64_t k = 0; k < 1000; k++)
			assert_int_equal(take(&p), (3 * k + lun) * MS);
	}
}

static void nothing_is_claimed_before_it_is_due(void **state)
{
	struct lb_pace p = fixed(10 * MILLI, 0, 1);
	uint64_t due_ns = 0;

	(void)state;
	assert_true(lb_pace_claim(&p, 0, &due_ns));
	assert_int_equal(due_ns, 0);
	assert_false(lb_pace_claim(&p, 100 * MS - 1, &due_ns));
	assert_int_equal(lb_pace_next_ns(&p), 100 * MS);
	assert_true(lb_pace_claim(&p, 100 * MS, &due_ns));
	assert_int_equal(due_ns, 100 * MS);
}

/* Moments of N gaps at a rate: mean and deviation are the same, and one tells nothing of the next.
 */
static void gaps_are_exponential(uint64_t milli, uint32_t lun)
{
	enum { BINS = 32 };
	struct lb_pace p = poisson(milli, lun, 7);
	const int N = milli < MILLI ? 20000 : 200000; /* within two years */
	double mean = (double)MILLI * 1e9 / (double)milli, sum = 0, squares = 0, pairs = 0;
	double before = 0, chi2 = 0;
	uint64_t last = 0;
	uint32_t bin[BINS] = {0};

	for (int i = 0; i < N; i++) {
		uint64_t t = take(&p);
		double gap = (double)(t - last) / mean;

		assert_true(t >= last);
		sum += gap;
		squares += gap * gap;
		pairs += (gap - 1) * (before - 1);
		/* bins of equal chance, had times not been cut to whole ns */
		bin[(int)((1 - exp(-gap)) * BINS * 0.9999999)]++;
		before = gap;
		last = t;
	}
	/* five standard deviations of each */
	assert_true(fabs(sum / N - 1) < 5 / sqrt(N));
	assert_true(fabs(squares / N - 2) < 5 * sqrt(20.0 / N));
	assert_true(fabs(pairs / N) < 5 / sqrt(N) + 1e-4);
	for (int i = 0; i < BINS; i++)
		chi2 += pow(bin[i] - (double)N / BINS, 2) / ((double)N / BINS);
	if (mean > 1e5)
		assert_true(chi2 < 31 + 5 * sqrt(62));
}

static void poisson_is_poisson(void **state)
{
	static const uint64_t rates[] = {
		1, 333, 100 * MILLI, 12345 * MILLI, 1000000 * MILLI, LB_RATE_MILLI_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		for (uint32_t lun = 0; lun < 3; lun++)
			gaps_are_exponential(rates[i], lun);
}

/* How many fall into each of many equal times: mean and variance are the same. */
static void poisson_counts_vary_as_they_should(void **state)
{
	enum { TIMES = 20000 };
	struct lb_pace p = poisson(1000 * MILLI, 0, 3);
	double sum = 0, squares = 0, mean, var;

	(void)state;
	for (uint64_t i = 1; i <= TIMES; i++) {
		uint64_t due_ns;
		double n = 0;

		while (lb_pace_claim(&p, i * 10 * MS - 1, &due_ns))
			n++;
		sum += n;
		squares += n * n;
	}
	mean = sum / TIMES;
	var = squares / TIMES - mean * mean;
	assert_true(fabs(mean - 10) < 5 * sqrt(10.0 / TIMES));
	assert_true(fabs(var / mean - 1) < 5 * sqrt(2.1 / TIMES));
}

static void seeds_repeat_and_luns_differ(void **state)
{
	struct lb_pace a = poisson(1000 * MILLI, 3, 9), b = poisson(1000 * MILLI, 3, 9);
	struct lb_pace lun = poisson(1000 * MILLI, 4, 9), seed = poisson(1000 * MILLI, 3, 10);
	int same_lun = 0, same_seed = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint64_t t = take(&a);

		assert_int_equal(take(&b), t);
		same_lun += take(&lun) == t;
		same_seed += take(&seed) == t;
	}
	assert_true(same_lun < 3 && same_seed < 3);
}

static void what_waits_is_counted_with_its_age(void **state)
{
	struct lb_pace p = fixed(1000 * MILLI, 0, 1);
	struct lb_hist ages = {0};
	struct lb_waiting w;
	double sum = 0;

	(void)state;
	assert_int_equal(lb_pace_waiting(&p, 0, NULL).n, 0);
	for (int i = 0; i < 10; i++)
		take(&p);
	assert_int_equal(lb_pace_waiting(&p, 10 * MS, &ages).n, 0); /* due then is not before it */
	assert_int_equal(lb_hist_total(&ages), 0);
	w = lb_pace_waiting(&p, 10 * MS + 1, NULL);
	assert_int_equal(w.n, 1);
	assert_int_equal(w.oldest_ns, 1);
	/* those of 10 to 1009 ms, at 1010 ms */
	w = lb_pace_waiting(&p, 1010 * MS, &ages);
	assert_int_equal(w.n, 1000);
	assert_int_equal(w.oldest_ns, SEC);
	assert_int_equal(lb_hist_total(&ages), 1000);
	for (uint64_t age = MS; age <= SEC; age += MS) {
		uint32_t i = lb_hist_bucket(age);

		assert_true(ages.count[i] > 0);
		ages.count[i]--;
		sum += (double)age;
	}
	assert_int_equal(lb_hist_total(&ages), 0);
	assert_true(w.sum_ns == sum);
}

static void poisson_waiting_is_what_would_be_claimed(void **state)
{
	struct lb_pace p = poisson(1000 * MILLI, 0, 1);
	struct lb_hist ages = {0};
	uint64_t due_ns, n = 0, oldest_ns = 0;
	struct lb_waiting w = lb_pace_waiting(&p, 10 * SEC, &ages);

	(void)state;
	while (lb_pace_claim(&p, 10 * SEC - 1, &due_ns)) {
		if (!n++)
			oldest_ns = 10 * SEC - due_ns;
		ages.count[lb_hist_bucket(10 * SEC - due_ns)]--;
	}
	assert_int_equal(w.n, n);
	assert_int_equal(w.oldest_ns, oldest_ns);
	for (uint32_t i = 0; i < LB_HIST_BUCKETS; i++)
		assert_int_equal(ages.count[i], 0);
}

/* Of far more than are looked at one by one the number is still near. */
static void a_long_poisson_backlog_is_counted_by_its_rate(void **state)
{
	struct lb_pace p = poisson(LB_RATE_MILLI_MAX, 0, 1);
	struct lb_hist ages = {0};
	struct lb_waiting w = lb_pace_waiting(&p, 10 * SEC, &ages);

	(void)state;
	assert_true(fabs((double)w.n - 1e8) < 1e5);
	assert_true(fabs(w.sum_ns / (double)w.n / 5e9 - 1) < 1e-2);
	assert_int_equal(lb_hist_total(&ages), w.n);
	/* where nobody asks for ages a look takes no time */
	p.total_milli_per_s = 1000 * MILLI;
	w = lb_pace_waiting(&p, 100 * SEC, NULL);
	assert_true(fabs((double)w.n - 1e5) < 2e3);
	assert_int_not_equal(w.n, lb_pace_waiting(&p, 100 * SEC, &ages).n);
}

static void what_was_missed_is_skipped(void **state)
{
	struct lb_pace p = fixed(10 * MILLI, 0, 1);

	(void)state;
	take(&p); /* at 0; next at 100 ms */
	assert_int_equal(lb_pace_skip(&p, 50 * MS, 0), 0);
	assert_int_equal(lb_pace_skip(&p, 100 * MS, 0), 0);
	assert_int_equal(lb_pace_skip(&p, 199 * MS, 0), 0); /* the next one is not due yet */
	assert_int_equal(lb_pace_next_ns(&p), 100 * MS);
	assert_int_equal(lb_pace_skip(&p, 200 * MS, 0), 1);
	assert_int_equal(lb_pace_next_ns(&p), 200 * MS);
	assert_int_equal(lb_pace_skip(&p, 1050 * MS, 0), 8); /* 200 to 900; 1000 is still good */
	assert_int_equal(take(&p), 1000 * MS);
	/* what was due before the window opened is left out, but not counted */
	assert_int_equal(lb_pace_skip(&p, 2050 * MS, 1500 * MS), 5);
	assert_int_equal(take(&p), 2000 * MS);
	assert_int_equal(lb_pace_skip(&p, 3050 * MS, LB_NEVER / 2), 0);
	assert_int_equal(take(&p), 3000 * MS);
}

static void poisson_skips_one_by_one(void **state)
{
	struct lb_pace p = poisson(1000 * MILLI, 0, 1), q = p;
	uint64_t last = 0, n = 0, counted = 0, t;

	(void)state;
	while ((t = take(&q)) <= SEC) {
		n++;
		counted += t >= SEC / 2;
		last = t;
	}
	assert_int_equal(lb_pace_skip(&p, SEC, SEC / 2), counted - 1);
	assert_true(n > counted);
	assert_int_equal(take(&p), last);
	assert_int_equal(take(&p), t);
}

/* ---- threads ---- */

#define THREADS 4
#define EACH    50000

struct claimer {
	struct lb_pace *pace;
	pthread_barrier_t *start;
	pthread_t id;
	uint64_t due[THREADS * EACH + 1]; /* and what was not due yet */
	uint32_t n;
};

static void *claim_all(void *arg)
{
	struct claimer *c = arg;

	pthread_barrier_wait(c->start);
	while (lb_pace_claim(c->pace, 100 * SEC - 1, &c->due[c->n]))
		c->n++;
	return NULL;
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Together they have each arrival once, and each has its own in order. */
static void many_claim_each_once(const struct lb_pace *from)
{
	struct lb_pace p = *from, again = p;
	struct claimer *c = calloc(THREADS, sizeof(*c));
	uint64_t *all = calloc(THREADS * EACH, sizeof(*all));
	pthread_barrier_t start;
	uint32_t n = 0;

	assert_true(c && all);
	pthread_barrier_init(&start, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		c[i].pace = &p;
		c[i].start = &start;
		assert_int_equal(pthread_create(&c[i].id, NULL, claim_all, &c[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(c[i].id, NULL);
		for (uint32_t k = 1; k < c[i].n; k++)
			assert_true(c[i].due[k] >= c[i].due[k - 1]);
		memcpy(all + n, c[i].due, c[i].n * sizeof(*all));
		n += c[i].n;
	}
	qsort(all, n, sizeof(*all), by_time);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(all[i], take(&again));
	assert_true(lb_pace_next_ns(&again) >= 100 * SEC);
	free(all);
	free(c);
}

static void threads_lose_and_double_nothing(void **state)
{
	struct lb_pace even = fixed(THREADS * EACH / 100 * MILLI - 7, 0, 1);
	struct lb_pace chance = poisson((THREADS * EACH / 100 - 100) * MILLI, 0, 1);

	(void)state;
	many_claim_each_once(&even);
	many_claim_each_once(&chance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed_is_exact_for_days),
		cmocka_unit_test(luns_take_turns),
		cmocka_unit_test(nothing_is_claimed_before_it_is_due),
		cmocka_unit_test(poisson_is_poisson),
		cmocka_unit_test(poisson_counts_vary_as_they_should),
		cmocka_unit_test(seeds_repeat_and_luns_differ),
		cmocka_unit_test(what_waits_is_counted_with_its_age),
		cmocka_unit_test(poisson_waiting_is_what_would_be_claimed),
		cmocka_unit_test(a_long_poisson_backlog_is_counted_by_its_rate),
		cmocka_unit_test(what_was_missed_is_skipped),
		cmocka_unit_test(poisson_skips_one_by_one),
		cmocka_unit_test(threads_lose_and_double_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
