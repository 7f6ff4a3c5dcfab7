/* What an open loop adds to the points of the time series: response times and backlog. */
#ifndef LB_SAMPLER_OPEN_H
#define LB_SAMPLER_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "series.h"

struct lb_board;
struct lb_open_sampler;

/* *S stays NULL where the loop of BOARD is closed. Returns 0 or -ENOMEM; lb_open_sampler_done()
 * after either. */
int lb_open_sampler_make(struct lb_open_sampler **s, const struct lb_board *board);
void lb_open_sampler_done(struct lb_open_sampler *s);

/* A new interval begins. */
void lb_open_sampler_begin(struct lb_open_sampler *s);

/* Adds to P the responses of LUN since the last look: of its N lanes. */
void lb_open_sampler_look(struct lb_open_sampler *s, uint32_t lun, enum lb_op op,
	const uint32_t *lanes, uint32_t n, struct lb_point *p);

/* The percentile of P, whose max is set: of all LUNs that were looked at in this interval. */
void lb_open_sampler_total(const struct lb_open_sampler *s, enum lb_op op, struct lb_point *p);

/* What was due on LUN before AT_NS and nobody has claimed; of a closed loop 0. */
uint64_t lb_open_backlog(const struct lb_board *b, uint32_t lun, uint64_t at_ns);

#endif
