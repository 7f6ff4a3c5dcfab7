#include "guard_scan.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/loop.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* The kernel's fixed number for the first one, include/linux/proc_ns.h PROC_PID_INIT_INO. */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCu

/* The first reason is kept. */
__attribute__((format(printf, 2, 3))) static void undecided(struct lb_scan *s, const char *fmt, ...)
{
	va_list ap;

	if (s->undecided[0])
		return;
	va_start(ap, fmt);
	vsnprintf(s->undecided, sizeof(s->undecided), fmt, ap);
	va_end(ap);
}

static void add(struct lb_scan *s, const struct lb_user *u)
{
	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 256;
		struct lb_user *users = realloc(s->users, room * sizeof(*users));

		if (!users) {
			undecided(s, "no memory to note who uses what");
			return;
		}
		s->users = users;
		s->room = room;
	}
	s->users[s->n++] = *u;
}

/* \040 and the like, as the kernel writes blanks in /proc. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && isdigit((unsigned char)s[2]) &&
			isdigit((unsigned char)s[3])) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* What is at DIRFD's NAME, without asking a server that may be gone. 0: no device and no file. */
static bool identify(int dirfd, const char *name, struct lb_guard_id *id, int *errnum)
{
	struct statx sx;

	*errnum = 0;
	if (statx(dirfd, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_INO, &sx)) {
		*errnum = errno;
		return false;
	}
	if (S_ISBLK(sx.stx_mode))
		*id = (struct lb_guard_id){.dev = makedev(sx.stx_rdev_major, sx.stx_rdev_minor)};
	else if (S_ISREG(sx.stx_mode))
		*id = (struct lb_guard_id){
			.dev = makedev(sx.stx_dev_major, sx.stx_dev_minor), .ino = sx.stx_ino};
	else
		return false;
	return true;
}

static bool is_wanted(const struct lb_scan *s, const struct lb_guard_id *id)
{
	if (!id->ino)
		return true;
	for (size_t i = 0; i < s->n_files; i++) {
		if (s->files[i].dev == id->dev && s->files[i].ino == id->ino)
			return true;
	}
	return false;
}

static void want(struct lb_scan *s, const struct lb_guard_id *id)
{
	struct lb_guard_id *files;

	if (is_wanted(s, id))
		return;
	files = realloc(s->files, (s->n_files + 1) * sizeof(*files));
	if (!files) {
		undecided(s, "no memory to note who uses what");
		return;
	}
	s->files = files;
	files[s->n_files++] = *id;
}

/* ---- mounts and swap */

/* One line of mountinfo, proc(5): the device's number is the third word, the mount point the fifth;
 * after a lone "-" stand the type and the source. */
static void add_mount(struct lb_scan *s, char *line, pid_t pid)
{
	struct lb_user u = {.kind = LB_USER_MOUNT, .pid = pid};
	char *tail = strstr(line, " - "), where[PATH_MAX], source[PATH_MAX];
	struct lb_guard_id id;
	unsigned int ma, mi;
	int errnum;

	if (sscanf(line, "%*d %*d %u:%u %*s %4095s", &ma, &mi, where) != 3) {
		undecided(s, "/proc/*/mountinfo has a line that is not understood");
		return;
	}
	unescape(where);
	snprintf(u.name, sizeof(u.name), "%.255s", where);
	u.id.dev = makedev(ma, mi);
	add(s, &u);
	/* a file system of several devices has a number of its own */
	if (ma || !tail || sscanf(tail, " - %*s %4095s", source) != 1)
		return;
	unescape(source);
	if (!strncmp(source, "/dev/", 5) && identify(AT_FDCWD, source, &id, &errnum) && !id.ino) {
		u.id = id;
		add(s, &u);
	}
}

/* PID: of a process in another mount namespace; 0: ours. -errno when it cannot be read. */
static int add_mounts(struct lb_scan *s, const char *path, pid_t pid)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	int rc;

	if (!f)
		return -errno;
	while (errno = 0, getline(&line, &room, f) > 0)
		add_mount(s, line, pid);
	rc = ferror(f) ? -errno : 0;
	free(line);
	fclose(f);
	return rc;
}

static void add_swaps(struct lb_scan *s)
{
	FILE *f = fopen("/proc/swaps", "re");
	char *line = NULL, name[PATH_MAX];
	size_t room = 0;
	int errnum;

	if (!f) {
		if (errno != ENOENT) /* a kernel without swap has none */
			undecided(s, "/proc/swaps cannot be read: %s", strerror(errno));
		return;
	}
	while (getline(&line, &room, f) > 0) {
		struct lb_user u = {.kind = LB_USER_SWAP};

		if (sscanf(line, "%4095s", name) != 1 || name[0] != '/')
			continue;
		unescape(name);
		snprintf(u.name, sizeof(u.name), "%.255s", name);
		/* one that has no name here is still the kernel's alone */
		if (identify(AT_FDCWD, name, &u.id, &errnum))
			add(s, &u);
	}
	free(line);
	fclose(f);
}

