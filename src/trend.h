/* What the time series shows at a glance: its worst interval, and how the end compares with the
 * beginning. */
#ifndef LB_TREND_H
#define LB_TREND_H

#include <stdbool.h>
#include <stdint.h>

#include "series.h"

struct lb_trend {
	bool has_worst; /* of all LUNs together, in an interval that is not cut short */
	uint64_t worst_begin_ns, worst_end_ns; /* from the window's opening */
	double worst_per_s;                    /* xfers */
	bool has_quarters;                     /* the window was longer than a minute */
	double first_per_s, last_per_s;        /* xfers of its first and its last quarter */
};

/* S may be NULL, or without points. */
void lb_trend_make(struct lb_trend *t, const struct lb_series *s);

#endif
