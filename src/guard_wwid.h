/* By which ID a LUN is named to --overwrite; to go when identity.h is there. */
#ifndef LB_GUARD_WWID_H
#define LB_GUARD_WWID_H

#include <stdbool.h>
#include <stddef.h>

#include "lun.h"

/* LUN's WWID as multipath writes it, or its name as typed where it has none. Returns BUF. */
const char *lb_guard_wwid(const struct lb_lun *lun, char *buf, size_t n);

/* Whether ID is that: also as naa., eui., wwn-0x, 0x. */
bool lb_guard_wwid_matches(const struct lb_lun *lun, const char *id);

#endif
