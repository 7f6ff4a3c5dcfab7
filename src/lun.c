#include "lun.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "direct.h"
#include "engine.h"
#include "region.h"
#include "relate.h"
#include "scratch.h"
#include "stack.h"
#include "sysfs.h"
#include "units.h"

#define MAPPER      "/dev/mapper/"
#define OTHER_FILES 32

void lb_luns_init(struct lb_lun *luns, const struct lb_config *cfg)
{
	size_t n = cfg->n_targets + cfg->scratch.count;

	for (size_t i = 0; i < n; i++) {
		struct lb_lun *lun = &luns[i];
		bool is_scratch = i >= cfg->n_targets;

		*lun = (struct lb_lun){.kind = is_scratch ? LB_LUN_SCRATCH : LB_LUN_BLOCK,
			.fd = -1,
			.queue_depth = LB_LUN_UNKNOWN,
			.nr_requests = LB_LUN_UNKNOWN,
			.max_io_bytes = LB_LUN_UNKNOWN,
			.rotational = LB_LUN_UNKNOWN,
			.optimal_io_bytes = LB_LUN_UNKNOWN,
			.read_only = LB_LUN_UNKNOWN};
		lun->name = is_scratch ? lun->scratch_name : cfg->targets[i];
		if (is_scratch)
			snprintf(lun->scratch_name, sizeof(lun->scratch_name), "scratch%u",
				(unsigned int)(i - cfg->n_targets));
	}
}

void lb_lun_refuse(struct lb_lun *lun, enum lb_status status, const char *fmt, ...)
{
	va_list ap;

	lun->fate = LB_FATE_REFUSED;
	lun->refusal = status;
	va_start(ap, fmt);
	vsnprintf(lun->why, sizeof(lun->why), fmt, ap);
	va_end(ap);
}

/* Of a local group; the name services of the network may hang, so they are not asked. */
static void group_name(gid_t gid, char *buf, size_t n)
{
	FILE *f = fopen("/etc/group", "re");
	struct group one, *g;
	char line[16384];

	snprintf(buf, n, "%u", gid);
	while (f && !fgetgrent_r(f, &one, line, sizeof(line), &g)) {
		if (g->gr_gid == gid) {
			snprintf(buf, n, "%s", g->gr_name);
			break;
		}
	}
	if (f)
		fclose(f);
}

/* ST: of the target, or NULL when it is a directory on the way that is closed. */
static void refuse_rights(struct lb_lun *lun, int errnum, const struct stat *st)
{
	char group[64];

	if (errnum == EPERM)
		lb_lun_refuse(lun, LB_ST_UNAVAILABLE,
			"not permitted: a container's device rules (cgroup) may forbid it");
	else if (geteuid() == 0)
		lb_lun_refuse(lun, LB_ST_UNAVAILABLE,
			"no right to read it, not even as root: its file system may be mounted "
			"nodev");
	else if (st && (st->st_mode & S_IRGRP)) {
		group_name(st->st_gid, group, sizeof(group));
		lb_lun_refuse(lun, LB_ST_UNAVAILABLE,
			"no right to read it: root could, or a member of the group %s", group);
	} else {
		lb_lun_refuse(lun, LB_ST_UNAVAILABLE, "no right to read it: root could");
	}
}

/* It could not be opened, for ERRNUM. */
static void refuse_open(struct lb_lun *lun, int errnum, const struct stat *st)
{
	switch (errnum) {
	case ENOENT:
	case ENOTDIR:
	case ENXIO:
	case ENODEV:
		lb_lun_refuse(lun, LB_ST_UNAVAILABLE, "no such device");
		break;
	case ENOMEDIUM:
		lb_lun_refuse(lun, LB_ST_UNAVAILABLE, "no medium");
		break;
	case EACCES:
	case EPERM:
		refuse_rights(lun, errnum, st);
		break;
	default:
		if (errnum == EINVAL && lun->kind == LB_LUN_FILE)
			lb_lun_refuse(lun, LB_ST_USAGE,
				"its file system has no O_DIRECT: figures would be memory's");
		else
			lb_lun_refuse(
				lun, LB_ST_UNAVAILABLE, "cannot be opened: %s", strerror(errnum));
	}
}

static bool is_in_mapper(const char *path)
{
	char *real;
	bool is;

	if (!strncmp(path, MAPPER, strlen(MAPPER)))
		return true;
	real = realpath(path, NULL);
	is = real && !strncmp(real, MAPPER, strlen(MAPPER));
	free(real);
	return is;
}

/* Neither a block device nor a file. */
static void settle_other(struct lb_lun *lun, mode_t mode)
{
	const char *what = "something else";

	if (S_ISCHR(mode) && is_in_mapper(lun->name)) {
		lun->fate = LB_FATE_PASSED_OVER;
		snprintf(lun->why, sizeof(lun->why),
			"a character device of device-mapper's own, no LUN");
		return;
	}
	if (S_ISDIR(mode))
		what = "a directory";
	else if (S_ISCHR(mode))
		what = "a character device";
	else if (S_ISFIFO(mode))
		what = "a FIFO";
	else if (S_ISSOCK(mode))
		what = "a socket";
	lb_lun_refuse(lun, LB_ST_USAGE, "%s, not a block device or a file", what);
}

