#include "stack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "paths.h"
#include "sysfs.h"

#define DEPTH_MAX   16   /* of maps on maps */
#define VISITED_MAX 1024 /* devices below or above one LUN */

/* A walk from one LUN, down or up. */
struct walk {
	struct lb_stack *stack;
	struct lb_lun *lun;
	uint32_t index;
	struct lb_dmstat dm; /* of the LUN, if it is a multipath map */
	uint32_t n_visited;
	dev_t visited[VISITED_MAX];
};

/* ---- who uses which device ---- */

static void add_use(struct lb_stack *s, dev_t dev, const char *before, const char *where)
{
	char *what = NULL;

	if (s->n_uses == s->uses_room) {
		size_t room = s->uses_room ? 2 * s->uses_room : 64;
		struct lb_use *more = realloc(s->uses, room * sizeof(*more));

		if (more) {
			s->uses = more;
			s->uses_room = room;
		}
	}
	if (s->n_uses == s->uses_room || asprintf(&what, "%s%s", before, where) < 0) {
		s->is_short = true;
		return;
	}
	s->uses[s->n_uses++] = (struct lb_use){.dev = dev, .what = what};
}

/* The kernel writes blanks and the like in names as \ooo. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
			s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* proc(5): "36 35 98:0 /root /mnt ... - type source options" */
static void add_mount(struct lb_stack *s, char *line)
{
	unsigned int maj, min;
	char *where = NULL, *source = NULL, *tail = strstr(line, " - ");
	dev_t dev;
	struct stat st;

	if (sscanf(line, "%*u %*u %u:%u %*s %ms", &maj, &min, &where) == 3) {
		dev = makedev(maj, min);
		unescape(where);
		/* btrfs has a number of its own; its source is one of its devices */
		if (!maj && tail && sscanf(tail, " - %*s %ms", &source) == 1 &&
			!strncmp(source, "/dev/", 5) && !stat(source, &st) && S_ISBLK(st.st_mode))
			dev = st.st_rdev;
		if (major(dev))
			add_use(s, dev, "mounted on ", where);
	}
	free(where);
	free(source);
}

static void add_swap(struct lb_stack *s, char *line)
{
	struct stat st;

	line[strcspn(line, " \t\n")] = '\0';
	unescape(line);
	if (line[0] == '/' && !stat(line, &st) && S_ISBLK(st.st_mode))
		add_use(s, st.st_rdev, "swap", "");
}

static void read_uses(struct lb_stack *s, const char *proc, const char *name,
	void (*add)(struct lb_stack *, char *))
{
	char path[4096], *line = NULL;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", proc, name);
	f = fopen(path, "re");
	while (f && getline(&line, &room, f) > 0)
		add(s, line);
	free(line);
	if (f)
		fclose(f);
}

static int by_use(const void *a, const void *b)
{
	const struct lb_use *x = a, *y = b;

	return (x->dev > y->dev) - (x->dev < y->dev);
}

void lb_stack_init(struct lb_stack *s, int sysfs, const char *proc)
{
	*s = (struct lb_stack){.sysfs = sysfs, .control = -1};
	read_uses(s, proc, "self/mountinfo", add_mount);
	read_uses(s, proc, "swaps", add_swap);
	if (s->n_uses)
		qsort(s->uses, s->n_uses, sizeof(*s->uses), by_use);
}

void lb_stack_done(struct lb_stack *s)
{
	for (size_t i = 0; i < s->n_uses; i++)
		free(s->uses[i].what);
	free(s->uses);
	free(s->below);
	if (s->control >= 0)
		close(s->control);
	*s = (struct lb_stack){.sysfs = -1, .control = -1};
}

static const char *use_of(const struct lb_stack *s, dev_t dev)
{
	struct lb_use key = {.dev = dev}, *use = NULL;

	if (s->n_uses)
		use = bsearch(&key, s->uses, s->n_uses, sizeof(key), by_use);
	return use ? use->what : NULL;
}

/* ---- one device ---- */

/* Of the device whose directory is DIR. 0: it has none (NVMe's hidden paths). */
static dev_t dev_of(int dir)
{
	unsigned int maj, min;
	char text[32];

	if (!lb_sysfs_text(dir, "dev", text, sizeof(text)) ||
		sscanf(text, "%u:%u", &maj, &min) != 2)
		return 0;
	return makedev(maj, min);
}

/* False: it has been here. */
static bool visit(struct walk *w, dev_t dev)
{
	for (uint32_t i = 0; i < w->n_visited; i++)
		if (w->visited[i] == dev)
			return false;
	if (w->n_visited == VISITED_MAX)
		return false;
	w->visited[w->n_visited++] = dev;
	return true;
}

