/*
 * What it costs to have new data in every write: random writes through io_uring whose buffers are
 * never changed, beside ones whose data comes from src/data.c, and ones that are filled anew each
 * time. Alternately, several rounds; prints the medians of the process's CPU for each write.
 *
 *     write_data TARGET SIZE QD COUNT ROUNDS     overwrites the whole of TARGET
 *     write_data TARGET SIZE QD COUNT pool       only that, once, and prints nothing: for callgrind
 *
 * COUNT writes a round. TARGET "-": no I/O at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "data.h"
#include "rng.h"

#define BATCH      32u
#define ROUNDS_MAX 99

enum how { HOW_FIXED, HOW_POOL, HOW_FRESH, HOWS };
static const char *const how_names[HOWS] = {"fixed", "pool", "fresh"};

struct job {
	int fd; /* -1: no I/O */
	uint64_t size, n_blocks;
	unsigned qd;
	struct io_uring ring;
	char *bufs;
	struct lb_data *data;
	struct lb_rng rng, fill[4];
};

static void die(const char *what, int error)
{
	fprintf(stderr, "write_data: %s: %s\n", what, strerror(error));
	exit(1);
}

static void fill(struct job *j, uint64_t *word)
{
	struct lb_rng a = j->fill[0], b = j->fill[1], c = j->fill[2], d = j->fill[3];

	for (uint64_t i = 0; i < j->size / 8; i += 4) {
		word[i] = lb_rng_next(&a);
		word[i + 1] = lb_rng_next(&b);
		word[i + 2] = lb_rng_next(&c);
		word[i + 3] = lb_rng_next(&d);
	}
	j->fill[0] = a, j->fill[1] = b, j->fill[2] = c, j->fill[3] = d;
}

static void stage(struct job *j, unsigned slot, enum how how)
{
	uint64_t block = lb_rng_below(&j->rng, j->n_blocks);
	char *at = j->bufs + slot * j->size;
	uint16_t index = 0;

	if (how == HOW_POOL) {
		at = lb_data_next(j->data, slot, block, &index);
		index++;
	} else if (how == HOW_FRESH) {
		fill(j, (uint64_t *)(void *)at);
	}
	if (j->fd >= 0) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&j->ring);

		io_uring_prep_write_fixed(sqe, 0, at, (unsigned)j->size, block * j->size, index);
		sqe->flags |= IOSQE_FIXED_FILE;
		sqe->user_data = slot;
	} else {
		__asm__ volatile("" ::"r"(at) : "memory");
	}
}

static void run(struct job *j, enum how how, uint64_t count)
{
	struct io_uring_cqe *cqes[BATCH];
	uint64_t issued = 0, done = 0;

	if (j->fd < 0) {
		for (; issued < count; issued++)
			stage(j, (unsigned)(issued % j->qd), how);
		return;
	}
	for (unsigned s = 0; s < j->qd; s++, issued++)
		stage(j, s, how);
	while (done < count) {
		unsigned n;
		int ret = io_uring_submit_and_wait(&j->ring, 1);

		if (ret < 0 && ret != -EINTR)
			die("submit", -ret);
		n = io_uring_peek_batch_cqe(&j->ring, cqes, BATCH);
		for (unsigned i = 0; i < n; i++) {
			if (cqes[i]->res != (int)j->size)
				die("write", cqes[i]->res < 0 ? -cqes[i]->res : EIO);
			if (issued < count) {
				stage(j, (unsigned)cqes[i]->user_data, how);
				issued++;
			}
		}
		done += n;
		io_uring_cq_advance(&j->ring, n);
	}
}

static double cpu_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void set_up(struct job *j, const char *target)
{
	struct io_uring_params p = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};
	struct iovec iov[16];
	uint64_t bytes = 1ull << 40;
	struct lb_err err;
	int ret;

	j->fd = strcmp(target, "-") == 0 ? -1 : open(target, O_RDWR | O_DIRECT);
	if (j->fd < 0 && target[0] != '-')
		die(target, errno);
	if (j->fd >= 0)
		bytes = (uint64_t)lseek(j->fd, 0, SEEK_END);
	j->n_blocks = bytes / j->size;
	lb_rng_seed(&j->rng, 1, 2);
	for (unsigned i = 0; i < 4; i++)
		lb_rng_seed(&j->fill[i], 2, i);
	j->bufs = aligned_alloc(2u << 20, (j->qd * j->size + (2u << 20) - 1) >> 21 << 21);
	madvise(j->bufs, j->qd * j->size, MADV_HUGEPAGE);
	for (unsigned i = 0; i < j->qd; i++)
		fill(j, (uint64_t *)(void *)(j->bufs + i * j->size));
	if (lb_data_create(&j->data,
		    &(struct lb_data_cfg){.seed = 1,
			    .run = 2,
			    .size_bytes = j->size,
			    .n_blocks = j->n_blocks,
			    .n_slots = j->qd},
		    &err))
		die(err.text, ENOMEM);
	if (j->fd < 0)
		return;
	ret = io_uring_queue_init_params(j->qd, &j->ring, &p);
	if (ret)
		die("io_uring", -ret);
	iov[0] = (struct iovec){j->bufs, j->qd * j->size};
	memcpy(iov + 1, j->data->slabs, j->data->n_slabs * sizeof(*iov));
	ret = io_uring_register_buffers(&j->ring, iov, 1 + j->data->n_slabs);
	if (!ret)
		ret = io_uring_register_files(&j->ring, &j->fd, 1);
	if (ret < 0)
		die("register", -ret);
}

int main(int argc, char **argv)
{
	static double us[HOWS][ROUNDS_MAX];
	struct job j = {0};
	uint64_t count;
	int rounds;

	if (argc != 6)
		die("TARGET SIZE QD COUNT ROUNDS", EINVAL);
	j.size = strtoull(argv[2], NULL, 0);
	j.qd = (unsigned)atoi(argv[3]);
	count = strtoull(argv[4], NULL, 0);
	rounds = atoi(argv[5]);
	set_up(&j, argv[1]);
	if (strcmp(argv[5], how_names[HOW_POOL]) == 0) {
		run(&j, HOW_POOL, count);
		return 0;
	}
	for (int how = 0; how < HOWS; how++)
		run(&j, how, count / 4); /* warm */
	for (int r = 0; r < rounds && r < ROUNDS_MAX; r++)
		for (int how = 0; how < HOWS; how++) {
			double before = cpu_us();

			run(&j, how, count);
			us[how][r] = (cpu_us() - before) / (double)count;
		}
	for (int how = 0; how < HOWS; how++) {
		qsort(us[how], (size_t)rounds, sizeof(double), by_value);
		printf("%s %.3f us, %.3f of fixed\n", how_names[how], us[how][rounds / 2],
			us[how][rounds / 2] / us[HOW_FIXED][rounds / 2]);
	}
	lb_data_done(j.data);
	return 0;
}
