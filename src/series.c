#include "series.h"

#include <string.h>

#include "plan.h"

#define POINTS_MOST 1000000u /* of all LUNs */

/* In steps of two, so that neighbours can be merged. */
uint32_t lb_series_room(uint32_t n_luns, uint64_t interval_ns, uint64_t time_ns)
{
	uint64_t room = n_luns ? POINTS_MOST / n_luns : LB_SERIES_MOST;

	if (room > LB_SERIES_MOST)
		room = LB_SERIES_MOST;
	if (time_ns && interval_ns && time_ns / interval_ns < room)
		room = time_ns / interval_ns + 1;
	room += room % 2;
	return room < 4 ? 4 : (uint32_t)room;
}

uint64_t lb_series_bytes(uint32_t n_luns, uint32_t n_ops, uint64_t interval_ns, uint64_t time_ns)
{
	uint64_t room = lb_series_room(n_luns, interval_ns, time_ns), rows = (uint64_t)n_luns + 1;

	return 4096 + room * (sizeof(uint64_t) + n_ops * sizeof(struct lb_hist)) +
	       rows * room * (n_ops * sizeof(struct lb_point) + sizeof(struct lb_point_both));
}

/* Which ops the phase has, and where. */
static void find_ops(struct lb_series *s, const struct lb_phase *phase)
{
	bool has[LB_OPS] = {false};

	for (uint32_t i = 0; i < phase->n_streams; i++) {
		has[LB_READ] |= phase->streams[i].read_pct > 0;
		has[LB_WRITE] |= phase->streams[i].read_pct < 100;
	}
	for (int op = 0; op < LB_OPS; op++)
		s->pos[op] = has[op] ? (int8_t)s->n_ops++ : -1;
}

struct lb_series *lb_series_make(struct lb_shm *shm, const struct lb_plan *plan)
{
	struct lb_series *s = lb_shm_alloc(shm, 1, sizeof(*s), 64);
	uint64_t cells;

	if (!s)
		return NULL;
	find_ops(s, &plan->phases[0]);
	s->asked_ns = s->interval_ns = plan->interval_ns;
	s->room = lb_series_room(plan->n_luns, plan->interval_ns, plan->phases[0].time_ns);
	s->n_rows = plan->n_luns + 1;
	for (int pos = 0; pos < LB_OPS; pos++)
		s->first_bucket[pos] = LB_HIST_BUCKETS;
	cells = (uint64_t)s->n_rows * s->room;
	s->end_ns = lb_shm_alloc(shm, s->room, sizeof(*s->end_ns), 64);
	s->points = lb_shm_alloc(shm, cells * s->n_ops, sizeof(*s->points), 64);
	s->both = lb_shm_alloc(shm, cells, sizeof(*s->both), 64);
	s->total = lb_shm_alloc(shm, (size_t)s->n_ops * s->room, sizeof(*s->total), 64);
	return s->end_ns && s->points && s->both && s->total ? s : NULL;
}

void lb_point_rank(struct lb_point *p, const struct lb_hist *h, uint32_t first, uint32_t last)
{
	if (lb_hist_percentile_in(h, first, last, 500000, 0, p->max_ns, &p->p50_ns) < 0)
		p->p50_ns = 0;
	if (lb_hist_percentile_in(h, first, last, 990000, 0, p->max_ns, &p->p99_ns) < 0)
		p->p99_ns = 0;
}

static void take_max(uint64_t *max, uint64_t v)
{
	if (v > *max)
		*max = v;
}

/* What adds up. The percentiles do not, unless all transfers were in one of the two. */
static void point_add(struct lb_point *to, const struct lb_point *p)
{
	if (p->xfers) {
		to->p50_ns = to->xfers ? 0 : p->p50_ns;
		to->p99_ns = to->xfers ? 0 : p->p99_ns;
		to->response_p99_ns = to->xfers ? 0 : p->response_p99_ns;
	}
	to->xfers += p->xfers;
	to->bytes += p->bytes;
	to->errors += p->errors;
	to->sum_ns += p->sum_ns;
	to->response_sum_ns += p->response_sum_ns;
	take_max(&to->max_ns, p->max_ns);
	take_max(&to->response_max_ns, p->response_max_ns);
}

/* TO is followed by B. */
static void both_add(struct lb_point_both *to, const struct lb_point_both *b)
{
	take_max(&to->gap_ns, b->gap_ns);
	to->in_flight = b->in_flight;
	to->backlog = b->backlog;
}

/* Only what was ever used of them: the rest is holes that take no memory until they are read. */
static void hist_add(struct lb_hist *to, const struct lb_hist *h, uint32_t first, uint32_t last)
{
	for (uint32_t k = first; k <= last; k++)
		to->count[k] += h->count[k];
}

