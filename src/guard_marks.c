#include "guard_marks.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (1024 * 1024u)

int lb_guard_reader_init(struct lb_guard_reader *r, int fd, const struct lb_lun *lun, size_t room)
{
	void *buf = NULL;

	*r = (struct lb_guard_reader){.fd = fd, .align = 4096};
	if (lun->logical_block > r->align)
		r->align = lun->logical_block;
	/* the LUN may end off 4096: its own block is what counts there */
	if (lun->size_bytes % r->align)
		r->align = lun->logical_block ? lun->logical_block : 512;
	r->room = room + 2 * (size_t)r->align;
	if (posix_memalign(&buf, 65536, r->room)) {
		errno = ENOMEM;
		return -ENOMEM;
	}
	r->buf = (unsigned char *)buf;
	return 0;
}

void lb_guard_reader_done(struct lb_guard_reader *r)
{
	free(r->buf);
	r->buf = NULL;
}

int lb_guard_read(struct lb_guard_reader *r, uint64_t at, size_t n, unsigned char **data)
{
	uint64_t from = at / r->align * r->align;
	size_t lead = (size_t)(at - from), want = (lead + n + r->align - 1) / r->align * r->align;
	size_t have = 0;

	if (want > r->room)
		return -EINVAL;
	while (have < lead + n) {
		ssize_t got = pread(r->fd, r->buf + have, want - have, (off_t)(from + have));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			return -EIO;
		have += (size_t)got;
	}
	*data = r->buf + lead;
	return 0;
}

/* ---- Oracle ASM, as kfed shows it: kfdhdb.driver.provstr at 32, dskname at 72, grpname at 104 */

/* A name of at most N bytes, NUL-padded. "" when it has what no name has. */
static void take_name(char *buf, const unsigned char *from, size_t n)
{
	size_t k = 0;

	while (k < n && from[k] && isgraph(from[k])) {
		buf[k] = (char)from[k];
		k++;
	}
	if (k < n && from[k])
		k = 0;
	buf[k] = '\0';
}

static bool word_asm(const unsigned char *header, const char *of, char *text, size_t n)
{
	char label[25], disk[33], group[33];

	if (memcmp(header + 32, "ORCLDISK", 8))
		return false;
	take_name(label, header + 40, 24);
	take_name(disk, header + 72, 32);
	take_name(group, header + 104, 32);
	snprintf(text, n, "Oracle ASM disk%s%s%s%s%s", label[0] || disk[0] ? " " : "",
		label[0] ? label : disk, group[0] ? " of disk group " : "", group, of);
	return true;
}

int lb_guard_asm(struct lb_guard_reader *r, uint64_t start, uint64_t size, char *text, size_t n)
{
	unsigned char *header;
	int rc;

	if (size < 512)
		return 0;
	rc = lb_guard_read(r, start, 512, &header);
	if (rc || word_asm(header, "", text, n))
		return rc ? rc : 1;
	for (uint64_t au = MIB; au <= 64 * (uint64_t)MIB; au *= 2) {
		uint64_t at = 2 * au - 8192;

		if (size < at + 512)
			break;
		rc = lb_guard_read(r, start + at, 512, &header);
		if (rc || word_asm(header, " (the copy of its header)", text, n))
			return rc ? rc : 1;
	}
	return 0;
}

/* ---- LVM2: lib/format_text/layout.h, lib/label/label.h of its source */

static uint64_t le64(const unsigned char *p)
{
	uint64_t v = 0;

	for (int i = 7; i >= 0; i--)
		v = v << 8 | p[i];
	return v;
}

/* Where the PV header, which follows the label, says that its first metadata area is; 0: nowhere.
 */
static uint64_t metadata_area(struct lb_guard_reader *r, uint64_t start, uint64_t size)
{
	for (uint64_t sector = 0; sector < 4 && size >= (sector + 1) * 512; sector++) {
		unsigned char *label;
		size_t at;

		if (lb_guard_read(r, start + sector * 512, 512, &label))
			return 0;
		if (memcmp(label, "LABELONE", 8))
			continue;
		/* id 8, sector 8, checksum 4, offset of the PV header 4; that: uuid 32, size 8,
		 * then the data areas, ended by one of zeros, then the metadata areas */
		at = (size_t)(label[20] | label[21] << 8) + 40;
		while (at + 32 <= 512 && le64(label + at))
			at += 16;
		return at + 32 <= 512 ? le64(label + at + 16) : 0;
	}
	return 0;
}

bool lb_guard_volume_group(
	struct lb_guard_reader *r, uint64_t start, uint64_t size, char *vg, size_t n)
{
	uint64_t area = metadata_area(r, start, size), text;
	unsigned char *data;
	size_t k;

	vg[0] = '\0';
	if (!area || area > size || size - area < 512 ||
		lb_guard_read(r, start + area, 512, &data) ||
		memcmp(data + 4, " LVM2 x[5A%r0N*>", 16))
		return false;
	/* checksum 4, magic 16, version 4, start 8, size 8; then where the text is */
	text = le64(data + 40);
	if (!text || text > size - area || size - area - text < 512 ||
		lb_guard_read(r, start + area + text, 512, &data))
		return false;
	for (k = 0;
		k + 1 < n && k < 128 && (isalnum(data[k]) || (data[k] && strchr("+_.-", data[k])));
		k++)
		vg[k] = (char)data[k];
	vg[k] = '\0';
	return k && !memcmp(data + k, " {", 2);
}
