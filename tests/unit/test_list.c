/* What lunbench list takes for a LUN, over trees made for it. */
#include <sys/sysmacros.h>

#include "list.h"
#include "report.h"
#include "sysfs.h"
#include "tree.h"

static void put_disk(struct tree *t, const char *name, const char *numbers, const char *sectors)
{
	put(t, name, "size", sectors);
	put(t, name, "queue/logical_block_size", "512");
	put(t, name, "queue/physical_block_size", "4096");
	number(t, numbers, name);
}

static void put_map(
	struct tree *t, const char *dm, const char *numbers, const char *name, const char *uuid)
{
	put(t, dm, "dm/name", name);
	put(t, dm, "dm/uuid", uuid);
	put(t, dm, "dm/suspended", "0");
	put_disk(t, dm, numbers, "2097152");
}

/* A host with some of everything. */
static void put_host(struct tree *t)
{
	put_disk(t, "ram0", "1:0", "8192");
	put_disk(t, "loop0", "7:0", "0"); /* nothing behind it */
	put_disk(t, "loop1", "7:1", "2048");
	put_disk(t, "zram0", "252:0", "0");
	put_disk(t, "sr0", "11:0", "2048");
	put_disk(t, "sdb", "8:16", "2097152");
	put(t, "sdb/sdb1", "partition", "1");
	put(t, "sdb/sdb1", "size", "100");
	number(t, "8:17", "sdb/sdb1");
	put_disk(t, "sdaa", "65:160", "2097152");
	put_disk(t, "sdc", "8:32", "0"); /* a disk that lost its capacity is worth a row */
	put(t, "sdc", "device/state", "offline");
	put_disk(t, "sdd", "8:48", "2097152");
	put(t, "sdd", "device/state", "running");
	put(t, "sdd", "device/vendor", "3PARdata");
	put(t, "sdd", "device/model", "VV");
	put_map(t, "dm-0", "253:0", "mpatha", "mpath-360002ac0000000000000002300007d1a");
	below(t, "dm-0", "sdd", "sdd");
	put_map(t, "dm-1", "253:1", "mpatha1", "part1-mpath-360002ac0000000000000002300007d1a");
	below(t, "dm-1", "dm-0", "dm-0");
	put_map(t, "dm-2", "253:2", "vg-lv", "LVM-abc");
	below(t, "dm-2", "sdb/sdb1", "sdb1");
}

static void make(struct tree *t, struct lb_list *list, const char *const *targets, size_t n)
{
	char proc[128];
	struct lb_err err;

	snprintf(proc, sizeof(proc), "%s/proc", t->root);
	assert_int_equal(lb_list_make(list, targets, n, t->block_fd, proc, &err), 0);
}

static void what_could_be_a_lun(void **state)
{
	static const char *const want[] = {"/dev/loop1", "/dev/mapper/mpatha", "/dev/mapper/vg-lv",
		"/dev/sdb", "/dev/sdc", "/dev/sdaa"};
	struct lb_list list;

	put_host(*state);
	make(*state, &list, NULL, 0);
	assert_int_equal(list.n, 6);
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(list.rows[i].lun.name, want[i]);
	assert_int_equal(list.status, 0);
	assert_false(list.is_of_targets);
	assert_int_equal(list.rows[1].lun.size_bytes, 1 << 30);
	assert_int_equal(list.rows[1].lun.n_paths, 1);
	assert_string_equal(list.rows[3].lun.in_use, "held by vg-lv");
	lb_list_done(&list);
}

/* Words without the blanks that line them up. */
static char *as_text(const struct lb_list *list)
{
	char *text = NULL, *from, *to;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(lb_report_list(f, list), 0);
	fclose(f);
	for (from = to = text; *from; from++)
		if (*from != ' ' || (to > text && from[1] != ' ' && to[-1] != '\n'))
			*to++ = *from;
	*to = '\0';
	return text;
}

static void as_a_table(void **state)
{
	/* the words and their order; how columns line up is test_table's */
	static const char want[] =
		"LUN kernel size what WWID block paths write in use\n"
		"/dev/loop1 loop1 1M 512/4096 unknown\n"
		"/dev/mapper/mpatha dm-0 1G 3PARdata VV 360002ac0000000000000002300007d1a 512/4096 "
		"1 of 1 unknown mpatha is SUSPENDED; mpatha1, unused\n"
		"sdd running\n"
		"/dev/mapper/vg-lv dm-2 1G lvm map 512/4096 unknown\n"
		"/dev/sdb sdb 1G 512/4096 unknown read-only; held by vg-lv\n"
		"/dev/sdc sdc 0 512/4096 unknown\n"
		"/dev/sdaa sdaa 1G 512/4096 unknown\n";
	struct tree *t = *state;
	struct lb_list list;
	char *text;

	put_host(t);
	put(t, "dm-0", "dm/suspended", "1");
	put(t, "sdb", "ro", "1");
	make(t, &list, NULL, 0);
	text = as_text(&list);
	assert_string_equal(text, want);
	free(text);
	lb_list_done(&list);
}

