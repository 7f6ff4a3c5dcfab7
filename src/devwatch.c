#include "devwatch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "clock.h"
#include "dmstat.h"
#include "sysfs.h"

#define DEPTH_MAX 4                     /* of what lies below a LUN */
#define LOOK_NS   (1 * LB_NSEC_PER_SEC) /* between two looks, */
#define FDS_LEFT  64                    /* for others */
#define COST_MAX  100                   /* or so many times what one takes of a CPU */

static const char *const gone = "gone";

enum kind {
	SIZE,
	SUSPENDED, /* a map */
	STATE,     /* as the device's own driver has it */
	DM_PATH,   /* the same of a path, as device-mapper has it */
};

/* One fact, in a file that stays open. */
struct item {
	enum kind kind;
	int fd;        /* -1: there is none, since the device has gone, or device-mapper tells it */
	dev_t dev;     /* of the device that it is of; 0: not known */
	char name[32]; /* of that, if it lies below the LUN; "": the LUN itself */
	char text[24]; /* as of the last look */
	struct lb_event *suspended; /* while it is */
};

struct facts {
	struct item *items;
	uint32_t n, room;
	uint32_t n_live; /* paths */
};

struct lb_devwatch {
	struct lb_board *board;
	int sysfs, dm;
	bool has_looked;
	/* of the look at hand */
	uint64_t now_ns;
	bool has_map; /* of the LUN at hand: what device-mapper says of it */
	struct lb_dmstat map;
	struct facts luns[];
};

/* ---- what there is to read ---- */

static struct item *push(struct facts *f, enum kind kind, const char *name, dev_t dev, int fd)
{
	struct item *item;

	if (f->n == f->room) {
		uint32_t room = f->room ? 2 * f->room : 4;
		struct item *more = realloc(f->items, room * sizeof(*more));

		if (!more) { /* this much is not told then */
			close(fd);
			return NULL;
		}
		f->items = more;
		f->room = room;
	}
	item = &f->items[f->n++];
	*item = (struct item){.kind = kind, .fd = fd, .dev = dev};
	snprintf(item->name, sizeof(item->name), "%.*s", (int)sizeof(item->name) - 1, name);
	return item;
}

/* Whether others find a descriptor when FD is kept. */
static bool leaves_room(int fd)
{
	struct rlimit lim;

	return getrlimit(RLIMIT_NOFILE, &lim) == 0 && (rlim_t)fd + FDS_LEFT < lim.rlim_cur;
}

/* FILE in DIR, if there is one. */
static void open_fact(
	struct facts *f, int dir, const char *file, enum kind kind, const char *name, dev_t dev)
{
	int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && leaves_room(fd))
		push(f, kind, name, dev, fd);
	else if (fd >= 0)
		close(fd);
}

static dev_t dev_of(int dir)
{
	unsigned int maj, min;
	char text[32];

	return lb_sysfs_text(dir, "dev", text, sizeof(text)) &&
			       sscanf(text, "%u:%u", &maj, &min) == 2
		       ? makedev(maj, min)
		       : 0;
}

/* The device of DIR, called NAME, and all that it lies on. */
static void collect(struct facts *f, int dir, const char *name, unsigned int depth)
{
	dev_t dev = dev_of(dir);
	DIR *slaves = NULL;
	struct dirent *de;
	int fd;

	open_fact(f, dir, "dm/suspended", SUSPENDED, name, dev);
	open_fact(f, dir, "device/state", STATE, name, dev);
	fd = depth ? lb_sysfs_dir(dir, "slaves") : -1;
	if (fd >= 0 && !(slaves = fdopendir(fd)))
		close(fd);
	while (slaves && (de = readdir(slaves))) {
		fd = de->d_name[0] == '.' ? -1 : lb_sysfs_dir(dirfd(slaves), de->d_name);
		if (fd < 0)
			continue;
		collect(f, fd, de->d_name, depth - 1);
		close(fd);
	}
	if (slaves)
		closedir(slaves);
}

/* The paths of an NVMe namespace that the kernel joins: its device is the subsystem's. */
static void collect_nvme(struct facts *f, int dir, const struct lb_lun *lun)
{
	char name[64];

	for (uint32_t i = 0; i < lun->n_paths && i < LB_PATHS_MAX; i++) {
		const struct lb_path *p = &lun->paths[i];

		snprintf(name, sizeof(name), "device/%s/state", p->controller);
		if (p->controller[0])
			open_fact(f, dir, name, STATE, p->name, 0);
	}
}

/* Those of the multipath map at hand, by device-mapper. */
static void collect_map(const struct lb_devwatch *w, struct facts *f)
{
	for (uint32_t i = 0; i < w->map.n_paths && i < LB_DMSTAT_PATHS_MAX; i++) {
		char name[64];
		int dir = lb_sysfs_device(w->sysfs, w->map.paths[i].dev, name, sizeof(name));

		if (dir < 0)
			continue;
		push(f, DM_PATH, name, w->map.paths[i].dev, -1);
		close(dir);
	}
}

