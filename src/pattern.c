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

void lb_pattern_init(struct lb_pattern *p, const struct lb_pat *pat, uint64_t n_blocks,
	struct lb_cursor *cursor, bool shares_cursor, uint64_t seed, uint32_t lun)
{
	memset(p, 0, sizeof(*p));
	p->pat = *pat;
	p->n_blocks = n_blocks;
	p->cursor = cursor;
	p->shares_cursor = shares_cursor;
	lb_perm_init(&p->perm, n_blocks, seed, (uint64_t)lun << 32 | ORDER_STREAM);
	if (pat->kind == LB_ZIPF)
		lb_zipf_init(&p->zipf, n_blocks, pat->theta_e4 / 1e4);
	if (pat->kind == LB_HOT)
		p->n_hot = count_hot(n_blocks, pat->hot_ppm);
}

static uint64_t next_in_order(struct lb_pattern *p)
{
	uint64_t at;

	if (p->shares_cursor)
		return atomic_fetch_add_explicit(&p->cursor->blocks, 1, memory_order_relaxed) %
		       p->n_blocks;
	at = p->next;
	p->next = at + 1 == p->n_blocks ? 0 : at + 1;
	return at;
}

/* The first n_hot ranks are the hot ones. */
static uint64_t draw_hot(const struct lb_pattern *p, struct lb_rng *rng)
{
	if (p->n_hot == p->n_blocks || lb_rng_below(rng, PPM) < p->pat.hot_xfers_ppm)
		return lb_rng_below(rng, p->n_hot);
	return p->n_hot + lb_rng_below(rng, p->n_blocks - p->n_hot);
}

uint64_t lb_pattern_next(struct lb_pattern *p, struct lb_rng *rng)
{
	switch (p->pat.kind) {
	case LB_PERM:
		return lb_perm_at(&p->perm, next_in_order(p));
	case LB_ZIPF:
		return lb_perm_at(&p->perm, lb_zipf_draw(&p->zipf, rng));
	case LB_HOT:
		return lb_perm_at(&p->perm, draw_hot(p, rng));
	default:
		return next_in_order(p);
	}
}
