#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "rng.h"
#include "units.h"

#define CHUNK       (4u << 20) /* of one write: large, so that one in flight is enough */
#define BLOCK       4096u      /* what every O_DIRECT takes */
#define SPARE_BYTES (64u << 20)

static int fail(const struct lb_scratch *scratch, int errnum, const char *what, struct lb_err *err)
{
	return lb_fail(err, LB_ST_UNAVAILABLE, errnum, "--scratch: %s: %s: %s", scratch->dir, what,
		strerror(errnum));
}

/* A figure for people: rounded to one in 64 or finer. */
static uint64_t coarse(uint64_t bytes, bool up)
{
	uint64_t step = 1ull << (57 - __builtin_clzll(bytes | 64));

	return (bytes + (up ? step - 1 : 0)) / step * step;
}

int lb_scratch_check(const struct lb_scratch *scratch, struct lb_err *err)
{
	unsigned __int128 all = (unsigned __int128)scratch->size_bytes * scratch->count;
	char need_text[32], have_text[32];
	struct statvfs fs;
	struct rlimit limit;
	uint64_t need, have;

	if (statvfs(scratch->dir, &fs))
		return fail(scratch, errno, "cannot be used", err);
	have = (uint64_t)fs.f_bavail * fs.f_frsize;
	all += all / 64 + SPARE_BYTES; /* the file system's own blocks, and its other users */
	need = all > INT64_MAX ? INT64_MAX : (uint64_t)all;
	if (need > have)
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOSPC,
			"--scratch: %s: needs %s with room to spare, %s are free", scratch->dir,
			lb_format_size(need_text, sizeof(need_text), coarse(need, true)),
			lb_format_size(have_text, sizeof(have_text), coarse(have, false)));
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < scratch->size_bytes + BLOCK)
		return lb_fail(err, LB_ST_UNAVAILABLE, EFBIG,
			"--scratch: needs files of %s, their limit (ulimit -f) is %s",
			lb_format_size(need_text, sizeof(need_text), scratch->size_bytes),
			lb_format_size(have_text, sizeof(have_text), limit.rlim_cur));
	return 0;
}

static int open_unnamed(const struct lb_scratch *scratch)
{
	char path[sizeof(scratch->dir) + 32];
	int fd = open(scratch->dir, O_TMPFILE | O_EXCL | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	snprintf(path, sizeof(path), "%s/lunbench.XXXXXX", scratch->dir);
	fd = mkostemp(path, O_DIRECT | O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

static void fill_random(struct lb_rng *rng, uint64_t *words, size_t n)
{
	struct lb_rng local = *rng; /* in registers */

	for (size_t i = 0; i < n; i++)
		words[i] = lb_rng_next(&local);
	*rng = local;
}

static int write_all(int fd, const char *buf, size_t len, uint64_t at)
{
	while (len) {
		ssize_t n = pwrite(fd, buf, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		buf += n;
		len -= (size_t)n;
		at += (uint64_t)n;
	}
	return 0;
}

int lb_scratch_create(const struct lb_scratch *scratch, struct lb_err *err)
{
	int fd = open_unnamed(scratch), rc;
	void *buf;

	if (fd < 0 && errno == EINVAL)
		return lb_fail(err, LB_ST_USAGE, EINVAL,
			"--scratch: %s: its file system has no O_DIRECT: figures would be memory's",
			scratch->dir);
	if (fd < 0)
		return fail(scratch, errno, "making a file", err);
	buf = aligned_alloc(BLOCK, BLOCK);
	if (buf)
		memset(buf, 0, BLOCK);
	rc = buf ? write_all(fd, buf, BLOCK, 0) : -ENOMEM;
	free(buf);
	if (rc) {
		close(fd);
		return fail(scratch, -rc, "writing", err);
	}
	return fd;
}

int lb_scratch_fill(int fd, const struct lb_scratch *scratch, _Atomic uint64_t *filled_bytes,
	struct lb_err *err)
{
	uint64_t seed[2] = {0}, at = 0, size = scratch->size_bytes;
	void *buf = aligned_alloc(BLOCK, CHUNK);
	struct lb_rng rng;
	int rc = 0;

	if (!buf)
		return fail(scratch, ENOMEM, "writing", err);
	if (getrandom(seed, sizeof(seed), 0) != sizeof(seed))
		rc = -errno;
	lb_rng_seed(&rng, seed[0], seed[1]);
	while (!rc && at < size) {
		size_t len = size - at < CHUNK ? (size_t)(size - at) : CHUNK;
		size_t whole = (len + BLOCK - 1) / BLOCK * BLOCK;

		fill_random(&rng, buf, whole / sizeof(uint64_t));
		rc = write_all(fd, buf, whole, at);
		at += len;
		if (!rc)
			atomic_fetch_add_explicit(filled_bytes, len, memory_order_relaxed);
	}
	free(buf);
	if (!rc && size % BLOCK && ftruncate(fd, (off_t)size))
		rc = -errno;
	if (!rc && fdatasync(fd))
		rc = -errno;
	/* some file systems write through the cache */
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return rc ? fail(scratch, -rc, "writing", err) : 0;
}

int lb_scratch_seal(int fd, struct lb_err *err)
{
	char path[64];
	int sealed, errnum;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	sealed = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	errnum = errno;
	close(fd);
	if (sealed >= 0)
		fcntl(sealed, F_SETFL, O_DIRECT | O_NOATIME);
	return sealed >= 0
		       ? sealed
		       : lb_fail(err, LB_ST_UNAVAILABLE, errnum,
				 "--scratch: reopening a file for reading: %s", strerror(errnum));
}
