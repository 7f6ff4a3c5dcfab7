/* sync: pread() and pwrite(), one transfer at a time; the plan makes qd workers for each LUN. */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"
#include "engine.h"

struct sync {
	struct lb_io *kept; /* handed over without a wish to collect: done with the next call */
};

static int sync_setup(void **st, const struct lb_engine_cfg *cfg, struct lb_err *err)
{
	struct sync *s = calloc(1, sizeof(*s));

	if (!s)
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "sync: out of memory");
	(void)cfg;
	*st = s;
	return 0;
}

static __attribute__((noinline)) long write_one(const struct lb_io *io)
{
	struct iovec iov = {.iov_base = io->buf, .iov_len = io->len};

	return pwritev2(io->fd, &iov, 1, (off_t)io->offset_bytes, io->is_dsync ? RWF_DSYNC : 0);
}

/* syscall() and not pread(): that one is a cancellation point, at 29 instructions a transfer. */
static inline long transfer(const struct lb_io *io)
{
	if (__builtin_expect(io->op, 0))
		return write_one(io);
	return syscall(SYS_pread64, io->fd, io->buf, (size_t)io->len, (off_t)io->offset_bytes);
}

static __attribute__((noinline)) int32_t retry(const struct lb_io *io)
{
	long ret = -1;

	while (ret < 0 && errno == EINTR)
		ret = transfer(io);
	return ret < 0 ? -errno : (int32_t)ret;
}

static inline int carry_out(struct lb_io *io)
{
	long ret = transfer(io);

	io->res = __builtin_expect(ret >= 0, 1) ? (int32_t)ret : retry(io);
	return 1;
}

/* Nothing is handed over, or nobody collects: then it is kept for the next call. */
static __attribute__((noinline)) int hold(struct sync *s, struct lb_io **ios, uint32_t n,
	uint32_t min, uint32_t max, uint64_t wait_ns)
{
	struct timespec ts = {.tv_sec = (time_t)(wait_ns / LB_NSEC_PER_SEC),
		.tv_nsec = (long)(wait_ns % LB_NSEC_PER_SEC)};

	if (n)
		s->kept = ios[0];
	if (s->kept && max) {
		ios[0] = s->kept;
		s->kept = NULL;
		return carry_out(ios[0]);
	}
	if (!s->kept && min && wait_ns != LB_NEVER)
		nanosleep(&ts, NULL);
	return 0;
}

static int sync_exchange(
	void *st, struct lb_io **ios, uint32_t n, uint32_t min, uint32_t max, uint64_t wait_ns)
{
	if (__builtin_expect(!n || !max, 0))
		return hold(st, ios, n, min, max, wait_ns);
	return carry_out(ios[0]);
}

static void sync_teardown(void *st)
{
	free(st);
}

const struct lb_engine_ops lb_engine_sync = {
	.name = "sync",
	.help = "pread() by qd threads a LUN",
	.caps = LB_CAP_DEPTH_ONE,
	.slots_max = 1,
	.setup = sync_setup,
	.exchange = sync_exchange,
	.teardown = sync_teardown,
};
