/*
 * What befell the LUNs, on the time line of the run: stalls, losses, what the devices themselves
 * said. A log that only grows, in the memory that the two processes share; anyone may add to it.
 */
#ifndef LB_EVENT_H
#define LB_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LB_EVENT_OF_RUN (-1)   /* of no single LUN */
#define LB_EVENTS_ROOM  65536u /* of a run: more are counted and not told */

enum lb_event_kind {
	LB_EV_STALL,  /* nothing came back for --stall or longer: begin, end; n: in flight then */
	LB_EV_ERRORS, /* I/O failed from begin to end, never 5 s apart; n: how many */
	LB_EV_LOST,   /* the LUN was retired; text: why */
	LB_EV_PATH,   /* what: the path; from and to: its states */
	LB_EV_PATHS,  /* live paths of the LUN: from n to m */
	LB_EV_SUSPENDED, /* the map was: begin, end */
	LB_EV_SIZE,      /* from n to m bytes */
	LB_EV_HELD,   /* a worker was, in a call that submits: begin, end; n LUNs waited; what: some
		       */
	LB_EV_STEADY, /* the steady state was reached */
	LB_EV_KINDS
};

/* As the reports call them: "stall", "errors", ... */
extern const char *const lb_event_names[LB_EV_KINDS];

struct lb_event {
	enum lb_event_kind kind;
	int32_t lun;             /* position in plan->luns; LB_EVENT_OF_RUN */
	uint64_t begin_ns;       /* on the clock of the run */
	_Atomic uint64_t end_ns; /* begin_ns: of a moment; LB_NEVER: it lasts */
	_Atomic uint64_t n;
	uint64_t m;
	char what[280], from[24], to[24];
	_Atomic uint32_t is_there; /* release, after all the rest */
};

struct lb_events {
	struct lb_event *at; /* all zero at first */
	uint32_t room;
	_Atomic uint32_t n; /* handed out; may pass the room */
	_Atomic uint32_t dropped;
};

/*
 * Adds a copy of EV, from any thread of either process. Returns it, for end_ns and n to be set
 * later, or NULL when there is no room left (counted).
 */
struct lb_event *lb_event_add(struct lb_events *log, const struct lb_event *ev);

/* Whether EV is to be read, and lasts no longer. */
bool lb_event_has_ended(const struct lb_event *ev);

/* How many there are to be read; some of them may not be there yet: see is_there. */
uint32_t lb_events_n(const struct lb_events *log);

/* Events of one kind, told of together. */
#define LB_EVENTS_SHOWN 3
struct lb_event_fold {
	uint32_t n;
	const struct lb_event *first[LB_EVENTS_SHOWN];
	uint64_t longest_ns;
	uint64_t from_ns, to_ns; /* from the first begin to the last end; LB_NEVER: one lasts */
};

/* One that still lasts is as long as it is at NOW_NS. */
void lb_event_fold_add(struct lb_event_fold *f, const struct lb_event *ev, uint64_t now_ns);

/*
 * F, of at least one, in words for people: which LUNs, a few by name, and what befell them, or
 * AT_END that it does no longer. NAMES: of all LUNs. N bytes with the NUL. Returns BUF.
 */
char *lb_event_words(
	char *buf, size_t n, const struct lb_event_fold *f, const char *const *names, bool at_end);

#endif
