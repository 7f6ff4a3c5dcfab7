#include "limits.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_ROOM 1024

/* The first bytes of the file DIR/NAME as text; false: there is none. */
static bool read_text(const char *dir, const char *name, char *buf, size_t n)
{
	char path[PATH_ROOM + 64];
	ssize_t got;
	int fd = -1;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) < sizeof(path))
		fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, buf, n - 1);
	if (fd >= 0)
		close(fd);
	buf[got > 0 ? got : 0] = '\0';
	return got > 0;
}

/* OTHERWISE where there is no number ("max", no such file). */
static uint64_t read_number(const char *dir, const char *name, uint64_t otherwise)
{
	char text[64];
	uint64_t v;

	if (!read_text(dir, name, text, sizeof(text)) || sscanf(text, "%" SCNu64, &v) != 1)
		return otherwise;
	return v;
}

/* The number after KEY, which begins a line of TEXT. */
static bool find_number(const char *text, const char *key, uint64_t *v)
{
	size_t len = strlen(key);

	while (text) {
		if (!strncmp(text, key, len))
			return sscanf(text + len, "%*[: \t]%" SCNu64, v) == 1;
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return false;
}

static uint64_t count_entries(const char *root, const char *name)
{
	char path[PATH_ROOM];
	struct dirent *de;
	uint64_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	dir = opendir(path);
	while (dir && (de = readdir(dir)))
		n += de->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

static uint64_t count_lines(const char *root, const char *name)
{
	char path[PATH_ROOM];
	uint64_t n = 0;
	FILE *f;
	int c;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	f = fopen(path, "re");
	while (f && (c = getc_unlocked(f)) != EOF)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

static bool has_capability(const char *root, unsigned int cap)
{
	char text[4096], *at;
	uint64_t caps;

	if (!read_text(root, "proc/self/status", text, sizeof(text)))
		return false;
	at = strstr(text, "\nCapEff:");
	return at && sscanf(at, "\nCapEff: %" SCNx64, &caps) == 1 && (caps >> cap & 1);
}

/* Tasks of user UID, as RLIMIT_NPROC counts them. */
static uint64_t count_user_tasks(const char *root, uid_t uid)
{
	char path[PATH_ROOM], name[300], text[4096];
	uint64_t n = 0, threads;
	struct dirent *de;
	struct stat st;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/proc", root);
	dir = opendir(path);
	while (dir && (de = readdir(dir))) {
		if (!isdigit((unsigned char)de->d_name[0]) ||
			fstatat(dirfd(dir), de->d_name, &st, 0) || st.st_uid != uid)
			continue;
		snprintf(name, sizeof(name), "%.20s/status", de->d_name);
		if (read_text(path, name, text, sizeof(text)) &&
			find_number(text, "Threads", &threads))
			n += threads;
	}
	if (dir)
		closedir(dir);
	return n;
}

static uint64_t resource(int which, bool hard)
{
	struct rlimit lim;

	if (getrlimit(which, &lim))
		return LB_UNLIMITED;
	if (hard)
		return lim.rlim_max == RLIM_INFINITY ? LB_UNLIMITED : lim.rlim_max;
	return lim.rlim_cur == RLIM_INFINITY ? LB_UNLIMITED : lim.rlim_cur;
}

static void gather_own(struct lb_limits *l, const char *root)
{
	l->files = (struct lb_limit){
		resource(RLIMIT_NOFILE, true), count_entries(root, "proc/self/fd")};
	l->locked.max =
		has_capability(root, CAP_IPC_LOCK) ? LB_UNLIMITED : resource(RLIMIT_MEMLOCK, false);
	/* kernel/fork.c: neither root nor who has one of these is held to it */
	l->user_tasks.max = !getuid() || has_capability(root, CAP_SYS_RESOURCE) ||
					    has_capability(root, CAP_SYS_ADMIN)
				    ? LB_UNLIMITED
				    : resource(RLIMIT_NPROC, false);
	if (l->user_tasks.max != LB_UNLIMITED)
		l->user_tasks.used = count_user_tasks(root, getuid());
	l->maps = (struct lb_limit){read_number(root, "proc/sys/vm/max_map_count", LB_UNLIMITED),
		count_lines(root, "proc/self/maps")};
}

static void gather_host(struct lb_limits *l, const char *root)
{
	uint64_t tasks = 0, available;
	char text[4096];

	l->aio = (struct lb_limit){read_number(root, "proc/sys/fs/aio-max-nr", LB_UNLIMITED),
		read_number(root, "proc/sys/fs/aio-nr", 0)};
	/* "0.00 0.01 0.05 1/234 5678": 234 of them */
	if (!read_text(root, "proc/loadavg", text, sizeof(text)) ||
		sscanf(text, "%*s %*s %*s %*[0-9]/%" SCNu64, &tasks) != 1)
		tasks = 0;
	l->pids = (struct lb_limit){
		read_number(root, "proc/sys/kernel/pid_max", LB_UNLIMITED), tasks};
	l->tasks = (struct lb_limit){
		read_number(root, "proc/sys/kernel/threads-max", LB_UNLIMITED), tasks};
	if (read_text(root, "proc/meminfo", text, sizeof(text)) &&
		find_number(text, "MemTotal", &l->memory.max) &&
		find_number(text, "MemAvailable", &available) && available <= l->memory.max)
		l->memory =
			(struct lb_limit){l->memory.max << 10, (l->memory.max - available) << 10};
	else
		l->memory.max = LB_UNLIMITED;
}

/* ---- cgroups ---- */

struct cgroup {
	char dir[PATH_ROOM]; /* this process's, or one above it */
	size_t mount_len;    /* of its mount point */
	bool is_v2;
};

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *s = words; (s = strstr(s, word)); s += len)
		if ((s == words || s[-1] == ',') && (!s[len] || strchr(",\n ", s[len])))
			return true;
	return false;
}

/* Where CONTROLLER (v1), or the one tree of v2, puts this process. */
static bool find_path(const char *root, const char *controller, char path[PATH_ROOM], bool *is_v2)
{
	char file[PATH_ROOM], line[PATH_ROOM + 256];
	bool found = false;
	FILE *f;

	snprintf(file, sizeof(file), "%s/proc/self/cgroup", root);
	f = fopen(file, "re");
	while (f && fgets(line, sizeof(line), f)) {
		char *words = strchr(line, ':'), *at = words ? strchr(words + 1, ':') : NULL;

		if (!at)
			continue;
		*at++ = '\0';
		at[strcspn(at, "\n")] = '\0';
		if (!(words[1] ? has_word(words + 1, controller) : !found) ||
			strlen(at) >= PATH_ROOM)
			continue;
		*is_v2 = !words[1]; /* a v1 tree that has the controller goes before v2's */
		strcpy(path, at);
		found = true;
		if (!*is_v2)
			break;
	}
	if (f)
		fclose(f);
	return found;
}

/* LINE of mountinfo(5) as the directory of PATH, if it is of that tree. */
static bool mount_of(const char *line, const char *root, const char *controller, const char *path,
	struct cgroup *g)
{
	char top[PATH_ROOM / 2], point[PATH_ROOM / 4], type[32], options[PATH_ROOM / 2];
	const char *rest = strstr(line, " - ");
	size_t len;

	if (!rest || sscanf(rest, " - %31s %*s %511s", type, options) != 2 ||
		sscanf(line, "%*s %*s %*s %511s %255s", top, point) != 2 ||
		strcmp(type, g->is_v2 ? "cgroup2" : "cgroup") ||
		(!g->is_v2 && !has_word(options, controller)))
		return false;
	len = strcmp(top, "/") ? strlen(top) : 0; /* a container's mount begins at its own group */
	if (strncmp(path, top, len) || (path[len] && path[len] != '/') || strstr(path, "/.."))
		return false;
	g->mount_len = (size_t)snprintf(g->dir, sizeof(g->dir), "%s%s", root, point);
	snprintf(g->dir + g->mount_len, sizeof(g->dir) - g->mount_len, "%s",
		strcmp(path + len, "/") ? path + len : "");
	return true;
}

static bool find_cgroup(const char *root, const char *controller, struct cgroup *g)
{
	char file[PATH_ROOM], path[PATH_ROOM], *line = NULL;
	bool found = false;
	size_t room = 0;
	FILE *f;

	if (!find_path(root, controller, path, &g->is_v2))
		return false;
	snprintf(file, sizeof(file), "%s/proc/self/mountinfo", root);
	f = fopen(file, "re");
	while (f && !found && getline(&line, &room, f) > 0)
		found = mount_of(line, root, controller, path, g);
	free(line);
	if (f)
		fclose(f);
	return found;
}

static struct lb_limit tasks_of(const struct cgroup *g)
{
	return (struct lb_limit){read_number(g->dir, "pids.max", LB_UNLIMITED),
		read_number(g->dir, "pids.current", 0)};
}

/* Cached file data is given up when memory is wanted, so it does not count. */
static struct lb_limit memory_of(const struct cgroup *g)
{
	struct lb_limit l = {read_number(g->dir, g->is_v2 ? "memory.max" : "memory.limit_in_bytes",
				     LB_UNLIMITED),
		read_number(g->dir, g->is_v2 ? "memory.current" : "memory.usage_in_bytes", 0)};
	uint64_t a = 0, b = 0;
	char text[8192];

	if (l.max >= 1ull << 62) /* v1's way to say none */
		l.max = LB_UNLIMITED;
	if (read_text(g->dir, "memory.stat", text, sizeof(text))) {
		find_number(text, g->is_v2 ? "inactive_file" : "total_inactive_file", &a);
		find_number(text, g->is_v2 ? "active_file" : "total_active_file", &b);
	}
	l.used = l.used > a + b ? l.used - a - b : 0;
	return l;
}

static uint64_t left_of(struct lb_limit l)
{
	return l.max == LB_UNLIMITED ? LB_UNLIMITED : l.max > l.used ? l.max - l.used : 0;
}

/* A group is held to its own limit and to those of all above it: the one that leaves least. */
static void gather_cgroup(const char *root, const char *controller,
	struct lb_limit (*read)(const struct cgroup *), struct lb_limit *out, char path[192])
{
	struct cgroup g;
	char *slash;

	*out = (struct lb_limit){LB_UNLIMITED, 0};
	if (!find_cgroup(root, controller, &g))
		return;
	for (;;) {
		struct lb_limit l = read(&g);

		if (left_of(l) < left_of(*out)) {
			*out = l;
			snprintf(path, 192, "%.191s",
				g.dir[g.mount_len] ? g.dir + g.mount_len : "/");
		}
		slash = strrchr(g.dir + g.mount_len, '/');
		if (!slash)
			break;
		*slash = '\0';
	}
}

void lb_limits_gather(struct lb_limits *l, const char *root)
{
	memset(l, 0, sizeof(*l));
	gather_own(l, root);
	gather_host(l, root);
	gather_cgroup(root, "pids", tasks_of, &l->group_tasks, l->group_tasks_path);
	gather_cgroup(root, "memory", memory_of, &l->group_memory, l->group_memory_path);
}
