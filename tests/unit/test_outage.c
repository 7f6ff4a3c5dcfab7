#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "outage.h"
#include "rng.h"

#define MOST 4000

/* A series made by hand, and what was found in it. */
struct series {
	struct lb_outage_point p[MOST];
	size_t n;
	struct lb_outage_event ev[8];
	size_t n_ev;
	struct lb_outage *found;
};

static struct series *begin(void)
{
	struct series *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	return s;
}

/* N more intervals of LEN_S with so many XFERS in each. */
static void more(struct series *s, size_t n, double len_s, double xfers)
{
	for (; n; n--) {
		double from = s->n ? s->p[s->n - 1].end_s : 0;

		assert_true(s->n < MOST);
		s->p[s->n++] = (struct lb_outage_point){from, from + len_s, xfers, -1, -1};
	}
}

static void event(struct series *s, double from, double to)
{
	s->ev[s->n_ev++] = (struct lb_outage_event){from, to};
}

static int find(struct series *s)
{
	free(s->found);
	return lb_outages_find(s->p, s->n, s->ev, s->n_ev, &s->found);
}

static void end(struct series *s)
{
	free(s->found);
	free(s);
}

static void same(double got, double want, const char *what)
{
	if (fabs(got - want) > 1e-9 * fmax(1, fabs(want)))
		fail_msg("%s: %.12g, not %.12g", what, got, want);
}

static void spans(const struct lb_outage *o, double from, double to, double below_s)
{
	same(o->begin_s, from, "begin");
	same(o->end_s, to, "end");
	same(o->below_s, below_s, "below");
}

static void costs(const struct lb_outage *o, double base, double fall, double mean, double lost)
{
	same(o->baseline_per_s, base, "baseline");
	same(o->fall_pct, fall, "fall");
	same(o->mean_fall_pct, mean, "mean fall");
	same(o->lost_xfers, lost, "lost");
}

static void catches_up(const struct lb_outage *o, double pct, double secs, double xfers)
{
	same(o->catch_up_pct, pct, "burst");
	same(o->catch_up_s, secs, "burst's length");
	same(o->catch_up_xfers, xfers, "made up");
}

static void a_stall(void **state)
{
	struct series *s = begin();

	(void)state;
	more(s, 30, 1, 1000);
	more(s, 7, 1, 0);
	more(s, 23, 1, 1000);
	assert_int_equal(find(s), 1);
	spans(&s->found[0], 30, 37, 7);
	costs(&s->found[0], 1000, 100, 100, 7000);
	catches_up(&s->found[0], 0, 0, 0);
	assert_true(s->found[0].has_recovered);
	assert_false(s->found[0].has_event);
	event(s, 30.4, 37.2);
	assert_int_equal(find(s), 1);
	spans(&s->found[0], 30, 37, 7);
	assert_true(s->found[0].has_event);
	end(s);
}

/* It begins and ends inside intervals, and in open loop what was missed is made up. */
static void a_burst_after_it(void **state)
{
	struct series *s = begin();

	(void)state;
	more(s, 10, 1, 1000);
	more(s, 1, 1, 600);
	more(s, 4, 1, 0);
	more(s, 1, 1, 1020); /* as much as ever, the half of it caught up */
	more(s, 2, 1, 1500);
	more(s, 1, 1, 1400);
	more(s, 20, 1, 1050); /* not above 105% */
	assert_int_equal(find(s), 1);
	spans(&s->found[0], 10, 15, 5);
	costs(&s->found[0], 1000, 100, 88, 4400);
	catches_up(&s->found[0], 50, 3, 1400);
	end(s);
}

static void never_over(void **state)
{
	struct series *s = begin();

	(void)state;
	more(s, 40, 1, 1000);
	more(s, 10, 1, 0);
	more(s, 50, 1, 700);
	assert_int_equal(find(s), 1);
	spans(&s->found[0], 40, 100, 60);
	costs(&s->found[0], 1000, 100, 100 * 25000. / 60000, 25000);
	assert_false(s->found[0].has_recovered);
	end(s);
}

