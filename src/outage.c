#include "outage.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FALLEN 0.95 /* of the baseline: below it the rate has fallen */
#define BURST  1.05 /* above it one catches up */

#define BASE_MOST  100 /* quiet intervals that a baseline is made of */
#define BASE_LEAST LB_OUTAGE_POINTS_MIN

/* A fall must be this many standard errors; less beside an event, of which there are few. */
#define SURE       6.0
#define SURE_EVENT 4.0
#define BASE_SURE  20 /* quiet intervals; where there are fewer, no less will do */
/* Whatever the noise, next to nothing is no noise. */
#define DEAD       0.1 /* of the baseline, beside an event; else twice in a row */
#define DEAD_LEAST 20  /* xfers that were to be expected */
/* For what no event stands beside: */
#define LEAST_LOST 0.5 /* of an interval's work */
#define DEEP       0.5 /* of the baseline: it must fall to that where these are fewer */

#define SPREAD_LEAST    0.01   /* of the baseline: no device is steadier */
#define LOWEST_TENTH    1.2816 /* standard deviations below the median of a normal distribution */
#define MEDIAN_VARIANCE 1.57   /* of a median, against that of a mean */

/* How alike neighbours are: what is taken for it, and the intervals that outweigh this. */
#define LIKENESS        0.5
#define LIKENESS_WEIGHT 10
#define LIKENESS_MOST   0.9

#define NONE SIZE_MAX

#define EVENT_BEFORE 2 /* intervals from the event to the fall */
#define EVENT_AFTER  1 /* the kernel's word is looked for once a second */

#define RECOVERED     3     /* intervals in a row, at least */
#define RECOVERED_ERR 0.015 /* standard error of the rate that is called recovered */
#define CHANCE        3.0   /* standard errors that such a rate may be too low by */

/* The rates of the latest of some quiet intervals, in order of time (a ring) and of size. */
struct quiet {
	double recent[BASE_MOST], sorted[BASE_MOST];
	size_t n; /* all there were */
};

/* What they tell. */
struct level {
	double base, spread; /* median, standard deviation; per second */
	double likeness;     /* of neighbours: their correlation */
	size_t n;
};

struct scan {
	struct lb_outage_point *points; /* N, the last of them no short one */
	size_t n;
	bool *is_near; /* to an event */
	struct quiet before;
	struct quiet first; /* of the run, for what has too few before it */
};

struct sum {
	double xfers, secs;
};

static double length(const struct lb_outage_point *p)
{
	return p->end_s - p->begin_s;
}

static double rate(const struct lb_outage_point *p)
{
	return p->xfers / length(p);
}

static void add_to(struct sum *sum, const struct lb_outage_point *p)
{
	sum->xfers += p->xfers;
	sum->secs += length(p);
}

static double worse(double a, double b)
{
	return a > b ? a : b;
}

/* ---- the points and events ---- */

static void join(struct lb_outage_point *p, const struct lb_outage_point *next)
{
	p->end_s = next->end_s;
	p->xfers += next->xfers;
	p->p99_ns = worse(p->p99_ns, next->p99_ns);
	p->max_ns = worse(p->max_ns, next->max_ns);
}

/* The last interval of a run may be a short one, whose rate says little: it is one with the last
 * but one. */
static void take_points(struct scan *s, const struct lb_outage_point *points, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (length(&points[i]) > 0)
			s->points[s->n++] = points[i];
	if (s->n > 1 && 2 * length(&s->points[s->n - 1]) < length(&s->points[s->n - 2])) {
		s->n--;
		join(&s->points[s->n - 1], &s->points[s->n]);
	}
}

/* The first point that ends after AT_S; n: none. */
static size_t point_at(const struct scan *s, double at_s)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->points[mid].end_s > at_s)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* STEPS: room for n + 1 zeros. */
static void mark_events(
	struct scan *s, const struct lb_outage_event *events, size_t n, int32_t *steps)
{
	int32_t under_way = 0;

	for (size_t i = 0; i < n; i++) {
		size_t from = point_at(s, events[i].begin_s);
		size_t to = point_at(s, events[i].end_s) + 1 + EVENT_BEFORE;

		if (from == s->n || events[i].end_s < 0) /* after the window, or before it */
			continue;
		steps[from > EVENT_AFTER ? from - EVENT_AFTER : 0]++;
		steps[to < s->n ? to : s->n]--;
	}
	for (size_t i = 0; i < s->n; i++) {
		under_way += steps[i];
		s->is_near[i] = under_way > 0;
	}
}

