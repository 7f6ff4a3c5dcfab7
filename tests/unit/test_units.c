#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "units.h"

#define COUNT(a)  (sizeof(a) / sizeof((a)[0]))
#define UNTOUCHED 0x5a5a5a5a5a5a5a5aull

typedef int (*parser)(const char *, uint64_t *);

struct row {
	const char *text;
	int rc;
	uint64_t value;
};

/* A parser that fails leaves the result as it was. */
static void check_rows(parser parse, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t got = UNTOUCHED;
		int rc = parse(rows[i].text, &got);

		if (rc != rows[i].rc || got != (rc ? UNTOUCHED : rows[i].value))
			fail_msg("\"%s\": %d, %llu; want %d, %llu", rows[i].text, rc,
				(unsigned long long)got, rows[i].rc,
				(unsigned long long)rows[i].value);
	}
}

static const char *const never_numbers[] = {"", "-1", "+1", "-16k", " 1", "1 ", "16 k", "16q",
	"0x10", "1e3", "1E3", "nan", "inf", "infinity", ".", ".5", "5.", "1.k", "1..5", "1.5.2",
	"1,5", "1_000", "k", "\t1", "1\n", "16kk", "16ki", "16kiBB", "16Bk", "16B", "16b", "16iB",
	"16\xc3\xa9", "\xd9\xa1", "\xff", "0b1", "1k1", "99999999999999999999q", "1.5x", "%", "1%%",
	"-1%", "16K\xff"};

static void nobody_takes_what_is_no_number(void **state)
{
	const parser parsers[] = {
		lb_parse_u64, lb_parse_size, lb_parse_duration, lb_parse_percent, lb_parse_rate};

	(void)state;
	for (size_t p = 0; p < COUNT(parsers); p++) {
		for (size_t i = 0; i < COUNT(never_numbers); i++) {
			uint64_t got = UNTOUCHED;

			if (parsers[p](never_numbers[i], &got) != -EINVAL || got != UNTOUCHED)
				fail_msg("parser %zu took \"%s\"", p, never_numbers[i]);
		}
	}
}

static void plain_numbers(void **state)
{
	static const struct row rows[] = {
		{"0", 0, 0},
		{"007", 0, 7},
		{"4096", 0, 4096},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{"99999999999999999999", -ERANGE, 0},
		{"100000000000000000000000000000000", -ERANGE, 0},
		{"1.0", -EINVAL, 0},
		{"1k", -EINVAL, 0},
		{"1s", -EINVAL, 0},
		{"1%", -EINVAL, 0},
	};

	(void)state;
	check_rows(lb_parse_u64, rows, COUNT(rows));
}

static void sizes(void **state)
{
	static const struct row rows[] = {
		{"0", 0, 0},
		{"16384", 0, 16384},
		{"16k", 0, 16384},
		{"16K", 0, 16384},
		{"16KiB", 0, 16384},
		{"16kiB", 0, 16384},
		{"16kB", 0, 16384},
		{"16KB", 0, 16384},
		{"16kb", 0, 16384},
		{"1m", 0, 1ull << 20},
		{"1MB", 0, 1ull << 20},
		{"1GiB", 0, 1ull << 30},
		{"20T", 0, 20ull << 40},
		{"3p", 0, 3ull << 50},
		{"0.5M", 0, 524288},
		{"0.50000M", 0, 524288},
		{"1.5k", 0, 1536},
		{"1.0", 0, 1},
		{"0.0009765625k", 0, 1},
		{"1.3k", -EDOM, 0},
		{"0.5", -EDOM, 0},
		{"0.0009765624k", -EDOM, 0},
		/* 2^-50: the finest fraction that is whole bytes, and ones that a double loses */
		{"0.00000000000000088817841970012523233890533447265625P", 0, 1},
		{"0.000000000000000888178419700125232338905334472656250P", 0, 1},
		{"0.00000000000000088817841970012523233890533447265626P", -EDOM, 0},
		{"1.00000000000000000000000000000000000000000000000000001P", -EDOM, 0},
		{"8191.99999999999999911182158029987476766109466552734375P", 0, INT64_MAX},
		{"16383P", 0, 16383ull << 50},
		{"16383.99999999999999911182158029987476766109466552734375P", 0, UINT64_MAX},
		{"16384P", -ERANGE, 0},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{"18014398509481984k", -ERANGE, 0},
		{"18014398509481983.9990234375k", 0, UINT64_MAX},
		{"16M%", -EINVAL, 0},
		{"16s", -EINVAL, 0},
		{"16e", -EINVAL, 0},
	};

	(void)state;
	check_rows(lb_parse_size, rows, COUNT(rows));
}

