#include "guard_use.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "guard_family.h"
#include "guard_sys.h"
#include "units.h"

/* Sets the use; what is known already stays. */
__attribute__((format(printf, 2, 3))) static void used(struct lb_use *use, const char *fmt, ...)
{
	char text[sizeof(use->what)];
	va_list ap;

	if (use->in_use)
		return;
	use->in_use = true;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	lb_printable(use->what, sizeof(use->what), text);
}

__attribute__((format(printf, 2, 3))) static void say(struct lb_use *use, const char *fmt, ...)
{
	char text[sizeof(use->say)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	lb_printable(use->say, sizeof(use->say), text);
}

/* ---- who uses one of them */

/* "", "its partition sda1 is ", "vg-lv on it is ", "sda below it is ". Returns BUF. */
static const char *subject(const struct lb_member *member, char *buf, size_t n)
{
	char name[128] = "the file";

	buf[0] = '\0';
	if (!member->id.ino)
		lb_guard_sys_name(member->id.dev, name, sizeof(name));
	if (member->role == LB_ROLE_PART)
		snprintf(buf, n, "its partition %.64s is ", name);
	else if (member->role != LB_ROLE_SELF)
		snprintf(buf, n, "%.64s %s it is ", name,
			member->role == LB_ROLE_ABOVE ? "on" : "below");
	return buf;
}

/*
 * Below it, a process that only reads does no harm: multipathd has every path open. On it, any
 * counts: ASM's instances hold nothing exclusively.
 */
static bool counts(const struct lb_member *member, const struct lb_user *u)
{
	return u->kind != LB_USER_PROCESS || member->role != LB_ROLE_BELOW || u->can_write;
}

static void word_use(
	struct lb_use *use, const struct lb_member *member, const struct lb_user *u, size_t n)
{
	char who[128], more[48] = "";

	subject(member, who, sizeof(who));
	if (n > 1)
		snprintf(more, sizeof(more), " (and %zu more such)", n - 1);
	switch (u->kind) {
	case LB_USER_MOUNT:
		if (u->pid) {
			used(use, "%smounted on %.100s in the mount namespace of process %d%s", who,
				u->name, (int)u->pid, more);
			say(use, "nsenter -t %d -m umount %.180s", (int)u->pid, u->name);
		} else {
			used(use, "%smounted on %.100s%s", who, u->name, more);
			say(use, "umount %.200s", u->name);
		}
		break;
	case LB_USER_SWAP:
		used(use, "%sswapped on", who);
		say(use, "swapoff %.200s", u->name);
		break;
	case LB_USER_EXPORT:
		used(use, "%sserved to other hosts by %.120s", who, u->name);
		say(use, "remove that export");
		break;
	default:
		used(use, "%sopen in process %d (%.32s)%s", who, (int)u->pid, u->name, more);
		say(use, "stop process %d (%.32s)", (int)u->pid, u->name);
		use->may_pass = true;
	}
}

/* Of the kinds FROM to TO, the worst first. */
static void find_users(const struct lb_family *f, int from, int to, struct lb_use *use)
{
	for (int kind = from; kind <= to && !use->in_use; kind++) {
		const struct lb_member *first_member = NULL;
		const struct lb_user *first = NULL;
		size_t n = 0;

		for (size_t i = 0; i < f->scan->n; i++) {
			const struct lb_user *u = &f->scan->users[i];
			const struct lb_member *member =
				(int)u->kind == kind ? lb_family_find(f, &u->id) : NULL;

			if (!member || !counts(member, u))
				continue;
			/* several descriptors of one process are one use, and a mount that
			 * other namespaces have as well is one */
			if (first && (kind == LB_USER_PROCESS ? first->pid == u->pid
							      : !strcmp(first->name, u->name)))
				continue;
			n++;
			if (!first) {
				first = u;
				first_member = member;
			}
		}
		if (first)
			word_use(use, first_member, first, n);
	}
}

/* ---- holders that nobody uses */

/* "vg-lv" of a logical volume's alias; its own dashes are doubled in there. */
static void volume_group(const char *alias, char *vg, size_t n)
{
	size_t k = 0;

	for (const char *c = alias; *c && k + 1 < n; c++) {
		if (c[0] == '-' && c[1] != '-')
			break;
		if (c[0] == '-')
			c++;
		vg[k++] = *c;
	}
	vg[k] = '\0';
}

static bool name_it(void *buf128, dev_t dev, const char *name)
{
	(void)name;
	lb_guard_sys_name(dev, (char *)buf128, 128);
	return true;
}

static void word_map(struct lb_use *use, dev_t dev, const char *name, const char *uuid)
{
	char vg[128], below[128] = "";

	if (!strncmp(uuid, "LVM-", 4)) {
		volume_group(name, vg, sizeof(vg));
		used(use, "held by the logical volume %.100s, which nothing uses", name);
		say(use, "vgchange -an %.100s", vg);
	} else if (!strncmp(uuid, "CRYPT-", 6)) {
		used(use, "held by the encrypted volume %.100s, which nothing uses", name);
		say(use, "cryptsetup close %.100s", name);
	} else if (!strncmp(uuid, "part", 4) && strstr(uuid, "-mpath-")) {
		used(use, "held by the partition map %.100s, which nothing uses", name);
		lb_guard_sys_links(dev, "slaves", name_it, below);
		say(use, "kpartx -d /dev/mapper/%.100s", below);
	} else {
		used(use, "held by the map %.100s, which nothing uses", name);
		say(use, "dmsetup remove %.100s", name);
	}
}

static void word_holder(struct lb_use *use, dev_t dev)
{
	char name[128], text[160];
	uint64_t v;

	if (lb_guard_sys_text(dev, "dm/name", name, sizeof(name))) {
		lb_guard_sys_text(dev, "dm/uuid", text, sizeof(text));
		word_map(use, dev, name, text);
		return;
	}
	lb_guard_sys_name(dev, name, sizeof(name));
	if (lb_guard_sys_text(dev, "md/array_state", text, sizeof(text))) {
		used(use, "a member of the md array %.100s", name);
		say(use, "mdadm --stop /dev/%.100s", name);
	} else if (lb_guard_sys_number(dev, "loop/offset", &v)) {
		used(use, "behind the loop device %.100s", name);
		say(use, "losetup -d /dev/%.100s", name);
	} else {
		used(use, "held by %.100s", name);
		say(use, "release %.100s", name);
	}
}

/* Paths are multipathd's, which has them open all the time: that is no use of its own. */
static void find_multipath(const struct lb_family *f, struct lb_use *use)
{
	char name[128], uuid[160];

	for (size_t i = 0; i < f->n && !use->in_use; i++) {
		const struct lb_member *member = &f->members[i];

		if (member->role != LB_ROLE_ABOVE || member->id.ino ||
			!lb_guard_sys_text(member->id.dev, "dm/uuid", uuid, sizeof(uuid)) ||
			strncmp(uuid, "mpath-", 6))
			continue;
		lb_guard_sys_name(member->id.dev, name, sizeof(name));
		used(use, "a path of the multipath map %.100s", name);
		say(use, "give /dev/mapper/%.100s in its place", name);
	}
}

/* The one that has to go first: the highest. A partition of a holder goes with it. */
static void find_holders(const struct lb_family *f, struct lb_use *use)
{
	const struct lb_member *top = NULL;

	for (size_t i = 0; i < f->n && !use->in_use; i++) {
		const struct lb_member *member = &f->members[i];

		if (member->role == LB_ROLE_ABOVE && !member->id.ino &&
			!lb_guard_sys_disk(member->id.dev) && (!top || member->depth > top->depth))
			top = member;
	}
	if (top)
		word_holder(use, top->id.dev);
}

/* ---- the LUN itself */

/* Any I/O to a suspended map waits until it is resumed, and so does all that lies on it. */
static void find_suspended(const struct lb_family *f, struct lb_use *use)
{
	char name[128];
	uint64_t v;

	for (size_t i = 0; i < f->n; i++) {
		const struct lb_member *member = &f->members[i];

		if ((member->role != LB_ROLE_SELF && member->role != LB_ROLE_BELOW) ||
			member->id.ino ||
			!lb_guard_sys_number(member->id.dev, "dm/suspended", &v) || !v)
			continue;
		lb_guard_sys_name(member->id.dev, name, sizeof(name));
		used(use, "%.100s is suspended, what is on it cannot be read", name);
		say(use, "dmsetup resume %.100s", name);
		use->is_hung = true;
		return;
	}
}

/*
 * What belongs to a volume and is none: a thin pool takes writes, past all maps that it has, when
 * nothing on it is active. LVM's IDs are of 64 characters; its own inner maps have a suffix there.
 */
static void find_innards(const struct lb_lun *lun, struct lb_use *use)
{
	bool is_lvms = !strncmp(lun->dm_uuid, "LVM-", 4) && strlen(lun->dm_uuid) > 4 + 64;

	if (use->in_use || (!is_lvms && strcmp(lun->dm_type, "thin-pool") != 0))
		return;
	used(use, "the inside of a logical volume or of a thin pool");
	say(use, "give the volume itself in its place");
}

static void find_read_only(const struct lb_lun *lun, struct lb_use *use)
{
	struct statvfs vfs;
	int ro = 0;

	if (use->in_use)
		return;
	if (lun->kind != LB_LUN_BLOCK) {
		if (fstatvfs(lun->fd, &vfs))
			used(use, "does not tell whether it is read-only: %s", strerror(errno));
		else if (vfs.f_flag & ST_RDONLY)
			used(use, "on a read-only file system");
	} else if (ioctl(lun->fd, BLKROGET, &ro)) {
		used(use, "does not tell whether it is read-only: %s", strerror(errno));
	} else if (ro) {
		used(use, "read-only");
		say(use, "write access on the array, then blockdev --setrw");
	}
}

/* Is it claimed by something that shows nowhere else? For reading: no udev takes notice of that. */
static void try_alone(const struct lb_lun *lun, struct lb_use *use)
{
	char path[64];
	int fd;

	if (lun->kind != LB_LUN_BLOCK || use->in_use)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", lun->fd);
	fd = open(path, O_RDONLY | O_EXCL | O_DIRECT | O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
	} else if (errno == EBUSY) {
		used(use, "claimed by the kernel for something that does not show: a file system "
			  "of several devices, ZFS, DRBD");
		say(use, "release it there");
	} else {
		used(use, "cannot be opened exclusively: %s", strerror(errno));
	}
}

void lb_guard_use(
	const struct lb_scan *scan, const struct lb_lun *lun, bool is_ours, struct lb_use *use)
{
	struct lb_family f;

	*use = (struct lb_use){.in_use = false};
	if (lun->kind == LB_LUN_BLOCK && !lb_guard_sys_knows(lun->dev)) {
		used(use, "sysfs does not know it, so it cannot be told who uses it");
		return;
	}
	lb_family_gather(&f, scan, lun);
	find_suspended(&f, use);
	find_users(&f, LB_USER_MOUNT, LB_USER_EXPORT, use);
	find_multipath(&f, use);
	find_users(&f, LB_USER_PROCESS, LB_USER_PROCESS, use);
	find_holders(&f, use);
	find_innards(lun, use);
	find_read_only(lun, use);
	if (scan->undecided[0])
		used(use, "%s", scan->undecided);
	if (f.is_cut)
		used(use, "sysfs does not tell all that lies on it");
	if (!is_ours)
		try_alone(lun, use);
	lb_family_done(&f);
}