void lb_series_settle(struct lb_series *s, uint32_t i)
{
	uint32_t n_silent = 0;

	for (uint32_t pos = 0; pos < s->n_ops; pos++)
		lb_point_rank(lb_series_point(s, s->n_rows - 1, pos, i),
			&s->total[pos * s->room + i], s->first_bucket[pos], s->last_bucket[pos]);
	for (uint32_t row = 0; row + 1 < s->n_rows; row++) {
		uint64_t done = 0;

		for (uint32_t pos = 0; pos < s->n_ops; pos++) {
			const struct lb_point *p = lb_series_point(s, row, pos, i);

			done += p->xfers + p->errors;
		}
		n_silent += !done && lb_series_both(s, row, i)->in_flight;
	}
	lb_series_both(s, s->n_rows - 1, i)->n_silent = n_silent;
}

static void merge_row(struct lb_series *s, uint32_t row)
{
	for (uint32_t i = 0; i < s->room / 2; i++) {
		struct lb_point_both *both = lb_series_both(s, row, i);

		for (uint32_t pos = 0; pos < s->n_ops; pos++) {
			struct lb_point *p = lb_series_point(s, row, pos, i);

			*p = *lb_series_point(s, row, pos, 2 * i);
			point_add(p, lb_series_point(s, row, pos, 2 * i + 1));
		}
		*both = *lb_series_both(s, row, 2 * i);
		both_add(both, lb_series_both(s, row, 2 * i + 1));
	}
}

static void merge_hists(struct lb_series *s, uint32_t pos)
{
	uint32_t first = s->first_bucket[pos], last = s->last_bucket[pos];
	size_t bytes = first <= last ? (last - first + 1) * sizeof(uint64_t) : 0;
	struct lb_hist *h = &s->total[(size_t)pos * s->room];

	for (uint32_t i = 0; bytes && i < s->room / 2; i++) {
		memmove(&h[i].count[first], &h[2 * i].count[first], bytes);
		hist_add(&h[i], &h[2 * i + 1], first, last);
	}
	for (uint32_t i = s->room / 2; bytes && i < s->room; i++)
		memset(&h[i].count[first], 0, bytes);
}

static void merge(struct lb_series *s)
{
	atomic_fetch_add_explicit(&s->version, 1, memory_order_acq_rel);
	for (uint32_t row = 0; row < s->n_rows; row++)
		merge_row(s, row);
	for (uint32_t pos = 0; pos < s->n_ops; pos++)
		merge_hists(s, pos);
	for (uint32_t i = 0; i < s->room / 2; i++) {
		s->end_ns[i] = s->end_ns[2 * i + 1];
		lb_series_settle(s, i);
	}
	s->interval_ns *= 2;
	atomic_store_explicit(&s->n, s->room / 2, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->version, 1, memory_order_acq_rel);
}

/* Adds SAMPLE's point to point I, which is empty or holds intervals before it. */
static void fold_row(struct lb_series *s, const struct lb_series *sample, uint32_t row, uint32_t i,
	bool is_empty)
{
	for (uint32_t pos = 0; pos < s->n_ops; pos++) {
		const struct lb_point *from = lb_series_point(sample, row, pos, 0);
		struct lb_point *to = lb_series_point(s, row, pos, i);

		if (is_empty)
			*to = *from;
		else
			point_add(to, from);
	}
	if (is_empty)
		*lb_series_both(s, row, i) = sample->both[row];
	else
		both_add(lb_series_both(s, row, i), &sample->both[row]);
}

void lb_series_fold(struct lb_series *s, const struct lb_series *sample)
{
	/* what was written down in the same instant as the last interval ended */
	bool is_rest = !s->n_folded && s->n && sample->end_ns[0] == s->end_ns[s->n - 1];
	uint32_t i;

	if (!is_rest && !s->n_folded && s->n == s->room)
		merge(s);
	i = s->n - is_rest;
	for (uint32_t row = 0; row < s->n_rows; row++)
		fold_row(s, sample, row, i, !is_rest && !s->n_folded);
	for (uint32_t pos = 0; pos < s->n_ops; pos++) {
		uint32_t first = sample->first_bucket[pos], last = sample->last_bucket[pos];

		hist_add(&s->total[pos * s->room + i], &sample->total[pos], first, last);
		if (first < s->first_bucket[pos])
			s->first_bucket[pos] = first;
		if (first <= last && last > s->last_bucket[pos])
			s->last_bucket[pos] = last;
	}
	s->end_ns[i] = sample->end_ns[0];
	lb_series_settle(s, i);
	if (!is_rest && ++s->n_folded == s->interval_ns / s->asked_ns)
		lb_series_end(s);
}

void lb_series_end(struct lb_series *s)
{
	if (!s->n_folded)
		return;
	s->n_folded = 0;
	atomic_store_explicit(&s->n, s->n + 1, memory_order_release);
}
