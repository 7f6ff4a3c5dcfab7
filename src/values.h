/* The values that only one option takes: parsers for LB_OPT_CUSTOM rows. */
#ifndef LB_VALUES_H
#define LB_VALUES_H

#include <sched.h>

#include "opt.h"

/*
 * START-END into a struct lb_region: sizes or percentages (to four decimals), an END left out is
 * the LUN's. Beside a percentage a number other than 0 needs a unit: in 10-20% nobody means 10
 * bytes.
 */
int lb_parse_region(const struct lb_opt *opt, void *field, const char *value, struct lb_err *err);

/* rand, seq, perm, zipf:THETA or hot:BLOCKS/XFERS into a struct lb_pat. */
int lb_parse_pat(const struct lb_opt *opt, void *field, const char *value, struct lb_err *err);

/* SIZE, or SIZE:PCT,SIZE:PCT,... of which all PCT are 100, into a struct lb_sizes. */
int lb_parse_sizes(const struct lb_opt *opt, void *field, const char *value, struct lb_err *err);

/* 0-3,8 into a cpu_set_t. Whether there are such CPUs is not asked here. */
int lb_parse_cpus(const struct lb_opt *opt, void *field, const char *value, struct lb_err *err);

/* COUNTxSIZE[@DIR] into a struct lb_scratch. */
int lb_parse_scratch(const struct lb_opt *opt, void *field, const char *value, struct lb_err *err);

/* A rate, 0.001 to 10M a second, into a uint64_t of thousandths. */
int lb_parse_arrivals(const struct lb_opt *opt, void *field, const char *value, struct lb_err *err);

/* SET as lb_parse_cpus() reads it: "0-3,8". Cut to N bytes with the NUL; returns BUF. */
char *lb_format_cpus(char *buf, size_t n, const cpu_set_t *set);

#endif