/* ---- loop devices */

static dev_t number(uint64_t kernels) /* huge_encode_dev() of the kernel */
{
	return makedev((kernels & 0xfff00) >> 8, (kernels & 0xff) | ((kernels >> 12) & 0xfff00));
}

static void add_loop(struct lb_scan *s, const char *name)
{
	struct lb_user u = {.kind = LB_USER_LOOP};
	char path[64];
	struct loop_info64 info;
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/dev/%.32s", name);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || ioctl(fd, LOOP_GET_STATUS64, &info)) {
		if (errno != ENXIO) /* it has been given up in the meantime */
			undecided(s, "%s does not tell what it lies on: %s", path, strerror(errno));
	} else {
		u.loop = st.st_rdev;
		u.id.dev = number(info.lo_rdevice ? info.lo_rdevice : info.lo_device);
		u.id.ino = info.lo_rdevice ? 0 : info.lo_inode;
		u.start = info.lo_offset;
		u.end = info.lo_sizelimit ? info.lo_offset + info.lo_sizelimit : 0;
		snprintf(u.name, sizeof(u.name), "%s", name);
		if (u.id.ino)
			want(s, &u.id);
		add(s, &u);
	}
	if (fd >= 0)
		close(fd);
}

static void add_loops(struct lb_scan *s)
{
	glob_t g;
	int rc = glob("/sys/block/loop[0-9]*/loop", GLOB_NOSORT, NULL, &g);

	if (rc && rc != GLOB_NOMATCH)
		undecided(s, "the loop devices cannot be listed");
	for (size_t i = 0; !rc && i < g.gl_pathc; i++) {
		char name[32] = "";

		if (sscanf(g.gl_pathv[i], "/sys/block/%31[^/]", name) == 1)
			add_loop(s, name);
	}
	if (!rc)
		globfree(&g);
}

/* ---- what is served to other hosts: opened by the kernel itself, and not alone */

static void add_exports(struct lb_scan *s, const char *pattern)
{
	glob_t g;

	if (glob(pattern, GLOB_NOSORT, NULL, &g))
		return;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct lb_user u = {.kind = LB_USER_EXPORT};
		FILE *f = fopen(g.gl_pathv[i], "re");
		char path[PATH_MAX] = "";
		int errnum;

		if (f && fgets(path, sizeof(path), f)) {
			path[strcspn(path, "\n")] = '\0';
			snprintf(u.name, sizeof(u.name), "%.255s", g.gl_pathv[i]);
			*strrchr(u.name, '/') = '\0';
			if (path[0] == '/' && identify(AT_FDCWD, path, &u.id, &errnum))
				add(s, &u);
		}
		if (f)
			fclose(f);
	}
	globfree(&g);
}

/* ---- processes */

static bool has_gone(int errnum)
{
	return errnum == ENOENT || errnum == ESRCH;
}

/* A process that ends meanwhile: its links then say EACCES, and only its directory that it is gone.
 */
static bool has_ended(int pid_dir, int errnum)
{
	return has_gone(errnum) || (faccessat(pid_dir, "stat", F_OK, 0) && has_gone(errno));
}

/* For writing? As fdinfo tells; when it does not, yes. */
static bool can_write(int pid_dir, const char *fd_name)
{
	char path[64], text[256] = "", *flags;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "fdinfo/%.32s", fd_name);
	fd = openat(pid_dir, path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	flags = strstr(text, "flags:");
	return !flags || (strtoul(flags + 6, NULL, 8) & O_ACCMODE) != O_RDONLY;
}

