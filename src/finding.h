/* Findings: what makes a run's figures worth less than they look, or keeps it from beginning. */
#ifndef LB_FINDING_H
#define LB_FINDING_H

#include <stdatomic.h>
#include <stdint.h>

#define LB_OF_RUN (-1) /* a finding of no single LUN */

enum lb_gravity {
	LB_DISTORTS,
	LB_STOPS, /* the run cannot begin */
	LB_FINE,  /* looked at, and enough of it is there */
};

/* A short code for machines, a sentence for people. */
struct lb_finding {
	char code[32];
	int lun; /* position among the LUNs used; LB_OF_RUN */
	enum lb_gravity gravity;
	char text[320];
};

/* In memory that two processes share: one writes, the other reads the first N. */
struct lb_findings {
	struct lb_finding *at;
	uint32_t room;
	_Atomic uint32_t n; /* release, after the entry */
};

/* Room that is enough for all that can be found of N LUNs before and beside a run. */
uint32_t lb_findings_room(uint32_t n_luns);

/* Adds one; what comes when the room is used up is dropped. */
void lb_findings_add(struct lb_findings *f, enum lb_gravity gravity, int lun, const char *code,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
