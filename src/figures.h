/* The figures of a result: the cells of the board added up, by LUN and by op. */
#ifndef LB_FIGURES_H
#define LB_FIGURES_H

#include "result.h"

/* A / B, or null where B is nothing. */
static inline struct lb_fig_f64 lb_ratio(double a, double b)
{
	return b > 0 ? (struct lb_fig_f64){.has = true, .v = a / b} : (struct lb_fig_f64){0};
}

static inline struct lb_fig_u64 lb_figure(uint64_t v)
{
	return (struct lb_fig_u64){.has = true, .v = v};
}

/* What they are worked out against. */
struct lb_span {
	uint64_t open_ns, close_ns; /* equal: the window never opened */
	uint64_t end_ns;            /* ages are measured to here */
};

/* What T says into F, whose issued and outstanding are set. */
void lb_figures_of(struct lb_figures *f, const struct lb_tally *t, const struct lb_span *s);

/* The rows by size of a mix; there are none of a single size. Returns 0 or -ENOMEM. */
int lb_figures_by_size(struct lb_result *r, const struct lb_board *b, const struct lb_span *s);

/* Fills r->luns, r->total and their figures by op and by size. Returns 0 or -ENOMEM. */
int lb_figures_make(struct lb_result *r, const struct lb_board *b, const struct lb_span *s);

/* The same of what an open loop adds to them, once they are there. */
int lb_open_figures_make(struct lb_result *r, const struct lb_board *b, const struct lb_span *s);

#endif
