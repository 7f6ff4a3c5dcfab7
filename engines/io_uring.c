/*
 * io_uring: one ring serves a worker and all its LUNs. Each slot owns one submission entry for
 * good; what changes from transfer to transfer is written into it and nothing else. That needs the
 * ring's index array, so the ring is set up by hand: newer liburing's queue_init leaves it out.
 */
#include <errno.h>
#include <liburing.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "clock.h"
#include "engine.h"

_Static_assert(
	IORING_OP_WRITE_FIXED == IORING_OP_READ_FIXED + 1 && IORING_OP_WRITE == IORING_OP_READ + 1,
	"a write's opcode follows the read's");

#define SLOTS_MAX   32768u /* the kernel's limit on submission entries */
#define TIMED_EVERY 64u    /* one submit in so many is timed by a call of its own */

struct uring {
	unsigned tail;   /* of the submission ring: staged up to here */
	unsigned staged; /* of these not yet taken by the kernel */
	unsigned *ktail, *array, mask;
	struct io_uring_sqe *sqes;
	unsigned head; /* of the completion ring */
	unsigned *cq_khead, *cq_ktail, cq_mask;
	struct io_uring_cqe *cqes;
	uint8_t opcode; /* of a read; a write's is the next */
	int enter_fd;
	unsigned enter_flags;
	bool ios_vary, has_bufs;
	bool must_enter;      /* completions come to light only inside the call */
	unsigned until_timed; /* submits until the next timed one */
	struct lb_engine_stats stats;
	struct io_uring ring;
};

static int uring_probe(struct lb_err *err)
{
	struct io_uring_params p = {0};
	int fd = io_uring_setup(1, &p);

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (fd == -EPERM)
		return lb_fail(err, LB_ST_UNAVAILABLE, EPERM,
			"io_uring: not permitted: kernel.io_uring_disabled is set, or a container's filter "
			"forbids it");
	if (fd == -ENOSYS)
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOSYS,
			"io_uring: not there: the kernel is older than 5.1, or a container's filter hides it");
	return lb_fail(err, LB_ST_UNAVAILABLE, -fd, "io_uring: %s", strerror(-fd));
}

static void note(const struct lb_engine_cfg *cfg, const char *what, int error)
{
	size_t at = strlen(cfg->note->text);

	snprintf(cfg->note->text + at, sizeof(cfg->note->text) - at, "%sio_uring without %s: %s",
		at ? "; " : "", what, strerror(error));
}

static int no_ring(int error, uint32_t entries, struct lb_err *err)
{
	struct rlimit lim;
	uint64_t need = 1;

	if (error != ENOMEM || getrlimit(RLIMIT_MEMLOCK, &lim))
		return lb_fail(err, LB_ST_UNAVAILABLE, error, "io_uring: no ring of %u entries: %s",
			entries, strerror(error));
	while (need < entries)
		need *= 2;
	/* with two completions and a place in the index for each */
	need *= sizeof(struct io_uring_sqe) + 2 * sizeof(struct io_uring_cqe) + sizeof(uint32_t);
	return lb_fail(err, LB_ST_UNAVAILABLE, error,
		"io_uring: no ring of %u entries: it needs %llu KiB of locked memory, ulimit -l is %llu "
		"KiB: raise that, or take --engine libaio",
		entries, (unsigned long long)(need + 1023) >> 10,
		(unsigned long long)lim.rlim_cur >> 10);
}

/* The best mode that the kernel has: completions run in our own call, and only there. */
static int make_ring(struct uring *u, const struct lb_engine_cfg *cfg, struct lb_err *err)
{
	static const unsigned modes[] = {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		IORING_SETUP_COOP_TASKRUN, 0};
	struct io_uring_params p;
	int fd = -EINVAL, ret;

	for (size_t i = 0; i < 3 && fd == -EINVAL; i++) {
		p = (struct io_uring_params){.flags = modes[i]};
		fd = io_uring_setup(cfg->n_ios, &p);
	}
	if (fd < 0)
		return no_ring(-fd, cfg->n_ios, err);
	if (!(p.flags & IORING_SETUP_DEFER_TASKRUN))
		note(cfg, "DEFER_TASKRUN", EINVAL);
	ret = io_uring_queue_mmap(fd, &p, &u->ring);
	if (ret) {
		close(fd);
		return lb_fail(err, LB_ST_UNAVAILABLE, -ret, "io_uring: cannot map the ring: %s",
			strerror(-ret));
	}
	u->must_enter = p.flags & IORING_SETUP_DEFER_TASKRUN;
	return 0;
}

