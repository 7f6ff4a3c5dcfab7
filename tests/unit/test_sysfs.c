/* sysfs.c over trees made for it, so that devices can be tried which no test machine has. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "sysfs.h"

struct tree {
	char root[64];
	int root_fd, block_fd;
};

static void put_bytes(struct tree *t, const char *path, const void *data, size_t n)
{
	char part[256];
	int fd;

	for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		assert_true(!mkdirat(t->root_fd, part, 0700) || errno == EEXIST);
	}
	fd = openat(t->root_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, n), n);
	close(fd);
}

/* A file DIR/NAME with a line of text, under devices/. */
static void put(struct tree *t, const char *dir, const char *name, const char *text)
{
	char path[256], line[256];

	snprintf(path, sizeof(path), "devices/%s/%s", dir, name);
	snprintf(line, sizeof(line), "%s\n", text);
	put_bytes(t, path, line, strlen(line));
}

/* /sys/dev/block/NUMBERS, for the device at devices/DIR. */
static void number(struct tree *t, const char *numbers, const char *dir)
{
	char target[256], link[64];

	snprintf(target, sizeof(target), "../../devices/%s", dir);
	snprintf(link, sizeof(link), "dev/block/%s", numbers);
	assert_int_equal(symlinkat(target, t->root_fd, link), 0);
}

/* DIR lies on SLAVE, a directory beside it. */
static void below(struct tree *t, const char *dir, const char *slave, const char *name)
{
	char target[256], link[256];

	snprintf(target, sizeof(target), "../../%s", slave);
	snprintf(link, sizeof(link), "devices/%s/slaves", dir);
	assert_true(!mkdirat(t->root_fd, link, 0700) || errno == EEXIST);
	snprintf(link, sizeof(link), "devices/%s/slaves/%s", dir, name);
	assert_int_equal(symlinkat(target, t->root_fd, link), 0);
}

