/*
 * What --stream tells while the run goes on: lines as intervals end and events come and go. It
 * never waits for whoever reads them until the run is over.
 */
#ifndef LB_FEED_H
#define LB_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "output.h"
#include "result.h"
#include "sampler.h"
#include "spool.h"

#define LB_FEED_ROOM (16u << 20) /* bytes of lines that wait for their reader */

struct lb_feed {
	struct lb_output *out; /* the caller's; NULL: there is no stream */
	struct lb_spool *spool;
	int errnum;                   /* why there is no spool */
	bool has_begun;               /* the first line is on its way */
	uint64_t open_ns;             /* the window's opening; LB_NEVER: none */
	uint32_t n_told;              /* intervals */
	uint32_t n_events;            /* likewise; some of them */
	uint32_t *lasting, n_lasting; /* have not ended yet: their numbers */
};

/* Begins to write to F's `out`, which is open: a thread does. What goes wrong is told at the end.
 */
void lb_feed_start(struct lb_feed *f);

/* Tells what has happened since the last look; S may be NULL. */
void lb_feed_look(struct lb_feed *f, const struct lb_board *b, const struct lb_sampler *s);

/* How many lines were dropped so far, and in *ERRNUM what a write met with: 0 nothing. */
uint64_t lb_feed_lost(struct lb_feed *f, int *errnum);

/*
 * The run is over, as R says, and STATUS is what it will end with: all that is left, then the last
 * line. Waits until they have been read, or cannot be; OUT's errnum is set. After a refusal there
 * are only the first line and the last.
 */
void lb_feed_end(
	struct lb_feed *f, const struct lb_board *b, const struct lb_result *r, int status);

void lb_feed_done(struct lb_feed *f);

#endif
