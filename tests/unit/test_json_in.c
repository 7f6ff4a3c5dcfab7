#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "json_in.h"
#include "rng.h"

/* TEXT is no document, and this is said of it. */
static void refused_n(const char *text, size_t len, const char *said)
{
	struct lb_err err = {0};
	struct lb_jin doc;
	char *exact = malloc(len + 1); /* so that a read past its end is seen */

	assert_non_null(exact);
	memcpy(exact, text, len);
	if (lb_jin_parse(&doc, "a.json", exact, len, &err) != -EINVAL)
		fail_msg("taken: %s", text);
	assert_int_equal(err.status, LB_ST_USAGE);
	assert_string_equal(err.text, said);
	assert_null(doc.v);
	free(exact);
}

static void refused(const char *text, const char *said)
{
	refused_n(text, strlen(text), said);
}

static void load(struct lb_jin *doc, const char *text)
{
	struct lb_err err = {0};

	if (lb_jin_parse(doc, "a.json", text, strlen(text), &err))
		fail_msg("%s", err.text);
}

static void values(void **state)
{
	struct lb_jin doc, o, a, item;
	struct lb_err err;
	const char *str;
	uint64_t u;
	double f;
	size_t n;
	bool b;

	(void)state;
	load(&doc,
		"\xef\xbb\xbf// a profile\n"
		"{\"s\": \"a // \\\"b\\\" /* \", /* of\n two lines */ \"u\": 18446744073709551615,\n"
		" \"f\": -1.5e3, \"i\": 7, \"b\": true, \"n\": null, \"o\": {\"a\": [1, null, {}]}}\n");
	assert_int_equal(lb_jin_str(&doc, "s", &str, &err), 0);
	assert_string_equal(str, "a // \"b\" /* ");
	assert_int_equal(lb_jin_u64(&doc, "u", &u, &err), 0);
	assert_true(u == UINT64_MAX);
	assert_int_equal(lb_jin_f64(&doc, "f", &f, &err), 0);
	assert_true(f == -1500);
	assert_int_equal(lb_jin_f64(&doc, "i", &f, &err), 0);
	assert_true(f == 7);
	assert_int_equal(lb_jin_bool(&doc, "b", &b, &err), 0);
	assert_true(b);
	assert_true(lb_jin_has(&doc, "i"));
	assert_false(lb_jin_has(&doc, "n"));
	assert_false(lb_jin_has(&doc, "none"));
	assert_int_equal(lb_jin_object(&doc, "o", &o, &err), 0);
	assert_int_equal(lb_jin_array(&o, "a", &a, &n, &err), 0);
	assert_int_equal(n, 3);
	assert_int_equal(lb_jin_item_f64(&a, 0, &f, &err), 0);
	assert_true(f == 1);
	assert_true(lb_jin_item_is_null(&a, 1));
	assert_int_equal(lb_jin_item_object(&a, 2, &item, &err), 0);
	assert_false(lb_jin_has(&item, "a"));
	lb_jin_done(&doc);
	lb_jin_done(&doc); /* twice does no harm */
	lb_jin_done(NULL);
}

