/*
 * What random 4k reads through io_uring cost when nothing is measured: the yardstick of bench. A
 * bare liburing loop with everything registered; it keeps QD reads in flight, takes what is there
 * in batches of 32, knows no latency, and prints how many I/Os it did.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "rng.h"

#define BATCH 32u
#define SIZE  4096u

struct job {
	struct io_uring ring;
	unsigned qd, n_files, file;
	int *fds;
	uint64_t *n_blocks; /* of each file */
	char *bufs;
	struct lb_rng rng;
};

static volatile sig_atomic_t has_alarm;

static void on_alarm(int sig)
{
	(void)sig;
	has_alarm = 1;
}

static void die(const char *what, int error)
{
	fprintf(stderr, "floor: %s: %s\n", what, strerror(error));
	exit(1);
}

/* The next read of SLOT; FILE moves on to the next. */
static void stage(struct job *j, unsigned slot)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&j->ring);

	io_uring_prep_read_fixed(sqe, (int)j->file, j->bufs + (size_t)slot * SIZE, SIZE,
		lb_rng_below(&j->rng, j->n_blocks[j->file]) * SIZE, 0);
	sqe->flags |= IOSQE_FIXED_FILE;
	sqe->user_data = slot;
	if (++j->file == j->n_files)
		j->file = 0;
}

/* Until the alarm, or COUNT of them: QD in flight, at most a batch taken and issued anew. */
static uint64_t run(struct job *j, uint64_t count)
{
	uint64_t n_ios = 0;

	for (unsigned slot = 0; slot < j->qd; slot++) {
		stage(j, slot);
		if (slot % BATCH == BATCH - 1 || slot + 1 == j->qd)
			io_uring_submit(&j->ring);
	}
	while (!has_alarm && (!count || n_ios < count)) {
		struct io_uring_cqe *cqes[BATCH];
		unsigned n = io_uring_peek_batch_cqe(&j->ring, cqes, BATCH);

		for (unsigned i = 0; i < n; i++) {
			if (cqes[i]->res != (int)SIZE)
				die("a read", cqes[i]->res < 0 ? -cqes[i]->res : EIO);
			stage(j, (unsigned)cqes[i]->user_data);
		}
		io_uring_cq_advance(&j->ring, n);
		n_ios += n;
		if (io_uring_submit_and_wait(&j->ring, 1) < 0)
			break;
	}
	return n_ios;
}

static void open_files(struct job *j, char **names)
{
	j->fds = calloc(j->n_files, sizeof(*j->fds));
	j->n_blocks = calloc(j->n_files, sizeof(*j->n_blocks));
	if (!j->fds || !j->n_blocks)
		die("memory", ENOMEM);
	for (unsigned i = 0; i < j->n_files; i++) {
		struct stat st;

		j->fds[i] = open(names[i], O_RDONLY | O_DIRECT | O_NOATIME);
		if (j->fds[i] < 0 || fstat(j->fds[i], &st))
			die(names[i], errno);
		j->n_blocks[i] = (uint64_t)st.st_size / SIZE;
		if (!j->n_blocks[i])
			die(names[i], ENOSPC);
	}
}

static void make_ring(struct job *j)
{
	struct io_uring_params p = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};
	struct iovec iov = {.iov_len = (size_t)j->qd * SIZE};
	int ret;

	iov.iov_base = j->bufs = mmap(NULL, iov.iov_len, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (j->bufs == MAP_FAILED)
		die("buffers", errno);
	ret = io_uring_queue_init_params(j->qd < BATCH ? BATCH : j->qd, &j->ring, &p);
	if (ret)
		die("io_uring", -ret);
	ret = io_uring_register_files(&j->ring, j->fds, j->n_files);
	if (!ret)
		ret = io_uring_register_buffers(&j->ring, &iov, 1);
	if (ret)
		die("registering files and buffers", -ret);
	ret = io_uring_register_ring_fd(&j->ring);
	if (ret != 1)
		die("registering the ring", -ret);
}

int main(int argc, char **argv)
{
	struct job j = {0};
	unsigned ms;

	if (argc < 5) {
		fprintf(stderr, "usage: floor QD MILLISECONDS COUNT FILE...  (0: no such end)\n");
		return 2;
	}
	j.qd = (unsigned)atoi(argv[1]);
	ms = (unsigned)atoi(argv[2]);
	j.n_files = (unsigned)argc - 4;
	lb_rng_seed(&j.rng, 1, 1);
	open_files(&j, argv + 4);
	make_ring(&j);
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL,
		&(struct itimerval){.it_value = {ms / 1000, (long)(ms % 1000) * 1000}}, NULL);
	printf("%llu\n", (unsigned long long)run(&j, strtoull(argv[3], NULL, 10)));
	io_uring_queue_exit(&j.ring);
	free(j.fds);
	free(j.n_blocks);
	return 0;
}
