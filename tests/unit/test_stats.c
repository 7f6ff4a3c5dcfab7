#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "stats.h"

static void empty_tally(void **state)
{
	struct lb_tally t;

	(void)state;
	memset(&t, 0xa5, sizeof(t));
	lb_tally_init(&t);
	assert_int_equal(t.min_ns, UINT64_MAX);
	assert_int_equal(t.max_ns, 0);
	assert_int_equal(t.xfers, 0);
	assert_int_equal(lb_hist_total(&t.hist), 0);
}

static void cells_add_up(void **state)
{
	struct lb_hist h1 = {0}, h2 = {0};
	struct lb_cell a = {
		.xfers = 2,
		.size_bytes = 4096,
		.sum_ns = 300,
		.min_ns = 100,
		.max_ns = 200,
		.hist = &h1,
		.outside = 7,
		.errors = 1,
		.errors_other = 2,
		.late = 3,
		.late_max_ns = 900,
		.zero_samples = UINT16_MAX,
		.samples = UINT16_MAX,
	};
	struct lb_cell b = a;
	struct lb_tally t;

	(void)state;
	b.min_ns = 50;
	b.max_ns = 150;
	b.late_max_ns = 800;
	b.hist = &h2;
	h1.count[100] = 2;
	h2.count[50] = 2;
	lb_tally_init(&t);
	lb_tally_add_cell(&t, &a, 1);
	lb_tally_add_cell(&t, &b, 1);
	assert_int_equal(t.xfers, 4);
	assert_int_equal(t.bytes, 16384);
	assert_int_equal(t.sum_ns, 600);
	assert_int_equal(t.min_ns, 50);
	assert_int_equal(t.max_ns, 200);
	assert_int_equal(t.outside, 14);
	assert_int_equal(t.errors, 2);
	assert_int_equal(t.errors_other, 4);
	assert_int_equal(t.late, 6);
	assert_int_equal(t.late_max_ns, 900);
	assert_int_equal(t.zero_samples, 2 * (uint64_t)UINT16_MAX); /* does not wrap */
	assert_int_equal(t.samples, 2 * (uint64_t)UINT16_MAX);
	assert_int_equal(t.hist.count[100], 2);
	assert_int_equal(t.hist.count[50], 2);
	assert_int_equal(lb_hist_total(&t.hist), 4);
	a.sum_ns = b.sum_ns = UINT64_MAX;
	lb_tally_add_cell(&t, &a, 0);
	lb_tally_add_cell(&t, &b, 0);
	assert_true(t.sum_ns == 600 + 2 * (unsigned __int128)UINT64_MAX);
}

static void shared_histogram_is_added_once(void **state)
{
	struct lb_hist h = {0};
	struct lb_cell a = {.xfers = 1, .min_ns = 9, .max_ns = 9, .hist = &h}, b = a;
	struct lb_tally t;

	(void)state;
	h.count[9] = 2;
	lb_tally_init(&t);
	lb_tally_add_cell(&t, &a, 1);
	lb_tally_add_cell(&t, &b, 0);
	assert_int_equal(t.xfers, 2);
	assert_int_equal(lb_hist_total(&t.hist), 2);
}

static void untouched_cell_changes_nothing(void **state)
{
	struct lb_cell zero = {0}; /* its worker never came so far */
	struct lb_cell good = {.xfers = 1, .sum_ns = 40, .min_ns = 40, .max_ns = 40};
	struct lb_tally t, before;

	(void)state;
	lb_tally_init(&t);
	lb_tally_add_cell(&t, &zero, 1);
	assert_int_equal(t.min_ns, UINT64_MAX);
	lb_tally_add_cell(&t, &good, 1);
	before = t;
	lb_tally_add_cell(&t, &zero, 1);
	assert_memory_equal(&t, &before, sizeof(t));
	assert_int_equal(t.min_ns, 40);
}

static void tallies_add_up(void **state)
{
	struct lb_hist h = {0};
	struct lb_cell cell = {.xfers = 3,
		.size_bytes = 4096,
		.sum_ns = 30,
		.min_ns = 10,
		.max_ns = 10,
		.hist = &h,
		.errors = 1,
		.zero_samples = 2,
		.samples = 3};
	struct lb_tally lun, total, empty;

	(void)state;
	h.count[10] = 3;
	lb_tally_init(&lun);
	lb_tally_init(&total);
	lb_tally_init(&empty);
	lb_tally_add_cell(&lun, &cell, 1);
	lb_fault_note(&lun.faults, 0, -61, (struct lb_fault_at){5, 8192}, true);
	lb_fault_note(&lun.faults, 0, -61, (struct lb_fault_at){7, 4096}, true);
	lb_tally_add(&total, &lun);
	assert_memory_equal(&total, &lun, sizeof(lun));
	lb_tally_add(&total, &empty);
	assert_memory_equal(&total, &lun, sizeof(lun));
	lb_tally_add(&total, &lun);
	assert_int_equal(total.xfers, 6);
	assert_int_equal(total.bytes, 24576);
	assert_int_equal(total.hist.count[10], 6);
	assert_int_equal(total.zero_samples, 4);
	assert_int_equal(total.samples, 6);
	assert_int_equal(lb_faults_row(&total.faults, 0)->n, 4);
	assert_null(lb_faults_row(&total.faults, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_tally),
		cmocka_unit_test(cells_add_up),
		cmocka_unit_test(shared_histogram_is_added_once),
		cmocka_unit_test(untouched_cell_changes_nothing),
		cmocka_unit_test(tallies_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
