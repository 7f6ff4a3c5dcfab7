#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "opt.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct things {
	bool loud;
	uint32_t depth;
	uint64_t seed, bytes, wait_ns, any;
	int colour, shade;
	const char *file;
	char custom[8];
};

struct more {
	uint32_t extra;
};

static int parse_custom(
	const struct lb_opt *opt, void *field, const char *value, struct lb_err *err)
{
	if (*value == '\x1b')
		return lb_fail(err, LB_ST_UNAVAILABLE, EDOM, "raw: %s", value);
	if (strlen(value) != 3)
		return lb_opt_fail(
			opt, value, EINVAL, err, "has %zu letters: use three", strlen(value));
	strcpy(field, value);
	return 0;
}

static const char *const colours[] = {"red", "green", NULL};
static const char *const shades[] = {"none", "light", "dark", NULL};

#define F(name) offsetof(struct things, name)
static const struct lb_opt rows[] = {
	{.name = "loud",
		.letter = 'l',
		.type = LB_OPT_FLAG,
		.section = "A",
		.offset = F(loud),
		.help = "say more",
		.man = "Say more."},
	{.name = "depth",
		.letter = 'd',
		.type = LB_OPT_U32,
		.section = "A",
		.metavar = "N",
		.offset = F(depth),
		.min = 1,
		.max = 4096,
		.dflt = "32",
		.help = "how deep",
		.man = "How deep."},
	{.name = "seed",
		.type = LB_OPT_U64,
		.section = "A",
		.metavar = "N",
		.offset = F(seed),
		.max = UINT64_MAX,
		.dflt = "7",
		.help = "where it begins",
		.man = "Where it begins."},
	{.name = "any32",
		.type = LB_OPT_U32,
		.section = "A",
		.metavar = "N",
		.offset = F(depth),
		.max = UINT32_MAX,
		.help = "any at all",
		.man = "Any."},
	{.name = "size",
		.letter = 's',
		.type = LB_OPT_SIZE,
		.section = "B",
		.metavar = "SIZE",
		.offset = F(bytes),
		.min = 512,
		.max = 64 << 20,
		.dflt = "8k",
		.help = "a help text that is so long that it needs a second line on a page of "
			"eighty columns",
		.man = "Bytes."},
	{.name = "wait-for-it",
		.type = LB_OPT_DURATION,
		.section = "B",
		.metavar = "TIME",
		.offset = F(wait_ns),
		.min = 1000,
		.max = 3600000000000,
		.help = "how long",
		.man = "How long."},
	{.name = "colour",
		.type = LB_OPT_ENUM,
		.section = "B",
		.offset = F(colour),
		.words = colours,
		.dflt = "green",
		.help = "which",
		.man = "Which."},
	{.name = "shade",
		.type = LB_OPT_ENUM,
		.section = "B",
		.offset = F(shade),
		.words = shades,
		.dflt = "none",
		.is_optional = true,
		.optional_value = "light",
		.help = "how dark",
		.man = "How dark."},
	{.name = "file",
		.letter = 'f',
		.type = LB_OPT_STR,
		.section = "B",
		.metavar = "FILE",
		.offset = F(file),
		.help = "where to",
		.man = "Where to."},
	{.name = "custom",
		.type = LB_OPT_CUSTOM,
		.section = "B",
		.metavar = "ABC",
		.offset = F(custom),
		.parse = parse_custom,
		.dflt = "abc",
		.help = "three letters",
		.man = "Three letters."},
};
static const struct lb_opt more_rows[] = {
	{.name = "extra",
		.type = LB_OPT_U32,
		.section = "C",
		.metavar = "N",
		.offset = offsetof(struct more, extra),
		.max = 5,
		.help = "one more",
		.man = "One more."},
};

/* A fresh pair of tables, and what the last parse gave. */
static struct fixture {
	struct things things;
	struct more more;
	enum lb_opt_source source[COUNT(rows)], more_source[1];
	const char *text[COUNT(rows)], *more_text[1];
	struct lb_opt_set sets[2];
	const char *operands[32];
	size_t n_operands;
	struct lb_err err;
} f;

static int begin(void **state)
{
	(void)state;
	memset(&f, 0, sizeof(f));
	f.sets[0] = (struct lb_opt_set){rows, COUNT(rows), &f.things, f.source, f.text};
	f.sets[1] = (struct lb_opt_set){more_rows, 1, &f.more, f.more_source, f.more_text};
	lb_opt_defaults(&f.sets[0]);
	lb_opt_defaults(&f.sets[1]);
	return 0;
}

