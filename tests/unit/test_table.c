#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "table.h"

static void columns_line_up(void **state)
{
	struct lb_table t = {.align = "lrl"};
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	for (const char *const *s = (const char *const[]){"a", "bbb", "", "\xc3\xa4\xc3\xb6", "1",
		     "x", "", "22", "yy", NULL};
		*s; s++)
		lb_table_add(&t, "%s", *s);
	assert_int_equal(lb_table_print(&t, f), 0);
	fclose(f);
	assert_string_equal(text, "a   bbb\n"
				  "\xc3\xa4\xc3\xb6    1  x\n"
				  "     22  yy\n");
	lb_table_done(&t);
	lb_table_done(&t); /* twice does no harm */
	free(text);
}

static void empty_table(void **state)
{
	struct lb_table t = {.align = "ll"};
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	assert_int_equal(lb_table_print(&t, f), 0);
	fclose(f);
	assert_string_equal(text, "");
	free(text);
}

static void short_names_stay(void **state)
{
	const char *names[] = {"/dev/mapper/mpatha", "12345678901234567890123456789012", ""};
	char **labels = lb_labels(names, 3);

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_string_equal(labels[i], names[i]);
	free(labels);
	labels = lb_labels(names, 0);
	assert_non_null(labels);
	free(labels);
}

static void long_names_lose_their_middle(void **state)
{
	const char *names[] = {"/dev/disk/by-id/wwn-0x600a098000aabbccddeeff0011223344"};
	char **labels = lb_labels(names, 1);

	(void)state;
	assert_string_equal(labels[0], "/dev/disk...bbccddeeff0011223344");
	assert_int_equal(strlen(labels[0]), 32);
	free(labels);
}

static void siblings_stay_apart(void **state)
{
	/* they differ where the first cut is made */
	const char *names[] = {"/dev/disk/by-id/wwn-0x600a0980AAAA00000000000000000000-part1",
		"/dev/disk/by-id/wwn-0x600a0980BBBB00000000000000000000-part1"};
	char **labels = lb_labels(names, 2);

	(void)state;
	assert_true(strcmp(labels[0], labels[1]) != 0);
	assert_non_null(strstr(labels[0], "..."));
	assert_non_null(strstr(labels[0], "A00000000000000000000-part1"));
	assert_int_equal(strlen(labels[0]), strlen(labels[1]));
	free(labels);
}

static void cut_at_whole_characters(void **state)
{
	char name[3 * 60 + 1] = "";
	const char *names[] = {name};
	char **labels;

	(void)state;
	for (int i = 0; i < 60; i++)
		strcat(name, "\xe2\x82\xac");
	labels = lb_labels(names, 1);
	assert_int_equal(lb_columns(labels[0]), 32);
	assert_int_equal(strlen(labels[0]), 29 * 3 + 3);
	assert_int_equal(strncmp(labels[0] + 9 * 3, "...\xe2", 4), 0);
	free(labels);
}

static void control_characters_are_named(void **state)
{
	const char *names[] = {"a\x1b[0m"};
	char **labels = lb_labels(names, 1);

	(void)state;
	assert_string_equal(labels[0], "a\\x1b[0m");
	free(labels);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_line_up),
		cmocka_unit_test(empty_table),
		cmocka_unit_test(short_names_stay),
		cmocka_unit_test(long_names_lose_their_middle),
		cmocka_unit_test(siblings_stay_apart),
		cmocka_unit_test(cut_at_whole_characters),
		cmocka_unit_test(control_characters_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
