#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "units.h"

static int fail(struct lb_err *err, int errnum, const char *path)
{
	char name[256];

	return lb_fail(err, LB_ST_OUTPUT, errnum, "cannot write %s: %s",
		lb_printable(name, sizeof(name), path), strerror(errnum));
}

static int open_stream(struct lb_output *out, int fd, struct lb_err *err, const char *path)
{
	out->name = path;
	out->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (out->file)
		return 0;
	fail(err, errno, path);
	if (fd >= 0)
		close(fd);
	return -EIO;
}

/* The file that PATH leads to, through links; it need not exist. Freed by the caller. */
static char *real_path(const char *path)
{
	char *real = realpath(path, NULL), *copy, *dir, *base;

	if (real || errno != ENOENT)
		return real;
	copy = strdup(path);
	base = strdup(path);
	dir = copy ? realpath(dirname(copy), NULL) : NULL;
	if (dir && base && asprintf(&real, "%s/%s", dir, basename(base)) < 0)
		real = NULL;
	free(dir);
	free(base);
	free(copy);
	return real;
}

/* Without a name while it is written, where the file system can: then nothing can leave it behind.
 */
static int open_temporary(struct lb_output *out, mode_t mode)
{
	char *copy = strdup(out->path);
	int fd = copy ? open(dirname(copy), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode) : -1;

	free(copy);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	if (asprintf(&out->temporary, "%s.XXXXXX", out->path) < 0) {
		out->temporary = NULL;
		return -1;
	}
	fd = mkostemp(out->temporary, O_CLOEXEC);
	if (fd >= 0)
		fchmod(fd, mode);
	return fd;
}

int lb_output_open(struct lb_output *out, const char *path, struct lb_err *err)
{
	struct stat st;
	char name[256];
	mode_t mode, mask;
	bool exists;

	*out = (struct lb_output){0};
	if (strcmp(path, "-") == 0)
		return open_stream(out, dup(STDOUT_FILENO), err, "the standard output");
	exists = stat(path, &st) == 0;
	if (exists && !S_ISREG(st.st_mode)) {
		if (S_ISBLK(st.st_mode))
			return lb_fail(err, LB_ST_USAGE, ENOTBLK,
				"--json: %s is a block device, not a file: is the file name missing?",
				lb_printable(name, sizeof(name), path));
		return open_stream(out, open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY), err, path);
	}
	mask = umask(0);
	umask(mask);
	mode = exists ? st.st_mode & 07777 : 0666 & ~mask;
	if (exists && access(path, W_OK))
		return fail(err, errno, path);
	out->path = real_path(path);
	if (!out->path)
		return fail(err, errno, path);
	return open_stream(out, open_temporary(out, mode), err, path);
}

/* Gives an O_TMPFILE a name beside the real file's, so that it can be renamed over it. */
static int name_it(struct lb_output *out)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fileno(out->file));
	for (unsigned i = 0; i < 100; i++) {
		if (asprintf(&out->temporary, "%s.%d-%u", out->path, (int)getpid(), i) < 0)
			break;
		if (linkat(AT_FDCWD, self, AT_FDCWD, out->temporary, AT_SYMLINK_FOLLOW) == 0)
			return 0;
		free(out->temporary);
		out->temporary = NULL;
		if (errno != EEXIST)
			break;
	}
	return -errno;
}

int lb_output_commit(struct lb_output *out, struct lb_err *err)
{
	int failed = ferror(out->file) | fflush(out->file);

	if (failed)
		return fail(err, errno ? errno : EIO, out->name);
	if (!out->path) {
		failed = fclose(out->file);
		out->file = NULL;
		return failed ? fail(err, errno, out->name) : 0;
	}
	if (fsync(fileno(out->file)) || (!out->temporary && name_it(out)) ||
		rename(out->temporary, out->path))
		return fail(err, errno, out->name);
	free(out->temporary);
	out->temporary = NULL;
	return 0;
}

void lb_output_done(struct lb_output *out)
{
	if (out->file)
		fclose(out->file);
	if (out->temporary)
		unlink(out->temporary);
	free(out->temporary);
	free(out->path);
	*out = (struct lb_output){0};
}
