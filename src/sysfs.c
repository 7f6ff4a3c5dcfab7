#include "sysfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DEPTH_MAX 8 /* of maps on maps */

int lb_sysfs_open(void)
{
	int fd = open("/sys/dev/block", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Bytes read into BUF, NUL after them; 0 when there is none. */
static size_t read_raw(int dir, const char *name, char *buf, size_t n)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, buf, n - 1);

	if (fd >= 0)
		close(fd);
	buf[got > 0 ? got : 0] = '\0';
	return got > 0 ? (size_t)got : 0;
}

static void trim(char *s)
{
	size_t lead = strspn(s, " \t\n"), len = strlen(s + lead);

	memmove(s, s + lead, len + 1);
	while (len && isspace((unsigned char)s[len - 1]))
		s[--len] = '\0';
}

/* A line without the blanks around it; false, and "" in BUF, when there is none. */
static bool read_text(int dir, const char *name, char *buf, size_t n)
{
	read_raw(dir, name, buf, n);
	trim(buf);
	return buf[0] != '\0';
}

static int64_t read_number(int dir, const char *name)
{
	char text[32], *end;
	long long v;

	if (!read_text(dir, name, text, sizeof(text)))
		return LB_LUN_UNKNOWN;
	errno = 0;
	v = strtoll(text, &end, 10);
	return errno || *end || v < 0 ? LB_LUN_UNKNOWN : v;
}

/* "[none] mq-deadline": the one in use is in brackets. */
static void read_scheduler(int dir, char *buf, size_t n)
{
	char text[256], *from, *to;

	if (!read_text(dir, "queue/scheduler", text, sizeof(text)))
		return;
	from = strchr(text, '[');
	to = from ? strchr(from, ']') : NULL;
	if (to)
		*to = '\0';
	snprintf(buf, n, "%.*s", (int)n - 1, to ? from + 1 : text);
}

/* SCSI's unit serial number page, SPC-5 7.7.15: four bytes of header, then the text. */
static void read_page_80(int dir, char *buf, size_t n)
{
	char page[4 + 255 + 1];
	size_t got = read_raw(dir, "device/vpd_pg80", page, sizeof(page));

	if (got <= 4)
		return;
	snprintf(buf, n, "%.*s", (int)n - 1, page + 4);
	trim(buf);
}

/* Of a disk: what it says it is. Takes nothing that is known already. */
static void describe_disk(int disk, struct lb_lun *lun, bool with_serial)
{
	if (!lun->model[0]) {
		read_text(disk, "device/vendor", lun->vendor, sizeof(lun->vendor));
		if (!strncmp(lun->vendor, "0x", 2)) /* a bus's number, as virtio has it */
			lun->vendor[0] = '\0';
		read_text(disk, "device/model", lun->model, sizeof(lun->model));
		if (!read_text(disk, "device/rev", lun->revision, sizeof(lun->revision)))
			read_text(
				disk, "device/firmware_rev", lun->revision, sizeof(lun->revision));
	}
	if (with_serial && !lun->serial[0] &&
		!read_text(disk, "device/serial", lun->serial, sizeof(lun->serial)) &&
		!read_text(disk, "serial", lun->serial, sizeof(lun->serial)))
		read_page_80(disk, lun->serial, sizeof(lun->serial));
}

static void describe_queue(int disk, struct lb_lun *lun)
{
	int64_t kib = read_number(disk, "queue/max_sectors_kb");

	read_scheduler(disk, lun->scheduler, sizeof(lun->scheduler));
	lun->nr_requests = read_number(disk, "queue/nr_requests");
	lun->max_io_bytes = kib < 0 ? LB_LUN_UNKNOWN : kib * 1024;
	lun->rotational = read_number(disk, "queue/rotational");
	lun->queue_depth = read_number(disk, "device/queue_depth");
}

/* The disk's directory of DEV's, which is the one above if DEV is a partition. Takes DEV over. */
static int disk_of(int dev, bool *is_partition)
{
	int disk;

	*is_partition = !faccessat(dev, "partition", F_OK, 0);
	if (!*is_partition)
		return dev;
	disk = openat(dev, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(dev);
	return disk;
}

static void look_below(
	int disk, struct lb_lun *lun, char suspended[128], bool with_serial, unsigned depth)
{
	char text[128];
	struct dirent *de;
	DIR *slaves = NULL;
	bool is_partition;
	int fd;

	if (!suspended[0] && read_number(disk, "dm/suspended") == 1 &&
		!read_text(disk, "dm/name", suspended, 128))
		strcpy(suspended, "?");
	describe_disk(disk, lun, with_serial);
	/* only a multipath map is one with what lies below it */
	if (!read_text(disk, "dm/uuid", text, sizeof(text)) || strncmp(text, "mpath-", 6))
		with_serial = false;
	fd = depth ? openat(disk, "slaves", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd >= 0 && !(slaves = fdopendir(fd)))
		close(fd);
	while (slaves && (de = readdir(slaves))) {
		if (de->d_name[0] == '.')
			continue;
		fd = openat(dirfd(slaves), de->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			fd = disk_of(fd, &is_partition);
		if (fd < 0)
			continue;
		look_below(fd, lun, suspended, with_serial && !is_partition, depth - 1);
		close(fd);
	}
	if (slaves)
		closedir(slaves);
}

void lb_sysfs_describe(int dir, struct lb_lun *lun, char suspended[128])
{
	char name[32], link[512], *base;
	bool is_partition;
	ssize_t len;
	int disk;

	suspended[0] = '\0';
	lun->queue_depth = lun->nr_requests = lun->max_io_bytes = lun->rotational = LB_LUN_UNKNOWN;
	snprintf(name, sizeof(name), "%u:%u", major(lun->dev), minor(lun->dev));
	len = dir < 0 ? -1 : readlinkat(dir, name, link, sizeof(link) - 1);
	disk = len < 0 ? -1 : openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (disk < 0)
		return;
	link[len] = '\0';
	base = strrchr(link, '/');
	snprintf(lun->kernel_name, sizeof(lun->kernel_name), "%.63s", base ? base + 1 : link);
	for (base = lun->kernel_name; (base = strchr(base, '!'));) /* sysfs's way to spell a / */
		*base = '/';
	disk = disk_of(disk, &is_partition);
	if (disk < 0)
		return;
	describe_queue(disk, lun);
	look_below(disk, lun, suspended, !is_partition, DEPTH_MAX);
	close(disk);
}

int lb_lun_kernel_stat(const struct lb_lun *lun, struct lb_kernel_stat *out)
{
	char path[64], text[512];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/stat", major(lun->dev), minor(lun->dev));
	if (lun->kind != LB_LUN_BLOCK || !read_raw(AT_FDCWD, path, text, sizeof(text)))
		return -ENOENT;
	/* Documentation/block/stat.rst: reads, merged, sectors, ms; the same of writes */
	if (sscanf(text, "%" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64, &out->read_ios,
		    &out->read_sectors, &out->write_ios, &out->write_sectors) != 4)
		return -EINVAL;
	return 0;
}
