#include "figures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

static void latency_make(
	struct lb_latency *lat, const struct lb_figures *f, const struct lb_tally *t)
{
	uint64_t max = t->xfers ? t->max_ns : 0;

	if (t->xfers) {
		lat->min_ns = lb_figure(t->min_ns);
		lat->mean_ns = lb_figure((uint64_t)((t->sum_ns + t->xfers / 2) / t->xfers));
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
		lat->max_ns = lb_figure(max);
}

void lb_figures_of(struct lb_figures *f, const struct lb_tally *t, const struct lb_span *s)
{
	double window_s = lb_seconds(s->close_ns - s->open_ns);

	f->xfers = t->xfers;
	f->bytes = t->bytes;
	f->xfer_per_s = lb_ratio((double)t->xfers, window_s);
	f->bytes_per_s = lb_ratio((double)t->bytes, window_s);
	f->errors = t->errors + t->errors_other;
	f->errors_outside = t->errors_other;
	f->faults = t->faults;
	f->late = t->late;
	f->late_max_ns = t->late_max_ns;
	f->samples = t->samples;
	f->zero_fraction = lb_ratio((double)t->zero_samples, (double)t->samples);
	f->hist = t->hist;
	if (window_s > 0)
		latency_make(&f->lat, f, t);
}

static void take_max(uint64_t *max, uint64_t v)
{
	if (v > *max)
		*max = v;
}

/* Adds what is in flight on LANE to the figures of its op; returns its bytes. */
static uint64_t outstanding_add(struct lb_figures *ops, const struct lb_board *b,
	const struct lb_lane_plan *lane, uint64_t end_ns)
{
	uint64_t bytes = 0;

	for (uint32_t i = lane->slot; i < lane->slot + lane->qd; i++) {
		const struct lb_io *io = &b->ios[i];
		uint64_t issue_ns = __atomic_load_n(&io->issue_ns, __ATOMIC_RELAXED);
		struct lb_figures *f = &ops[__atomic_load_n(&io->op, __ATOMIC_RELAXED)];
		uint32_t len = __atomic_load_n(&io->len, __ATOMIC_RELAXED);

		if (!issue_ns)
			continue;
		f->outstanding++;
		f->ios_issued++;
		f->bytes_issued += len;
		bytes += len;
		take_max(&f->outstanding_max_age_ns, issue_ns < end_ns ? end_ns - issue_ns : 0);
	}
	return bytes;
}

/* One LUN's, or all of them: what is being added up, by op. */
struct sums {
	struct lb_tally tally[LB_OPS];
	struct lb_figures fig[LB_OPS]; /* issued and outstanding only */
};

static void sums_init(struct sums *sums)
{
	memset(sums->fig, 0, sizeof(sums->fig));
	for (int op = 0; op < LB_OPS; op++)
		lb_tally_init(&sums->tally[op]);
}

/* Adds to F what is known of OTHER without a tally. */
static void issued_add(struct lb_figures *f, const struct lb_figures *other)
{
	f->ios_issued += other->ios_issued;
	f->bytes_issued += other->bytes_issued;
	f->outstanding += other->outstanding;
	take_max(&f->outstanding_max_age_ns, other->outstanding_max_age_ns);
}

static uint64_t completions(const struct lb_cell *c)
{
	return c->xfers + c->outside + c->errors + c->errors_other + c->late;
}

/* How often the region was passed by the lanes so far, of which LANE has issued so many BYTES. */
static void passes_add(struct lb_fig_f64 *passes, const struct lb_lane_plan *lane,
	uint64_t block_bytes, uint64_t bytes)
{
	double region = (double)lane->n_blocks * (double)block_bytes;

	*passes = lb_ratio(passes->v * region + (double)bytes, region);
}

/* And where it is cut into parts, one for each of N streams: that which was passed most often. */
static struct lb_fig_f64 most_passes(
	const struct lb_board *b, const struct lb_lane_plan *lane, uint32_t n)
{
	struct lb_fig_f64 most = {.has = true};

	for (uint32_t i = 0; i < n; i++) {
		uint64_t part = lane->n_blocks / n + (i < lane->n_blocks % n);
		double passes =
			(double)atomic_load(&b->cursors[lane->cursor + i].blocks) / (double)part;

		most.v = passes > most.v ? passes : most.v;
	}
	return most;
}

/* Adds LANE's cells to SUMS. HIST_SEEN tells which shared histograms are in already. */
static void lane_add(struct lb_lun_result *lun, struct sums *sums, const struct lb_board *b,
	uint32_t index, char *hist_seen, uint64_t end_ns)
{
	const struct lb_plan *plan = b->plan;
	const struct lb_lane_plan *lane = &plan->lanes[index];
	const struct lb_stream *stream = &plan->phases[0].streams[lane->stream];
	uint64_t bytes = outstanding_add(sums->fig, b, lane, end_ns);

	for (uint32_t k = 0; k < stream->sizes.n * LB_OPS; k++) {
		const struct lb_cell *cell = lb_board_cell_at(b, index, k);
		struct lb_figures *f = &sums->fig[k % LB_OPS];
		char *seen = &hist_seen[lane->hist + k];
		uint64_t n = completions(cell);

		/* Histograms that were never written to take no memory until they are read. */
		lb_tally_add_cell(&sums->tally[k % LB_OPS], cell,
			lane->shares_hist ? !*seen : cell->xfers != 0);
		*seen = 1;
		f->ios_issued += n;
		f->bytes_issued += n * cell->size_bytes;
		bytes += n * cell->size_bytes;
	}
	for (int op = 0; op < LB_OPS; op++)
		lb_faults_add(&sums->tally[op].faults, &b->faults[index], (uint8_t)op);
	lun->qd += lane->qd;
	if (lun->io_bytes < stream->size_bytes)
		lun->io_bytes = stream->size_bytes;
	if (stream->n_seq_streams > 1)
		lun->passes = most_passes(b, lane, stream->n_seq_streams);
	else if (stream->pat.kind == LB_SEQ || stream->pat.kind == LB_PERM)
		passes_add(&lun->passes, lane, stream->block_bytes, bytes);
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

	/* some drivers never count: NVMe's multipath of Linux 6.1 */
	if (!z->read_ios && !z->read_sectors && !z->write_ios && !z->write_sectors)
		return;
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

/* F and, of a mixed run, OPS out of SUMS. */
static void sums_make(struct lb_figures *f, struct lb_figures *const ops[LB_OPS],
	const struct sums *sums, struct lb_tally *both, const struct lb_span *s)
{
	lb_tally_init(both);
	for (int op = 0; op < LB_OPS; op++) {
		lb_tally_add(both, &sums->tally[op]);
		issued_add(f, &sums->fig[op]);
		if (ops[op] != f && ops[op]) {
			issued_add(ops[op], &sums->fig[op]);
			lb_figures_of(ops[op], &sums->tally[op], s);
		}
	}
	lb_figures_of(f, both, s);
}

/* Scratch memory of the sums. */
struct work {
	uint32_t *lanes, *first;
	char *hist_seen;
	struct sums *lun, *total;
	struct lb_tally *both;
};

static bool work_alloc(struct work *w, const struct lb_plan *plan)
{
	w->lanes = calloc((size_t)plan->n_lanes + 1, sizeof(*w->lanes));
	w->first = calloc((size_t)plan->n_luns + 1, sizeof(*w->first));
	w->hist_seen = calloc((size_t)plan->n_hists + LB_OPS, 1);
	w->lun = malloc(sizeof(*w->lun));
	w->total = malloc(sizeof(*w->total));
	w->both = malloc(sizeof(*w->both));
	return w->lanes && w->first && w->hist_seen && w->lun && w->total && w->both;
}

static void work_done(struct work *w)
{
	free(w->lanes);
	free(w->first);
	free(w->hist_seen);
	free(w->lun);
	free(w->total);
	free(w->both);
}

/* Where the figures by op of row I (n_luns: the total) are kept: F itself for the only op there is.
 */
static void ops_point(
	struct lb_result *r, uint32_t i, struct lb_figures *f, struct lb_figures *ops[LB_OPS])
{
	bool reads = false, writes = false;
	struct lb_figures *nothing = &r->op_figs[0];

	for (uint32_t s = 0; s < r->plan->phases[0].n_streams; s++) {
		reads |= r->plan->phases[0].streams[s].read_pct > 0;
		writes |= r->plan->phases[0].streams[s].read_pct < 100;
	}
	ops[LB_READ] = reads ? f : nothing;
	ops[LB_WRITE] = writes ? f : nothing;
	if (reads && writes) {
		ops[LB_READ] = &r->op_figs[1 + i * LB_OPS];
		ops[LB_WRITE] = ops[LB_READ] + 1;
	}
}

/* What a LUN's own figures are worked out against: if it was given up, the time that it lived. */
static struct lb_span lived_make(
	struct lb_lun_result *lun, const struct lb_lun_state *state, const struct lb_span *s)
{
	uint64_t retired_ns = atomic_load(&state->retired_ns);
	struct lb_span own = *s;

	lun->is_lost = retired_ns != 0;
	lun->lost_ns = retired_ns;
	lun->lost_why = state->retired_why;
	if (lun->is_lost && retired_ns < own.close_ns)
		own.close_ns = retired_ns < own.open_ns ? own.open_ns : retired_ns;
	if (s->open_ns < s->close_ns)
		lun->lived_ns = lb_figure(own.close_ns - own.open_ns);
	return own;
}

/* The total is the sum of what the LUNs' rows say, whatever is still being written. */
static void luns_make(
	struct lb_result *r, const struct lb_board *b, const struct lb_span *s, struct work *w)
{
	lb_plan_lanes_by_lun(r->plan, w->lanes, w->first);
	sums_init(w->total);
	for (uint32_t i = 0; i < r->n_luns; i++) {
		struct lb_lun_result *lun = &r->luns[i];
		struct lb_span own = lived_make(lun, &b->lun_states[i], s);

		r->n_lost += lun->is_lost;
		lun->lun = r->plan->luns[i];
		sums_init(w->lun);
		/* a virtual run that was stopped has no end, and so no time: nothing counts */
		for (uint32_t k = w->first[i]; s->end_ns && k < w->first[i + 1]; k++) {
			lane_add(lun, w->lun, b, w->lanes[k], w->hist_seen, s->end_ns);
			lun->is_late_start |=
				s->open_ns < s->close_ns && lane_is_late(b, w->lanes[k]);
		}
		ops_point(r, i, &lun->fig, lun->op);
		sums_make(&lun->fig, lun->op, w->lun, w->both, &own);
		kernel_counts(lun, &b->lun_states[i]);
		for (int op = 0; op < LB_OPS; op++) {
			lb_tally_add(&w->total->tally[op], &w->lun->tally[op]);
			issued_add(&w->total->fig[op], &w->lun->fig[op]);
		}
	}
	ops_point(r, r->n_luns, &r->total, r->op);
	sums_make(&r->total, r->op, w->total, w->both, s);
}

int lb_figures_make(struct lb_result *r, const struct lb_board *b, const struct lb_span *s)
{
	struct work work = {0};
	int ret = -ENOMEM;

	r->n_luns = r->plan->n_luns;
	r->luns = calloc(r->n_luns, sizeof(*r->luns));
	/* one of nothing; memory for the others is taken when a mixed run writes there */
	r->op_figs = calloc(1 + (size_t)(r->n_luns + 1) * LB_OPS, sizeof(*r->op_figs));
	if (work_alloc(&work, r->plan) && r->luns && r->op_figs) {
		luns_make(r, b, s, &work);
		ret = lb_figures_by_size(r, b, s);
	}
	work_done(&work);
	return ret || !b->paces ? ret : lb_open_figures_make(r, b, s);
}
