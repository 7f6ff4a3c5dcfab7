#include "spool.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

#define WRITE_MAX ((size_t)65536) /* at once: so that room comes back soon */

struct lb_spool {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int fd;
	size_t room;
	uint64_t put, written; /* bytes so far; those between lie in the ring */
	uint64_t dropped;
	int errnum;
	bool has_thread, is_ending;
	char ring[];
};

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Writes what lies together at the front; the lock is not held while it does. */
static void write_some(struct lb_spool *s)
{
	size_t at = s->written % s->room;
	size_t n = min_size(min_size(s->put - s->written, s->room - at), WRITE_MAX);
	int errnum;

	pthread_mutex_unlock(&s->lock);
	errnum = lb_output_write(s->fd, s->ring + at, n);
	pthread_mutex_lock(&s->lock);
	s->written += n;
	if (errnum) {
		s->errnum = errnum;
		s->written = s->put;
	}
	pthread_cond_broadcast(&s->changed);
}

static void *writer(void *arg)
{
	struct lb_spool *s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		if (s->put != s->written)
			write_some(s);
		else if (s->is_ending)
			break;
		else
			pthread_cond_wait(&s->changed, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int lb_spool_start(struct lb_spool **spool, int fd, size_t room)
{
	struct lb_spool *s = *spool = calloc(1, sizeof(*s) + room);
	int ret;

	if (!s)
		return -ENOMEM;
	s->fd = fd;
	s->room = room;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	ret = -pthread_create(&s->thread, NULL, writer, s);
	s->has_thread = !ret;
	return ret;
}

static void copy_in(struct lb_spool *s, const char *text, size_t n)
{
	size_t at = s->put % s->room, first = min_size(n, s->room - at);

	memcpy(s->ring + at, text, first);
	memcpy(s->ring, text + first, n - first);
	s->put += n;
	pthread_cond_broadcast(&s->changed);
}

void lb_spool_put(struct lb_spool *s, const char *text, size_t n, bool waits)
{
	pthread_mutex_lock(&s->lock);
	while (n && !s->errnum) {
		size_t left = s->room - (s->put - s->written);

		if (left >= n || (waits && left)) {
			size_t piece = min_size(n, left);

			copy_in(s, text, piece);
			text += piece;
			n -= piece;
		} else if (waits) {
			pthread_cond_wait(&s->changed, &s->lock);
		} else {
			s->dropped++;
			break;
		}
	}
	pthread_mutex_unlock(&s->lock);
}

uint64_t lb_spool_dropped(struct lb_spool *s)
{
	uint64_t dropped;

	pthread_mutex_lock(&s->lock);
	dropped = s->dropped;
	pthread_mutex_unlock(&s->lock);
	return dropped;
}

int lb_spool_errnum(struct lb_spool *s)
{
	int errnum;

	pthread_mutex_lock(&s->lock);
	errnum = s->errnum;
	pthread_mutex_unlock(&s->lock);
	return errnum;
}

int lb_spool_end(struct lb_spool *s)
{
	pthread_mutex_lock(&s->lock);
	s->is_ending = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (s->has_thread)
		pthread_join(s->thread, NULL);
	s->has_thread = false;
	return s->errnum;
}

void lb_spool_done(struct lb_spool *s)
{
	if (!s)
		return;
	if (s->has_thread) /* given up, with the process: the thread may hang in its write */
		return;
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
	free(s);
}
