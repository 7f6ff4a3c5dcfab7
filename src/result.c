#include "result.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "clock.h"

const uint32_t lb_pct_ppm[LB_PCTS] = {500000, 900000, 990000, 999000, 999900};
const char *const lb_pct_names[LB_PCTS] = {"p50", "p90", "p99", "p99.9", "p99.99"};

/* What the figures are worked out against. */
struct span {
	uint64_t open_ns, close_ns; /* equal: the window never opened */
	uint64_t end_ns;            /* ages are measured to here */
};

static struct lb_fig_f64 ratio(double a, double b)
{
	if (b <= 0)
		return (struct lb_fig_f64){0};
	return (struct lb_fig_f64){.has = true, .v = a / b};
}

static struct lb_fig_u64 figure(uint64_t v)
{
	return (struct lb_fig_u64){.has = true, .v = v};
}

static struct span span_of(
	const struct lb_board *b, const struct lb_plan *plan, const struct lb_outcome *o)
{
	struct span s = {.end_ns = plan->is_virtual ? b->virtual_end_ns : o->end_ns};
	uint64_t open = atomic_load(&b->window.open_ns), close = atomic_load(&b->window.close_ns);

	/* A claim that is not resolved by now died with its owner. */
	if (close == LB_CLOSE_CLAIMED || close > s.end_ns)
		close = s.end_ns;
	if (open < close) {
		s.open_ns = open;
		s.close_ns = close;
	}
	return s;
}

static double seconds(uint64_t ns)
{
	return (double)ns / (double)LB_NSEC_PER_SEC;
}

static void latency_make(
	struct lb_latency *lat, const struct lb_figures *f, const struct lb_tally *t)
{
	uint64_t max = t->xfers ? t->max_ns : 0;

	if (t->xfers) {
		lat->min_ns = figure(t->min_ns);
		lat->mean_ns =
			figure(t->sum_ns / t->xfers + (t->sum_ns % t->xfers * 2 >= t->xfers));
		for (int i = 0; i < LB_PCTS; i++) {
			int r = lb_hist_percentile(
				&t->hist, lb_pct_ppm[i], t->min_ns, t->max_ns, &lat->pct_ns[i].v);

			lat->pct_ns[i].has = r >= 0;
			lat->pct_over[i] = r == 1;
		}
	}
	/*
	 * A 40 s I/O must not vanish from a 30 s run. But the last qd I/Os of any run come late:
	 * that matters where they took longer than every xfer.
	 */
	lat->max_is_bound = f->outstanding || f->late_max_ns > max;
	if (max < f->late_max_ns)
		max = f->late_max_ns;
	if (max < f->outstanding_max_age_ns)
		max = f->outstanding_max_age_ns;
	if (t->xfers || f->late || f->outstanding)
		lat->max_ns = figure(max);
}

/* F holds what was issued and is outstanding already; T all the rest. */
static void figures_make(struct lb_figures *f, const struct lb_tally *t, const struct span *s)
{
	double window_s = seconds(s->close_ns - s->open_ns);

	f->xfers = t->xfers;
	f->bytes = t->bytes;
	f->xfer_per_s = ratio((double)t->xfers, window_s);
	f->bytes_per_s = ratio((double)t->bytes, window_s);
	f->errors = t->errors + t->errors_other;
	f->errors_outside = t->errors_other;
	if (f->errors) {
		f->first_error_offset = t->first_error_offset;
		f->first_error_res = t->first_error_res;
		if (window_s > 0) {
			f->first_error_s.has = true;
			f->first_error_s.v = t->first_error_ns >= s->open_ns
						     ? seconds(t->first_error_ns - s->open_ns)
						     : -seconds(s->open_ns - t->first_error_ns);
		}
	}
	f->late = t->late;
	f->late_max_ns = t->late_max_ns;
	f->samples = t->samples;
	f->zero_fraction = ratio((double)t->zero_samples, (double)t->samples);
	f->hist = t->hist;
	if (window_s > 0)
		latency_make(&f->lat, f, t);
}

