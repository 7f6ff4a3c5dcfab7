/*
 * Whole reports against golden/NAME.txt. LB_GOLDEN_UPDATE=1 writes them anew: read the difference
 * before it is committed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report.h"
#include "scenes.h"

static char *text_of(const struct lb_result *r)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(lb_report_text(f, r), 0);
	assert_int_equal(fclose(f), 0);
	return text;
}

static char *read_all(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	assert_non_null(text);
	if (f) {
		assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
		fclose(f);
	}
	return text;
}

static void matches_golden(void **state)
{
	size_t i = (size_t)*state;
	struct made *m = scene(i);
	char path[4096], *text = text_of(&m->r), *golden;
	FILE *f;

	snprintf(path, sizeof(path), "%s/golden/%s.txt", LB_TEST_DIR, scenes[i].name);
	if (!m->r.plan) {
		assert_string_equal(text, ""); /* refused: all is said on stderr */
	} else {
		if (getenv("LB_GOLDEN_UPDATE")) {
			f = fopen(path, "w");
			assert_non_null(f);
			fputs(text, f);
			fclose(f);
		}
		golden = read_all(path);
		assert_string_equal(text, golden);
		free(golden);
	}
	free(text);
	made_done(m);
}

static void lines_fit(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_SCENES; i++) {
		struct made *m = scene(i);
		char *text = text_of(&m->r), *save = NULL;

		for (char *line = strtok_r(text, "\n", &save); line;
			line = strtok_r(NULL, "\n", &save)) {
			size_t len = strlen(line);

			assert_true(len <= 100 || !strcmp(scenes[i].name, "extremes"));
			assert_true(line[len - 1] != ' ');
			for (size_t k = 0; k < len; k++)
				assert_true(line[k] >= ' ' && line[k] <= '~');
		}
		free(text);
		made_done(m);
	}
}

static void full_file_is_told(void **state)
{
	struct made *m = scene(0);
	FILE *f = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(f);
	setvbuf(f, NULL, _IONBF, 0);
	assert_int_equal(lb_report_text(f, &m->r), -EIO);
	fclose(f);
	made_done(m);
}

int main(void)
{
	struct CMUnitTest tests[N_SCENES + 2];
	size_t n = 0;

	for (; n < N_SCENES; n++)
		tests[n] = (struct CMUnitTest){.name = scenes[n].name,
			.test_func = matches_golden,
			.initial_state = (void *)n};
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(lines_fit);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(full_file_is_told);
	return _cmocka_run_group_tests("report_text", tests, n, NULL, NULL);
}
