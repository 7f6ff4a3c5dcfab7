#include "sampler_open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"

/* The writer is another process: each field is read once, whole. */
#define READ(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

/* Of one op on one LUN, over its lanes: as of the last look. */
struct seen {
	double sum_ns;
	uint64_t max_ns;
};

struct lb_open_sampler {
	const struct lb_board *board;
	struct seen *seen;            /* by LUN and op */
	struct lb_hist *counted;      /* as the lanes' histograms lie, as of the last look */
	struct lb_hist lun;           /* what one LUN did since; all 0 between two LUNs */
	struct lb_hist total[LB_OPS]; /* of all LUNs in this interval */
	bool has_missed;              /* a LUN has: then percentiles tell too little */
};

int lb_open_sampler_make(struct lb_open_sampler **sampler, const struct lb_board *board)
{
	const struct lb_plan *plan = board->plan;
	struct lb_open_sampler *s;

	*sampler = NULL;
	if (!board->paces)
		return 0;
	s = *sampler = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->board = board;
	s->seen = calloc((size_t)plan->n_luns * LB_OPS, sizeof(*s->seen));
	s->counted = calloc(plan->n_hists, sizeof(*s->counted));
	return s->seen && s->counted ? 0 : -ENOMEM;
}

void lb_open_sampler_done(struct lb_open_sampler *s)
{
	if (!s)
		return;
	free(s->seen);
	free(s->counted);
	free(s);
}

void lb_open_sampler_begin(struct lb_open_sampler *s)
{
	if (s)
		memset(s->total, 0, sizeof(s->total));
}

/* What the histogram of a lane has more than at the last look, into s->lun. */
static void look_at_hist(struct lb_open_sampler *s, const uint64_t *now, uint64_t *before,
	uint32_t first, uint32_t last)
{
	for (uint32_t i = first; i <= last; i++) {
		uint64_t n = READ(now[i]);

		s->lun.count[i] += n - before[i];
		before[i] = n;
	}
}

/* The longest in s->lun, of which the longest ever is NOW and was BEFORE; to within a bucket. */
static uint64_t longest_ns(const struct lb_open_sampler *s, uint64_t now, uint64_t before)
{
	uint32_t i = lb_hist_bucket(now);
	uint64_t ns;

	if (now > before)
		return now;
	while (i && !s->lun.count[i])
		i--;
	ns = s->lun.count[i] ? lb_hist_high_ns(i) - 1 : 0;
	return ns < now ? ns : now;
}

static uint64_t p99_of(const struct lb_hist *h, uint64_t max_ns)
{
	uint64_t ns;

	return lb_hist_percentile(h, 990000, 0, max_ns, &ns) < 0 ? 0 : ns;
}

void lb_open_sampler_look(struct lb_open_sampler *s, uint32_t lun, enum lb_op op,
	const uint32_t *lanes, uint32_t n, struct lb_point *p)
{
	struct seen now = {0}, *before;
	uint32_t first = LB_HIST_BUCKETS, last;
	uint64_t max_ns;

	if (!s)
		return;
	before = &s->seen[lun * LB_OPS + op];
	for (uint32_t k = 0; k < n; k++) {
		const struct lb_resp *resp = lb_resp_of(s->board->resps, lanes[k], op);
		uint64_t min_ns = READ(resp->min_ns), longest = READ(resp->max_ns);
		uint32_t bucket = min_ns == UINT64_MAX ? first : lb_hist_bucket(min_ns);

		now.sum_ns += lb_resp_sum_ns(resp);
		now.max_ns = longest > now.max_ns ? longest : now.max_ns;
		first = bucket < first ? bucket : first;
	}
	last = lb_hist_bucket(now.max_ns);
	for (uint32_t k = 0; k < n && first <= last; k++) {
		const struct lb_lane_plan *lane = &s->board->plan->lanes[lanes[k]];

		if (!lane->shares_hist || !k)
			look_at_hist(s, lb_resp_of(s->board->resps, lanes[k], op)->hist->count,
				s->counted[lane->hist + op].count, first, last);
	}
	p->response_sum_ns += now.sum_ns - before->sum_ns;
	max_ns = longest_ns(s, now.max_ns, before->max_ns);
	if (max_ns > p->response_max_ns)
		p->response_max_ns = max_ns;
	if (atomic_load(&s->board->paces[lun].missed))
		s->has_missed = true;
	else if (!p->response_p99_ns)
		p->response_p99_ns = p99_of(&s->lun, p->response_max_ns);
	for (uint32_t i = first; i <= last; i++) {
		s->total[op].count[i] += s->lun.count[i];
		s->lun.count[i] = 0;
	}
	*before = now;
}

void lb_open_sampler_total(const struct lb_open_sampler *s, enum lb_op op, struct lb_point *p)
{
	if (s && !s->has_missed)
		p->response_p99_ns = p99_of(&s->total[op], p->response_max_ns);
}

uint64_t lb_open_backlog(const struct lb_board *b, uint32_t lun, uint64_t at_ns)
{
	uint64_t start_ns = atomic_load(&b->window.start_ns);
	uint64_t retired_ns = atomic_load(&b->lun_states[lun].retired_ns);

	if (!b->paces || retired_ns || at_ns < start_ns)
		return 0;
	return lb_pace_waiting(&b->paces[lun], at_ns - start_ns, NULL).n;
}
