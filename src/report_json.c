/*
 * The result as a document, for programs. schema/lunbench-result-1.schema.json says what is in it:
 * whatever the run was, the keys and their types are the same, and what is not known is null.
 */
#include "report.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "json_out.h"

static const char *const op_names[LB_OPS] = {"read", "write"};

static void put_fig_u64(struct lb_json *j, const char *key, struct lb_fig_u64 f)
{
	lb_json_u64_if(j, key, f.has, f.v);
}

static void put_fig_f64(struct lb_json *j, const char *key, struct lb_fig_f64 f)
{
	lb_json_f64_if(j, key, f.has, f.v);
}

/* Of what sysfs tells: negative is unknown. */
static void put_known(struct lb_json *j, const char *key, int64_t v)
{
	if (v < 0)
		lb_json_null(j, key);
	else
		lb_json_i64(j, key, v);
}

/* ---- figures ---- */

static char *digits(char *end, uint64_t v)
{
	do
		*--end = (char)('0' + v % 10);
	while (v /= 10);
	return end;
}

/* [first value, first value past it or null, how many]; a thousand LUNs have millions of these. */
static void put_bucket(FILE *out, uint32_t i, uint64_t count, bool is_first)
{
	char buf[80], *end = buf + sizeof(buf), *p = end;

	*--p = ']';
	p = digits(p, count);
	*--p = ',';
	if (i < LB_HIST_OVER)
		p = digits(p, lb_hist_high_ns(i));
	else
		p = memcpy(p - 4, "null", 4);
	*--p = ',';
	p = digits(p, lb_hist_low_ns(i));
	*--p = '[';
	if (!is_first)
		*--p = ',';
	fwrite_unlocked(p, 1, (size_t)(end - p), out);
}

static void put_hist(struct lb_json *j, const char *key, const struct lb_hist *h)
{
	bool is_first = true;

	lb_json_raw(j, key);
	fputc('[', j->out);
	for (uint32_t i = 0; i < LB_HIST_BUCKETS; i++) {
		if (!h->count[i])
			continue;
		put_bucket(j->out, i, h->count[i], is_first);
		is_first = false;
	}
	fputc(']', j->out);
}

static void put_latency(struct lb_json *j, const char *key, const struct lb_latency *lat)
{
	static const char *const keys[LB_PCTS][2] = {
		{"p50_ns", "p50_is_lower_bound"},
		{"p90_ns", "p90_is_lower_bound"},
		{"p99_ns", "p99_is_lower_bound"},
		{"p99_9_ns", "p99_9_is_lower_bound"},
		{"p99_99_ns", "p99_99_is_lower_bound"},
	};

	lb_json_open(j, key, '{');
	put_fig_u64(j, "min_ns", lat->min_ns);
	put_fig_u64(j, "mean_ns", lat->mean_ns);
	lb_json_bool(j, "mean_is_lower_bound", lat->mean_is_bound);
	for (int i = 0; i < LB_PCTS; i++) {
		put_fig_u64(j, keys[i][0], lat->pct_ns[i]);
		lb_json_bool(j, keys[i][1], lat->pct_over[i]);
	}
	put_fig_u64(j, "max_ns", lat->max_ns);
	lb_json_bool(j, "max_is_lower_bound", lat->max_is_bound);
	lb_json_close(j, '}');
}

/* From the window's opening, in seconds. */
static void put_moment(struct lb_json *j, const char *key, const struct lb_result *r, uint64_t ns)
{
	lb_json_f64_if(j, key, r->open_ns, lb_seconds_since(r->open_ns, ns));
}

/* How I/O failed; NULL: in ways that were no longer told apart. */
static void put_fault_kind(struct lb_json *j, const int32_t *res)
{
	lb_json_str(j, "errno", res && *res < 0 ? strerrorname_np(-*res) : NULL);
	put_known(j, "errno_number", res && *res < 0 ? -*res : -1);
	put_known(j, "moved_bytes", res ? *res : -1);
}

