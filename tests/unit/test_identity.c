/* WWIDs as sysfs, multipath, udev and people write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "identity.h"

static const char *canonical(const char *text)
{
	static char buf[256];

	lb_wwid_canonical(buf, sizeof(buf), text);
	return buf;
}

static void naa(void **state)
{
	static const char *const forms[] = {"naa.60002ac0000000000000002300007d1a",
		"naa.60002AC0000000000000002300007D1A\n", "360002ac0000000000000002300007d1a",
		"mpath-360002ac0000000000000002300007d1a", "wwn-0x60002ac0000000000000002300007d1a",
		"0x60002ac0000000000000002300007d1a", "360002AC0000000000000002300007D1A",
		" 360002ac0000000000000002300007d1a "};

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		assert_string_equal(canonical(forms[i]), "360002ac0000000000000002300007d1a");
	assert_string_equal(canonical("naa.3333333000007d00"), "33333333000007d00");
}

static void eui(void **state)
{
	static const char *const forms[] = {"eui.00254B1C2D3E4F50", "200254b1c2d3e4f50",
		"mpath-eui.00254b1c2d3e4f50", "200254B1C2D3E4F50", "EUI.00254b1c2d3e4f50"};

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		assert_string_equal(canonical(forms[i]), "200254b1c2d3e4f50");
	/* NVMe's NGUID */
	assert_string_equal(canonical("eui.0050432100000001ABCDEF0000000002"),
		"20050432100000001abcdef0000000002");
}

static void t10_and_other_text(void **state)
{
	(void)state;
	assert_string_equal(
		canonical("t10.ATA     QEMU HARDDISK                           QM00005 "),
		"1ATA_QEMU_HARDDISK_QM00005");
	assert_string_equal(canonical("1ATA_QEMU_HARDDISK_QM00005"), "1ATA_QEMU_HARDDISK_QM00005");
	assert_string_equal(
		canonical("mpath-1LIO-ORG_Disk_8d2D"), "1LIO-ORG_Disk_8d2D"); /* case counts */
	assert_string_equal(canonical("iqn.2003-01.org:x,t,0x1"), "8iqn.2003-01.org:x,t,0x1");
	assert_string_equal(canonical("uuid.6DAE3D15-3b61-4bba-b9d2-1d1b86b1f6b5"),
		"uuid.6dae3d15-3b61-4bba-b9d2-1d1b86b1f6b5");
	assert_string_equal(canonical("nvme.1b36-64656164-51454d55-00000001"),
		"nvme.1b36-64656164-51454d55-00000001");
	assert_string_equal(canonical("SQEMU_QEMU_HARDDISK_1"), "SQEMU_QEMU_HARDDISK_1");
}

static void nothing_is_no_name(void **state)
{
	static const char *const empty[] = {"", "\n", "naa.", "naa.\n", "eui.0000000000000000",
		"naa.00000000000000000000000000000000", "wwn-0x", "0x12", "naa.6000zzzz00000000",
		"t10.", "t10.    ", "uuid.", "mpath-"};

	(void)state;
	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
		assert_string_equal(canonical(empty[i]), "");
}

static void long_text_is_cut(void **state)
{
	char text[1024], buf[16];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text, "t10.", 4);
	assert_int_equal(strlen(canonical(text)), 255);
	lb_wwid_canonical(buf, sizeof(buf), text);
	assert_string_equal(buf, "1xxxxxxxxxxxxxx");
}

static void what_a_user_types(void **state)
{
	struct lb_lun lun = {
		.name = "/dev/mapper/mpatha", .wwid = "360002ac0000000000000002300007d1a"};

	(void)state;
	assert_true(lb_wwid_matches(&lun, "360002ac0000000000000002300007d1a"));
	assert_true(lb_wwid_matches(&lun, "naa.60002AC0000000000000002300007D1A"));
	assert_true(lb_wwid_matches(&lun, "wwn-0x60002ac0000000000000002300007d1a"));
	assert_false(lb_wwid_matches(&lun, "360002ac0000000000000002300007d1"));
	assert_false(lb_wwid_matches(&lun, "360002ac0000000000000002300007d1b"));
	assert_false(lb_wwid_matches(&lun, "60002ac0000000000000002300007d1a"));
	assert_false(
		lb_wwid_matches(&lun, "/dev/mapper/mpatha")); /* it has a WWID: a name may move */
	assert_false(lb_wwid_matches(&lun, ""));
	lun.wwid[0] = '\0';
	assert_true(lb_wwid_matches(&lun, "/dev/mapper/mpatha"));
	assert_false(lb_wwid_matches(&lun, "mpatha"));
	assert_false(lb_wwid_matches(&lun, ""));
	assert_false(lb_wwid_matches(&lun, "naa."));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(naa),
		cmocka_unit_test(eui),
		cmocka_unit_test(t10_and_other_text),
		cmocka_unit_test(nothing_is_no_name),
		cmocka_unit_test(long_text_is_cut),
		cmocka_unit_test(what_a_user_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