/* What is said of a value that is not what it should be. */
static void wrong_values(void **state)
{
	struct lb_jin doc, luns, lun, to;
	const char *str;
	struct lb_err err;
	uint64_t u;
	size_t n;
	double f;
	bool b;

	(void)state;
	load(&doc, "{\"luns\": [0, {\"n\": -1, \"f\": 1.0, \"s\": null}]}");
	assert_int_equal(lb_jin_array(&doc, "luns", &luns, &n, &err), 0);
	assert_int_equal(lb_jin_item_object(&luns, 0, &lun, &err), -EINVAL);
	assert_string_equal(err.text, "a.json: luns[0]: is a number, not an object");
	assert_int_equal(err.status, LB_ST_USAGE);
	assert_int_equal(lb_jin_item_object(&luns, 1, &lun, &err), 0);
	assert_int_equal(lb_jin_u64(&lun, "n", &u, &err), -EINVAL);
	assert_string_equal(err.text, "a.json: luns[1].n: is below 0");
	assert_int_equal(lb_jin_u64(&lun, "f", &u, &err), -EINVAL);
	assert_string_equal(err.text, "a.json: luns[1].f: is no whole number");
	assert_int_equal(lb_jin_str(&lun, "s", &str, &err), -EINVAL);
	assert_string_equal(err.text, "a.json: luns[1].s: is null, not a string");
	assert_int_equal(lb_jin_bool(&lun, "none", &b, &err), -EINVAL);
	assert_string_equal(err.text, "a.json: luns[1].none: is missing: true or false");
	assert_int_equal(lb_jin_array(&lun, "f", &to, &n, &err), -EINVAL);
	assert_string_equal(err.text, "a.json: luns[1].f: is a number, not an array");
	assert_int_equal(lb_jin_object(&luns, "f", &to, &err), -EINVAL);
	assert_string_equal(err.text, "a.json: luns: is an array, not an object");
	assert_int_equal(lb_jin_f64(&doc, "luns", &f, &err), -EINVAL);
	assert_string_equal(err.text, "a.json: luns: is an array, not a number");
	assert_int_equal(lb_jin_fail(&doc, &err, "is %d", 1), -EINVAL);
	assert_string_equal(err.text, "a.json: is 1");
	lb_jin_done(&doc);
	load(&doc, "null");
	assert_int_equal(lb_jin_object(&doc, "a", &to, &err), -EINVAL);
	assert_string_equal(err.text, "a.json: is null, not an object");
	assert_false(lb_jin_has(&doc, "a"));
	lb_jin_done(&doc);
}

static void faults_of_the_text(void **state)
{
	(void)state;
	refused("", "a.json:1:1: there is nothing in it");
	refused(" \n // only this\n", "a.json:3:1: there is nothing in it");
	refused("{\"a\": 1", "a.json:1:8: the text ends too early");
	refused("{\"a\": \"b", "a.json:1:9: the text ends too early");
	refused("{\"a\": 1}\n {}", "a.json:2:2: unexpected character");
	refused("{\n  \"a\": 1,\n}", "a.json:3:1: unexpected character");
	refused("[1, 2,]", "a.json:1:7: unexpected character");
	refused("{a: 1}", "a.json:1:2: quoted object property name expected");
	refused("{\"a\": 1 /* }", "a.json:1:9: a comment begins here and has no end");
	refused("{\"a\" /* \xc3\xa4 */ : [\n\n  1, // x\n  x]}",
		"a.json:4:3: unexpected character");
	refused("{\"\xc3\xa4\": x}", "a.json:1:7: unexpected character");
	refused_n("{\"a\": 1}\0", 9, "a.json:1:9: a NUL byte: this is no text");
	refused("{\"a\": \"\xff\"}", "a.json:1:8: this is no UTF-8");
}

/* Each of these is taken by json-c, and by someone else otherwise. */
static void what_may_be_misread(void **state)
{
	(void)state;
	refused("{\"a\": 1,\n \"b\": {\"a\": 2},\n \"a\": 3}",
		"a.json:3:2: this key was given before in the same object");
	refused("{\"a\": 1, \"\\u0061\": 3}",
		"a.json:1:10: this key was given before in the same object");
	refused("[18446744073709551616]", "a.json:1:2: this number is too large");
	refused("[-9223372036854775809]", "a.json:1:2: this number is too large");
	refused("[1e999]", "a.json:1:2: this number is too large");
	refused("[NaN]", "a.json:1:2: this is no JSON");
	refused("[Infinity]", "a.json:1:2: this is no JSON");
	refused("[-Infinity]", "a.json:1:2: this is no number");
	refused("{'a': 1}", "a.json:1:2: a string must be in double quotes");
	refused("[012]", "a.json:1:5: number expected");
	refused("[1.]", "a.json:1:2: this is no number");
	refused("{\"a\\u0000b\": 1}", "a.json:1:4: a NUL (\\u0000) in a string");
	refused("[\"a\nb\"]", "a.json:1:4: a control character in a string: write \\n or \\u");
}

