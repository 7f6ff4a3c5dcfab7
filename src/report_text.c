#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "table.h"
#include "units.h"

/* What a report is written with. */
#define BOTH (-1)

struct text {
	FILE *out;
	int op;           /* the tables are of: an enum lb_op, or BOTH together */
	bool is_response; /* the latencies are from when the I/O was due */
	const struct lb_result *r;
	char **labels; /* of the LUNs */
	int rc;
};

/* What PRINT writes, its lines wrapped where they are too long. */
static void print_lines(struct text *x, void (*print)(struct text *))
{
	FILE *out = x->out;
	char *text = NULL;
	size_t len;

	x->out = open_memstream(&text, &len);
	if (x->out) {
		print(x);
		if (fclose(x->out) == 0 && text)
			lb_report_lines(out, text);
		else
			x->rc = -ENOMEM;
	} else {
		x->rc = -ENOMEM;
	}
	free(text);
	x->out = out;
}

static void print_table(struct text *x, struct lb_table *t)
{
	int rc = lb_table_print(t, x->out);

	if (rc < 0)
		x->rc = rc;
	lb_table_done(t);
}

/* Decimals so that V is at least STEPS of its last digit (100: shows three digits). */
static int decimals_of(double v, double steps)
{
	int d = 0;

	for (double scale = 1; d < 9 && v > 0 && v * scale < 0.9995 * steps; d++)
		scale *= 10;
	return d;
}

/* Three digits, but no fewer than BASE decimals. */
static int decimals_for(double v, int base)
{
	int d = decimals_of(v, 100);

	return d > base ? d : base;
}

static void add_figure(struct lb_table *t, struct lb_fig_f64 f, double unit, int base)
{
	if (!f.has)
		lb_table_add(t, "-");
	else
		lb_table_add(t, "%.*f", decimals_for(f.v / unit, base), f.v / unit);
}

static const struct lb_figures *row_figures(const struct text *x, uint32_t i)
{
	const struct lb_result *r = x->r;

	if (x->op != BOTH)
		return i < r->n_luns ? r->luns[i].op[x->op] : r->op[x->op];
	return i < r->n_luns ? &r->luns[i].fig : &r->total;
}

/* ---- what was run ---- */

static void print_ending(struct text *x)
{
	const struct lb_result *r = x->r;
	const struct lb_phase *phase = &r->plan->phases[0];
	char drain[64], printable[1024];

	if (r->is_complete)
		return;
	fprintf(x->out, "INCOMPLETE: ");
	if (r->signal && sigabbrev_np(r->signal))
		fprintf(x->out, "stopped by SIG%s", sigabbrev_np(r->signal));
	else if (r->signal)
		fprintf(x->out, "stopped by signal %d", r->signal);
	else if (!strcmp(r->ended_by, "stall"))
		fprintf(x->out, "no LUN completed anything for %s; stopped",
			lb_format_duration(drain, sizeof(drain), lb_silence_ns(r->cfg->drain_ns)));
	else if (!strcmp(r->ended_by, "error"))
		fprintf(x->out, "an I/O error ended the run, as --on-error stop asks,");
	else if (!strcmp(r->ended_by, "lost"))
		fprintf(x->out, "all LUNs were lost; ended");
	else if (r->error[0])
		fprintf(x->out, "%s;", lb_printable(printable, sizeof(printable), r->error));
	else
		fprintf(x->out, "ended");
	if (!r->window_ns.has && r->plan->is_virtual)
		fprintf(x->out, " before its end, without which a virtual clock measures nothing");
	else if (!r->window_ns.has)
		fprintf(x->out, " before the measured time began: nothing was measured");
	else
		fprintf(x->out, " after %.1f s", (double)r->window_ns.v / 1e9);
	if (r->window_ns.has && phase->time_ns)
		fprintf(x->out, " of %g s", (double)phase->time_ns / 1e9);
	else if (r->window_ns.has && phase->count)
		fprintf(x->out, ", before any LUN had %" PRIu64 " xfers", phase->count);
	fputc('\n', x->out);
}

