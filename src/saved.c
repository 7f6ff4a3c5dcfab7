#include "saved.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "outages.h"

#define SCHEMA "lunbench-result/1"

/* The window's opening on the clock that the events get: late enough for those before it. */
#define OPEN_NS (UINT64_C(1) << 62)
#define FAR_S   1e9  /* from it, at most */
#define MOST    1e18 /* of any count, or of ns */

static int no_memory(const struct lb_saved *s, struct lb_err *err)
{
	return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "no memory for the outages of %u LUNs",
		s->r.n_luns);
}

/* ---- what it is ---- */

static int check_schema(const struct lb_saved *s, struct lb_err *err)
{
	const char *schema;

	if (!lb_jin_has(&s->doc, "schema") || lb_jin_str(&s->doc, "schema", &schema, err))
		return lb_jin_fail(&s->doc, err, "is no result of lunbench: it has no \"schema\"");
	if (strcmp(schema, SCHEMA))
		return lb_jin_fail(
			&s->doc, err, "is a %.64s, not the result of a run, a " SCHEMA, schema);
	if (!lb_jin_has(&s->doc, "series"))
		return lb_jin_fail(&s->doc, err, "has no time series: an older lunbench wrote it");
	return 0;
}

/* The string KEY, or NULL where it is null. */
static int read_text(const struct lb_saved *s, const char *key, const char **to, struct lb_err *err)
{
	*to = NULL;
	return lb_jin_has(&s->doc, key) ? lb_jin_str(&s->doc, key, to, err) : 0;
}

static int read_head(struct lb_saved *s, struct lb_err *err)
{
	double window_s;
	int ret = read_text(s, "host", &s->host, err);

	if (!ret)
		ret = read_text(s, "start_utc", &s->start_utc, err);
	if (!ret)
		ret = lb_jin_str(&s->doc, "ended_by", &s->ended_by, err);
	if (!ret)
		ret = lb_jin_bool(&s->doc, "complete", &s->is_complete, err);
	if (ret || !lb_jin_has(&s->doc, "window_s"))
		return ret;
	ret = lb_jin_f64(&s->doc, "window_s", &window_s, err);
	if (!ret && !(window_s >= 0 && window_s < FAR_S))
		return lb_jin_fail(&s->doc, err, "window_s: is no length of a run");
	if (!ret)
		s->r.window_ns =
			(struct lb_fig_u64){true, (uint64_t)llround(window_s * LB_NSEC_PER_SEC)};
	return ret;
}

/* ---- LUNs ---- */

static int read_luns(struct lb_saved *s, struct lb_err *err)
{
	struct lb_jin luns, lun;
	size_t n;
	int ret = lb_jin_array(&s->doc, "luns", &luns, &n, err);

	if (ret)
		return ret;
	s->luns = calloc(n + 1, sizeof(*s->luns));
	s->r.luns = calloc(n + 1, sizeof(*s->r.luns));
	s->r.outages = calloc(n + 1, sizeof(*s->r.outages));
	s->r.n_luns = (uint32_t)n;
	if (!s->luns || !s->r.luns || !s->r.outages)
		return no_memory(s, err);
	for (size_t i = 0; !ret && i < n; i++) {
		ret = lb_jin_item_object(&luns, i, &lun, err);
		if (!ret)
			ret = lb_jin_str(&lun, "name", &s->luns[i].name, err);
		s->r.luns[i].lun = &s->luns[i];
	}
	return ret;
}

/* ---- events ---- */

static int by_name(const void *a, const void *b)
{
	const struct lb_lun *x = *(const struct lb_lun *const *)a;
	const struct lb_lun *y = *(const struct lb_lun *const *)b;

	return strcmp(x->name, y->name);
}

/* The LUNs by their names; the caller frees. */
static const struct lb_lun **sort_luns(const struct lb_saved *s)
{
	const struct lb_lun **sorted = malloc((s->r.n_luns + 1) * sizeof(*sorted));

	for (uint32_t i = 0; sorted && i < s->r.n_luns; i++)
		sorted[i] = &s->luns[i];
	if (sorted)
		qsort(sorted, s->r.n_luns, sizeof(*sorted), by_name);
	return sorted;
}

