#include "err.h"

#include <stdio.h>

int lb_fail(struct lb_err *err, enum lb_status status, int errnum, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		err->status = status;
		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
	}
	return -errnum;
}