static void print_region(struct text *x)
{
	const struct lb_config *cfg = x->r->cfg;
	const char *text = NULL;
	const struct lb_opt *opt = lb_opt_find(cfg->sets, cfg->n_sets, "region", &text);

	if (opt && text && strcmp(text, opt->dflt))
		fprintf(x->out, ", region %s", text);
}

static void print_op(FILE *out, const struct lb_stream *s)
{
	if (s->read_pct == 100)
		fputs("read", out);
	else if (s->read_pct == 0)
		fputs("write", out);
	else
		fprintf(out, "read %u%% write %u%%", s->read_pct, 100u - s->read_pct);
	if (s->read_pct < 100 && s->is_dsync)
		fputs(" (dsync)", out);
}

static void print_rate(struct text *x, const struct lb_stream *s)
{
	double total = (double)s->rate_milli_per_s / 1e3;

	if (!s->rate_milli_per_s)
		return;
	fprintf(x->out, ", %.10g due a second on each (%s%s)", total / s->group->n_luns,
		lb_arrival_words[s->arrival],
		s->catch_up == LB_CATCH_UP_NONE ? ", no catch-up" : "");
}

static void print_streams(struct text *x)
{
	const struct lb_plan *plan = x->r->plan;
	char size[128], pat[32];

	for (uint32_t p = 0; p < plan->n_phases; p++) {
		const struct lb_phase *phase = &plan->phases[p];

		for (uint32_t i = 0; i < phase->n_streams; i++) {
			const struct lb_stream *s = &phase->streams[i];

			print_op(x->out, s);
			fprintf(x->out, " %s", lb_format_pat(pat, sizeof(pat), &s->pat));
			if (s->n_seq_streams > 1)
				fprintf(x->out, " (%u streams per LUN)", s->n_seq_streams);
			fprintf(x->out, " %s, qd %u per LUN",
				lb_format_sizes(size, sizeof(size), &s->sizes), s->qd);
			if (s->think_ns)
				fprintf(x->out, ", think %s",
					lb_format_duration(size, sizeof(size), s->think_ns));
			fprintf(x->out, ", %u LUN%s", s->group->n_luns,
				s->group->n_luns == 1 ? "" : "s");
			print_rate(x, s);
			print_region(x);
			if (phase->count)
				fprintf(x->out, ", until one has %" PRIu64 " xfers", phase->count);
			fprintf(x->out, "; %s, %u worker%s\n", plan->engine->name, plan->n_workers,
				plan->n_workers == 1 ? "" : "s");
		}
	}
	if (plan->engine_why[0])
		fprintf(x->out, "%s: %s\n", plan->engine->name, plan->engine_why);
}

/* NS to three decimals, or as many more as something short needs. */
static const char *seconds_text(char *buf, size_t n, uint64_t ns)
{
	int d = ns >= LB_NSEC_PER_SEC / 10 || !ns ? 3 : ns >= LB_NSEC_PER_MSEC / 10 ? 6 : 9;

	snprintf(buf, n, "%.*f", d, (double)ns / 1e9);
	return buf;
}

static void print_window(struct text *x)
{
	const struct lb_result *r = x->r;
	time_t start = (time_t)(r->start_realtime_ns / LB_NSEC_PER_SEC);
	char buf[64], host[1024];
	struct tm tm;

	if (!r->window_ns.has)
		return;
	fprintf(x->out, "measured %s s", seconds_text(buf, sizeof(buf), r->window_ns.v));
	if (r->plan->is_virtual)
		fprintf(x->out, " of a virtual clock");
	if (r->start_realtime_ns && gmtime_r(&start, &tm) &&
		strftime(buf, sizeof(buf), "%Y-%m-%d %H:%M:%S", &tm))
		fprintf(x->out, " from %s UTC", buf);
	if (r->host[0])
		fprintf(x->out, " on %s", lb_printable(host, sizeof(host), r->host));
	fprintf(x->out, ", warm-up %.3f s; KB is 1024 bytes\n", (double)r->warmup_ns / 1e9);
}

/* ---- figures ---- */

