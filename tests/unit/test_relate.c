/* What targets are to each other: rules over LUNs made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

#include "clock.h"
#include "relate.h"

#define MAX  32
#define WWID "360002ac0000000000000002300007d1a"
#define GIB  (1ull << 30)

struct set {
	struct lb_lun luns[MAX];
	size_t n;
	struct lb_below below[MAX];
	struct lb_stack stack;
};

static int make_set(void **state)
{
	struct set *s = calloc(1, sizeof(*s));

	s->stack.below = s->below;
	*state = s;
	return 0;
}

static int free_set(void **state)
{
	free(*state);
	return 0;
}

static struct lb_lun *add(struct set *s, const char *name, dev_t dev, const char *wwid)
{
	struct lb_lun *lun = &s->luns[s->n++];

	*lun = (struct lb_lun){
		.name = name, .fate = LB_FATE_USED, .fd = -1, .dev = dev, .size_bytes = GIB};
	strcpy(lun->wwid, wwid);
	return lun;
}

static struct lb_lun *add_map(struct set *s, const char *name, dev_t dev, const char *wwid)
{
	struct lb_lun *lun = add(s, name, dev, wwid);

	strcpy(lun->dm_type, "mpath");
	return lun;
}

static void lies_on(struct set *s, const struct lb_lun *lun, dev_t dev, bool is_path)
{
	s->below[s->stack.n_below++] =
		(struct lb_below){.lun = (uint32_t)(lun - s->luns), .dev = dev, .is_path = is_path};
}

static void relate(struct set *s, bool for_writing)
{
	struct lb_err err;

	assert_int_equal(lb_luns_relate(s->luns, s->n, &s->stack, for_writing, &err), 0);
}

static void assert_used(const struct lb_lun *lun)
{
	assert_string_equal(lun->why, "");
	assert_int_equal(lun->fate, LB_FATE_USED);
}

static void assert_refused(const struct lb_lun *lun, const char *why)
{
	assert_string_equal(lun->why, why);
	assert_int_equal(lun->fate, LB_FATE_REFUSED);
	assert_int_equal(lun->refusal, LB_ST_USAGE);
}

static void assert_passed_over(const struct lb_lun *lun, const char *why)
{
	assert_string_equal(lun->why, why);
	assert_int_equal(lun->fate, LB_FATE_PASSED_OVER);
}

#define SDA makedev(8, 0)
#define SDB makedev(8, 16)
#define SDC makedev(8, 32)
#define DM0 makedev(253, 0)
#define DM1 makedev(253, 1)
#define DM2 makedev(253, 2)

static void unknown_is_never_the_same(void **state)
{
	struct set *s = *state;

	add(s, "/dev/sda", SDA, "");
	add(s, "/dev/sdb", SDB, "");
	add(s, "/dev/sdc", SDC, WWID);
	relate(s, false);
	for (int i = 0; i < 3; i++) {
		assert_used(&s->luns[i]);
		assert_false(s->luns[i].wwid_not_unique);
	}
}

static void two_paths_without_a_map(void **state)
{
	struct set *s = *state;

	add(s, "/dev/sdb", SDB, WWID);
	add(s, "/dev/sdc", SDC, "3other");
	add(s, "/dev/sda", SDA, WWID);
	relate(s, false);
	assert_used(&s->luns[0]); /* the first that was given */
	assert_used(&s->luns[1]);
	assert_refused(&s->luns[2], "the same LUN as /dev/sdb, by another path (WWID " WWID
				    "): give one of them, or set multipath up and give the map");
}

static void two_paths_whose_map_was_not_given(void **state)
{
	struct set *s = *state;

	add(s, "/dev/sda", SDA, WWID);
	add(s, "/dev/sdb", SDB, WWID);
	strcpy(s->luns[0].map, "mpatha");
	relate(s, false);
	assert_refused(&s->luns[1], "the same LUN as /dev/sda, by another path (WWID " WWID
				    "): give their map /dev/mapper/mpatha");
}

static void a_map_and_its_paths(void **state)
{
	struct set *s = *state;
	struct lb_lun *map;

	add(s, "/dev/sda", SDA, WWID);
	map = add_map(s, "/dev/mapper/mpatha", DM0, WWID);
	add(s, "/dev/sdb", SDB, ""); /* known by slaves/ alone */
	s->luns[2].size_bytes = 2 * GIB;
	add(s, "/dev/sdc", SDC, WWID); /* known by its WWID alone */
	lies_on(s, map, SDA, true);
	lies_on(s, map, SDB, true);
	relate(s, false);
	assert_used(map);
	for (int i = 0; i < 4; i++)
		if (&s->luns[i] != map)
			assert_refused(&s->luns[i],
				"a path of /dev/mapper/mpatha, which is given too: give the map "
				"alone");
	assert_false(map->wwid_not_unique);
}

static void the_same_wwid_and_another_size(void **state)
{
	struct set *s = *state;

	add(s, "/dev/sda", SDA, WWID);
	add(s, "/dev/sdb", SDB, WWID);
	add(s, "/dev/sdc", SDC, "3other");
	s->luns[1].size_bytes = GIB + 512;
	relate(s, true);
	for (int i = 0; i < 3; i++) {
		assert_used(&s->luns[i]);
		assert_int_equal(s->luns[i].wwid_not_unique, i < 2);
	}
}

