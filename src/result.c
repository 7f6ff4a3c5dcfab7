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
#include "figures.h"
#include "history.h"
#include "outages.h"

const uint32_t lb_pct_ppm[LB_PCTS] = {500000, 900000, 990000, 999000, 999900};
const char *const lb_pct_names[LB_PCTS] = {"p50", "p90", "p99", "p99.9", "p99.99"};

static struct lb_span span_of(
	const struct lb_board *b, const struct lb_plan *plan, const struct lb_outcome *o)
{
	struct lb_span s = {.end_ns = plan->is_virtual ? b->virtual_end_ns : o->end_ns};
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

/* the kernel accounts the host's CPUs by ticks: of less than this nothing can be said */
#define TICKS_SPAN_NS 100e6

static double timeval_us(const struct timeval *from, const struct timeval *to)
{
	return (double)(to->tv_sec - from->tv_sec) * 1e6 + (double)(to->tv_usec - from->tv_usec);
}

static void workers_cpu_make(struct lb_result *r, const struct lb_board *b, bool has)
{
	uint64_t submit_ns = 0, submit_calls = 0, submit_ios = 0;

	for (uint32_t i = 0; i < r->plan->n_workers; i++) {
		const struct lb_worker_state *w = &b->workers[i];
		uint64_t close_ns = atomic_load(&w->cpu_close_ns);
		uint64_t at_ns = atomic_load(&w->cpu_close_at_ns);
		struct lb_fig_f64 busy = {0};

		submit_ns += w->engine.submit_ns;
		submit_calls += w->engine.submit_calls;
		submit_ios += w->engine.submit_ios;
		if (has && w->cpu_open_ns && close_ns >= w->cpu_open_ns && at_ns > b->usage_open_ns)
			busy = lb_ratio((double)(close_ns - w->cpu_open_ns),
				(double)(at_ns - b->usage_open_ns));
		if (busy.has && (!r->busiest_worker.has || busy.v > r->busiest_worker.v))
			r->busiest_worker = busy;
	}
	r->submit_mean_ns = lb_ratio((double)submit_ns, (double)submit_calls);
	r->submit_io_ns = lb_ratio((double)submit_ns, (double)submit_ios);
}

static void cpu_make(struct lb_result *r, const struct lb_board *b)
{
	bool has = !r->plan->is_virtual && atomic_load(&b->has_usage) == 2;
	/* the clocks are read a little after the edges: what was used in that time, taken as even
	 */
	double span_ns = has ? (double)(b->usage_close_ns - b->usage_open_ns) : 0;
	double share = has ? (double)r->window_ns.v / span_ns : 0;
	const struct lb_host_cpu *from = &b->host_open, *to = &b->host_close;
	double user_us, sys_us;

	workers_cpu_make(r, b, has);
	if (!has)
		return;
	user_us = timeval_us(&b->usage_open.ru_utime, &b->usage_close.ru_utime);
	sys_us = timeval_us(&b->usage_open.ru_stime, &b->usage_close.ru_stime);
	r->cpu_user_us_per_xfer = lb_ratio(user_us * share, (double)r->total.xfers);
	r->cpu_sys_us_per_xfer = lb_ratio(sys_us * share, (double)r->total.xfers);
	r->process_cpus = lb_ratio((user_us + sys_us) * 1e3, span_ns);
	if (span_ns >= TICKS_SPAN_NS && from->all && to->all > from->all && to->busy >= from->busy)
		r->host_busy =
			lb_ratio((double)(to->busy - from->busy), (double)(to->all - from->all));
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
	else if (atomic_load(&b->window.failed))
		r->ended_by = "error";
	else if (atomic_load(&b->window.lost))
		r->ended_by = "lost";
	else if (r->steady.is_reached)
		r->ended_by = "steady";
	else if (atomic_load(&b->window.closed_early))
		r->ended_by = "count";
	else
		r->ended_by = "time";
	if (o->signal)
		r->ended_by = "signal";
	r->is_complete = r->window_ns.has &&
			 (!strcmp(r->ended_by, "count") || !strcmp(r->ended_by, "steady") ||
				 !strcmp(r->ended_by, "time"));

	if (!r->is_complete || (r->plan->phases[0].steady_ns && !r->steady.is_reached) ||
		r->total.errors || r->total.outstanding || r->n_lost || o->timed_out)
		r->status = LB_ST_FAULTY;
	for (uint32_t i = 0; i < r->n_luns; i++)
		if (!r->luns[i].fig.xfers)
			r->status = LB_ST_FAULTY;
	if (o->signal)
		r->status = 128 + o->signal;
	r->stream_dropped = o->stream_dropped;
	if (o->stream_dropped || o->stream_failed)
		r->status = LB_ST_OUTPUT;
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
	struct lb_span s = span_of(b, r->plan, o);
	int ret;

	if (s.open_ns < s.close_ns) {
		uint64_t start_ns = atomic_load(&b->window.start_ns);

		r->open_ns = s.open_ns;
		r->window_ns = lb_figure(s.close_ns - s.open_ns);
		r->warmup_ns = start_ns < s.open_ns ? s.open_ns - start_ns : 0;
		if (!r->plan->is_virtual)
			r->start_realtime_ns = s.open_ns + b->realtime_minus_monotonic_ns;
	}
	ret = lb_figures_make(r, b, &s);
	if (ret)
		return ret;
	ret = lb_history_make(r, b, &s);
	if (ret)
		return ret;
	if (r->window_ns.has) {
		r->series = b->series;
		r->steady = b->steady;
	}
	lb_trend_make(&r->trend, r->series);
	ret = lb_outages_make(r);
	if (ret)
		return ret;
	cpu_make(r, b);
	ending_make(r, b, o);
	return lb_findings_make(r, b);
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
	for (uint32_t i = 0; r->outages && i <= r->n_luns; i++)
		free(r->outages[i].at);
	free(r->outages);
	free(r->luns);
	free(r->op_figs);
	free(r->response_hists);
	free(r->size_figs);
	free(r->findings);
	free(r->events);
	r->luns = NULL;
	r->outages = NULL;
	r->events = NULL;
	r->findings = NULL;
}
