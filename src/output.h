/* A result file: the old one stays until the new one is whole. */
#ifndef LB_OUTPUT_H
#define LB_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config.h"
#include "err.h"

struct lb_output {
	FILE *file;       /* to write to */
	int fd;           /* behind it */
	int errnum;       /* the first that a write met with; 0: none */
	const char *name; /* as the user gave it, for messages */
	char *path;       /* the file to be replaced; NULL: written to directly */
	char *temporary;  /* beside it, under this name; NULL: it has none (yet) */
	int old_fd;       /* the file that is there, to be written to; -1: there is none */
	bool is_in_place; /* it cannot be replaced: what is in it is */
};

/*
 * Opens PATH, or stdout for "-", before any I/O is done. What must not be written over is refused
 * (LB_ST_USAGE, see output_check.h). PATH that is open as stdout or stderr already is written to as
 * they are; character devices and FIFOs directly; else a temporary takes the file's place in
 * lb_output_commit(), or its content does where no other file may. A FIFO is waited for until it
 * has a reader, for WAIT_NS at most: then -EAGAIN, and ERR says so. CFG (may be NULL) tells what
 * the targets are. OUT stays where it is until lb_output_done().
 */
int lb_output_open(struct lb_output *out, const char *path, const struct lb_config *cfg,
	uint64_t wait_ns, struct lb_err *err);

/*
 * Flushes and puts the whole file in place. On failure (LB_ST_OUTPUT) the old one is as it was, as
 * long as another could take its place; -EPIPE: nobody reads it.
 */
int lb_output_commit(struct lb_output *out, struct lb_err *err);

/* Closes; what was not committed is gone. OUT may be all zeros. */
void lb_output_done(struct lb_output *out);

#endif