/* "3PARdata VV, 100G" */
static void add_what(struct lb_table *t, const struct lb_lun *lun)
{
	char vendor[128], model[128], size[32];
	const char *blank = lun->vendor[0] && lun->model[0] ? " " : "";

	lb_format_about_size(size, sizeof(size), lun->size_bytes);
	lb_printable(vendor, sizeof(vendor), lun->vendor);
	lb_printable(model, sizeof(model), lun->model);
	if (lun->kind == LB_LUN_BLOCK && (vendor[0] || model[0]))
		lb_table_add(t, "%s%s%s, %s", vendor, blank, model, size);
	else
		lb_table_add(t, "%s, %s",
			lun->kind == LB_LUN_BLOCK  ? "block device"
			: lun->kind == LB_LUN_FILE ? "file"
						   : "scratch file",
			size);
}

static const char *const op_words[LB_OPS] = {"reads", "writes"};

static void print_rates(struct text *x)
{
	static const char *const head[] = {"LUN", "", "xfer", "sec", "xfer/sec", "KB/sec"};
	const struct lb_result *r = x->r;
	struct lb_table t = {.align = "llrrrr"};
	uint64_t size_bytes = 0;
	char sec[64], size[32];

	for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		lb_table_add(&t, "%s", i == 0 && x->op != BOTH ? op_words[x->op] : head[i]);
	for (uint32_t i = 0; i <= r->n_luns; i++) {
		const struct lb_figures *f = row_figures(x, i);
		struct lb_fig_u64 span;

		if (i < r->n_luns) {
			lb_table_add(&t, "%s", x->labels[i]);
			add_what(&t, r->luns[i].lun);
			size_bytes += r->luns[i].lun->size_bytes;
		} else {
			lb_table_add(&t, "Total");
			lb_table_add(&t, "%u LUN%s, %s", r->n_luns, r->n_luns == 1 ? "" : "s",
				lb_format_about_size(size, sizeof(size), size_bytes));
		}
		lb_table_add(&t, "%" PRIu64, f->xfers);
		span = i < r->n_luns ? r->luns[i].lived_ns : r->window_ns;
		lb_table_add(&t, "%s%s", span.has ? seconds_text(sec, sizeof(sec), span.v) : "-",
			i < r->n_luns && r->luns[i].is_lost ? "*" : "");
		add_figure(&t, f->xfer_per_s, 1, 1);
		add_figure(&t, f->bytes_per_s, 1024, 0);
	}
	fputc('\n', x->out);
	print_table(x, &t);
}

static void print_extremes(struct text *x)
{
	const struct lb_result *r = x->r;
	uint32_t low = 0, high = 0;
	double a, b;

	for (uint32_t i = 0; i < r->n_luns; i++) {
		const struct lb_fig_f64 *rate = &r->luns[i].fig.xfer_per_s;

		if (rate->has && (!r->luns[low].fig.xfer_per_s.has ||
					 rate->v < r->luns[low].fig.xfer_per_s.v))
			low = i;
		if (rate->v > r->luns[high].fig.xfer_per_s.v)
			high = i;
	}
	a = r->luns[low].fig.xfer_per_s.v;
	b = r->luns[high].fig.xfer_per_s.v;
	if (!(a < b)) /* one LUN, all alike, or nothing measured */
		return;
	fprintf(x->out, "slowest %s %.*f xfer/sec, %.0f%% of fastest %s %.*f\n", x->labels[low],
		decimals_for(a, 1), a, 100 * a / b, x->labels[high], decimals_for(b, 1), b);
}

/* How it went over time: that of the total's intervals. */
static void print_trend(struct text *x)
{
	const struct lb_trend *t = &x->r->trend;
	double mean = x->r->total.xfer_per_s.v;

	if (t->has_worst)
		fprintf(x->out, "worst interval %.*f xfer/sec, %.0f%% of the mean, at %.1f s\n",
			decimals_for(t->worst_per_s, 1), t->worst_per_s,
			mean > 0 ? 100 * t->worst_per_s / mean : 0,
			(double)t->worst_begin_ns / 1e9);
	lb_report_steady(x->out, x->r);
	if (t->has_quarters)
		fprintf(x->out, "first quarter of the time %.*f xfer/sec, last quarter %.*f\n",
			decimals_for(t->first_per_s, 1), t->first_per_s,
			decimals_for(t->last_per_s, 1), t->last_per_s);
}

