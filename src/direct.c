#include "direct.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#define ALIGN_MIN 512u
#define ALIGN_MAX 65536u

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