/* Two good intervals are none yet, three are; of the run's last ones fewer will do. */
static void recovery(void **state)
{
	struct series *s = begin();

	(void)state;
	more(s, 20, 1, 1000);
	more(s, 3, 1, 100);
	more(s, 2, 1, 960);
	more(s, 1, 1, 940);
	more(s, 3, 1, 950);
	more(s, 1, 1, 500);
	more(s, 3, 1, 0);
	more(s, 1, 1, 980);
	assert_int_equal(find(s), 2);
	spans(&s->found[0], 20, 26, 4);
	same(s->found[0].lost_xfers, 2700 + 80 + 60, "lost");
	spans(&s->found[1], 29, 33, 4);
	assert_true(s->found[1].has_recovered);
	same(s->found[1].lost_xfers, 3500, "lost");
	end(s);
}

/* What an earlier one did, and its burst, are in no baseline. */
static void two_of_them(void **state)
{
	struct series *s = begin();

	(void)state;
	more(s, 20, 1, 1000);
	more(s, 60, 1, 0);
	more(s, 60, 1, 2000);
	more(s, 10, 1, 1000);
	more(s, 5, 1, 250);
	more(s, 10, 1, 1000);
	assert_int_equal(find(s), 2);
	spans(&s->found[0], 20, 80, 60);
	catches_up(&s->found[0], 100, 60, 60000);
	spans(&s->found[1], 150, 155, 5);
	costs(&s->found[1], 1000, 75, 75, 3750);
	end(s);
}

/* The first of a run that begins in one are held against the rest, if something happened. */
static void from_the_beginning(void **state)
{
	struct series *s = begin();

	(void)state;
	more(s, 30, 1, 0);
	more(s, 10, 1, 1000);
	assert_int_equal(find(s), 0);
	event(s, -0.5, 30);
	assert_int_equal(find(s), 1);
	spans(&s->found[0], 0, 30, 30);
	costs(&s->found[0], 1000, 100, 100, 30000);
	end(s);

	s = begin(); /* a start that takes its time is none */
	for (int i = 1; i < 10; i++)
		more(s, 1, 1, 100 * i);
	more(s, 30, 1, 1000);
	assert_int_equal(find(s), 0);
	end(s);

	s = begin(); /* but one after two intervals is */
	more(s, 2, 1, 1000);
	more(s, 3, 1, 0);
	more(s, 30, 1, 1000);
	assert_int_equal(find(s), 1);
	spans(&s->found[0], 2, 5, 3);
	end(s);
}

/* A single interval at 93%, with an event at AT_S. */
static int shallow(double at_s)
{
	struct series *s = begin();
	int n;

	more(s, 30, 1, 1000);
	more(s, 1, 1, 930);
	more(s, 30, 1, 1000);
	if (at_s >= 0)
		event(s, at_s, at_s);
	n = find(s);
	if (n == 1) {
		spans(&s->found[0], 30, 31, 1);
		costs(&s->found[0], 1000, 7, 7, 70);
	}
	end(s);
	return n;
}

static void beside_events(void **state)
{
	(void)state;
	assert_int_equal(shallow(-1), 0);
	assert_int_equal(shallow(27.9), 0);
	assert_int_equal(shallow(28), 1);
	assert_int_equal(shallow(30.5), 1);
	assert_int_equal(shallow(31.9), 1);
	assert_int_equal(shallow(32), 0);
	assert_int_equal(shallow(61), 0); /* after the run */
}

/* A drive is pulled from the array: a tenth less for ten minutes, and no word of it. */
static void a_slow_fall(void **state)
{
	struct series *s = begin();

	(void)state;
	more(s, 300, 1, 1000);
	more(s, 600, 1, 900);
	more(s, 300, 1, 1000);
	assert_int_equal(find(s), 1);
	spans(&s->found[0], 300, 900, 600);
	costs(&s->found[0], 1000, 10, 10, 60000);
	end(s);

	s = begin(); /* less than a twentieth is none */
	more(s, 300, 1, 1000);
	more(s, 600, 1, 951);
	more(s, 300, 1, 1000);
	assert_int_equal(find(s), 0);
	end(s);
}

/* At two xfers a second an interval without any means nothing, a minute of them does. */
static void few_xfers(void **state)
{
	static const int counts[] = {4, 2, 2, 2, 1, 3, 2, 0};
	struct series *s = begin();

	(void)state;
	for (int i = 0; i < 80; i++)
		more(s, 1, 1, counts[i % 8]);
	event(s, 47.5, 47.5); /* an empty one, by chance */
	assert_int_equal(find(s), 0);
	more(s, 60, 1, 0);
	for (int i = 0; i < 80; i++)
		more(s, 1, 1, counts[i % 8]);
	event(s, 80.2, 140.1);
	assert_int_equal(find(s), 1);
	spans(&s->found[0], 79, 140, 61); /* the last before it was empty too */
	costs(&s->found[0], 2, 100, 100, 122);
	end(s);

	s = begin(); /* idle */
	more(s, 100, 1, 0);
	event(s, 50, 60);
	assert_int_equal(find(s), 0);
	end(s);
}