static void put_first_error(
	struct lb_json *j, const struct lb_result *r, const struct lb_figures *f)
{
	const struct lb_fault *first = lb_faults_first(&f->faults);

	if (!first) {
		lb_json_null(j, "first_error");
		return;
	}
	lb_json_open(j, "first_error", '{');
	put_fault_kind(j, &first->res);
	lb_json_u64(j, "offset_bytes", first->first.offset_bytes);
	put_moment(j, "at_s", r, first->first.ns);
	lb_json_close(j, '}');
}

static void put_fault_at(
	struct lb_json *j, const char *key, const struct lb_result *r, const struct lb_fault_at *at)
{
	lb_json_open(j, key, '{');
	lb_json_u64(j, "offset_bytes", at->offset_bytes);
	put_moment(j, "at_s", r, at->ns);
	lb_json_close(j, '}');
}

static void put_faults(struct lb_json *j, const struct lb_result *r, const struct lb_faults *f)
{
	const struct lb_fault *row;

	lb_json_open(j, "errors_by_kind", '[');
	for (uint32_t i = 0; (row = lb_faults_row(f, i)); i++) {
		lb_json_open(j, NULL, '{');
		lb_json_str(j, "op", op_names[row->op]);
		put_fault_kind(j, row->is_rest ? NULL : &row->res);
		lb_json_str(j, "meaning", row->is_rest ? NULL : lb_fault_words(row->res));
		lb_json_u64(j, "count", row->n);
		lb_json_u64(j, "count_outside_window", row->n_outside);
		put_fault_at(j, "first", r, &row->first);
		put_fault_at(j, "last", r, &row->last);
		lb_json_close(j, '}');
	}
	lb_json_close(j, ']');
}

static void put_plain_figures(
	struct lb_json *j, const struct lb_result *r, const struct lb_figures *f)
{
	lb_json_u64(j, "xfers", f->xfers);
	lb_json_u64(j, "bytes", f->bytes);
	put_fig_f64(j, "xfer_per_s", f->xfer_per_s);
	put_fig_f64(j, "bytes_per_s", f->bytes_per_s);
	put_latency(j, "latency", &f->lat);
	if (r->is_open)
		put_latency(j, "response", &f->response);
	else
		lb_json_null(j, "response");
	lb_json_u64(j, "errors", f->errors);
	lb_json_u64(j, "errors_outside_window", f->errors_outside);
	put_faults(j, r, &f->faults);
	put_first_error(j, r, f);
	lb_json_u64(j, "late", f->late);
	put_fig_u64(j, "late_max_ns", (struct lb_fig_u64){f->late > 0, f->late_max_ns});
	lb_json_u64(j, "outstanding", f->outstanding);
	put_fig_u64(j, "outstanding_max_age_ns",
		(struct lb_fig_u64){f->outstanding > 0, f->outstanding_max_age_ns});
	lb_json_u64(j, "ios_issued", f->ios_issued);
	lb_json_u64(j, "bytes_issued", f->bytes_issued);
	lb_json_u64(j, "sampled_blocks", f->samples);
	put_fig_f64(j, "zero_fraction", f->zero_fraction);
	put_hist(j, "histogram_ns", &f->hist);
	if (r->is_open)
		put_hist(j, "response_histogram_ns", f->response_hist);
	else
		lb_json_null(j, "response_histogram_ns");
}

/* All together, then reads and writes apart. */
static void put_figures(struct lb_json *j, const struct lb_result *r, const struct lb_figures *f,
	struct lb_figures *const op[LB_OPS])
{
	put_plain_figures(j, r, f);
	for (int i = 0; i < LB_OPS; i++) {
		lb_json_open(j, op_names[i], '{');
		put_plain_figures(j, r, op[i] ? op[i] : f); /* a refused run: nothing, thrice */
		lb_json_close(j, '}');
	}
}

