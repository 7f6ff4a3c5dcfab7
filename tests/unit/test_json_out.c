#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json_out.h"
#include "rng.h"

/* What WRITE(j, arg) writes as a document of its own, without the newline. */
static char *written(void (*write)(struct lb_json *, const void *), const void *arg)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	struct lb_json j = {.out = f};

	assert_non_null(f);
	write(&j, arg);
	fclose(f);
	return text;
}

static void number(struct lb_json *j, const void *v)
{
	lb_json_f64(j, NULL, *(const double *)v);
}

static void string(struct lb_json *j, const void *s)
{
	lb_json_str(j, NULL, s);
}

static void assert_number(double v, const char *expected)
{
	char *text = written(number, &v);

	assert_string_equal(text, expected);
	free(text);
}

static void numbers_are_shortest(void **state)
{
	(void)state;
	assert_number(0.1, "0.1");
	assert_number(0.3, "0.3");
	assert_number(0.1 + 0.2, "0.30000000000000004");
	assert_number(33.44, "33.44");
	assert_number(1484.2105263157894, "1484.2105263157894");
	assert_number(2, "2.0");
	assert_number(-3, "-3.0");
	assert_number(1e15, "1e+15");
	assert_number(123456789012345.0, "123456789012345.0");
	assert_number(1e300, "1e+300");
	assert_number(5e-324, "4.94065645841247e-324");
	assert_number(1.7976931348623157e308, "1.7976931348623157e+308");
}

static void numbers_are_numbers(void **state)
{
	(void)state;
	assert_number(0.0, "0.0");
	assert_number(-0.0, "0.0");
	assert_number(NAN, "null");
	assert_number(-NAN, "null");
	assert_number(INFINITY, "null");
	assert_number(-INFINITY, "null");
}

static void numbers_read_back(void **state)
{
	struct lb_rng rng;

	(void)state;
	lb_rng_seed(&rng, 1, 2);
	for (int i = 0; i < 20000; i++) {
		uint64_t bits = lb_rng_next(&rng);
		double v;
		char *text;

		memcpy(&v, &bits, sizeof(v));
		if (!isfinite(v))
			continue;
		text = written(number, &v);
		assert_true(strtod(text, NULL) == v);
		free(text);
	}
}

static void assert_string(const char *s, const char *expected)
{
	char *text = written(string, s);

	assert_string_equal(text, expected);
	free(text);
}

static void strings_are_escaped(void **state)
{
	(void)state;
	assert_string("", "\"\"");
	assert_string("a \"b\" \\c/", "\"a \\\"b\\\" \\\\c/\"");
	assert_string("\n\t\x01\x1b\x7f", "\"\\u000a\\u0009\\u0001\\u001b\\u007f\"");
	assert_string("gr\xc3\xb6\xc3\x9f"
		      "e \xf0\x9f\x98\x80",
		"\"gr\xc3\xb6\xc3\x9f"
		"e \xf0\x9f\x98\x80\"");
	assert_string(NULL, "null");
}

#define FFFD "\xef\xbf\xbd"

static void strings_are_made_valid(void **state)
{
	(void)state;
	assert_string("a\xff", "\"a" FFFD "\"");
	assert_string("\xc3(", "\"" FFFD "(\"");
	assert_string("\xc3", "\"" FFFD "\"");                            /* cut off */
	assert_string("\xc0\xaf", "\"" FFFD FFFD "\"");                   /* overlong */
	assert_string("\xed\xa0\x80", "\"" FFFD FFFD FFFD "\"");          /* a surrogate */
	assert_string("\xf4\x90\x80\x80", "\"" FFFD FFFD FFFD FFFD "\""); /* past U+10FFFF */
}

static void document(struct lb_json *j, const void *arg)
{
	(void)arg;
	lb_json_open(j, NULL, '{');
	lb_json_u64(j, "a", UINT64_MAX);
	lb_json_i64(j, "b\"", INT64_MIN);
	lb_json_open(j, "c", '[');
	lb_json_close(j, ']');
	lb_json_open(j, "d", '[');
	lb_json_bool(j, NULL, true);
	lb_json_open(j, NULL, '{');
	lb_json_close(j, '}');
	lb_json_null(j, NULL);
	lb_json_close(j, ']');
	lb_json_raw(j, "e");
	fputs("[1,2]", j->out);
	lb_json_bool(j, "f", false);
	lb_json_close(j, '}');
}

static void documents_nest(void **state)
{
	char *text = written(document, NULL);

	(void)state;
	assert_string_equal(text, "{\n"
				  "  \"a\": 18446744073709551615,\n"
				  "  \"b\\\"\": -9223372036854775808,\n"
				  "  \"c\": [],\n"
				  "  \"d\": [\n"
				  "    true,\n"
				  "    {},\n"
				  "    null\n"
				  "  ],\n"
				  "  \"e\": [1,2],\n"
				  "  \"f\": false\n"
				  "}\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_shortest),
		cmocka_unit_test(numbers_are_numbers),
		cmocka_unit_test(numbers_read_back),
		cmocka_unit_test(strings_are_escaped),
		cmocka_unit_test(strings_are_made_valid),
		cmocka_unit_test(documents_nest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
