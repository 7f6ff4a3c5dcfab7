#include "values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "pace.h"
#include "units.h"

#define DIGITS        "0123456789"
#define PPM_ALL       1000000
#define SCRATCH_MAX   1000
#define SCRATCH_LEAST (1ull << 20)
#define SCRATCH_MOST  (1ull << 50)

/* One side of a region. */
struct edge {
	uint64_t v;
	bool is_ppm, is_bare; /* bare: a number that says no unit */
};

static int parse_edge(const char *s, size_t len, struct edge *e)
{
	char buf[64];

	if (!len || len >= sizeof(buf))
		return -EINVAL;
	memcpy(buf, s, len);
	buf[len] = '\0';
	e->is_ppm = buf[len - 1] == '%';
	e->is_bare = strspn(buf, DIGITS) == len;
	return e->is_ppm ? lb_parse_percent(buf, &e->v) : lb_parse_size(buf, &e->v);
}

/* Whether A and B say in which unit each is; 0 needs none. */
static bool is_clear(const struct edge *a, const struct edge *b)
{
	return !(a->is_ppm && b->is_bare && b->v) && !(b->is_ppm && a->is_bare && a->v);
}

int lb_parse_region(const struct lb_opt *opt, void *field, const char *value, struct lb_err *err)
{
	const char *dash = strchr(value, '-');
	struct edge start = {0}, end = {PPM_ALL, true, false};
	int rc = dash ? parse_edge(value, (size_t)(dash - value), &start) : -EINVAL;

	if (!rc && dash[1])
		rc = parse_edge(dash + 1, strlen(dash + 1), &end);
	if (rc == -EINVAL)
		return lb_opt_fail(opt, value, EINVAL, err,
			"is no region: use START-END in bytes (k, M, G) or percent, e.g. 0-10%%, "
			"1G-2G, 1G-");
	if (rc == -EDOM)
		return lb_opt_fail(opt, value, EINVAL, err,
			"is too fine: use whole bytes, or percent with at most four decimals");
	if (rc)
		return lb_opt_fail(opt, value, ERANGE, err, "is past any LUN's size");
	if ((start.is_ppm && start.v > PPM_ALL) || (end.is_ppm && end.v > PPM_ALL))
		return lb_opt_fail(opt, value, ERANGE, err, "goes past 100%%");
	if (dash[1] && !is_clear(&start, &end)) /* END left out is neither */
		return lb_opt_fail(opt, value, EINVAL, err,
			"mixes percent with a number that has no unit: use e.g. 10%%-20%% or "
			"10M-20%%");
	/* an end of 0 ends any region before it starts, whatever the units */
	if (!end.v || (start.is_ppm == end.is_ppm && start.v >= end.v))
		return lb_opt_fail(
			opt, value, EINVAL, err, "is empty: its end must lie after its start");
	*(struct lb_region *)field = (struct lb_region){start.v, end.v, start.is_ppm, end.is_ppm};
	return 0;
}

/* The CPU number at *S, which is moved past it; -1: there is none. */
static long cpu_number(const char **s)
{
	size_t len = strspn(*s, DIGITS);
	long cpu = len && len < 9 ? strtol(*s, NULL, 10) : len ? CPU_SETSIZE : -1;

	*s += len;
	return cpu;
}

int lb_parse_cpus(const struct lb_opt *opt, void *field, const char *value, struct lb_err *err)
{
	const char *s = value;
	cpu_set_t set;

	CPU_ZERO(&set);
	do {
		long first = cpu_number(&s), last = first;

		if (*s == '-') {
			s++;
			last = cpu_number(&s);
		}
		if (first < 0 || last < first || (*s && *s != ','))
			return lb_opt_fail(opt, value, EINVAL, err,
				"is no list of CPUs: use numbers and ranges, e.g. 0-3,8");
		if (last >= CPU_SETSIZE)
			return lb_opt_fail(opt, value, ERANGE, err,
				"has a CPU past %d, the highest there can be", CPU_SETSIZE - 1);
		for (; first <= last; first++)
			CPU_SET((size_t)first, &set);
	} while (*s++);
	*(cpu_set_t *)field = set;
	return 0;
}

char *lb_format_cpus(char *buf, size_t n, const cpu_set_t *set)
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < CPU_SETSIZE && len < n; i++) {
		size_t last = i;

		if (!CPU_ISSET(i, set))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
			last++;
		len += (size_t)snprintf(buf + len, n - len, last > i ? "%s%zu-%zu" : "%s%zu",
			len ? "," : "", i, last);
		i = last;
	}
	return buf;
}

