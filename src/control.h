/*
 * Control over a run's window: opens it when every lane has begun and the ramp is over, closes it,
 * and says when to stop waiting for what is still in flight. It only looks at the board and at the
 * time it is given, so that the parent drives it by the real clock and a virtual run by its own.
 */
#ifndef LB_CONTROL_H
#define LB_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "sampler.h"
#include "watch.h"

#define LB_START_LIMIT_NS (5 * LB_NSEC_PER_SEC) /* a lane not started by then is stalled */

enum lb_control_state { LB_CTL_STARTING, LB_CTL_MEASURING, LB_CTL_DRAINING, LB_CTL_OVER };

struct lb_control {
	struct lb_board *board;
	uint64_t time_ns, ramp_ns, count, drain_ns;
	uint64_t lead_ns; /* how far ahead of its coming the opening is announced */

	enum lb_control_state state;
	uint64_t drain_until_ns;
	uint64_t hurry_ns;      /* a signal came: the drain's end at the latest; LB_NEVER: none */
	uint64_t done, done_ns; /* good transfers, and when they were last seen to grow */
	bool timed_out;         /* ended with I/O in flight */
	struct lb_watch *watch;
	struct lb_steady_gauge steady; /* of --until steady */
	struct lb_sampler *sampler;    /* NULL: the board has no series, or there was no memory */
};

/*
 * Returns 0, or -ENOMEM: it works, but watches nothing or takes no time series. lb_control_done()
 * after either.
 */
int lb_control_init(
	struct lb_control *c, struct lb_board *board, uint64_t drain_ns, uint64_t lead_ns);

/*
 * Looks at the board at time NOW_NS and takes the step that is due. Returns the time at which to
 * look again at the latest (LB_NEVER: when something changes). After LB_CTL_OVER the result can be
 * made.
 */
uint64_t lb_control_step(struct lb_control *c, uint64_t now_ns);

/*
 * Nothing is waited for any more, or the run is given up: at NOW_NS, which is the window's end if
 * it has none yet. A last look at what befell the LUNs, and at what is in the cells.
 */
void lb_control_finish(struct lb_control *c, uint64_t now_ns);

void lb_control_done(struct lb_control *c);

#endif
