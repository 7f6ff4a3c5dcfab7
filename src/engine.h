/*
 * The engine contract: how I/O reaches the kernel. One instance serves one worker and as many LUNs
 * as that worker drives. All the I/O it will ever carry is named at setup, so that an engine can
 * prepare what does not change (descriptors, buffers, permanent submission entries) once.
 */
#ifndef LB_ENGINE_H
#define LB_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "err.h"
#include "opt.h"

#define LB_BATCH 32 /* I/Os of one exchange at most; larger batches gain nothing */

struct lb_lane;

/* One place in flight. Engines write only `res`. */
struct lb_io {
	uint64_t offset_bytes; /* from the start of the LUN */
	uint64_t issue_ns;     /* when it was handed over; 0: not in flight */
	struct lb_lane *lane;  /* the worker's; engines do not look inside */
	void *buf;             /* len bytes, aligned to 512 at least */
	uint32_t len;          /* bytes */
	int32_t res;           /* bytes moved or -errno, set on its return */
	uint32_t slot;         /* its index in lb_engine_cfg.ios */
	uint32_t lun;          /* its index in lb_engine_cfg.fds */
	uint16_t slab;         /* which of lb_engine_cfg.slabs buf lies in */
	uint8_t op;            /* enum lb_op of config.h: 0 read, 1 write */
	uint8_t is_dsync;      /* as a write: RWF_DSYNC */
	int32_t fd;            /* lb_engine_cfg.fds[lun] */
	uint64_t own_buf; /* its address, and in the low 12 bits its slab: what reads go to where
			     writes take their data elsewhere */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct lb_io) == 64, "one cache line");

/* What a report should know of how an instance ended up working. */
struct lb_engine_note {
	char text[160];
};

/* When the engine is inside a call that submits, for others to see (relaxed). */
struct lb_submit_call {
	uint64_t since_ns; /* 0: it is in none */
	uint64_t until_ns; /* when it left the last one */
};

struct lb_engine_cfg {
	const int *fds; /* one for each LUN of this worker */
	uint32_t n_fds;
	struct lb_io *ios; /* every slot; they stay where they are until teardown */
	uint32_t n_ios;
	bool ios_vary; /* buf, slab and len of a slot change from one exchange to the next */
	const struct iovec *slabs; /* the memory all buffers lie in, each at most 1 GiB */
	uint32_t n_slabs;
	const void *opts;            /* the engine's own options, as its rows fill them */
	struct lb_engine_note *note; /* what was asked of the kernel and given up; "" if nothing */
	struct lb_submit_call *submit_call; /* of engines whose calls may wait for a device */
};

/* Time spent in the calls that submit, of those that were timed. */
struct lb_engine_stats {
	uint64_t submit_ns, submit_calls, submit_ios;
};

enum lb_engine_caps {
	LB_CAP_DEPTH_ONE = 1u << 0,       /* one I/O an instance: the plan makes qd workers */
	LB_CAP_NEEDS_NOWAIT = 1u << 1,    /* dear on devices without NOWAIT */
	LB_CAP_BLOCKS_ON_QUEUE = 1u << 2, /* submit blocks when a LUN's queue is full */
	LB_CAP_NO_DEVICE = 1u << 3,       /* touches no device */
};

struct lb_engine_ops {
	const char *name;
	const char *help; /* a line */
	uint32_t caps;
	uint32_t slots_max; /* I/Os in flight one instance can carry */
	/* Can it work on this host? 0, or negative with ERR naming the likely cause. */
	int (*probe)(struct lb_err *err);
	int (*setup)(void **st, const struct lb_engine_cfg *cfg, struct lb_err *err);
	/*
	 * Hands the first N <= LB_BATCH of IOS to the kernel, then collects completed ones into
	 * IOS, from its front: at most MAX, and it waits up to WAIT_NS (LB_NEVER: for ever) until
	 * there are MIN (0 or 1); one system call where the kernel has one for both. Returns how
	 * many: fewer than MIN only when the time ran out or a signal came. What the kernel did not
	 * take for the moment goes with the next call. A failed I/O shows only in its res; a
	 * negative return is fatal to the worker.
	 */
	int (*exchange)(void *st, struct lb_io **ios, uint32_t n, uint32_t min, uint32_t max,
		uint64_t wait_ns);
	/* The clock of this instance; NULL: CLOCK_MONOTONIC. */
	uint64_t (*now)(void *st);
	void (*stats)(void *st, struct lb_engine_stats *out); /* NULL: none */
	void (*teardown)(void *st);
};

extern const struct lb_engine_ops lb_engine_io_uring, lb_engine_libaio, lb_engine_sync,
	lb_engine_null;

/* All engines, NULL-terminated, in the order that --engine lists them. */
extern const struct lb_engine_ops *const lb_engines[];

/* The engine called NAME, or NULL. */
const struct lb_engine_ops *lb_engine_by_name(const char *name);

/* Options of the null engine: its script. See lunbench(8), "null". Times are on its virtual clock.
 */
struct lb_null_opts {
	const char *latency; /* NULL: at once, on the real clock */
	const char *script;  /* NULL: nothing goes wrong */
};
extern const struct lb_opt lb_null_opt_rows[];
extern const size_t lb_null_opt_count;

/* Whether the null engine, so asked, runs on a clock of its own. */
bool lb_null_is_virtual(const struct lb_null_opts *opts);

#endif
