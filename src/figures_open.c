/* What an open loop adds to the figures: response times, and what was due and never done. */
#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "figures.h"

#define READ(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

/* What is due and not finished: how long each has taken by now, at least. */
struct unfinished {
	uint64_t n;
	uint64_t oldest_ns;
	double sum_ns;
	struct lb_hist ages;
};

/* Of one LUN, or of all together. */
struct sums {
	struct {
		double sum_ns;
		uint64_t min_ns, max_ns, late_max_ns;
	} op[LB_OPS];
	uint64_t issued, held_sum_ns, held_max_ns;
	uint64_t n_waiting, n_out; /* not issued; never came back */
	uint64_t oldest_due_ns;    /* of all that was not finished when the window closed */
	struct unfinished left;
};

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void sums_init(struct sums *s)
{
	s->oldest_due_ns = LB_NEVER;
	for (int op = 0; op < LB_OPS; op++)
		s->op[op].min_ns = UINT64_MAX;
}

static void sums_add(struct sums *into, const struct sums *s)
{
	for (int op = 0; op < LB_OPS; op++) {
		into->op[op].sum_ns += s->op[op].sum_ns;
		into->op[op].min_ns = min_u64(into->op[op].min_ns, s->op[op].min_ns);
		into->op[op].max_ns = max_u64(into->op[op].max_ns, s->op[op].max_ns);
		into->op[op].late_max_ns = max_u64(into->op[op].late_max_ns, s->op[op].late_max_ns);
	}
	into->issued += s->issued;
	into->held_sum_ns += s->held_sum_ns;
	into->held_max_ns = max_u64(into->held_max_ns, s->held_max_ns);
	into->n_waiting += s->n_waiting;
	into->n_out += s->n_out;
	into->left.n += s->left.n;
	into->left.oldest_ns = max_u64(into->left.oldest_ns, s->left.oldest_ns);
	into->left.sum_ns += s->left.sum_ns;
	lb_hist_add(&into->left.ages, &s->left.ages);
}

/* Of a LUN that was given up the schedule ended then. */
static struct lb_span span_of(const struct lb_lun_result *lun, const struct lb_span *span)
{
	struct lb_span own = *span;

	if (lun->is_lost && lun->lost_ns < own.close_ns)
		own.close_ns = lun->lost_ns;
	return own;
}

/* What was claimed for LANE's slots and has not come back. */
static void slots_add(struct sums *s, const struct lb_board *b, const struct lb_lane_plan *lane,
	const struct lb_span *span)
{
	for (uint32_t i = lane->slot; i < lane->slot + lane->qd; i++) {
		uint64_t due = READ(b->dues[i]), age_ns;
		bool is_out = READ(b->ios[i].issue_ns) != 0;

		if (!due || due >= span->close_ns)
			continue;
		age_ns = (is_out ? span->end_ns : span->close_ns) - due;
		s->n_out += is_out;
		s->n_waiting += !is_out;
		s->oldest_due_ns = min_u64(s->oldest_due_ns, due);
		s->left.n++;
		s->left.oldest_ns = max_u64(s->left.oldest_ns, age_ns);
		s->left.sum_ns += (double)age_ns;
		s->left.ages.count[lb_hist_bucket(age_ns)]++;
	}
}

static void lane_add(struct sums *s, struct lb_figures *const ops[LB_OPS], const struct lb_board *b,
	uint32_t at, char *hist_seen)
{
	const struct lb_lane_plan *lane = &b->plan->lanes[at];

	for (uint32_t op = 0; op < LB_OPS; op++) {
		const struct lb_resp *resp = lb_resp_of(b->resps, at, op);
		char *seen = &hist_seen[lane->hist + op];

		/* histograms that were never written to take no memory until they are read */
		if (READ(resp->min_ns) != UINT64_MAX && !(lane->shares_hist && *seen)) {
			lb_hist_add(ops[op]->response_hist, resp->hist);
			*seen = 1;
		}
		s->op[op].sum_ns += lb_resp_sum_ns(resp);
		s->op[op].min_ns = min_u64(s->op[op].min_ns, READ(resp->min_ns));
		s->op[op].max_ns = max_u64(s->op[op].max_ns, READ(resp->max_ns));
		s->op[op].late_max_ns = max_u64(s->op[op].late_max_ns, READ(resp->late_max_ns));
		if (READ(resp->late_due_ns))
			s->oldest_due_ns = min_u64(s->oldest_due_ns, READ(resp->late_due_ns));
		s->issued += READ(resp->issued);
		s->held_sum_ns += READ(resp->held_sum_ns);
		s->held_max_ns = max_u64(s->held_max_ns, READ(resp->held_max_ns));
	}
}

