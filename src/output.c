#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "output_check.h"
#include "units.h"

#define LINKS_MAX 40                      /* as the kernel follows */
#define LOOK_NS   (20 * LB_NSEC_PER_MSEC) /* for a reader, so often */

static int fail(struct lb_err *err, int errnum, const char *path)
{
	char name[256];

	return lb_fail(err, LB_ST_OUTPUT, errnum, "cannot write %s: %s",
		lb_shorten(name, sizeof(name), path), strerror(errnum));
}

/* ---- writing */

int lb_output_write(int fd, const char *buf, size_t n)
{
	struct pollfd pfd = {.fd = fd, .events = POLLOUT};

	while (n) {
		ssize_t done = write(fd, buf, n);

		if (done > 0) {
			buf += done;
			n -= (size_t)done;
		} else if (done < 0 && errno == EAGAIN) {
			poll(&pfd, 1, -1);
		} else if (!done || errno != EINTR) {
			return done ? errno : EIO;
		}
	}
	return 0;
}

static ssize_t put(void *cookie, const char *buf, size_t n)
{
	struct lb_output *out = cookie;

	if (!out->errnum)
		out->errnum = lb_output_write(out->fd, buf, n);
	return out->errnum ? 0 : (ssize_t)n;
}

/* FD is OUT's from here on. */
static int open_stream(struct lb_output *out, int fd, struct lb_err *err)
{
	out->fd = fd;
	if (fd >= 0)
		out->file = fopencookie(out, "w", (cookie_io_functions_t){.write = put});
	return out->file ? 0 : fail(err, errno, out->name);
}

/* ---- opening */

static const char *option_of(const struct lb_output *out)
{
	return out->way == LB_OUTPUT_LINES ? "--stream" : "--json";
}

static bool can_write(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

static int open_stdout(struct lb_output *out, struct lb_err *err)
{
	out->name = "the standard output";
	if (!can_write(STDOUT_FILENO)) /* the stand-in for one that was closed */
		return lb_fail(
			err, LB_ST_OUTPUT, EBADF, "cannot write the standard output: it is closed");
	return open_stream(out, fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), err);
}

/* The one of stdout and stderr that leads to the same as ST: opened anew it would have another
 * position, and replaced, who reads it would wait in vain. -1: neither. */
static int standard_fd(const struct stat *st)
{
	struct stat own;

	for (int fd = 1; fd <= 2; fd++)
		if (!fstat(fd, &own) && own.st_dev == st->st_dev && own.st_ino == st->st_ino &&
			can_write(fd))
			return fd;
	return -1;
}

/* Opens what is no regular file. -EAGAIN: a FIFO that has no reader until then. */
static int open_special(const char *path, mode_t mode, uint64_t wait_ns)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	uint64_t start_ns = lb_now_ns();
	int fd;

	while ((fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) < 0) {
		if (errno != ENXIO || !S_ISFIFO(mode))
			return -errno;
		if (lb_now_ns() - start_ns >= wait_ns)
			return -EAGAIN;
		nanosleep(&pause, NULL);
	}
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

/* The file that PATH leads to, through links; it need not exist. Freed by the caller. */
static char *real_path(const char *path, unsigned depth)
{
	char *real = realpath(path, NULL), *copy, *dir, *base, to[PATH_MAX];
	ssize_t len;

	if (real || errno != ENOENT)
		return real;
	copy = strdup(path);
	base = strdup(path);
	dir = copy ? realpath(dirname(copy), NULL) : NULL;
	len = dir && depth < LINKS_MAX ? readlink(path, to, sizeof(to) - 1) : -1;
	if (len > 0) { /* one that leads to nothing yet */
		char *next = NULL;

		to[len] = '\0';
		if (asprintf(&next, "%s/%s", to[0] == '/' ? "" : dir, to) >= 0) {
			real = real_path(next, depth + 1);
			free(next);
		}
	} else if (dir && base && asprintf(&real, "%s/%s", dir, basename(base)) < 0) {
		real = NULL;
	}
	free(dir);
	free(base);
	free(copy);
	return real;
}

