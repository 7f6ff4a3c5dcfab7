#include "steady.h"

#include <math.h>
#include <string.h>

#include "clock.h"

#define RANGE_MOST_PCT 20.0
#define SLOPE_MOST_PCT 10.0

struct lb_steady_fit lb_steady_judge(const double v[LB_STEADY_WINDOWS])
{
	struct lb_steady_fit fit = {0};
	double low = v[0], high = v[0], sum = 0, moment = 0, squares = 0;

	for (int i = 0; i < LB_STEADY_WINDOWS; i++) {
		double x = i - (LB_STEADY_WINDOWS - 1) / 2.0;

		low = fmin(low, v[i]);
		high = fmax(high, v[i]);
		sum += v[i];
		moment += x * v[i];
		squares += x * x;
	}
	fit.mean = sum / LB_STEADY_WINDOWS;
	if (!(fit.mean > 0))
		return fit;
	fit.range_pct = 100 * (high - low) / fit.mean;
	fit.slope_pct = 100 * fabs(moment / squares) * (LB_STEADY_WINDOWS - 1) / fit.mean;
	fit.is_steady = fit.range_pct <= RANGE_MOST_PCT && fit.slope_pct <= SLOPE_MOST_PCT;
	return fit;
}

static void begin_window(struct lb_steady_gauge *g, uint64_t begin_ns)
{
	g->begin_ns = begin_ns;
	g->xfers = g->bytes = 0;
	for (uint32_t i = g->first_bucket; i <= g->last_bucket; i++)
		g->hist.count[i] = 0;
	g->first_bucket = LB_HIST_BUCKETS;
	g->last_bucket = 0;
}

void lb_steady_begin(
	struct lb_steady_gauge *g, enum lb_steady_on on, uint64_t window_ns, uint64_t open_ns)
{
	*g = (struct lb_steady_gauge){.on = on,
		.window_ns = window_ns,
		.due_ns = open_ns + window_ns,
		.first_bucket = LB_HIST_BUCKETS};
	begin_window(g, open_ns);
}

static void add_op(struct lb_steady_gauge *g, const struct lb_series *sample, uint32_t pos)
{
	const struct lb_point *p = lb_series_point(sample, sample->n_rows - 1, pos, 0);
	uint32_t first = sample->first_bucket[pos], last = sample->last_bucket[pos];

	g->xfers += p->xfers;
	g->bytes += p->bytes;
	for (uint32_t i = first; i <= last; i++)
		g->hist.count[i] += sample->total[pos].count[i];
	if (first < g->first_bucket)
		g->first_bucket = first;
	if (last > g->last_bucket)
		g->last_bucket = last;
}

/* 0 where there is none: that is never steady. */
static double value_of(const struct lb_steady_gauge *g, uint64_t end_ns)
{
	double seconds = (double)(end_ns - g->begin_ns) / (double)LB_NSEC_PER_SEC;
	uint64_t p99_ns;

	switch (g->on) {
	case LB_STEADY_KB:
		return (double)g->bytes / 1024 / seconds;
	case LB_STEADY_P99:
		return lb_hist_percentile_in(&g->hist, g->first_bucket, g->last_bucket, 990000, 0,
			       UINT64_MAX, &p99_ns) < 0
			       ? 0
			       : (double)p99_ns;
	default:
		return (double)g->xfers / seconds;
	}
}

bool lb_steady_add(
	struct lb_steady_gauge *g, struct lb_steady *steady, const struct lb_series *sample)
{
	uint64_t end_ns = sample->end_ns[0];

	for (uint32_t pos = 0; pos < sample->n_ops; pos++)
		add_op(g, sample, pos);
	if (end_ns < g->due_ns)
		return false;
	if (steady->n == LB_STEADY_WINDOWS) {
		steady->n--;
		memmove(steady->value, steady->value + 1, steady->n * sizeof(*steady->value));
		memmove(steady->end_ns, steady->end_ns + 1, steady->n * sizeof(*steady->end_ns));
	}
	steady->value[steady->n] = value_of(g, end_ns);
	steady->end_ns[steady->n++] = end_ns;
	if (steady->n == LB_STEADY_WINDOWS)
		steady->fit = lb_steady_judge(steady->value);
	while (g->due_ns <= end_ns) /* whoever drives this may have been held up */
		g->due_ns += g->window_ns;
	begin_window(g, end_ns);
	return steady->fit.is_steady;
}