/* Adds what is in flight on LANE to F. */
static uint64_t outstanding_add(struct lb_figures *f, const struct lb_board *b,
	const struct lb_lane_plan *lane, uint64_t end_ns)
{
	uint64_t n = 0;

	for (uint32_t i = lane->slot; i < lane->slot + lane->qd; i++) {
		uint64_t issue_ns = __atomic_load_n(&b->ios[i].issue_ns, __ATOMIC_RELAXED);
		uint64_t age_ns = issue_ns < end_ns ? end_ns - issue_ns : 0;

		if (!issue_ns)
			continue;
		n++;
		if (age_ns > f->outstanding_max_age_ns)
			f->outstanding_max_age_ns = age_ns;
	}
	f->outstanding += n;
	return n;
}

static uint64_t completions(const struct lb_tally *t)
{
	return t->xfers + t->outside + t->errors + t->errors_other + t->late;
}

/* Adds LANE's cells to T and F. HIST_SEEN tells which shared histograms are in already. */
static void lane_add(struct lb_lun_result *lun, struct lb_tally *t, const struct lb_board *b,
	uint32_t index, char *hist_seen, uint64_t end_ns)
{
	const struct lb_plan *plan = b->plan;
	const struct lb_lane_plan *lane = &plan->lanes[index];
	const struct lb_stream *stream = &plan->phases[0].streams[lane->stream];
	uint64_t before = completions(t), issued;

	for (int op = 0; op < LB_OPS; op++) {
		const struct lb_cell *cell = lb_board_cell(b, index, (enum lb_op)op);
		char *seen = &hist_seen[lane->hist + (uint32_t)op];

		/* Histograms that were never written to take no memory until they are read. */
		lb_tally_add_cell(t, cell, lane->shares_hist ? !*seen : cell->xfers != 0);
		*seen = 1;
	}
	issued = completions(t) - before + outstanding_add(&lun->fig, b, lane, end_ns);
	lun->qd += lane->qd;
	if (lun->io_bytes < stream->size_bytes)
		lun->io_bytes = stream->size_bytes;
	lun->fig.ios_issued += issued;
	lun->fig.bytes_issued += issued * stream->size_bytes;
	if (stream->pat == LB_SEQ)
		lun->seq_passes = ratio((double)lun->fig.ios_issued, (double)lane->n_blocks);
}

static bool lane_is_late(const struct lb_board *b, uint32_t index)
{
	const struct lb_lane_plan *lane = &b->plan->lanes[index];
	const struct lb_worker_plan *w = &b->plan->workers[lane->worker];
	const struct lb_worker_state *state = &b->workers[lane->worker];
	uint32_t nth = index - w->lane, late = atomic_load(&state->n_late);

	return nth + late >= w->n_lanes || nth >= atomic_load(&state->n_started);
}

static void kernel_counts(struct lb_lun_result *lun, const struct lb_lun_state *s)
{
	const struct lb_kernel_stat *a = &s->kernel_before, *z = &s->kernel_after;

	/* a device that was replaced meanwhile counts from 0 again */
	if (atomic_load(&s->has_kernel_stat) < 2 || z->read_ios < a->read_ios ||
		z->read_sectors < a->read_sectors || z->write_ios < a->write_ios ||
		z->write_sectors < a->write_sectors)
		return;
	lun->has_kernel = true;
	lun->kernel_ios = z->read_ios - a->read_ios + z->write_ios - a->write_ios;
	lun->kernel_bytes =
		(z->read_sectors - a->read_sectors + z->write_sectors - a->write_sectors) * 512;
}

/* Lane indices, those of one LUN together; FIRST[lun] where they begin, FIRST[n_luns] the end. */
static void lanes_by_lun(const struct lb_plan *plan, uint32_t *lanes, uint32_t *first)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < plan->n_lanes; i++)
		first[plan->lanes[i].lun + 1]++;
	for (uint32_t i = 0; i < plan->n_luns; i++)
		first[i + 1] += first[i];
	for (uint32_t i = 0; i < plan->n_lanes; i++)
		lanes[first[plan->lanes[i].lun]++] = i;
	for (uint32_t i = 0; i < plan->n_luns; i++) { /* each now stands at its end: move back */
		uint32_t end = first[i];

		first[i] = at;
		at = end;
	}
}

