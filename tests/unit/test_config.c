#include <errno.h>
#include <sched.h>
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

#include "config.h"
#include "engine.h"
#include "pace.h"
#include "steady.h"
#include "values.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct lb_config cfg;
static struct lb_err err;
static char list[] = "/tmp/lunbench-test-XXXXXX"; /* a file for --targets */

static int parse(const char **argv)
{
	int argc = 0;

	lb_config_done(&cfg);
	memset(&err, 0, sizeof(err));
	while (argv[argc])
		argc++;
	return lb_config_parse(&cfg, argc, (char **)argv, &err);
}
#define PARSE(...) parse((const char *[]){"lunbench", ##__VA_ARGS__, NULL})
#define TAKE(...)  (PARSE(__VA_ARGS__) ?: lb_config_check(&cfg, &err))

#define REFUSED(message, ...)                                                                      \
	do {                                                                                       \
		assert_true(TAKE(__VA_ARGS__) < 0);                                                \
		assert_string_equal(err.text, message);                                            \
		assert_int_equal(err.status, LB_ST_USAGE);                                         \
	} while (0)

static const char *text_of(const char *name)
{
	const char *text = "no such row";

	lb_opt_find(cfg.sets, cfg.n_sets, name, &text);
	return text;
}

static int make_list(void **state)
{
	int fd = mkstemp(list);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_list(void **state)
{
	(void)state;
	lb_config_done(&cfg);
	return unlink(list);
}

static void write_list(const void *data, size_t len)
{
	FILE *f = fopen(list, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void patterns(void **state)
{
	static const struct {
		const char *text;
		struct lb_pat pat;
		const char *shown; /* NULL: as it was typed */
	} taken[] = {
		{"--pat=rand", {LB_RAND, 0, 0, 0}, NULL},
		{"--pat=seq", {LB_SEQ, 0, 0, 0}, NULL},
		{"--pat=perm", {LB_PERM, 0, 0, 0}, NULL},
		{"--pat=zipf:0.99", {LB_ZIPF, 9900, 0, 0}, NULL},
		{"--pat=zipf:1.50", {LB_ZIPF, 15000, 0, 0}, "zipf:1.5"},
		{"--pat=zipf:0.0001", {LB_ZIPF, 1, 0, 0}, NULL},
		{"--pat=zipf:1", {LB_ZIPF, 10000, 0, 0}, NULL},
		{"--pat=hot:20/80", {LB_HOT, 0, 200000, 800000}, NULL},
		{"--pat=hot:0.05/99.9999", {LB_HOT, 0, 500, 999999}, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		const struct lb_pat *want = &taken[i].pat;
		char text[32];

		assert_int_equal(TAKE("a", taken[i].text), 0);
		assert_int_equal(cfg.pat.kind, want->kind);
		assert_int_equal(cfg.pat.theta_e4, want->theta_e4);
		assert_int_equal(cfg.pat.hot_ppm, want->hot_ppm);
		assert_int_equal(cfg.pat.hot_xfers_ppm, want->hot_xfers_ppm);
		assert_string_equal(lb_format_pat(text, sizeof(text), &cfg.pat),
			taken[i].shown ? taken[i].shown : taken[i].text + 6);
		lb_config_done(&cfg);
	}
}

static void the_defaults(void **state)
{
	(void)state;
	assert_int_equal(TAKE("/dev/a"), 0);
	assert_int_equal(cfg.op, LB_READ);
	assert_int_equal(cfg.pat.kind, LB_RAND);
	assert_int_equal(cfg.size_bytes, 8192);
	assert_int_equal(cfg.qd, 32);
	assert_int_equal(cfg.count, 0);
	assert_int_equal(cfg.time_ns, 30000000000);
	assert_int_equal(cfg.ramp_ns, 0);
	assert_int_equal(cfg.drain_ns, 60000000000);
	assert_int_equal(cfg.region.start, 0);
	assert_int_equal(cfg.region.end, 1000000);
	assert_true(cfg.region.end_is_ppm);
	assert_int_equal(cfg.seed, 1);
	assert_int_equal(cfg.engine, LB_ENGINE_AUTO);
	assert_int_equal(cfg.workers, 0);
	assert_int_equal(CPU_COUNT(&cfg.cpus), 0);
	assert_int_equal(cfg.threads_per_lun, 1);
	assert_int_equal(cfg.scratch.count, 0);
	assert_null(cfg.json_path);
	assert_int_equal(cfg.hist, LB_HIST_NONE);
	assert_int_equal(cfg.progress, LB_PROGRESS_AUTO);
	assert_false(cfg.help);
	assert_false(cfg.version);
	assert_null(cfg.null_opts->latency);
	assert_null(cfg.null_opts->script);
	assert_false(lb_null_is_virtual(cfg.null_opts));
	assert_int_equal(cfg.n_targets, 1);
	assert_string_equal(cfg.targets[0], "/dev/a");
}

static void the_time_has_a_default_only_without_a_count(void **state)
{
	(void)state;
	assert_int_equal(TAKE("a"), 0);
	assert_string_equal(text_of("time"), "30s");
	assert_null(text_of("count"));
	assert_int_equal(TAKE("a", "--count", "50000"), 0);
	assert_int_equal(cfg.time_ns, 0);
	assert_int_equal(cfg.count, 50000);
	assert_null(text_of("time"));
	assert_int_equal(TAKE("a", "--count", "1", "--time", "5m"), 0);
	assert_int_equal(cfg.time_ns, 300000000000);
	assert_string_equal(text_of("time"), "5m");
	REFUSED("--time: 0 is out of range (1us to 365d)", "--time", "0", "a");
	REFUSED("--time: 366d is out of range (1us to 365d)", "--time", "366d", "a");
	REFUSED("--count: 0 is out of range (1 to 18446744073709551615)", "--count", "0", "a");
}

static void every_word_fills_its_enum(void **state)
{
	(void)state;
	assert_int_equal(TAKE("a", "--op=read", "--pat=seq", "--hist", "--progress=never"), 0);
	assert_int_equal(cfg.op, LB_READ);
	assert_int_equal(cfg.pat.kind, LB_SEQ);
	assert_int_equal(cfg.hist, LB_HIST_TOTAL);
	assert_int_equal(cfg.progress, LB_PROGRESS_NEVER);
	assert_int_equal(TAKE("a", "--pat=rand", "--hist=each", "--progress=always"), 0);
	assert_int_equal(cfg.pat.kind, LB_RAND);
	assert_int_equal(cfg.hist, LB_HIST_EACH);
	assert_int_equal(cfg.progress, LB_PROGRESS_ALWAYS);
	assert_int_equal(TAKE("a", "--hist=none", "--progress=auto"), 0);
	assert_int_equal(cfg.hist, LB_HIST_NONE);
	assert_int_equal(cfg.progress, LB_PROGRESS_AUTO);
	REFUSED("--op: \"erase\" is not known: use read, write, rw", "--op", "erase", "a");
}

static void rates(void **state)
{
	(void)state;
	assert_int_equal(TAKE("a"), 0);
	assert_false(lb_config_is_paced(&cfg));
	assert_int_equal(cfg.arrival, LB_ARRIVAL_FIXED);
	assert_int_equal(cfg.catch_up, LB_CATCH_UP_QD);
	assert_int_equal(TAKE("a", "--rate", "1234.5", "--arrival", "poisson"), 0);
	assert_true(lb_config_is_paced(&cfg));
	assert_int_equal(cfg.rate_milli_per_s, 1234500);
	assert_int_equal(cfg.arrival, LB_ARRIVAL_POISSON);
	assert_int_equal(TAKE("a", "--rate-total=10k", "--catch-up", "none"), 0);
	assert_true(lb_config_is_paced(&cfg));
	assert_int_equal(cfg.rate_total_milli_per_s, 10000000);
	assert_int_equal(cfg.catch_up, LB_CATCH_UP_NONE);
	REFUSED("--rate-total: \"5\" is over all LUNs, and --rate is of each: give one of them",
		"--rate", "5", "--rate-total", "5", "a");
	REFUSED("--arrival is of a run at a rate: --rate N or --rate-total N is missing",
		"--arrival", "poisson", "a");
	REFUSED("--catch-up is of a run at a rate: --rate N or --rate-total N is missing",
		"--catch-up", "qd", "a");
	REFUSED("--rate: \"fast\" is no rate: use arrivals a second, or with k, M (powers of "
		"1000), e.g. 1500, 0.5, 10k",
		"--rate", "fast", "a");
	REFUSED("--rate: \"0.0001\" is too fine: use at most three decimals", "--rate", "0.0001",
		"a");
	REFUSED("--rate: \"0\" is out of range: 0.001 to 10M", "--rate", "0", "a");
	REFUSED("--rate-total: \"11M\" is out of range: 0.001 to 10M", "--rate-total", "11M", "a");
}

/* Nothing that writes gets past here without consent, but to files of our own. */
static void writing_takes_consent(void **state)
{
	(void)state;
	REFUSED("--op write destroys what is in the region of every LUN given: if that is meant, say "
		"--allow-write",
		"--op", "write", "a");
	REFUSED("--fill destroys what is in the region of every LUN given: if that is meant, say "
		"--allow-write",
		"--fill", "--scratch", "1x1M", "a");
	assert_int_equal(TAKE("--op", "write", "--scratch", "1x1M"), 0);
	assert_int_equal(TAKE("a", "--op", "rw", "--allow-write", "--overwrite", "3600a",
				 "--overwrite=3600b"),
		0);
	assert_int_equal(cfg.read_pct, 70);
	assert_int_equal(cfg.overwrite.n, 2);
	assert_string_equal(cfg.overwrite.item[0], "3600a");
	assert_string_equal(cfg.overwrite.item[1], "3600b");
	assert_string_equal(text_of("overwrite"), "3600a,3600b");
	REFUSED("--overwrite: the value is empty: use ID", "--op", "write", "--allow-write",
		"--overwrite", "", "a");
	assert_int_equal(TAKE("a"), 0);
	assert_int_equal(cfg.overwrite.n, 0);
	assert_null(text_of("overwrite"));
}

static void a_size_is_whole_sectors(void **state)
{
	(void)state;
	assert_int_equal(TAKE("a", "--size", "512"), 0);
	assert_int_equal(TAKE("a", "--size", "64M"), 0);
	assert_int_equal(cfg.size_bytes, 64 << 20);
	REFUSED("--size: \"1000\" is no multiple of 512 bytes, the smallest sector", "a",
		"--size=1000");
	REFUSED("--size: 256 is out of range (512 to 64M)", "a", "--size=256");
	REFUSED("--size: 65M is out of range (512 to 64M)", "a", "--size=65M");
}

static void regions(void **state)
{
	static const struct {
		const char *text;
		struct lb_region want;
	} rows[] = {
		{"0-10%", {0, 100000, false, true}},
		{"0%-10%", {0, 100000, true, true}},
		{"50%-100%", {500000, 1000000, true, true}},
		{"50%-", {500000, 1000000, true, true}},
		{"1G-2G", {1 << 30, 2ull << 30, false, false}},
		{"1G-", {1 << 30, 1000000, false, true}},
		{"0-1048576", {0, 1048576, false, false}},
		{"0-", {0, 1000000, false, true}},
		{"1M-50%", {1 << 20, 500000, false, true}},
		{"25%-1T", {250000, 1ull << 40, true, false}},
		{"99.9999%-100%", {999999, 1000000, true, true}},
		{"1.5k-0.5M", {1536, 524288, false, false}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(TAKE("a", "--region", rows[i].text), 0);
		assert_int_equal(cfg.region.start, rows[i].want.start);
		assert_int_equal(cfg.region.end, rows[i].want.end);
		assert_int_equal(cfg.region.start_is_ppm, rows[i].want.start_is_ppm);
		assert_int_equal(cfg.region.end_is_ppm, rows[i].want.end_is_ppm);
		assert_string_equal(text_of("region"), rows[i].text);
	}
}

#define NO_REGION                                                                                  \
	"is no region: use START-END in bytes (k, M, G) or percent, e.g. 0-10%, 1G-2G, 1G-"
#define MIXED "mixes percent with a number that has no unit: use e.g. 10%-20% or 10M-20%"

static void regions_that_are_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{"50%", NO_REGION},
		{"-", NO_REGION},
		{"-10%", NO_REGION},
		{"0-10%-20%", NO_REGION},
		{"0--10%", NO_REGION},
		{"a-b", NO_REGION},
		{"0 -10%", NO_REGION},
		{"0-10%%", NO_REGION},
		{"0-0.00001%",
			"is too fine: use whole bytes, or percent with at most four decimals"},
		{"0-1.3k", "is too fine: use whole bytes, or percent with at most four decimals"},
		{"0-99999P", "is past any LUN's size"},
		{"0-101%", "goes past 100%"},
		{"100.0001%-", "goes past 100%"},
		{"10-20%", MIXED},
		{"10%-20", MIXED},
		{"10%-10%", "is empty: its end must lie after its start"},
		{"20%-10%", "is empty: its end must lie after its start"},
		{"2G-1G", "is empty: its end must lie after its start"},
		{"0-0", "is empty: its end must lie after its start"},
		{"0-0%", "is empty: its end must lie after its start"},
		{"10%-0", "is empty: its end must lie after its start"},
		{"100%-", "is empty: its end must lie after its start"},
		{"100-1M", "does not lie on sectors: use multiples of 512 bytes"},
		{"0-1000", "does not lie on sectors: use multiples of 512 bytes"},
		{"1M-1032k", "is smaller than one transfer of --size 16k"},
	};
	char want[256];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(want, sizeof(want), "--region: \"%s\" %s", rows[i].text, rows[i].why);
		REFUSED(want, "a", "--size=16k", "--region", rows[i].text);
	}
	assert_int_equal(TAKE("a", "--size=16k", "--region", "1M-1040k"), 0);
}

static void lists_of_cpus(void **state)
{
	static const struct {
		const char *text, *again;
		int count, last;
	} rows[] = {
		{"0", "0", 1, 0},
		{"0-3,8", "0-3,8", 5, 8},
		{"8,0-2,1-3", "0-3,8", 5, 8},
		{"1023", "1023", 1, 1023},
		{"0-1023", "0-1023", 1024, 1023},
		{"3-3", "3", 1, 3},
	};
	static const char *const wrong[] = {
		",", "0,", ",0", "0,,1", "0-", "-1", "3-1", "a", "0x1", "0-2-4", "1 ,2", "0;1"};
	static const char *const past[] = {"1024", "0-1024", "4294967296", "99999999999999999999"};
	const struct lb_opt *opt = NULL;
	cpu_set_t set;
	char buf[64], want[128];

	(void)state;
	assert_int_equal(TAKE("a"), 0);
	opt = lb_opt_find(cfg.sets, cfg.n_sets, "cpus", NULL);
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(lb_parse_cpus(opt, &set, rows[i].text, &err), 0);
		assert_int_equal(CPU_COUNT(&set), rows[i].count);
		assert_true(CPU_ISSET(rows[i].last, &set));
		assert_string_equal(lb_format_cpus(buf, sizeof(buf), &set), rows[i].again);
	}
	for (size_t i = 0; i < COUNT(wrong); i++) {
		snprintf(want, sizeof(want),
			"--cpus: \"%s\" is no list of CPUs: use numbers and ranges, e.g. 0-3,8",
			wrong[i]);
		assert_int_equal(lb_parse_cpus(opt, &set, wrong[i], &err), -EINVAL);
		assert_string_equal(err.text, want);
	}
	for (size_t i = 0; i < COUNT(past); i++) {
		snprintf(want, sizeof(want),
			"--cpus: \"%s\" has a CPU past 1023, the highest there can be", past[i]);
		assert_int_equal(lb_parse_cpus(opt, &set, past[i], &err), -ERANGE);
		assert_string_equal(err.text, want);
	}
	CPU_ZERO(&set);
	assert_string_equal(lb_format_cpus(buf, sizeof(buf), &set), "");
	for (size_t i = 0; i < CPU_SETSIZE; i += 2)
		CPU_SET(i, &set);
	lb_format_cpus(buf, 8, &set);
	assert_string_equal(buf, "0,2,4,6");
}

static void only_cpus_that_may_be_used(void **state)
{
	cpu_set_t before, one;
	size_t first = 0;
	char cpu[8], want[160];

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	while (!CPU_ISSET(first, &before))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	snprintf(cpu, sizeof(cpu), "%zu", first);
	assert_int_equal(TAKE("a", "--cpus", cpu), 0);
	assert_true(CPU_EQUAL(&cfg.cpus, &one));
	snprintf(want, sizeof(want),
		"--cpus: \"1000-1003,1010\" asks for CPUs that are not there or not allowed: "
		"1000-1003,1010; this process may use %s",
		cpu);
	REFUSED(want, "a", "--cpus", "1000-1003,1010");
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

static void scratch_files(void **state)
{
	static const char *const wrong[] = {"4", "4x", "x4", "4x256M@", "4y256M", "-4x256M",
		"4x256q", "4x1.3k", "4 x 256M", "@/d"};
	static const char *const past[] = {
		"0x1M", "1001x1M", "1x1023k", "1x2P", "99999999999999999999x1M", "1x99999999P"};
	char want[160], dir[4000];

	(void)state;
	assert_int_equal(TAKE("--scratch", "4x256M"), 0);
	assert_int_equal(cfg.scratch.count, 4);
	assert_int_equal(cfg.scratch.size_bytes, 256 << 20);
	assert_string_equal(cfg.scratch.dir, "/var/tmp");
	assert_int_equal(TAKE("--scratch", "1000x1M@/mnt/x@y", "a"), 0);
	assert_int_equal(cfg.scratch.count, 1000);
	assert_int_equal(cfg.scratch.size_bytes, 1 << 20);
	assert_string_equal(cfg.scratch.dir, "/mnt/x@y");
	for (size_t i = 0; i < COUNT(wrong); i++) {
		snprintf(want, sizeof(want),
			"--scratch: \"%s\" is no set of files: use COUNTxSIZE or COUNTxSIZE@DIR, "
			"e.g. 4x256M@/mnt",
			wrong[i]);
		REFUSED(want, "--scratch", wrong[i]);
	}
	for (size_t i = 0; i < COUNT(past); i++) {
		snprintf(want, sizeof(want),
			"--scratch: \"%s\" is out of range: 1 to 1000 files of 1M to 1P", past[i]);
		REFUSED(want, "--scratch", past[i]);
	}
	memset(dir, 'd', sizeof(dir));
	memcpy(dir, "1x1M@/", 6);
	dir[sizeof(dir) - 1] = '\0';
	assert_int_equal(TAKE("--scratch", dir), -EINVAL);
	assert_non_null(strstr(err.text, "...\" has too long a directory name"));
}

static void a_list_of_targets_is_read_as_it_stands(void **state)
{
	static const char text[] =
		"\xef\xbb\xbf/dev/a\r\n\r\n\n   \t\nb\n \t\r\n# no\n  # no\r\n-\n--qd\n /b c \n"
		"#\n/dev/last";
	static const char *const want[] = {
		"op1", "op2", "/dev/a", "b", "-", "--qd", "/b c", "/dev/last"};

	(void)state;
	write_list(text, sizeof(text) - 1);
	assert_int_equal(TAKE("op1", "--targets", list, "op2"), 0);
	assert_int_equal(cfg.n_targets, COUNT(want));
	for (size_t i = 0; i < COUNT(want); i++)
		assert_string_equal(cfg.targets[i], want[i]);
	write_list("/dev/a\n", 7);
	assert_int_equal(TAKE("--targets", list), 0);
	assert_int_equal(cfg.n_targets, 1);
	write_list("x", 1);
	assert_int_equal(TAKE("--targets", list), 0);
	assert_string_equal(cfg.targets[0], "x");
}

static void comments_and_line_ends_of_any_kind(void **state)
{
	static const char text[] =
		"/dev/a # data\r/dev/b\t#redo\r\r# no\r/dev/c#1 \t\r\n\t/dev/d # x # y\n# \r#";
	static const char *const want[] = {"/dev/a", "/dev/b", "/dev/c#1", "/dev/d"};

	(void)state;
	write_list(text, sizeof(text) - 1);
	assert_int_equal(TAKE("--targets", list), 0);
	assert_int_equal(cfg.n_targets, COUNT(want));
	for (size_t i = 0; i < COUNT(want); i++)
		assert_string_equal(cfg.targets[i], want[i]);
}

static void a_long_list_of_targets_is_read_whole(void **state)
{
	enum { N = 5000 };
	char *text = malloc(N * 32), want[32];
	size_t len = 0;

	(void)state;
	for (int i = 0; i < N; i++)
		len += (size_t)sprintf(text + len, "/dev/mapper/mpath%d\n", i);
	write_list(text, len);
	assert_int_equal(TAKE("--targets", list), 0);
	assert_int_equal(cfg.n_targets, N);
	for (int i = 0; i < N; i++) {
		snprintf(want, sizeof(want), "/dev/mapper/mpath%d", i);
		assert_string_equal(cfg.targets[i], want);
	}
	free(text);
}

static void lists_of_targets_that_are_refused(void **state)
{
	char want[256];

	(void)state;
	REFUSED("--targets: \"/nonexistent/list\" cannot be read: No such file or directory",
		"--targets", "/nonexistent/list");
	REFUSED("--targets: \"/\" cannot be read: Is a directory", "a", "--targets=/");
	REFUSED("--targets: \"/dev/zero\" is no list of LUNs: it is larger than 16M", "a",
		"--targets=/dev/zero");
	write_list("/dev/a\n\0/dev/b\n", 15);
	snprintf(want, sizeof(want),
		"--targets: \"%s\" is no list of LUNs: it is not text (it has a NUL byte)", list);
	REFUSED(want, "--targets", list);
	write_list("# nothing\n\n", 11);
	snprintf(want, sizeof(want), "--targets: \"%s\" names no target", list);
	REFUSED(want, "--targets", list);
	assert_int_equal(TAKE("--targets", list, "--scratch=1x1M"), 0);
	write_list("", 0);
	REFUSED(want, "--targets", list);
}

static void a_run_needs_a_target(void **state)
{
	(void)state;
	REFUSED("no target given: name block devices or files, or use --scratch", "--size", "16k");
	REFUSED("target 2 has an empty name: name a block device or a file", "a", "");
	assert_int_equal(TAKE("--scratch=1x1M"), 0);
	assert_int_equal(cfg.n_targets, 0);
	/* nothing is run, so the list is not asked for */
	assert_int_equal(PARSE("--targets=/nonexistent", "-h"), 0);
	assert_true(cfg.help);
	assert_int_equal(PARSE("--targets=/nonexistent", "-V"), 0);
	assert_true(cfg.version);
}

static void a_run_until_steady(void **state)
{
	(void)state;
	assert_int_equal(TAKE("a", "--until=steady"), 0);
	assert_int_equal(cfg.time_ns, 86400 * LB_NSEC_PER_SEC);
	assert_int_equal(cfg.steady_window_ns, 60 * LB_NSEC_PER_SEC);
	assert_int_equal(cfg.steady_on, LB_STEADY_XFER);
	assert_int_equal(TAKE("a", "--until=steady", "--steady-on=p99", "--max-time=5m"), 0);
	assert_int_equal(cfg.time_ns, 300 * LB_NSEC_PER_SEC);
	assert_int_equal(cfg.steady_on, LB_STEADY_P99);
	REFUSED("--max-time: \"299s\" is less than the 5 windows of --steady-window that are "
		"judged",
		"a", "--until=steady", "--max-time=299s");
	REFUSED("--steady-window: \"60s\" is no multiple of --interval, which it is made of", "a",
		"--until=steady", "--interval=7s");
	REFUSED("--time: \"30s\" ends a run as well as --until steady, which --max-time bounds",
		"a", "--until=steady", "--time=30s");
	REFUSED("--count: \"9\" ends a run as well as --until steady, which --max-time bounds", "a",
		"--until=steady", "--count=9");
	REFUSED("--steady-on: \"kb\" goes with --until steady", "a", "--steady-on=kb");
	REFUSED("--steady-window: \"1m\" goes with --until steady", "a", "--steady-window=1m");
	REFUSED("--max-time: \"1h\" goes with --until steady", "a", "--until=time",
		"--max-time=1h");
}

static void contradictions(void **state)
{
	(void)state;
	assert_int_equal(TAKE("a", "--qd=4", "--threads-per-lun=4"), 0);
	REFUSED("--threads-per-lun: \"5\" is more than --qd 4: each thread needs a transfer of its "
		"own",
		"a", "--qd=4", "--threads-per-lun=5");
	assert_int_equal(TAKE("a", "--engine=null", "--null-latency=5ms"), 0);
	assert_true(lb_null_is_virtual(cfg.null_opts));
	assert_string_equal(cfg.null_opts->latency, "5ms");
	REFUSED("--null-latency: \"5ms\" needs --engine null", "a", "--null-latency=5ms");
	REFUSED("--null-script: \"lose:7\" needs --engine null", "a", "--engine=sync",
		"--null-script=lose:7");
	REFUSED("--stream: \"-\" is where --json goes: give it another place", "a", "--json=-",
		"--stream=-");
}

static void engines_are_listed_as_they_are_numbered(void **state)
{
	static const char *const names[] = {"auto", "io_uring", "libaio", "sync", "null"};

	(void)state;
	for (int i = 0; i < (int)COUNT(names); i++) {
		assert_int_equal(TAKE("a", "--engine", names[i]), 0);
		assert_int_equal(cfg.engine, i);
		if (i)
			assert_string_equal(lb_engines[i - 1]->name, names[i]);
	}
	assert_null(lb_engines[COUNT(names) - 1]);
	REFUSED("--engine: \"posix\" is not known: use auto, io_uring, libaio, sync, null", "a",
		"--engine=posix");
}

static void the_table_is_whole(void **state)
{
	const struct lb_opt *seen[64];
	size_t n = 0;

	(void)state;
	assert_int_equal(TAKE("a"), 0);
	for (size_t s = 0; s < cfg.n_sets; s++) {
		for (size_t i = 0; i < cfg.sets[s].n; i++) {
			const struct lb_opt *opt = &cfg.sets[s].rows[i];

			assert_true(strlen(opt->name) <= 32);
			assert_non_null(opt->section);
			assert_true(*opt->help && *opt->man);
			assert_true(opt->type == LB_OPT_CUSTOM ||
				    (opt->type == LB_OPT_ENUM) == (opt->words != NULL));
			assert_true((opt->type == LB_OPT_CUSTOM) == (opt->parse != NULL));
			assert_true((opt->type == LB_OPT_FLAG || opt->type == LB_OPT_ENUM) ==
				    (opt->metavar == NULL));
			for (size_t k = 0; k < n; k++) {
				assert_string_not_equal(seen[k]->name, opt->name);
				assert_true(!opt->letter || seen[k]->letter != opt->letter);
			}
			seen[n++] = opt;
		}
	}
}

static void help_is_a_page_of_eighty_columns(void **state)
{
	char *page = NULL, *line, *next;
	size_t len;
	FILE *out = open_memstream(&page, &len);

	(void)state;
	assert_int_equal(TAKE("a"), 0);
	lb_config_print_help(out, &cfg);
	fclose(out);
	for (line = page; (next = strchr(line, '\n')); line = next + 1) {
		assert_true(next - line <= 80);
		assert_true(next == line || next[-1] != ' ');
	}
	assert_string_equal(line, "");
	for (size_t s = 0; s < cfg.n_sets; s++) {
		for (size_t i = 0; i < cfg.sets[s].n; i++) {
			char row[48];

			snprintf(row, sizeof(row), "\n  --%s", cfg.sets[s].rows[i].name);
			assert_non_null(strstr(page, row));
		}
	}
	free(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_defaults),
		cmocka_unit_test(patterns),
		cmocka_unit_test(the_time_has_a_default_only_without_a_count),
		cmocka_unit_test(every_word_fills_its_enum),
		cmocka_unit_test(rates),
		cmocka_unit_test(writing_takes_consent),
		cmocka_unit_test(a_size_is_whole_sectors),
		cmocka_unit_test(regions),
		cmocka_unit_test(regions_that_are_refused),
		cmocka_unit_test(lists_of_cpus),
		cmocka_unit_test(only_cpus_that_may_be_used),
		cmocka_unit_test(scratch_files),
		cmocka_unit_test(a_list_of_targets_is_read_as_it_stands),
		cmocka_unit_test(comments_and_line_ends_of_any_kind),
		cmocka_unit_test(a_long_list_of_targets_is_read_whole),
		cmocka_unit_test(lists_of_targets_that_are_refused),
		cmocka_unit_test(a_run_needs_a_target),
		cmocka_unit_test(a_run_until_steady),
		cmocka_unit_test(contradictions),
		cmocka_unit_test(engines_are_listed_as_they_are_numbered),
		cmocka_unit_test(the_table_is_whole),
		cmocka_unit_test(help_is_a_page_of_eighty_columns),
	};

	return cmocka_run_group_tests_name("config", tests, make_list, remove_list);
}