/* Rates count, not xfers; the last interval is as long as what was left of the run. */
static void unequal_intervals(void **state)
{
	struct series *s = begin();

	(void)state;
	more(s, 20, 4, 4000);
	more(s, 1, 2, 2000);
	more(s, 2, 4, 1000);
	more(s, 10, 4, 4000);
	more(s, 1, 0.01, 0);
	assert_int_equal(find(s), 1);
	spans(&s->found[0], 82, 90, 8);
	costs(&s->found[0], 1000, 75, 75, 6000);
	end(s);

	s = begin(); /* it never is over, to the very end */
	more(s, 20, 1, 1000);
	more(s, 3, 1, 0);
	more(s, 1, 0.3, 0);
	more(s, 1, 0, 0);
	assert_int_equal(find(s), 1);
	spans(&s->found[0], 20, 23.3, 3.3);
	same(s->found[0].lost_xfers, 3300, "lost");
	end(s);
}

/* The sum of what was lost in each interval may come out a hair above all there was to lose. */
static void no_more_than_all(void **state)
{
	(void)state;
	for (int i = 0; i < 200; i++) {
		struct series *s = begin();

		more(s, 20, 1, 39.97);
		for (int k = 0; k < 7; k++)
			more(s, 1, 1 + i * 1e-5 * k, 0);
		assert_int_equal(find(s), 1);
		assert_true(s->found[0].mean_fall_pct <= 100);
		end(s);
	}
}

/* What waited comes back when it is over. */
static void latencies_on_the_way(void **state)
{
	struct series *s = begin();

	(void)state;
	more(s, 20, 1, 1000);
	more(s, 3, 1, 100);
	more(s, 20, 1, 1000);
	assert_int_equal(find(s), 1);
	assert_true(s->found[0].worst_p99_ns < 0 && s->found[0].worst_max_ns < 0);
	for (size_t i = 0; i < s->n; i++)
		s->p[i].p99_ns = 1e6 + (double)i, s->p[i].max_ns = 1e7 + (double)i;
	s->p[21].p99_ns = 4e9;
	assert_int_equal(find(s), 1);
	same(s->found[0].worst_p99_ns, 4e9, "p99");
	s->p[22].p99_ns = -1; /* too few xfers to tell, and they may be the worst */
	assert_int_equal(find(s), 1);
	same(s->found[0].worst_p99_ns, -1, "p99");
	s->p[22].xfers = 0; /* none has none */
	assert_int_equal(find(s), 1);
	same(s->found[0].worst_p99_ns, 4e9, "p99");
	same(s->found[0].worst_max_ns, 1e7 + 23, "max");
	end(s);
}

static void too_short_to_tell(void **state)
{
	struct series *s = begin();

	(void)state;
	assert_int_equal(find(s), 0);
	assert_null(s->found);
	more(s, 3, 1, 1000);
	more(s, 1, 1, 0);
	event(s, 3.5, INFINITY);
	assert_int_equal(find(s), 0);
	more(s, 1, 1, 0);
	assert_int_equal(find(s), 1); /* five will do */
	spans(&s->found[0], 3, 5, 2);
	assert_false(s->found[0].has_recovered);
	end(s);
}

/* ---- noise ---- */

static double uniform(struct lb_rng *rng)
{
	return (double)(lb_rng_next(rng) >> 11) * 0x1p-53;
}

static double normal(struct lb_rng *rng)
{
	return sqrt(-2 * log(uniform(rng) + 0x1p-54)) * cos(2 * M_PI * uniform(rng));
}

/* N intervals about RATE: normal noise of SPREAD, or even within that; LIKE: its neighbour. */
static void noisy(struct series *s, struct lb_rng *rng, size_t n, double rate, double spread,
	double like, bool is_even)
{
	double v = 0;

	for (; n; n--) {
		double x = is_even ? 2 * uniform(rng) - 1 : normal(rng);

		v = like * v + sqrt(1 - like * like) * x;
		more(s, 1, 1, floor(rate * fmax(0, 1 + spread * v)));
	}
}

