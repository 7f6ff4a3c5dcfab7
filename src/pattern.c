#include "pattern.h"

#include <string.h>

/* Lanes take their random numbers from streams LUN << 32 | lane; no lane has this number. */
#define ORDER_STREAM 0xffffffffu

void lb_pattern_init(struct lb_pattern *p, enum lb_pat pat, uint64_t n_blocks,
	struct lb_cursor *cursor, bool shares_cursor, uint64_t seed, uint32_t lun)
{
	memset(p, 0, sizeof(*p));
	p->pat = pat;
	p->n_blocks = n_blocks;
	p->cursor = cursor;
	p->shares_cursor = shares_cursor;
	if (pat == LB_PERM)
		lb_perm_init(&p->perm, n_blocks, seed, (uint64_t)lun << 32 | ORDER_STREAM);
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

uint64_t lb_pattern_next(struct lb_pattern *p)
{
	uint64_t at = next_in_order(p);

	return p->pat == LB_PERM ? lb_perm_at(&p->perm, at) : at;
}
