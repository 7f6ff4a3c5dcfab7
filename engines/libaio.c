/*
 * libaio: the kernel's asynchronous I/O, which Oracle uses. io_submit() waits when a LUN's queue
 * is full, so each call is timed, and others can see that a worker is inside one.
 */
#include <errno.h>
#include <libaio.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "engine.h"

#define SLOTS_MAX  65536u
#define RING_MAGIC 0xa10a10a1u

/* How the kernel lays out the completion ring at the context's address (fs/aio.c). */
struct aio_ring {
	unsigned id, nr, head, tail, magic, compat_features, incompat_features, header_length;
	struct io_event events[];
};

struct laio {
	io_context_t ctx;
	struct aio_ring *ring; /* NULL: not a layout we know */
	struct iocb *iocbs;    /* one a slot, for good */
	struct iocb **staged;
	uint32_t n_staged, in_kernel;
	struct lb_io *failed; /* refused by io_submit() itself; at most one at a time */
	struct lb_submit_call *submit_call;
	struct lb_engine_stats stats;
	struct io_event events[LB_BATCH];
};

static int laio_probe(struct lb_err *err)
{
	io_context_t ctx = NULL;
	int ret = io_setup(1, &ctx);

	if (ret == 0)
		io_destroy(ctx);
	if (ret == 0 || ret == -EAGAIN) /* EAGAIN is a limit, told with its figures by setup */
		return 0;
	return lb_fail(err, LB_ST_UNAVAILABLE, -ret,
		"libaio: %s: the kernel was built without it, or a container's filter hides it",
		strerror(-ret));
}

static unsigned long read_sysctl(const char *path)
{
	unsigned long v = 0;
	FILE *f = fopen(path, "re");

	if (f) {
		if (fscanf(f, "%lu", &v) != 1)
			v = 0;
		fclose(f);
	}
	return v;
}

static void laio_teardown(void *st)
{
	struct laio *a = st;

	if (!a)
		return;
	if (a->ctx)
		io_destroy(a->ctx);
	free(a->staged);
	free(a->iocbs);
	free(a);
}

static int laio_setup(void **st, const struct lb_engine_cfg *cfg, struct lb_err *err)
{
	struct laio *a = calloc(1, sizeof(*a));
	int ret = -ENOMEM;

	if (a) {
		a->iocbs = calloc(cfg->n_ios, sizeof(*a->iocbs));
		a->staged = calloc(cfg->n_ios, sizeof(struct iocb *));
	}
	if (a && a->iocbs && a->staged)
		ret = io_setup((int)cfg->n_ios, &a->ctx);
	if (ret) {
		laio_teardown(a);
		if (ret != -EAGAIN)
			return lb_fail(err, LB_ST_UNAVAILABLE, -ret, "libaio: %s", strerror(-ret));
		return lb_fail(err, LB_ST_UNAVAILABLE, EAGAIN,
			"libaio: a worker needs %u aio slots; %lu of fs.aio-max-nr %lu are in use: raise "
			"fs.aio-max-nr (sysctl)",
			cfg->n_ios, read_sysctl("/proc/sys/fs/aio-nr"),
			read_sysctl("/proc/sys/fs/aio-max-nr"));
	}
	a->submit_call = cfg->submit_call;
	a->ring = (struct aio_ring *)a->ctx;
	if (a->ring->magic != RING_MAGIC || a->ring->incompat_features)
		a->ring = NULL;
	for (uint32_t i = 0; i < cfg->n_ios; i++) {
		struct lb_io *io = &cfg->ios[i];

		io_prep_pread(&a->iocbs[i], io->fd, io->buf, io->len, 0);
		a->iocbs[i].aio_rw_flags =
			io->is_dsync ? RWF_DSYNC : 0; /* means nothing to a read */
		a->iocbs[i].data = io;
	}
	*st = a;
	return 0;
}

static inline void stage(struct laio *a, struct lb_io *const *ios, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct lb_io *io = ios[i];
		struct iocb *cb = &a->iocbs[io->slot];

		cb->aio_lio_opcode = io->op ? IO_CMD_PWRITE : IO_CMD_PREAD;
		cb->u.c.offset = (long long)io->offset_bytes;
		cb->u.c.buf = io->buf;
		cb->u.c.nbytes = io->len;
		a->staged[a->n_staged++] = cb;
	}
}

