#include "sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "clock.h"
#include "pulse.h"
#include "sampler_open.h"

/* The writer is another process: each field is read once, whole. */
#define READ(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

/* Of one op on one LUN, over its lanes: as of the last look. */
struct seen {
	uint64_t xfers, bytes, errors, sum_ns, max_ns;
};

struct lb_sampler {
	const struct lb_board *board;
	struct lb_series *series;
	uint32_t *lanes, *first; /* see lb_plan_lanes_by_lun() */
	char *is_repeat;         /* of lanes[k]: an earlier lane has the same histogram */
	struct seen *seen;       /* by LUN and position */
	struct lb_hist *counted; /* the board's histograms as of the last look */
	struct lb_hist lun;      /* what one LUN did since; all 0 between two LUNs */
	struct lb_series sample;
	struct lb_open_sampler *open; /* NULL: closed loop */
	uint64_t due_ns;
	bool has_begun, is_finished, has_taken; /* taken, and not kept yet */
	uint32_t n_kept;
};

static int sample_alloc(struct lb_series *sample, const struct lb_series *s)
{
	*sample = *s;
	sample->room = 1;
	sample->end_ns = calloc(1, sizeof(*sample->end_ns));
	sample->points = calloc((size_t)s->n_rows * s->n_ops, sizeof(*sample->points));
	sample->both = calloc(s->n_rows, sizeof(*sample->both));
	sample->total = calloc(s->n_ops, sizeof(*sample->total));
	return sample->end_ns && sample->points && sample->both && sample->total ? 0 : -ENOMEM;
}

int lb_sampler_make(struct lb_sampler **sampler, const struct lb_board *board)
{
	const struct lb_plan *plan = board->plan;
	struct lb_sampler *s = *sampler = calloc(1, sizeof(*s));
	char *hist_seen = calloc((size_t)plan->n_hists + LB_OPS, 1);

	if (!s || !hist_seen)
		goto no_memory;
	s->board = board;
	s->series = board->series;
	s->due_ns = LB_NEVER;
	s->lanes = calloc((size_t)plan->n_lanes + 1, sizeof(*s->lanes));
	s->first = calloc((size_t)plan->n_luns + 1, sizeof(*s->first));
	s->is_repeat = calloc((size_t)plan->n_lanes + 1, 1);
	s->seen = calloc((size_t)plan->n_luns * LB_OPS, sizeof(*s->seen));
	s->counted = calloc(plan->n_hists, sizeof(*s->counted));
	if (!s->lanes || !s->first || !s->is_repeat || !s->seen || !s->counted ||
		sample_alloc(&s->sample, s->series) || lb_open_sampler_make(&s->open, board))
		goto no_memory;
	lb_plan_lanes_by_lun(plan, s->lanes, s->first);
	for (uint32_t k = 0; k < plan->n_lanes; k++) {
		char *is_seen = &hist_seen[plan->lanes[s->lanes[k]].hist];

		s->is_repeat[k] = *is_seen;
		*is_seen = 1;
	}
	free(hist_seen);
	return 0;
no_memory:
	free(hist_seen);
	return -ENOMEM;
}

void lb_sampler_done(struct lb_sampler *s)
{
	if (!s)
		return;
	free(s->lanes);
	free(s->first);
	free(s->is_repeat);
	free(s->seen);
	free(s->counted);
	lb_open_sampler_done(s->open);
	free(s->sample.end_ns);
	free(s->sample.points);
	free(s->sample.both);
	free(s->sample.total);
	free(s);
}

/* ---- what was counted since the last look ---- */

/* Buckets FIRST to LAST that a LUN has used of an op so far; none when FIRST is past LAST. */
struct range {
	uint32_t first, last;
};

/* xfers come first: what they count is in the rest. */
static void look_at_cell(struct range *range, const struct lb_cell *cell, struct seen *now)
{
	uint64_t xfers = __atomic_load_n(&cell->xfers, __ATOMIC_ACQUIRE), max_ns;
	uint32_t first, last;

	now->errors += READ(cell->errors);
	if (!xfers)
		return;
	max_ns = READ(cell->max_ns);
	now->xfers += xfers;
	now->bytes += xfers * cell->size_bytes;
	now->sum_ns += READ(cell->sum_ns);
	if (max_ns > now->max_ns)
		now->max_ns = max_ns;
	first = lb_hist_bucket(READ(cell->min_ns));
	last = lb_hist_bucket(max_ns);
	range->first = first < range->first ? first : range->first;
	range->last = last > range->last ? last : range->last;
}

/* Counters of all lanes of LUN now. */
static struct range look_at_cells(
	const struct lb_sampler *s, uint32_t lun, enum lb_op op, struct seen *now)
{
	struct range range = {LB_HIST_BUCKETS, 0};

	*now = (struct seen){0};
	for (uint32_t k = s->first[lun]; k < s->first[lun + 1]; k++)
		for (uint32_t size = 0; size < s->board->plan->n_sizes; size++)
			look_at_cell(
				&range, lb_board_cell_of(s->board, s->lanes[k], size, op), now);
	return range;
}

