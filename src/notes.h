/*
 * Notes: what befalls the LUNs, told on stderr as the log of events has it. Much of one kind at
 * once is one note, so that two thousand LUNs that stall are not two thousand lines.
 */
#ifndef LB_NOTES_H
#define LB_NOTES_H

#include <stdint.h>

#include "board.h"
#include "progress.h"

/* All zero at first. */
struct lb_notes {
	uint32_t n_seen;   /* events that have been told of */
	uint32_t *lasting; /* which of them had not ended by then */
	uint32_t *over;    /* which of these have ended since: of one round */
	uint32_t n_lasting, n_over, room;
	const char **names; /* of the LUNs */
	uint64_t due_ns;    /* there is something to tell, then; 0: there is not */
	uint64_t told_ns;
};

/*
 * Tells by P what is new on BOARD, which has a plan, unless more may be about to come. Returns when
 * to be called again for that, or LB_NEVER.
 */
uint64_t lb_notes_tell(
	struct lb_notes *n, struct lb_progress *p, const struct lb_board *board, uint64_t now_ns);

void lb_notes_done(struct lb_notes *n);

#endif