static void put_by_size(struct lb_json *j, const struct lb_size_figures *f, uint32_t n)
{
	lb_json_open(j, "by_size", '[');
	for (; n; n--, f++) {
		lb_json_open(j, NULL, '{');
		lb_json_u64(j, "size_bytes", f->size_bytes);
		lb_json_str(j, "op", op_names[f->op]);
		lb_json_u64(j, "xfers", f->xfers);
		lb_json_u64(j, "bytes", f->bytes);
		put_fig_f64(j, "xfer_per_s", f->xfer_per_s);
		put_fig_f64(j, "bytes_per_s", f->bytes_per_s);
		put_latency(j, "latency", &f->lat);
		lb_json_close(j, '}');
	}
	lb_json_close(j, ']');
}

/* ---- LUNs and targets ---- */

/* The time that its rates are over, and why that is not all of the window. */
static void put_lived(struct lb_json *j, const struct lb_result *r, const struct lb_lun_result *l)
{
	put_fig_f64(j, "lived_s", (struct lb_fig_f64){l->lived_ns.has, lb_seconds(l->lived_ns.v)});
	if (l->is_lost)
		put_moment(j, "lost_s", r, l->lost_ns);
	else
		lb_json_null(j, "lost_s");
	lb_json_str(j, "lost_why", l->is_lost ? l->lost_why : NULL);
}

static void put_luns(struct lb_json *j, const struct lb_result *r)
{
	lb_json_open(j, "luns", '[');
	for (uint32_t i = 0; i < r->n_luns; i++) {
		const struct lb_lun_result *l = &r->luns[i];

		lb_json_open(j, NULL, '{');
		lb_report_lun(j, l->lun);
		lb_json_u64(j, "usable_bytes", l->lun->region_end - l->lun->region_start);
		lb_json_u64(j, "region_start_bytes", l->lun->region_start);
		lb_json_u64(j, "region_end_bytes", l->lun->region_end);
		lb_json_bool(j, "nowait", l->lun->has_nowait);
		put_lived(j, r, l);
		lb_json_bool(j, "started_late", l->is_late_start);
		put_fig_f64(j, "passes", l->passes);
		put_fig_u64(j, "kernel_ios", (struct lb_fig_u64){l->has_kernel, l->kernel_ios});
		put_fig_u64(j, "kernel_bytes", (struct lb_fig_u64){l->has_kernel, l->kernel_bytes});
		lb_report_silence(j, &l->silence);
		put_figures(j, r, &l->fig, l->op);
		put_by_size(j, l->by_size, r->n_by_size);
		lb_report_open_json(j, r->is_open ? &l->open : NULL);
		lb_report_series_row(j, r, i);
		lb_report_outages_json(j, r, i);
		lb_json_close(j, '}');
	}
	lb_json_close(j, ']');
}

static void put_targets(struct lb_json *j, const struct lb_result *r)
{
	lb_json_open(j, "targets", '[');
	for (uint32_t i = 0; i < r->n_targets; i++)
		lb_report_target(j, &r->targets[i]);
	lb_json_close(j, ']');
}

/* ---- the run ---- */

static void put_options(struct lb_json *j, const struct lb_config *cfg)
{
	static const char *const sources[] = {"default", "profile", "command line"};

	lb_json_open(j, "options", '{');
	for (size_t s = 0; s < cfg->n_sets; s++) {
		const struct lb_opt_set *set = &cfg->sets[s];

		for (size_t i = 0; i < set->n; i++) {
			lb_json_open(j, set->rows[i].name, '{');
			lb_json_str(j, "value", set->text[i]);
			lb_json_str(j, "source", sources[set->source[i]]);
			lb_json_close(j, '}');
		}
	}
	lb_json_close(j, '}');
}

static void put_engine(struct lb_json *j, const struct lb_result *r)
{
	const char *asked = NULL;

	lb_opt_find(r->cfg->sets, r->cfg->n_sets, "engine", &asked);
	lb_json_open(j, "engine", '{');
	lb_json_str(j, "asked", asked);
	lb_json_str(j, "used", r->plan ? r->plan->engine->name : NULL);
	lb_json_text(j, "why", r->plan ? r->plan->engine_why : NULL);
	lb_json_open(j, "notes", '[');
	for (uint32_t i = 0; i < r->n_findings; i++)
		if (!strcmp(r->findings[i].code, "engine-note"))
			lb_json_str(j, NULL, r->findings[i].text);
	lb_json_close(j, ']');
	lb_json_bool(j, "virtual_clock", r->plan && r->plan->is_virtual);
	lb_json_close(j, '}');
}