/* Each of these is given up, with a note, where the kernel or a limit says no. */
static void register_all(struct uring *u, const struct lb_engine_cfg *cfg)
{
	struct rlimit lim;
	uint64_t need = 0;
	int ret, has_files, has_bufs;

	ret = io_uring_register_files(&u->ring, cfg->fds, cfg->n_fds);
	has_files = ret == 0;
	if (ret)
		note(cfg, "registered files", -ret);

	ret = io_uring_register_buffers(&u->ring, cfg->slabs, cfg->n_slabs);
	has_bufs = ret == 0;
	if (ret == -ENOMEM && getrlimit(RLIMIT_MEMLOCK, &lim) == 0) {
		for (uint32_t i = 0; i < cfg->n_slabs; i++)
			need += cfg->slabs[i].iov_len;
		snprintf(cfg->note->text, sizeof(cfg->note->text),
			"io_uring without registered buffers: they need %llu KiB of locked memory, ulimit -l is "
			"%llu KiB",
			(unsigned long long)need >> 10, (unsigned long long)lim.rlim_cur >> 10);
	} else if (ret) {
		note(cfg, "registered buffers", -ret);
	}

	ret = io_uring_register_ring_fd(&u->ring);
	if (ret != 1)
		note(cfg, "a registered ring", ret < 0 ? -ret : EINVAL);
	u->enter_fd = u->ring.enter_ring_fd;
	u->enter_flags = IORING_ENTER_GETEVENTS | (ret == 1 ? IORING_ENTER_REGISTERED_RING : 0);

	u->has_bufs = has_bufs;
	u->opcode = has_bufs ? IORING_OP_READ_FIXED : IORING_OP_READ;
	for (uint32_t i = 0; i < cfg->n_ios; i++) {
		struct lb_io *io = &cfg->ios[i];
		struct io_uring_sqe *sqe = &u->sqes[i];

		io_uring_prep_rw(
			u->opcode, sqe, has_files ? (int)io->lun : io->fd, io->buf, io->len, 0);
		sqe->flags = has_files ? IOSQE_FIXED_FILE : 0;
		sqe->buf_index = has_bufs ? io->slab : 0;
		sqe->rw_flags = io->is_dsync ? RWF_DSYNC : 0; /* means nothing to a read */
		io_uring_sqe_set_data(sqe, io);
	}
}

static int uring_setup(void **st, const struct lb_engine_cfg *cfg, struct lb_err *err)
{
	struct uring *u = calloc(1, sizeof(*u));
	int ret;

	if (!u)
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "io_uring: out of memory");
	ret = make_ring(u, cfg, err);
	if (ret) {
		free(u);
		return ret;
	}
	u->ktail = u->ring.sq.ktail;
	u->array = u->ring.sq.array;
	u->mask = *u->ring.sq.kring_mask;
	u->sqes = u->ring.sq.sqes;
	u->cq_khead = u->ring.cq.khead;
	u->cq_ktail = u->ring.cq.ktail;
	u->cq_mask = *u->ring.cq.kring_mask;
	u->cqes = u->ring.cq.cqes;
	u->until_timed = TIMED_EVERY;
	u->ios_vary = cfg->ios_vary;
	register_all(u, cfg);
	*st = u;
	return 0;
}

static inline void stage(struct uring *u, struct lb_io *const *ios, uint32_t n)
{
	struct io_uring_sqe *sqes = u->sqes;
	unsigned *array = u->array, mask = u->mask, tail = u->tail;

	for (uint32_t i = 0; i < n; i++) {
		const struct lb_io *io = ios[i];
		struct io_uring_sqe *sqe = &sqes[io->slot];

		sqe->opcode = (uint8_t)(u->opcode + io->op);
		sqe->off = io->offset_bytes;
		array[tail++ & mask] = io->slot;
	}
	u->tail = tail;
	io_uring_smp_store_release(u->ktail, tail);
}

/* The same where data is not always in the same place. */
static __attribute__((noinline)) void stage_varying(
	struct uring *u, struct lb_io *const *ios, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct io_uring_sqe *sqe = &u->sqes[ios[i]->slot];

		sqe->addr = (uint64_t)(uintptr_t)ios[i]->buf;
		sqe->len = ios[i]->len;
		sqe->buf_index = u->has_bufs ? ios[i]->slab : 0;
	}
	stage(u, ios, n);
}

static inline unsigned ready(const struct uring *u)
{
	return io_uring_smp_load_acquire(u->cq_ktail) - u->head;
}

/* Handed to the kernel and not collected yet; both rings count on for ever. */
static unsigned in_kernel(const struct uring *u)
{
	return io_uring_smp_load_acquire(u->ring.sq.khead) - u->head;
}

static int count_submitted(struct uring *u, int ret)
{
	if (ret > 0)
		u->staged -= (unsigned)ret;
	return ret;
}

