/* dmstat.c on what the kernel's dm-mpath.c says of maps of several kinds. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

#include "dmstat.h"

/* As "8:16 A 0, 8:32 F 3", and " queue" where it does. */
static const char *worded(const char *status, const char *table)
{
	static char text[4096];
	struct lb_dmstat st;
	size_t n = 0;
	int rc = lb_dmstat_parse(status, table, &st);

	if (rc) {
		snprintf(text, sizeof(text), "%d, %u paths", rc, st.n_paths);
		return text;
	}
	text[0] = '\0';
	for (uint32_t i = 0; i < st.n_paths && i < LB_DMSTAT_PATHS_MAX; i++) {
		const struct lb_dmstat_path *p = &st.paths[i];

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u:%u %c %u", i ? ", " : "",
			major(p->dev), minor(p->dev), p->is_active ? 'A' : 'F', p->fail_count);
	}
	if (st.queues_if_no_path)
		snprintf(text + n, sizeof(text) - n, " queue");
	return text;
}

static void each_selector_is_read(void **state)
{
	static const struct {
		const char *status, *table, *is;
	} cases[] = {
		/* round-robin has no words for a path */
		{"2 0 0 0 1 1 A 0 2 0 8:16 A 0 8:32 F 3 ",
			"0 0 1 1 round-robin 0 2 1 8:16 1 8:32 1 ", "8:16 A 0, 8:32 F 3"},
		/* service-time has two, of which one may look like a count */
		{"2 0 0 0 1 1 E 0 2 2 8:0 A 0 0 1 65:160 A 17 64 1 ",
			"1 queue_if_no_path 0 1 1 service-time 0 2 2 8:0 1 1 65:160 1 1 ",
			"8:0 A 0, 65:160 A 17 queue"},
		{"2 0 0 0 1 1 A 0 1 1 8:16 F 4294967295 12 ", "0 0 1 1 queue-length 0 1 1 8:16 1 ",
			"8:16 F 4294967295"},
		{"2 0 0 0 1 1 A 0 1 3 8:16 A 0 2 10240 0 ",
			"0 0 1 1 historical-service-time 0 1 1 8:16 1 ", "8:16 A 0"},
		/* a mask of many CPUs is one word, of any length */
		{"2 0 0 0 1 1 A 0 1 1 259:1048575 A 0 "
		 "ffffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff ",
			"0 0 1 1 io-affinity 0 1 1 259:1048575 ffffffff,ffffffff ",
			"259:1048575 A 0"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(worded(cases[i].status, cases[i].table), cases[i].is);
}

/* As ALUA has it: two groups, one of them disabled, features and a handler with its words. */
static void groups_features_and_handlers_are_passed(void **state)
{
	const char *groups = "2 1 A 0 2 2 8:16 A 0 3 1 8:48 A 1 2 1 D 1 word 2 2 "
			     "8:32 F 2 0 1 8:64 F 2 0 1 ";
	char status[256];

	(void)state;
	snprintf(status, sizeof(status), "2 1 4 0 %s", groups);
	assert_string_equal(
		worded(status, "6 retain_attached_hw_handler pg_init_retries 50 queue_if_no_path "
			       "queue_mode bio 1 alua 2 1 service-time 0 2 2 8:16 1 1 8:48 1 1 "
			       "service-time 0 2 2 8:32 1 1 8:64 1 1 "),
		"8:16 A 0, 8:48 A 1, 8:32 F 2, 8:64 F 2 queue");
	/* a handler with words, as older kernels may have it */
	snprintf(status, sizeof(status), "0 2 alua explicit %s", groups);
	assert_string_equal(
		worded(status, "0 1 alua 2 1"), "8:16 A 0, 8:48 A 1, 8:32 F 2, 8:64 F 2");
	/* only a feature of this very name */
	assert_string_equal(worded("2 0 0 0 1 1 A 0 1 0 8:16 A 0",
				    "4 queue_if_no_path_timeout 30 x queue_if 0 1 1 round-robin"),
		"8:16 A 0");
}

/* A map whose last path was taken away: no group is left, or one without a path. */
static void a_map_may_have_no_paths(void **state)
{
	(void)state;
	assert_string_equal(worded("2 0 0 0 0 0 ", "1 queue_if_no_path 0 0 0 "), " queue");
	assert_string_equal(worded("2 0 0 0 1 1 E 0 0 2 ", "0 0 1 1 service-time 0 0 2"), "");
}

static void what_is_not_understood_is_refused(void **state)
{
	const char *table = "0 0 1 1 round-robin 0 1 0 8:16 ";
	const char *bad[] = {
		"",
		"2 0 0",
		"2 0 0 0 1",
		"2 0 0 0 1 1 A 0 1 0",
		"2 0 0 0 1 1 A 0 2 0 8:16 A 0",          /* a path is missing */
		"2 0 0 0 1 1 A 0 1 2 8:16 A 0 1",        /* a word of it */
		"2 0 0 0 1 1 A 0 1 0 8:16 X 0",          /* no state */
		"2 0 0 0 1 1 A 0 1 0 8:16 AF 0",         /* nor this */
		"2 0 0 0 1 1 A 0 1 0 sda A 0",           /* no number */
		"2 0 0 0 1 1 A 0 1 0 8:16x A 0",         /* nor this */
		"2 0 0 0 1 1 A 0 1 0 8:16 A -1",         /* fails */
		"2 0 0 0 1 1 A 0 1 0 8:16 A 4294967296", /* too many */
		"2 0 0 0 1 1 A 0 1 0 8:16 A 0 and more",
		"99999999999999999999 0",
	};

	(void)state;
	assert_string_equal(worded("2 0 0 0 1 1 A 0 1 0 8:16 A 0", table), "8:16 A 0");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_string_equal(worded(bad[i], table), "-71, 0 paths");
	assert_string_equal(worded("2 0 0 0 1 1 A 0 1 0 8:16 A 0", ""), "-71, 0 paths");
	assert_string_equal(
		worded("2 0 0 0 1 1 A 0 1 0 8:16 A 0", "2 queue_if_no_path"), "-71, 0 paths");
}

static void more_paths_than_are_kept_are_counted(void **state)
{
	const uint32_t n = LB_DMSTAT_PATHS_MAX + 6;
	char status[4096];
	struct lb_dmstat st;
	int len = snprintf(status, sizeof(status), "2 0 0 0 1 1 A 0 %u 0", n);

	(void)state;
	for (uint32_t i = 0; i < n; i++)
		len += snprintf(status + len, sizeof(status) - (size_t)len, " 66:%u %c %u", i,
			i % 2 ? 'F' : 'A', i);
	assert_int_equal(lb_dmstat_parse(status, "0 0 1 1 round-robin 0 70 0", &st), 0);
	assert_int_equal(st.n_paths, n);
	assert_int_equal(st.n_active, n / 2);
	assert_int_equal(
		st.paths[LB_DMSTAT_PATHS_MAX - 1].dev, makedev(66, LB_DMSTAT_PATHS_MAX - 1));
	assert_false(st.paths[LB_DMSTAT_PATHS_MAX - 1].is_active);
}

/* Whoever may not ask, or asks for what is no map, is told so and has no paths. */
static void who_cannot_ask_knows_nothing(void **state)
{
	struct lb_dmstat st = {.n_paths = 3};
	char type[16] = "old";

	(void)state;
	assert_int_equal(lb_dmstat_multipath(-13, makedev(253, 0), &st), -EBADF);
	assert_int_equal(st.n_paths, 0);
	assert_int_equal(lb_dmstat_type(-13, makedev(253, 0), type, sizeof(type)), -EBADF);
	assert_string_equal(type, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_selector_is_read),
		cmocka_unit_test(groups_features_and_handlers_are_passed),
		cmocka_unit_test(a_map_may_have_no_paths),
		cmocka_unit_test(what_is_not_understood_is_refused),
		cmocka_unit_test(more_paths_than_are_kept_are_counted),
		cmocka_unit_test(who_cannot_ask_knows_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
