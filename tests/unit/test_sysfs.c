/* sysfs.c over trees made for it, so that devices can be tried which no test machine has. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

#include "sysfs.h"
#include "tree.h"

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
	put(t, "sda", "queue/optimal_io_size", "16384");
	put(t, "sda", "queue/write_cache", "write through");
	put(t, "sda", "queue/logical_block_size", "512");
	put(t, "sda", "queue/physical_block_size", "4096");
	put(t, "sda", "size", "2048");
	put(t, "sda", "ro", "1");
	put(t, "sda", "device/wwid", "naa.60002ac0000000000000002300007d1a");
	put_bytes(t, "devices/sda/device/vpd_pg80", page_80, sizeof(page_80));
}

static void a_loop_that_the_host_caches(void **state)
{
	struct tree *t = *state;
	struct lb_lun lun;

	number(t, "7:0", "loop0");
	put(t, "loop0", "loop/dio", "0");
	describe(t, 7, 0, &lun);
	assert_true(lun.is_host_cached);
	number(t, "7:1", "loop1");
	put(t, "loop1", "loop/dio", "1");
	describe(t, 7, 1, &lun);
	assert_false(lun.is_host_cached);
	put_sda(t);
	describe(t, 8, 0, &lun);
	assert_false(lun.is_host_cached);
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
	assert_int_equal(lun.optimal_io_bytes, 16384);
	assert_string_equal(lun.write_cache, "write through");
	assert_int_equal(lun.read_only, 1);
	assert_string_equal(lun.wwid, "360002ac0000000000000002300007d1a");
	assert_string_equal(lun.dm_name, "");
	assert_false(lun.is_partition);
	put(t, "sda", "queue/optimal_io_size", "0"); /* none */
	describe(t, 8, 0, &lun);
	assert_int_equal(lun.optimal_io_bytes, LB_LUN_UNKNOWN);

	lb_sysfs_measure(t->block_fd, &lun);
	assert_int_equal(lun.size_bytes, 1 << 20);
	assert_int_equal(lun.logical_block, 512);
	assert_int_equal(lun.physical_block, 4096);
}

static void a_partition_is_told_of_by_its_disk(void **state)
{
	struct tree *t = *state;
	struct lb_lun lun;

	put_sda(t);
	put(t, "sda/sda1", "partition", "1");
	number(t, "8:1", "sda/sda1");
	put(t, "sda/sda1", "size", "100");
	assert_string_equal(describe(t, 8, 1, &lun), "");
	assert_string_equal(lun.kernel_name, "sda1");
	assert_3par(&lun);
	assert_string_equal(lun.serial, ""); /* the disk's, not the partition's */
	assert_string_equal(lun.wwid, "");
	assert_true(lun.is_partition);
	assert_string_equal(lun.scheduler, "mq-deadline");
	assert_int_equal(lun.nr_requests, 256);
	assert_int_equal(lun.queue_depth, 64);
	assert_int_equal(lun.read_only, LB_LUN_UNKNOWN); /* its own, and it does not tell */
	lb_sysfs_measure(t->block_fd, &lun);
	assert_int_equal(lun.size_bytes, 51200);
	assert_int_equal(lun.physical_block, 4096);
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
	assert_string_equal(lun.wwid, "360002ac0"); /* its uuid's */
	assert_string_equal(lun.dm_name, "mpatha");
	assert_string_equal(lun.dm_uuid, "mpath-360002ac0");
	assert_string_equal(lun.dm_type, "mpath");
	assert_string_equal(lun.scheduler, "none");
	assert_int_equal(lun.rotational, 1);
	assert_int_equal(lun.queue_depth, LB_LUN_UNKNOWN);
	assert_int_equal(lun.nr_requests, LB_LUN_UNKNOWN);
	assert_int_equal(lun.max_io_bytes, LB_LUN_UNKNOWN);

	assert_string_equal(describe(t, 253, 4, &lun), "");
	assert_3par(&lun);
	assert_string_equal(lun.serial, ""); /* a part of that LUN is not that LUN */
	assert_string_equal(lun.wwid, "");
	assert_string_equal(lun.dm_type, "part");
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
		assert_string_equal(lun.dm_type, i ? "mpath" : "lvm");
		assert_string_equal(lun.wwid, i ? "360002ac0" : "");
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
	assert_string_equal(lun.wwid, "");
	put(t, "nvme0n1", "wwid", "eui.00254B1C2D3E4F50");
	describe(t, 259, 0, &lun);
	assert_string_equal(lun.wwid, "200254b1c2d3e4f50");

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_TREE(a_scsi_disk),
		ON_TREE(a_loop_that_the_host_caches),
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
