/* What targets are to each other: one device twice, paths of one LUN, one inside another. */
#ifndef LB_RELATE_H
#define LB_RELATE_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "lun.h"
#include "stack.h"

/*
 * Settles, for the LUNs that are USED, open, and told of by STACK (their numbers are their places):
 *
 * - the same storage twice, a loop device and what is behind it included: refused, LB_ST_USAGE;
 * - the same WWID and size, or a multipath map and a path of it: all but one are refused, with the
 *   map to use. The same WWID and another size: both stay, with wwid_not_unique set;
 * - a LUN that lies on another one, or on a path of it: passed over, since the outer one is
 *   measured whole; FOR_WRITING refused, LB_ST_USAGE.
 *
 * Takes n log n steps. Returns 0, or -ENOMEM with ERR.
 */
int lb_luns_relate(struct lb_lun *luns, size_t n, const struct lb_stack *stack, bool for_writing,
	struct lb_err *err);

#endif