static void durations(void **state)
{
	static const struct row rows[] = {
		{"0", 0, 0},
		{"30", 0, 30000000000},
		{"30s", 0, 30000000000},
		{"0.0001", 0, 100000},
		{"1ns", 0, 1},
		{"2.5us", 0, 2500},
		{"1.5ms", 0, 1500000},
		{"5m", 0, 300000000000},
		{"8h", 0, 28800000000000},
		{"365d", 0, 31536000000000000},
		{"0.000000001s", 0, 1},
		{"0.1h", 0, 360000000000},
		{"0.0000000001s", -EDOM, 0},
		{"1.5ns", -EDOM, 0},
		{"213503d", 0, 18446659200000000000u},
		{"213504d", -ERANGE, 0},
		{"18446744073.709551615", 0, UINT64_MAX},
		{"18446744073.709551616", -ERANGE, 0},
		{"30S", -EINVAL, 0},
		{"5M", -EINVAL, 0},
		{"5min", -EINVAL, 0},
		{"5 m", -EINVAL, 0},
		{"1h30m", -EINVAL, 0},
		{"1k", -EINVAL, 0},
	};

	(void)state;
	check_rows(lb_parse_duration, rows, COUNT(rows));
}

static void percentages(void **state)
{
	static const struct row rows[] = {
		{"0%", 0, 0},
		{"10%", 0, 100000},
		{"100%", 0, 1000000},
		{"150%", 0, 1500000},
		{"12.3456%", 0, 123456},
		{"0.0001%", 0, 1},
		{"33.3330000%", 0, 333330},
		{"0.00001%", -EDOM, 0},
		{"1844674407370955.1615%", 0, UINT64_MAX},
		{"1844674407370955.1616%", -ERANGE, 0},
		{"10", -EINVAL, 0},
		{"10 %", -EINVAL, 0},
		{"10k%", -EINVAL, 0},
	};

	(void)state;
	check_rows(lb_parse_percent, rows, COUNT(rows));
}

static void rates(void **state)
{
	static const struct row rows[] = {
		{"0", 0, 0},
		{"0.001", 0, 1},
		{"0.5", 0, 500},
		{"1234.5", 0, 1234500},
		{"10k", 0, 10000000},
		{"1.5k", 0, 1500000},
		{"10M", 0, 10000000000},
		{"0.0005k", 0, 500},
		{"0.0005", -EDOM, 0},
		{"18446744073709551.615", 0, UINT64_MAX},
		{"18446744073709551.616", -ERANGE, 0},
		{"10K", -EINVAL, 0},
		{"10m", -EINVAL, 0},
		{"10/s", -EINVAL, 0},
		{"10kB", -EINVAL, 0},
	};

	(void)state;
	check_rows(lb_parse_rate, rows, COUNT(rows));
}

static void formatted_sizes_are_exact(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{0, "0"},
		{1, "1"},
		{512, "512"},
		{1023, "1023"},
		{1024, "1k"},
		{1280, "1.25k"},
		{1536, "1.5k"},
		{1792, "1.75k"},
		{1537, "1537"},
		{16384, "16k"},
		{1572864, "1.5M"},
		{1024 * 1000, "1000k"},
		{1ull << 20, "1M"},
		{64ull << 20, "64M"},
		{16777217, "16777217"},
		{(1ull << 30) + (1ull << 20), "1025M"},
		{(20ull << 40) + 512, "21990232556032"},
		{20ull << 40, "20T"},
		{(97ull << 30) + (1 << 20), "99329M"},
		{(100ull << 30) + (1 << 20), "107375230976"},
		{16383ull << 50, "16383P"},
		{UINT64_MAX, "18446744073709551615"},
	};
	char buf[32];
	uint64_t back;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_ptr_equal(lb_format_size(buf, sizeof(buf), rows[i].bytes), buf);
		assert_string_equal(buf, rows[i].text);
		assert_int_equal(lb_parse_size(buf, &back), 0);
		assert_int_equal(back, rows[i].bytes);
	}
	memset(buf, 'x', sizeof(buf));
	lb_format_size(buf, 4, 16777217);
	assert_string_equal(buf, "167");
	assert_int_equal(buf[4], 'x');
}

static void formatted_durations_are_exact(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} rows[] = {
		{0, "0s"},
		{1, "1ns"},
		{999, "999ns"},
		{1000, "1us"},
		{1500000, "1.5ms"},
		{1234567, "1.234567ms"},
		{1000001000, "1.000001s"},
		{30000000000, "30s"},
		{59999999999, "59.999999999s"},
		{60000000000, "1m"},
		{90500000000, "1m30.5s"},
		{3600000000000, "1h"},
		{3600000000001, "1h0.000000001s"},
		{9000000000000, "2h30m"},
		{86400000000000, "1d"},
		{31536000000000000, "365d"},
		{UINT64_MAX, "213503d23h34m33.709551615s"},
	};
	char buf[32], one[1] = {'x'};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_ptr_equal(lb_format_duration(buf, sizeof(buf), rows[i].ns), buf);
		assert_string_equal(buf, rows[i].text);
	}
	for (size_t n = 1; n < sizeof(buf); n++) {
		memset(buf, 'x', sizeof(buf));
		lb_format_duration(buf, n, UINT64_MAX);
		assert_int_equal(strlen(buf), n - 1 < 26 ? n - 1 : 26);
		assert_int_equal(buf[n], 'x');
	}
	lb_format_duration(one, 0, 1);
	assert_int_equal(one[0], 'x');
}

