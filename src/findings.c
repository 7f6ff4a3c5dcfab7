/* What makes figures worth less than they look: one function for each kind, the gravest first. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "result.h"
#include "units.h"

/* Where a figure becomes a finding. */
#define ZERO_SAMPLES_MIN 8    /* fewer zeros may be chance */
#define ZERO_SHARE       0.9  /* of the samples */
#define BUSY_SHARE       0.95 /* of a CPU */
#define RATE_LOW         0.8  /* of the median LUN's */
#define RATE_HIGH        1.25
#define KERNEL_SHARE     0.02 /* of what was issued */
#define DRIFT_SHARE      0.1
#define SUBMIT_SHARE     0.05                  /* of the median latency */
#define SHORT_SHARE      0.001                 /* of what was due */
#define LATE_SHARE       0.2                   /* of the median response */
#define STALL_NS         (5 * LB_NSEC_PER_SEC) /* far past what a healthy array takes */
#define STALL_FACTOR     10                    /* of the median: else it is slow, not stalled */

struct finder {
	struct lb_result *r;
	const struct lb_board *board;
	uint32_t room;
	bool is_short; /* of memory */
};

__attribute__((format(printf, 4, 5))) static void add(
	struct finder *f, int lun, const char *code, const char *fmt, ...)
{
	struct lb_result *r = f->r;
	struct lb_finding *finding;
	va_list ap;

	if (r->n_findings == f->room) {
		uint32_t room = f->room ? 2 * f->room : 16;
		struct lb_finding *more = realloc(r->findings, room * sizeof(*more));

		if (!more) {
			f->is_short = true;
			return;
		}
		r->findings = more;
		f->room = room;
	}
	finding = &r->findings[r->n_findings++];
	finding->lun = lun;
	finding->gravity = LB_DISTORTS;
	snprintf(finding->code, sizeof(finding->code), "%s", code);
	va_start(ap, fmt);
	vsnprintf(finding->text, sizeof(finding->text), fmt, ap);
	va_end(ap);
}

static bool has_no_device(const struct finder *f)
{
	return f->r->plan->engine->caps & LB_CAP_NO_DEVICE;
}

static void no_xfers(struct finder *f, int i, const struct lb_lun_result *l)
{
	if (f->r->window_ns.has && !l->fig.xfers)
		add(f, i, "no-xfers", "nothing came back in the measured time");
}

static void stall(struct finder *f, int i, const struct lb_lun_result *l)
{
	const struct lb_latency *lat = &l->fig.lat;
	const struct lb_silence *s = &l->silence;
	uint64_t median = lat->pct_ns[LB_PCT_50].v;

	if (s->n_stalls) {
		char more[64] = "";

		if (s->n_stalls > 1)
			snprintf(more, sizeof(more), "; %" PRIu64 " such times, %.1f s in all",
				s->n_stalls, (double)s->stalled_ns / 1e9);
		add(f, i, "stall", "nothing came back for %.1f s from %.1f s on%s",
			(double)s->longest_ns.v / 1e9, s->longest_s.v, more);
		return;
	}
	if (!lat->max_ns.has || lat->max_ns.v < STALL_NS ||
		(lat->pct_ns[LB_PCT_50].has && lat->max_ns.v / STALL_FACTOR < median))
		return;
	add(f, i, "stall", "the slowest I/O took %s%.1f s", lat->max_is_bound ? "at least " : "",
		(double)lat->max_ns.v / 1e9);
}

/* What was due and neither done nor under way when the window closed. */
static void rate_not_kept(struct finder *f, int i, const struct lb_lun_result *l)
{
	const struct lb_open *o = &l->open;
	uint64_t lacking = o->missed + o->waiting;
	double due = o->asked_per_s * (double)l->lived_ns.v / (double)LB_NSEC_PER_SEC;
	char why[160];

	if (!f->r->is_open || l->is_lost || lacking < 2 || (double)lacking <= SHORT_SHARE * due)
		return;
	if (o->missed || o->backlog - o->waiting >= l->qd)
		snprintf(why, sizeof(why),
			"all %u of --qd were in flight: the LUN is slower than that, or --qd too low",
			l->qd);
	else
		snprintf(why, sizeof(why),
			"transfers were free: this host was late to issue, by %.0f us on average",
			o->held_mean_ns.v / 1e3);
	add(f, i, "rate-not-kept", "%" PRIu64 " of some %.0f transfers that were due %s; %s",
		lacking, due,
		o->missed ? "were skipped" : "had not begun when the measured time ended", why);
}

