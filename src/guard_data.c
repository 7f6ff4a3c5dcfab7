#include "guard_data.h"

#include <blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data.h"
#include "guard_marks.h"
#include "guard_sys.h"
#include "units.h"

#define BLOCK      4096u
#define SECTOR     512u
#define PIECE      (16 * 1024u) /* looked at, in each of SAMPLES places */
#define SAMPLES    64
#define LABEL      (256 * 1024u)         /* of ZFS: two lie at each end, in whole ones of it, */
#define EDGE       (2 * (uint64_t)LABEL) /* so this is looked at there, */
#define EDGE_MAX   (EDGE + LABEL)        /* and what is left over at the end */
#define HEAD       (260 * 1024u)         /* where libblkid looks the most, */
#define AHEAD      (128 * 1024u)         /* and what is read at once for them */
#define ALIGN      (1024 * 1024u)        /* where databases begin what they write */
#define DEPTH_MAX  3                     /* of tables in partitions */
#define RANGES_MAX 512
#define PROBES_MAX 64

struct range {
	uint64_t start, size;
};

/* Something that is neither zeros nor lunbench's own. */
struct spot {
	int rc; /* 0 nothing, 1 there is, -errno it cannot be read, `at` being where it was tried */
	uint64_t at;
	bool is_boot; /* the boot mark in an otherwise unknown first sector: tools put it there */
};

struct look {
	struct lb_guard_reader reader;
	const struct lb_lun *lun;
	int buffered; /* O_DIRECT needs alignment that libblkid does not keep */
	struct lb_found *found;
	struct range seen[RANGES_MAX];
	unsigned int n_seen;
	bool is_full; /* words are cut */
	struct spot edge;
};

/* Adds to what was found, each thing once. WHERE: "" or "partition 1: ". */
__attribute__((format(printf, 3, 4))) static void add(
	struct look *l, const char *where, const char *fmt, ...)
{
	char text[320], clean[640];
	size_t len = strlen(l->found->what), n = sizeof(l->found->what);
	va_list ap;
	int k = snprintf(text, sizeof(text), "%s", where);

	va_start(ap, fmt);
	vsnprintf(text + k, sizeof(text) - (size_t)k, fmt, ap);
	va_end(ap);
	l->found->is_something = true;
	lb_printable(clean, sizeof(clean), text);
	if (l->is_full || strstr(l->found->what, clean))
		return;
	if (len + strlen(clean) + sizeof("; , ...") > n) {
		snprintf(l->found->what + len, n - len, "%s...", len ? ", " : "");
		l->is_full = true;
	} else {
		snprintf(l->found->what + len, n - len, "%s%s", len ? "; " : "", clean);
	}
}

/* ---- libblkid */

static const char *value(blkid_probe pr, const char *name)
{
	const char *data = "";

	if (blkid_probe_lookup_value(pr, name, &data, NULL))
		return "";
	return data;
}

static const char *name_of(const char *type, const char *usage, char *buf, size_t n)
{
	static const char *const names[][2] = {
		{"LVM2_member", "LVM2 physical volume"},
		{"LVM1_member", "LVM1 physical volume"},
		{"linux_raid_member", "md array member"},
		{"crypto_LUKS", "LUKS encrypted volume"},
		{"zfs_member", "ZFS pool member"},
		{"bcache", "bcache device"},
		{"swap", "swap area"},
		{"swsuspend", "hibernated system (swap)"},
		{"oracleasm", "Oracle ASM disk"},
		{"mpath_member", "multipath member"},
		{"drbd", "DRBD device"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(type, names[i][0]))
			return names[i][1];
	}
	snprintf(buf, n, "%s %s", type, !strcmp(usage, "filesystem") ? "file system" : "signature");
	return buf;
}

static void word_superblock(
	struct look *l, const struct range *r, const char *where, blkid_probe pr)
{
	const char *type = value(pr, "TYPE"), *label = value(pr, "LABEL"),
		   *uuid = value(pr, "UUID");
	char buf[96], vg[128] = "";

	if (!strcmp(type, "LVM2_member") &&
		lb_guard_volume_group(&l->reader, r->start, r->size, vg, sizeof(vg))) {
		add(l, where, "LVM2 physical volume of volume group %.100s", vg);
		return;
	}
	add(l, where, "%.90s%s%.64s%s%s%.64s", name_of(type, value(pr, "USAGE"), buf, sizeof(buf)),
		label[0] ? " \"" : "", label, label[0] ? "\"" : "", uuid[0] ? ", UUID " : "", uuid);
}

static void word_table(struct look *l, const char *where, blkid_probe pr)
{
	const char *type = value(pr, "PTTYPE");
	char name[64];

	if (!strcmp(type, "gpt"))
		snprintf(name, sizeof(name), "GPT partition table");
	else if (!strcmp(type, "dos"))
		snprintf(name, sizeof(name), "MBR partition table");
	else if (!strcmp(type, "PMBR"))
		snprintf(name, sizeof(name), "MBR that protects a GPT");
	else if (type[0])
		snprintf(name, sizeof(name), "%.32s partition table", type);
	else
		snprintf(name, sizeof(name), "something that libblkid knows");
	add(l, where, "%s", name);
}

