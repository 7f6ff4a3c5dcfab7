#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "fault.h"

static void note(struct lb_faults *f, uint8_t op, int32_t res, uint64_t ns, uint64_t offset)
{
	lb_fault_note(f, op, res, (struct lb_fault_at){ns, offset}, true);
}

static uint32_t rows(const struct lb_faults *f)
{
	uint32_t n = 0;

	while (lb_faults_row(f, n))
		n++;
	return n;
}

static void kinds_are_told_apart(void **state)
{
	struct lb_faults f = {0};
	const struct lb_fault *row;

	(void)state;
	assert_null(lb_faults_row(&f, 0));
	assert_null(lb_faults_first(&f));
	note(&f, 0, -EIO, 10, 512);
	note(&f, 1, -EIO, 11, 1024);
	note(&f, 0, -EBADE, 12, 0);
	note(&f, 0, -EIO, 13, 2048);
	lb_fault_note(&f, 0, -EIO, (struct lb_fault_at){14, 4096}, false);
	assert_int_equal(rows(&f), 3);
	row = lb_faults_row(&f, 0);
	assert_int_equal(row->res, -EIO);
	assert_int_equal(row->op, 0);
	assert_int_equal(row->n, 3);
	assert_int_equal(row->n_outside, 1);
	assert_int_equal(row->first.ns, 10);
	assert_int_equal(row->first.offset_bytes, 512);
	assert_int_equal(row->last.ns, 14);
	assert_int_equal(row->last.offset_bytes, 4096);
	assert_false(row->is_rest);
	assert_int_equal(lb_faults_row(&f, 1)->op, 1);
	assert_int_equal(lb_faults_row(&f, 2)->res, -EBADE);
}

static void short_ones_are_one_kind(void **state)
{
	struct lb_faults f = {0};

	(void)state;
	note(&f, 0, 1536, 10, 0);
	note(&f, 0, 0, 11, 0);
	note(&f, 0, 512, 12, 0);
	assert_int_equal(rows(&f), 1);
	assert_int_equal(lb_faults_row(&f, 0)->n, 3);
	assert_int_equal(lb_faults_row(&f, 0)->res, 1536);
}

static void too_many_kinds_are_the_rest(void **state)
{
	struct lb_faults f = {0}, sum = {0};
	const struct lb_fault *row;

	(void)state;
	for (int32_t e = 1; e <= LB_FAULT_ROWS + 3; e++)
		note(&f, 1, -e, (uint64_t)(100 + e), 0);
	assert_int_equal(rows(&f), LB_FAULT_ROWS + 1);
	row = lb_faults_row(&f, LB_FAULT_ROWS);
	assert_true(row->is_rest);
	assert_int_equal(row->op, 1);
	assert_int_equal(row->n, 3);
	assert_int_equal(row->res, -(LB_FAULT_ROWS + 1));
	assert_int_equal(row->first.ns, 100 + LB_FAULT_ROWS + 1);
	note(&f, 0, -99, 500, 0); /* of the other op: its own rest, before that */
	assert_int_equal(rows(&f), LB_FAULT_ROWS + 2);
	assert_int_equal(lb_faults_row(&f, LB_FAULT_ROWS)->res, -99);
	assert_int_equal(lb_faults_row(&f, LB_FAULT_ROWS + 1)->n, 3);
	/* what was not told apart once, is not later either, though there is room */
	note(&sum, 1, -EIO, 1, 0);
	lb_faults_add(&sum, &f, 0);
	assert_int_equal(rows(&sum), 2);
	assert_true(lb_faults_row(&sum, 1)->is_rest);
	lb_faults_add(&sum, &f, LB_FAULT_OPS);
	assert_int_equal(lb_faults_row(&sum, LB_FAULT_ROWS + 1)->n, 3);
}

static void tables_add_up(void **state)
{
	struct lb_faults a = {0}, b = {0}, sum = {0};

	(void)state;
	note(&a, 0, -EIO, 20, 1);
	note(&a, 0, -EIO, 30, 2);
	note(&b, 0, -EBADE, 15, 9);
	note(&b, 0, -EIO, 10, 3);
	note(&b, 1, -EIO, 5, 4);
	note(&b, 0, -EIO, 25, 5);
	lb_faults_add(&sum, &a, LB_FAULT_OPS);
	lb_faults_add(&sum, &b, 0);
	assert_int_equal(rows(&sum), 2);
	assert_int_equal(lb_faults_row(&sum, 0)->n, 4);
	assert_int_equal(lb_faults_row(&sum, 0)->first.ns, 10);
	assert_int_equal(lb_faults_row(&sum, 0)->first.offset_bytes, 3);
	assert_int_equal(lb_faults_row(&sum, 0)->last.ns, 30);
	assert_int_equal(lb_faults_row(&sum, 0)->last.offset_bytes, 2);
	assert_int_equal(lb_faults_first(&sum)->first.ns, 10);
	lb_faults_add(&sum, &b, 1);
	assert_int_equal(lb_faults_first(&sum)->first.ns, 5);
	assert_int_equal(lb_faults_first(&sum)->op, 1);
}

static void words_fit_a_san(void **state)
{
	char buf[16];

	(void)state;
	assert_string_equal(lb_fault_words(-EBADE), "reservation conflict");
	assert_string_equal(lb_fault_words(-ENOSPC), "pool or device full");
	assert_string_equal(lb_fault_words(-ENODATA), "medium error");
	assert_string_equal(lb_fault_words(0), "nothing moved");
	assert_string_equal(lb_fault_words(-ENOTTY), "Inappropriate ioctl for device");
	assert_string_equal(lb_fault_words(-4000), "unknown error");
	assert_string_equal(lb_fault_name(buf, sizeof(buf), -EREMOTEIO), "EREMOTEIO");
	assert_string_equal(lb_fault_name(buf, sizeof(buf), 512), "short");
	assert_string_equal(lb_fault_name(buf, sizeof(buf), -4000), "errno 4000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_told_apart),
		cmocka_unit_test(short_ones_are_one_kind),
		cmocka_unit_test(too_many_kinds_are_the_rest),
		cmocka_unit_test(tables_add_up),
		cmocka_unit_test(words_fit_a_san),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
