#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data.h"
#include "worker.h"

#define SLAB_MAX   (1ull << 30) /* the kernel's limit on one registered buffer */
#define SLAB_ALIGN (2ull << 20) /* a huge page: I/O over 4 KiB pages is split by max_segments */

/* A tail of small pages would have the kernel see the whole in small pages. */
static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + SLAB_ALIGN - 1) & ~(SLAB_ALIGN - 1);
}

uint64_t lb_worker_buffer_bytes(uint64_t n_slots, uint64_t slot_bytes)
{
	uint64_t per_slab = SLAB_MAX / slot_bytes;

	return n_slots / per_slab * whole_pages(per_slab * slot_bytes) +
	       whole_pages(n_slots % per_slab * slot_bytes);
}

static void free_buffers(struct lb_worker *w)
{
	for (uint32_t i = w->n_pool_slabs; i < w->n_slabs; i++)
		if (w->slabs[i].iov_base)
			munmap(w->slabs[i].iov_base, w->slabs[i].iov_len);
	free(w->slabs);
}

/* LEN bytes aligned to a huge page, and in huge pages where the host has them. */
static void *map_slab(size_t len)
{
	char *p = mmap(
		NULL, len + SLAB_ALIGN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *at;

	if (p == MAP_FAILED)
		return NULL;
	at = (char *)(((uintptr_t)p + SLAB_ALIGN - 1) & ~(SLAB_ALIGN - 1));
	if (at > p)
		munmap(p, (size_t)(at - p));
	munmap(at + len, (size_t)(p + SLAB_ALIGN - at));
	madvise(at, len, MADV_HUGEPAGE);
	return at;
}

static int no_buffers(struct lb_err *err, uint64_t bytes)
{
	return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM,
		"out of memory: the buffers of one worker take %llu MiB (LUNs x --qd x --size, in huge "
		"pages); see ulimit -v and -d",
		(unsigned long long)bytes >> 20);
}

/* How many slabs the pools of the first N_SIZES have. */
static uint32_t pool_slabs(const struct lb_worker *w, uint32_t n_sizes)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < n_sizes && w->data[s]; s++)
		n += w->data[s]->n_slabs;
	return n;
}

/*
 * A few large slabs for all buffers of the worker; each slot's buffer lies in one of them. Before
 * them come those of the pools that writes take their data from, if there are any.
 */
static int make_buffers(struct lb_worker *w, uint64_t slot_bytes, struct lb_err *err)
{
	uint64_t per_slab = SLAB_MAX / slot_bytes, left = w->n_ios;
	uint32_t n_pool = pool_slabs(w, LB_SIZES_MAX);
	uint32_t n_own = w->reads ? (uint32_t)((w->n_ios + per_slab - 1) / per_slab) : 0;

	w->slabs = calloc(n_pool + n_own + 1, sizeof(*w->slabs));
	if (!w->slabs)
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "out of memory");
	w->n_slabs = w->n_pool_slabs = n_pool;
	for (uint32_t s = 0; s < LB_SIZES_MAX && w->data[s]; s++)
		memcpy(w->slabs + pool_slabs(w, s), w->data[s]->slabs,
			w->data[s]->n_slabs * sizeof(*w->slabs));
	for (; w->n_slabs < n_pool + n_own; w->n_slabs++, left -= per_slab) {
		size_t len = whole_pages((left < per_slab ? left : per_slab) * slot_bytes);

		w->slabs[w->n_slabs] = (struct iovec){.iov_base = map_slab(len), .iov_len = len};
		if (!w->slabs[w->n_slabs].iov_base)
			return no_buffers(err, lb_worker_buffer_bytes(w->n_ios, slot_bytes));
	}
	for (uint32_t i = 0; i < w->n_ios && n_own; i++) {
		struct lb_io *io = &w->ios[i];

		io->slab = (uint16_t)(n_pool + i / per_slab);
		io->buf = (char *)w->slabs[io->slab].iov_base + i % per_slab * slot_bytes;
		io->own_buf = (uint64_t)(uintptr_t)io->buf | io->slab;
	}
	return 0;
}