static void put_duration(struct lb_json *j, const char *key, uint64_t ns)
{
	lb_json_f64_if(j, key, ns, lb_seconds(ns));
}

static void put_group(struct lb_json *j, const struct lb_plan *plan, const struct lb_group *g)
{
	lb_json_open(j, NULL, '{');
	lb_json_str(j, "name", g->name);
	lb_json_open(j, "luns", '[');
	for (uint32_t i = 0; i < g->n_luns; i++)
		lb_json_str(j, NULL, plan->luns[g->luns[i]]->name);
	lb_json_close(j, ']');
	lb_json_close(j, '}');
}

static void put_plan(struct lb_json *j, const struct lb_plan *plan)
{
	static const struct lb_plan none = {0};
	const struct lb_plan *p = plan ? plan : &none;

	lb_json_open(j, "plan", '{');
	put_fig_u64(j, "workers", (struct lb_fig_u64){plan != NULL, p->n_workers});
	put_fig_u64(j, "seed", (struct lb_fig_u64){plan != NULL, p->seed});
	lb_json_open(j, "phases", '[');
	for (uint32_t i = 0; i < p->n_phases; i++) {
		lb_json_open(j, NULL, '{');
		lb_json_str(j, "name", p->phases[i].name);
		put_duration(j, "time_s", p->phases[i].time_ns);
		lb_json_f64(j, "ramp_s", lb_seconds(p->phases[i].ramp_ns));
		put_fig_u64(j, "count",
			(struct lb_fig_u64){p->phases[i].count > 0, p->phases[i].count});
		lb_report_streams_json(j, &p->phases[i]);
		lb_json_close(j, '}');
	}
	lb_json_close(j, ']');
	lb_json_open(j, "groups", '[');
	for (uint32_t i = 0; i < p->n_groups; i++)
		put_group(j, p, &p->groups[i]);
	lb_json_close(j, ']');
	lb_json_close(j, '}');
}

void lb_report_utc(struct lb_json *j, const char *key, uint64_t ns)
{
	time_t s = (time_t)(ns / LB_NSEC_PER_SEC);
	char buf[64], whole[96];
	struct tm tm;

	if (!ns || !gmtime_r(&s, &tm) || !strftime(buf, sizeof(buf), "%Y-%m-%dT%H:%M:%S", &tm)) {
		lb_json_null(j, key);
		return;
	}
	snprintf(whole, sizeof(whole), "%s.%09uZ", buf, (unsigned)(ns % LB_NSEC_PER_SEC));
	lb_json_str(j, key, whole);
}

void lb_report_ending(struct lb_json *j, const struct lb_result *r, int status)
{
	char name[16];

	lb_json_i64(j, "status", status);
	lb_json_bool(j, "complete", r->is_complete);
	lb_json_str(j, "ended_by", r->ended_by);
	if (r->signal && sigabbrev_np(r->signal))
		snprintf(name, sizeof(name), "SIG%s", sigabbrev_np(r->signal));
	else
		snprintf(name, sizeof(name), "%d", r->signal);
	lb_json_str(j, "signal", r->signal ? name : NULL);
	lb_json_text(j, "error", r->error);
}

static void put_cpu(struct lb_json *j, const struct lb_result *r)
{
	lb_json_open(j, "cpu", '{');
	put_fig_f64(j, "user_us_per_xfer", r->cpu_user_us_per_xfer);
	put_fig_f64(j, "system_us_per_xfer", r->cpu_sys_us_per_xfer);
	put_fig_f64(j, "busiest_worker_share", r->busiest_worker);
	put_fig_f64(j, "cpus_used", r->process_cpus);
	lb_json_u64(j, "cpus_allowed", r->n_cpus);
	put_fig_f64(j, "host_busy_share", r->host_busy);
	put_fig_f64(j, "submit_mean_ns", r->submit_mean_ns);
	lb_json_close(j, '}');
}

