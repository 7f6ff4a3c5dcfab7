#include "pattern.h"

#include <string.h>

#define PPM 1000000u

/* Lanes take their random numbers from streams LUN << 32 | lane; no lane has this number. */
#define ORDER_STREAM 0xffffffffu

/* Of N blocks; there is a hot one, and, of two or more, one that is not. */
static uint64_t count_hot(uint64_t n, uint32_t ppm)
{
	uint64_t hot = (uint64_t)(((unsigned __int128)n * ppm + PPM / 2) / PPM);

	if (hot >= n)
		hot = n - 1;
	return hot ? hot : 1;
}

void lb_pattern_init(struct lb_pattern *p, const struct lb_pattern_cfg *cfg)
{
	const struct lb_pat *pat = &cfg->pat;

	memset(p, 0, sizeof(*p));
	p->cfg = *cfg;
	lb_perm_init(&p->perm, cfg->n_blocks, cfg->seed, (uint64_t)cfg->lun << 32 | ORDER_STREAM);
	if (pat->kind == LB_ZIPF)
		lb_zipf_init(&p->zipf, cfg->n_blocks, pat->theta_e4 / 1e4);
	if (pat->kind == LB_HOT)
		p->n_hot = count_hot(cfg->n_blocks, pat->hot_ppm);
}

static uint64_t advance(struct lb_cursor *cursor)
{
	return atomic_fetch_add_explicit(&cursor->blocks, 1, memory_order_relaxed);
}

/*
 * Each of several streams has a part of its own, of which the first ones are a block longer where
 * they are not all equal. Slots stay with one stream, dealt in turn over the slots of all lanes.
 */
static uint64_t next_of_stream(struct lb_pattern *p, uint32_t slot)
{
	const struct lb_pattern_cfg *c = &p->cfg;
	uint64_t n = c->n_seq_streams, size = c->n_blocks / n, longer = c->n_blocks % n;
	uint64_t stream = ((uint64_t)(slot - c->first_slot) * c->n_lanes + c->lane) % n;
	uint64_t start = stream * size + (stream < longer ? stream : longer);

	return start + advance(&c->cursors[stream]) % (size + (stream < longer));
}

static uint64_t next_in_order(struct lb_pattern *p)
{
	uint64_t at;

	if (p->cfg.n_lanes > 1)
		return advance(p->cfg.cursors) % p->cfg.n_blocks;
	at = p->next;
	p->next = at + 1 == p->cfg.n_blocks ? 0 : at + 1;
	return at;
}

/* The first n_hot ranks are the hot ones. */
static uint64_t draw_hot(const struct lb_pattern *p, struct lb_rng *rng)
{
	const struct lb_pattern_cfg *c = &p->cfg;

	if (p->n_hot == c->n_blocks || lb_rng_below(rng, PPM) < c->pat.hot_xfers_ppm)
		return lb_rng_below(rng, p->n_hot);
	return p->n_hot + lb_rng_below(rng, c->n_blocks - p->n_hot);
}

uint64_t lb_pattern_next(struct lb_pattern *p, struct lb_rng *rng, uint32_t slot)
{
	switch (p->cfg.pat.kind) {
	case LB_PERM:
		return lb_perm_at(&p->perm, next_in_order(p));
	case LB_ZIPF:
		return lb_perm_at(&p->perm, lb_zipf_draw(&p->zipf, rng));
	case LB_HOT:
		return lb_perm_at(&p->perm, draw_hot(p, rng));
	default:
		return p->cfg.n_seq_streams > 1 ? next_of_stream(p, slot) : next_in_order(p);
	}
}
