/*
 * Lines on their way to a reader that may be slow, or stuck: a thread of its own writes them, out
 * of a room of fixed size, so that whoever has something to tell never waits.
 */
#ifndef LB_SPOOL_H
#define LB_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lb_spool;

/* To FD, with a room of ROOM bytes. Returns 0 or a negative errno; lb_spool_done() after either. */
int lb_spool_start(struct lb_spool **s, int fd, size_t room);

/*
 * N bytes of TEXT, whole lines, to be written. There may be no room for them: with WAITS there will
 * be, else they are dropped, and counted. After a write has failed they are lost without count.
 */
void lb_spool_put(struct lb_spool *s, const char *text, size_t n, bool waits);

/* How many calls have dropped what they had. */
uint64_t lb_spool_dropped(struct lb_spool *s);

/* The errno that a write met with, by now; 0: none has. */
int lb_spool_errnum(struct lb_spool *s);

/* Waits until all is written, or cannot be. Returns 0 or the errno. */
int lb_spool_end(struct lb_spool *s);

/* Frees what was ended, or never started; what still runs is left to the end of the process. */
void lb_spool_done(struct lb_spool *s);

#endif