static void read_command(int pid_dir, char *buf, size_t n)
{
	int fd = openat(pid_dir, "comm", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, buf, n - 1);

	if (fd >= 0)
		close(fd);
	buf[got > 0 ? got : 0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
}

/*
 * A security module may hide the host's init even from root. That one opens no LUN. (All others do
 * count, and we have seen to it that 1 is init.)
 */
static bool is_hidden_init(pid_t pid, int errnum)
{
	return pid == 1 && (errnum == EACCES || errnum == EPERM);
}

static void add_descriptors(struct lb_scan *s, int pid_dir, pid_t pid)
{
	struct lb_user u = {.kind = LB_USER_PROCESS, .pid = pid};
	int fd = openat(pid_dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC), errnum = errno;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (!d) {
		if (!has_ended(pid_dir, errnum) && !is_hidden_init(pid, errnum))
			undecided(s,
				"what process %d has open cannot be seen (%s): only root can tell",
				(int)pid, strerror(errnum));
		if (fd >= 0)
			close(fd);
		return;
	}
	while (errno = 0, (de = readdir(d))) {
		if (de->d_name[0] == '.')
			continue;
		if (!identify(fd, de->d_name, &u.id, &errnum)) {
			if (errnum && !has_ended(pid_dir, errnum) && !is_hidden_init(pid, errnum))
				undecided(s, "descriptor %.16s of process %d cannot be seen: %s",
					de->d_name, (int)pid, strerror(errnum));
			continue;
		}
		if (!is_wanted(s, &u.id))
			continue;
		u.can_write = can_write(pid_dir, de->d_name);
		if (!u.name[0])
			read_command(pid_dir, u.name, sizeof(u.name));
		add(s, &u);
	}
	errnum = errno;
	if (errnum && !has_ended(pid_dir, errnum))
		undecided(s, "what process %d has open cannot be read: %s", (int)pid,
			strerror(errnum));
	closedir(d);
}

struct seen { /* mount namespaces, by their inode */
	ino_t ns[256];
	size_t n;
};

/* Processes share their mounts mostly: each namespace is read once (past 256 of them, each time).
 */
static void look_at_mounts(struct lb_scan *s, int pid_dir, pid_t pid, struct seen *seen)
{
	struct stat st = {.st_ino = 0}; /* none: which one it is cannot be seen */
	char path[64];
	int rc;

	if (fstatat(pid_dir, "ns/mnt", &st, 0) && has_gone(errno))
		return;
	for (size_t i = 0; st.st_ino && i < seen->n; i++) {
		if (seen->ns[i] == st.st_ino)
			return;
	}
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	rc = add_mounts(s, path, pid);
	if (!rc && st.st_ino && seen->n < sizeof(seen->ns) / sizeof(seen->ns[0]))
		seen->ns[seen->n++] = st.st_ino;
	else if (rc && !has_gone(-rc) && rc != -EINVAL) /* EINVAL: it is a zombie now */
		undecided(s, "%s cannot be read: %s", path, strerror(-rc));
}

static void look_at_process(struct lb_scan *s, pid_t pid, pid_t self, struct seen *seen)
{
	char path[32];
	int dir;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0) {
		if (!has_gone(errno))
			undecided(s, "%s cannot be read: %s", path, strerror(errno));
		return;
	}
	look_at_mounts(s, dir, pid, seen);
	if (pid != self)
		add_descriptors(s, dir, pid);
	close(dir);
}

static void look_at_processes(struct lb_scan *s)
{
	DIR *proc = opendir("/proc");
	struct seen seen = {.n = 0};
	char self[32] = "";
	struct dirent *de;
	struct stat st;
	bool has_first = false;
	int rc;

	if (!proc || readlink("/proc/self", self, sizeof(self) - 1) <= 0 ||
		stat("/proc/self/ns/pid", &st)) {
		undecided(s, "/proc cannot be read: %s", strerror(errno));
	} else if (st.st_ino != FIRST_PID_NAMESPACE) {
		undecided(s, "from inside a container it cannot be seen what other processes of "
			     "the host have open: run it on the host");
	} else {
		rc = add_mounts(s, "/proc/self/mountinfo", 0);
		if (rc)
			undecided(s, "/proc/self/mountinfo cannot be read: %s", strerror(-rc));
		else if (!stat("/proc/self/ns/mnt", &st))
			seen.ns[seen.n++] = st.st_ino;
		while (errno = 0, (de = readdir(proc))) {
			pid_t pid = (pid_t)strtol(de->d_name, NULL, 10);

			if (pid <= 0)
				continue;
			has_first |= pid == 1;
			look_at_process(s, pid, (pid_t)strtol(self, NULL, 10), &seen);
		}
		if (errno)
			undecided(s, "/proc cannot be read: %s", strerror(errno));
		if (!has_first) /* there always is one; /proc mounted with hidepid hides it */
			undecided(s, "/proc does not show all processes (hidepid)");
	}
	if (proc)
		closedir(proc);
}

void lb_scan_make(struct lb_scan *s, const struct lb_lun *luns, size_t n)
{
	*s = (struct lb_scan){.n = 0};
	for (size_t i = 0; i < n; i++) {
		if (luns[i].kind == LB_LUN_FILE)
			want(s, &(struct lb_guard_id){.dev = luns[i].dev, .ino = luns[i].ino});
	}
	add_swaps(s);
	add_loops(s);
	add_exports(s, "/sys/kernel/config/target/core/*/*/udev_path");
	add_exports(s, "/sys/kernel/config/nvmet/subsystems/*/namespaces/*/device_path");
	look_at_processes(s);
}

void lb_scan_done(struct lb_scan *s)
{
	free(s->users);
	free(s->files);
	*s = (struct lb_scan){.n = 0};
}
