#include "null_script.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "units.h"

#define DAY_NS (86400 * LB_NSEC_PER_SEC)

/* A text being read: what it is the value of, and where in it we are. */
struct reader {
	const char *option, *text, *at;
	struct lb_err *err;
};

/* The N characters at AT are not RIGHT. */
static int wrong(const struct reader *r, const char *at, size_t n, const char *right)
{
	size_t pos = (size_t)(at - r->text) + 1;

	if (!n && !*at)
		return lb_fail(r->err, LB_ST_USAGE, EINVAL,
			"--%s '%.200s': ends too soon, at character %zu: %s", r->option, r->text,
			pos, right);
	return lb_fail(r->err, LB_ST_USAGE, EINVAL, "--%s '%.200s': at character %zu, '%.*s': %s",
		r->option, r->text, pos, n > 64 ? 64 : (int)n, at, right);
}

/* The kinds of field: how they are read, their range, and the words for it. */
enum field {
	F_NONE,
	F_LATENCY,
	F_EVERY,
	F_NTH,
	F_BYTES,
	F_FROM,
	F_FOR,
	F_FACTOR,
	F_ERRNO,
};

static int parse_errno(const char *s, uint64_t *out)
{
	for (int e = 1; e < 4096; e++) {
		const char *name = strerrorname_np(e);

		if (name && !strcmp(s, name)) {
			*out = (uint64_t)e;
			return 0;
		}
	}
	return -EINVAL;
}

static const struct {
	int (*parse)(const char *s, uint64_t *out);
	uint64_t low, high;
	const char *right;
} fields[] = {
	[F_LATENCY] = {lb_parse_duration, 1, DAY_NS,
		"a time from 1ns to 1d is needed, as 500us or 5ms"},
	[F_EVERY] = {lb_parse_u64, 1, UINT64_MAX, "EVERY must be a whole number from 1"},
	[F_NTH] = {lb_parse_u64, 1, UINT64_MAX, "NTH must be a whole number from 1"},
	[F_BYTES] = {lb_parse_size, 0, 64 << 20, "BYTES must be a size from 0 to 64M"},
	[F_FROM] = {lb_parse_duration, 0, 365 * DAY_NS,
		"FROM must be a time from 0 to 365d, as 2s"},
	[F_FOR] = {lb_parse_duration, 1, 365 * DAY_NS,
		"FOR must be a time from 1ns to 365d, as 2s"},
	[F_FACTOR] = {lb_parse_u64, 1, 1000000, "FACTOR must be a whole number from 1 to 1000000"},
	[F_ERRNO] = {parse_errno, 1, 4095, "ERRNO must be the name of an error, as EIO or ENODEV"},
};

/* Reads one field up to a character of STOPS or the end. */
static int read_field(struct reader *r, enum field kind, const char *stops, uint64_t *out)
{
	size_t n = strcspn(r->at, stops);
	char buf[32];

	if (n >= sizeof(buf))
		return wrong(r, r->at, n, fields[kind].right);
	memcpy(buf, r->at, n);
	buf[n] = '\0';
	if (fields[kind].parse(buf, out) || *out < fields[kind].low || *out > fields[kind].high)
		return wrong(r, r->at, n, fields[kind].right);
	r->at += n;
	return 0;
}

/* Steps over C, which must come next. */
static int expect(struct reader *r, char c, const char *right)
{
	if (*r->at != c)
		return wrong(r, r->at, *r->at ? 1 : 0, right);
	r->at++;
	return 0;
}

static bool skip_word(struct reader *r, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(r->at, word, n))
		return false;
	r->at += n;
	return true;
}

static int read_list(struct reader *r, struct lb_null_latency *lat)
{
	uint32_t n = 1;
	int rc;

	for (const char *s = r->at; *s; s++)
		n += *s == '/';
	lat->list_ns = calloc(n, sizeof(*lat->list_ns));
	if (!lat->list_ns)
		return lb_fail(r->err, LB_ST_UNAVAILABLE, ENOMEM, "--%s: out of memory", r->option);
	for (;;) {
		rc = read_field(r, F_LATENCY, "/", &lat->list_ns[lat->n_list++]);
		if (rc || !*r->at)
			return rc;
		r->at++;
	}
}

static int read_uniform(struct reader *r, struct lb_null_latency *lat)
{
	const char *high;
	int rc = read_field(r, F_LATENCY, ":", &lat->low_ns);

	if (!rc)
		rc = expect(r, ':', "':' and the upper end of uniform:LOW:HIGH are needed");
	if (rc)
		return rc;
	high = r->at;
	rc = read_field(r, F_LATENCY, "", &lat->high_ns);
	if (!rc && lat->high_ns < lat->low_ns)
		rc = wrong(r, high, strlen(high), "HIGH of uniform:LOW:HIGH must not be below LOW");
	return rc;
}

int lb_null_latency_parse(
	struct lb_null_latency *lat, const char *option, const char *text, struct lb_err *err)
{
	struct reader r = {option, text, text, err};
	size_t n = strcspn(text, ":");

