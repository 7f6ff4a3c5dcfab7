/* Faults: where one is known it is put into words once, with the exit status it will cost. */
#ifndef LB_ERR_H
#define LB_ERR_H

#include <stdarg.h>

/* The exit statuses of lunbench(8). */
enum lb_status {
	LB_OK = 0,
	LB_ST_FAULTY = 1,      /* it ran, but errors, losses or unmet requirements */
	LB_ST_USAGE = 2,       /* the request is wrong; no I/O was done */
	LB_ST_UNAVAILABLE = 3, /* device or host cannot serve it now */
	LB_ST_OUTPUT = 4,      /* the result could not be written */
};

struct lb_err {
	enum lb_status status;
	char text[1024];
};

/*
 * Fills ERR (may be NULL) and returns -ERRNUM, so that a function can end with
 * `return lb_fail(...)`. The text says what is wrong and what would be right; it has no newline.
 */
int lb_fail(struct lb_err *err, enum lb_status status, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