/* A map, kpartx's map of its partition, and a volume on that. */
static void put_nest(struct set *s)
{
	struct lb_lun *volume = add(s, "/dev/mapper/vg-lv", DM2, "");
	struct lb_lun *part = add(s, "/dev/mapper/mpatha1", DM1, "");
	struct lb_lun *map = add_map(s, "/dev/mapper/mpatha", DM0, WWID);

	lies_on(s, volume, DM1, false);
	lies_on(s, volume, DM0, false);
	lies_on(s, volume, SDA, false);
	lies_on(s, part, DM0, false);
	lies_on(s, part, SDA, false);
	lies_on(s, map, SDA, true);
}

static void the_outer_one_is_read(void **state)
{
	struct set *s = *state;

	put_nest(s);
	relate(s, false);
	/* the outermost is named, whatever lies between */
	assert_passed_over(&s->luns[0], "lies inside /dev/mapper/mpatha, which is measured whole");
	assert_passed_over(&s->luns[1], "lies inside /dev/mapper/mpatha, which is measured whole");
	assert_used(&s->luns[2]);
}

static void inner_ones_are_not_written(void **state)
{
	struct set *s = *state;

	put_nest(s);
	relate(s, true);
	for (int i = 0; i < 2; i++)
		assert_refused(&s->luns[i],
			"lies inside /dev/mapper/mpatha, which is given too: give one of them");
	assert_used(&s->luns[2]);
}

static void a_partition_of_a_path(void **state)
{
	struct set *s = *state;
	struct lb_lun *map = add_map(s, "/dev/mapper/mpatha", DM0, WWID);
	struct lb_lun *part = add(s, "/dev/sda1", makedev(8, 1), "");

	lies_on(s, map, SDA, true);
	lies_on(s, part, SDA, false);
	relate(s, false);
	assert_used(map);
	assert_passed_over(part, "lies inside /dev/mapper/mpatha, which is measured whole");
}

static void neighbours_are_not_nested(void **state)
{
	struct set *s = *state;
	struct lb_lun *a = add(s, "/dev/mapper/vg-a", DM1, "");
	struct lb_lun *b = add(s, "/dev/mapper/vg-b", DM2, "");

	lies_on(s, a, SDA, false);
	lies_on(s, b, SDA, false);
	relate(s, true);
	assert_used(a);
	assert_used(b);
}

static void what_is_refused_already_is_left_alone(void **state)
{
	struct set *s = *state;

	add(s, "/dev/sda", SDA, WWID);
	add(s, "/dev/sdb", SDB, WWID);
	lb_lun_refuse(&s->luns[0], LB_ST_UNAVAILABLE, "its size is 0");
	relate(s, false);
	assert_string_equal(s->luns[0].why, "its size is 0");
	assert_used(&s->luns[1]);
}

static void the_same_device_and_files(void **state)
{
	struct set *s = *state;

	add(s, "/dev/sda", SDA, "");
	add(s, "/dev/disk/x", SDA, "");
	add(s, "f", SDC, "");
	add(s, "g", SDC, "");
	add(s, "./f", SDC, "");
	for (int i = 2; i < 5; i++) {
		s->luns[i].kind = LB_LUN_FILE;
		s->luns[i].ino = i == 3 ? 8 : 7;
	}
	relate(s, false);
	assert_refused(&s->luns[1], "the same device as /dev/sda: give it once");
	assert_used(&s->luns[0]);
	assert_used(&s->luns[2]);
	assert_used(&s->luns[3]);
	assert_refused(&s->luns[4], "the same file as f: give it once");
}

/* 2000 LUNs with four paths each, all given: every path is refused, and soon. */
static void thousands(void **state)
{
	enum { LUNS = 2000, PATHS = 4, ALL = LUNS * (PATHS + 1) };
	struct lb_lun *luns = calloc(ALL, sizeof(*luns));
	struct lb_below *below = calloc(LUNS * PATHS, sizeof(*below));
	struct lb_stack stack = {.below = below};
	struct lb_err err;
	uint64_t began;

	(void)state;
	assert_non_null(luns);
	assert_non_null(below);
	for (uint32_t i = 0; i < ALL; i++) {
		luns[i] = (struct lb_lun){.name = "x",
			.fate = LB_FATE_USED,
			.dev = makedev(i < LUNS ? 253 : 8, i),
			.size_bytes = GIB};
		snprintf(luns[i].wwid, sizeof(luns[i].wwid), "3%u", i % LUNS);
		if (i < LUNS)
			strcpy(luns[i].dm_type, "mpath");
		else if (i % 2) /* the other half is known by the WWID */
			below[stack.n_below++] = (struct lb_below){
				.lun = i % LUNS, .dev = luns[i].dev, .is_path = true};
	}
	began = lb_now_ns();
	assert_int_equal(lb_luns_relate(luns, ALL, &stack, false, &err), 0);
	assert_true(lb_now_ns() - began < LB_NSEC_PER_SEC);
	for (uint32_t i = 0; i < ALL; i++)
		assert_int_equal(luns[i].fate, i < LUNS ? LB_FATE_USED : LB_FATE_REFUSED);
	free(luns);
	free(below);
}

#define ON_SET(f) cmocka_unit_test_setup_teardown(f, make_set, free_set)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_SET(unknown_is_never_the_same),
		ON_SET(two_paths_without_a_map),
		ON_SET(two_paths_whose_map_was_not_given),
		ON_SET(a_map_and_its_paths),
		ON_SET(the_same_wwid_and_another_size),
		ON_SET(the_outer_one_is_read),
		ON_SET(inner_ones_are_not_written),
		ON_SET(a_partition_of_a_path),
		ON_SET(neighbours_are_not_nested),
		ON_SET(what_is_refused_already_is_left_alone),
		ON_SET(the_same_device_and_files),
		cmocka_unit_test(thousands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
