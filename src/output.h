/*
 * A file that results go to: a document, for which the old file stays until the new one is whole,
 * or lines that are written as they come.
 */
#ifndef LB_OUTPUT_H
#define LB_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config.h"
#include "err.h"

enum lb_output_way {
	LB_OUTPUT_WHOLE, /* of --json, and the text */
	LB_OUTPUT_LINES, /* of --stream */
};

struct lb_output {
	enum lb_output_way way;
	FILE *file;       /* to write to */
	int fd;           /* behind it */
	int errnum;       /* the first that a write met with; 0: none */
	const char *name; /* as the user gave it, for messages */
	char *path;       /* the file to be replaced; NULL: written to directly */
	char *temporary;  /* beside it, under this name; of lines: itself, made and still
			     empty; NULL: there is none (yet) */
	int old_fd;       /* the file that is there, to be written to; -1: there is none */
	bool is_in_place; /* it cannot be replaced: what is in it is */
};

/*
 * Opens PATH, or stdout for "-", before any I/O is done. What must not be written over is refused
 * (LB_ST_USAGE, see output_check.h). PATH that is open as stdout or stderr already is written to as
 * they are; character devices and FIFOs directly; else a temporary takes the file's place in
 * lb_output_commit(), or its content does where no other file may; lines are written to the file
 * itself, from lb_output_begin() on. A FIFO is waited for until it
 * has a reader, for WAIT_NS at most: then -EAGAIN, and ERR says so. CFG (may be NULL) tells what
 * the targets are. OUT stays where it is until lb_output_done().
 */
int lb_output_open(struct lb_output *out, enum lb_output_way way, const char *path,
	const struct lb_config *cfg, uint64_t wait_ns, struct lb_err *err);

/* Lines are about to be written: what is in the file goes. Sets OUT's errnum. */
void lb_output_begin(struct lb_output *out);

/* Writes all N bytes; a pipe or terminal that somebody has made non-blocking is waited for. 0 or an
 * errno. */
int lb_output_write(int fd, const char *buf, size_t n);

/*
 * Flushes and puts the whole file in place. On failure (LB_ST_OUTPUT) the old one is as it was, as
 * long as another could take its place; -EPIPE: nobody reads it. Of lines it closes the file.
 */
int lb_output_commit(struct lb_output *out, struct lb_err *err);

/* Closes; what was not committed is gone. OUT may be all zeros. */
void lb_output_done(struct lb_output *out);

#endif