	memset(lat, 0, sizeof(*lat));
	if (skip_word(&r, "uniform:")) {
		lat->kind = LB_NULL_UNIFORM;
		return read_uniform(&r, lat);
	}
	if (skip_word(&r, "exp:")) {
		lat->kind = LB_NULL_EXP;
		return read_field(&r, F_LATENCY, "", &lat->low_ns);
	}
	lat->kind = LB_NULL_LIST;
	if (skip_word(&r, "list:"))
		return read_list(&r, lat);
	if (text[n])
		return wrong(&r, text, n,
			"must be a time, uniform:LOW:HIGH, exp:MEAN or list:TIME/TIME...");
	lat->list_ns = calloc(1, sizeof(*lat->list_ns));
	if (!lat->list_ns)
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "--%s: out of memory", option);
	lat->n_list = 1;
	return read_field(&r, F_LATENCY, "", lat->list_ns);
}

void lb_null_latency_done(struct lb_null_latency *lat)
{
	if (lat)
		free(lat->list_ns);
}

uint64_t lb_null_latency_draw(const struct lb_null_latency *lat, uint64_t nth, struct lb_rng *rng)
{
	double u, ns;

	switch (lat->kind) {
	case LB_NULL_UNIFORM:
		return lat->low_ns + lb_rng_below(rng, lat->high_ns - lat->low_ns + 1);
	case LB_NULL_EXP:
		u = (double)((lb_rng_next(rng) >> 11) + 1) * 0x1p-53; /* in (0, 1] */
		ns = -log(u) * (double)lat->low_ns;
		return ns < 1 ? 1 : (uint64_t)ns;
	default:
		return lat->list_ns[(nth - 1) % lat->n_list];
	}
}

static const struct {
	const char *name;
	enum field a, b;
	const char *form;
} kinds[] = {
	[LB_NULL_ERROR] = {"error", F_EVERY, F_ERRNO, "must be error:EVERY:ERRNO[@LUN]"},
	[LB_NULL_SHORT] = {"short", F_EVERY, F_BYTES, "must be short:EVERY:BYTES[@LUN]"},
	[LB_NULL_STALL] = {"stall", F_FROM, F_FOR, "must be stall:FROM:FOR[@LUN]"},
	[LB_NULL_LOSE] = {"lose", F_NTH, F_NONE, "must be lose:NTH[@LUN]"},
	[LB_NULL_DEAD] = {"dead", F_FROM, F_NONE, "must be dead:FROM[@LUN]"},
	[LB_NULL_SLOW] = {"slow", F_FACTOR, F_NONE, "must be slow:FACTOR[@LUN]"},
	[LB_NULL_GONE] = {"gone", F_FROM, F_ERRNO, "must be gone:FROM:ERRNO[@LUN]"},
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static int read_event_kind(struct reader *r, enum lb_null_event_kind *kind)
{
	size_t n = strcspn(r->at, ":@,");

	for (size_t i = 0; i < N_KINDS; i++)
		if (n == strlen(kinds[i].name) && !strncmp(r->at, kinds[i].name, n)) {
			*kind = (enum lb_null_event_kind)i;
			r->at += n;
			return 0;
		}
	return wrong(r, r->at, n,
		"an event is needed: error:EVERY:ERRNO, short:EVERY:BYTES, stall:FROM:FOR, lose:NTH, "
		"dead:FROM, slow:FACTOR or gone:FROM:ERRNO, each with @LUN or not");
}

static int read_lun(struct reader *r, uint32_t *lun)
{
	size_t n = strcspn(r->at, ",");
	char buf[16];
	uint64_t v;

	if (n < sizeof(buf)) {
		memcpy(buf, r->at, n);
		buf[n] = '\0';
		if (!lb_parse_u64(buf, &v) && v < LB_NULL_ALL_LUNS) {
			*lun = (uint32_t)v;
			r->at += n;
			return 0;
		}
	}
	return wrong(
		r, r->at, n, "LUN must be a number, counted from 0 in the order of the targets");
}

static int read_event(struct reader *r, struct lb_null_event *ev)
{
	const char *start = r->at, *form;
	int rc = read_event_kind(r, &ev->kind);

	if (rc)
		return rc;
	form = kinds[ev->kind].form;
	rc = expect(r, ':', form);
	if (!rc)
		rc = read_field(r, kinds[ev->kind].a, ":@,", &ev->a);
	if (!rc && kinds[ev->kind].b != F_NONE) {
		rc = expect(r, ':', form);
		if (!rc)
			rc = read_field(r, kinds[ev->kind].b, ":@,", &ev->b);
	}
	if (rc)
		return rc;
	ev->lun = LB_NULL_ALL_LUNS;
	if (*r->at == '@') {
		r->at++;
		return read_lun(r, &ev->lun);
	}
	if (*r->at && *r->at != ',')
		return wrong(r, start, strcspn(start, ","), form);
	return 0;
}

int lb_null_script_parse(
	struct lb_null_script *script, const char *option, const char *text, struct lb_err *err)
{
	struct reader r = {option, text, text, err};
	uint32_t n = 1;
	int rc;

	memset(script, 0, sizeof(*script));
	for (const char *s = text; *s; s++)
		n += *s == ',';
	script->events = calloc(n, sizeof(*script->events));
	if (!script->events)
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "--%s: out of memory", option);
	for (;;) {
		rc = read_event(&r, &script->events[script->n_events]);
		if (rc)
			return rc;
		script->n_events++;
		if (!*r.at)
			return 0;
		r.at++; /* the comma */
	}
}

void lb_null_script_done(struct lb_null_script *script)
{
	if (script)
		free(script->events);
}