static void what_is_at_the_edge(void **state)
{
	struct lb_jin doc;

	(void)state;
	load(&doc,
		"[-9223372036854775808, 18446744073709551615, 1.7e308, -0, 0.5E-3, \"\\\\u0000\"]");
	lb_jin_done(&doc);
	load(&doc, "{\"a\": {\"a\": [{\"a\": 1}, {\"a\": 2}]}, \"b\": {\"a\": 1}, \"\": 1}");
	lb_jin_done(&doc);
}

static void nesting(void **state)
{
	struct lb_err err = {0};
	struct lb_jin doc;
	char text[200001];

	(void)state;
	for (size_t n = 1; n < 100000; n = n < 64 ? n + 1 : 10 * n) {
		memset(text, '[', n);
		memset(text + n, ']', n);
		if (lb_jin_parse(&doc, "a.json", text, 2 * n, &err) == 0) {
			assert_true(n <= 32);
			lb_jin_done(&doc);
		} else {
			assert_true(n > 30);
			assert_non_null(strstr(err.text, ": nested too deeply"));
		}
	}
}

/* Cut, changed and stirred texts: most are refused, none may crash. */
static void broken_texts(void **state)
{
	static const char good[] =
		"\xef\xbb\xbf{\"a\": [1, -2.5e+3, \"x\\u00e4\\\"\xc3\xa4\", true, null, {}], // c\n"
		"/* c */ \"luns\": [{\"n\": 18446744073709551615}, {\"n\": 0.1}]}";
	static const char odd[] = "\"\\{}[]:,/*-+.eE0123456789untf \n\t\xff\xc3\x80";
	unsigned n_taken = 0;
	struct lb_err err;
	struct lb_jin doc;

	(void)state;
	for (uint64_t seed = 0; seed < 20000; seed++) {
		size_t len = sizeof(good) - 1;
		char *text;
		struct lb_rng rng;

		lb_rng_seed(&rng, 7, seed);
		if (seed % 4 == 0)
			len = lb_rng_below(&rng, len + 1);
		text = malloc(len + 1);
		assert_non_null(text);
		memcpy(text, good, len);
		for (uint64_t i = seed % 4; len && i; i--)
			text[lb_rng_below(&rng, len)] = odd[lb_rng_below(&rng, sizeof(odd))];
		if (lb_jin_parse(&doc, "a.json", text, len, &err) == 0)
			n_taken++;
		else
			assert_int_equal(err.status, LB_ST_USAGE);
		lb_jin_done(&doc);
		free(text);
	}
	assert_in_range(n_taken, 100, 10000);
}

static void files(void **state)
{
	char path[] = "/tmp/lunbench-json.XXXXXX", said[256];
	int fd = mkstemp(path);
	struct lb_err err;
	struct lb_jin doc;
	uint64_t u;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(lb_jin_load(&doc, path, &err), -EINVAL);
	snprintf(said, sizeof(said), "%s:1:1: there is nothing in it", path);
	assert_string_equal(err.text, said);
	assert_int_equal(write(fd, "{\"a\": 5}", 8), 8);
	for (int i = 0; i < 20000; i++) /* more than one read brings */
		assert_int_equal(write(fd, "                ", 16), 16);
	assert_int_equal(lb_jin_load(&doc, path, &err), 0);
	assert_int_equal(lb_jin_u64(&doc, "a", &u, &err), 0);
	assert_int_equal(u, 5);
	lb_jin_done(&doc);
	close(fd);
	unlink(path);
	assert_int_equal(lb_jin_load(&doc, path, &err), -ENOENT);
	snprintf(said, sizeof(said), "%s cannot be read: No such file or directory", path);
	assert_string_equal(err.text, said);
	assert_int_equal(err.status, LB_ST_USAGE);
	assert_int_equal(lb_jin_load(&doc, "/tmp", &err), -EISDIR);
	assert_string_equal(err.text, "/tmp cannot be read: Is a directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(wrong_values),
		cmocka_unit_test(faults_of_the_text),
		cmocka_unit_test(what_may_be_misread),
		cmocka_unit_test(what_is_at_the_edge),
		cmocka_unit_test(nesting),
		cmocka_unit_test(broken_texts),
		cmocka_unit_test(files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