/* Parses the arguments, a fresh start each time. */
#define PARSE(...) parse((const char *[]){"prog", ##__VA_ARGS__, NULL})
static int parse(const char **argv)
{
	int argc = 0;

	begin(NULL);
	while (argv[argc])
		argc++;
	return lb_opt_parse(f.sets, 2, argc, (char **)argv, f.operands, &f.n_operands, &f.err);
}

#define REFUSED(rc, message, ...)                                                                  \
	do {                                                                                       \
		assert_int_equal(PARSE(__VA_ARGS__), -(rc));                                       \
		assert_string_equal(f.err.text, message);                                          \
		assert_int_equal(f.err.status, LB_ST_USAGE);                                       \
	} while (0)

static size_t index_of(const char *name)
{
	size_t i = 0;

	while (strcmp(rows[i].name, name))
		i++;
	return i;
}

static void defaults_fill_fields_and_texts(void **state)
{
	(void)state;
	assert_false(f.things.loud);
	assert_int_equal(f.things.depth, 32);
	assert_int_equal(f.things.seed, 7);
	assert_int_equal(f.things.bytes, 8192);
	assert_int_equal(f.things.wait_ns, 0);
	assert_int_equal(f.things.colour, 1);
	assert_int_equal(f.things.shade, 0);
	assert_null(f.things.file);
	assert_string_equal(f.things.custom, "abc");
	assert_string_equal(f.text[index_of("size")], "8k");
	assert_null(f.text[index_of("file")]);
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(f.source[i], LB_SRC_DEFAULT);
}

static void every_form_of_an_option_is_taken(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--depth", "5", "--size=16k", "-f", "out", "--loud"), 0);
	assert_int_equal(f.things.depth, 5);
	assert_int_equal(f.things.bytes, 16384);
	assert_string_equal(f.things.file, "out");
	assert_true(f.things.loud);
	assert_int_equal(f.n_operands, 0);
	assert_int_equal(f.source[index_of("depth")], LB_SRC_COMMAND_LINE);
	assert_int_equal(f.source[index_of("seed")], LB_SRC_DEFAULT);
	assert_string_equal(f.text[index_of("size")], "16k");
	assert_string_equal(f.text[index_of("loud")], "true");

	assert_int_equal(PARSE("-d7", "-l", "-s1M", "--file=a=b", "--wait-for-it=1.5s"), 0);
	assert_int_equal(f.things.depth, 7);
	assert_true(f.things.loud);
	assert_int_equal(f.things.bytes, 1 << 20);
	assert_string_equal(f.things.file, "a=b");
	assert_int_equal(f.things.wait_ns, 1500000000);

	assert_int_equal(PARSE("--extra", "5", "--custom", "xyz", "--file", "-"), 0);
	assert_int_equal(f.more.extra, 5);
	assert_string_equal(f.things.custom, "xyz");
	assert_string_equal(f.things.file, "-");
}

static void an_optional_value_needs_its_equals_sign(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--shade", "dark"), 0);
	assert_int_equal(f.things.shade, 1);
	assert_string_equal(f.text[index_of("shade")], "light");
	assert_int_equal(f.n_operands, 1);
	assert_int_equal(PARSE("--shade=dark"), 0);
	assert_int_equal(f.things.shade, 2);
	REFUSED(EINVAL, "--shade: \"dim\" is not known: use none, light, dark", "--shade=dim");
	REFUSED(EINVAL, "--shade: the value is empty: use none, light, dark", "--shade=");
}

static void operands_mix_with_options(void **state)
{
	static const char *const want[] = {"a", "-", "", "b", "--depth", "--", "-x"};

	(void)state;
	assert_int_equal(
		PARSE("a", "--depth", "9", "-", "", "-l", "b", "--", "--depth", "--", "-x"), 0);
	assert_int_equal(f.n_operands, COUNT(want));
	for (size_t i = 0; i < COUNT(want); i++)
		assert_string_equal(f.operands[i], want[i]);
	assert_int_equal(f.things.depth, 9);
	assert_int_equal(PARSE(), 0);
	assert_int_equal(f.n_operands, 0);
}