static const struct lb_latency *row_latency(const struct text *x, uint32_t i)
{
	const struct lb_figures *f = row_figures(x, i);

	return x->is_response ? &f->response : &f->lat;
}

/* The one unit of a latency table. */
struct lat_unit {
	const char *name;
	double ns;
	int decimals, decimals_max;
};

static const struct lat_unit lat_units[] = {
	{"ns", 1, 0, 0}, {"us", 1e3, 0, 3}, {"ms", 1e6, 0, 6}, {"s", 1e9, 0, 9}};

/* By the total's median; one larger where the longest would take too many digits. */
static struct lat_unit lat_unit_choose(const struct text *x)
{
	const struct lb_result *r = x->r;
	const struct lb_latency *total = row_latency(x, r->n_luns);
	struct lb_fig_u64 typical = total->pct_ns[LB_PCT_50];
	uint64_t least = UINT64_MAX;
	struct lat_unit unit;
	int u = 0;

	if (!typical.has)
		typical = total->mean_ns.has ? total->mean_ns : total->max_ns;
	while (u < 3 && (double)typical.v >= lat_units[u + 1].ns)
		u++;
	if (u < 3 && total->max_ns.has && (double)total->max_ns.v >= 1e6 * lat_units[u].ns)
		u++;
	unit = lat_units[u];
	for (uint32_t i = 0; i <= r->n_luns; i++) {
		const struct lb_latency *lat = row_latency(x, i);
		/* the least of a row is its min; without one it has but a max */
		uint64_t v = lat->min_ns.has ? lat->min_ns.v : lat->max_ns.v;

		if (!v)
			v = lat->mean_ns.v;
		if (v && v < least)
			least = v;
	}
	/* three digits of what is typical, two of the least */
	unit.decimals = decimals_of((double)typical.v / unit.ns, 100);
	if (least != UINT64_MAX && unit.decimals < decimals_of((double)least / unit.ns, 10))
		unit.decimals = decimals_of((double)least / unit.ns, 10);
	if (unit.decimals > unit.decimals_max)
		unit.decimals = unit.decimals_max;
	return unit;
}

static void add_latency(
	struct lb_table *t, struct lb_fig_u64 f, bool is_bound, const struct lat_unit *unit)
{
	if (!f.has)
		lb_table_add(t, "-");
	else
		lb_table_add(
			t, "%s%.*f", is_bound ? ">=" : "", unit->decimals, (double)f.v / unit->ns);
}

static void print_latencies(struct text *x)
{
	static const int shown[] = {LB_PCT_50, LB_PCT_90, LB_PCT_99, LB_PCT_999};
	const struct lb_result *r = x->r;
	struct lb_table t = {.align = "lrrrrrrr"};
	struct lat_unit unit = lat_unit_choose(x);

	if (!row_latency(x, r->n_luns)->max_ns.has)
		return;
	lb_table_add(&t, "%s%s, %s",
		x->op == BOTH      ? ""
		: x->op == LB_READ ? "read "
				   : "write ",
		x->is_response ? "response" : "latency", unit.name);
	lb_table_add(&t, "min");
	lb_table_add(&t, "mean");
	for (int i = 0; i < 4; i++)
		lb_table_add(&t, "%s", lb_pct_names[shown[i]]);
	lb_table_add(&t, "max");
	for (uint32_t i = 0; i <= r->n_luns; i++) {
		const struct lb_latency *lat = row_latency(x, i);

		lb_table_add(&t, "%s", i < r->n_luns ? x->labels[i] : "Total");
		add_latency(&t, lat->min_ns, false, &unit);
		add_latency(&t, lat->mean_ns, lat->mean_is_bound, &unit);
		for (int k = 0; k < 4; k++)
			add_latency(&t, lat->pct_ns[shown[k]], lat->pct_over[shown[k]], &unit);
		add_latency(&t, lat->max_ns, lat->max_is_bound, &unit);
	}
	fputc('\n', x->out);
	print_table(x, &t);
}