/* Hands over what is staged, or as much as the kernel takes for now. */
static void flush(struct laio *a)
{
	uint32_t at = 0;
	uint64_t since = lb_now_ns(), until;
	int ret = 0;

	__atomic_store_n(&a->submit_call->since_ns, since, __ATOMIC_RELAXED);
	while (at < a->n_staged && !a->failed) {
		ret = io_submit(a->ctx, (long)(a->n_staged - at), a->staged + at);
		if (ret > 0) {
			at += (uint32_t)ret;
			a->stats.submit_calls++;
		} else if (ret == -EAGAIN) {
			if (a->in_kernel + at)
				break; /* room comes with the next completion */
			sched_yield();
		} else if (ret != -EINTR) { /* the first one's own fault */
			a->failed = a->staged[at]->data;
			a->failed->res = ret ? ret : -EIO;
			memmove(a->staged + at, a->staged + at + 1,
				(a->n_staged - at - 1) * sizeof(*a->staged));
			a->n_staged--;
		}
	}
	until = lb_now_ns();
	__atomic_store_n(&a->submit_call->until_ns, until, __ATOMIC_RELAXED);
	__atomic_store_n(&a->submit_call->since_ns, 0, __ATOMIC_RELEASE);
	a->stats.submit_ns += until - since;
	a->stats.submit_ios += at;
	a->in_kernel += at;
	a->n_staged -= at;
	memmove(a->staged, a->staged + at, a->n_staged * sizeof(*a->staged));
}

/* Takes what lies in the ring without a system call: 23% of the cost of a transfer at qd 1. */
static uint32_t take_from_ring(struct laio *a, struct lb_io **done, uint32_t max)
{
	struct aio_ring *ring = a->ring;
	unsigned head = ring->head, tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	uint32_t n = 0;

	while (head != tail && n < max) {
		const struct io_event *ev = &ring->events[head];

		done[n] = ev->data;
		done[n++]->res = (int32_t)(long)ev->res;
		if (++head == ring->nr)
			head = 0;
	}
	__atomic_store_n(&ring->head, head, __ATOMIC_RELEASE);
	return n;
}

static int take_from_kernel(
	struct laio *a, struct lb_io **done, uint32_t min, uint32_t max, uint64_t wait_ns)
{
	struct timespec ts, *timeout = NULL;
	int n;

	if (wait_ns != LB_NEVER) {
		ts.tv_sec = (time_t)(wait_ns / LB_NSEC_PER_SEC);
		ts.tv_nsec = (long)(wait_ns % LB_NSEC_PER_SEC);
		timeout = &ts;
	}
	n = io_getevents(a->ctx, min, max < LB_BATCH ? max : LB_BATCH, a->events, timeout);
	if (n == -EINTR)
		return 0;
	for (int i = 0; i < n; i++) {
		done[i] = a->events[i].data;
		done[i]->res = (int32_t)(long)a->events[i].res;
	}
	return n;
}

static int laio_exchange(
	void *st, struct lb_io **ios, uint32_t n_out, uint32_t min, uint32_t max, uint64_t wait_ns)
{
	struct laio *a = st;
	uint32_t n = 0;
	int ret;

	stage(a, ios, n_out);

	if (a->n_staged)
		flush(a);
	if (a->failed && max) {
		ios[n++] = a->failed;
		a->failed = NULL;
	}
	if (a->ring) {
		uint32_t got = take_from_ring(a, ios + n, max - n);

		a->in_kernel -= got;
		n += got;
	}
	if (n < min || !a->ring) {
		ret = take_from_kernel(a, ios + n, min > n ? min - n : 0, max - n, n ? 0 : wait_ns);
		if (ret < 0)
			return ret;
		a->in_kernel -= (uint32_t)ret;
		n += (uint32_t)ret;
	}
	return (int)n;
}

static void laio_stats(void *st, struct lb_engine_stats *out)
{
	*out = ((struct laio *)st)->stats;
}

const struct lb_engine_ops lb_engine_libaio = {
	.name = "libaio",
	.help = "the kernel's asynchronous I/O, as Oracle uses it",
	.caps = LB_CAP_BLOCKS_ON_QUEUE,
	.slots_max = SLOTS_MAX,
	.probe = laio_probe,
	.setup = laio_setup,
	.exchange = laio_exchange,
	.stats = laio_stats,
	.teardown = laio_teardown,
};