static void numbers_keep_their_range(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--depth", "1"), 0);
	assert_int_equal(f.things.depth, 1);
	assert_int_equal(PARSE("--depth", "4096"), 0);
	assert_int_equal(f.things.depth, 4096);
	REFUSED(ERANGE, "--depth: 0 is out of range (1 to 4096)", "--depth", "0");
	REFUSED(ERANGE, "--depth: 4097 is out of range (1 to 4096)", "--depth=4097");
	/* 2^32 + 1 and 2^64 + 1: what a cut to 32 or 64 bits would let through as 1 */
	REFUSED(ERANGE, "--depth: 4294967297 is out of range (1 to 4096)", "--depth=4294967297");
	REFUSED(ERANGE, "--depth: 18446744073709551617 is out of range (1 to 4096)",
		"--depth=18446744073709551617");
	REFUSED(EINVAL, "--depth: \"-1\" is no number: use 1 to 4096", "--depth", "-1");
	REFUSED(EINVAL, "--depth: \"64x\" is no number: use 1 to 4096", "-d64x");
	assert_int_equal(f.things.depth, 32); /* untouched */

	assert_int_equal(PARSE("--any32", "4294967295"), 0);
	assert_int_equal(f.things.depth, UINT32_MAX);
	REFUSED(ERANGE, "--any32: 4294967296 is out of range (0 to 4294967295)", "--any32",
		"4294967296");
	assert_int_equal(PARSE("--seed", "18446744073709551615"), 0);
	assert_int_equal(f.things.seed, UINT64_MAX);
	REFUSED(ERANGE, "--seed: 18446744073709551616 is out of range (0 to 18446744073709551615)",
		"--seed", "18446744073709551616");
}

static void sizes_and_durations_say_their_units(void **state)
{
	(void)state;
	REFUSED(EINVAL,
		"--size: \"16q\" is no size: use bytes or k, M, G (powers of 1024), e.g. 16k",
		"--size", "16q");
	REFUSED(EINVAL,
		"--size: \"-16k\" is no size: use bytes or k, M, G (powers of 1024), e.g. 16k",
		"--size", "-16k");
	REFUSED(EINVAL,
		"--size: the value is empty: use bytes or k, M, G (powers of 1024), e.g. 16k",
		"--size", "");
	REFUSED(EINVAL, "--size: \"1.3k\" is not a whole number of bytes", "--size=1.3k");
	REFUSED(ERANGE, "--size: 511 is out of range (512 to 64M)", "--size=511");
	REFUSED(ERANGE, "--size: 65M is out of range (512 to 64M)", "--size=65M");
	REFUSED(ERANGE, "--size: 99999999P is out of range (512 to 64M)", "--size=99999999P");
	REFUSED(EINVAL,
		"--wait-for-it: \"5min\" is no duration: use seconds or ns, us, ms, s, m, h, d, "
		"e.g. 30s",
		"--wait-for-it=5min");
	REFUSED(EINVAL, "--wait-for-it: \"0.1ns\" is not a whole number of nanoseconds",
		"--wait-for-it=0.1ns");
	REFUSED(ERANGE, "--wait-for-it: 0s is out of range (1us to 1h)", "--wait-for-it", "0s");
	REFUSED(ERANGE, "--wait-for-it: 2h is out of range (1us to 1h)", "--wait-for-it", "2h");
}

static void other_types_refuse_in_words(void **state)
{
	(void)state;
	REFUSED(EINVAL, "--colour: \"blue\" is not known: use red, green", "--colour", "blue");
	REFUSED(EINVAL, "--colour: \"Red\" is not known: use red, green", "--colour", "Red");
	REFUSED(EINVAL, "--custom: \"abcd\" has 4 letters: use three", "--custom", "abcd");
	REFUSED(EINVAL, "--custom: the value is empty: use ABC", "--custom=");
	assert_int_equal(PARSE("--custom=\x1b[2J\xff"), -EDOM);
	assert_string_equal(f.err.text, "raw: \\x1b[2J\\xff");
	assert_int_equal(f.err.status, LB_ST_UNAVAILABLE);
	REFUSED(EINVAL, "--file: the value is empty: use FILE", "--file", "");
	REFUSED(EINVAL, "--loud takes no value: \"x\"", "--loud=x");
	REFUSED(EINVAL, "--loud takes no value: \"\"", "--loud=");
	REFUSED(EINVAL, "--loud takes no value: \"d5\"", "-ld5");
}