static void only_what_a_terminal_can_bear_is_left_raw(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"", ""},
		{"plain \\ text~", "plain \\ text~"},
		{"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x92\xbe",
			"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x92\xbe"},
		{"a\nb\tc\x1b[2J\x7f", "a\\x0ab\\x09c\\x1b[2J\\x7f"},
		{"\xc2\x80\xc2\x9b\xc2\x9f", "\\xc2\\x80\\xc2\\x9b\\xc2\\x9f"},
		{"\xc2\xa0", "\xc2\xa0"},
		/* text direction, and what stands beside it */
		{"\u202e\u202a", "\\xe2\\x80\\xae\\xe2\\x80\\xaa"},
		{"\u200e\u200f", "\\xe2\\x80\\x8e\\xe2\\x80\\x8f"},
		{"\u2066\u2069", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9"},
		{"\u061c", "\\xd8\\x9c"},
		{"\u200d\u2010\u2029\u202f", "\u200d\u2010\u2029\u202f"},
		{"\u2065\u206a\u061b\u061d", "\u2065\u206a\u061b\u061d"},
		/* overlong forms of '/', U+07FF and U+FFFF */
		{"\xc0\xaf", "\\xc0\\xaf"},
		{"\xc1\xbf", "\\xc1\\xbf"},
		{"\xe0\x9f\xbf", "\\xe0\\x9f\\xbf"},
		{"\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf"},
		{"\xe0\xa0\x80\xf0\x90\x80\x80", "\xe0\xa0\x80\xf0\x90\x80\x80"},
		/* around the surrogates, and at the end of Unicode */
		{"\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80"},
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"},
		{"\xed\xbf\xbf", "\\xed\\xbf\\xbf"},
		{"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
		{"\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80"},
		{"\xff\xfe", "\\xff\\xfe"},
		/* cut short, and a lone continuation */
		{"\xc3", "\\xc3"},
		{"\xe2\x82", "\\xe2\\x82"},
		{"\xf0\x9f\x92", "\\xf0\\x9f\\x92"},
		{"\xe2\x82 \x82", "\\xe2\\x82 \\x82"},
	};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_ptr_equal(lb_printable(buf, sizeof(buf), rows[i].in), buf);
		assert_string_equal(buf, rows[i].out);
	}
}

static void printable_text_is_cut_at_a_whole_character(void **state)
{
	static const struct {
		size_t n;
		const char *in, *out;
	} rows[] = {
		{1, "abc", ""},
		{3, "abc", "ab"},
		{4, "abc", "abc"},
		{3, "\xe2\x82\xac", ""},
		{4, "\xe2\x82\xac", "\xe2\x82\xac"},
		{6, "\xe2\x82\xac\xe2\x82\xac", "\xe2\x82\xac"},
		{5, "a\nb", "a"},
		{6, "a\nb", "a\\x0a"},
	};
	char buf[8];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		memset(buf, '#', sizeof(buf));
		lb_printable(buf, rows[i].n, rows[i].in);
		assert_string_equal(buf, rows[i].out);
		assert_int_equal(buf[rows[i].n], '#');
	}
	buf[0] = '#';
	lb_printable(buf, 0, "abc");
	assert_int_equal(buf[0], '#');
}

static void a_long_name_keeps_both_ends(void **state)
{
	static const struct {
		size_t n;
		const char *in, *out;
	} rows[] = {
		{8, "abcdefg", "abcdefg"},
		{8, "abcdefgh", "ab...gh"},
		{9, "abcdefghi", "ab...ghi"},
		{10, "abcdefghij", "abc...hij"},
		{10, "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac",
			"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"},
		{9, "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac", "...\xe2\x82\xac"},
		{11, "\n\n\n", "...\\x0a"},
		{12, "\n\n\n", "\\x0a...\\x0a"},
		{7, "abcdefgh", "abcdef"},
		{1, "abc", ""},
	};
	char buf[16];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		memset(buf, '#', sizeof(buf));
		assert_ptr_equal(lb_shorten(buf, rows[i].n, rows[i].in), buf);
		assert_string_equal(buf, rows[i].out);
		assert_int_equal(buf[rows[i].n], '#');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_takes_what_is_no_number),
		cmocka_unit_test(plain_numbers),
		cmocka_unit_test(sizes),
		cmocka_unit_test(durations),
		cmocka_unit_test(percentages),
		cmocka_unit_test(rates),
		cmocka_unit_test(formatted_sizes_are_exact),
		cmocka_unit_test(formatted_durations_are_exact),
		cmocka_unit_test(only_what_a_terminal_can_bear_is_left_raw),
		cmocka_unit_test(printable_text_is_cut_at_a_whole_character),
		cmocka_unit_test(a_long_name_keeps_both_ends),
	};

	return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
