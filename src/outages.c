#include "outages.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "clock.h"

/* What befell LUN ROW, or any; that the state was steady befell nobody. */
static size_t events_of(const struct lb_result *r, uint32_t row, struct lb_outage_event *to)
{
	size_t n = 0;

	for (uint32_t i = 0; i < r->n_events; i++) {
		const struct lb_event *ev = r->events[i];
		uint64_t end_ns = atomic_load_explicit(&ev->end_ns, memory_order_relaxed);

		if (ev->kind == LB_EV_STEADY || (row < r->n_luns && ev->lun != (int32_t)row))
			continue;
		to[n++] = (struct lb_outage_event){lb_seconds_since(r->open_ns, ev->begin_ns),
			end_ns == LB_NEVER ? INFINITY : lb_seconds_since(r->open_ns, end_ns)};
	}
	return n;
}

int lb_outages_make_row(
	struct lb_result *r, uint32_t row, const struct lb_outage_point *points, size_t n)
{
	struct lb_outage_event *events = malloc((r->n_events + 1) * sizeof(*events));
	struct lb_outages *o = &r->outages[row];
	int found;

	if (!events)
		return -ENOMEM;
	found = lb_outages_find(points, n, events, events_of(r, row, events), &o->at);
	free(events);
	if (found < 0)
		return found;
	o->n = (uint32_t)found;
	return 0;
}

static double known(uint64_t ns)
{
	return ns ? (double)ns : -1;
}

/* Point I of row ROW of S, of all ops together. */
static struct lb_outage_point point_of(
	const struct lb_result *r, const struct lb_series *s, uint32_t row, uint32_t i)
{
	struct lb_outage_point p = {
		.begin_s = lb_seconds_since(r->open_ns, lb_series_begin_ns(s, i)),
		.end_s = lb_seconds_since(r->open_ns, s->end_ns[i]),
		.p99_ns = -1,
		.max_ns = -1};

	for (uint32_t pos = 0; pos < s->n_ops; pos++) {
		const struct lb_point *of = lb_series_point(s, row, pos, i);

		p.xfers += (double)of->xfers;
		/* of an open loop what users feel, which is never less */
		p.p99_ns = fmax(p.p99_ns, fmax(known(of->p99_ns), known(of->response_p99_ns)));
		p.max_ns = fmax(p.max_ns, fmax(known(of->max_ns), known(of->response_max_ns)));
	}
	return p;
}

int lb_outages_make(struct lb_result *r)
{
	const struct lb_series *s = r->series;
	struct lb_outage_point *points;
	uint32_t n = s ? s->n : 0;
	int ret = 0;

	r->outages = calloc(r->n_luns + 1, sizeof(*r->outages));
	points = malloc((n + 1) * sizeof(*points));
	if (!r->outages || !points)
		ret = -ENOMEM;
	for (uint32_t row = 0; !ret && n && row <= r->n_luns; row++) {
		for (uint32_t i = 0; i < n; i++)
			points[i] = point_of(r, s, row, i);
		ret = lb_outages_make_row(r, row, points, n);
	}
	free(points);
	return ret;
}