static void a_forgotten_value_swallows_nothing(void **state)
{
	(void)state;
	REFUSED(EINVAL, "--depth needs a value: use 1 to 4096", "--depth");
	REFUSED(EINVAL, "--file needs a value: use FILE", "-f");
	REFUSED(EINVAL, "--file needs a value, and \"--loud\" follows: use FILE", "--file",
		"--loud");
	REFUSED(EINVAL, "--file needs a value, and \"--\" follows: use FILE", "-f", "--", "a");
	assert_int_equal(PARSE("--file=--loud"), 0);
	assert_string_equal(f.things.file, "--loud");
	assert_false(f.things.loud);
}

static void unknown_options_name_the_nearest(void **state)
{
	(void)state;
	REFUSED(ENOENT, "unknown option \"--dept\": did you mean --depth?", "--dept", "4");
	REFUSED(ENOENT, "unknown option \"--detph\": did you mean --depth?", "--detph=4");
	REFUSED(ENOENT, "unknown option \"--color\": did you mean --colour?", "--color=red");
	REFUSED(ENOENT, "unknown option \"--wait\": did you mean --wait-for-it?", "--wait");
	REFUSED(ENOENT, "unknown option \"--xtra\": did you mean --extra?", "--xtra");
	REFUSED(ENOENT, "unknown option \"--queue\": --help lists them all", "--queue");
	REFUSED(ENOENT, "unknown option \"--sid\": --help lists them all", "--sid", "4");
	REFUSED(ENOENT, "unknown option \"--sized\": did you mean --size?", "--sized", "4");
	REFUSED(ENOENT, "unknown option \"--d\": --help lists them all", "--d");
	REFUSED(ENOENT, "unknown option \"--=3\": --help lists them all", "--=3");
	REFUSED(ENOENT, "unknown option \"-x\": --help lists them all", "-x");
	REFUSED(ENOENT, "unknown option \"-16k\": --help lists them all", "-16k");
	REFUSED(ENOENT, "unknown option \"--a\\x1b[2J\": --help lists them all", "--a\x1b[2J");
}

static void twice_is_refused_unless_equal(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--depth", "5", "-d5", "--depth=5", "-l", "--loud"), 0);
	assert_int_equal(f.things.depth, 5);
	REFUSED(EINVAL, "--depth is given twice: \"5\" and \"6\"", "--depth", "5", "-d6");
	REFUSED(EINVAL, "--shade is given twice: \"light\" and \"dark\"", "--shade",
		"--shade=dark");
}

static void a_long_or_wild_value_is_shown_short_and_tame(void **state)
{
	char value[5000], *cut;

	(void)state;
	memset(value, '9', sizeof(value));
	memcpy(value, "--depth=\x1b\xff", 10);
	value[sizeof(value) - 1] = '\0';
	assert_int_equal(PARSE(value), -EINVAL);
	assert_int_equal(strncmp(f.err.text, "--depth: \"\\x1b\\xff9999", 22), 0);
	cut = strstr(f.err.text, "...");
	assert_non_null(cut);
	assert_string_equal(cut, "...\" is no number: use 1 to 4096");
	assert_true(strlen(f.err.text) < 160);

	memset(value + 8, '9', 2);
	assert_int_equal(PARSE(value), -ERANGE);
	assert_non_null(strstr(f.err.text, "999... is out of range (1 to 4096)"));
	value[0] = value[1] = '-';
	memset(value + 2, 'z', sizeof(value) - 3);
	assert_int_equal(PARSE(value), -ENOENT);
	assert_non_null(strstr(f.err.text, "zzz...\": --help lists them all"));
}

static void the_strongest_source_wins(void **state)
{
	(void)state;
	assert_int_equal(lb_opt_set_value(f.sets, 2, "depth", "5", LB_SRC_COMMAND_LINE, &f.err), 0);
	assert_int_equal(lb_opt_set_value(f.sets, 2, "depth", "6", LB_SRC_PROFILE, &f.err), 0);
	assert_int_equal(f.things.depth, 5);
	assert_string_equal(f.text[index_of("depth")], "5");
	assert_int_equal(lb_opt_set_value(f.sets, 2, "seed", "8", LB_SRC_PROFILE, &f.err), 0);
	assert_int_equal(f.things.seed, 8);
	assert_int_equal(f.source[index_of("seed")], LB_SRC_PROFILE);
	assert_int_equal(lb_opt_set_value(f.sets, 2, "seed", "9", LB_SRC_COMMAND_LINE, &f.err), 0);
	assert_int_equal(f.things.seed, 9);
	assert_int_equal(
		lb_opt_set_value(f.sets, 2, "nosuch", "9", LB_SRC_PROFILE, &f.err), -ENOENT);
	assert_int_equal(lb_opt_set_value(f.sets, 2, "depth", NULL, LB_SRC_PROFILE, NULL), -EINVAL);
}