int lb_parse_scratch(const struct lb_opt *opt, void *field, const char *value, struct lb_err *err)
{
	struct lb_scratch *scratch = field;
	const char *at = strchr(value, '@'), *dir = at ? at + 1 : "/var/tmp";
	size_t len = at ? (size_t)(at - value) : strlen(value);
	char buf[64] = "", *times;
	uint64_t count = 0, size = 0;
	int rc = -EINVAL;

	if (len < sizeof(buf))
		memcpy(buf, value, len);
	times = strchr(buf, 'x');
	if (times && *dir) {
		*times = '\0';
		rc = lb_parse_u64(buf, &count);
		if (!rc || rc == -ERANGE)
			rc = lb_parse_size(times + 1, &size) ?: rc;
	}
	if (rc == -EINVAL || rc == -EDOM)
		return lb_opt_fail(opt, value, EINVAL, err,
			"is no set of files: use COUNTxSIZE or COUNTxSIZE@DIR, e.g. 4x256M@/mnt");
	if (rc || count < 1 || count > SCRATCH_MAX || size < SCRATCH_LEAST || size > SCRATCH_MOST)
		return lb_opt_fail(opt, value, ERANGE, err,
			"is out of range: 1 to %d files of 1M to 1P", SCRATCH_MAX);
	if (strlen(dir) >= sizeof(scratch->dir))
		return lb_opt_fail(opt, value, EINVAL, err, "has too long a directory name");
	scratch->count = (uint32_t)count;
	scratch->size_bytes = size;
	strcpy(scratch->dir, dir);
	return 0;
}

int lb_parse_arrivals(const struct lb_opt *opt, void *field, const char *value, struct lb_err *err)
{
	uint64_t milli_per_s = 0;
	int rc = lb_parse_rate(value, &milli_per_s);

	if (rc == -EINVAL)
		return lb_opt_fail(opt, value, EINVAL, err,
			"is no rate: use arrivals a second, or with k, M (powers of 1000), e.g. 1500, "
			"0.5, 10k");
	if (rc == -EDOM)
		return lb_opt_fail(
			opt, value, EINVAL, err, "is too fine: use at most three decimals");
	if (rc || milli_per_s < LB_RATE_MILLI_MIN || milli_per_s > LB_RATE_MILLI_MAX)
		return lb_opt_fail(opt, value, ERANGE, err, "is out of range: 0.001 to 10M");
	*(uint64_t *)field = milli_per_s;
	return 0;
}

const char *const lb_pat_names[] = {"rand", "seq", "perm", "zipf", "hot", NULL};

/* The number of at most four decimals in the LEN bytes at S, in ten-thousandths. */
static int parse_decimals(const char *s, size_t len, uint64_t *e4)
{
	char buf[32];

	if (len + 2 > sizeof(buf))
		return -EINVAL;
	snprintf(buf, sizeof(buf), "%.*s%%", (int)len,
		s); /* percent are of 10^-6, and 100 of them 1 */
	return lb_parse_percent(buf, e4);
}

static int parse_zipf(
	const struct lb_opt *opt, struct lb_pat *pat, const char *value, struct lb_err *err)
{
	const char *theta = value + strlen("zipf:");
	uint64_t e4;

	if (parse_decimals(theta, strlen(theta), &e4) || e4 == 0 || e4 >= 20000)
		return lb_opt_fail(opt, value, EINVAL, err,
			"has no theta between 0 and 2 with at most four decimals, e.g. zipf:0.99");
	*pat = (struct lb_pat){.kind = LB_ZIPF, .theta_e4 = (uint32_t)e4};
	return 0;
}

static int parse_hot(
	const struct lb_opt *opt, struct lb_pat *pat, const char *value, struct lb_err *err)
{
	const char *blocks = value + strlen("hot:"), *slash = strchr(blocks, '/');
	uint64_t hot, xfers;

	if (!slash || parse_decimals(blocks, (size_t)(slash - blocks), &hot) ||
		parse_decimals(slash + 1, strlen(slash + 1), &xfers) || hot == 0 ||
		xfers >= PPM_ALL)
		return lb_opt_fail(opt, value, EINVAL, err,
			"does not say how many percent of the blocks get how many percent of the "
			"transfers, each more than 0 and less than 100, e.g. hot:20/80");
	if (xfers <= hot)
		return lb_opt_fail(opt, value, EINVAL, err,
			"gives the hot blocks no more than their share: the blocks come first, e.g. "
			"hot:20/80");
	*pat = (struct lb_pat){
		.kind = LB_HOT, .hot_ppm = (uint32_t)hot, .hot_xfers_ppm = (uint32_t)xfers};
	return 0;
}

int lb_parse_pat(const struct lb_opt *opt, void *field, const char *value, struct lb_err *err)
{
	struct lb_pat *pat = field;

	if (!strncmp(value, "zipf:", 5))
		return parse_zipf(opt, pat, value, err);
	if (!strncmp(value, "hot:", 4))
		return parse_hot(opt, pat, value, err);
	for (int kind = LB_RAND; kind <= LB_PERM; kind++) {
		if (!strcmp(value, lb_pat_names[kind])) {
			*pat = (struct lb_pat){.kind = (enum lb_pat_kind)kind};
			return 0;
		}
	}
	return lb_opt_fail(opt, value, EINVAL, err,
		"is not known: use rand, seq, perm, zipf:THETA or hot:BLOCKS/XFERS");
}

