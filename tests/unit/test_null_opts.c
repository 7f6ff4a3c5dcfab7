/* The null engine's options: what is taken, and each refusal in its words. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine.h"

static const struct lb_opt *row(const char *name)
{
	for (size_t i = 0; i < lb_null_opt_count; i++)
		if (!strcmp(lb_null_opt_rows[i].name, name))
			return &lb_null_opt_rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

static int parse(const char *name, const char *value, struct lb_null_opts *opts, struct lb_err *err)
{
	const struct lb_opt *opt = row(name);

	return opt->parse(opt, (char *)opts + opt->offset, value, err);
}

static void good_options_are_kept_as_given(void **state)
{
	static const char *const latencies[] = {"5ms", "0.5", "1ns", "1d", "uniform:1ms:1ms",
		"uniform:1us:2ms", "exp:2ms", "list:1ms", "list:1ms/2ms/7ms"};
	static const char *const scripts[] = {"error:1:EIO", "short:5:0", "short:5:64M@1",
		"stall:0:1ns", "stall:2s:5s@4294967294", "lose:18446744073709551615", "dead:365d",
		"slow:1", "gone:0:ENODEV", "lose:1,lose:2@0,dead:3s,gone:4s:ETIMEDOUT@3"};
	struct lb_null_opts opts = {NULL, NULL};
	struct lb_err err = {.text = ""};

	(void)state;
	assert_false(lb_null_is_virtual(&opts));
	for (size_t i = 0; i < sizeof(latencies) / sizeof(latencies[0]); i++) {
		assert_int_equal(parse("null-latency", latencies[i], &opts, &err), 0);
		assert_ptr_equal(opts.latency, latencies[i]);
		assert_null(opts.script);
		assert_true(lb_null_is_virtual(&opts));
	}
	opts.latency = NULL;
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		assert_int_equal(parse("null-script", scripts[i], &opts, &err), 0);
		assert_ptr_equal(opts.script, scripts[i]);
		assert_null(opts.latency);
		assert_true(lb_null_is_virtual(&opts));
	}
	assert_string_equal(err.text, "");
}

#define TIME_TEXT "a time from 1ns to 1d is needed, as 500us or 5ms"
#define KIND_TEXT                                                                                  \
	"an event is needed: error:EVERY:ERRNO, short:EVERY:BYTES, stall:FROM:FOR, lose:NTH, "     \
	"dead:FROM, slow:FACTOR or gone:FROM:ERRNO, each with @LUN or not"

static void malformed_options_are_refused_where_they_go_wrong(void **state)
{
	static const struct {
		const char *option, *value, *text; /* of the error, after `--OPTION 'VALUE': ` */
	} cases[] = {
		{"null-latency", "", "ends too soon, at character 1: " TIME_TEXT},
		{"null-latency", "0", "at character 1, '0': " TIME_TEXT},
		{"null-latency", "-5ms", "at character 1, '-5ms': " TIME_TEXT},
		{"null-latency", "5 ms", "at character 1, '5 ms': " TIME_TEXT},
		{"null-latency", "25h", "at character 1, '25h': " TIME_TEXT},
		{"null-latency", "00000000000000000000000000000001",
			"at character 1, '00000000000000000000000000000001': " TIME_TEXT},
		{"null-latency", "normal:5ms",
			"at character 1, 'normal': must be a time, uniform:LOW:HIGH, exp:MEAN or "
			"list:TIME/TIME..."},
		{"null-latency", "uniform:1ms",
			"ends too soon, at character 12: ':' and the upper end of uniform:LOW:HIGH are "
			"needed"},
		{"null-latency", "uniform:1ms:", "ends too soon, at character 13: " TIME_TEXT},
		{"null-latency", "uniform:2ms:1ms",
			"at character 13, '1ms': HIGH of uniform:LOW:HIGH must not be below LOW"},
		{"null-latency", "uniform:1ms:2ms:3ms", "at character 13, '2ms:3ms': " TIME_TEXT},
		{"null-latency", "exp:", "ends too soon, at character 5: " TIME_TEXT},
		{"null-latency", "list:1ms/", "ends too soon, at character 10: " TIME_TEXT},
		{"null-latency", "list:1ms//2ms", "at character 10, '': " TIME_TEXT},
		{"null-latency", "list:1ms/2ks", "at character 10, '2ks': " TIME_TEXT},
		{"null-script", "", "ends too soon, at character 1: " KIND_TEXT},
		{"null-script", "errors:1:EIO", "at character 1, 'errors': " KIND_TEXT},
		{"null-script", "lose:1,", "ends too soon, at character 8: " KIND_TEXT},
		{"null-script", "lose:1, lose:2", "at character 8, ' lose': " KIND_TEXT},
		{"null-script", "error",
			"ends too soon, at character 6: must be error:EVERY:ERRNO[@LUN]"},
		{"null-script", "error:0:EIO",
			"at character 7, '0': EVERY must be a whole number from 1"},
		{"null-script", "error:3",
			"ends too soon, at character 8: must be error:EVERY:ERRNO[@LUN]"},
		{"null-script", "error:3@1",
			"at character 8, '@': must be error:EVERY:ERRNO[@LUN]"},
		{"null-script", "error:3:EFOO",
			"at character 9, 'EFOO': ERRNO must be the name of an error, as EIO or "
			"ENODEV"},
		{"null-script", "error:3:5",
			"at character 9, '5': ERRNO must be the name of an error, as EIO or ENODEV"},
		{"null-script", "short:1:65M",
			"at character 9, '65M': BYTES must be a size from 0 to 64M"},
		{"null-script", "stall:-1s:1s",
			"at character 7, '-1s': FROM must be a time from 0 to 365d, as 2s"},
		{"null-script", "stall:1s:0",
			"at character 10, '0': FOR must be a time from 1ns to 365d, as 2s"},
		{"null-script", "lose:1,lose:0",
			"at character 13, '0': NTH must be a whole number from 1"},
		{"null-script", "lose:1:2", "at character 1, 'lose:1:2': must be lose:NTH[@LUN]"},
		{"null-script", "dead:366d",
			"at character 6, '366d': FROM must be a time from 0 to 365d, as 2s"},
		{"null-script", "slow:1.5",
			"at character 6, '1.5': FACTOR must be a whole number from 1 to 1000000"},
		{"null-script", "gone:1s",
			"ends too soon, at character 8: must be "
			"gone:FROM:ERRNO[@LUN]"},
		{"null-script", "lose:1@",
			"ends too soon, at character 8: LUN must be a number, counted from 0 in the "
			"order of the targets"},
		{"null-script", "lose:1@4294967295,lose:2",
			"at character 8, '4294967295': LUN must be a number, counted from 0 in the "
			"order of the targets"},
	};
	struct lb_null_opts opts = {NULL, NULL};
	char want[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct lb_err err = {.text = ""};

		snprintf(want, sizeof(want), "--%s '%s': %s", cases[i].option, cases[i].value,
			cases[i].text);
		assert_int_equal(parse(cases[i].option, cases[i].value, &opts, &err), -EINVAL);
		assert_string_equal(err.text, want);
		assert_int_equal(err.status, LB_ST_USAGE);
		assert_null(opts.latency); /* what is wrong is not kept */
		assert_null(opts.script);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_options_are_kept_as_given),
		cmocka_unit_test(malformed_options_are_refused_where_they_go_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
