/* The time series as columns, for programs: a thousand LUNs have millions of these numbers. */
#include <stddef.h>
#include <string.h>

#include "clock.h"
#include "json_out.h"
#include "report.h"

/* A column as it is written: numbers go through BUF. */
struct column {
	FILE *out;
	size_t len;
	bool has_sibling;
	char buf[4096];
};

#define NUMBER_MAX 32 /* bytes of one, with its comma */

static void flush(struct column *c)
{
	fwrite_unlocked(c->buf, 1, c->len, c->out);
	c->len = 0;
}

static void begin(struct column *c, struct lb_json *j, const char *key)
{
	c->out = j->out;
	c->len = 0;
	c->has_sibling = false;
	lb_json_raw(j, key);
	c->buf[c->len++] = '[';
}

static void end(struct column *c)
{
	c->buf[c->len++] = ']';
	flush(c);
}

/* Room for one more number, after a comma. */
static void next(struct column *c)
{
	if (c->len > sizeof(c->buf) - NUMBER_MAX - 1)
		flush(c);
	if (c->has_sibling)
		c->buf[c->len++] = ',';
	c->has_sibling = true;
}

static void digits(struct column *c, uint64_t v)
{
	char buf[20], *p = buf + sizeof(buf);

	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	memcpy(c->buf + c->len, p, (size_t)(buf + sizeof(buf) - p));
	c->len += (size_t)(buf + sizeof(buf) - p);
}

static void put(struct column *c, uint64_t v)
{
	next(c);
	digits(c, v);
}

static void put_null(struct column *c)
{
	next(c);
	memcpy(c->buf + c->len, "null", 4);
	c->len += 4;
}

/* NS as seconds: exact, and with a point always. */
static void put_seconds(struct column *c, uint64_t ns)
{
	uint64_t part = ns % LB_NSEC_PER_SEC, unit = LB_NSEC_PER_SEC / 10;

	next(c);
	digits(c, ns / LB_NSEC_PER_SEC);
	c->buf[c->len++] = '.';
	do {
		c->buf[c->len++] = (char)('0' + part / unit);
		part %= unit;
		unit /= 10;
	} while (part);
}

/* ---- one op ---- */

static void put_field(struct lb_json *j, const char *key, const struct lb_series *s,
	const struct lb_point *points, size_t field, bool is_zero_null)
{
	struct column c;

	begin(&c, j, key);
	for (uint32_t i = 0; i < s->n; i++) {
		uint64_t v = *(const uint64_t *)(const void *)((const char *)&points[i] + field);

		if (v || !is_zero_null)
			put(&c, v);
		else
			put_null(&c);
	}
	end(&c);
}

static void put_mean(struct lb_json *j, const char *key, const struct lb_series *s,
	const struct lb_point *points, uint64_t (*mean_ns)(const struct lb_point *))
{
	struct column c;

	begin(&c, j, key);
	for (uint32_t i = 0; i < s->n; i++) {
		if (points[i].xfers)
			put(&c, mean_ns(&points[i]));
		else
			put_null(&c);
	}
	end(&c);
}

/* Of an open loop. */
static void put_responses(
	struct lb_json *j, const struct lb_series *s, const struct lb_point *points, bool is_open)
{
	if (!is_open) {
		lb_json_null(j, "response_mean_ns");
		lb_json_null(j, "response_p99_ns");
		lb_json_null(j, "response_max_ns");
		return;
	}
	put_mean(j, "response_mean_ns", s, points, lb_point_response_mean_ns);
	put_field(
		j, "response_p99_ns", s, points, offsetof(struct lb_point, response_p99_ns), true);
	put_field(
		j, "response_max_ns", s, points, offsetof(struct lb_point, response_max_ns), true);
}

