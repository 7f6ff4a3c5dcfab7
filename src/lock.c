#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

#define RETRY_NS (1 * LB_NSEC_PER_SEC) /* udev holds its lock while its rules run */
#define STEP_NS  (20 * LB_NSEC_PER_MSEC)

/* Of one line of /proc/locks. */
struct holder {
	uint64_t dev, ino;
	int pid;
	bool is_exclusive;
};

static int lock_fd(const struct lb_lock *lock, uint32_t i)
{
	return lock->locked[i].fd >= 0 ? lock->locked[i].fd : lock->luns[i]->fd;
}

/* A device may have several nodes: the one whose lock counts is the kernel's own. */
static void find_node(struct lb_lock *lock, uint32_t i)
{
	const struct lb_lun *lun = lock->luns[i];
	struct lb_locked *l = &lock->locked[i];
	struct stat own = {0}, st;
	char path[80];

	fstat(lun->fd, &own);
	snprintf(path, sizeof(path), "/dev/%s", lun->kernel_name);
	if (lun->kind == LB_LUN_BLOCK && lun->kernel_name[0] && !stat(path, &st) &&
		S_ISBLK(st.st_mode) && st.st_rdev == lun->dev &&
		(st.st_dev != own.st_dev || st.st_ino != own.st_ino)) {
		l->fd = open(path, O_RDONLY | O_CLOEXEC);
		if (l->fd >= 0)
			fstat(l->fd, &own);
	}
	l->dev = own.st_dev;
	l->ino = own.st_ino;
}

static int by_inode(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	return (x->ino > y->ino) - (x->ino < y->ino);
}

/* Every flock(2) of this host that has a process here, by inode. NULL: none, or no memory. */
static struct holder *read_holders(size_t *n)
{
	FILE *f = fopen("/proc/locks", "re");
	struct holder *all = NULL, *more;
	unsigned int major_no, minor_no;
	size_t room = 0;
	char line[256], mode[16];

	*n = 0;
	while (f && fgets(line, sizeof(line), f)) {
		struct holder h;

		/* proc_locks(5): "1: FLOCK  ADVISORY  READ 1234 00:05:321 0 EOF" */
		if (sscanf(line, "%*d: FLOCK %*s %15s %d %x:%x:%" SCNu64, mode, &h.pid, &major_no,
			    &minor_no, &h.ino) != 5)
			continue;
		h.dev = makedev(major_no, minor_no);
		h.is_exclusive = !strcmp(mode, "WRITE");
		if (*n == room) {
			more = reallocarray(all, room = room ? 2 * room : 64, sizeof(*all));
			if (!more)
				break;
			all = more;
		}
		all[(*n)++] = h;
	}
	if (f)
		fclose(f);
	if (all)
		qsort(all, *n, sizeof(*all), by_inode);
	return all;
}

static void name_of(int pid, char name[32])
{
	char path[48];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (!f || !fgets(name, 32, f))
		strcpy(name, "?");
	name[strcspn(name, "\n")] = '\0';
	if (f)
		fclose(f);
}

/*
 * Who else holds LOCKED. What stat() calls the device of a file and what the kernel's list calls it
 * is not one thing on btrfs, so our own line is as good as that.
 */
static const struct holder *other_holder(
	const struct lb_locked *l, const struct holder *all, size_t n)
{
	struct holder key = {.ino = l->ino};
	const struct holder *h = n ? bsearch(&key, all, n, sizeof(*all), by_inode) : NULL;
	const struct holder *first = h, *other = NULL;
	uint64_t dev = l->dev;

	while (first && first > all && first[-1].ino == l->ino)
		first--;
	for (h = first; h && h < all + n && h->ino == l->ino; h++)
		if (h->pid == getpid() && h->dev == l->dev)
			break;
		else if (h->pid == getpid())
			dev = h->dev;
	for (h = first; h && h < all + n && h->ino == l->ino; h++)
		if (h->pid != getpid() && (h->dev == dev || h->dev == l->dev))
			other = h;
	return other;
}

/* Tries those that are still WANTED; how many remain. */
static uint32_t try_all(const struct lb_lock *lock, bool *wanted, int how)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < lock->n; i++) {
		if (wanted[i])
			wanted[i] = flock(lock_fd(lock, i), how | LOCK_NB) && errno == EWOULDBLOCK;
		left += wanted[i];
	}
	return left;
}

static void refuse(const struct lb_lock *lock, uint32_t i, const struct holder *all, size_t n)
{
	const struct holder *h = other_holder(&lock->locked[i], all, n);
	struct lb_lun *lun = lock->luns[i];
	char name[32] = "?";

	lun->fate = LB_FATE_REFUSED;
	lun->refusal = LB_ST_USAGE;
	if (h)
		name_of(h->pid, name);
	if (!h)
		snprintf(lun->why, sizeof(lun->why), "in use: another process has locked it");
	else if (!strcmp(name, "lunbench"))
		snprintf(lun->why, sizeof(lun->why),
			"in use: another lunbench run (pid %d) is on it", h->pid);
	else
		snprintf(lun->why, sizeof(lun->why), "in use: %s (pid %d) has locked it", name,
			h->pid);
}

int lb_lock_take(struct lb_lock *lock, struct lb_lun **luns, uint32_t n, bool for_writing,
	struct lb_err *err)
{
	const struct timespec step = {.tv_nsec = (long)STEP_NS};
	uint64_t end = lb_now_ns() + RETRY_NS;
	bool *wanted = malloc(n + 1);
	struct holder *all;
	size_t n_all;

	*lock = (struct lb_lock){
		.luns = luns, .n = n, .locked = calloc(n + 1, sizeof(*lock->locked))};
	if (!lock->locked || !wanted) {
		free(wanted);
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "out of memory");
	}
	for (uint32_t i = 0; i < n; i++) {
		lock->locked[i].fd = -1;
		find_node(lock, i);
		wanted[i] = luns[i]->kind != LB_LUN_SCRATCH; /* nobody else can have those */
	}
	while (try_all(lock, wanted, for_writing ? LOCK_EX : LOCK_SH) && lb_now_ns() < end)
		nanosleep(&step, NULL);
	all = for_writing ? read_holders(&n_all) : NULL;
	for (uint32_t i = 0; for_writing && i < n; i++)
		if (wanted[i])
			refuse(lock, i, all, all ? n_all : 0);
	free(all);
	free(wanted);
	return 0;
}

void lb_lock_look(struct lb_lock *lock, struct lb_findings *f)
{
	size_t n;
	struct holder *all = read_holders(&n);
	char name[32];

	for (uint32_t i = 0; all && i < lock->n; i++) {
		struct lb_locked *l = &lock->locked[i];
		const struct holder *h = l->is_told ? NULL : other_holder(l, all, n);

		if (!h)
			continue;
		name_of(h->pid, name);
		if (strcmp(name, "lunbench")) /* udev and its like come and go */
			continue;
		l->is_told = true;
		lb_findings_add(f, LB_DISTORTS, (int)i, "shared-lun",
			"another lunbench run (pid %d) %s it at the same time: the figures are of a LUN "
			"that is shared",
			h->pid, h->is_exclusive ? "writes" : "reads");
	}
	free(all);
}

void lb_lock_done(struct lb_lock *lock)
{
	for (uint32_t i = 0; lock->locked && i < lock->n; i++)
		if (lock->locked[i].fd >= 0)
			close(lock->locked[i].fd);
	free(lock->locked);
	*lock = (struct lb_lock){0};
}
