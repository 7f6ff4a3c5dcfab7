/*
 * The pulse of a LUN: when something last came back from it, and the gaps in between. A gap runs
 * from the last completion, good or not, or from the first issue after nothing was in flight, or
 * from the window's opening if that is later, to the next completion, over all lanes of the LUN.
 * What every transfer does for it is inline here.
 */
#ifndef LB_PULSE_H
#define LB_PULSE_H

#include <stdbool.h>

#include "board.h"

/*
 * Lanes that share a LUN write its last_ns only when it is older than this, so that the line does
 * not go from CPU to CPU with each transfer: their gaps are exact to as much.
 */
#define LB_PULSE_STEP_NS (100 * LB_NSEC_PER_USEC)

/* A gap from LAST_NS to T, longer than LUN->look_ns: into the books, what of it is in the window.
 */
void lb_pulse_gap(struct lb_lun_state *lun, uint64_t last_ns, uint64_t t);

/* Of lanes that share LUN, when last_ns is old: whoever moves it on writes the gap down. */
void lb_pulse_move(struct lb_lun_state *lun, uint64_t last_ns, uint64_t t);

/* Inside the window something came back at T; only this lane writes to the LUN's state. */
static inline __attribute__((always_inline)) void lb_pulse(struct lb_lun_state *lun, uint64_t t)
{
	if (__builtin_expect(t - lun->last_ns > lun->look_ns, 0))
		lb_pulse_gap(lun, lun->last_ns, t);
	lun->last_ns = t;
}

/* The same of a lane that shares the LUN. */
static inline void lb_pulse_shared(struct lb_lun_state *lun, uint64_t t)
{
	uint64_t last_ns = __atomic_load_n(&lun->last_ns, __ATOMIC_RELAXED);

	/* signed: another lane may have stamped a later time already */
	if (__builtin_expect((int64_t)(t - last_ns) > (int64_t)LB_PULSE_STEP_NS, 0))
		lb_pulse_move(lun, last_ns, t);
}

/* Before the window opens: that is all that is kept. */
static inline void lb_pulse_before(struct lb_lun_state *lun, uint64_t t)
{
	__atomic_store_n(&lun->last_ns, t, __ATOMIC_RELAXED);
}

/* After the window has closed something came back at T: no gap of it, but it may end a stall. */
void lb_pulse_late(struct lb_lun_state *lun, uint64_t t);

/* An I/O of LUN has failed at T. */
void lb_pulse_error(struct lb_lun_state *lun, uint64_t t);

/* A lane has something in flight at T after it had nothing; has nothing any more. */
void lb_pulse_begin(struct lb_lun_state *lun, uint64_t t);
void lb_pulse_rest(struct lb_lun_state *lun);

/*
 * For those who watch, from either process. Since when nothing has come back from LUN though
 * something is in flight, or was when the window closed; LB_NEVER when nothing is, the LUN was
 * retired, or its worker is held for others.
 */
uint64_t lb_pulse_silent_since(const struct lb_lun_state *lun);

/*
 * LUN's only worker has been held since FROM_NS in a call that submits to other LUNs; until TO_NS.
 * That is no gap of it.
 */
void lb_pulse_held(struct lb_lun_state *lun, uint64_t from_ns);
void lb_pulse_let_go(struct lb_lun_state *lun, uint64_t to_ns);

/* The gap that the end of the window, from OPEN_NS to CLOSE_NS, has cut short; false: none. */
bool lb_pulse_last_gap(const struct lb_lun_state *lun, uint64_t open_ns, uint64_t close_ns,
	uint64_t *from_ns, uint64_t *to_ns);

/* The longest gap, in ns, that has ended since it was last asked, and when it ended; 0: none. */
uint64_t lb_pulse_take_gap(struct lb_lun_state *lun, uint64_t *end_ns);

#endif