static int read_lun_of(const struct lb_saved *s, const struct lb_jin *at,
	const struct lb_lun **sorted, int32_t *lun, struct lb_err *err)
{
	struct lb_lun key = {0}, *wanted = &key, **found;
	int ret;

	*lun = LB_EVENT_OF_RUN;
	if (!lb_jin_has(at, "lun"))
		return 0;
	ret = lb_jin_str(at, "lun", &key.name, err);
	if (ret)
		return ret;
	found = bsearch(&wanted, sorted, s->r.n_luns, sizeof(*sorted), by_name);
	if (!found)
		return lb_jin_fail(at, err, "is of a LUN that is not among the luns");
	*lun = (int32_t)(*found - s->luns);
	return 0;
}

/* Seconds from the window's opening under KEY; null: IF_NULL. */
static int read_time(const struct lb_jin *at, const char *key, uint64_t if_null, uint64_t *to,
	struct lb_err *err)
{
	double v;
	int ret;

	*to = if_null;
	if (!lb_jin_has(at, key))
		return 0;
	ret = lb_jin_f64(at, key, &v, err);
	if (!ret && !(fabs(v) < FAR_S))
		return lb_jin_fail(at, err, "%s: is no time of a run", key);
	if (!ret)
		*to = OPEN_NS + (uint64_t)llround(v * LB_NSEC_PER_SEC);
	return ret;
}

/* The text KEY, if there is one, cut to the N bytes at TO. */
static int read_words(
	const struct lb_jin *at, const char *key, char *to, size_t n, struct lb_err *err)
{
	const char *text;
	int ret;

	if (!lb_jin_has(at, key))
		return 0;
	ret = lb_jin_str(at, key, &text, err);
	if (!ret)
		snprintf(to, n, "%s", text);
	return ret;
}

static int read_count(const struct lb_jin *at, const char *key, uint64_t *to, struct lb_err *err)
{
	return lb_jin_has(at, key) ? lb_jin_u64(at, key, to, err) : 0;
}

/* Of a kind that this lunbench does not know: *KNOWN becomes false. */
static int read_kind(
	const struct lb_jin *at, enum lb_event_kind *kind, bool *known, struct lb_err *err)
{
	const char *name;
	int ret = lb_jin_str(at, "kind", &name, err);

	*known = false;
	for (int i = 0; !ret && !*known && i < LB_EV_KINDS; i++) {
		*known = !strcmp(name, lb_event_names[i]);
		*kind = (enum lb_event_kind)i;
	}
	return ret;
}

static int read_event(const struct lb_jin *at, struct lb_event *ev, struct lb_err *err)
{
	uint64_t end_ns, n = 0;
	int ret = read_time(at, "begin_s", LB_NEVER, &ev->begin_ns, err);

	if (!ret)
		ret = read_time(at, "end_s", LB_NEVER, &end_ns, err);
	if (!ret)
		ret = read_count(at, "ios", &n, err);
	if (!ret)
		ret = read_count(at, "luns_held", &n, err);
	if (!ret)
		ret = read_count(at, "from", &n, err);
	if (!ret)
		ret = read_count(at, "to", &ev->m, err);
	if (!ret)
		ret = read_words(at, "path", ev->what, sizeof(ev->what), err);
	if (!ret)
		ret = read_words(at, "text", ev->what, sizeof(ev->what), err);
	if (!ret)
		ret = read_words(at, "from_state", ev->from, sizeof(ev->from), err);
	if (!ret)
		ret = read_words(at, "to_state", ev->to, sizeof(ev->to), err);
	if (ret)
		return ret;
	atomic_init(&ev->end_ns, end_ns);
	atomic_init(&ev->n, n);
	atomic_init(&ev->is_there, 1);
	return 0;
}