static void collect_lun(const struct lb_devwatch *w, uint32_t i, struct facts *f)
{
	const struct lb_lun *lun = w->board->plan->luns[i];
	char name[64];
	int dir = lun->kind == LB_LUN_BLOCK
			  ? lb_sysfs_device(w->sysfs, lun->dev, name, sizeof(name))
			  : -1;
	int disk = dir < 0 || faccessat(dir, "partition", F_OK, 0) ? -1 : lb_sysfs_dir(dir, "..");

	if (dir < 0)
		return;
	open_fact(f, dir, "size", SIZE, "", lun->dev);
	collect(f, disk < 0 ? dir : disk, "", DEPTH_MAX);
	collect_nvme(f, dir, lun);
	collect_map(w, f);
	if (disk >= 0)
		close(disk);
	close(dir);
}

/* ---- changes ---- */

static struct item *find(struct facts *f, enum kind kind, const char *name)
{
	for (uint32_t i = 0; i < f->n; i++)
		if (f->items[i].kind == kind && !strcmp(f->items[i].name, name))
			return &f->items[i];
	return NULL;
}

/* One of LUN I, now; NULL: there is no room, or it is how things are at the beginning. */
static struct lb_event *tell(const struct lb_devwatch *w, uint32_t i, struct lb_event ev)
{
	ev.lun = (int32_t)i;
	ev.begin_ns = w->now_ns;
	if (ev.end_ns != LB_NEVER)
		ev.end_ns = w->now_ns;
	return w->has_looked ? lb_event_add(&w->board->events, &ev) : NULL;
}

static void tell_state(const struct lb_devwatch *w, uint32_t i, const struct item *item,
	const char *from, const char *to)
{
	struct lb_event ev = {.kind = LB_EV_PATH};

	snprintf(ev.what, sizeof(ev.what), "%s", item->name);
	snprintf(ev.from, sizeof(ev.from), "%s", from);
	snprintf(ev.to, sizeof(ev.to), "%s", to);
	tell(w, i, ev);
}

/* A device without a state of its own shows by its size that it has gone. */
static void tell_size(struct lb_devwatch *w, uint32_t i, const struct item *item, const char *text)
{
	struct lb_event ev = {.kind = LB_EV_SIZE,
		.n = strtoull(item->text, NULL, 10) * 512,
		.m = strtoull(text, NULL, 10) * 512};
	bool was_gone = !strcmp(item->text, gone);

	if (text != gone && !was_gone)
		tell(w, i, ev);
	else if (!find(&w->luns[i], STATE, ""))
		tell_state(w, i, item, was_gone ? gone : "present", was_gone ? "present" : gone);
}

static void tell_suspended(
	const struct lb_devwatch *w, uint32_t i, struct item *item, const char *text)
{
	struct lb_event ev = {.kind = LB_EV_SUSPENDED, .end_ns = LB_NEVER};

	if (!strcmp(text, "1")) {
		item->suspended = tell(w, i, ev);
	} else if (item->suspended) {
		atomic_store_explicit(&item->suspended->end_ns, w->now_ns, memory_order_release);
		item->suspended = NULL;
	}
}

/* What device-mapper says of ITEM, a path of the map at hand. */
static const char *map_text(const struct lb_devwatch *w, const struct item *item)
{
	if (!w->has_map)
		return item->text;
	for (uint32_t i = 0; i < w->map.n_paths && i < LB_DMSTAT_PATHS_MAX; i++)
		if (w->map.paths[i].dev == item->dev)
			return w->map.paths[i].is_active ? "active" : "failed";
	return gone;
}

/* What the file of ITEM says, into BUF or as it is. */
static const char *file_text(struct item *item, char *buf, size_t size)
{
	ssize_t n = item->fd < 0 ? -1 : pread(item->fd, buf, size - 1, 0);

	if (n > 0) {
		buf[n] = '\0';
		buf[strcspn(buf, "\n")] = '\0';
		return buf;
	}
	if (item->fd >= 0)
		close(item->fd);
	item->fd = -1;
	return gone;
}

/* Reads ITEM of LUN I anew, and tells what has changed. Returns whether it is there. */
static bool look_at(struct lb_devwatch *w, uint32_t i, struct item *item)
{
	char buf[sizeof(item->text)];
	const char *text =
		item->kind == DM_PATH ? map_text(w, item) : file_text(item, buf, sizeof(buf));

	if (strcmp(item->text, text)) {
		if (item->kind == SIZE)
			tell_size(w, i, item, text);
		else if (item->kind == SUSPENDED)
			tell_suspended(w, i, item, text);
		else
			tell_state(w, i, item, item->text, text);
		if (text != item->text)
			snprintf(item->text, sizeof(item->text), "%s", text);
	}
	return strcmp(item->text, gone) != 0;
}