/*
 * ZFS has no magic: for it libblkid reads a MiB, four times as much as for all the others. Its
 * labels lie in the edges, so where nothing is in these it is not asked for.
 */
static bool cannot_have_zfs(const struct look *l, const struct range *r)
{
	return !l->edge.rc && !r->start && r->size == l->lun->size_bytes;
}

static blkid_probe new_probe(const struct look *l, const struct range *r)
{
	char zfs[] = "zfs_member", *but[] = {zfs, NULL};
	blkid_probe pr = blkid_new_probe();

	if (!pr)
		return NULL;
	if (blkid_probe_set_device(
		    pr, l->buffered, (blkid_loff_t)r->start, (blkid_loff_t)r->size) ||
		blkid_probe_enable_superblocks(pr, 1) ||
		/* a damaged one is somebody's all the same */
		blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_DEFAULT | BLKID_SUBLKS_USAGE |
							      BLKID_SUBLKS_MAGIC |
							      BLKID_SUBLKS_BADCSUM) ||
		(cannot_have_zfs(l, r) &&
			blkid_probe_filter_superblocks_type(pr, BLKID_FLTR_NOTIN, but)) ||
		blkid_probe_enable_partitions(pr, 1) ||
		/* the backup at the end, too, where nothing is left at the start */
		blkid_probe_set_partitions_flags(pr, BLKID_PARTS_FORCE_GPT | BLKID_PARTS_MAGIC)) {
		blkid_free_probe(pr);
		return NULL;
	}
	return pr;
}

/* Every signature in R, not only the first, so that none can hide another. */
static void find_signatures(
	struct look *l, const struct range *r, const char *where, blkid_probe pr, bool has_asm)
{
	int rc, n = 0;

	while (errno = 0, (rc = blkid_do_probe(pr)) == 0 && n++ < PROBES_MAX) {
		if (has_asm && !strcmp(value(pr, "TYPE"), "oracleasm"))
			continue; /* it has its words */
		if (value(pr, "TYPE")[0])
			word_superblock(l, r, where, pr);
		else
			word_table(l, where, pr);
	}
	if (rc < 0)
		add(l, where, "cannot be probed for signatures: %s",
			errno ? strerror(errno) : "libblkid fails");
}

static void look_at(struct look *l, struct range r, const char *where, unsigned int depth);

static void look_at_partitions(struct look *l, const struct range *r, const char *where,
	blkid_probe pr, unsigned int depth)
{
	blkid_partlist list = blkid_probe_get_partitions(pr);
	int n = list ? blkid_partlist_numof_partitions(list) : 0;
	char name[96];

	for (int i = 0; i < n; i++) {
		blkid_partition p = blkid_partlist_get_partition(list, i);
		uint64_t start = (uint64_t)blkid_partition_get_start(p) * 512;
		uint64_t size = (uint64_t)blkid_partition_get_size(p) * 512;

		if (blkid_partition_is_extended(p) || start >= r->size)
			continue;
		if (size > r->size - start)
			size = r->size - start;
		snprintf(name, sizeof(name), "%.64spartition %d: ", where,
			blkid_partition_get_partno(p));
		look_at(l, (struct range){r->start + start, size}, name, depth + 1);
	}
}

/* All that has a mark, in R and in partitions of it. */
static void look_at(struct look *l, struct range r, const char *where, unsigned int depth)
{
	char asm_text[256];
	blkid_probe pr;
	int rc;

	for (unsigned int i = 0; i < l->n_seen; i++) {
		if (l->seen[i].start == r.start && l->seen[i].size == r.size)
			return;
	}
	if (!r.size)
		return;
	if (l->n_seen == RANGES_MAX || depth > DEPTH_MAX) {
		add(l, where, "more partitions than are looked at");
		return;
	}
	l->seen[l->n_seen++] = r;
	rc = lb_guard_asm(&l->reader, r.start, r.size, asm_text, sizeof(asm_text));
	if (rc > 0)
		add(l, where, "%s", asm_text);
	else if (rc < 0)
		add(l, where, "cannot be searched for Oracle ASM: %s", strerror(-rc));
	pr = new_probe(l, &r);
	if (!pr) {
		add(l, where, "cannot be probed for signatures");
		return;
	}
	find_signatures(l, &r, where, pr, rc > 0);
	look_at_partitions(l, &r, where, pr, depth);
	blkid_free_probe(pr);
}

/* Those that the kernel has: their table may be gone by now. */
static bool look_at_kernels(void *arg, dev_t dev, const char *name)
{
	struct look *l = (struct look *)arg;
	uint64_t start, size, n;
	char where[64];

	(void)name;
	if (!lb_guard_sys_number(dev, "start", &start) ||
		!lb_guard_sys_number(dev, "size", &size) ||
		!lb_guard_sys_number(dev, "partition", &n))
		return false;
	snprintf(where, sizeof(where), "partition %" PRIu64 ": ", n);
	if (start < l->lun->size_bytes / 512)
		look_at(l, (struct range){start * 512, size * 512}, where, 1);
	return true;
}