/* E4 ten-thousandths, without zeros at the end. */
static void put_decimals(char *buf, size_t n, uint32_t e4)
{
	uint32_t digits = 4, rest = e4 % 10000;

	for (; digits && rest % 10 == 0; rest /= 10)
		digits--;
	if (digits)
		snprintf(buf, n, "%u.%0*u", e4 / 10000, (int)digits, rest);
	else
		snprintf(buf, n, "%u", e4 / 10000);
}

char *lb_format_pat(char *buf, size_t n, const struct lb_pat *pat)
{
	char first[16], second[16];

	if (pat->kind == LB_ZIPF) {
		put_decimals(first, sizeof(first), pat->theta_e4);
		snprintf(buf, n, "zipf:%s", first);
	} else if (pat->kind == LB_HOT) {
		put_decimals(first, sizeof(first), pat->hot_ppm);
		put_decimals(second, sizeof(second), pat->hot_xfers_ppm);
		snprintf(buf, n, "hot:%s/%s", first, second);
	} else {
		snprintf(buf, n, "%s", lb_pat_names[pat->kind]);
	}
	return buf;
}

/* As of an option that takes one size, in the limits of OPT. */
static int parse_one_size(
	const struct lb_opt *opt, uint64_t *bytes, const char *value, struct lb_err *err)
{
	const struct lb_opt one = {
		.name = opt->name, .type = LB_OPT_SIZE, .min = opt->min, .max = opt->max};

	return lb_opt_set_number(&one, bytes, value, err);
}

/* One SIZE:PCT of a mix, which is cut at its colon. */
static int add_size(const struct lb_opt *opt, struct lb_sizes *sizes, char *part, const char *value,
	struct lb_err *err)
{
	char *colon = strchr(part, ':');
	uint64_t bytes, pct;
	int rc;

	if (sizes->n == LB_SIZES_MAX)
		return lb_opt_fail(opt, value, EINVAL, err, "has more than %d sizes", LB_SIZES_MAX);
	if (!colon)
		return lb_opt_fail(opt, value, EINVAL, err,
			"does not say how many of 100 transfers have each size, e.g. 8k:90,1M:10");
	*colon = '\0';
	rc = parse_one_size(opt, &bytes, part, err);
	if (rc)
		return rc;
	if (lb_parse_u64(colon + 1, &pct) || !pct || pct > 100)
		return lb_opt_fail(opt, value, EINVAL, err,
			"has a share that is no number from 1 to 100, e.g. 8k:90,1M:10");
	for (uint32_t i = 0; i < sizes->n; i++)
		if (sizes->bytes[i] == bytes)
			return lb_opt_fail(opt, value, EINVAL, err, "has a size twice");
	sizes->bytes[sizes->n] = bytes;
	sizes->pct[sizes->n++] = (uint8_t)pct;
	return 0;
}

int lb_parse_sizes(const struct lb_opt *opt, void *field, const char *value, struct lb_err *err)
{
	struct lb_sizes sizes = {0};
	char buf[256], *rest, *part;
	uint32_t all = 0;
	int rc;

	if (!strchr(value, ':')) {
		rc = parse_one_size(opt, &sizes.bytes[0], value, err);
		sizes.n = 1;
		sizes.pct[0] = 100;
		if (!rc)
			*(struct lb_sizes *)field = sizes;
		return rc;
	}
	if (strlen(value) >= sizeof(buf))
		return lb_opt_fail(opt, value, EINVAL, err, "is too long for a mix of sizes");
	strcpy(buf, value);
	for (rest = buf; (part = strsep(&rest, ","));) {
		rc = add_size(opt, &sizes, part, value, err);
		if (rc)
			return rc;
		all += sizes.pct[sizes.n - 1];
	}
	if (all != 100)
		return lb_opt_fail(
			opt, value, EINVAL, err, "has shares of %u together, not 100", all);
	*(struct lb_sizes *)field = sizes;
	return 0;
}

char *lb_format_sizes(char *buf, size_t n, const struct lb_sizes *sizes)
{
	char size[32];
	size_t len = 0;

	if (sizes->n == 1)
		return lb_format_size(buf, n, sizes->bytes[0]);
	buf[0] = '\0';
	for (uint32_t i = 0; i < sizes->n && len < n; i++)
		len += (size_t)snprintf(buf + len, n - len, "%s%s:%u", i ? "," : "",
			lb_format_size(size, sizeof(size), sizes->bytes[i]), sizes->pct[i]);
	return buf;
}

uint64_t lb_sizes_unit(const struct lb_sizes *sizes)
{
	uint64_t unit = 0;

	for (uint32_t i = 0; i < sizes->n; i++) {
		uint64_t a = sizes->bytes[i];

		while (unit) {
			uint64_t rest = a % unit;

			a = unit;
			unit = rest;
		}
		unit = a;
	}
	return unit;
}