/* What the histogram HIST has more than at the last look, into s->lun. */
static void look_at_hist(struct lb_sampler *s, uint32_t hist, struct range range)
{
	const uint64_t *now = s->board->hists[hist].count;
	uint64_t *before = s->counted[hist].count;

	for (uint32_t i = range.first; i <= range.last; i++) {
		uint64_t n = READ(now[i]);

		s->lun.count[i] += n - before[i];
		before[i] = n;
	}
}

/* The same of all histograms of LUN. */
static void look_at_hists(struct lb_sampler *s, uint32_t lun, enum lb_op op, struct range range)
{
	const struct lb_plan *plan = s->board->plan;

	for (uint32_t k = s->first[lun]; k < s->first[lun + 1]; k++) {
		const struct lb_lane_plan *lane = &plan->lanes[s->lanes[k]];

		for (uint32_t size = 0; size < plan->n_sizes && !s->is_repeat[k]; size++) {
			const struct lb_cell *cell =
				lb_board_cell_of(s->board, s->lanes[k], size, op);

			/* one that was never written to takes no memory until it is read */
			if (lane->shares_hist || READ(cell->xfers))
				look_at_hist(s, lane->hist + size * LB_OPS + op, range);
		}
	}
}

/* The longest latency that may be in H: the upper edge of its last bucket. */
static uint64_t longest_ns(const struct lb_hist *h, struct range range)
{
	for (uint32_t i = range.last + 1; i-- > range.first;)
		if (h->count[i])
			return lb_hist_high_ns(i) - 1;
	return 0;
}

/* Moves s->lun over to the sample's total. */
static void add_to_total(struct lb_sampler *s, uint32_t pos, struct range range)
{
	struct lb_series *sample = &s->sample;
	uint64_t *total = sample->total[pos].count;

	for (uint32_t i = range.first; i <= range.last; i++) {
		total[i] += s->lun.count[i];
		s->lun.count[i] = 0;
	}
	if (range.first < sample->first_bucket[pos])
		sample->first_bucket[pos] = range.first;
	if (range.last > sample->last_bucket[pos])
		sample->last_bucket[pos] = range.last;
}

static void point_count(struct lb_point *p, const struct seen *now, const struct seen *before)
{
	p->xfers += now->xfers - before->xfers;
	p->bytes += now->bytes - before->bytes;
	p->errors += now->errors - before->errors;
	p->sum_ns += now->sum_ns - before->sum_ns;
}

/* Adds what LUN did since the last look to its point in the sample. */
static void look_at_lun(struct lb_sampler *s, uint32_t lun, enum lb_op op, uint32_t pos)
{
	struct lb_point *p = lb_series_point(&s->sample, lun, pos, 0);
	struct seen now, *before = &s->seen[lun * LB_OPS + pos];
	struct range range = look_at_cells(s, lun, op, &now);
	bool is_first = !p->xfers;
	uint64_t max_ns;

	point_count(p, &now, before);
	if (now.xfers > before->xfers) {
		look_at_hists(s, lun, op, range);
		max_ns = longest_ns(&s->lun, range);
		if (max_ns > now.max_ns || now.max_ns > before->max_ns)
			max_ns = now.max_ns;
		if (max_ns > p->max_ns)
			p->max_ns = max_ns;
		if (is_first) /* the rest is of the instant in which the window closed */
			lb_point_rank(p, &s->lun, range.first, range.last);
		add_to_total(s, pos, range);
	}
	lb_open_sampler_look(
		s->open, lun, op, &s->lanes[s->first[lun]], s->first[lun + 1] - s->first[lun], p);
	*before = now;
}

static void total_add(struct lb_series *sample, uint32_t pos)
{
	uint32_t n_luns = sample->n_rows - 1;
	struct lb_point total = {0};

	for (uint32_t lun = 0; lun < n_luns; lun++) {
		const struct lb_point *p = lb_series_point(sample, lun, pos, 0);

		total.xfers += p->xfers;
		total.bytes += p->bytes;
		total.errors += p->errors;
		total.sum_ns += p->sum_ns;
		total.response_sum_ns += p->response_sum_ns;
		if (p->max_ns > total.max_ns)
			total.max_ns = p->max_ns;
		if (p->response_max_ns > total.response_max_ns)
			total.response_max_ns = p->response_max_ns;
	}
	*lb_series_point(sample, n_luns, pos, 0) = total;
}

static void look(struct lb_sampler *s)
{
	struct lb_series *sample = &s->sample;

	for (enum lb_op op = LB_READ; op < LB_OPS; op++) {
		if (sample->pos[op] < 0)
			continue;
		for (uint32_t lun = 0; lun + 1 < sample->n_rows; lun++)
			look_at_lun(s, lun, op, (uint32_t)sample->pos[op]);
		total_add(sample, (uint32_t)sample->pos[op]);
		lb_open_sampler_total(s->open, op,
			lb_series_point(sample, sample->n_rows - 1, (uint32_t)sample->pos[op], 0));
	}
	lb_series_settle(sample, 0);
}

