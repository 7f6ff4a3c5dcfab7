#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "guard_data.h"
#include "guard_scan.h"
#include "guard_use.h"
#include "identity.h"
#include "units.h"

#define LOOKS   5                /* at most, while only processes have LUNs open, */
#define WAIT_NS (200 * 1000000L) /* so far apart: udev's helpers read new devices for a moment */

static bool is_judged(const struct lb_lun *lun)
{
	return lun->fd >= 0 && lun->fate != LB_FATE_REFUSED && lun->fate != LB_FATE_PASSED_OVER;
}

static void refuse(struct lb_verdict *v, const char *what)
{
	*v = (struct lb_verdict){.may_write = false};
	snprintf(v->what, sizeof(v->what), "%s", what);
}

/* ---- --overwrite */

static bool is_named(const struct lb_lun *luns, size_t n, const struct lb_lun *lun, const char *id)
{
	size_t named = 0;

	if (!lb_wwid_matches(lun, id))
		return false;
	/* an ID that several LUNs have does not say which of them is meant */
	for (size_t i = 0; i < n; i++)
		named += is_judged(&luns[i]) && lb_wwid_matches(&luns[i], id);
	return named == 1;
}

static bool may_overwrite(const struct lb_lun *luns, size_t n, const struct lb_lun *lun,
	const char *const *overwrite, size_t n_overwrite)
{
	for (size_t i = 0; i < n_overwrite; i++) {
		if (is_named(luns, n, lun, overwrite[i]))
			return true;
	}
	return false;
}

bool lb_guard_names_any(const struct lb_lun *luns, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++) {
		if (luns[i].kind != LB_LUN_SCRATCH && lb_wwid_matches(&luns[i], id))
			return true;
	}
	return false;
}

/* ---- one LUN */

static void judge_data(const struct lb_lun *lun, const struct lb_found *found, bool is_overwritten,
	struct lb_verdict *v)
{
	char id[sizeof(v->say) - 32];

	if (!found->is_something) {
		v->may_write = true;
		snprintf(v->what, sizeof(v->what), "%s",
			found->is_ours ? "lunbench's own data" : "nothing found on it");
	} else if (is_overwritten) {
		v->may_write = true;
		snprintf(v->what, sizeof(v->what), "%s", found->what);
	} else {
		v->can_override = true;
		snprintf(v->what, sizeof(v->what), "%s", found->what);
		lb_printable(id, sizeof(id), lun->wwid[0] ? lun->wwid : lun->name);
		/* some vendors' IDs have blanks */
		snprintf(v->say, sizeof(v->say),
			strchr(id, ' ') ? "--overwrite '%s'" : "--overwrite %s", id);
	}
}

/* FD: through which its data is looked at. */
static void judge(const struct lb_lun *lun, int fd, const struct lb_use *use, bool is_overwritten,
	struct lb_verdict *v)
{
	struct lb_found found;

	*v = (struct lb_verdict){.may_write = false};
	if (use->is_hung) {
		snprintf(v->what, sizeof(v->what), "%s", use->what);
		snprintf(v->say, sizeof(v->say), "%s", use->say);
		return;
	}
	lb_guard_data(lun, fd, &found);
	if (!use->in_use) {
		judge_data(lun, &found, is_overwritten, v);
		return;
	}
	/* what uses it must be read, whatever is on it */
	snprintf(v->what, sizeof(v->what), "%.*s%s%s",
		(int)(sizeof(v->what) - sizeof(use->what) - 8), found.what,
		found.what[0] ? ", " : "", use->what);
	snprintf(v->say, sizeof(v->say), "%s", use->say);
}

void lb_guard_look(const struct lb_lun *lun, const struct lb_use *use, struct lb_verdict *verdict)
{
	judge(lun, lun->fd, use, false, verdict);
}

/* ---- the set */

struct set {
	const struct lb_lun *luns;
	size_t n;
	const char *const *overwrite;
	size_t n_overwrite;
	struct lb_verdict *verdicts;
	struct lb_use *uses;
	int *fds; /* for writing, once open; else -1 */
};

static int set_init(struct set *s, const struct lb_lun *luns, size_t n,
	const char *const *overwrite, size_t n_overwrite, struct lb_verdict *verdicts)
{
	*s = (struct set){.luns = luns,
		.n = n,
		.overwrite = overwrite,
		.n_overwrite = n_overwrite,
		.verdicts = verdicts};
	s->uses = calloc(s->n + 1, sizeof(*s->uses));
	s->fds = calloc(s->n + 1, sizeof(*s->fds));
	for (size_t i = 0; s->fds && i < s->n; i++)
		s->fds[i] = -1;
	for (size_t i = 0; i < s->n; i++)
		refuse(&s->verdicts[i], "no memory to look at it");
	return s->uses && s->fds ? 0 : -ENOMEM;
}

static void set_done(struct set *s)
{
	for (size_t i = 0; s->fds && i < s->n; i++) {
		if (s->fds[i] >= 0)
			close(s->fds[i]);
	}
	free(s->fds);
	free(s->uses);
}

