/* The write interlock's words, and what it finds in files; the devices are in tests/loop and
 * tests/vm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guard.h"
#include "guard_marks.h"

#define MIB (1024 * 1024u)

static void lun_init(struct lb_lun *lun, const char *name)
{
	*lun = (struct lb_lun){.name = name, .kind = LB_LUN_BLOCK, .fate = LB_FATE_USED, .fd = 0};
}

static void a_refusal_is_one_line_for_each_lun(void **state)
{
	struct lb_verdict v[4] = {
		{.what = "Oracle ASM disk DATA01", .can_override = true, .say = "--overwrite 3600"},
		{.may_write = true, .what = "nothing found on it"},
		{.what = "mounted on /u01", .say = "umount /u01"},
		{.what = "not decided"},
	};
	static struct lb_lun luns[4];
	char summary[512];

	(void)state;
	for (size_t i = 0; i < 4; i++)
		lun_init(&luns[i], "x");
	lb_guard_refuse(luns, 4, v, summary);
	assert_string_equal(luns[0].why, "not written to: Oracle ASM disk DATA01; if all of it may "
					 "be lost: --overwrite 3600");
	assert_int_equal(luns[1].fate, LB_FATE_USED);
	assert_string_equal(luns[1].why, "");
	assert_string_equal(luns[2].why, "not written to: mounted on /u01; first: umount /u01");
	assert_string_equal(luns[3].why, "not written to: not decided");
	for (size_t i = 0; i < 4; i++) {
		if (i == 1)
			continue;
		assert_int_equal(luns[i].fate, LB_FATE_REFUSED);
		assert_int_equal(luns[i].refusal, LB_ST_USAGE);
	}
	assert_string_equal(summary,
		"nothing was written: 3 of 4 LUNs refused, 1 with data on them (--overwrite for "
		"each that may be lost), 2 in use (no option overrides that)");
}

/* However much was found, what to say is there whole. */
static void what_to_say_is_never_cut(void **state)
{
	struct lb_verdict v = {.can_override = true};
	static struct lb_lun lun;
	char summary[512];
	size_t len;

	(void)state;
	memset(v.what, 'w', sizeof(v.what) - 1);
	memset(v.say, 's', sizeof(v.say) - 1);
	lun_init(&lun, "x");
	lb_guard_refuse(&lun, 1, &v, summary);
	len = strlen(lun.why);
	assert_int_equal(len, sizeof(lun.why) - 1);
	assert_memory_equal(lun.why + len - strlen(v.say), v.say, strlen(v.say));
	assert_memory_equal(lun.why, "not written to: wwww", 20);
}

static void an_overwrite_that_names_none_is_told(void **state)
{
	static struct lb_lun luns[2];

	(void)state;
	lun_init(&luns[0], "/dev/sda");
	lun_init(&luns[1], "/dev/sdb");
	snprintf(luns[0].wwid, sizeof(luns[0].wwid), "360002ac0000000000000000000000001");
	assert_true(lb_guard_names_any(luns, 2, "wwn-0x60002ac0000000000000000000000001"));
	assert_true(lb_guard_names_any(luns, 2, "/dev/sdb"));
	assert_false(lb_guard_names_any(luns, 2, "/dev/sda")); /* it has a WWID: names move */
	assert_false(lb_guard_names_any(luns, 2, "360002ac0000000000000000000000002"));
	assert_false(lb_guard_names_any(luns, 2, ""));
}

static void asm_text_is(int fd, uint64_t start, uint64_t size, int want, const char *text)
{
	struct lb_lun lun = {.size_bytes = 160 * MIB, .logical_block = 512};
	struct lb_guard_reader r;
	char got[256] = "";

	assert_int_equal(lb_guard_reader_init(&r, fd, &lun, 4096), 0);
	assert_int_equal(lb_guard_asm(&r, start, size, got, sizeof(got)), want);
	assert_string_equal(got, text);
	lb_guard_reader_done(&r);
}

static void asm_headers_and_copies(void **state)
{
	char path[] = "/var/tmp/lunbench-unit.XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(ftruncate(fd, 160 * MIB), 0);
	asm_text_is(fd, 0, 160 * MIB, 0, "");
	for (uint64_t au = MIB; au <= 64 * MIB; au *= 2) {
		off_t at = (off_t)(3 * 512 + 2 * au - 8192);

		assert_int_equal(pwrite(fd, "ORCLDISKREDO1", 13, at + 32), 13);
		asm_text_is(fd, 3 * 512, 130 * MIB, 1,
			"Oracle ASM disk REDO1 (the copy of its header)");
		asm_text_is(fd, 4 * 512, 130 * MIB, 0, "");
		/* the range ends before it */
		asm_text_is(fd, 3 * 512, 2 * au - 8192, 0, "");
		assert_int_equal(pwrite(fd, "\0\0\0\0\0\0\0\0", 8, at + 32), 8);
	}
	/* a name that is none is not told, but the disk is */
	assert_int_equal(pwrite(fd, "ORCLDISK\x01\x02", 10, 32), 10);
	asm_text_is(fd, 0, 512, 1, "Oracle ASM disk");
	asm_text_is(fd, 0, 511, 0, "");
	/* what cannot be read is an error, not a no */
	asm_text_is(fd, 160 * (uint64_t)MIB, MIB, -5, "");
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refusal_is_one_line_for_each_lun),
		cmocka_unit_test(what_to_say_is_never_cut),
		cmocka_unit_test(an_overwrite_that_names_none_is_told),
		cmocka_unit_test(asm_headers_and_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
