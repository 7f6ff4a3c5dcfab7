#include "response.h"

#include <errno.h>

#include "board.h"

int lb_responses_make(struct lb_shm *shm, struct lb_board *b)
{
	const struct lb_plan *p = b->plan;
	const struct lb_stream *s = &p->phases[0].streams[0];
	struct lb_hist *hists;

	if (!s->rate_milli_per_s)
		return 0;
	b->paces = lb_shm_alloc(shm, p->n_luns, sizeof(*b->paces), 64);
	b->resps = lb_shm_alloc(shm, (size_t)p->n_lanes * LB_OPS, sizeof(*b->resps), 64);
	b->dues = lb_shm_alloc(shm, p->n_slots, sizeof(*b->dues), 64);
	hists = lb_shm_alloc(shm, p->n_hists, sizeof(*hists), 64);
	if (!b->paces || !b->resps || !b->dues || !hists)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_luns; i++)
		lb_pace_init(&b->paces[i], s->arrival, s->rate_milli_per_s, i, p->n_luns, p->seed);
	for (uint32_t l = 0; l < p->n_lanes; l++) {
		for (uint32_t op = 0; op < LB_OPS; op++) {
			struct lb_resp *resp = lb_resp_of(b->resps, l, op);

			resp->min_ns = UINT64_MAX;
			resp->hist = &hists[p->lanes[l].hist + op];
		}
	}
	return 0;
}

uint64_t lb_responses_bytes(uint64_t n_luns, uint64_t n_lanes, uint64_t n_hists, uint64_t n_slots)
{
	return n_luns * sizeof(struct lb_pace) + n_lanes * LB_OPS * sizeof(struct lb_resp) +
	       n_hists * sizeof(struct lb_hist) + n_slots * sizeof(uint64_t) + 256;
}