static void rows_are_found_with_their_text(void **state)
{
	const char *text = NULL;

	(void)state;
	assert_ptr_equal(lb_opt_find(f.sets, 2, "depth", &text), &rows[index_of("depth")]);
	assert_string_equal(text, "32");
	assert_ptr_equal(lb_opt_find(f.sets, 2, "extra", NULL), &more_rows[0]);
	assert_null(lb_opt_find(f.sets, 2, "dept", &text));
	assert_null(lb_opt_find(f.sets, 2, "", &text));
}

/* What PRINT writes. The caller frees it. */
static char *printed(void (*print)(FILE *, const struct lb_opt_set *, size_t))
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	print(out, f.sets, 2);
	fclose(out);
	return text;
}

static void help_fits_eighty_columns(void **state)
{
	char *text = printed(lb_opt_print_help);

	(void)state;
	assert_string_equal(text,
		"A:\n"
		"  --loud, -l              say more\n"
		"  --depth, -d N           how deep (1 to 4096; default 32)\n"
		"  --seed N                where it begins (default 7)\n"
		"  --any32 N               any at all (0 to 4294967295)\n"
		"\n"
		"B:\n"
		"  --size, -s SIZE         a help text that is so long that it needs a second\n"
		"                          line on a page of eighty columns (512 to 64M; default\n"
		"                          8k)\n"
		"  --wait-for-it TIME      how long (1us to 1h)\n"
		"  --colour red|green      which (default green)\n"
		"  --shade[=none|light|dark]\n"
		"                          how dark (default none)\n"
		"  --file, -f FILE         where to\n"
		"  --custom ABC            three letters (default abc)\n"
		"\n"
		"C:\n"
		"  --extra N               one more (0 to 5)\n");
	free(text);
}

static void the_manual_has_each_row(void **state)
{
	char *text = printed(lb_opt_print_man), *end;

	(void)state;
	assert_ptr_equal(strstr(text, ".Ss A\n"
				      ".Bl -tag -width Ds\n"
				      ".It Fl l , Fl \\-loud\n"
				      "Say more.\n"
				      ".It Fl d , Fl \\-depth Ar N\n"
				      "How deep.\n"
				      "(1 to 4096; default 32)\n"),
		text);
	assert_non_null(strstr(text, ".El\n.Ss B\n.Bl -tag -width Ds\n"));
	assert_non_null(
		strstr(text, ".It Fl \\-wait\\-for\\-it Ar TIME\nHow long.\n(1us to 1h)\n"));
	assert_non_null(strstr(text, ".It Fl \\-shade Ns Op = Ns Ar none|light|dark\n"));
	end = strstr(text, ".El\n.Ss C\n");
	assert_non_null(end);
	assert_string_equal(end,
		".El\n.Ss C\n.Bl -tag -width Ds\n.It Fl \\-extra Ar N\nOne more.\n(0 to 5)\n"
		".El\n");
	free(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, begin)
	const struct CMUnitTest tests[] = {
		TEST(defaults_fill_fields_and_texts),
		TEST(every_form_of_an_option_is_taken),
		TEST(an_optional_value_needs_its_equals_sign),
		TEST(operands_mix_with_options),
		TEST(numbers_keep_their_range),
		TEST(sizes_and_durations_say_their_units),
		TEST(other_types_refuse_in_words),
		TEST(a_forgotten_value_swallows_nothing),
		TEST(unknown_options_name_the_nearest),
		TEST(twice_is_refused_unless_equal),
		TEST(a_long_or_wild_value_is_shown_short_and_tame),
		TEST(the_strongest_source_wins),
		TEST(rows_are_found_with_their_text),
		TEST(help_fits_eighty_columns),
		TEST(the_manual_has_each_row),
	};

	return cmocka_run_group_tests_name("opt", tests, NULL, NULL);
}
