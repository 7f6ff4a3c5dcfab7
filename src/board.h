/*
 * The board: what the measuring process (the child) and the supervising one (the parent) tell each
 * other. It lies in the shared mapping. The parent opens and closes the window; workers compare
 * the times they stamp with its edges, so nothing has to be on time but the clock.
 */
#ifndef LB_BOARD_H
#define LB_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "clock.h"
#include "engine.h"
#include "err.h"
#include "event.h"
#include "finding.h"
#include "host_cpu.h"
#include "lun.h"
#include "pace.h"
#include "pattern.h"
#include "plan.h"
#include "response.h"
#include "series.h"
#include "steady.h"
#include "stats.h"

enum lb_stage {
	LB_STAGE_OPENING, /* targets, engine, plan, buffers */
	LB_STAGE_REFUSED, /* `err` or a LUN's fate says why; the child ends */
	LB_STAGE_RUNNING, /* plan and cells are there; workers have begun */
	LB_STAGE_DRAINED, /* every worker has ended, nothing is in flight */
	LB_STAGE_CHECKED, /* of `lunbench check`: plan and findings are there; the child ends */
};

#define LB_CLOSE_CLAIMED 0 /* close_ns while someone decides it: see lb_window_close() */

struct lb_window {
	_Atomic uint64_t start_ns; /* the workers began */
	_Atomic uint64_t open_ns;  /* LB_NEVER until decided; always set ahead of its coming */
	_Atomic uint64_t close_ns; /* LB_NEVER, or the planned end, or the actual one */
	_Atomic uint32_t
		closed_early;     /* by count or signal: close_ns is no longer the planned one */
	_Atomic uint32_t stalled; /* closed since no LUN did anything any more */
	_Atomic uint32_t lost;    /* closed since every LUN was retired */
	_Atomic uint32_t failed;  /* closed by an I/O error: --on-error stop */
	_Atomic uint32_t changes; /* of its edges: what lb_window_sleep() waits on */
};

/* Of one worker: written by it, read by the parent. */
struct lb_worker_state {
	_Atomic uint32_t n_started;  /* lanes whose first submit has returned, in lane order */
	_Atomic uint32_t n_late;     /* how many had not when the window opened */
	_Atomic uint32_t has_closed; /* has seen the window's end: its cells no longer change but
					for `late` */
	_Atomic uint32_t has_ended;  /* nothing of it is in flight */
	_Atomic uint32_t attention;  /* leave the plain loop and look round: raised by the worker
					itself, or by anyone else */
	_Atomic int32_t fatal;       /* -errno: its engine failed */
	struct lb_submit_call submit_call;
	/* thread CPU time at the window's edges, 0 unknown; and when it was read at the second */
	uint64_t cpu_open_ns;
	_Atomic uint64_t cpu_close_ns, cpu_close_at_ns;
	struct lb_engine_stats engine; /* at the end of the window */
	struct lb_engine_note note;
} __attribute__((aligned(64)));

/* Has the worker leave its plain loop: with its next exchange at the latest it looks round. */
static inline void lb_worker_call(struct lb_worker_state *state)
{
	atomic_store_explicit(&state->attention, 1, memory_order_release);
}

#define LB_STALLS  16
#define LB_LULL_NS (5 * LB_NSEC_PER_SEC)

/* A gap of --stall or longer. */
struct lb_stall {
	uint64_t from_ns, to_ns;
};

struct lb_lun_state {
	/* its pulse, see pulse.h: written by its lanes */
	uint64_t last_ns;            /* when something last came back inside the window or before */
	uint64_t look_ns;            /* a longer gap is looked at */
	uint64_t gap_ns, gap_end_ns; /* the longest since lb_pulse_take_gap() */
	uint64_t longest_ns, longest_end_ns; /* of the whole window */
	uint64_t stalled_ns;                 /* all stalls of the window together */
	uint64_t late_ns;                    /* when something last came back after the window */
	uint32_t n_late_stalls;              /* how many of n_stalls ended after the window */
	_Atomic uint32_t n_stalls; /* that have ended: the last is [(n - 1) % LB_STALLS] */
	_Atomic uint32_t n_busy;   /* lanes with something in flight */
	/* while its worker was held in a submit call for other LUNs: not its own silence */
	_Atomic uint64_t held_from_ns, held_to_ns; /* to 0: it still is */
	/* I/O that failed, never LB_LULL_NS apart; the latest such burst */
	_Atomic uint64_t burst_from_ns, burst_to_ns; /* its first and last; 0: there was none */
	_Atomic uint64_t burst_n;

	_Atomic uint64_t counted; /* towards --count; only kept in such runs */
	const struct lb_board *board;
	_Atomic uint64_t good_at_error; /* transfers that had succeeded when one last failed */
	_Atomic uint32_t is_suspect;    /* I/O of it has failed: look whether it is still there */
	_Atomic uint32_t errors_in_row; /* since then, without a success */
	_Atomic uint64_t retired_ns;    /* see lb_lun_retire(); 0: it was not */
	char retired_why[120];          /* there once n_retired has counted it */
	struct lb_stall stalls[LB_STALLS];
	struct lb_kernel_stat kernel_before, kernel_after;
	_Atomic uint32_t has_kernel_stat; /* 1: before, 2: both */
} __attribute__((aligned(64)));