/* What the shell opened is not open here, and its number may be something of ours. */
static bool is_descriptor(const char *name)
{
	static const char *const dirs[] = {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"};
	static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (!strncmp(name, dirs[i], strlen(dirs[i])) || !strcmp(name, names[i]))
			return true;
	return false;
}

int lb_lun_look(struct lb_lun *lun)
{
	bool is_fd = is_descriptor(lun->name);
	int named = is_fd ? -1 : open(lun->name, O_PATH | O_CLOEXEC), errnum = errno;
	struct stat st;

	if (is_fd)
		lb_lun_refuse(lun, LB_ST_USAGE,
			"a descriptor of the shell is not passed on: give the device itself");
	else if (named < 0 || fstat(named, &st)) {
		refuse_open(lun, named < 0 ? errnum : errno, NULL);
	} else if (S_ISBLK(st.st_mode) || S_ISREG(st.st_mode)) {
		lun->kind = S_ISBLK(st.st_mode) ? LB_LUN_BLOCK : LB_LUN_FILE;
		lun->dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
		lun->ino = st.st_ino;
		lun->size_bytes = (uint64_t)st.st_size;
		return named;
	} else {
		settle_other(lun, st.st_mode);
	}
	if (named >= 0)
		close(named);
	return -1;
}

/*
 * Opens it for reading, by a descriptor that only names it: what is no LUN is never opened at all
 * (a FIFO would hang, a tape rewind). False: its fate is settled.
 */
static bool open_fd(struct lb_lun *lun)
{
	int named = lb_lun_look(lun);
	char path[64];
	struct stat st;

	if (named < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", named);
	lun->fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (lun->fd < 0 && errno == ENOENT && access("/proc/self/fd", F_OK)) {
		lb_lun_refuse(lun, LB_ST_UNAVAILABLE,
			"cannot be opened without /proc: mount -t proc proc /proc");
	} else if (lun->fd < 0) {
		int errnum = errno;

		refuse_open(lun, errnum, fstat(named, &st) ? NULL : &st);
	} else { /* reads leave no trace; only its owner may ask for that */
		fcntl(lun->fd, F_SETFL, O_DIRECT | O_NOATIME);
	}
	close(named);
	return lun->fd >= 0;
}

/* Size and blocks. False: its fate is settled. */
static bool measure(struct lb_lun *lun)
{
	int logical = 512;
	unsigned int physical = 512;
	struct lb_err err;

	if (lun->kind == LB_LUN_BLOCK) {
		if (ioctl(lun->fd, BLKGETSIZE64, &lun->size_bytes) ||
			ioctl(lun->fd, BLKSSZGET, &logical) ||
			ioctl(lun->fd, BLKPBSZGET, &physical)) {
			lb_lun_refuse(lun, LB_ST_UNAVAILABLE, "does not tell its size: %s",
				strerror(errno));
			return false;
		}
		lun->logical_block = (uint32_t)logical;
		lun->physical_block = physical;
	}
	if (!lun->size_bytes) {
		lb_lun_refuse(lun, LB_ST_UNAVAILABLE, "its size is 0");
		return false;
	}
	if (lun->kind != LB_LUN_BLOCK) {
		if (lb_direct_align(lun->fd, &lun->logical_block, &err)) {
			lb_lun_refuse(lun, err.status, "%s", err.text);
			return false;
		}
		lun->physical_block = lun->logical_block;
	}
	return true;
}

bool lb_lun_open(struct lb_lun *lun)
{
	return open_fd(lun) && measure(lun);
}

static void settle_target(
	struct lb_lun *lun, const struct lb_config *cfg, struct lb_stack *stack, uint32_t index)
{
	char suspended[128] = "";
	struct lb_err err;

	if (!open_fd(lun))
		return;
	if (lun->kind == LB_LUN_BLOCK) {
		lb_sysfs_describe(stack->sysfs, lun, suspended);
		lb_stack_describe(stack, lun, index);
	}
	if (!measure(lun))
		return;
	if (suspended[0])
		lb_lun_refuse(lun, LB_ST_UNAVAILABLE, "%s is suspended: dmsetup resume %s",
			suspended, suspended);
	else if (lb_region_fit(lun, cfg, &err))
		lb_lun_refuse(lun, err.status, "%s", err.text);
	else
		lun->fate = LB_FATE_USED;
}

/* At most so many of them have a queue, which is an open file; see lb_plan_make(). */
static size_t count_workers(const struct lb_config *cfg, size_t n)
{
	size_t lanes = n * (cfg->threads_per_lun ? cfg->threads_per_lun : 1);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (cfg->workers)
		return cfg->workers;
	return cpus > 0 && (size_t)cpus < lanes ? (size_t)cpus : lanes;
}

/*
 * A descriptor for each LUN (two while the guard opens it for writing) and each worker, and room
 * for what else is open, mostly for a moment.
 */
static int raise_open_files(const struct lb_config *cfg, size_t n, struct lb_err *err)
{
	size_t workers = count_workers(cfg, n);
	rlim_t need = n * (lb_config_writes(cfg) ? 2 : 1) + workers + OTHER_FILES;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need)
		return 0;
	if (limit.rlim_max < need)
		return lb_fail(err, LB_ST_UNAVAILABLE, EMFILE,
			"%zu LUN%s and %zu worker%s need %ju open files, the limit (ulimit -n) is %ju",
			n, n == 1 ? "" : "s", workers, workers == 1 ? "" : "s", (uintmax_t)need,
			(uintmax_t)limit.rlim_max);
	limit.rlim_cur = need;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return lb_fail(err, LB_ST_UNAVAILABLE, errno,
			"raising the limit of open files (ulimit -n) to %ju: %s", (uintmax_t)need,
			strerror(errno));
	return 0;
}

/* A file for each scratch LUN, still to be filled; all have one fate, so its fault is ERR's. */
static int create_scratch(struct lb_lun *luns, const struct lb_config *cfg, struct lb_err *err)
{
	struct lb_err why;
	int rc = lb_scratch_check(&cfg->scratch, err);

	for (uint32_t i = 0; !rc && i < cfg->scratch.count; i++) {
		struct lb_lun *lun = &luns[i];
		struct stat st;

		lun->fd = lb_scratch_create(&cfg->scratch, err);
		if (lun->fd < 0)
			return lun->fd;
		if (!fstat(lun->fd, &st)) {
			lun->dev = st.st_dev;
			lun->ino = st.st_ino;
		}
		lun->size_bytes = cfg->scratch.size_bytes;
		rc = lb_direct_align(lun->fd, &lun->logical_block, &why);
		lun->physical_block = lun->logical_block;
		if (!rc)
			rc = lb_region_fit(lun, cfg, &why);
		if (rc)
			lb_fail(err, why.status, 0, "--scratch: %s: %.900s", cfg->scratch.dir,
				why.text);
	}
	return rc;
}

static int fill_scratch(struct lb_lun *lun, const struct lb_config *cfg,
	_Atomic uint64_t *filled_bytes, struct lb_err *err)
{
	int rc = lb_scratch_fill(lun->fd, &cfg->scratch, filled_bytes, err);

	if (rc)
		return rc;
	lun->fd = lb_scratch_seal(lun->fd, err);
	if (lun->fd < 0)
		return lun->fd;
	lun->fate = LB_FATE_USED;
	return 0;
}

static bool wants_nowait(const struct lb_config *cfg)
{
	return cfg->engine == LB_ENGINE_AUTO ||
	       (lb_engines[cfg->engine - 1]->caps & LB_CAP_NEEDS_NOWAIT);
}

static void find_nowait(struct lb_lun *luns, uint32_t n, _Atomic uint32_t *at)
{
	struct lb_nowait *looks = calloc(n + 1, sizeof(*looks));
	uint32_t used = 0;
	bool found;

	for (uint32_t i = 0; looks && i < n; i++)
		if (luns[i].fate == LB_FATE_USED)
			looks[used++] = (struct lb_nowait){
				.fd = luns[i].fd, .align_bytes = luns[i].logical_block};
	found = looks && lb_direct_find_nowait(looks, used) == 0;
	used = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (luns[i].fate != LB_FATE_USED)
			continue;
		atomic_store(at, i);
		luns[i].has_nowait =
			found ? looks[used++].has
			      : lb_direct_has_nowait(luns[i].fd, luns[i].logical_block);
	}
	free(looks);
}

