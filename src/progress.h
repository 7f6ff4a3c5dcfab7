/*
 * The live line on stderr: what the run is doing, once a second. Made of three steps that can be
 * tested alone: look at the board, put it into words, write them.
 */
#ifndef LB_PROGRESS_H
#define LB_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "board.h"
#include "config.h"

enum lb_progress_stage {
	LB_PROGRESS_NOTHING, /* nothing to say */
	LB_PROGRESS_OPENING,
	LB_PROGRESS_SCRATCH, /* filling scratch files */
	LB_PROGRESS_FILLING, /* --fill */
	LB_PROGRESS_WARMING,
	LB_PROGRESS_MEASURING,
	LB_PROGRESS_DRAINING,
	LB_PROGRESS_VIRTUAL, /* a clock of its own: only counts mean anything */
};

/* What the line says. */
struct lb_progress_view {
	enum lb_progress_stage stage;
	uint32_t nth, n;         /* opening: target nth (from 1) of n */
	unsigned percent;        /* scratch, filling; or of count */
	uint64_t left_ns, count; /* 0: no such end */
	uint64_t xfers;          /* virtual: so far */
	bool has_rate, has_p99;
	double xfer_per_s, bytes_per_s; /* of the last second */
	uint64_t p99_ns;
	uint64_t backlog;   /* open loop: due and not issued, where that is worth a word; else 0 */
	uint32_t n_silent;  /* LUNs with I/O in flight and nothing back for over a second */
	uint64_t n_waiting; /* draining: I/Os in flight */
	uint64_t oldest_ns; /* silent: for how long the first; draining: age of the oldest I/O */
	const char *name;   /* target being opened, first silent LUN, or LUN of the oldest I/O */
	uint32_t n_luns;    /* draining: LUNs waited for */
};

/* Of one LUN, in one look. */
struct lb_lun_watch {
	uint64_t last_ns;   /* when something last came back */
	uint64_t oldest_ns; /* when the oldest I/O in flight was issued; 0: not looked, or none */
	uint32_t in_flight;
};

struct lb_progress {
	int fd;
	bool is_on, is_tty, has_notes;
	size_t shown; /* columns of the line that stands on the terminal */
	/* as of the last look */
	uint64_t at_ns, xfers, bytes;
	struct lb_hist hist;
	/* a fill as of its first look: when, how much of it, and how far it was */
	uint64_t fill_ns, fill_bytes, fill_from;
	/* scratch for a look, made when there is a plan */
	struct lb_lun_watch *watch; /* of each LUN */
	char *hist_seen;
};

/* FD is stderr; AUTO shows the line on a terminal only, and notes always. */
void lb_progress_init(struct lb_progress *p, enum lb_progress_show show, int fd);

/* What BOARD shows at NOW_NS, and in P what the next look is compared with. Waits for nothing. */
void lb_progress_look(struct lb_progress *p, struct lb_progress_view *v,
	const struct lb_config *cfg, const struct lb_board *board, uint64_t now_ns);

/* V in at most WIDTH columns, without newline; N bytes with the NUL. Returns BUF. */
char *lb_progress_words(char *buf, size_t n, const struct lb_progress_view *v, size_t width);

/*
 * To be called once a second: the three steps in one, if P is on. A terminal that takes nothing
 * (Ctrl-S, a full pipe) is passed over: the caller never waits for it.
 */
void lb_progress_tick(struct lb_progress *p, const struct lb_config *cfg,
	const struct lb_board *board, uint64_t now_ns);

/* NOTE as a line of its own, for good. Lost where the line would be. */
void lb_progress_note(struct lb_progress *p, const char *note);

/* Takes the line off the terminal, for something else to be written there. */
void lb_progress_clear(struct lb_progress *p);

void lb_progress_done(struct lb_progress *p);

#endif
