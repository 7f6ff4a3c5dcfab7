/*
 * Takes the points of the time series: differences of what the cells count, by whoever drives
 * control. It reads them while workers write, waits for nobody and, once made, allocates nothing.
 */
#ifndef LB_SAMPLER_H
#define LB_SAMPLER_H

#include <stdint.h>

#include "series.h"

struct lb_board;
struct lb_sampler;

/* For the series of BOARD, which has one. Returns 0 or -ENOMEM; lb_sampler_done() after either. */
int lb_sampler_make(struct lb_sampler **s, const struct lb_board *board);
void lb_sampler_done(struct lb_sampler *s);

/* The window opens at OPEN_NS. */
void lb_sampler_begin(struct lb_sampler *s, uint64_t open_ns);

/* When the next interval ends; LB_NEVER before the window opens and after it has closed. */
uint64_t lb_sampler_due(const struct lb_sampler *s);

/* Ends the current interval at NOW_NS; the next one begins there. */
void lb_sampler_take(struct lb_sampler *s, uint64_t now_ns);

/* Puts the interval taken into the series. The window's last one is kept by lb_sampler_finish(). */
void lb_sampler_keep(struct lb_sampler *s);

/* The window has closed: nothing is due any more. */
void lb_sampler_close(struct lb_sampler *s);

/*
 * Workers have seen that, at CLOSE_NS, or are given up: the last interval, with all that was
 * written down since the one before, is kept. So the points add up to what the cells hold now. Once
 * only.
 */
void lb_sampler_finish(struct lb_sampler *s, uint64_t close_ns);

/* The interval that was taken last, as a series of the one point; and how many were kept. */
const struct lb_series *lb_sampler_last(const struct lb_sampler *s, uint32_t *n_kept);

#endif
