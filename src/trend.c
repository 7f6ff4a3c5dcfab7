#include "trend.h"

#include "clock.h"

#define POINTS_MIN  5 /* of fewer none is the worst */
#define QUARTERS_NS (60 * LB_NSEC_PER_SEC)

static uint64_t xfers_of(const struct lb_series *s, uint32_t i)
{
	uint64_t xfers = 0;

	for (uint32_t pos = 0; pos < s->n_ops; pos++)
		xfers += lb_series_point(s, s->n_rows - 1, pos, i)->xfers;
	return xfers;
}

static double per_s(uint64_t xfers, uint64_t ns)
{
	return (double)xfers / ((double)ns / (double)LB_NSEC_PER_SEC);
}

static void find_worst(struct lb_trend *t, const struct lb_series *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		uint64_t begin = lb_series_begin_ns(s, i), len = s->end_ns[i] - begin;
		double rate;

		if (len < s->interval_ns / 10 * 9) /* the last one may be */
			continue;
		rate = per_s(xfers_of(s, i), len);
		if (t->has_worst && rate >= t->worst_per_s)
			continue;
		t->has_worst = true;
		t->worst_per_s = rate;
		t->worst_begin_ns = begin - s->begin_ns;
		t->worst_end_ns = s->end_ns[i] - s->begin_ns;
	}
}

/* The rate over the whole intervals between two times; 0 with *HAS false: there are none. */
static double rate_between(const struct lb_series *s, uint64_t from_ns, uint64_t to_ns, bool *has)
{
	uint64_t xfers = 0, ns = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		uint64_t begin = lb_series_begin_ns(s, i);

		if (begin < from_ns || s->end_ns[i] > to_ns)
			continue;
		xfers += xfers_of(s, i);
		ns += s->end_ns[i] - begin;
	}
	*has = ns > 0;
	return *has ? per_s(xfers, ns) : 0;
}

void lb_trend_make(struct lb_trend *t, const struct lb_series *s)
{
	bool has_first, has_last;
	uint64_t end, len;

	*t = (struct lb_trend){0};
	if (!s || !s->n)
		return;
	if (s->n >= POINTS_MIN)
		find_worst(t, s);
	end = s->end_ns[s->n - 1];
	len = end - s->begin_ns;
	if (len <= QUARTERS_NS)
		return;
	t->first_per_s = rate_between(s, s->begin_ns, s->begin_ns + len / 4, &has_first);
	t->last_per_s = rate_between(s, end - len / 4, end, &has_last);
	t->has_quarters = has_first && has_last;
}
