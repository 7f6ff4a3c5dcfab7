/*
 * What the null engine is told to do: how long I/O takes, and what goes wrong with it. The grammar
 * is in lunbench(8) and in the man text of lb_null_opt_rows.
 */
#ifndef LB_NULL_SCRIPT_H
#define LB_NULL_SCRIPT_H

#include <stdint.h>

#include "err.h"
#include "rng.h"

#define LB_NULL_ALL_LUNS UINT32_MAX

struct lb_null_latency {
	enum { LB_NULL_LIST, LB_NULL_UNIFORM, LB_NULL_EXP } kind; /* one fixed time: a list of it */
	uint64_t low_ns, high_ns; /* uniform: inclusive; exp: the mean in low_ns */
	uint64_t *list_ns;        /* owned */
	uint32_t n_list;
};

enum lb_null_event_kind {
	LB_NULL_ERROR,
	LB_NULL_SHORT,
	LB_NULL_STALL,
	LB_NULL_LOSE,
	LB_NULL_DEAD,
	LB_NULL_SLOW,
	LB_NULL_GONE,
};

struct lb_null_event {
	enum lb_null_event_kind kind;
	uint32_t lun;  /* LB_NULL_ALL_LUNS: each by itself */
	uint64_t a, b; /* the fields, in the order they are written; errno as a positive number */
};

struct lb_null_script {
	struct lb_null_event *events; /* owned */
	uint32_t n_events;
};

/*
 * Parse TEXT, the value of --OPTION. Return 0, or negative with ERR saying at which character what
 * is wrong and what would be right (-EINVAL, -ENOMEM). _done() takes half-built objects too.
 */
int lb_null_latency_parse(
	struct lb_null_latency *lat, const char *option, const char *text, struct lb_err *err);
void lb_null_latency_done(struct lb_null_latency *lat);
int lb_null_script_parse(
	struct lb_null_script *script, const char *option, const char *text, struct lb_err *err);
void lb_null_script_done(struct lb_null_script *script);

/* How long, in ns and at least 1, the NTH (from 1) I/O of a LUN takes, whose generator is RNG. */
uint64_t lb_null_latency_draw(const struct lb_null_latency *lat, uint64_t nth, struct lb_rng *rng);

#endif
