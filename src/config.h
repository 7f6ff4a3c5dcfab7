/* The run as it was asked for. Const once lb_config_check() has passed. */
#ifndef LB_CONFIG_H
#define LB_CONFIG_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "err.h"
#include "opt.h"

enum lb_command { LB_CMD_RUN, LB_CMD_LIST, LB_CMD_CHECK, LB_CMD_REPORT };
enum lb_op { LB_READ, LB_WRITE, LB_OPS }; /* of one transfer */
enum lb_op_asked { LB_OP_READ, LB_OP_WRITE, LB_OP_RW };
enum lb_sync { LB_SYNC_NONE, LB_SYNC_DSYNC };
enum lb_on_error { LB_ON_ERROR_CONTINUE, LB_ON_ERROR_LUN, LB_ON_ERROR_STOP };
enum lb_until { LB_UNTIL_TIME, LB_UNTIL_STEADY };
enum lb_pat_kind { LB_RAND, LB_SEQ, LB_PERM, LB_ZIPF, LB_HOT };
enum lb_hist_show { LB_HIST_NONE, LB_HIST_TOTAL, LB_HIST_EACH };
enum lb_progress_show { LB_PROGRESS_AUTO, LB_PROGRESS_ALWAYS, LB_PROGRESS_NEVER };

#define LB_ENGINE_AUTO 0 /* engines are numbered from 1 in lb_engines[] order after "auto" */

/* A part of every LUN: from `start` up to but not including `end`; each in bytes or in ppm of the
 * LUN. */
struct lb_region {
	uint64_t start, end;
	bool start_is_ppm, end_is_ppm; /* parts per million of the LUN's size */
};

#define LB_SIZES_MAX 8

/* What sizes transfers have, and how many of 100 each. */
struct lb_sizes {
	uint32_t n;
	uint64_t bytes[LB_SIZES_MAX];
	uint8_t pct[LB_SIZES_MAX];
};

/* The order of the transfers on a LUN. */
struct lb_pat {
	enum lb_pat_kind kind;
	uint32_t theta_e4;      /* of LB_ZIPF, in ten-thousandths */
	uint32_t hot_ppm;       /* of LB_HOT: so many of the blocks, in parts per million, */
	uint32_t hot_xfers_ppm; /* get so many of the transfers */
};

/* Scratch LUNs: `count` files of `size_bytes` in `dir`; count 0: none. */
struct lb_scratch {
	uint32_t count;
	uint64_t size_bytes;
	char dir[3072];
};

struct lb_config {
	int command; /* enum lb_command */
	/* workload */
	int op;                            /* enum lb_op_asked */
	uint32_t read_pct;                 /* of LB_OP_RW */
	int sync;                          /* enum lb_sync; of writes */
	uint32_t compress_pct, dedupe_pct; /* of what is written */
	bool fill; /* write every block of the region once, before measuring */
	/* consent */
	bool allow_write;
	struct lb_opt_list
		overwrite; /* IDs of LUNs that hold something and may be written all the same */
	struct lb_pat pat;
	uint32_t seq_streams; /* on each LUN; 1 unless pat is LB_SEQ */
	struct lb_sizes sizes;
	uint64_t size_bytes; /* the only one or the largest of them; set by lb_config_check() */
	uint32_t qd;
	uint64_t think_ns;
	uint64_t count;   /* xfers of the first LUN that end the run; 0: no such end */
	uint64_t time_ns; /* 0: no such end */
	uint64_t ramp_ns;
	int until;                              /* enum lb_until */
	int steady_on;                          /* enum lb_steady_on */
	uint64_t steady_window_ns, max_time_ns; /* of LB_UNTIL_STEADY; the latter is its time_ns */
	struct lb_region region;
	uint64_t seed;
	/* rate; both 0: closed loop */
	uint64_t rate_milli_per_s, rate_total_milli_per_s; /* of each LUN; of all together */
	int arrival;                                       /* enum lb_arrival of pace.h */
	int catch_up;                                      /* enum lb_catch_up */
	/* how it is driven */
	int engine;       /* LB_ENGINE_AUTO or 1 + index in lb_engines[] */
	uint32_t workers; /* 0: as the plan sees fit */
	cpu_set_t cpus;   /* CPU_COUNT 0: those the process may use */
	uint32_t threads_per_lun;
	uint64_t drain_ns;
	/* when things go wrong */
	int on_error;        /* enum lb_on_error */
	uint32_t max_errors; /* in a row, and the LUN is given up; 0: never */
	uint64_t stall_ns;   /* a LUN that does nothing for so long has stalled */
	/* targets */
	const char *targets_file;
	struct lb_scratch scratch;
	const char **targets; /* operands, then the lines of targets_file; owned */
	size_t n_targets;
	char *targets_text; /* what targets_file holds; owned */
	/* reports */
	uint64_t interval_ns;    /* of the time series */
	const char *stream_path; /* NULL: none; "-": stdout in place of the text */
	const char *json_path;   /* NULL: none; "-": stdout in place of the text */
	const char *outage_path; /* the saved result that `lunbench report` is of; "-": stdin */
	int hist;
	int progress;
	bool help, version;