/* The host's own part of the response. */
static void issue_late(struct finder *f)
{
	const struct lb_result *r = f->r;
	struct lb_fig_u64 median = r->total.response.pct_ns[LB_PCT_50];
	double late_ns = r->open.held_mean_ns.v;
	char mean[32], most[32];

	if (r->is_open && median.has && late_ns > LATE_SHARE * (double)median.v)
		add(f, LB_OF_RUN, "issue-late",
			"this host issued what was due %s late on average, and %s at most, with "
			"transfers free for it: that is %.0f%% of the median response",
			lb_format_latency(mean, sizeof(mean), (uint64_t)late_ns),
			lb_format_latency(most, sizeof(most), r->open.held_max_ns.v),
			100 * late_ns / (double)median.v);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The xfers of the median of the LUNs that lived; 0 also when there is no memory. */
static double median_xfers(struct finder *f)
{
	const struct lb_result *r = f->r;
	uint64_t *xfers = malloc(r->n_luns * sizeof(*xfers) + 1);
	uint32_t n = 0;
	double median;

	if (!xfers) {
		f->is_short = true;
		return 0;
	}
	for (uint32_t i = 0; i < r->n_luns; i++)
		if (!r->luns[i].is_lost)
			xfers[n++] = r->luns[i].fig.xfers;
	qsort(xfers, n, sizeof(*xfers), by_value);
	median = n ? ((double)xfers[(n - 1) / 2] + (double)xfers[n / 2]) / 2 : 0;
	free(xfers);
	return median;
}

static void luns_differ(struct finder *f)
{
	const struct lb_result *r = f->r;
	double median;

	if (r->n_luns - r->n_lost < 3) /* of two, neither is the odd one */
		return;
	median = median_xfers(f);
	for (uint32_t i = 0; median > 0 && i < r->n_luns; i++) {
		double share = (double)r->luns[i].fig.xfers / median;

		if (!r->luns[i].is_lost && share > 0 && (share < RATE_LOW || share > RATE_HIGH))
			add(f, (int)i, "lun-differs", "the rate is %.*f%% of the median LUN's",
				share < 0.01 ? 2 : 0, 100 * share);
	}
}

/* A write cliff, for one. */
static void rate_drifts(struct finder *f)
{
	const struct lb_trend *t = &f->r->trend;
	double share = t->first_per_s > 0 ? t->last_per_s / t->first_per_s : 1;

	if (t->has_quarters && (share < 1 - DRIFT_SHARE || share > 1 + DRIFT_SHARE))
		add(f, LB_OF_RUN, "rate-drifts",
			"the last quarter of the time had %.1f xfer/sec, %.0f%% of the first "
			"quarter's %.1f: a cache or spare flash that was used up, or others on the array; the "
			"total is neither",
			t->last_per_s, 100 * share, t->first_per_s);
}

static void zeros(struct finder *f, int i, const struct lb_lun_result *l)
{
	double share = l->fig.zero_fraction.v;
	char what[64];

	if (has_no_device(f) || l->fig.samples < ZERO_SAMPLES_MIN || share < ZERO_SHARE)
		return;
	if (share == 1)
		snprintf(what, sizeof(what), "only zeros came back");
	else /* never rounded up to all of them */
		snprintf(what, sizeof(what), "%d%% of the blocks looked into were zeros",
			(int)(100 * share));
	add(f, i, "zeros",
		"%s: thin and never written? Such reads may be far faster than those of data",
		what);
}

/* I/O in flight when a count was taken, and what failed, is in one of them and not in the other. */
static void kernel_count(struct finder *f, int i, const struct lb_lun_result *l)
{
	uint64_t ours = l->fig.bytes_issued, theirs = l->kernel_bytes;
	uint64_t gap = ours > theirs ? ours - theirs : theirs - ours;
	uint64_t slack = (l->qd + l->fig.outstanding + l->fig.errors) * l->io_bytes;

	if (!has_no_device(f) && l->has_kernel && gap > slack &&
		(double)gap > KERNEL_SHARE * (double)ours)
		add(f, i, "kernel-count",
			"the kernel counted %" PRIu64 " bytes and lunbench issued %" PRIu64 ": %s",
			theirs, ours,
			theirs > ours ? "someone else is using the device"
				      : "not all I/O reached the device");
}

/* All CPUs that it may use are in use, by lunbench. */
static bool is_out_of_cpu(const struct lb_result *r)
{
	return r->process_cpus.has && r->process_cpus.v > BUSY_SHARE * r->n_cpus;
}

static void host_bound(struct finder *f)
{
	const struct lb_result *r = f->r;

	if (has_no_device(f)) /* it measures just that */
		return;
	if (is_out_of_cpu(r))
		add(f, LB_OF_RUN, "host-bound",
			"%.2f of the %u CPUs allowed were busy: this host is the limit, not the "
			"LUNs",
			r->process_cpus.v, r->n_cpus);
	else if (r->busiest_worker.has && r->busiest_worker.v > BUSY_SHARE)
		add(f, LB_OF_RUN, "host-bound",
			"a worker was %.0f%% busy: it is the limit of its LUNs; spread them with "
			"--workers, or one LUN with --threads-per-lun",
			100 * r->busiest_worker.v);
}

static void host_busy(struct finder *f)
{
	const struct lb_result *r = f->r;

	if (has_no_device(f) || is_out_of_cpu(r) || !r->process_cpus.has ||
		r->host_busy.v <= BUSY_SHARE)
		return;
	add(f, LB_OF_RUN, "host-busy",
		"the CPUs were %.0f%% busy, but lunbench used %.2f of %u: others, or the kernel's own "
		"threads, kept it waiting for a CPU, and that is in the latency",
		100 * r->host_busy.v, r->process_cpus.v, r->n_cpus);
}

static void submit_slow(struct finder *f)
{
	const struct lb_result *r = f->r;
	struct lb_fig_u64 median = r->total.lat.pct_ns[LB_PCT_50];

	/* a batch takes longer than its share of the median easily: each I/O must take its part too
	 */
	if (r->submit_mean_ns.has && median.has &&
		r->submit_mean_ns.v > SUBMIT_SHARE * (double)median.v &&
		r->submit_io_ns.v >= SUBMIT_SHARE * (double)median.v)
		add(f, LB_OF_RUN, "submit-slow",
			"the calls that hand I/O to the kernel took %.1f us on average, %.0f%% of the "
			"median latency, and are in it: the host or a full queue takes that time, not "
			"the LUN; try a smaller --qd, or more --workers",
			r->submit_mean_ns.v / 1e3, 100 * r->submit_mean_ns.v / (double)median.v);
}

/* What the measuring process found: before the run, and of other runs. */
static void preflight(struct finder *f)
{
	const struct lb_findings *found = &f->board->findings;
	uint32_t n = atomic_load_explicit(&found->n, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++)
		if (found->at[i].gravity == LB_DISTORTS)
			add(f, found->at[i].lun, found->at[i].code, "%s", found->at[i].text);
}

static void wrapped(struct finder *f, int i, const struct lb_lun_result *l)
{
	if (l->passes.v > 1)
		add(f, i, "wrapped",
			"the region was passed %.1f times: later passes may be served by a cache",
			l->passes.v);
}

static void late_start(struct finder *f, int i, const struct lb_lun_result *l)
{
	if (l->is_late_start)
		add(f, i, "late-start",
			"the first I/O had not been taken when the measured time began");
}

static void engine_notes(struct finder *f)
{
	uint32_t first = f->r->n_findings;

	for (uint32_t i = 0; i < f->r->plan->n_workers; i++) {
		const char *text = f->board->workers[i].note.text;
		uint32_t k = first;

		while (k < f->r->n_findings && strcmp(f->r->findings[k].text, text))
			k++;
		if (text[0] && k == f->r->n_findings)
			add(f, LB_OF_RUN, "engine-note", "%s", text);
	}
}

static void not_steady(struct finder *f)
{
	const struct lb_result *r = f->r;
	char time[64];

	if (r->plan->phases[0].steady_ns && !r->steady.is_reached && !strcmp(r->ended_by, "time"))
		add(f, LB_OF_RUN, "not-steady",
			"no steady state was reached in %s: measure for longer (--max-time), or look in the "
			"time series for what keeps the rate from settling",
			lb_format_duration(time, sizeof(time), r->plan->phases[0].time_ns));
}

static void stream_dropped(struct finder *f)
{
	if (f->r->stream_dropped)
		add(f, LB_OF_RUN, "stream-dropped",
			"%" PRIu64 " lines of --stream were dropped: they were not read in time",
			f->r->stream_dropped);
}

int lb_findings_make(struct lb_result *r, const struct lb_board *board)
{
	/* of each LUN, or of the run */
	static const struct {
		void (*of_lun)(struct finder *, int, const struct lb_lun_result *);
		void (*of_run)(struct finder *);
	} kinds[] = {
		{no_xfers, NULL},
		{stall, NULL},
		{rate_not_kept, NULL},
		{NULL, luns_differ},
		{NULL, not_steady},
		{NULL, rate_drifts},
		{zeros, NULL},
		{kernel_count, NULL},
		{NULL, host_bound},
		{NULL, host_busy},
		{NULL, submit_slow},
		{NULL, issue_late},
		{NULL, preflight},
		{wrapped, NULL},
		{late_start, NULL},
		{NULL, engine_notes},
		{NULL, stream_dropped},
	};
	struct finder f = {.r = r, .board = board};

	if (atomic_load(&board->stage) == LB_STAGE_CHECKED) {
		preflight(&f);
		return f.is_short ? -ENOMEM : 0;
	}
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		if (kinds[k].of_run)
			kinds[k].of_run(&f);
		for (uint32_t i = 0; kinds[k].of_lun && i < r->n_luns; i++)
			kinds[k].of_lun(&f, (int)i, &r->luns[i]);
	}
	return f.is_short ? -ENOMEM : 0;
}