/* Scratch memory of luns_make(). */
struct luns_work {
	uint32_t *lanes, *first;
	char *hist_seen;
	struct lb_tally *lun, *total;
};

static bool luns_work_alloc(struct luns_work *w, const struct lb_plan *plan)
{
	w->lanes = calloc((size_t)plan->n_lanes + 1, sizeof(*w->lanes));
	w->first = calloc((size_t)plan->n_luns + 1, sizeof(*w->first));
	w->hist_seen = calloc((size_t)plan->n_hists + LB_OPS, 1);
	w->lun = malloc(sizeof(*w->lun));
	w->total = malloc(sizeof(*w->total));
	return w->lanes && w->first && w->hist_seen && w->lun && w->total;
}

static void luns_work_done(struct luns_work *w)
{
	free(w->lanes);
	free(w->first);
	free(w->hist_seen);
	free(w->lun);
	free(w->total);
}

/* The total is the sum of what the LUNs' rows say, whatever is still being written. */
static void luns_make(
	struct lb_result *r, const struct lb_board *b, const struct span *s, struct luns_work *w)
{
	lanes_by_lun(r->plan, w->lanes, w->first);
	lb_tally_init(w->total);
	for (uint32_t i = 0; i < r->n_luns; i++) {
		struct lb_lun_result *lun = &r->luns[i];
		struct lb_figures *fig = &lun->fig, *total = &r->total;

		lun->lun = r->plan->luns[i];
		lb_tally_init(w->lun);
		for (uint32_t k = w->first[i]; k < w->first[i + 1]; k++) {
			lane_add(lun, w->lun, b, w->lanes[k], w->hist_seen, s->end_ns);
			lun->is_late_start |=
				s->open_ns < s->close_ns && lane_is_late(b, w->lanes[k]);
		}
		figures_make(fig, w->lun, s);
		kernel_counts(lun, &b->lun_states[i]);
		lb_tally_add(w->total, w->lun);
		total->ios_issued += fig->ios_issued;
		total->bytes_issued += fig->bytes_issued;
		total->outstanding += fig->outstanding;
		if (fig->outstanding_max_age_ns > total->outstanding_max_age_ns)
			total->outstanding_max_age_ns = fig->outstanding_max_age_ns;
	}
	figures_make(&r->total, w->total, s);
}

#define CPU_SPAN_NS                                                                                \
	100e6 /* the kernel accounts by ticks: of less than this nothing can be said               \
	       */

static double timeval_us(const struct timeval *from, const struct timeval *to)
{
	return (double)(to->tv_sec - from->tv_sec) * 1e6 + (double)(to->tv_usec - from->tv_usec);
}

static void cpu_make(struct lb_result *r, const struct lb_board *b)
{
	bool has = !r->plan->is_virtual && atomic_load(&b->has_usage) == 2;
	/* the clocks are read a little after the edges: what was used in that time, taken as even
	 */
	double span_ns = has ? (double)(b->usage_close_ns - b->usage_open_ns) : 0;
	double share = has ? (double)r->window_ns.v / span_ns : 0;
	double user_us, sys_us;
	uint64_t submit_ns = 0, submit_calls = 0;

	for (uint32_t i = 0; i < r->plan->n_workers; i++) {
		const struct lb_worker_state *w = &b->workers[i];
		struct lb_fig_f64 busy = {0};

		submit_ns += w->engine.submit_ns;
		submit_calls += w->engine.submit_calls;
		if (w->cpu_open_ns && w->cpu_close_ns > w->cpu_open_ns)
			busy = ratio((double)(w->cpu_close_ns - w->cpu_open_ns), has ? span_ns : 0);
		if (busy.has && busy.v > r->busiest_worker.v)
			r->busiest_worker = busy;
	}
	r->submit_mean_ns = ratio((double)submit_ns, (double)submit_calls);
	if (!has)
		return;
	user_us = timeval_us(&b->usage_open.ru_utime, &b->usage_close.ru_utime);
	sys_us = timeval_us(&b->usage_open.ru_stime, &b->usage_close.ru_stime);
	r->cpu_user_us_per_xfer = ratio(user_us * share, (double)r->total.xfers);
	r->cpu_sys_us_per_xfer = ratio(sys_us * share, (double)r->total.xfers);
	r->process_cpus = ratio((user_us + sys_us) * 1e3, span_ns);
}

