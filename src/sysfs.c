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

#include "identity.h"

#define DEPTH_MAX 8 /* of maps on maps */

int lb_sysfs_open(void)
{
	int fd = open("/sys/dev/block", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

size_t lb_sysfs_raw(int dir, const char *name, char *buf, size_t n)
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

bool lb_sysfs_text(int dir, const char *name, char *buf, size_t n)
{
	lb_sysfs_raw(dir, name, buf, n);
	trim(buf);
	return buf[0] != '\0';
}

int64_t lb_sysfs_number(int dir, const char *name)
{
	char text[32], *end;
	long long v;

	if (!lb_sysfs_text(dir, name, text, sizeof(text)))
		return LB_LUN_UNKNOWN;
	errno = 0;
	v = strtoll(text, &end, 10);
	return errno || *end || v < 0 ? LB_LUN_UNKNOWN : v;
}

int lb_sysfs_dir(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int lb_sysfs_device(int dir, dev_t dev, char *name, size_t n)
{
	char numbers[32], link[512], *base;
	ssize_t len;

	name[0] = '\0';
	snprintf(numbers, sizeof(numbers), "%u:%u", major(dev), minor(dev));
	len = dir < 0 ? -1 : readlinkat(dir, numbers, link, sizeof(link) - 1);
	if (len < 0)
		return -1;
	link[len] = '\0';
	base = strrchr(link, '/');
	snprintf(name, n, "%.*s", (int)n - 1, base ? base + 1 : link);
	for (base = name; (base = strchr(base, '!'));) /* sysfs's way to spell a / */
		*base = '/';
	return lb_sysfs_dir(dir, numbers);
}

/* "[none] mq-deadline": the one in use is in brackets. */
static void read_scheduler(int dir, char *buf, size_t n)
{
	char text[256], *from, *to;

	if (!lb_sysfs_text(dir, "queue/scheduler", text, sizeof(text)))
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
	size_t got = lb_sysfs_raw(dir, "device/vpd_pg80", page, sizeof(page));

	if (got <= 4)
		return;
	snprintf(buf, n, "%.*s", (int)n - 1, page + 4);
	trim(buf);
}

/* Of a disk: what it says it is. Takes nothing that is known already. */
static void describe_disk(int disk, struct lb_lun *lun, bool with_serial)
{
	if (!lun->model[0]) {
		lb_sysfs_text(disk, "device/vendor", lun->vendor, sizeof(lun->vendor));
		if (!strncmp(lun->vendor, "0x", 2)) /* a bus's number, as virtio has it */
			lun->vendor[0] = '\0';
		lb_sysfs_text(disk, "device/model", lun->model, sizeof(lun->model));
		if (!lb_sysfs_text(disk, "device/rev", lun->revision, sizeof(lun->revision)))
			lb_sysfs_text(
				disk, "device/firmware_rev", lun->revision, sizeof(lun->revision));
	}
	if (with_serial && !lun->serial[0] &&
		!lb_sysfs_text(disk, "device/serial", lun->serial, sizeof(lun->serial)) &&
		!lb_sysfs_text(disk, "serial", lun->serial, sizeof(lun->serial)))
		read_page_80(disk, lun->serial, sizeof(lun->serial));
}

static void describe_queue(int disk, struct lb_lun *lun)
{
	int64_t kib = lb_sysfs_number(disk, "queue/max_sectors_kb");
	int64_t optimal = lb_sysfs_number(disk, "queue/optimal_io_size");

	read_scheduler(disk, lun->scheduler, sizeof(lun->scheduler));
	lun->nr_requests = lb_sysfs_number(disk, "queue/nr_requests");
	lun->max_io_bytes = kib < 0 ? LB_LUN_UNKNOWN : kib * 1024;
	lun->rotational = lb_sysfs_number(disk, "queue/rotational");
	lun->queue_depth = lb_sysfs_number(disk, "device/queue_depth");
	lun->optimal_io_bytes = optimal > 0 ? optimal : LB_LUN_UNKNOWN;
	lb_sysfs_text(disk, "queue/write_cache", lun->write_cache, sizeof(lun->write_cache));
}

/* What a map is made by is in its uuid, as its maker wrote it. */
static void describe_map(int disk, struct lb_lun *lun)
{
	static const char *const makers[][2] = {
		{"mpath-", "mpath"}, {"LVM-", "lvm"}, {"CRYPT-", "crypt"}, {"part", "part"}};

	if (!lb_sysfs_text(disk, "dm/name", lun->dm_name, sizeof(lun->dm_name)))
		return;
	lb_sysfs_text(disk, "dm/uuid", lun->dm_uuid, sizeof(lun->dm_uuid));
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		if (!lun->dm_type[0] && !strncmp(lun->dm_uuid, makers[i][0], strlen(makers[i][0])))
			strcpy(lun->dm_type, makers[i][1]);
}

/* The WWID of a disk, or of a multipath map; parts of a LUN have none. */
static void describe_wwid(int disk, struct lb_lun *lun)
{
	char text[256];

	if (!strcmp(lun->dm_type, "mpath"))
		lb_wwid_canonical(lun->wwid, sizeof(lun->wwid), lun->dm_uuid);
	else if (!lun->dm_name[0] && !lun->is_partition &&
		 (lb_sysfs_text(disk, "device/wwid", text, sizeof(text)) ||
			 lb_sysfs_text(disk, "wwid", text, sizeof(text))))
		lb_wwid_canonical(lun->wwid, sizeof(lun->wwid), text);
}

/* The disk's directory of DEV's, which is the one above if DEV is a partition. Takes DEV over. */
static int disk_of(int dev, bool *is_partition)
{
	int disk;

	*is_partition = !faccessat(dev, "partition", F_OK, 0);
	if (!*is_partition)
		return dev;
	disk = lb_sysfs_dir(dev, "..");
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

	if (!suspended[0] && lb_sysfs_number(disk, "dm/suspended") == 1 &&
		!lb_sysfs_text(disk, "dm/name", suspended, 128))
		strcpy(suspended, "?");
	if (lb_sysfs_number(disk, "loop/dio") == 0)
		lun->is_host_cached = true;
	describe_disk(disk, lun, with_serial);
	/* only a multipath map is one with what lies below it */
	if (!lb_sysfs_text(disk, "dm/uuid", text, sizeof(text)) || strncmp(text, "mpath-", 6))
		with_serial = false;
	fd = depth ? lb_sysfs_dir(disk, "slaves") : -1;
	if (fd >= 0 && !(slaves = fdopendir(fd)))
		close(fd);
	while (slaves && (de = readdir(slaves))) {
		if (de->d_name[0] == '.')
			continue;
		fd = lb_sysfs_dir(dirfd(slaves), de->d_name);
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
	int disk = lb_sysfs_device(dir, lun->dev, lun->kernel_name, sizeof(lun->kernel_name));

	suspended[0] = '\0';
	lun->is_host_cached = false;
	lun->queue_depth = lun->nr_requests = lun->max_io_bytes = lun->rotational = LB_LUN_UNKNOWN;
	lun->optimal_io_bytes = lun->read_only = LB_LUN_UNKNOWN;
	if (disk < 0)
		return;
	lun->read_only = lb_sysfs_number(disk, "ro");
	disk = disk_of(disk, &lun->is_partition);
	if (disk < 0)
		return;
	describe_queue(disk, lun);
	describe_map(disk, lun);
	describe_wwid(disk, lun);
	look_below(disk, lun, suspended, !lun->is_partition, DEPTH_MAX);
	close(disk);
}

void lb_sysfs_measure(int dir, struct lb_lun *lun)
{
	char name[sizeof(lun->kernel_name)];
	int disk = lb_sysfs_device(dir, lun->dev, name, sizeof(name));
	int64_t sectors, logical, physical;
	bool is_partition;

	if (disk < 0)
		return;
	sectors = lb_sysfs_number(disk, "size"); /* of 512 bytes, whatever the block */
	lun->size_bytes = sectors > 0 ? (uint64_t)sectors * 512 : 0;
	disk = disk_of(disk, &is_partition);
	if (disk < 0)
		return;
	logical = lb_sysfs_number(disk, "queue/logical_block_size");
	physical = lb_sysfs_number(disk, "queue/physical_block_size");
	lun->logical_block = logical > 0 ? (uint32_t)logical : 0;
	lun->physical_block = physical > 0 ? (uint32_t)physical : 0;
	close(disk);
}

int lb_lun_kernel_stat(const struct lb_lun *lun, struct lb_kernel_stat *out)
{
	char path[64], text[512];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/stat", major(lun->dev), minor(lun->dev));
	if (lun->kind != LB_LUN_BLOCK || !lb_sysfs_raw(AT_FDCWD, path, text, sizeof(text)))
		return -ENOENT;
	/* Documentation/block/stat.rst: reads, merged, sectors, ms; the same of writes */
	if (sscanf(text, "%" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64, &out->read_ios,
		    &out->read_sectors, &out->write_ios, &out->write_sectors) != 4)
		return -EINVAL;
	return 0;
}