static void put_findings(struct lb_json *j, const struct lb_result *r)
{
	lb_json_open(j, "findings", '[');
	for (uint32_t i = 0; i < r->n_findings; i++) {
		const struct lb_finding *f = &r->findings[i];

		lb_json_open(j, NULL, '{');
		lb_json_str(j, "code", f->code);
		lb_json_str(j, "lun", f->lun < 0 ? NULL : r->luns[f->lun].lun->name);
		lb_json_str(j, "text", f->text);
		lb_json_close(j, '}');
	}
	lb_json_close(j, ']');
}

/* Of what was looked at before a run, that of one gravity. */
static void put_preflight(
	struct lb_json *j, const char *key, const struct lb_result *r, enum lb_gravity gravity)
{
	const struct lb_findings *all = r->preflight;

	lb_json_open(j, key, '[');
	for (uint32_t i = 0; i < all->n; i++) {
		if (all->at[i].gravity != gravity)
			continue;
		lb_json_open(j, NULL, '{');
		lb_json_str(j, "code", all->at[i].code);
		lb_json_str(j, "text", all->at[i].text);
		lb_json_close(j, '}');
	}
	lb_json_close(j, ']');
}

int lb_report_check_json(FILE *out, const struct lb_result *r)
{
	struct lb_json j = {.out = out};

	lb_json_open(&j, NULL, '{');
	lb_json_str(&j, "schema", "lunbench-check/1");
	lb_json_str(&j, "version", r->version);
	lb_json_i64(&j, "status", r->status);
	lb_json_text(&j, "error", r->error);
	lb_json_text(&j, "host", r->host);
	lb_json_text(&j, "kernel", r->kernel);
	put_options(&j, r->cfg);
	put_engine(&j, r);
	put_plan(&j, r->plan);
	put_targets(&j, r);
	put_preflight(&j, "stops", r, LB_STOPS);
	put_findings(&j, r);
	put_preflight(&j, "fine", r, LB_FINE);
	lb_json_close(&j, '}');
	return ferror(out) ? -EIO : 0;
}

int lb_report_json(FILE *out, const struct lb_result *r)
{
	struct lb_json j = {.out = out};

	lb_json_open(&j, NULL, '{');
	lb_json_str(&j, "schema", "lunbench-result/1");
	lb_json_str(&j, "version", r->version);
	lb_report_ending(&j, r, r->status);
	lb_json_text(&j, "host", r->host);
	lb_json_text(&j, "kernel", r->kernel);
	lb_report_utc(&j, "start_utc", r->start_realtime_ns);
	put_fig_f64(
		&j, "window_s", (struct lb_fig_f64){r->window_ns.has, lb_seconds(r->window_ns.v)});
	put_fig_f64(
		&j, "warmup_s", (struct lb_fig_f64){r->window_ns.has, lb_seconds(r->warmup_ns)});
	put_options(&j, r->cfg);
	put_engine(&j, r);
	put_plan(&j, r->plan);
	put_targets(&j, r);
	lb_json_open(&j, "total", '{');
	lb_report_silence(&j, &r->silence);
	put_figures(&j, r, &r->total, r->op);
	put_by_size(&j, r->by_size, r->n_by_size);
	lb_report_open_json(&j, r->is_open ? &r->open : NULL);
	lb_report_series_row(&j, r, r->n_luns);
	lb_report_outages_json(&j, r, r->n_luns);
	lb_json_close(&j, '}');
	put_luns(&j, r);
	lb_report_series(&j, r);
	lb_report_trend(&j, r);
	lb_report_steady_json(&j, r);
	put_cpu(&j, r);
	lb_report_events_json(&j, r);
	put_findings(&j, r);
	lb_json_close(&j, '}');
	return ferror(out) ? -EIO : 0;
}