/*
 * Whether the percentile that is NS would be another if the N_LEFT that are not finished took for
 * ever: then it is a lower bound.
 */
static bool is_bound(const struct lb_hist *done, uint64_t n_left, uint32_t ppm, uint64_t ns)
{
	const uint64_t whole = 1000000;
	uint64_t n = n_left, below = 0;
	uint32_t bucket = lb_hist_bucket(ns);

	for (uint32_t i = 0; i < LB_HIST_BUCKETS; i++) {
		n += done->count[i];
		below += i <= bucket ? done->count[i] : 0;
	}
	return below < (uint64_t)(((unsigned __int128)n * ppm + whole - 1) / whole);
}

/* Of one op, or with OP negative of both. N_LEFT are not finished; LEFT tells what is known of
 * them, NULL: not even of which op they would have been. */
static void response_make(struct lb_figures *f, const struct sums *s, int op, uint64_t n_left,
	const struct unfinished *left, bool has_missed)
{
	struct lb_latency *lat = &f->response;
	uint64_t min_ns = UINT64_MAX, max_ns = 0, late_ns = 0,
		 done = lb_hist_total(f->response_hist);
	uint64_t n = done + (left ? left->n : 0);
	double sum_ns = left ? left->sum_ns : 0;
	struct lb_hist all = *f->response_hist;

	for (int i = 0; i < LB_OPS; i++) {
		if (op >= 0 && i != op)
			continue;
		min_ns = min_u64(min_ns, s->op[i].min_ns);
		max_ns = max_u64(max_ns, s->op[i].max_ns);
		late_ns = max_u64(late_ns, s->op[i].late_max_ns);
		sum_ns += s->op[i].sum_ns;
	}
	if (left)
		lb_hist_add(&all, &left->ages);
	if (done)
		lat->min_ns = lb_figure(min_ns);
	late_ns = max_u64(late_ns, left ? left->oldest_ns : 0);
	lat->max_is_bound = late_ns > max_ns || has_missed || s->n_out ||
			    (n_left && s->left.oldest_ns > max_ns);
	max_ns = max_u64(max_ns, late_ns);
	if (n || late_ns)
		lat->max_ns = lb_figure(max_ns);
	if (!n || has_missed)
		return;
	lat->mean_ns = lb_figure((uint64_t)(sum_ns / (double)n + 0.5));
	lat->mean_is_bound = n_left > 0;
	for (int i = 0; i < LB_PCTS; i++) {
		int r = lb_hist_percentile(
			&all, lb_pct_ppm[i], n_left ? 0 : min_ns, max_ns, &lat->pct_ns[i].v);

		lat->pct_ns[i].has = r >= 0;
		lat->pct_over[i] = r == 1 || (r == 0 && n_left &&
						     is_bound(f->response_hist, n_left,
							     lb_pct_ppm[i], lat->pct_ns[i].v));
	}
}

/* F with its figures by op, and OPEN, out of S. */
static void row_make(struct lb_figures *f, struct lb_figures *const ops[LB_OPS],
	struct lb_open *open, const struct sums *s)
{
	bool has_missed = open->missed > 0;

	for (int op = 0; op < LB_OPS; op++) {
		if (ops[op] == f || ops[LB_READ] == f || ops[LB_WRITE] == f)
			continue;
		lb_hist_add(f->response_hist, ops[op]->response_hist);
		response_make(ops[op], s, op, s->left.n, NULL, has_missed);
	}
	response_make(f, s, -1, s->left.n, &s->left, has_missed);
	open->waiting = s->n_waiting;
	open->backlog = s->n_waiting + s->n_out + f->late;
	open->held_mean_ns = lb_ratio((double)s->held_sum_ns, (double)s->issued);
	open->held_max_ns = (struct lb_fig_u64){s->issued > 0, s->held_max_ns};
}

/*
 * What of its schedule nobody has claimed. Without catching up all but the last of it is missed,
 * if nothing was free for it.
 */