static int alloc_lanes(struct lb_worker *w)
{
	size_t n = (size_t)w->n_lanes * w->n_sizes;

	w->lanes = aligned_alloc(64, n * sizeof(*w->lanes));
	w->writes = calloc(n, sizeof(*w->writes));
	w->aims = calloc(w->n_lanes, sizeof(*w->aims));
	w->fds = calloc(w->n_lanes, sizeof(*w->fds));
	w->parked = calloc(w->n_ios, sizeof(struct lb_io *));
	w->think_ns = w->board->plan->phases[0].streams[0].think_ns;
	w->rests = w->think_ns ? calloc(w->n_ios, sizeof(*w->rests)) : NULL;
	if ((w->think_ns && !w->rests) || !w->lanes || !w->writes || !w->aims || !w->fds ||
		!w->parked)
		return -ENOMEM;
	return 0;
}

/* The L-th lane of the worker, and its slots; LUNs are numbered anew for its engine. */
static void make_lane(struct lb_worker *w, uint32_t l)
{
	const struct lb_plan *plan = w->board->plan;
	const struct lb_lane_plan *lp = &plan->lanes[w->first_lane + l];
	const struct lb_stream *stream = &plan->phases[0].streams[lp->stream];
	struct lb_lane *lane = &w->lanes[l * w->n_sizes];
	struct lb_lane_writes *writes = &w->writes[l * w->n_sizes];

	for (uint32_t s = 0; s < stream->sizes.n; s++)
		writes[s] = (struct lb_lane_writes){.data = w->data[s],
			.first_block = lp->first_block[s],
			.first_slot = w->first_slot,
			.first_slab = pool_slabs(w, s)};
	lb_lane_init(lane, w->board, w->first_lane + l, &w->aims[l], writes);
	w->reads |= stream->read_pct > 0;
	w->fds[l] = plan->luns[lp->lun]->fd;
	lb_worker_shares(w, lp);
	w->is_near_count |= w->count && lane->near_full_at == LB_NEVER;
	for (uint32_t i = 0; i < lp->qd; i++) {
		uint32_t slot = lp->slot - w->first_slot + i;

		w->ios[slot] = (struct lb_io){.lane = lane,
			.len = (uint32_t)stream->size_bytes,
			.slot = slot,
			.fd = w->fds[l],
			.lun = l,
			.op = stream->read_pct ? LB_READ : LB_WRITE,
			.is_dsync = stream->is_dsync};
	}
}

int lb_worker_set_up(struct lb_worker *w, const struct lb_config *cfg, struct lb_err *err)
{
	struct lb_engine_cfg ec;
	cpu_set_t set;
	int ret;

	if (w->cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET(w->cpu, &set);
		pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	} else if (CPU_COUNT(&cfg->cpus)) {
		pthread_setaffinity_np(pthread_self(), sizeof(cfg->cpus), &cfg->cpus);
	}
	/*
	 * A table of descriptors of its own: in a shared one each call counts the open file up and
	 * down again, a counter that all threads on a LUN contend for.
	 */
	if (w->ops->caps & LB_CAP_DEPTH_ONE)
		unshare(CLONE_FILES);
	w->n_sizes = w->board->plan->n_sizes;
	if (alloc_lanes(w))
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "out of memory");
	for (uint32_t l = 0; l < w->n_lanes; l++)
		make_lane(w, l);
	if (lb_paced_make(w))
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "out of memory");
	ret = make_buffers(w, w->board->plan->slot_bytes, err);
	if (ret)
		return ret;
	ec = (struct lb_engine_cfg){.fds = w->fds,
		.n_fds = w->n_lanes,
		.ios = w->ios,
		.n_ios = w->n_ios,
		.ios_vary = w->data[0] || w->n_sizes > 1,
		.slabs = w->slabs,
		.n_slabs = w->n_slabs,
		.opts = cfg->null_opts,
		.note = &w->state->note,
		.submit_call = &w->state->submit_call};
	return w->ops->setup(&w->engine, &ec, err);
}

void lb_worker_tear_down(struct lb_worker *w)
{
	if (w->engine)
		w->ops->teardown(w->engine);
	free_buffers(w);
	lb_paced_done(w);
	free(w->lanes);
	free(w->aims);
	free(w->rests);
	free(w->writes);
	free(w->fds);
	free(w->parked);
}
