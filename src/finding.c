#include "finding.h"

#include <stdarg.h>
#include <stdio.h>

#define KINDS_OF_RUN 32
#define KINDS_OF_LUN 12

uint32_t lb_findings_room(uint32_t n_luns)
{
	return KINDS_OF_RUN + KINDS_OF_LUN * n_luns;
}

void lb_findings_add(struct lb_findings *f, enum lb_gravity gravity, int lun, const char *code,
	const char *fmt, ...)
{
	uint32_t n = atomic_load_explicit(&f->n, memory_order_relaxed);
	struct lb_finding *finding = &f->at[n];
	va_list ap;

	if (n == f->room)
		return;
	finding->lun = lun;
	finding->gravity = gravity;
	snprintf(finding->code, sizeof(finding->code), "%s", code);
	va_start(ap, fmt);
	vsnprintf(finding->text, sizeof(finding->text), fmt, ap);
	va_end(ap);
	atomic_store_explicit(&f->n, n + 1, memory_order_release);
}