/* Something of LUN I has gone or come: takes up what is there by now. */
static void renew(struct lb_devwatch *w, uint32_t i)
{
	struct facts *f = &w->luns[i], now = {0};

	collect_lun(w, i, &now);
	for (uint32_t k = 0; k < now.n; k++) {
		const struct item *item = &now.items[k];
		struct item *old = find(f, item->kind, item->name);

		if (old && old->fd >= 0) {
			close(item->fd);
			continue;
		}
		if (!old && (old = push(f, item->kind, item->name, item->dev, -1)))
			strcpy(old->text, gone);
		if (old) {
			old->fd = item->fd;
			old->dev = item->dev;
		}
	}
	free(now.items);
}

/* ---- the paths ---- */

static bool is_live(struct facts *f, const struct item *item)
{
	const struct item *state = find(f, STATE, item->name);
	bool runs = !state || !strcmp(state->text, "running") || !strcmp(state->text, "live");

	if (item->kind == DM_PATH)
		return runs && !strcmp(item->text, "active");
	return item->kind == STATE && item->name[0] && runs && !find(f, DM_PATH, item->name);
}

/* How many paths of LUN I are live, if it is one that has paths. */
static void count_live(struct lb_devwatch *w, uint32_t i)
{
	struct facts *f = &w->luns[i];
	struct lb_event ev = {.kind = LB_EV_PATHS, .n = f->n_live};

	if (!w->board->plan->luns[i]->n_paths)
		return;
	f->n_live = 0;
	for (uint32_t k = 0; k < f->n; k++)
		f->n_live += is_live(f, &f->items[k]);
	ev.m = f->n_live;
	if (ev.m != ev.n)
		tell(w, i, ev);
}

/* ---- all of it ---- */

static void look_at_lun(struct lb_devwatch *w, uint32_t i)
{
	const struct lb_lun *lun = w->board->plan->luns[i];
	struct facts *f = &w->luns[i];
	bool has_all = true;
	uint32_t n_paths = 0;

	w->has_map =
		!strcmp(lun->dm_type, "mpath") && !lb_dmstat_multipath(w->dm, lun->dev, &w->map);
	if (!w->has_map)
		w->map.n_paths = 0;
	if (!w->has_looked)
		collect_lun(w, i, f);
	for (uint32_t k = 0; k < f->n; k++) {
		bool is_there = look_at(w, i, &f->items[k]);

		has_all &= is_there;
		n_paths += is_there && f->items[k].kind == DM_PATH;
	}
	if (!has_all || (w->has_map && n_paths != w->map.n_paths)) {
		renew(w, i);
		for (uint32_t k = 0; k < f->n; k++)
			look_at(w, i, &f->items[k]);
	}
	count_live(w, i);
}

int lb_devwatch_make(struct lb_devwatch **w, struct lb_board *board, int sysfs, int dm)
{
	*w = calloc(1, sizeof(**w) + board->plan->n_luns * sizeof((*w)->luns[0]));
	if (!*w)
		return -ENOMEM;
	(*w)->board = board;
	(*w)->sysfs = sysfs;
	(*w)->dm = dm;
	return 0;
}

void lb_devwatch_done(struct lb_devwatch *w)
{
	for (uint32_t i = 0; w && i < w->board->plan->n_luns; i++) {
		for (uint32_t k = 0; k < w->luns[i].n; k++)
			if (w->luns[i].items[k].fd >= 0)
				close(w->luns[i].items[k].fd);
		free(w->luns[i].items);
	}
	free(w);
}

void lb_devwatch_look(struct lb_devwatch *w, uint64_t now_ns)
{
	w->now_ns = now_ns;
	for (uint32_t i = 0; i < w->board->plan->n_luns; i++)
		look_at_lun(w, i);
	w->has_looked = true;
}

uint32_t lb_devwatch_n(const struct lb_devwatch *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->board->plan->n_luns; i++)
		n += w->luns[i].n;
	return n;
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * LB_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static void *watch_main(void *arg)
{
	struct lb_devwatch *w = arg;

	for (;;) {
		uint64_t at_ns = lb_now_ns(), cost_ns = cpu_ns(), pause_ns = LOOK_NS;
		struct timespec ts;

		lb_devwatch_look(w, at_ns);
		if (!lb_devwatch_n(w))
			return NULL; /* files have nothing to tell */
		cost_ns = cpu_ns() - cost_ns;
		if (pause_ns < cost_ns * COST_MAX)
			pause_ns = cost_ns * COST_MAX;
		ts.tv_sec = (time_t)(pause_ns / LB_NSEC_PER_SEC);
		ts.tv_nsec = (long)(pause_ns % LB_NSEC_PER_SEC);
		nanosleep(&ts, NULL);
	}
}

void lb_devwatch_start(struct lb_board *board)
{
	struct lb_devwatch *w;
	pthread_t id;

	if (lb_devwatch_make(&w, board, lb_sysfs_open(), lb_dmstat_open()))
		return;
	if (pthread_create(&id, NULL, watch_main, w) == 0)
		pthread_detach(id);
}