static void schedule_add(struct lb_open *open, struct sums *s, const struct lb_board *b,
	uint32_t lun, const struct lb_span *span)
{
	const enum lb_catch_up catch_up = b->plan->phases[0].streams[0].catch_up;
	uint64_t start_ns = atomic_load(&b->window.start_ns);
	struct lb_pace pace = b->paces[lun];
	struct lb_waiting w;

	open->missed = atomic_load(&pace.missed);
	if (catch_up == LB_CATCH_UP_NONE && !atomic_load(&pace.n_free))
		open->missed += lb_pace_skip(
			&pace, span->close_ns - start_ns - 1, span->open_ns - start_ns);
	w = lb_pace_waiting(&pace, span->close_ns - start_ns, &s->left.ages);
	if (w.n)
		s->oldest_due_ns = min_u64(s->oldest_due_ns, span->close_ns - w.oldest_ns);
	s->n_waiting += w.n;
	s->left.n += w.n;
	s->left.sum_ns += w.sum_ns;
	s->left.oldest_ns = max_u64(s->left.oldest_ns, w.oldest_ns);
}

/* The histograms of row I: both ops together, then each apart where the run has both. */
static void hists_point(
	struct lb_result *r, uint32_t i, struct lb_figures *f, struct lb_figures *const ops[LB_OPS])
{
	struct lb_hist *hists = r->response_hists + 1 + i * (1 + LB_OPS);

	f->response_hist = hists;
	for (int op = 0; op < LB_OPS; op++)
		if (ops[op] == r->op_figs)
			ops[op]->response_hist = r->response_hists; /* of nothing */
		else if (ops[op] != f)
			ops[op]->response_hist = hists + 1 + op;
}

/* LUN I out of S, to which what nobody has claimed is added; and what the total has of it. */
static void lun_make(struct lb_result *r, const struct lb_board *b, uint32_t i, struct sums *s,
	const struct lb_span *span)
{
	struct lb_lun_result *lun = &r->luns[i];
	struct lb_span own = span_of(lun, span);
	struct lb_open *open = &lun->open;

	open->asked_per_s = (double)b->paces[i].total_milli_per_s / 1e3 / r->n_luns;
	if (span->open_ns < span->close_ns && own.close_ns > atomic_load(&b->window.start_ns))
		schedule_add(open, s, b, i, &own);
	if (s->oldest_due_ns < own.close_ns)
		open->oldest_age_ns = own.close_ns - s->oldest_due_ns;
	r->open.asked_per_s += open->asked_per_s;
	r->open.missed += open->missed;
	r->open.oldest_age_ns = max_u64(r->open.oldest_age_ns, open->oldest_age_ns);
	for (int op = 0; op < LB_OPS; op++)
		if (r->op[op] != lun->op[op])
			lb_hist_add(r->op[op]->response_hist, lun->op[op]->response_hist);
	row_make(&lun->fig, lun->op, open, s);
}

int lb_open_figures_make(struct lb_result *r, const struct lb_board *b, const struct lb_span *span)
{
	const struct lb_plan *p = r->plan;
	struct sums *luns = calloc((size_t)p->n_luns + 1, sizeof(*luns));
	char *hist_seen = calloc((size_t)p->n_hists + LB_OPS, 1);
	int ret;

	/* memory is taken only where there is something to count */
	r->response_hists =
		calloc(1 + ((size_t)p->n_luns + 1) * (1 + LB_OPS), sizeof(*r->response_hists));
	ret = luns && hist_seen && r->response_hists ? 0 : -ENOMEM;
	r->is_open = !ret;
	for (uint32_t i = 0; !ret && i <= p->n_luns; i++) {
		bool is_lun = i < p->n_luns;

		sums_init(&luns[i]);
		hists_point(
			r, i, is_lun ? &r->luns[i].fig : &r->total, is_lun ? r->luns[i].op : r->op);
	}
	for (uint32_t l = 0; !ret && span->open_ns < span->close_ns && l < p->n_lanes; l++) {
		uint32_t lun = p->lanes[l].lun;

		struct lb_span own = span_of(&r->luns[lun], span);

		lane_add(&luns[lun], r->luns[lun].op, b, l, hist_seen);
		slots_add(&luns[lun], b, &p->lanes[l], &own);
	}
	for (uint32_t i = 0; !ret && i < p->n_luns; i++) {
		lun_make(r, b, i, &luns[i], span);
		sums_add(&luns[p->n_luns], &luns[i]);
	}
	if (!ret)
		row_make(&r->total, r->op, &r->open, &luns[p->n_luns]);
	free(luns);
	free(hist_seen);
	return ret;
}