static void death_words(char *buf, size_t n, int status)
{
	if (WIFSIGNALED(status))
		snprintf(buf, n, "the measuring process was killed by SIG%s",
			sigabbrev_np(WTERMSIG(status)) ? sigabbrev_np(WTERMSIG(status)) : "?");
	else
		snprintf(buf, n, "the measuring process ended too early, with status %d",
			WEXITSTATUS(status));
}

/* Refusals: of 2 and 3 it is 2. */
static void refused_make(struct lb_result *r, const struct lb_board *b, const struct lb_outcome *o)
{
	const struct lb_lun *first = NULL;
	uint32_t n = 0;

	r->ended_by = "refused";
	r->status = b->err.status;
	snprintf(r->error, sizeof(r->error), "%s", b->err.text);
	for (uint32_t i = 0; i < b->n_luns; i++) {
		const struct lb_lun *lun = &b->luns[i];

		if (lun->fate != LB_FATE_REFUSED)
			continue;
		if (!first)
			first = lun;
		n++;
		if (r->status != LB_ST_USAGE)
			r->status = lun->refusal;
	}
	if (o->no_answer[0]) {
		if (r->status != LB_ST_USAGE)
			r->status = LB_ST_UNAVAILABLE;
		snprintf(r->error, sizeof(r->error), "%s", o->no_answer);
	} else if (!r->error[0] && first) {
		snprintf(r->error, sizeof(r->error), "%u of %u targets refused; %s: %s", n,
			b->n_luns, first->name, first->why);
	} else if (!r->error[0]) {
		snprintf(r->error, sizeof(r->error), "no target is left to measure");
	}
	if (r->status == LB_OK)
		r->status = LB_ST_USAGE;
}

/* Nothing was measured, since there never was a plan. */
static void unplanned_make(
	struct lb_result *r, const struct lb_board *b, const struct lb_outcome *o)
{
	if (o->signal) {
		r->ended_by = "signal";
		r->status = 128 + o->signal;
	} else if (o->child_died && atomic_load(&b->stage) != LB_STAGE_REFUSED) {
		r->ended_by = "failure";
		r->status = LB_ST_UNAVAILABLE;
		death_words(r->error, sizeof(r->error), o->child_status);
	} else {
		refused_make(r, b, o);
	}
}

/* The first worker whose engine failed, in words; false: none. */
static bool worker_failure(struct lb_result *r, const struct lb_board *b)
{
	for (uint32_t i = 0; i < r->plan->n_workers; i++) {
		int fatal = atomic_load(&b->workers[i].fatal);

		if (!fatal)
			continue;
		if (b->err.text[0])
			snprintf(r->error, sizeof(r->error), "%s", b->err.text);
		else
			snprintf(r->error, sizeof(r->error), "worker %u: %s failed: %s", i,
				r->plan->engine->name, strerror(-fatal));
		return true;
	}
	return false;
}

