#include "direct.h"

#include <errno.h>
#include <fcntl.h>
#include <libaio.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#define ALIGN_MIN 512u
#define ALIGN_MAX 65536u

#define ANSWER_NS 100000000 /* of a LUN that takes NOWAIT; a refusal does not even take that */

static int buffers(struct lb_err *err)
{
	return lb_fail(err, LB_ST_USAGE, EINVAL,
		"its file system buffers O_DIRECT: figures would be memory's");
}

/* Buffers only misaligned reads (btrfs), or none at all (NFS). */
static bool takes_misaligned(const struct statfs *fs)
{
	return fs->f_type == BTRFS_SUPER_MAGIC || fs->f_type == NFS_SUPER_MAGIC;
}

int lb_direct_align(int fd, uint32_t *align_bytes, struct lb_err *err)
{
	struct statx stx;
	struct statfs fs;
	ssize_t got = -1;
	uint32_t len = 1; /* no file system that reads directly takes this */
	void *buf;

	if (!statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &stx) &&
		(stx.stx_mask & STATX_DIOALIGN)) {
		if (!stx.stx_dio_offset_align)
			return buffers(err);
		*align_bytes = stx.stx_dio_offset_align;
		return 0;
	}
	buf = aligned_alloc(ALIGN_MAX, ALIGN_MAX);
	if (!buf)
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "no memory");
	while (len <= ALIGN_MAX) {
		got = pread(fd, buf, len, 0);
		if (got >= 0 || (errno != EINVAL && errno != EINTR))
			break;
		if (errno == EINVAL)
			len = len < ALIGN_MIN ? ALIGN_MIN : len * 2;
	}
	free(buf);
	if (got < 0)
		return lb_fail(err, LB_ST_UNAVAILABLE, errno, "reading its beginning: %s",
			strerror(errno));
	if (len < ALIGN_MIN && (fstatfs(fd, &fs) || !takes_misaligned(&fs)))
		return buffers(err);
	*align_bytes = len < ALIGN_MIN ? 4096 : len;
	return 0;
}

bool lb_direct_has_nowait(int fd, uint32_t align_bytes)
{
	size_t align = align_bytes < 4096 ? 4096 : align_bytes;
	struct iovec iov = {.iov_base = aligned_alloc(align, align), .iov_len = align_bytes};
	bool has = !iov.iov_base || preadv2(fd, &iov, 1, 0, RWF_NOWAIT) >= 0 || errno != EOPNOTSUPP;

	free(iov.iov_base);
	return has;
}

/* Sends one read for each of LUNS; returns how many were taken. */
static uint32_t send_looks(
	io_context_t ctx, struct lb_nowait *luns, uint32_t n, struct iocb *looks, void *buf)
{
	uint32_t sent = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct iocb *look = &looks[i];
		int ret;

		io_prep_pread(look, luns[i].fd, buf, luns[i].align_bytes, 0);
		look->aio_rw_flags = RWF_NOWAIT;
		look->data = &luns[i];
		ret = io_submit(ctx, 1, &look);
		luns[i].has = ret != -EOPNOTSUPP;
		sent += ret == 1;
	}
	return sent;
}

/* Takes N answers; returns how many stayed away. */
static uint32_t take_looks(io_context_t ctx, uint32_t n)
{
	struct timespec patience = {.tv_nsec = ANSWER_NS};
	struct io_event answer;

	while (n && io_getevents(ctx, 1, 1, &answer, &patience) == 1) {
		struct lb_nowait *lun = answer.data;

		lun->has = (long)answer.res != -EOPNOTSUPP;
		n--;
	}
	return n;
}

int lb_direct_find_nowait(struct lb_nowait *luns, uint32_t n)
{
	io_context_t ctx = NULL;
	struct iocb *looks = calloc(n + 1, sizeof(*looks));
	/* nobody looks into it: one does for all */
	void *buf =
		mmap(NULL, ALIGN_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ret = looks && buf != MAP_FAILED ? io_setup((int)n + 1, &ctx) : -ENOMEM;
	bool is_late = ret == 0 && take_looks(ctx, send_looks(ctx, luns, n, looks, buf));

	/* what is still out would hold up the end of its context, and needs the buffer */
	if (ret == 0 && !is_late)
		io_destroy(ctx);
	if (buf != MAP_FAILED && !is_late)
		munmap(buf, ALIGN_MAX);
	free(looks);
	return ret;
}
