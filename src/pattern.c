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

/* N blocks in a row of PART, from its start again where they do not fit any more. */
static uint64_t advance(struct lb_cursor *cursor, uint64_t n, uint64_t part)
{
	uint64_t before, from;

	if (n == 1)
		return atomic_fetch_add_explicit(&cursor->blocks, 1, memory_order_relaxed) % part;
	before = atomic_load_explicit(&cursor->blocks, memory_order_relaxed);
	do {
		uint64_t left = part - before % part;

		from = n > left ? before + left : before;
	} while (!atomic_compare_exchange_weak_explicit(
		&cursor->blocks, &before, from + n, memory_order_relaxed, memory_order_relaxed));
	return from % part;
}

/*
 * Each of several streams has a part of its own, of which the first ones are a block longer where
 * they are not all equal. Slots stay with one stream, dealt in turn over the slots of all lanes.
 */
static uint64_t next_of_stream(struct lb_pattern *p, uint32_t slot, uint64_t n)
{
	const struct lb_pattern_cfg *c = &p->cfg;
	uint64_t streams = c->n_seq_streams, part = c->n_blocks / streams;
	uint64_t longer = c->n_blocks % streams;
	uint64_t stream = ((uint64_t)(slot - c->first_slot) * c->n_lanes + c->lane) % streams;
	uint64_t start = stream * part + (stream < longer ? stream : longer);

	return start + advance(&c->cursors[stream], n, part + (stream < longer));
}

static uint64_t next_in_order(struct lb_pattern *p, uint64_t n)
{
	uint64_t at = p->next;

	if (p->cfg.n_lanes > 1)
		return advance(p->cfg.cursors, n, p->cfg.n_blocks);
	if (n > p->cfg.n_blocks - at)
		at = 0;
	p->next = at + n;
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

/* A transfer of SIZE_BYTES somewhere in BLOCK; of one that reaches past the last block, the one
 * before. */
static uint64_t place_in(
	const struct lb_pattern_cfg *c, uint64_t block, struct lb_rng *rng, uint64_t size_bytes)
{
	uint64_t at = block * c->block_bytes;

	if (size_bytes == c->block_bytes)
		return at;
	at += lb_rng_below(rng, c->block_bytes);
	at -= at % size_bytes;
	return at + size_bytes > c->n_blocks * c->block_bytes ? at - size_bytes : at;
}

uint64_t lb_pattern_next(
	struct lb_pattern *p, struct lb_rng *rng, uint32_t slot, uint64_t size_bytes)
{
	const struct lb_pattern_cfg *c = &p->cfg;
	uint64_t n;

	switch (c->pat.kind) {
	case LB_PERM:
		return lb_perm_at(&p->perm, next_in_order(p, 1)) * c->block_bytes;
	case LB_ZIPF:
		return place_in(
			c, lb_perm_at(&p->perm, lb_zipf_draw(&p->zipf, rng)), rng, size_bytes);
	case LB_HOT:
		return place_in(c, lb_perm_at(&p->perm, draw_hot(p, rng)), rng, size_bytes);
	default:
		n = size_bytes == c->block_bytes ? 1 : size_bytes / c->block_bytes;
		return c->block_bytes *
		       (c->n_seq_streams > 1 ? next_of_stream(p, slot, n) : next_in_order(p, n));
	}
}