static void ending_make(struct lb_result *r, const struct lb_board *b, const struct lb_outcome *o)
{
	bool died = o->child_died && atomic_load(&b->stage) != LB_STAGE_DRAINED;

	if (died)
		death_words(r->error, sizeof(r->error), o->child_status);
	if (worker_failure(r, b) || died)
		r->ended_by = "failure";
	else if (o->stalled)
		r->ended_by = "stall";
	else if (atomic_load(&b->window.closed_early))
		r->ended_by = "count";
	else
		r->ended_by = "time";
	if (o->signal)
		r->ended_by = "signal";
	r->is_complete =
		r->window_ns.has && (!strcmp(r->ended_by, "count") || !strcmp(r->ended_by, "time"));

	if (!r->is_complete || r->total.errors || r->total.outstanding || o->timed_out)
		r->status = LB_ST_FAULTY;
	for (uint32_t i = 0; i < r->n_luns; i++)
		if (!r->luns[i].fig.xfers)
			r->status = LB_ST_FAULTY;
	if (o->signal)
		r->status = 128 + o->signal;
}

static void host_make(struct lb_result *r)
{
	struct utsname u;
	cpu_set_t allowed;

	snprintf(r->version, sizeof(r->version), "%s", LB_VERSION);
	if (uname(&u) == 0) {
		snprintf(r->host, sizeof(r->host), "%s", u.nodename);
		snprintf(r->kernel, sizeof(r->kernel), "%s", u.release);
	}
	r->n_cpus = (uint32_t)CPU_COUNT(&r->cfg->cpus);
	if (!r->n_cpus && sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
		r->n_cpus = (uint32_t)CPU_COUNT(&allowed);
}

static int measured_make(struct lb_result *r, const struct lb_board *b, const struct lb_outcome *o)
{
	struct span s = span_of(b, r->plan, o);
	struct luns_work work = {0};
	int ret = -ENOMEM;

	r->n_luns = r->plan->n_luns;
	r->luns = calloc(r->n_luns, sizeof(*r->luns));
	if (luns_work_alloc(&work, r->plan) && r->luns) {
		if (s.open_ns < s.close_ns) {
			uint64_t start_ns = atomic_load(&b->window.start_ns);

			r->window_ns = figure(s.close_ns - s.open_ns);
			r->warmup_ns = start_ns < s.open_ns ? s.open_ns - start_ns : 0;
			if (!r->plan->is_virtual)
				r->start_realtime_ns = s.open_ns + o->realtime_minus_monotonic_ns;
		}
		luns_make(r, b, &s, &work);
		cpu_make(r, b);
		ending_make(r, b, o);
		ret = lb_findings_make(r, b);
	}
	luns_work_done(&work);
	return ret;
}

/* Nothing was measured: `lunbench check`. */
static int checked_make(struct lb_result *r, const struct lb_board *b)
{
	r->ended_by = "check";
	r->is_complete = true;
	r->status = b->err.text[0] ? LB_ST_UNAVAILABLE : LB_OK;
	snprintf(r->error, sizeof(r->error), "%s", b->err.text);
	r->n_luns = r->plan->n_luns;
	r->luns = calloc(r->n_luns + 1, sizeof(*r->luns));
	if (!r->luns)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_luns; i++)
		r->luns[i].lun = r->plan->luns[i];
	return lb_findings_make(r, b);
}

int lb_result_make(struct lb_result *r, const struct lb_config *cfg, const struct lb_board *board,
	const struct lb_outcome *outcome, struct lb_err *err)
{
	enum lb_stage stage = (enum lb_stage)atomic_load(&board->stage);

	memset(r, 0, sizeof(*r));
	r->cfg = cfg;
	r->signal = outcome->signal;
	r->targets = board->luns;
	r->n_targets = board->n_luns;
	r->preflight = &board->findings;
	host_make(r);
	if (stage == LB_STAGE_OPENING || stage == LB_STAGE_REFUSED) {
		unplanned_make(r, board, outcome);
		return 0;
	}
	r->plan = board->plan;
	if (stage == LB_STAGE_CHECKED ? checked_make(r, board)
				      : measured_make(r, board, outcome) < 0)
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM,
			"no memory for the result of %u LUNs", r->n_luns);
	return 0;
}

void lb_result_done(struct lb_result *r)
{
	if (!r)
		return;
	free(r->luns);
	free(r->findings);
	r->luns = NULL;
	r->findings = NULL;
}