/* ---- of the moment ---- */

/* After the window's end: what was in flight then, whether it has come back since or not. */
static uint32_t in_flight(const struct lb_sampler *s, uint32_t lun)
{
	uint64_t n = 0;

	for (uint32_t k = s->first[lun]; k < s->first[lun + 1]; k++) {
		const struct lb_lane_plan *lane = &s->board->plan->lanes[s->lanes[k]];
		const struct lb_io *ios = &s->board->ios[lane->slot];

		for (uint32_t i = 0; i < s->board->plan->n_sizes * LB_OPS; i++)
			n += READ(lb_board_cell_at(s->board, s->lanes[k], i)->late);
		for (uint32_t i = 0; i < lane->qd; i++)
			n += READ(ios[i].issue_ns) != 0;
	}
	return (uint32_t)n;
}

/* The longest gap that ended since the last look, or lasts at END_NS: then all of it so far. */
static uint64_t gap_ns(const struct lb_sampler *s, uint32_t lun, bool is_busy, uint64_t end_ns)
{
	struct lb_lun_state *state = &s->board->lun_states[lun];
	uint64_t ended_ns, gap = lb_pulse_take_gap(state, &ended_ns);
	uint64_t since_ns = READ(state->last_ns);

	if (!is_busy || atomic_load_explicit(&state->retired_ns, memory_order_relaxed))
		return gap;
	if (since_ns < s->series->begin_ns)
		since_ns = s->series->begin_ns;
	return since_ns < end_ns && end_ns - since_ns > gap ? end_ns - since_ns : gap;
}

static void look_at_moment(struct lb_sampler *s)
{
	struct lb_series *sample = &s->sample;
	uint32_t n_luns = sample->n_rows - 1;
	struct lb_point_both *total = &sample->both[n_luns];

	for (uint32_t lun = 0; lun < n_luns; lun++) {
		struct lb_point_both *both = &sample->both[lun];

		both->in_flight = in_flight(s, lun);
		both->gap_ns = gap_ns(s, lun, both->in_flight > 0, sample->end_ns[0]);
		both->backlog = lb_open_backlog(s->board, lun, sample->end_ns[0]);
		total->in_flight += both->in_flight;
		total->backlog += both->backlog;
		if (both->gap_ns > total->gap_ns)
			total->gap_ns = both->gap_ns;
	}
}

/* Empty, from where the last one ended to END_NS. */
static void begin_sample(struct lb_sampler *s, uint64_t end_ns)
{
	struct lb_series *sample = &s->sample;

	memset(sample->points, 0, (size_t)sample->n_rows * sample->n_ops * sizeof(*sample->points));
	memset(sample->both, 0, sample->n_rows * sizeof(*sample->both));
	for (uint32_t pos = 0; pos < sample->n_ops; pos++) {
		for (uint32_t i = sample->first_bucket[pos]; i <= sample->last_bucket[pos]; i++)
			sample->total[pos].count[i] = 0;
		sample->first_bucket[pos] = LB_HIST_BUCKETS;
		sample->last_bucket[pos] = 0;
	}
	sample->begin_ns = sample->end_ns[0];
	sample->end_ns[0] = end_ns;
	s->has_taken = true;
	lb_open_sampler_begin(s->open);
	look_at_moment(s);
}

/* ---- the intervals ---- */

void lb_sampler_begin(struct lb_sampler *s, uint64_t open_ns)
{
	s->series->begin_ns = s->sample.begin_ns = s->sample.end_ns[0] = open_ns;
	s->due_ns = open_ns + s->series->asked_ns;
	s->has_begun = true;
}

uint64_t lb_sampler_due(const struct lb_sampler *s)
{
	return s->due_ns;
}

void lb_sampler_take(struct lb_sampler *s, uint64_t now_ns)
{
	const struct lb_series *series = s->series;
	uint64_t nth = (now_ns - series->begin_ns) / series->asked_ns;

	begin_sample(s, now_ns);
	look(s);
	s->due_ns = series->begin_ns + (nth + 1) * series->asked_ns;
}

void lb_sampler_keep(struct lb_sampler *s)
{
	lb_series_fold(s->series, &s->sample);
	s->has_taken = false;
	s->n_kept++;
}

void lb_sampler_close(struct lb_sampler *s)
{
	s->due_ns = LB_NEVER;
}

void lb_sampler_finish(struct lb_sampler *s, uint64_t close_ns)
{
	if (!s->has_begun || s->is_finished)
		return;
	lb_sampler_close(s);
	s->is_finished = true;
	if (!s->has_taken)
		begin_sample(s, close_ns);
	look(s);
	lb_sampler_keep(s);
	lb_series_end(s->series);
}

const struct lb_series *lb_sampler_last(const struct lb_sampler *s, uint32_t *n_kept)
{
	*n_kept = s->n_kept;
	return &s->sample;
}