	struct lb_opt_set sets[3]; /* ours, in two parts, and the null engine's */
	size_t n_sets;
	struct lb_null_opts *null_opts;
};

/* How long a run by --count alone bears that no LUN does a transfer, for a --drain of DRAIN_NS. */
static inline uint64_t lb_silence_ns(uint64_t drain_ns)
{
	return drain_ns > LB_NSEC_PER_SEC ? drain_ns : LB_NSEC_PER_SEC;
}

/* Whether anything is written to a LUN that was given. */
static inline bool lb_config_writes(const struct lb_config *cfg)
{
	return cfg->op != LB_OP_READ || cfg->fill;
}

/* The words of enum lb_arrival and lb_catch_up; NULL ends them. */
extern const char *const lb_arrival_words[], *const lb_catch_up_words[];

/* Whether transfers are due by a schedule, whatever the LUNs do. */
static inline bool lb_config_is_paced(const struct lb_config *cfg)
{
	return cfg->rate_milli_per_s || cfg->rate_total_milli_per_s;
}

extern const char *const lb_pat_names[]; /* by enum lb_pat_kind */

/* Bytes that all of SIZES are multiples of, the most there are. */
uint64_t lb_sizes_unit(const struct lb_sizes *sizes);

/* SIZES as --size takes it: "16k", "8k:90,1M:10". Cut to N bytes with the NUL; 128 hold any. */
char *lb_format_sizes(char *buf, size_t n, const struct lb_sizes *sizes);

/* PAT as --pat takes it: "zipf:0.99". Writes at most N bytes with the NUL; 32 hold any. */
char *lb_format_pat(char *buf, size_t n, const struct lb_pat *pat);

/* The table of options, over struct lb_config, in two parts: what is run; how and on what. */
extern const struct lb_opt lb_options[], lb_host_options[];
extern const size_t lb_options_count, lb_host_options_count;

/*
 * argv -> config: the command, if argv[1] is one, defaults, options, operands, and the lines of
 * --targets. Returns 0 or negative with ERR. The strings of argv are kept, not copied. After any
 * return lb_config_done() may be called.
 */
int lb_config_parse(struct lb_config *cfg, int argc, char **argv, struct lb_err *err);

/*
 * What no single option can tell: contradictions, defaults that depend on others, CPUs that this
 * process may not use, no target at all. Not for --help and --version.
 */
int lb_config_check(struct lb_config *cfg, struct lb_err *err);

void lb_config_done(struct lb_config *cfg);

/* The page that --help shows. */
void lb_config_print_help(FILE *out, const struct lb_config *cfg);

#endif