static void noise_is_no_outage(void **state)
{
	struct series *s = begin();
	unsigned outages = 0, alike = 0;

	(void)state;
	for (uint32_t seed = 1; seed <= 4000; seed++) {
		static const double spreads[] = {0.02, 0.1, 0.15, 0.2};
		double spread = spreads[seed % 4];
		struct lb_rng rng;

		lb_rng_seed(&rng, 2026, seed);
		s->n = 0;
		noisy(s, &rng, 10 + seed % 300, 10000, spread, 0, seed % 3 == 0);
		outages += (unsigned)find(s);
		s->n = 0;
		noisy(s, &rng, 300, 10000, spread, 0.5, false); /* slow waves */
		alike += (unsigned)find(s);
	}
	assert_int_equal(outages, 0);
	assert_in_range(alike, 0, 8); /* in 333 hours */
	end(s);
}

/* A busy host makes any rate, but not nothing for seconds. */
static void nothing_is_no_noise(void **state)
{
	static const int counts[] = {40000, 9000, 71000, 22000, 3000, 55000, 18000, 64000};
	struct series *s = begin();

	(void)state;
	for (int i = 0; i < 8; i++)
		more(s, 1, 1, counts[i]);
	more(s, 1, 1, 12000);
	more(s, 1, 1, 0);
	assert_int_equal(find(s), 0);
	s->n--;
	event(s, 8.3, 9.9); /* one will do beside an event; it began in the one before */
	more(s, 1, 1, 0);
	more(s, 2, 1, 20000);
	for (int i = 0; i < 8; i++)
		more(s, 1, 1, counts[i]);
	assert_int_equal(find(s), 1);
	spans(&s->found[0], 8, 10, 2);
	s->n_ev = 0;
	assert_int_equal(find(s), 0);
	s->n = 9;
	more(s, 2, 1, 10);
	more(s, 2, 1, 20000);
	for (int i = 0; i < 8; i++)
		more(s, 1, 1, counts[i]);
	assert_int_equal(find(s), 1); /* without one it takes two */
	spans(&s->found[0], 8, 11, 3);
	end(s);
}

/* Deep and shallow ones are found in noise, to within a few intervals. */
static void outages_in_noise(void **state)
{
	struct series *s = begin();
	unsigned begun = 0, ended = 0, whole = 0;
	int n;

	(void)state;
	for (uint32_t seed = 1; seed <= 500; seed++) {
		struct lb_rng rng;

		lb_rng_seed(&rng, 2026, seed);
		s->n = 0;
		noisy(s, &rng, 200, 10000, 0.15, 0, false);
		more(s, 10, 1, 0);
		noisy(s, &rng, 200, 10000, 0.15, 0, false);
		assert_int_equal(find(s), 1);
		assert_true(s->found[0].begin_s <= 200 && s->found[0].begin_s > 185);
		assert_true(s->found[0].end_s >= 210 && s->found[0].end_s < 240);
		begun += s->found[0].begin_s >= 198;
		ended += s->found[0].end_s <= 212;
		s->n = 0;
		noisy(s, &rng, 300, 10000, 0.04, 0, false);
		noisy(s, &rng, 600, 9000, 0.04, 0, false);
		noisy(s, &rng, 300, 10000, 0.04, 0, false);
		n = find(s);
		assert_true(n >= 1);
		assert_true(fabs(s->found[0].mean_fall_pct - 10) < 2);
		assert_true(fabs(s->found[0].begin_s - 300) < 20);
		assert_true(fabs(s->found[n - 1].end_s - 900) < 20);
		whole += n == 1;
	}
	assert_in_range(whole, 450, 500);
	assert_in_range(begun, 400, 500);
	assert_in_range(ended, 400, 500);
	end(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stall),
		cmocka_unit_test(a_burst_after_it),
		cmocka_unit_test(never_over),
		cmocka_unit_test(recovery),
		cmocka_unit_test(two_of_them),
		cmocka_unit_test(from_the_beginning),
		cmocka_unit_test(beside_events),
		cmocka_unit_test(a_slow_fall),
		cmocka_unit_test(few_xfers),
		cmocka_unit_test(unequal_intervals),
		cmocka_unit_test(no_more_than_all),
		cmocka_unit_test(latencies_on_the_way),
		cmocka_unit_test(too_short_to_tell),
		cmocka_unit_test(noise_is_no_outage),
		cmocka_unit_test(nothing_is_no_noise),
		cmocka_unit_test(outages_in_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