static int make_tree(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));

	strcpy(t->root, "/tmp/lunbench-test.XXXXXX");
	assert_non_null(mkdtemp(t->root));
	t->root_fd = open(t->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_bytes(t, "dev/block/.here", "", 0);
	t->block_fd = openat(t->root_fd, "dev/block", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(t->block_fd >= 0);
	*state = t;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int remove_tree(void **state)
{
	struct tree *t = *state;

	close(t->block_fd);
	close(t->root_fd);
	nftw(t->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(t);
	return 0;
}

static const char *describe(struct tree *t, unsigned int maj, unsigned int min, struct lb_lun *lun)
{
	static char suspended[128];

	*lun = (struct lb_lun){.kind = LB_LUN_BLOCK, .dev = makedev(maj, min)};
	lb_sysfs_describe(t->block_fd, lun, suspended);
	return suspended;
}

static void put_sda(struct tree *t)
{
	static const char page_80[] = {0, (char)0x80, 0, 8, ' ', ' ', '1', '6', '2', '8', '9', 'A'};

	number(t, "8:0", "sda");
	put(t, "sda", "device/vendor", "3PARdata");
	put(t, "sda", "device/model", "VV              ");
	put(t, "sda", "device/rev", "3213");
	put(t, "sda", "device/queue_depth", "64");
	put(t, "sda", "queue/scheduler", "none [mq-deadline] kyber");
	put(t, "sda", "queue/nr_requests", "256");
	put(t, "sda", "queue/max_sectors_kb", "512");
	put(t, "sda", "queue/rotational", "0");
	put_bytes(t, "devices/sda/device/vpd_pg80", page_80, sizeof(page_80));
}

static void assert_3par(const struct lb_lun *lun)
{
	assert_string_equal(lun->vendor, "3PARdata");
	assert_string_equal(lun->model, "VV");
	assert_string_equal(lun->revision, "3213");
}

static void a_scsi_disk(void **state)
{
	struct tree *t = *state;
	struct lb_lun lun;

	put_sda(t);
	assert_string_equal(describe(t, 8, 0, &lun), "");
	assert_string_equal(lun.kernel_name, "sda");
	assert_3par(&lun);
	assert_string_equal(lun.serial, "16289A");
	assert_string_equal(lun.scheduler, "mq-deadline");
	assert_int_equal(lun.queue_depth, 64);
	assert_int_equal(lun.nr_requests, 256);
	assert_int_equal(lun.max_io_bytes, 512 * 1024);
	assert_int_equal(lun.rotational, 0);
}

static void a_partition_is_told_of_by_its_disk(void **state)
{
	struct tree *t = *state;
	struct lb_lun lun;

	put_sda(t);
	put(t, "sda/sda1", "partition", "1");
	number(t, "8:1", "sda/sda1");
	assert_string_equal(describe(t, 8, 1, &lun), "");
	assert_string_equal(lun.kernel_name, "sda1");
	assert_3par(&lun);
	assert_string_equal(lun.serial, ""); /* the disk's, not the partition's */
	assert_string_equal(lun.scheduler, "mq-deadline");
	assert_int_equal(lun.nr_requests, 256);
	assert_int_equal(lun.queue_depth, 64);
}

static void put_map(struct tree *t, const char *dm, const char *name, const char *uuid)
{
	put(t, dm, "dm/name", name);
	put(t, dm, "dm/uuid", uuid);
	put(t, dm, "dm/suspended", "0");
	put(t, dm, "queue/scheduler", "none");
	put(t, dm, "queue/rotational", "1");
}

static void a_map_is_told_of_by_its_path(void **state)
{
	struct tree *t = *state;
	struct lb_lun lun;

	put_sda(t);
	put_map(t, "dm-3", "mpatha", "mpath-360002ac0");
	below(t, "dm-3", "sda", "sda");
	number(t, "253:3", "dm-3");
	put_map(t, "dm-4", "mpatha1", "part1-mpath-360002ac0");
	below(t, "dm-4", "dm-3", "dm-3");
	number(t, "253:4", "dm-4");

	assert_string_equal(describe(t, 253, 3, &lun), "");
	assert_string_equal(lun.kernel_name, "dm-3");
	assert_3par(&lun);
	assert_string_equal(lun.serial, "16289A");
	assert_string_equal(lun.scheduler, "none");
	assert_int_equal(lun.rotational, 1);
	assert_int_equal(lun.queue_depth, LB_LUN_UNKNOWN);
	assert_int_equal(lun.nr_requests, LB_LUN_UNKNOWN);
	assert_int_equal(lun.max_io_bytes, LB_LUN_UNKNOWN);

	assert_string_equal(describe(t, 253, 4, &lun), "");
	assert_3par(&lun);
	assert_string_equal(lun.serial, ""); /* a part of that LUN is not that LUN */
}

static void a_map_on_a_partition(void **state)
{
	struct tree *t = *state;
	struct lb_lun lun;

	put_sda(t);
	put(t, "sda/sda1", "partition", "1");
	put_map(t, "dm-5", "vg-lv", "LVM-abc");
	below(t, "dm-5", "sda/sda1", "sda1");
	number(t, "253:5", "dm-5");
	for (int i = 0; i < 2; i++) {
		assert_string_equal(describe(t, 253, 5, &lun), "");
		assert_3par(&lun);
		assert_string_equal(lun.serial, "");
		put(t, "dm-5", "dm/uuid", "mpath-360002ac0"); /* a multipath map neither */
	}
}

static void suspended_itself_or_below(void **state)
{
	struct tree *t = *state;
	struct lb_lun lun;

	put_sda(t);
	put_map(t, "dm-3", "mpatha", "mpath-360002ac0");
	below(t, "dm-3", "sda", "sda");
	number(t, "253:3", "dm-3");
	put_map(t, "dm-4", "mpatha1", "part1-mpath-360002ac0");
	below(t, "dm-4", "dm-3", "dm-3");
	number(t, "253:4", "dm-4");
	put(t, "dm-3", "dm/suspended", "1");
	assert_string_equal(describe(t, 253, 3, &lun), "mpatha");
	assert_string_equal(describe(t, 253, 4, &lun), "mpatha");
	assert_3par(&lun);
	put(t, "dm-3", "dm/suspended", "0");
	put(t, "dm-4", "dm/suspended", "1");
	assert_string_equal(describe(t, 253, 3, &lun), "");
	assert_string_equal(describe(t, 253, 4, &lun), "mpatha1");
}

static void maps_in_a_circle_end(void **state)
{
	struct tree *t = *state;
	struct lb_lun lun;

	put_map(t, "dm-1", "a", "LVM-a");
	put_map(t, "dm-2", "b", "LVM-b");
	below(t, "dm-1", "dm-2", "dm-2");
	below(t, "dm-2", "dm-1", "dm-1");
	number(t, "253:1", "dm-1");
	assert_string_equal(describe(t, 253, 1, &lun), "");
	assert_string_equal(lun.vendor, "");
}

static void nvme_and_virtio(void **state)
{
	struct tree *t = *state;
	struct lb_lun lun;

	put(t, "nvme0n1", "device/model", "PURE FlashArray");
	put(t, "nvme0n1", "device/serial", "4F8A0E1C");
	put(t, "nvme0n1", "device/firmware_rev", "6.4.1");
	number(t, "259:0", "nvme0n1");
	describe(t, 259, 0, &lun);
	assert_string_equal(lun.vendor, "");
	assert_string_equal(lun.model, "PURE FlashArray");
	assert_string_equal(lun.serial, "4F8A0E1C");
	assert_string_equal(lun.revision, "6.4.1");

	put(t, "vda", "device/vendor", "0x1af4"); /* of its bus */
	put(t, "vda", "serial", "disk-7");
	put(t, "vda", "queue/scheduler", "[none] mq-deadline");
	number(t, "254:0", "vda");
	describe(t, 254, 0, &lun);
	assert_string_equal(lun.vendor, "");
	assert_string_equal(lun.serial, "disk-7");
	assert_string_equal(lun.scheduler, "none");
}

static void a_slash_in_the_name(void **state)
{
	struct tree *t = *state;
	struct lb_lun lun;

	put(t, "cciss!c0d0", "queue/nr_requests", "128");
	number(t, "104:0", "cciss!c0d0");
	describe(t, 104, 0, &lun);
	assert_string_equal(lun.kernel_name, "cciss/c0d0");
	assert_int_equal(lun.nr_requests, 128);
}

static void what_is_not_told_is_unknown(void **state)
{
	struct tree *t = *state;
	struct lb_lun lun;

	put(t, "sdb", "queue/nr_requests", "many"); /* no number */
	put(t, "sdb", "queue/max_sectors_kb", "");
	put(t, "sdb", "device/queue_depth", "-1");
	number(t, "8:16", "sdb");
	assert_string_equal(describe(t, 8, 16, &lun), "");
	assert_string_equal(lun.kernel_name, "sdb");
	assert_string_equal(lun.vendor, "");
	assert_string_equal(lun.model, "");
	assert_string_equal(lun.scheduler, "");
	assert_int_equal(lun.nr_requests, LB_LUN_UNKNOWN);
	assert_int_equal(lun.max_io_bytes, LB_LUN_UNKNOWN);
	assert_int_equal(lun.queue_depth, LB_LUN_UNKNOWN);
	assert_int_equal(lun.rotational, LB_LUN_UNKNOWN);

	assert_string_equal(describe(t, 8, 32, &lun), ""); /* no such number */
	assert_string_equal(lun.kernel_name, "");
	assert_int_equal(lun.rotational, LB_LUN_UNKNOWN);
	t->block_fd = -t->block_fd; /* no sysfs at all */
	assert_string_equal(describe(t, 8, 16, &lun), "");
	assert_string_equal(lun.kernel_name, "");
	t->block_fd = -t->block_fd;
}

static void a_long_name_is_cut(void **state)
{
	struct tree *t = *state;
	struct lb_lun lun;
	char model[201];

	memset(model, 'm', 200);
	model[200] = '\0';
	put(t, "sda", "device/model", model);
	number(t, "8:0", "sda");
	describe(t, 8, 0, &lun);
	assert_int_equal(strlen(lun.model), sizeof(lun.model) - 1);
}

static void files_have_no_kernel_count(void **state)
{
	struct lb_kernel_stat stat;
	struct lb_lun lun = {.kind = LB_LUN_FILE, .dev = makedev(7, 0)};

	(void)state;
	assert_int_equal(lb_lun_kernel_stat(&lun, &stat), -ENOENT);
	lun.kind = LB_LUN_SCRATCH;
	assert_int_equal(lb_lun_kernel_stat(&lun, &stat), -ENOENT);
	lun = (struct lb_lun){.kind = LB_LUN_BLOCK, .dev = makedev(4000, 4000)};
	assert_int_equal(lb_lun_kernel_stat(&lun, &stat), -ENOENT);
}

#define ON_TREE(f) cmocka_unit_test_setup_teardown(f, make_tree, remove_tree)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_TREE(a_scsi_disk),
		ON_TREE(a_partition_is_told_of_by_its_disk),
		ON_TREE(a_map_is_told_of_by_its_path),
		ON_TREE(a_map_on_a_partition),
		ON_TREE(suspended_itself_or_below),
		ON_TREE(maps_in_a_circle_end),
		ON_TREE(nvme_and_virtio),
		ON_TREE(a_slash_in_the_name),
		ON_TREE(what_is_not_told_is_unknown),
		ON_TREE(a_long_name_is_cut),
		cmocka_unit_test(files_have_no_kernel_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
