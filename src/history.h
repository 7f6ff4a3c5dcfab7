/* What befell the LUNs, as a result has it: the events in order of time, and silences added up. */
#ifndef LB_HISTORY_H
#define LB_HISTORY_H

#include "figures.h"

/* Fills r->events and the silences of r and its LUNs, which are made. Returns 0 or -ENOMEM. */
int lb_history_make(struct lb_result *r, const struct lb_board *b, const struct lb_span *s);

#endif
