/*
 * lunbench list: what LUNs there are. No device is opened, so none can hold it up; whether they may
 * be written to is judge.h's.
 */
#ifndef LB_LIST_H
#define LB_LIST_H

#include <stddef.h>
#include <stdio.h>

#include "err.h"
#include "guard.h"
#include "lun.h"

enum lb_write { LB_WRITE_UNKNOWN, LB_WRITE_ALLOWED, LB_WRITE_REFUSED, LB_WRITE_NO_ANSWER };

/* One that is listed: `lun` says what it is. */
struct lb_list_row {
	struct lb_lun lun;
	char name[160];      /* what lun.name points to where no target was given */
	char suspended[128]; /* the map, itself or below it, on which any I/O would hang; or "" */
	enum lb_write write; /* what would become of one; until judged unknown */
	struct lb_verdict verdict; /* its `what` also says why that is not known */
};

struct lb_list {
	struct lb_list_row *rows; /* sorted by name, or in the order of the targets */
	size_t n, room;
	bool is_of_targets;    /* then refused and passed over ones are among the rows */
	enum lb_status status; /* the exit status: of what was refused */
	char host[256], kernel[256];
};

/*
 * Lists the N targets at TARGETS or, if there are none, every block device that could be a LUN:
 * no partitions, no paths below a multipath map (they are in its row), nothing that is empty by
 * its kind (an unused loop or zram). SYSFS is what lb_sysfs_open() gave, PROC is "/proc". Returns
 * 0, or negative with ERR; lb_list_done() after either.
 */
int lb_list_make(struct lb_list *list, const char *const *targets, size_t n, int sysfs,
	const char *proc, struct lb_err *err);
void lb_list_done(struct lb_list *list);

#endif
