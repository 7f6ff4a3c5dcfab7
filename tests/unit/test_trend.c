/* The worst interval, and the first quarter beside the last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made.h"

/* Points that end at these seconds, with so many xfers each. */
static struct lb_trend trend_of(const double *end_s, const uint64_t *xfers, uint32_t n)
{
	struct made *m = made_new(2, 1, 1);
	struct lb_trend t;

	m->phase.time_ns = 0;
	made_series(m, SEC);
	for (uint32_t i = 0; i < n; i++) {
		made_xfers(m, i % 2, xfers[i], MS);
		made_point(m, (uint64_t)(end_s[i] * (double)SEC));
	}
	lb_trend_make(&t, m->board.series);
	made_done(m);
	return t;
}

static void the_worst_is_of_five_at_least(void **state)
{
	static const double end_s[] = {1, 2, 3, 4.5, 5, 5.5};
	static const uint64_t xfers[] = {100, 90, 110, 120, 60, 5};
	struct lb_trend t = trend_of(end_s, xfers, 4);

	(void)state;
	assert_false(t.has_worst);
	t = trend_of(end_s, xfers, 6);
	assert_true(t.has_worst);
	/* 1.5 s long, as it was: those that are cut short do not count */
	assert_true(t.worst_per_s == 80);
	assert_int_equal(t.worst_begin_ns, 3 * SEC);
	assert_int_equal(t.worst_end_ns, 4500 * MS);
	assert_false(t.has_quarters);
}

static void the_first_of_the_worst(void **state)
{
	static const double end_s[] = {1, 2, 3, 4, 5};
	static const uint64_t xfers[] = {10, 0, 10, 0, 10};
	struct lb_trend t = trend_of(end_s, xfers, 5);

	(void)state;
	assert_true(t.has_worst);
	assert_true(t.worst_per_s == 0);
	assert_int_equal(t.worst_begin_ns, SEC);
}

static void quarters_are_of_more_than_a_minute(void **state)
{
	double end_s[100];
	uint64_t xfers[100];
	struct lb_trend t;

	(void)state;
	for (int i = 0; i < 100; i++) {
		end_s[i] = i + 1;
		xfers[i] = i < 50 ? 200 : 100;
	}
	xfers[24] = 210; /* the last of the first quarter, the first past it, and the same again */
	xfers[25] = 999;
	xfers[74] = 999;
	xfers[75] = 50;
	t = trend_of(end_s, xfers, 60);
	assert_false(t.has_quarters);
	t = trend_of(end_s, xfers, 61);
	assert_true(t.has_quarters);
	t = trend_of(end_s, xfers, 100);
	assert_true(t.has_quarters);
	assert_true(t.first_per_s == (24 * 200 + 210) / 25.0);
	assert_true(t.last_per_s == (24 * 100 + 50) / 25.0);
	/* intervals longer than a quarter tell nothing of it */
	end_s[0] = 50;
	end_s[1] = 100;
	t = trend_of(end_s, xfers, 2);
	assert_false(t.has_quarters);
}

static void without_points_there_is_nothing(void **state)
{
	struct lb_trend t = {.has_worst = true, .has_quarters = true};

	(void)state;
	lb_trend_make(&t, NULL);
	assert_false(t.has_worst || t.has_quarters);
	t = trend_of(NULL, NULL, 0);
	assert_false(t.has_worst || t.has_quarters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_worst_is_of_five_at_least),
		cmocka_unit_test(the_first_of_the_worst),
		cmocka_unit_test(quarters_are_of_more_than_a_minute),
		cmocka_unit_test(without_points_there_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