/* Returns whether another look may tell otherwise. */
static bool look_at_use(struct set *s, bool is_ours)
{
	struct lb_scan scan;
	bool may_pass = false;

	lb_scan_make(&scan, s->luns, s->n);
	for (size_t i = 0; i < s->n; i++) {
		s->uses[i] = (struct lb_use){.in_use = false};
		if (!is_judged(&s->luns[i]) || s->luns[i].kind == LB_LUN_SCRATCH)
			continue;
		lb_guard_use(&scan, &s->luns[i], is_ours, &s->uses[i]);
		may_pass |= s->uses[i].may_pass;
	}
	lb_scan_done(&scan);
	return may_pass;
}

/* Returns how many are refused. */
static size_t judge_all(struct set *s, bool is_ours)
{
	size_t refused = 0;

	for (int look = 1; look_at_use(s, is_ours) && look < LOOKS; look++)
		nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
	for (size_t i = 0; i < s->n; i++) {
		const struct lb_lun *lun = &s->luns[i];
		struct lb_verdict *v = &s->verdicts[i];

		if (lun->kind == LB_LUN_SCRATCH) {
			*v = (struct lb_verdict){.may_write = true, .what = "a scratch file"};
		} else if (!is_judged(lun)) {
			refuse(v, lun->why[0] ? lun->why : "not open");
			continue; /* not ours to count */
		} else {
			judge(lun, is_ours ? s->fds[i] : lun->fd, &s->uses[i],
				may_overwrite(s->luns, s->n, lun, s->overwrite, s->n_overwrite), v);
		}
		refused += !v->may_write;
	}
	return refused;
}

size_t lb_guard_examine(const struct lb_lun *luns, size_t n, const char *const *overwrite,
	size_t n_overwrite, struct lb_verdict *verdicts)
{
	struct set s;
	int rc = set_init(&s, luns, n, overwrite, n_overwrite, verdicts);
	size_t refused = rc ? n : judge_all(&s, false);

	set_done(&s);
	return refused;
}

/* ---- opening */

/* The inode that LUN has open, whatever its name means by now. */
static int open_to_write(const struct lb_lun *lun, struct lb_verdict *v)
{
	int flags = O_RDWR | O_DIRECT | O_CLOEXEC | (lun->kind == LB_LUN_BLOCK ? O_EXCL : 0), fd;
	char path[64], why[256];
	struct stat was, is;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", lun->fd);
	fd = open(path, flags);
	if (fd < 0) {
		snprintf(why, sizeof(why), "%s: %s",
			errno == EBUSY ? "has come into use" : "cannot be opened for writing",
			strerror(errno));
		refuse(v, why);
		return -1;
	}
	if (fstat(lun->fd, &was) || fstat(fd, &is) || was.st_dev != is.st_dev ||
		was.st_ino != is.st_ino || was.st_rdev != is.st_rdev) {
		refuse(v, "opened for writing it is another device");
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * Stops at the first that fails: a descriptor for writing that is closed again makes udev look at
 * the device, so none is opened in vain.
 */
static size_t open_all(struct set *s)
{
	for (size_t i = 0; i < s->n; i++) {
		if (!is_judged(&s->luns[i]))
			continue;
		s->fds[i] = open_to_write(&s->luns[i], &s->verdicts[i]);
		if (s->fds[i] < 0)
			return 1;
	}
	return 0;
}

size_t lb_guard_open(struct lb_lun *luns, size_t n, const char *const *overwrite,
	size_t n_overwrite, struct lb_verdict *verdicts)
{
	struct set s;
	int rc = set_init(&s, luns, n, overwrite, n_overwrite, verdicts);
	size_t refused = rc ? n : judge_all(&s, false);

	if (!refused)
		refused = open_all(&s);
	/* again, now that nobody can claim one any more */
	if (!refused)
		refused = judge_all(&s, true);
	for (size_t i = 0; !refused && i < n; i++) {
		if (s.fds[i] < 0)
			continue;
		close(luns[i].fd);
		luns[i].fd = s.fds[i];
		s.fds[i] = -1;
	}
	set_done(&s);
	return refused;
}

/* ---- in words */

void lb_guard_refuse(
	struct lb_lun *luns, size_t n, const struct lb_verdict *verdicts, char summary[512])
{
	size_t refused = 0, with_data = 0;

	for (size_t i = 0; i < n; i++) {
		const struct lb_verdict *v = &verdicts[i];
		struct lb_lun *lun = &luns[i];
		char tail[sizeof(v->say) + 32] = "";

		if (!is_judged(lun) || v->may_write)
			continue;
		refused++;
		with_data += v->can_override;
		if (v->can_override)
			snprintf(tail, sizeof(tail), "; if all of it may be lost: %s", v->say);
		else if (v->say[0])
			snprintf(tail, sizeof(tail), "; first: %s", v->say);
		lun->fate = LB_FATE_REFUSED;
		lun->refusal = LB_ST_USAGE;
		snprintf(lun->why, sizeof(lun->why), "not written to: %.*s%s",
			(int)(sizeof(lun->why) - sizeof("not written to: ") - strlen(tail)),
			v->what, tail);
	}
	snprintf(summary, 512,
		"nothing was written: %zu of %zu LUNs refused, %zu with data on them (--overwrite for "
		"each that may be lost), %zu in use (no option overrides that)",
		refused, n, with_data, refused - with_data);
}