/* Without a name while it is written, where the file system can: then nothing can leave it behind.
 * It is given its name through /proc. */
static int open_temporary(struct lb_output *out)
{
	bool has_proc = !access("/proc/self/fd", F_OK);
	char *copy = strdup(out->path);
	mode_t mask;
	int fd = -1;

	if (has_proc && copy)
		fd = open(dirname(copy), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	free(copy);
	if (fd >= 0 || (has_proc && errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	if (asprintf(&out->temporary, "%s.XXXXXX", out->path) < 0) {
		out->temporary = NULL;
		return -1;
	}
	fd = mkostemp(out->temporary, O_CLOEXEC);
	if (fd < 0) {
		free(out->temporary);
		out->temporary = NULL;
		return -1;
	}
	mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask);
	return fd;
}

/* The old file's owner and mode for the new one; false: it may not have them. */
static bool inherit(int fd, const struct stat *old)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if ((st.st_uid != old->st_uid || st.st_gid != old->st_gid) &&
		fchown(fd, old->st_uid, old->st_gid))
		return false;
	return !fchmod(fd, old->st_mode & 07777);
}

/* To replace the file ST, which is there. */
static int open_old(struct lb_output *out, const struct stat *st, struct lb_err *err)
{
	int fd = open(out->path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return fail(err, errno, out->name);
	ret = lb_output_check_content(option_of(out), out->name, fd, err);
	close(fd);
	if (ret)
		return ret;
	out->old_fd = open(out->path, O_WRONLY | O_CLOEXEC);
	if (out->old_fd < 0)
		return fail(err, errno, out->name);
	fd = open_temporary(out);
	if (fd < 0 || !inherit(fd, st)) {
		if (fd >= 0)
			close(fd);
		if (out->temporary)
			unlink(out->temporary);
		out->is_in_place = true;
		fd = memfd_create("lunbench", MFD_CLOEXEC);
	}
	return open_stream(out, fd, err);
}

/* For lines, which go to the file itself as they come; until then it stays as it is. */
static int open_lines(struct lb_output *out, bool exists, struct lb_err *err)
{
	int fd, ret;

	if (exists) {
		fd = open(out->path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return fail(err, errno, out->name);
		ret = lb_output_check_content(option_of(out), out->name, fd, err);
		close(fd);
		if (ret)
			return ret;
	}
	fd = open(out->path, O_WRONLY | O_CLOEXEC | (exists ? 0 : O_CREAT | O_EXCL), 0666);
	if (fd >= 0 && !exists)
		out->temporary = strdup(out->path);
	return open_stream(out, fd, err);
}

void lb_output_begin(struct lb_output *out)
{
	if (out->path && ftruncate(out->fd, 0))
		out->errnum = errno;
	free(out->temporary);
	out->temporary = NULL;
}

int lb_output_open(struct lb_output *out, enum lb_output_way way, const char *path,
	const struct lb_config *cfg, uint64_t wait_ns, struct lb_err *err)
{
	struct stat st;
	char name[256];
	bool exists;
	int ret;

	*out = (struct lb_output){.way = way, .fd = -1, .old_fd = -1, .name = path};
	if (strcmp(path, "-") == 0)
		return open_stdout(out, err);
	exists = stat(path, &st) == 0;
	if (!exists && errno != ENOENT)
		return fail(err, errno, path);
	if (exists) {
		ret = lb_output_check_use(option_of(out), path, &st, cfg, err);
		if (ret)
			return ret;
		ret = standard_fd(&st);
		if (ret >= 0)
			return open_stream(out, fcntl(ret, F_DUPFD_CLOEXEC, 3), err);
	}
	if (exists && !S_ISREG(st.st_mode)) {
		ret = open_special(path, st.st_mode, wait_ns);
		if (ret == -EAGAIN)
			return lb_fail(err, LB_ST_OUTPUT, EAGAIN, "%s: waiting for a reader of %s",
				option_of(out), lb_shorten(name, sizeof(name), path));
		return ret < 0 ? fail(err, -ret, path) : open_stream(out, ret, err);
	}
	out->path = real_path(path, 0);
	if (!out->path)
		return fail(err, errno, path);
	if (way == LB_OUTPUT_LINES)
		return open_lines(out, exists, err);
	return exists ? open_old(out, &st, err) : open_stream(out, open_temporary(out), err);
}

/* ---- the end */

/* Gives an O_TMPFILE a name beside the real file's, so that it can be renamed over it. */
static int name_it(struct lb_output *out)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", out->fd);
	for (unsigned i = 0; i < 100; i++) {
		if (asprintf(&out->temporary, "%s.%d-%u", out->path, (int)getpid(), i) < 0) {
			out->temporary = NULL;
			return -1;
		}
		if (linkat(AT_FDCWD, self, AT_FDCWD, out->temporary, AT_SYMLINK_FOLLOW) == 0)
			return 0;
		free(out->temporary);
		out->temporary = NULL;
		if (errno != EEXIST)
			break;
	}
	return -1;
}

static int replace(struct lb_output *out)
{
	if (fsync(out->fd) || (!out->temporary && name_it(out)) ||
		rename(out->temporary, out->path))
		return errno;
	free(out->temporary);
	out->temporary = NULL;
	return 0;
}

/* The content of the new file into the old one. Room for it is made first: where there is none, the
 * old one stays as it was. Returns 0 or an errno. */
static int write_in_place(const struct lb_output *out)
{
	struct stat new, old;
	char buf[65536];
	ssize_t got;
	off_t at = 0;
	int ret;

	if (fstat(out->fd, &new) || fstat(out->old_fd, &old))
		return errno;
	if (!old.st_nlink)
		return ENOENT;
	if (new.st_size > old.st_size && fallocate(out->old_fd, 0, 0, new.st_size) &&
		errno != EOPNOTSUPP &&errno != ENOSYS) {
		ret = errno;
		return ftruncate(out->old_fd, old.st_size) ? errno : ret;
	}
	while ((got = pread(out->fd, buf, sizeof(buf), at)) > 0) {
		ret = lb_output_write(out->old_fd, buf, (size_t)got);
		if (ret)
			return ret;
		at += got;
	}
	return got < 0 || ftruncate(out->old_fd, new.st_size) || fsync(out->old_fd) ? errno : 0;
}

static int close_direct(struct lb_output *out)
{
	int failed = close(out->fd);

	out->fd = -1;
	return failed ? errno : 0;
}

/* In one go: a signal that ends the process must leave no half of it. Returns 0 or an errno. */
static int put_in_place(struct lb_output *out)
{
	sigset_t all, before;
	int errnum = 0;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	if (!out->is_in_place)
		errnum = replace(out);
	if (out->is_in_place || (errnum && out->old_fd >= 0))
		errnum = write_in_place(out);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return errnum;
}

int lb_output_commit(struct lb_output *out, struct lb_err *err)
{
	int failed = fflush(out->file) | ferror(out->file), errnum;

	if (failed || out->errnum)
		errnum = out->errnum ? out->errnum : EIO;
	else if (!out->path || out->way == LB_OUTPUT_LINES)
		errnum = close_direct(out);
	else
		errnum = put_in_place(out);
	return errnum ? fail(err, errnum, out->name) : 0;
}

void lb_output_done(struct lb_output *out)
{
	if (!out->name) /* never opened */
		return;
	if (out->file)
		fclose(out->file);
	if (out->fd >= 0)
		close(out->fd);
	if (out->old_fd >= 0)
		close(out->old_fd);
	if (out->temporary)
		unlink(out->temporary);
	free(out->temporary);
	free(out->path);
	*out = (struct lb_output){0};
}