static void put_op(struct lb_json *j, const char *key, const struct lb_series *s, uint32_t row,
	int pos, bool is_open)
{
	const struct lb_point *points;

	if (pos < 0) {
		lb_json_null(j, key);
		return;
	}
	points = lb_series_point(s, row, (uint32_t)pos, 0);
	lb_json_open(j, key, '{');
	put_field(j, "xfers", s, points, offsetof(struct lb_point, xfers), false);
	put_field(j, "bytes", s, points, offsetof(struct lb_point, bytes), false);
	put_field(j, "errors", s, points, offsetof(struct lb_point, errors), false);
	put_mean(j, "mean_ns", s, points, lb_point_mean_ns);
	put_field(j, "p50_ns", s, points, offsetof(struct lb_point, p50_ns), true);
	put_field(j, "p99_ns", s, points, offsetof(struct lb_point, p99_ns), true);
	put_field(j, "max_ns", s, points, offsetof(struct lb_point, max_ns), true);
	put_responses(j, s, points, is_open);
	lb_json_close(j, '}');
}

/* ---- one row ---- */

static const struct lb_series nothing = {.pos = {-1, -1}};

/* What there is: nothing, where there was no window. */
static const struct lb_series *series_of(const struct lb_result *r)
{
	return r->series && r->series->n ? r->series : &nothing;
}

static void put_backlog(struct lb_json *j, const struct lb_series *s,
	const struct lb_point_both *both, bool is_open)
{
	struct column c;

	if (!is_open) {
		lb_json_null(j, "backlog");
		return;
	}
	begin(&c, j, "backlog");
	for (uint32_t i = 0; i < s->n; i++)
		put(&c, both[i].backlog);
	end(&c);
}

static void put_both(
	struct lb_json *j, const struct lb_series *s, uint32_t row, bool is_total, bool is_open)
{
	const struct lb_point_both *both = s->n ? lb_series_both(s, row, 0) : NULL;
	struct column c;

	begin(&c, j, "in_flight");
	for (uint32_t i = 0; i < s->n; i++)
		put(&c, both[i].in_flight);
	end(&c);
	begin(&c, j, "longest_gap_ns");
	for (uint32_t i = 0; i < s->n; i++)
		put(&c, both[i].gap_ns);
	end(&c);
	put_backlog(j, s, both, is_open);
	if (!is_total)
		return;
	begin(&c, j, "silent_luns");
	for (uint32_t i = 0; i < s->n; i++)
		put(&c, both[i].n_silent);
	end(&c);
}

void lb_report_series_row(struct lb_json *j, const struct lb_result *r, uint32_t row)
{
	const struct lb_series *s = series_of(r);

	lb_json_open(j, "series", '{');
	put_op(j, "read", s, row, s->pos[LB_READ], r->is_open);
	put_op(j, "write", s, row, s->pos[LB_WRITE], r->is_open);
	put_both(j, s, row, row == r->n_luns, r->is_open);
	lb_json_close(j, '}');
}

void lb_report_series(struct lb_json *j, const struct lb_result *r)
{
	const struct lb_series *s = series_of(r);
	struct column c;

	lb_json_open(j, "series", '{');
	lb_json_f64_if(j, "asked_interval_s", s->asked_ns, lb_seconds(s->asked_ns));
	lb_json_f64_if(j, "interval_s", s->interval_ns, lb_seconds(s->interval_ns));
	begin(&c, j, "end_s");
	for (uint32_t i = 0; i < s->n; i++)
		put_seconds(&c, s->end_ns[i] - s->begin_ns);
	end(&c);
	lb_json_close(j, '}');
}

void lb_report_trend(struct lb_json *j, const struct lb_result *r)
{
	const struct lb_trend *t = &r->trend;

	lb_json_open(j, "trend", '{');
	lb_json_f64_if(j, "worst_begin_s", t->has_worst, lb_seconds(t->worst_begin_ns));
	lb_json_f64_if(j, "worst_end_s", t->has_worst, lb_seconds(t->worst_end_ns));
	lb_json_f64_if(j, "worst_xfer_per_s", t->has_worst, t->worst_per_s);
	lb_json_f64_if(j, "first_quarter_xfer_per_s", t->has_quarters, t->first_per_s);
	lb_json_f64_if(j, "last_quarter_xfer_per_s", t->has_quarters, t->last_per_s);
	lb_json_close(j, '}');
}
