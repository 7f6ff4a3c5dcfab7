/*
 * Failed I/O: how often, and the first and the last of it with time and place, by what it was and
 * how it failed. A lane has such a table on the board, written by its worker alone.
 */
#ifndef LB_FAULT_H
#define LB_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LB_FAULT_ROWS 12
#define LB_FAULT_OPS  2 /* of enum lb_op */

struct lb_fault_at {
	uint64_t ns; /* on the clock of the run */
	uint64_t offset_bytes;
};

struct lb_fault {
	uint64_t n, n_outside; /* all; how many of them outside the window */
	struct lb_fault_at first, last;
	int32_t res;  /* -errno; of short ones, which share a row, the bytes that the first moved */
	uint8_t op;   /* enum lb_op */
	bool is_rest; /* whatever came when there was no row left; `res` is the first's */
};

/* The last rows, one for each op, are for the rest. */
struct lb_faults {
	_Atomic uint32_t
		n; /* rows in use, those of the rest apart; release, after what is in them */
	struct lb_fault row[LB_FAULT_ROWS];
	struct lb_fault rest[LB_FAULT_OPS];
};

/* One that returned RES, -errno or the bytes it moved, at AT, inside the window or not. */
void lb_fault_note(
	struct lb_faults *f, uint8_t op, int32_t res, struct lb_fault_at at, bool in_window);

/* Adds what FROM has of OP, or of all of them: OP LB_FAULT_OPS. FROM may be another process's. */
void lb_faults_add(struct lb_faults *into, const struct lb_faults *from, uint8_t op);

/* Row I, those of the rest behind the others; NULL: there are no more. */
const struct lb_fault *lb_faults_row(const struct lb_faults *f, uint32_t i);

/* The row with the earliest first one; NULL: there is none. */
const struct lb_fault *lb_faults_first(const struct lb_faults *f);

/* What an error means on a SAN, for a res as above, in a few words. */
const char *lb_fault_words(int32_t res);

/* Its name: "EIO", or "short"; a number where it has none. BUF of at least 16. */
const char *lb_fault_name(char *buf, size_t size, int32_t res);

#endif