/* ---- what has no mark */

static bool is_zeros(const unsigned char *data, size_t n)
{
	return !n || (!data[0] && !memcmp(data, data + 1, n - 1));
}

static void word_spot(struct look *l, const struct spot *s)
{
	if (s->rc < 0)
		add(l, "", "cannot be read at byte %" PRIu64 ": %s", s->at, strerror(-s->rc));
	else if (s->rc && s->is_boot)
		add(l, "", "a boot sector (0xaa55) without partitions");
	else if (s->rc)
		add(l, "", "unknown data, at byte %" PRIu64, s->at);
}

/* The first in N bytes AT, or up to the end. */
static struct spot find_unknown(struct look *l, uint64_t at, uint64_t n)
{
	unsigned char *data;
	int rc;

	if (n > l->lun->size_bytes - at)
		n = l->lun->size_bytes - at;
	rc = lb_guard_read(&l->reader, at, (size_t)n, &data);
	if (rc)
		return (struct spot){.rc = rc, .at = at};
	if (is_zeros(data, (size_t)n))
		return (struct spot){.rc = 0};
	for (uint64_t k = 0; k < n; k += SECTOR) {
		size_t len = n - k < SECTOR ? (size_t)(n - k) : SECTOR;

		if (is_zeros(data + k, len))
			continue;
		if (len == SECTOR && lb_data_is_ours(data + k))
			l->found->is_ours = true;
		else
			return (struct spot){.rc = 1,
				.at = at + k,
				.is_boot = !(at + k) && len == SECTOR && data[510] == 0x55 &&
					   data[511] == 0xaa};
	}
	return (struct spot){.rc = 0};
}

/* Where the edge at the end begins. */
static uint64_t end_edge(uint64_t size)
{
	uint64_t whole = size / LABEL * LABEL;

	return whole > EDGE ? whole - EDGE : 0;
}

static void look_at_edges(struct look *l)
{
	uint64_t end = end_edge(l->lun->size_bytes);

	l->edge = find_unknown(l, 0, EDGE);
	if (!l->edge.rc && l->lun->size_bytes > EDGE)
		l->edge = find_unknown(l, end, EDGE_MAX);
}

/* Of what lies between the edges. */
static void look_at_samples(struct look *l)
{
	uint64_t size = l->lun->size_bytes, step = size / SAMPLES, end = end_edge(size);
	uint64_t align = step >= ALIGN ? ALIGN : BLOCK;
	struct spot spot = {.rc = 0};

	for (uint64_t i = 1; i < SAMPLES && !spot.rc; i++) {
		uint64_t at = i * step / align * align;

		if (at + PIECE > EDGE && at < end)
			spot = find_unknown(l, at, PIECE);
	}
	word_spot(l, &spot);
}

/*
 * Has what libblkid reads in many small pieces read in few large ones. What an earlier reader left
 * in memory, which another host may have changed, is dropped first.
 */
static void read_ahead(const struct look *l)
{
	uint64_t end = end_edge(l->lun->size_bytes);

	posix_fadvise(l->buffered, 0, 0, POSIX_FADV_DONTNEED);
	posix_fadvise(l->buffered, 0, 0, POSIX_FADV_RANDOM); /* the other pieces, as they are */
	for (uint64_t at = 0; at < HEAD; at += AHEAD)
		posix_fadvise(l->buffered, (off_t)at, at + AHEAD < HEAD ? AHEAD : HEAD - at,
			POSIX_FADV_WILLNEED);
	for (uint64_t at = end; at < l->lun->size_bytes; at += AHEAD)
		posix_fadvise(l->buffered, (off_t)at, AHEAD, POSIX_FADV_WILLNEED);
}

void lb_guard_data(const struct lb_lun *lun, int fd, struct lb_found *found)
{
	struct look *l = calloc(1, sizeof(*l));
	char path[64];

	*found = (struct lb_found){.is_something = false};
	if (!l) {
		found->is_something = true;
		snprintf(found->what, sizeof(found->what), "no memory to look at it");
		return;
	}
	l->lun = lun;
	l->found = found;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	l->buffered = open(path, O_RDONLY | O_CLOEXEC);
	if (l->buffered < 0 || lb_guard_reader_init(&l->reader, fd, lun, EDGE_MAX + BLOCK)) {
		add(l, "", "cannot be opened to look at it: %s", strerror(errno));
	} else {
		look_at_edges(l);
		read_ahead(l);
		look_at(l, (struct range){0, lun->size_bytes}, "", 0);
		if (lun->kind == LB_LUN_BLOCK &&
			lb_guard_sys_partitions(lun->dev, look_at_kernels, l))
			add(l, "", "partitions that cannot be looked at");
		if (!found->is_something)
			word_spot(l, &l->edge);
		if (!found->is_something)
			look_at_samples(l);
	}
	if (l->buffered >= 0)
		close(l->buffered);
	lb_guard_reader_done(&l->reader);
	free(l);
}
