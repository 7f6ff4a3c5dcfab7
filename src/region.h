/* Whether a LUN takes the transfers asked for, and which part of it they may touch. */
#ifndef LB_REGION_H
#define LB_REGION_H

#include "config.h"
#include "err.h"
#include "lun.h"

/*
 * Sets LUN's region_start and region_end from its size_bytes and logical_block: a start in percent
 * is rounded up to a logical block, the end down to whole transfers from the start, so that the
 * odd tail is never touched; of a mix, to what all its sizes are multiples of. Returns 0, or
 * -EINVAL with ERR (status 2) when a size, or an edge given in bytes, is no multiple of the logical
 * block, the region ends past the LUN, or the largest transfer does not fit in it, for each stream
 * once.
 */
int lb_region_fit(struct lb_lun *lun, const struct lb_config *cfg, struct lb_err *err);

#endif
