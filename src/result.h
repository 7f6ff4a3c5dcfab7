/* A finished run in plain numbers: what every report is made from. Built by the parent alone. */
#ifndef LB_RESULT_H
#define LB_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "config.h"
#include "outage.h"
#include "stats.h"
#include "trend.h"

/* NULL-able figures: `has` false means null, never 0. */
struct lb_fig_u64 {
	bool has;
	uint64_t v;
};
struct lb_fig_f64 {
	bool has;
	double v;
};

/* Latency in ns. A percentile whose rank lies past the histogram's range: `over` its v. */
enum { LB_PCT_50, LB_PCT_90, LB_PCT_99, LB_PCT_999, LB_PCT_9999, LB_PCTS };
extern const uint32_t lb_pct_ppm[LB_PCTS];
extern const char *const lb_pct_names[LB_PCTS]; /* "p50" ... "p99.99" */

struct lb_latency {
	struct lb_fig_u64 min_ns, mean_ns, max_ns;
	struct lb_fig_u64 pct_ns[LB_PCTS];
	bool pct_over[LB_PCTS];
	bool max_is_bound;  /* max_ns is of late or outstanding I/O, and the truth at or above it */
	bool mean_is_bound; /* of a response: something due had not been done */
};

/* Of one LUN, or of all together. */
struct lb_figures {
	uint64_t xfers, bytes; /* in the window */
	struct lb_fig_f64 xfer_per_s, bytes_per_s;
	struct lb_latency lat;
	struct lb_latency
		response; /* open loop: from when it was due; what is unfinished with its age */
	uint64_t errors;  /* failed or short, whenever */
	uint64_t errors_outside; /* how many of them outside the window */
	struct lb_faults faults; /* the same by kind */
	uint64_t late, late_max_ns;
	uint64_t outstanding, outstanding_max_age_ns;
	uint64_t ios_issued; /* all handed to the kernel, in the window or not */
	uint64_t bytes_issued;
	uint64_t samples;                /* read blocks that were looked into */
	struct lb_fig_f64 zero_fraction; /* of them */
	struct lb_hist hist;             /* of the xfers */
	struct lb_hist *response_hist;   /* the same of responses; NULL: closed loop */
};

/* How an open loop kept its schedule; of one LUN, or of all together. */
struct lb_open {
	double asked_per_s;
	uint64_t missed;        /* due in the window and skipped */
	uint64_t backlog;       /* due by the window's end, and not finished then */
	uint64_t waiting;       /* of these: not even issued */
	uint64_t oldest_age_ns; /* of the backlog, at the window's end */
	/* from when something was due and a transfer free for it, until it was issued */
	struct lb_fig_f64 held_mean_ns;
	struct lb_fig_u64 held_max_ns;
};

/* How long nothing came back although something was in flight; in the window. */
struct lb_silence {
	struct lb_fig_u64 longest_ns; /* null: there was no window */
	struct lb_fig_f64
		longest_s; /* from the window's opening to its begin; null: there is none */
	uint64_t n_stalls, stalled_ns; /* of --stall or longer, and all of these together */
};

/* Of one size of a mix, and one op. */
struct lb_size_figures {
	uint64_t size_bytes;
	enum lb_op op;
	uint64_t xfers, bytes; /* in the window */
	struct lb_fig_f64 xfer_per_s, bytes_per_s;
	struct lb_latency lat; /* max_ns knows nothing of what is outstanding */
};

struct lb_lun_result {
	const struct lb_lun *lun;
	struct lb_figures fig;
	struct lb_silence silence;
	struct lb_figures
		*op[LB_OPS]; /* reads and writes apart; of a run of one op: fig, or nothing */
	struct lb_size_figures *by_size; /* r->n_by_size */
	uint32_t qd;                     /* of all its lanes */
	uint64_t io_bytes;               /* of its largest xfer */
	bool is_late_start;         /* a first submit had not returned when the window opened */
	struct lb_fig_u64 lived_ns; /* in the window: what its rates are over */
	bool is_lost;               /* it was given up, */
	uint64_t lost_ns;           /* then, on the clock of the run, */
	const char *lost_why;       /* for this */
	bool has_kernel;
	uint64_t kernel_ios, kernel_bytes; /* from before the first I/O to after the last */
	struct lb_fig_f64 passes;          /* over the region; seq and perm only */
	struct lb_open open;               /* of an open loop */
};