struct lb_board {
	_Atomic uint32_t stage;        /* enum lb_stage; release after what it announces */
	_Atomic uint32_t opening_at;   /* index of the target being opened */
	_Atomic uint64_t filled_bytes; /* scratch, or with fill_bytes: of --fill */
	_Atomic uint64_t fill_bytes;   /* all that --fill has to write; 0: it does not */
	struct lb_err err;             /* why it was refused, when no single LUN is at fault */

	struct lb_findings findings; /* the child's: before the run, and of other runs beside it */
	struct lb_events events;     /* of both */

	struct lb_lun *luns; /* all targets */
	uint32_t n_luns;

	struct lb_plan *plan;
	struct lb_cell *cells;    /* plan->n_lanes * plan->n_sizes * LB_OPS */
	struct lb_faults *faults; /* plan->n_lanes */
	struct lb_hist *hists;    /* plan->n_hists */
	struct lb_io *ios;        /* plan->n_slots */
	struct lb_cursor *cursors;
	struct lb_worker_state *workers;
	struct lb_lun_state *lun_states; /* by position in plan->luns */
	struct lb_series *series;        /* NULL: no plan yet */
	struct lb_steady steady;         /* of --until steady */
	/* open loop only, else NULL */
	struct lb_pace *paces; /* by position in plan->luns */
	struct lb_resp *resps; /* as cells */
	uint64_t *dues; /* as ios: when what is claimed for it, or in flight, was due; or 0 */

	struct lb_window window;
	uint64_t realtime_minus_monotonic_ns;     /* as the run began */
	_Atomic uint32_t has_suspects;            /* LUNs to look at soon, see lun_lost.h */
	_Atomic uint32_t n_retired;               /* LUNs */
	uint64_t stall_ns;                        /* gaps of this length are stalls */
	struct rusage usage_open, usage_close;    /* of the child at the window's edges, */
	uint64_t usage_open_ns, usage_close_ns;   /* as near to them as it was awake */
	_Atomic uint32_t has_usage;               /* 1: open, 2: both */
	struct lb_host_cpu host_open, host_close; /* all 0: not known */
	uint64_t virtual_end_ns;                  /* a virtual run: when it ended */

	int kick_fd; /* eventfd, child to parent: something on the board has changed */
	int edge_fd; /* eventfd, parent to child: the window's edges have changed */
};

/* Whether the child has said all that it has to say. */
static inline bool lb_board_is_done(const struct lb_board *b)
{
	enum lb_stage stage = (enum lb_stage)atomic_load_explicit(&b->stage, memory_order_acquire);

	return stage == LB_STAGE_REFUSED || stage >= LB_STAGE_DRAINED;
}

/* Of transfers of the SIZE-th of the stream's sizes. */
static inline struct lb_cell *lb_board_cell_of(
	const struct lb_board *b, uint32_t lane, uint32_t size, enum lb_op op)
{
	return &b->cells[((size_t)lane * b->plan->n_sizes + size) * LB_OPS + op];
}

/* The N-th of a lane: by size, and of each size by op. */
static inline struct lb_cell *lb_board_cell_at(const struct lb_board *b, uint32_t lane, uint32_t n)
{
	return lb_board_cell_of(b, lane, n / LB_OPS, n % LB_OPS);
}

/* Of the first size, which is the only one unless the stream has a mix. */
static inline struct lb_cell *lb_board_cell(const struct lb_board *b, uint32_t lane, enum lb_op op)
{
	return lb_board_cell_of(b, lane, 0, op);
}

/* Sets up the empty cells as the plan has them. */
void lb_board_cells_init(struct lb_board *b);

/*
 * Ends the window now, once: the first caller's clock decides and gets 1, later ones get 0. It is
 * claimed before the clock is read, so a worker that still saw the old end had stamped its time
 * before the new one: what it counted lies inside the window, whoever is preempted when.
 */
int lb_window_close(struct lb_window *w, uint64_t (*now)(void *), void *clock);

/*
 * Gives up LUN, a position in the plan, at NOW_NS on the clock of the run: nothing more is issued
 * to it once its workers see that, with their next exchange at the latest; what comes back after
 * that is late. When all are given up the window closes. The first caller wins and gets 1, later
 * ones 0; from any thread of either process.
 */
int lb_lun_retire(struct lb_board *b, uint32_t lun, uint64_t now_ns, const char *why);

/* Its edges have changed: wakes those that sleep by it. */
void lb_window_changed(struct lb_window *w);

/* Sleeps until UNTIL_NS, or the window's end; also one that is only decided meanwhile. */
void lb_window_sleep(struct lb_window *w, uint64_t until_ns);

/* Something on the board has changed that the other side waits for: wakes whoever waits. */
void lb_board_kick(const struct lb_board *b);

/*
 * The window's end, LB_NEVER also while someone decides it. For the parent, which must not wait for
 * a process that may be killed in the middle of that.
 */
static inline uint64_t lb_window_end_now(const struct lb_window *w)
{
	uint64_t close = atomic_load_explicit(&w->close_ns, memory_order_acquire);

	return close == LB_CLOSE_CLAIMED ? LB_NEVER : close;
}

/* The window's end as decided; waits the few instructions of a claim. */
static inline uint64_t lb_window_end(struct lb_window *w)
{
	uint64_t close;

	while ((close = atomic_load_explicit(&w->close_ns, memory_order_acquire)) ==
		LB_CLOSE_CLAIMED)
		;
	return close;
}

#endif