static int read_events_of(struct lb_saved *s, const struct lb_jin *all, size_t n,
	const struct lb_lun **sorted, struct lb_err *err)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < n; i++) {
		struct lb_event *ev = &s->events[i];
		struct lb_jin at;
		bool known = false;

		ret = lb_jin_item_object(all, i, &at, err);
		if (!ret)
			ret = read_kind(&at, &ev->kind, &known, err);
		if (!ret)
			ret = read_lun_of(s, &at, sorted, &ev->lun, err);
		if (!ret)
			ret = read_event(&at, ev, err);
		/* without a window there is no time */
		if (!ret && known && ev->begin_ns != LB_NEVER)
			s->r.events[s->r.n_events++] = ev;
	}
	return ret;
}

/* A document of before there were any has none. */
static int read_events(struct lb_saved *s, struct lb_err *err)
{
	const struct lb_lun **sorted;
	uint64_t dropped = 0;
	struct lb_jin all;
	size_t n;
	int ret;

	ret = read_count(&s->doc, "events_dropped", &dropped, err);
	s->r.events_dropped = (uint32_t)dropped;
	if (ret || !lb_jin_has(&s->doc, "events"))
		return ret;
	ret = lb_jin_array(&s->doc, "events", &all, &n, err);
	if (ret)
		return ret;
	s->events = calloc(n + 1, sizeof(*s->events));
	s->r.events = calloc(n + 1, sizeof(*s->r.events));
	sorted = sort_luns(s);
	if (s->events && s->r.events && sorted)
		ret = read_events_of(s, &all, n, sorted, err);
	else
		ret = no_memory(s, err);
	free(sorted);
	return ret;
}

/* ---- series ---- */

/* The end of each interval, into points of which the rest is not known yet. */
static int read_times(struct lb_saved *s, struct lb_outage_point **points, struct lb_err *err)
{
	struct lb_jin series, ends;
	double before = 0;
	int ret = lb_jin_object(&s->doc, "series", &series, err);

	if (!ret && lb_jin_has(&series, "interval_s")) {
		s->interval_s.has = true;
		ret = lb_jin_f64(&series, "interval_s", &s->interval_s.v, err);
	}
	if (!ret)
		ret = lb_jin_array(&series, "end_s", &ends, &s->n_points, err);
	if (ret)
		return ret;
	*points = calloc(s->n_points + 1, sizeof(**points));
	if (!*points)
		return no_memory(s, err);
	for (size_t i = 0; i < s->n_points; i++) {
		struct lb_outage_point *p = &(*points)[i];

		p->begin_s = before;
		ret = lb_jin_item_f64(&ends, i, &p->end_s, err);
		if (ret)
			return ret;
		if (!(p->end_s > before && p->end_s < FAR_S))
			return lb_jin_fail(
				&ends, err, "item %zu is not later than the one before", i);
		before = p->end_s;
	}
	return 0;
}

static int read_column(const struct lb_saved *s, const struct lb_jin *op, const char *key,
	struct lb_jin *to, struct lb_err *err)
{
	size_t n;
	int ret = lb_jin_array(op, key, to, &n, err);

	if (!ret && n != s->n_points)
		return lb_jin_fail(
			to, err, "has %zu items where series.end_s has %zu", n, s->n_points);
	return ret;
}

/* Item I of the latencies COLUMN, where it is larger than *TO; null is unknown. */
static int read_latency(const struct lb_jin *column, size_t i, double *to, struct lb_err *err)
{
	double v;
	int ret = 0;

	if (lb_jin_item_is_null(column, i))
		return 0;
	ret = lb_jin_item_f64(column, i, &v, err);
	if (!ret && !(v >= 0 && v < MOST))
		return lb_jin_fail(column, err, "item %zu is no latency", i);
	if (!ret)
		*to = fmax(*to, v);
	return ret;
}

/* The latencies KEY of OP, where they are larger than what POINTS have in the field at OFFSET;
 * null: there are none. */
static int add_latencies(const struct lb_saved *s, const struct lb_jin *op, const char *key,
	struct lb_outage_point *points, size_t offset, struct lb_err *err)
{
	struct lb_jin column;
	int ret;