struct lb_outages {
	struct lb_outage *at;
	uint32_t n;
};

struct lb_result {
	const struct lb_config *cfg;
	const struct lb_plan *plan; /* NULL: refused before there was one */
	int status;                 /* the exit status, signals included */
	bool is_complete;           /* all of the window that was asked for was measured */
	const char *ended_by; /* "time", "count", "steady", "signal", "stall", "error", "lost",
				 "failure", "refused" */
	int signal;           /* 0: none */
	char error[1024];     /* "" or why it was refused or failed */

	const struct lb_lun *targets; /* all that were given; refused and passed over too */
	uint32_t n_targets;
	struct lb_lun_result *luns;
	uint32_t n_luns, n_lost;
	struct lb_figures total, *op[LB_OPS];
	bool is_open; /* loop: there are response times, and the `open` of each row */
	struct lb_open open;
	struct lb_hist *response_hists;              /* and what the figures' do */
	struct lb_figures *op_figs;                  /* what the op[] point into */
	struct lb_size_figures *by_size, *size_figs; /* of all LUNs; and what these point into */
	uint32_t n_by_size;                          /* 0: all transfers are of one size */

	const struct lb_series *series; /* NULL: none; it may have no points */
	struct lb_trend trend;
	struct lb_steady steady;   /* of --until steady */
	uint64_t stream_dropped;   /* lines of --stream that nobody read in time */
	struct lb_silence silence; /* the longest of any LUN; the others are sums over all */

	const struct lb_event **events; /* by their begin */
	uint32_t n_events, events_dropped;

	struct lb_outages
		*outages; /* of each LUN, then of all together; NULL: none were looked for */

	struct lb_fig_u64 window_ns;
	uint64_t open_ns;           /* when it opened, on the clock of the run; 0: it never did */
	uint64_t start_realtime_ns; /* of the window, since the epoch; 0: it never opened */
	uint64_t warmup_ns;         /* from the first I/O to the window's opening */

	struct lb_fig_f64 cpu_user_us_per_xfer, cpu_sys_us_per_xfer; /* whole process */
	struct lb_fig_f64 busiest_worker;                            /* share of a CPU, 0 to 1 */
	struct lb_fig_f64 process_cpus;   /* CPUs in use, kernel I/O workers included */
	uint32_t n_cpus;                  /* it may use */
	struct lb_fig_f64 host_busy;      /* share of these that was in use, by whomever */
	struct lb_fig_f64 submit_mean_ns; /* time in a call that submits */
	struct lb_fig_f64 submit_io_ns;   /* the same for each I/O submitted */

	struct lb_finding *findings; /* what distorts; `lun` is the position in luns */
	uint32_t n_findings;
	const struct lb_findings *preflight; /* what stops the run and what is fine, too */

	char host[256], kernel[256], version[32];
};

/* Everything the two sources of facts, the board and the supervisor's outcome, say. Owned by R. */
struct lb_outcome {
	int signal;      /* that stopped the run inside the window, or 0 */
	bool timed_out;  /* I/O was still in flight when the drain ended */
	bool stalled;    /* a --count run in which nothing completed any more */
	bool child_died; /* with `child_status` as of waitpid() */
	int child_status;
	uint64_t end_ns;         /* when the result is made: ages are measured to here */
	uint64_t stream_dropped; /* lines of --stream that nobody read in time */
	bool stream_failed;      /* they could not be written */
	char no_answer[256];     /* says which target's opening did not return; or "" */
};

/*
 * Makes R from a run, or a check, that is over, or that was given up: what is still being written
 * is read as it stands. Before the board's stage is RUNNING there is no plan and R says why. R
 * keeps pointers to CFG and BOARD. Returns 0 or -ENOMEM with ERR; lb_result_done() may be called
 * after either.
 */
int lb_result_make(struct lb_result *r, const struct lb_config *cfg, const struct lb_board *board,
	const struct lb_outcome *outcome, struct lb_err *err);
void lb_result_done(struct lb_result *r);

/* What R measured that is worth less than it looks: fills r->findings; of a check, what would make
 * it so. Called by lb_result_make(); returns 0 or -ENOMEM. */
int lb_findings_make(struct lb_result *r, const struct lb_board *board);

#endif