/* ---- levels ---- */

/* Where V is, or belongs, among N in order of size. */
static size_t place(const double *sorted, size_t n, double v)
{
	size_t low = 0;

	while (n) {
		size_t half = n / 2;

		if (sorted[low + half] < v) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return low;
}

static size_t n_kept(const struct quiet *q)
{
	return q->n < BASE_MOST ? q->n : BASE_MOST;
}

static void quiet_add(struct quiet *q, double v)
{
	size_t slot = q->n % BASE_MOST, n = n_kept(q), at;

	if (n == BASE_MOST) {
		n--;
		at = place(q->sorted, BASE_MOST, q->recent[slot]);
		memmove(&q->sorted[at], &q->sorted[at + 1], (n - at) * sizeof(*q->sorted));
	}
	at = place(q->sorted, n, v);
	memmove(&q->sorted[at + 1], &q->sorted[at], (n - at) * sizeof(*q->sorted));
	q->sorted[at] = v;
	q->recent[slot] = v;
	q->n++;
}

static double median(const struct quiet *q)
{
	size_t n = n_kept(q);

	return n ? (q->sorted[(n - 1) / 2] + q->sorted[n / 2]) / 2 : 0;
}

static double likeness(const struct quiet *q, double about)
{
	size_t n = n_kept(q), oldest = q->n - n;
	double own = 0, next = 0, r;

	for (size_t i = 0; i < n; i++) {
		double v = q->recent[(oldest + i) % BASE_MOST] - about;

		own += v * v;
		if (i)
			next += v * (q->recent[(oldest + i - 1) % BASE_MOST] - about);
	}
	r = own > 0 ? next / own : 0;
	r = (r * (double)n + LIKENESS * LIKENESS_WEIGHT) / (double)(n + LIKENESS_WEIGHT);
	return fmin(fmax(r, 0), LIKENESS_MOST);
}

/* LENGTH_S: of an interval. */
static struct level level_of(const struct quiet *q, double length_s)
{
	size_t n = n_kept(q);
	double base = median(q), spread = (base - q->sorted[n / 10]) / LOWEST_TENTH;

	spread *= 1 + 2.0 * BASE_LEAST / (double)n; /* few may be alike by chance */
	return (struct level){
		.base = base,
		/* a count may be one more or less by where the interval begins */
		.spread = fmax(spread, fmax(SPREAD_LEAST * base, 1 / length_s)),
		.likeness = likeness(q, base),
		.n = n,
	};
}

/* The first intervals of the run: those no event is near to, where there are enough of them. */
static void take_first(struct scan *s)
{
	size_t n = s->n < BASE_MOST ? s->n : BASE_MOST;

	for (size_t i = 0; i < n; i++)
		if (!s->is_near[i])
			quiet_add(&s->first, rate(&s->points[i]));
	if (s->first.n >= BASE_LEAST)
		return;
	s->first.n = 0;
	for (size_t i = 0; i < n; i++)
		quiet_add(&s->first, rate(&s->points[i]));
}

/* What the next interval is held against. */
static const struct quiet *yardstick(const struct scan *s)
{
	return s->before.n >= BASE_LEAST ? &s->before : &s->first;
}

/* Variance of the mean of K in a row, of spread 1, where each is like its neighbour. */
static double variance_of(size_t k, double like)
{
	double n = (double)k, rest = 1 - like;

	return ((1 + like) / rest - 2 * like * (1 - pow(like, n)) / (n * rest * rest)) / n;
}

/* Standard error of what the mean of K in a row is below level L. */
static double sigma_of(const struct level *l, size_t k)
{
	return l->spread *
	       sqrt(variance_of(k, l->likeness) + MEDIAN_VARIANCE * variance_of(l->n, l->likeness));
}

/* ---- beginning and end ---- */

/* Whether the run had been at level L before: else it has not fallen, but not yet risen. */
static bool has_been_there(const struct scan *s, const struct level *l)
{
	size_t n = n_kept(&s->before);

	return n >= BASE_LEAST || (n && s->before.sorted[n - 1] >= FALLEN * l->base);
}

/* Whether interval I has next to nothing of level L. */
static bool is_dead(const struct scan *s, size_t i, const struct level *l)
{
	return rate(&s->points[i]) < DEAD * l->base &&
	       l->base * length(&s->points[i]) >= DEAD_LEAST;
}

/*
 * Whether the rate has fallen from interval I on: the mean of it and those that follow is so low
 * that chance does not explain it. A fall of a few percent needs more of them than a deep one.
 * Returns the interval by which that is sure; NONE: it has not.
 */
static size_t fallen_by(const struct scan *s, size_t i, const struct level *l)
{
	const bool may_be_alone = has_been_there(s, l);
	const double sure_event = l->n < BASE_SURE ? SURE : SURE_EVENT;
	const double least_fall = l->n < BASE_SURE ? (1 - DEEP) * l->base : 0;
	const double least_lost = LEAST_LOST * l->base * length(&s->points[i]);
	struct sum sum = {0};

	for (size_t k = i; k < s->n; k++) {
		double sigma = sigma_of(l, k - i + 1), fall;

		add_to(&sum, &s->points[k]);
		fall = l->base - sum.xfers / sum.secs;
		if (fall <= (1 - FALLEN) * l->base)
			return NONE;
		if (s->is_near[i] && fall > sure_event * sigma)
			return k;
		if (is_dead(s, k, l) &&
			(s->is_near[k] || (may_be_alone && k > i && is_dead(s, k - 1, l))))
			return k;
		if (may_be_alone && fall > fmax(SURE * sigma, least_fall) &&
			fall * sum.secs >= least_lost)
			return k;
	}
	return NONE;
}

/*
 * The rate that parts level L from an outage, where it lies BETWEEN the two: 95% of the baseline
 * where there is no noise, and where there is some what that alone seldom goes below.
 */
static double edge_of(const struct level *l, double between)
{
	return fmin(FALLEN * l->base, fmax(l->base - 2 * l->spread, between));
}

/* That of the end of an outage. What is left of the rate is less noisy than the rate was. */
static double upper_edge(const struct level *l, const struct sum *outage)
{
	double left = fmax(outage->xfers / outage->secs, DEAD * DEAD * l->base);

	return edge_of(l, sqrt(l->base * left));
}

/* Whether the rate is back at level L from interval I on, or from there to the run's end. */
static bool has_recovered(const struct scan *s, size_t i, const struct level *l, double edge)
{
	const double some = l->spread / (RECOVERED_ERR * l->base);
	const double alike = (1 + l->likeness) / (1 - l->likeness);
	const double enough = fmin(fmax(some * some * alike, RECOVERED), BASE_MOST);
	struct sum sum = {0};
	size_t n = 0;

	for (; i + n < s->n && (double)n < enough; n++) {
		add_to(&sum, &s->points[i + n]);
		if ((n < RECOVERED && rate(&s->points[i + n]) < edge) ||
			sum.xfers < edge * sum.secs)
			return false;
	}
	return sum.xfers / sum.secs >=
	       l->base - fmax((1 - FALLEN) * l->base, CHANCE * sigma_of(l, n));
}

/* The first interval from FROM on that did not just happen to be low before the fall, which was
 * there by BY and left so much. */
static size_t trim(const struct scan *s, size_t from, size_t by, const struct level *l, double left)
{
	const double edge = edge_of(l, (l->base + left) / 2);
	struct sum sum = {0};
	size_t first = from;

	for (size_t i = from; i < by; i++) {
		add_to(&sum, &s->points[i]);
		if (sum.xfers < edge * sum.secs)
			continue;
		first = i + 1;
		sum = (struct sum){0};
	}
	return first;
}

/* ---- what it cost ---- */

/* Of the intervals FROM up to TO, the first after them. */
static void sum_up(const struct scan *s, size_t from, size_t to, struct lb_outage *o)
{
	const double base = o->baseline_per_s;
	double lowest = base;
	bool is_known = true;

	o->begin_s = s->points[from].begin_s;
	o->end_s = s->points[to - 1].end_s;
	o->worst_p99_ns = o->worst_max_ns = -1;
	for (size_t i = from; i < to; i++) {
		const struct lb_outage_point *p = &s->points[i];

		lowest = fmin(lowest, rate(p));
		if (rate(p) < FALLEN * base)
			o->below_s += length(p);
		o->lost_xfers += base * length(p) - p->xfers;
		o->has_event |= s->is_near[i];
	}
	/* what had to wait came back in the interval after */
	for (size_t i = from; i < to + (to < s->n); i++) {
		is_known &= !(s->points[i].xfers > 0) || s->points[i].p99_ns >= 0;
		o->worst_p99_ns = worse(o->worst_p99_ns, s->points[i].p99_ns);
		o->worst_max_ns = worse(o->worst_max_ns, s->points[i].max_ns);
	}
	if (!is_known) /* the few of an interval may be the worst of all */
		o->worst_p99_ns = -1;
	o->fall_pct = 100 * (1 - lowest / base);
	o->mean_fall_pct = fmin(100, 100 * o->lost_xfers / (base * (o->end_s - o->begin_s)));
}

/* The burst that begins in interval I or the next, if there is one; returns the first after it. */
static size_t catch_up(const struct scan *s, size_t i, const struct level *l, struct lb_outage *o)
{
	const double high = fmax(BURST * l->base, l->base + 3 * l->spread);
	size_t k = i;

	if (k + 1 < s->n && rate(&s->points[k]) <= high)
		k++;
	if (k >= s->n || rate(&s->points[k]) <= high)
		return i;
	for (; k < s->n && rate(&s->points[k]) > high; k++) {
		const struct lb_outage_point *p = &s->points[k];

		o->catch_up_pct = fmax(o->catch_up_pct, 100 * (rate(p) / l->base - 1));
		o->catch_up_s += length(p);
		o->catch_up_xfers += p->xfers - l->base * length(p);
	}
	return k;
}

/* The outage that begins about interval I and was there by BY; returns the first one after it. */
static size_t measure(
	const struct scan *s, size_t i, size_t by, const struct level *l, struct lb_outage *o)
{
	struct sum sum = {0};
	size_t end = by + 1;

	add_to(&sum, &s->points[by]);
	while (end < s->n && !has_recovered(s, end, l, upper_edge(l, &sum)))
		add_to(&sum, &s->points[end++]);
	*o = (struct lb_outage){.baseline_per_s = l->base, .has_recovered = end < s->n};
	sum_up(s, trim(s, i, by, l, sum.xfers / sum.secs), end, o);
	return catch_up(s, end, l, o);
}

static int add(struct lb_outage **all, size_t n, const struct lb_outage *o)
{
	struct lb_outage *more = reallocarray(*all, n + 1, sizeof(**all));

	if (!more)
		return -ENOMEM;
	*all = more;
	more[n] = *o;
	return 0;
}

static int scan(struct scan *s, struct lb_outage **out)
{
	int n = 0;

	for (size_t i = 0; i < s->n;) {
		const struct quiet *q = yardstick(s);
		struct lb_outage o;
		struct level l;
		size_t by;

		if (q->n < BASE_LEAST)
			break;
		if (rate(&s->points[i]) < FALLEN * median(q)) {
			l = level_of(q, length(&s->points[i]));
			by = fallen_by(s, i, &l);
			if (by != NONE) {
				i = measure(s, i, by, &l, &o);
				if (add(out, (size_t)n, &o))
					return -ENOMEM;
				n++;
				continue;
			}
		}
		quiet_add(&s->before, rate(&s->points[i++]));
	}
	return n;
}

int lb_outages_find(const struct lb_outage_point *points, size_t n,
	const struct lb_outage_event *events, size_t n_events, struct lb_outage **out)
{
	struct scan *s = calloc(1, sizeof(*s));
	int32_t *steps = calloc(n + 1, sizeof(*steps));
	int ret = -ENOMEM;

	*out = NULL;
	if (s) {
		s->points = calloc(n + 1, sizeof(*s->points));
		s->is_near = calloc(n + 1, sizeof(*s->is_near));
	}
	if (s && steps && s->points && s->is_near) {
		take_points(s, points, n);
		mark_events(s, events, n_events, steps);
		take_first(s);
		ret = scan(s, out);
	}
	if (ret < 0) {
		free(*out);
		*out = NULL;
	}
	if (s) {
		free(s->points);
		free(s->is_near);
	}
	free(s);
	free(steps);
	return ret;
}
