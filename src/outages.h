/* The outages of a result, of each LUN and of all together: of a run that is over, or of one that
 * was saved. */
#ifndef LB_OUTAGES_H
#define LB_OUTAGES_H

#include "result.h"

/* From r->series and r->events. Returns 0 or -ENOMEM, as the next. */
int lb_outages_make(struct lb_result *r);

/*
 * Row ROW of r->outages (n_luns: the total), which has room for it, from its N points and the
 * events of R.
 */
int lb_outages_make_row(
	struct lb_result *r, uint32_t row, const struct lb_outage_point *points, size_t n);

#endif
