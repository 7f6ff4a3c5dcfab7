#include "fill.h"

#include <errno.h>
#include <libaio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "data.h"
#include "units.h"

#define PIECE_BYTES (1ull << 20)
#define DEPTH       4u  /* writes in flight on each LUN, */
#define DEPTH_MAX   64u /* and on all */

/* A LUN that is being filled: from `next` up to `end`. */
struct target {
	const struct lb_lun *lun;
	uint64_t next, end;
	uint64_t first_block; /* in the numbering of the data */
};

/* One write in flight, on whichever LUN is next. */
struct write {
	struct iocb iocb;
	struct target *target;
	uint64_t offset, len;
};

struct fill {
	struct target *targets;
	uint32_t n_targets, turn; /* LUNs take turns */
	struct write *writes;
	uint32_t n_writes, in_flight;
	struct lb_data *data;
	io_context_t ctx;
};

uint64_t lb_fill_bytes(const struct lb_lun *luns, uint32_t n)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < n; i++)
		if (luns[i].fate == LB_FATE_USED)
			bytes += luns[i].region_end - luns[i].region_start;
	return bytes;
}

static int set_up(struct fill *f, const struct lb_lun *luns, uint32_t n, uint64_t seed,
	uint64_t run, struct lb_err *err)
{
	struct lb_data_cfg dc = {.seed = seed, .run = run, .size_bytes = PIECE_BYTES};
	int ret;

	f->targets = calloc(n + 1, sizeof(*f->targets));
	for (uint32_t i = 0; f->targets && i < n; i++) {
		const struct lb_lun *lun = &luns[i];
		uint64_t bytes = lun->region_end - lun->region_start;

		if (lun->fate != LB_FATE_USED)
			continue;
		f->targets[f->n_targets++] = (struct target){.lun = lun,
			.next = lun->region_start,
			.end = lun->region_end,
			.first_block = dc.n_blocks};
		dc.n_blocks += lb_data_share((bytes + PIECE_BYTES - 1) / PIECE_BYTES);
	}
	f->n_writes = f->n_targets * DEPTH < DEPTH_MAX ? f->n_targets * DEPTH : DEPTH_MAX;
	dc.n_slots = f->n_writes;
	f->writes = calloc(f->n_writes + 1, sizeof(*f->writes));
	if (!f->targets || !f->writes)
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "--fill: out of memory");
	ret = io_setup((int)f->n_writes + 1, &f->ctx);
	if (ret)
		return lb_fail(err, LB_ST_UNAVAILABLE, -ret,
			"--fill: no place for %u writes in flight: %s (fs.aio-max-nr)", f->n_writes,
			strerror(-ret));
	return lb_data_create(&f->data, &dc, err);
}

/* The next LUN in turn that is not full yet; NULL: all are. */
static struct target *next_target(struct fill *f)
{
	for (uint32_t i = 0; i < f->n_targets; i++) {
		struct target *t = &f->targets[f->turn++ % f->n_targets];

		if (t->next < t->end)
			return t;
	}
	return NULL;
}

static int fail_at(const struct write *w, int error, struct lb_err *err)
{
	char name[256];

	return lb_fail(err, LB_ST_UNAVAILABLE, error,
		"--fill: %s: a write at offset %llu failed: %s",
		lb_printable(name, sizeof(name), w->target->lun->name),
		(unsigned long long)w->offset, strerror(error));
}

/* Sends WRITE on its way with the next piece, if there is one. */
static int send(struct fill *f, struct write *w, struct lb_err *err)
{
	struct target *t = next_target(f);
	struct iocb *iocb = &w->iocb;
	uint16_t slab;
	uint64_t block;
	void *buf;
	int ret;

	if (!t)
		return 0;
	w->target = t;
	w->offset = t->next;
	w->len = t->end - t->next < PIECE_BYTES ? t->end - t->next : PIECE_BYTES;
	block = (t->next - t->lun->region_start) / PIECE_BYTES;
	t->next += w->len;
	buf = lb_data_next(f->data, (uint32_t)(w - f->writes), t->first_block + block, &slab);
	io_prep_pwrite(iocb, t->lun->fd, buf, w->len, (long long)w->offset);
	iocb->data = w;
	do {
		ret = io_submit(f->ctx, 1, &iocb);
	} while (ret == -EINTR);
	if (ret != 1)
		return fail_at(w, ret ? -ret : EIO, err);
	f->in_flight++;
	return 0;
}

static int collect(struct fill *f, uint64_t patience_ns, _Atomic uint64_t *done, struct lb_err *err)
{
	struct timespec patience = {.tv_sec = (time_t)(patience_ns / LB_NSEC_PER_SEC),
		.tv_nsec = (long)(patience_ns % LB_NSEC_PER_SEC)};
	struct io_event ev[DEPTH_MAX];
	int n, ret = 0;

	do {
		n = io_getevents(f->ctx, 1, DEPTH_MAX, ev, &patience);
	} while (n == -EINTR);
	if (n <= 0)
		return lb_fail(err, LB_ST_UNAVAILABLE, ETIMEDOUT,
			"--fill: no write has come back for %llu s",
			(unsigned long long)(patience_ns / LB_NSEC_PER_SEC));
	for (int i = 0; i < n; i++) {
		struct write *w = ev[i].data;
		long res = (long)ev[i].res;

		f->in_flight--;
		if (res != (long)w->len && !ret)
			ret = fail_at(w, res < 0 ? (int)-res : EIO, err);
		atomic_fetch_add_explicit(done, w->len, memory_order_relaxed);
		if (!ret)
			ret = send(f, w, err);
	}
	return ret;
}

int lb_fill(const struct lb_lun *luns, uint32_t n, uint64_t seed, uint64_t run,
	uint64_t patience_ns, _Atomic uint64_t *done, struct lb_err *err)
{
	struct fill f = {0};
	int ret = set_up(&f, luns, n, seed, run, err);

	for (uint32_t i = 0; !ret && i < f.n_writes; i++)
		ret = send(&f, &f.writes[i], err);
	while (!ret && f.in_flight)
		ret = collect(&f, patience_ns, done, err);
	for (uint32_t i = 0; !ret && i < f.n_targets; i++)
		if (fsync(f.targets[i].lun->fd))
			ret = lb_fail(err, LB_ST_UNAVAILABLE, errno, "--fill: %s: %s",
				f.targets[i].lun->name, strerror(errno));
	/* what is still out on failure keeps its memory: this process ends soon */
	if (!f.in_flight) {
		if (f.ctx)
			io_destroy(f.ctx);
		lb_data_done(f.data);
		free(f.writes);
	}
	free(f.targets);
	return ret;
}