static void why_a_write_is_refused(void **state)
{
	static const char want[] =
		"LUN kernel size what WWID block paths write in use\n"
		"/dev/loop1 loop1 1M 512/4096 allowed\n"
		"/dev/mapper/mpatha dm-0 1G 3PARdata VV 360002ac0000000000000002300007d1a 512/4096 "
		"1 of 1 refused mpatha1, unused\n"
		"sdd running\n"
		"write refused: ext4; first: kpartx -d\n"
		"/dev/mapper/vg-lv dm-2 1G lvm map 512/4096 refused\n"
		"write refused: \\x07 data; if all of it may be lost: --overwrite x\n"
		"/dev/sdb sdb 1G 512/4096 unknown held by vg-lv\n"
		"write unknown: no right\n"
		"/dev/sdc sdc 0 512/4096 unknown\n" /* for the same reason */
		"/dev/sdaa sdaa 1G 512/4096 no answer\n";
	static const struct {
		enum lb_write write;
		struct lb_verdict verdict;
	} rows[] = {
		{LB_WRITE_ALLOWED, {.may_write = true, .what = "nothing found on it"}},
		{LB_WRITE_REFUSED, {.what = "ext4", .say = "kpartx -d"}},
		{LB_WRITE_REFUSED,
			{.can_override = true, .what = "\a data", .say = "--overwrite x"}},
		{LB_WRITE_UNKNOWN, {.what = "no right"}},
		{LB_WRITE_UNKNOWN, {.what = "no right"}},
		{LB_WRITE_NO_ANSWER, {.what = "no answer for 5 s"}},
	};
	struct lb_list list;
	char *text;

	put_host(*state);
	make(*state, &list, NULL, 0);
	assert_int_equal(list.n, 6);
	for (size_t i = 0; i < 6; i++) {
		list.rows[i].write = rows[i].write;
		list.rows[i].verdict = rows[i].verdict;
	}
	text = as_text(&list);
	assert_string_equal(text, want);
	free(text);
	lb_list_done(&list);
}

static void nothing_there(void **state)
{
	struct lb_list list;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	make(*state, &list, NULL, 0);
	assert_int_equal(list.n, 0);
	assert_int_equal(lb_report_list(f, &list), 0);
	fclose(f);
	assert_string_equal(text, "no LUNs here\n");
	free(text);
	lb_list_done(&list);
}

static void targets(void **state)
{
	struct tree *t = *state;
	const char *const given[] = {"/dev/null", "/nowhere", t->root, "/proc/version"};
	struct lb_list list;

	make(t, &list, given, 4);
	assert_int_equal(list.n, 4);
	assert_true(list.is_of_targets);
	assert_int_equal(list.status, LB_ST_USAGE); /* before LB_ST_UNAVAILABLE */
	assert_string_equal(
		list.rows[0].lun.why, "a character device, not a block device or a file");
	assert_string_equal(list.rows[1].lun.why, "no such device");
	assert_string_equal(list.rows[2].lun.why, "a directory, not a block device or a file");
	assert_int_equal(list.rows[3].lun.fate, LB_FATE_USED);
	assert_int_equal(list.rows[3].lun.kind, LB_LUN_FILE);
	lb_list_done(&list);
	make(t, &list, &given[1], 1);
	assert_int_equal(list.status, LB_ST_UNAVAILABLE);
	lb_list_done(&list);
}

static void without_sysfs(void **state)
{
	struct lb_list list;
	struct lb_err err;

	(void)state;
	assert_int_equal(lb_list_make(&list, NULL, 0, -1, "/proc", &err), -ENOENT);
	assert_int_equal(err.status, LB_ST_UNAVAILABLE);
	assert_string_equal(err.text, "/sys/dev/block cannot be read: name the devices to list");
	lb_list_done(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_TREE(what_could_be_a_lun),
		ON_TREE(as_a_table),
		ON_TREE(why_a_write_is_refused),
		ON_TREE(nothing_there),
		ON_TREE(targets),
		cmocka_unit_test(without_sysfs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
