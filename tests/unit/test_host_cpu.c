#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "host_cpu.h"

/* user nice system idle iowait irq softirq steal guest guest_nice */
static const char stat_text[] = "cpu  1111 22 333 4444 555 66 77 88 0 0\n"
				"cpu0 100 20 300 4000 500 6 7 8 90 9\n"
				"cpu1 1 2 3 4\n"
				"cpu10 1000 0 0 0 0 0 0 0 0 0\n"
				"intr 12345 0 0\n"
				"cpu2 9 9 9 9 9 9 9 9 9 9\n";

static int parse(const int *cpus, size_t n, struct lb_host_cpu *out)
{
	FILE *f = fmemopen((void *)(uintptr_t)stat_text, sizeof(stat_text) - 1, "r");
	cpu_set_t set;
	int ret;

	assert_non_null(f);
	CPU_ZERO(&set);
	for (size_t i = 0; i < n; i++)
		CPU_SET((size_t)cpus[i], &set);
	ret = lb_host_cpu_parse(f, &set, out);
	fclose(f);
	return ret;
}

static void of_some_cpus(void **state)
{
	static const int first[] = {0}, two[] = {1, 10};
	struct lb_host_cpu c;

	(void)state;
	assert_int_equal(parse(first, 1, &c), 0);
	assert_int_equal(c.busy, 441); /* neither idle nor iowait, and guests but once */
	assert_int_equal(c.all, 4941);
	assert_int_equal(parse(two, 2, &c), 0); /* as old kernels write it; and not cpu1 for 10 */
	assert_int_equal(c.busy, 1006);
	assert_int_equal(c.all, 1010);
}

static void not_told_of(void **state)
{
	static const int far[] = {0, 7}, behind[] = {2};
	struct lb_host_cpu c = {1, 2};

	(void)state;
	assert_int_equal(parse(far, 2, &c), -ENOENT);
	assert_int_equal(parse(behind, 1, &c), -ENOENT); /* not among the CPUs' lines */
	assert_int_equal(parse(NULL, 0, &c), -ENOENT);
	assert_int_equal(c.busy, 1);
}

static void of_this_host(void **state)
{
	struct lb_host_cpu a, b;
	cpu_set_t none;

	(void)state;
	CPU_ZERO(&none);
	assert_int_equal(lb_host_cpu_read(&none, &a), 0);
	assert_true(a.all > 0 && a.busy > 0 && a.busy <= a.all);
	assert_int_equal(lb_host_cpu_read(&none, &b), 0);
	assert_true(b.busy >= a.busy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_some_cpus),
		cmocka_unit_test(not_told_of),
		cmocka_unit_test(of_this_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