	if (!lb_jin_has(op, key))
		return 0;
	ret = read_column(s, op, key, &column, err);
	for (size_t i = 0; !ret && i < s->n_points; i++)
		ret = read_latency(
			&column, i, (double *)(void *)((char *)&points[i] + offset), err);
	return ret;
}

/* Adds what op KEY did; null: the run has none. */
static int add_op(const struct lb_saved *s, const struct lb_jin *series, const char *key,
	struct lb_outage_point *points, struct lb_err *err)
{
	static const struct {
		const char *key;
		size_t offset;
	} latencies[] = {
		{"p99_ns", offsetof(struct lb_outage_point, p99_ns)},
		{"max_ns", offsetof(struct lb_outage_point, max_ns)},
		{"response_p99_ns", offsetof(struct lb_outage_point, p99_ns)},
		{"response_max_ns", offsetof(struct lb_outage_point, max_ns)},
	};
	struct lb_jin op, xfers;
	double v;
	int ret;

	if (!lb_jin_has(series, key))
		return 0;
	ret = lb_jin_object(series, key, &op, err);
	if (!ret)
		ret = read_column(s, &op, "xfers", &xfers, err);
	for (size_t i = 0; !ret && i < s->n_points; i++) {
		ret = lb_jin_item_f64(&xfers, i, &v, err);
		if (!ret && !(v >= 0 && v < MOST))
			return lb_jin_fail(&xfers, err, "item %zu is no count", i);
		points[i].xfers += v;
	}
	for (size_t i = 0; !ret && i < sizeof(latencies) / sizeof(latencies[0]); i++)
		ret = add_latencies(s, &op, latencies[i].key, points, latencies[i].offset, err);
	return ret;
}

/* Row ROW is what ROW_IN has: a LUN, or the total. */
static int read_row(struct lb_saved *s, uint32_t row, const struct lb_jin *row_in,
	struct lb_outage_point *points, struct lb_err *err)
{
	struct lb_jin series;
	int ret = lb_jin_object(row_in, "series", &series, err);

	for (size_t i = 0; i < s->n_points; i++) {
		points[i].xfers = 0;
		points[i].p99_ns = points[i].max_ns = -1;
	}
	if (!ret)
		ret = add_op(s, &series, "read", points, err);
	if (!ret)
		ret = add_op(s, &series, "write", points, err);
	if (!ret && lb_outages_make_row(&s->r, row, points, s->n_points))
		return no_memory(s, err);
	return ret;
}

static int read_rows(struct lb_saved *s, struct lb_outage_point *points, struct lb_err *err)
{
	struct lb_jin luns, in;
	size_t n;
	int ret = lb_jin_array(&s->doc, "luns", &luns, &n, err);

	for (uint32_t i = 0; !ret && i < s->r.n_luns; i++) {
		ret = lb_jin_item_object(&luns, i, &in, err);
		if (!ret)
			ret = read_row(s, i, &in, points, err);
	}
	if (!ret)
		ret = lb_jin_object(&s->doc, "total", &in, err);
	if (!ret)
		ret = read_row(s, s->r.n_luns, &in, points, err);
	return ret;
}

/* ---- all of it ---- */

int lb_saved_load(struct lb_saved *s, const char *path, struct lb_err *err)
{
	struct lb_outage_point *points = NULL;
	int ret;

	memset(s, 0, sizeof(*s));
	s->path = path;
	s->r.open_ns = OPEN_NS;
	ret = lb_jin_load(&s->doc, path, err);
	if (!ret)
		ret = check_schema(s, err);
	if (!ret)
		ret = read_head(s, err);
	if (!ret)
		ret = read_luns(s, err);
	if (!ret)
		ret = read_events(s, err);
	if (!ret)
		ret = read_times(s, &points, err);
	if (!ret)
		ret = read_rows(s, points, err);
	free(points);
	return ret;
}

void lb_saved_done(struct lb_saved *s)
{
	lb_result_done(&s->r);
	free(s->luns);
	free(s->events);
	lb_jin_done(&s->doc);
}