int lb_luns_open(struct lb_lun *luns, const struct lb_config *cfg, _Atomic uint32_t *at,
	_Atomic uint64_t *filled_bytes, struct lb_err *err)
{
	uint32_t n = (uint32_t)cfg->n_targets, total = n + cfg->scratch.count, i;
	int rc = raise_open_files(cfg, total, err);
	struct lb_stack stack;

	if (rc)
		return rc;
	lb_stack_init(&stack, lb_sysfs_open(), "/proc");
	for (i = 0; i < n; i++) {
		atomic_store(at, i);
		settle_target(&luns[i], cfg, &stack, i);
	}
	rc = lb_luns_relate(luns, n, &stack, lb_config_writes(cfg), err);
	if (stack.sysfs >= 0)
		close(stack.sysfs);
	lb_stack_done(&stack);
	if (!rc && cfg->scratch.count) {
		atomic_store(at, n);
		rc = create_scratch(luns + n, cfg, err);
	}
	for (i = 0; !rc && i < n; i++) {
		if (luns[i].fate == LB_FATE_REFUSED)
			return 0;
	}
	for (i = n; !rc && i < total; i++) {
		atomic_store(at, i);
		rc = fill_scratch(&luns[i], cfg, filled_bytes, err);
	}
	if (!rc && wants_nowait(cfg))
		find_nowait(luns, total, at);
	return rc;
}

void lb_luns_close(struct lb_lun *luns, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (luns[i].fd >= 0)
			close(luns[i].fd);
		luns[i].fd = -1;
	}
}
