/* What the outages cost: lines of the time line for people, and keys for programs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json_out.h"
#include "report.h"
#include "units.h"

/* ---- for programs ---- */

static void put_latency(struct lb_json *j, const char *key, double ns)
{
	if (ns < 0)
		lb_json_null(j, key);
	else
		lb_json_u64(j, key, (uint64_t)ns);
}

static void put_outage(struct lb_json *j, const struct lb_outage *o)
{
	lb_json_open(j, NULL, '{');
	lb_json_f64(j, "begin_s", o->begin_s);
	lb_json_f64(j, "end_s", o->end_s);
	lb_json_bool(j, "recovered", o->has_recovered);
	lb_json_bool(j, "beside_event", o->has_event);
	lb_json_f64(j, "baseline_xfer_per_s", o->baseline_per_s);
	lb_json_f64(j, "fall_pct", o->fall_pct);
	lb_json_f64(j, "mean_fall_pct", o->mean_fall_pct);
	lb_json_f64(j, "below_95_pct_s", o->below_s);
	lb_json_f64(j, "lost_xfers", o->lost_xfers);
	put_latency(j, "worst_p99_ns", o->worst_p99_ns);
	put_latency(j, "worst_max_ns", o->worst_max_ns);
	lb_json_f64(j, "catch_up_pct", o->catch_up_pct);
	lb_json_f64(j, "catch_up_s", o->catch_up_s);
	lb_json_f64(j, "catch_up_xfers", o->catch_up_xfers);
	lb_json_close(j, '}');
}

void lb_report_outages_json(struct lb_json *j, const struct lb_result *r, uint32_t row)
{
	lb_json_open(j, "outages", '[');
	for (uint32_t i = 0; r->outages && i < r->outages[row].n; i++)
		put_outage(j, &r->outages[row].at[i]);
	lb_json_close(j, ']');
}

/* ---- for people ---- */

/* The one that lost more seconds' worth of its row's work first; the total before its LUNs. */
static int by_loss(const void *a, const void *b)
{
	const struct lb_report_outage *x = a, *y = b;
	double lost_x = x->o->lost_xfers / x->o->baseline_per_s;
	double lost_y = y->o->lost_xfers / y->o->baseline_per_s;

	if (x->is_total != y->is_total)
		return x->is_total ? -1 : 1;
	if (lost_x != lost_y)
		return lost_x > lost_y ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static int by_begin(const void *a, const void *b)
{
	const struct lb_report_outage *x = a, *y = b;

	if (x->o->begin_s != y->o->begin_s)
		return x->o->begin_s < y->o->begin_s ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* A single LUN is the total too. */
static uint32_t rows_told(const struct lb_result *r)
{
	if (!r->outages)
		return 0;
	return r->n_luns == 1 ? 1 : r->n_luns + 1;
}

uint32_t lb_report_outages_count(const struct lb_result *r)
{
	uint32_t n = 0;

	for (uint32_t row = 0; row < rows_told(r); row++)
		n += r->outages[row].n;
	return n;
}

struct lb_report_outage *lb_report_outages_pick(const struct lb_result *r, uint32_t *n)
{
	struct lb_report_outage *all = malloc((lb_report_outages_count(r) + 1) * sizeof(*all));
	uint32_t found = 0;

	if (!all)
		return NULL;
	for (uint32_t row = 0; row < rows_told(r); row++)
		for (uint32_t i = 0; i < r->outages[row].n; i++)
			all[found++] = (struct lb_report_outage){
				&r->outages[row].at[i], row, row == r->n_luns};
	qsort(all, found, sizeof(*all), by_loss);
	if (found < *n)
		*n = found;
	qsort(all, *n, sizeof(*all), by_begin);
	return all;
}

/* Rounded, but never to the whole where a part is left. */
static double shown_pct(double pct)
{
	return pct < 100 && pct > 99 ? 99 : pct;
}

/* "worst p99 1.01ms, longest I/O 7.30s", what is known of it. */
static void latency_words(char *buf, size_t n, const struct lb_outage *o)
{
	char p99[64] = "", longest[64] = "", v[32];

	if (o->worst_p99_ns >= 0)
		snprintf(p99, sizeof(p99), "worst p99 %s",
			lb_format_latency(v, sizeof(v), (uint64_t)o->worst_p99_ns));
	if (o->worst_max_ns >= 0)
		snprintf(longest, sizeof(longest), "longest I/O %s",
			lb_format_latency(v, sizeof(v), (uint64_t)o->worst_max_ns));
	snprintf(buf, n, "%s%s%s", p99, *p99 && *longest ? ", " : "", longest);
}

static void burst_words(char *buf, size_t n, const struct lb_outage *o)
{
	buf[0] = '\0';
	if (o->catch_up_s > 0)
		snprintf(buf, n, "then up to %.0f%% for %.1f s, %.0f more than the baseline",
			100 + o->catch_up_pct, o->catch_up_s, o->catch_up_xfers);
}

char *lb_report_outage_words(
	char *buf, size_t n, const struct lb_report_outage *pick, char *const *labels)
{
	const struct lb_outage *o = pick->o;
	char latency[128], burst[128], end[64] = "NOT RECOVERED";

	if (o->has_recovered)
		snprintf(end, sizeof(end), "recovered after %.1f s", o->end_s - o->begin_s);
	latency_words(latency, sizeof(latency), o);
	burst_words(burst, sizeof(burst), o);
	snprintf(buf, n,
		"%s of %s%s: %.*f xfer/sec fell by %.0f%%, on the mean by %.0f%%; "
		"below 95%% for %.1f s; %s; %.0f xfers lost%s%s%s%s",
		o->has_event ? "OUTAGE" : "FALL",
		pick->is_total ? "all together" : labels[pick->row],
		o->has_event ? "" : ", with no event beside it", o->baseline_per_s < 100,
		o->baseline_per_s, shown_pct(o->fall_pct), shown_pct(o->mean_fall_pct), o->below_s,
		end, o->lost_xfers, *burst ? ", " : "", burst, *latency ? "; " : "", latency);
	return buf;
}