static void add_name(struct lb_names *names, const char *name)
{
	for (uint32_t i = 0; i < names->n && i < LB_NAMES_MAX; i++)
		if (!strcmp(names->name[i], name))
			return;
	if (names->n < LB_NAMES_MAX)
		snprintf(names->name[names->n], sizeof(names->name[0]), "%s", name);
	names->n++;
}

/* What people call it: the alias of a map, else the kernel's name. */
static void name_of(int dir, const char *kernel_name, char *buf, size_t n)
{
	if (lb_sysfs_text(dir, "dm/name", buf, n))
		return;
	snprintf(buf, n, "%.*s", (int)n - 1, kernel_name);
	for (char *s = buf; (s = strchr(s, '!'));)
		*s = '/';
}

/* ---- below ---- */

static void add_below(struct walk *w, dev_t dev, bool is_path)
{
	struct lb_stack *s = w->stack;

	if (s->n_below == s->below_room) {
		size_t room = s->below_room ? 2 * s->below_room : 256;
		struct lb_below *more = realloc(s->below, room * sizeof(*more));

		if (!more) {
			s->is_short = true;
			return;
		}
		s->below = more;
		s->below_room = room;
	}
	s->below[s->n_below++] = (struct lb_below){.lun = w->index, .is_path = is_path, .dev = dev};
}

static void walk_slaves(struct walk *w, int dir, unsigned int depth);

/* The LUN lies on the device of DIR, called NAME, and all that this one lies on. */
static void lies_on(struct walk *w, int dir, const char *name, bool is_path, unsigned int depth)
{
	char shown[128];
	dev_t dev = dev_of(dir);

	if (!dev || !visit(w, dev))
		return;
	name_of(dir, name, shown, sizeof(shown));
	add_name(&w->lun->lies_on, shown);
	add_below(w, dev, is_path);
	if (is_path)
		lb_paths_add(w->lun, dir, shown, dev, &w->dm);
	walk_slaves(w, dir, depth - 1);
}

/* A partition lies on its disk, whose directory is the one above. */
static void walk_disk(struct walk *w, int dir, unsigned int depth)
{
	char self[64], link[512], *slash;
	int disk = lb_sysfs_dir(dir, "..");
	ssize_t len;

	if (disk < 0)
		return;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", disk);
	len = readlink(self, link, sizeof(link) - 1);
	link[len > 0 ? len : 0] = '\0';
	slash = strrchr(link, '/');
	lies_on(w, disk, slash ? slash + 1 : link, false, depth);
	close(disk);
}

static void walk_slaves(struct walk *w, int dir, unsigned int depth)
{
	bool is_map = depth == DEPTH_MAX && !strcmp(w->lun->dm_type, "mpath");
	struct dirent *de;
	DIR *slaves;
	int fd;

	if (!depth)
		return;
	if (!faccessat(dir, "partition", F_OK, 0))
		walk_disk(w, dir, depth);
	fd = lb_sysfs_dir(dir, "slaves");
	slaves = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !slaves)
		close(fd);
	while (slaves && (de = readdir(slaves))) {
		fd = de->d_name[0] == '.' ? -1 : lb_sysfs_dir(dirfd(slaves), de->d_name);
		if (fd < 0)
			continue;
		lies_on(w, fd, de->d_name, is_map, depth);
		close(fd);
	}
	if (slaves)
		closedir(slaves);
}

/* ---- the type of a map ---- */

static int control(struct lb_stack *s)
{
	if (!s->has_tried_control)
		s->control = lb_dmstat_open();
	s->has_tried_control = true;
	return s->control;
}

/* The type of the first target of map DEV, which only root may ask for. */
static void ask_type(struct lb_stack *s, dev_t dev, char *type, size_t n)
{
	char target[32];

	if (!lb_dmstat_type(control(s), dev, target, sizeof(target)) && target[0])
		snprintf(type, n, "%.*s", (int)n - 1,
			strcmp(target, "multipath") ? target : "mpath");
}

/* ---- above ---- */

enum user { IS_SELF, IS_PARTITION, IS_HOLDER };

