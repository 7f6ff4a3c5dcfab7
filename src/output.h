/* A result file: the old one stays until the new one is whole. */
#ifndef LB_OUTPUT_H
#define LB_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "err.h"

struct lb_output {
	FILE *file;
	const char *name; /* as the user gave it, for messages */
	char *path;       /* the file to be replaced; NULL: written to directly */
	char *temporary;  /* beside it, under this name; NULL: it has none yet (O_TMPFILE) */
};

/*
 * Opens PATH, or stdout for "-", before any I/O is done. A block device is refused (-ENOTBLK,
 * LB_ST_USAGE): a forgotten file name must not eat a LUN. Character devices, FIFOs and sockets are
 * written directly; else a temporary is written that takes the file's place in lb_output_commit().
 */
int lb_output_open(struct lb_output *out, const char *path, struct lb_err *err);

/* Flushes and puts the whole file in place. On failure (LB_ST_OUTPUT) the old one is as it was. */
int lb_output_commit(struct lb_output *out, struct lb_err *err);

/* Closes; what was not committed is gone. */
void lb_output_done(struct lb_output *out);

#endif