/* From the issue, and in an open loop from when it was due. */
static void print_times(struct text *x)
{
	print_latencies(x);
	x->is_response = true;
	if (x->r->is_open)
		print_latencies(x);
	x->is_response = false;
}

static void print_cpu(struct text *x)
{
	const struct lb_result *r = x->r;
	double user = r->cpu_user_us_per_xfer.v, sys = r->cpu_sys_us_per_xfer.v;
	const char *sep = "";

	fprintf(x->out, "CPU: ");
	if (r->cpu_user_us_per_xfer.has) {
		fprintf(x->out, "%.*f us user + %.*f us system per xfer", decimals_for(user, 1),
			user, decimals_for(sys, 1), sys);
		sep = "; ";
	}
	if (r->busiest_worker.has) {
		fprintf(x->out, "%sbusiest worker %.0f%% busy", sep, 100 * r->busiest_worker.v);
		sep = "; ";
	}
	if (r->process_cpus.has)
		fprintf(x->out, "%slunbench used %.2f of %u CPUs", sep, r->process_cpus.v,
			r->n_cpus);
	fputc('\n', x->out);
}

/* ---- all of it ---- */

static void print_bars(struct text *x)
{
	const struct lb_result *r = x->r;
	int rc = 0;

	if (r->cfg->hist == LB_HIST_EACH)
		for (uint32_t i = 0; !rc && i < r->n_luns; i++)
			rc = lb_report_bars(x->out, x->labels[i], &r->luns[i].fig);
	if (r->cfg->hist != LB_HIST_NONE && !rc)
		rc = lb_report_bars(x->out, "all LUNs", &r->total);
	if (rc)
		x->rc = rc;
}

char **lb_report_labels(const struct lb_result *r)
{
	const char **names = malloc(r->n_luns * sizeof(*names) + 1);
	char **labels = NULL;

	for (uint32_t i = 0; names && i < r->n_luns; i++)
		names[i] = r->luns[i].lun->name;
	if (names)
		labels = lb_labels(names, r->n_luns);
	free(names);
	return labels;
}

static bool is_mixed(const struct lb_result *r)
{
	return r->op[LB_READ] != &r->total && r->op[LB_WRITE] != &r->total;
}

int lb_report_streams(FILE *out, const struct lb_result *r)
{
	struct text x = {.out = out, .r = r};

	print_lines(&x, print_streams);
	return x.rc;
}

int lb_report_text(FILE *out, const struct lb_result *r)
{
	struct text x = {.out = out, .r = r, .op = BOTH};
	int rc;

	if (!r->plan)
		return 0;
	x.labels = lb_report_labels(r);
	if (!x.labels)
		return -ENOMEM;
	print_lines(&x, print_ending);
	print_lines(&x, print_streams);
	print_lines(&x, print_window);
	print_rates(&x);
	print_lines(&x, print_extremes);
	print_lines(&x, print_trend);
	print_times(&x);
	for (int op = 0; op < LB_OPS && is_mixed(r); op++) {
		x.op = op;
		print_rates(&x);
		print_times(&x);
	}
	x.op = BOTH;
	rc = lb_report_sizes(out, r);
	if (!rc)
		rc = lb_report_open(out, r, x.labels);
	if (!rc)
		rc = lb_report_faults(out, r, x.labels);
	if (!rc)
		rc = lb_report_events(out, r, x.labels);
	if (r->cpu_user_us_per_xfer.has || r->busiest_worker.has || r->process_cpus.has) {
		fputc('\n', out);
		print_lines(&x, print_cpu);
	}
	lb_report_findings(out, r, x.labels);
	print_bars(&x);
	free(x.labels);
	if (!x.rc)
		x.rc = rc ? rc : ferror(out) ? -EIO : 0;
	return x.rc;
}