/* The first use that is found is told; one that is known beats a mere holder. */
static void note_use(struct walk *w, int dir, dev_t dev, const char *name, enum user user)
{
	const char *use = use_of(w->stack, dev);
	struct lb_lun *lun = w->lun;
	bool has_use = lun->in_use[0] && strncmp(lun->in_use, "held by ", 8);
	char uuid[16];

	if (use) {
		add_name(&lun->held_by, use);
		if (!has_use && user == IS_SELF)
			snprintf(lun->in_use, sizeof(lun->in_use), "%s", use);
		else if (!has_use)
			snprintf(lun->in_use, sizeof(lun->in_use), "%.180s (%s)", use, name);
		return;
	}
	/* that a partition has a map says nothing: kpartx makes one for each */
	if (user != IS_HOLDER || lun->in_use[0] ||
		(lb_sysfs_text(dir, "dm/uuid", uuid, sizeof(uuid)) && !strncmp(uuid, "part", 4)))
		return;
	snprintf(lun->in_use, sizeof(lun->in_use), "held by %s", name);
}

static bool is_multipath(struct lb_stack *s, int dir)
{
	char text[256], type[16] = "";

	if (!lb_sysfs_text(dir, "dm/name", text, sizeof(text)))
		return false;
	if (lb_sysfs_text(dir, "dm/uuid", text, sizeof(text)))
		return !strncmp(text, "mpath-", 6);
	ask_type(s, dev_of(dir), type, sizeof(type));
	return !strcmp(type, "mpath");
}

static void walk_users(
	struct walk *w, int dir, const char *kernel_name, enum user user, unsigned int depth);

/* What the open directory FD (holders/, or the disk's own) has that begins with BEGIN. */
static void walk_entries(
	struct walk *w, int fd, const char *begin, enum user user, unsigned int depth)
{
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	size_t len = strlen(begin);
	struct dirent *de;

	if (fd >= 0 && !entries)
		close(fd);
	while (entries && (de = readdir(entries))) {
		if (de->d_name[0] == '.' || strncmp(de->d_name, begin, len))
			continue;
		fd = lb_sysfs_dir(dirfd(entries), de->d_name);
		if (fd < 0)
			continue;
		if (user == IS_HOLDER || !faccessat(fd, "partition", F_OK, 0))
			walk_users(w, fd, de->d_name, user, depth);
		close(fd);
	}
	if (entries)
		closedir(entries);
}

static void walk_users(
	struct walk *w, int dir, const char *kernel_name, enum user user, unsigned int depth)
{
	char name[128];
	dev_t dev = dev_of(dir);

	if (!depth || !dev || !visit(w, dev))
		return;
	name_of(dir, kernel_name, name, sizeof(name));
	if (user == IS_HOLDER) {
		add_name(&w->lun->held_by, name);
		if (depth == DEPTH_MAX - 1 && is_multipath(w->stack, dir))
			snprintf(w->lun->map, sizeof(w->lun->map), "%s", name);
	}
	note_use(w, dir, dev, name, user);
	walk_entries(w, lb_sysfs_dir(dir, "holders"), "", IS_HOLDER, depth - 1);
	walk_entries(w, lb_sysfs_dir(dir, "."), kernel_name, IS_PARTITION, depth - 1);
}

bool lb_stack_is_path(struct lb_stack *s, dev_t dev)
{
	char name[64];
	int dir = lb_sysfs_device(s->sysfs, dev, name, sizeof(name));
	int fd = dir < 0 ? -1 : lb_sysfs_dir(dir, "holders");
	DIR *holders = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;
	bool is_path = false;

	if (fd >= 0 && !holders)
		close(fd);
	while (holders && !is_path && (de = readdir(holders))) {
		fd = de->d_name[0] == '.' ? -1 : lb_sysfs_dir(dirfd(holders), de->d_name);
		if (fd < 0)
			continue;
		is_path = is_multipath(s, fd);
		close(fd);
	}
	if (holders)
		closedir(holders);
	if (dir >= 0)
		close(dir);
	return is_path;
}

void lb_stack_describe(struct lb_stack *s, struct lb_lun *lun, uint32_t index)
{
	struct walk w = {.stack = s, .lun = lun, .index = index};
	char name[sizeof(lun->kernel_name)];
	int dir = lb_sysfs_device(s->sysfs, lun->dev, name, sizeof(name));

	if (dir < 0)
		return;
	if (lun->dm_name[0] && !lun->dm_type[0])
		ask_type(s, lun->dev, lun->dm_type, sizeof(lun->dm_type));
	if (!strcmp(lun->dm_type, "mpath"))
		lb_dmstat_multipath(control(s), lun->dev, &w.dm); /* or nothing is known */
	visit(&w, lun->dev);
	walk_slaves(&w, dir, DEPTH_MAX);
	lb_paths_add_nvme(lun, dir);
	w.n_visited = 0;
	for (char *c = name; (c = strchr(c, '/'));) /* as it is spelled in here */
		*c = '!';
	walk_users(&w, dir, name, IS_SELF, DEPTH_MAX);
	close(dir);
}
