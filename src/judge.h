/*
 * Whether a write to each LUN of a list would be refused. That is read from the LUNs, and reading
 * may hang: so it is done in a process of its own, which is watched, and left behind where it does.
 */
#ifndef LB_JUDGE_H
#define LB_JUDGE_H

#include "list.h"

/*
 * Fills in `write` and `verdict` of the rows that are used; none has an --overwrite. A LUN that has
 * not answered for 5 s is passed over; what has not been looked at after 30 s in all, or cannot be
 * opened by this user, stays unknown, with verdict.what saying why. Never fails, never hangs.
 */
void lb_judge(struct lb_list *list);

#endif
