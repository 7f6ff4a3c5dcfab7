/* What a target that is not there may have been meant as. */
#ifndef LB_HINT_H
#define LB_HINT_H

#include <stddef.h>

#include "opt.h"

/*
 * NAME has no slash and is a word of an option ("each": "--hist=each?"), or nearly a command
 * ("lsit": "lunbench list?"): says so in BUF, else "". Returns BUF.
 */
const char *lb_hint(
	char *buf, size_t n, const struct lb_opt_set *sets, size_t n_sets, const char *name);

#endif