/* One submit by itself between two looks at the clock: what it costs is not part of the wait. */
static int timed_submit(struct uring *u)
{
	unsigned flags = u->enter_flags & ~IORING_ENTER_GETEVENTS;
	uint64_t t = lb_now_ns();
	int ret = count_submitted(u, io_uring_enter(u->enter_fd, u->staged, 0, flags, NULL));

	u->until_timed = TIMED_EVERY;
	if (ret > 0) {
		u->stats.submit_ns += lb_now_ns() - t;
		u->stats.submit_calls++;
		u->stats.submit_ios += (unsigned)ret;
	}
	return ret;
}

static int enter(struct uring *u, unsigned min, uint64_t wait_ns)
{
	struct __kernel_timespec ts = {.tv_sec = (long long)(wait_ns / LB_NSEC_PER_SEC),
		.tv_nsec = (long long)(wait_ns % LB_NSEC_PER_SEC)};
	struct io_uring_getevents_arg arg = {.ts = (uint64_t)(uintptr_t)&ts};

	if (!min || wait_ns == LB_NEVER)
		return io_uring_enter(u->enter_fd, u->staged, min, u->enter_flags, NULL);
	return io_uring_enter2(u->enter_fd, u->staged, min, u->enter_flags | IORING_ENTER_EXT_ARG,
		(sigset_t *)&arg, sizeof(arg));
}

/*
 * Enters the kernel until all is handed over and MIN are there. The kernel may take fewer than were
 * staged, or none for the moment (EAGAIN: out of requests; EBUSY: completions want to be taken
 * first): what is left goes with the next call. A wait with an end is over when the call returns,
 * though it tells then only how much it has taken.
 */
static __attribute__((noinline)) int pump(struct uring *u, unsigned min, uint64_t wait_ns)
{
	int ret = 0;

	if (u->staged && u->until_timed == 0)
		ret = timed_submit(u);
	do {
		if (ret >= 0)
			ret = count_submitted(u, enter(u, min, wait_ns));
		if (ret == -EAGAIN || ret == -EBUSY) {
			if (ready(u))
				return 0;
			if (!in_kernel(u))
				sched_yield();
			ret = 0;
		} else if (ret == -ETIME || ret == -EINTR) {
			return 0;
		} else if (ret < 0) {
			return ret;
		}
	} while (u->staged || (wait_ns == LB_NEVER && ready(u) < min));
	return 0;
}

/* Hands over the N just staged and waits for MIN: one call, nearly always. */
static inline int hand_over(struct uring *u, uint32_t n, unsigned min, uint64_t wait_ns)
{
	int ret;

	if (__builtin_expect(wait_ns == LB_NEVER && !u->staged && --u->until_timed, 1)) {
		ret = io_uring_enter(u->enter_fd, n, min, u->enter_flags, NULL);
		if (__builtin_expect(ret == (int)n, 1))
			return 0;
		n -= ret > 0 ? (unsigned)ret : 0;
	}
	u->staged += n;
	return pump(u, min, wait_ns);
}

static int uring_exchange(
	void *st, struct lb_io **ios, uint32_t n_out, uint32_t min, uint32_t max, uint64_t wait_ns)
{
	struct uring *u = st;
	unsigned head = u->head, n;
	int ret = 0;

	if (__builtin_expect(n_out != 0, 1)) {
		if (__builtin_expect(u->ios_vary, 0))
			stage_varying(u, ios, n_out);
		else
			stage(u, ios, n_out);
		ret = hand_over(u, n_out, min, wait_ns);
	} else if (u->staged || ready(u) < min || u->must_enter) {
		ret = pump(u, min, wait_ns);
	}
	if (__builtin_expect(ret < 0, 0))
		return ret;
	n = ready(u);
	if (n > max)
		n = max;
	for (unsigned i = 0; i < n; i++) {
		const struct io_uring_cqe *cqe = &u->cqes[head++ & u->cq_mask];
		struct lb_io *io = (struct lb_io *)(uintptr_t)cqe->user_data;

		io->res = cqe->res;
		ios[i] = io;
	}
	u->head = head;
	io_uring_smp_store_release(u->cq_khead, head);
	return (int)n;
}

static void uring_stats(void *st, struct lb_engine_stats *out)
{
	*out = ((struct uring *)st)->stats;
}

static void uring_teardown(void *st)
{
	struct uring *u = st;

	if (!u)
		return;
	/* the ring itself is undone later, by the kernel's own threads: it must not keep the LUNs
	 * busy */
	io_uring_unregister_files(&u->ring);
	io_uring_queue_exit(&u->ring);
	free(u);
}

const struct lb_engine_ops lb_engine_io_uring = {
	.name = "io_uring",
	.help = "one ring a worker for all its LUNs",
	.caps = LB_CAP_NEEDS_NOWAIT,
	.slots_max = SLOTS_MAX,
	.probe = uring_probe,
	.setup = uring_setup,
	.exchange = uring_exchange,
	.stats = uring_stats,
	.teardown = uring_teardown,
};
