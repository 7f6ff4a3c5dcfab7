/* stack.c over trees made for it. */
#include <sys/sysmacros.h>

#include "paths.h"
#include "stack.h"
#include "sysfs.h"
#include "tree.h"

struct seen {
	struct lb_stack stack;
	struct lb_lun lun;
};

/* What is told of MAJ:MIN, LUN number 7; the caller ends it. */
static struct seen *look(struct tree *t, unsigned int maj, unsigned int min)
{
	struct seen *s = calloc(1, sizeof(*s));
	char proc[128], suspended[128];

	assert_non_null(s);
	snprintf(proc, sizeof(proc), "%s/proc", t->root);
	s->lun = (struct lb_lun){.kind = LB_LUN_BLOCK, .dev = makedev(maj, min)};
	lb_stack_init(&s->stack, t->block_fd, proc);
	lb_sysfs_describe(t->block_fd, &s->lun, suspended);
	lb_stack_describe(&s->stack, &s->lun, 7);
	assert_false(s->stack.is_short);
	return s;
}

static void done(struct seen *s)
{
	lb_stack_done(&s->stack);
	free(s);
}

/* NAMES, sorted, with a comma between: directories come in any order. */
static const char *joined(const struct lb_names *names)
{
	static char text[4096];
	const char *sorted[LB_NAMES_MAX];
	uint32_t n = names->n < LB_NAMES_MAX ? names->n : LB_NAMES_MAX;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = i;

		for (; k && strcmp(sorted[k - 1], names->name[i]) > 0; k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = names->name[i];
	}
	text[0] = '\0';
	for (uint32_t i = 0; i < n; i++) {
		strcat(text, i ? "," : "");
		strcat(text, sorted[i]);
	}
	return text;
}

static void put_path(
	struct tree *t, const char *name, const char *numbers, const char *hctl, const char *state)
{
	char target[64], link[64];

	snprintf(target, sizeof(target), "hosts/%s", hctl);
	put(t, target, "state", state);
	snprintf(target, sizeof(target), "hosts/%s", hctl);
	put(t, target, "queue_depth", "32");
	put(t, name, "ro", "0");
	snprintf(target, sizeof(target), "../hosts/%s", hctl);
	snprintf(link, sizeof(link), "devices/%s/device", name);
	assert_int_equal(symlinkat(target, t->root_fd, link), 0);
	number(t, numbers, name);
}

static void put_map(
	struct tree *t, const char *dm, const char *numbers, const char *name, const char *uuid)
{
	put(t, dm, "dm/name", name);
	put(t, dm, "dm/uuid", uuid);
	number(t, numbers, dm);
}

/* mpatha over sda and sdb, its partition mpatha1, and a logical volume on that. */
static void put_lun(struct tree *t)
{
	put_path(t, "sda", "8:0", "2:0:0:1", "running");
	put_path(t, "sdb", "8:16", "3:0:0:1", "offline");
	put_map(t, "dm-0", "253:0", "mpatha", "mpath-360002ac0");
	below(t, "dm-0", "sda", "sda");
	below(t, "dm-0", "sdb", "sdb");
	put_map(t, "dm-1", "253:1", "mpatha1", "part1-mpath-360002ac0");
	below(t, "dm-1", "dm-0", "dm-0");
}

static void put_volume(struct tree *t)
{
	put_map(t, "dm-2", "253:2", "vg-lv", "LVM-abc");
	below(t, "dm-2", "dm-1", "dm-1");
}

static void paths_of_a_map(void **state)
{
	struct tree *t = *state;
	struct seen *s;
	int running;

	put_lun(t);
	s = look(t, 253, 0);
	assert_int_equal(s->lun.n_paths, 2);
	assert_int_equal(s->lun.n_paths_up, 1);
	running = strcmp(s->lun.paths[0].name, "sda") != 0;
	assert_string_equal(s->lun.paths[running].name, "sda");
	assert_string_equal(s->lun.paths[running].hctl, "2:0:0:1");
	assert_string_equal(s->lun.paths[running].state, "running");
	assert_int_equal(s->lun.paths[running].queue_depth, 32);
	assert_string_equal(s->lun.paths[!running].name, "sdb");
	assert_string_equal(s->lun.paths[!running].state, "offline");
	assert_string_equal(joined(&s->lun.lies_on), "sda,sdb");
	assert_string_equal(joined(&s->lun.held_by), "mpatha1");
	assert_string_equal(s->lun.in_use, ""); /* kpartx made that, nobody uses it */
	assert_string_equal(s->lun.map, "");
	assert_int_equal(s->stack.n_below, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(s->stack.below[i].lun, 7);
		assert_true(s->stack.below[i].is_path);
		assert_int_equal(s->stack.below[i].dev, makedev(8, i == running ? 0 : 16));
	}
	done(s);
}

static void a_path(void **state)
{
	struct tree *t = *state;
	struct seen *s;

	put_lun(t);
	s = look(t, 8, 16);
	assert_string_equal(s->lun.map, "mpatha");
	assert_string_equal(joined(&s->lun.held_by), "mpatha,mpatha1");
	assert_string_equal(s->lun.in_use, "held by mpatha");
	assert_int_equal(s->lun.n_paths, 0);
	assert_int_equal(s->stack.n_below, 0);
	done(s);
}

static void what_lies_on_a_map(void **state)
{
	struct tree *t = *state;
	struct seen *s;

	put_lun(t);
	put_volume(t);
	s = look(t, 253, 2);
	assert_string_equal(joined(&s->lun.lies_on), "mpatha,mpatha1,sda,sdb");
	assert_int_equal(s->lun.n_paths, 0); /* the map's, not the volume's */
	assert_int_equal(s->stack.n_below, 4);
	for (int i = 0; i < 4; i++)
		assert_false(s->stack.below[i].is_path);
	done(s);

	s = look(t, 253, 0);
	assert_string_equal(joined(&s->lun.held_by), "mpatha1,vg-lv");
	assert_string_equal(s->lun.in_use, "held by vg-lv");
	done(s);
}

static void a_partition_lies_on_its_disk(void **state)
{
	struct tree *t = *state;
	struct seen *s;

	put_path(t, "sda", "8:0", "2:0:0:1", "running");
	put(t, "sda/sda1", "partition", "1");
	number(t, "8:1", "sda/sda1");
	put(t, "sda/sdaother", "dev", "8:9"); /* no partition */
	put_map(t, "dm-2", "253:2", "vg-lv", "LVM-abc");
	below(t, "dm-2", "sda/sda1", "sda1");

	s = look(t, 8, 1);
	assert_string_equal(joined(&s->lun.lies_on), "sda");
	assert_string_equal(joined(&s->lun.held_by), "vg-lv");
	assert_int_equal(s->stack.n_below, 1);
	assert_int_equal(s->stack.below[0].dev, makedev(8, 0));
	done(s);
	s = look(t, 253, 2);
	assert_string_equal(joined(&s->lun.lies_on), "sda,sda1");
	assert_int_equal(s->stack.n_below, 2);
	done(s);
	s = look(t, 8, 0);
	assert_string_equal(joined(&s->lun.held_by), "vg-lv");
	assert_string_equal(s->lun.in_use, "held by vg-lv");
	assert_string_equal(s->lun.map, "");
	done(s);
}

static void mounts_and_swap(void **state)
{
	static const char mountinfo[] =
		"22 1 0:21 / /proc rw - proc proc rw\n"
		"30 1 253:2 / /u01/a\\040b rw,relatime shared:1 - xfs /dev/mapper/vg-lv rw\n"
		"31 1 8:32 /sub /first rw - ext4 /dev/sdc rw\n"
		"garbage\n";
	struct tree *t = *state;
	struct seen *s;

	put_lun(t);
	put_volume(t);
	put_path(t, "sdc", "8:32", "2:0:0:2", "running");
	put_bytes(t, "proc/self/mountinfo", mountinfo, sizeof(mountinfo) - 1);
	put_bytes(t, "proc/swaps", "Filename\tType\n/dev/null partition 1\n", 36);

	s = look(t, 253, 2);
	assert_string_equal(s->lun.in_use, "mounted on /u01/a b");
	assert_string_equal(joined(&s->lun.held_by), "mounted on /u01/a b");
	done(s);
	s = look(t, 253, 0); /* a use that is known beats a mere holder */
	assert_string_equal(s->lun.in_use, "mounted on /u01/a b (vg-lv)");
	assert_string_equal(joined(&s->lun.held_by), "mounted on /u01/a b,mpatha1,vg-lv");
	done(s);
	s = look(t, 8, 32);
	assert_string_equal(s->lun.in_use, "mounted on /first");
	done(s);
	assert_int_equal(unlinkat(t->root_fd, "proc/self/mountinfo", 0), 0);
	s = look(t, 8, 32);
	assert_string_equal(s->lun.in_use, "");
	done(s);
}

static void circles_end(void **state)
{
	struct tree *t = *state;
	struct seen *s;

	put_map(t, "dm-1", "253:1", "a", "LVM-a");
	put_map(t, "dm-2", "253:2", "b", "LVM-b");
	below(t, "dm-1", "dm-2", "dm-2");
	below(t, "dm-2", "dm-1", "dm-1");
	s = look(t, 253, 1);
	assert_string_equal(joined(&s->lun.lies_on), "b");
	assert_string_equal(joined(&s->lun.held_by), "b");
	done(s);
}

static void more_than_are_kept_are_counted(void **state)
{
	struct tree *t = *state;
	char name[16], numbers[16], hctl[16];
	struct seen *s;

	put_map(t, "dm-0", "253:0", "mpatha", "mpath-360002ac0");
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "sd%d", i);
		snprintf(numbers, sizeof(numbers), "8:%d", i);
		snprintf(hctl, sizeof(hctl), "2:0:%d:1", i);
		put_path(t, name, numbers, hctl, "running");
		below(t, "dm-0", name, name);
	}
	s = look(t, 253, 0);
	assert_int_equal(s->lun.n_paths, 40);
	assert_int_equal(s->lun.n_paths_up, 40);
	assert_int_equal(s->lun.lies_on.n, 40);
	assert_int_equal(s->stack.n_below, 40);
	assert_true(s->lun.paths[LB_PATHS_MAX - 1].name[0] != '\0');
	done(s);
}

/* Controller NUMBER of subsystem 3, to which it links, with a path to the namespaces NSIDS. */
static void put_controller(struct tree *t, int ctrl, const char *transport, const char *address,
	const char *state, const char *nsids)
{
	char dir[32], disk[64], link[96], to[64];

	snprintf(dir, sizeof(dir), "nvme%d", ctrl);
	put(t, dir, "state", state);
	put(t, dir, "transport", transport);
	put(t, dir, "address", address);
	for (; *nsids; nsids++) {
		snprintf(disk, sizeof(disk), "%s/nvme3c%dn%c", dir, ctrl, *nsids);
		put(t, disk, "hidden", "1");
		snprintf(link, sizeof(link), "devices/%s/device", disk);
		snprintf(to, sizeof(to), "../../%s", dir);
		assert_int_equal(symlinkat(to, t->root_fd, link), 0);
	}
	snprintf(link, sizeof(link), "devices/nvme-subsys3/%s", dir);
	snprintf(to, sizeof(to), "../%s", dir);
	assert_int_equal(symlinkat(to, t->root_fd, link), 0);
}

/* As the kernel lays out two namespaces behind three controllers of one subsystem. */
static void put_subsystem(struct tree *t)
{
	put(t, "nvme-subsys3", "model", "HPE Alletra");
	put_controller(t, 0, "tcp", "traddr=10.0.0.5,trsvcid=4420", "live", "12");
	put_controller(t, 11, "fc",
		"traddr=nn-0x2ff70002ac020a3d:pn-0x20310002ac020a3d,"
		"host_traddr=nn-0x20000090fae0b5f4:pn-0x10000090fae0b5f4",
		"connecting", "1");
	put_controller(t, 2, "tcp", "traddr=10.0.0.6,trsvcid=4420", "live", "2");
	put(t, "nvme-subsys3/nvme3n1", "ro", "0");
	number(t, "259:1", "nvme-subsys3/nvme3n1");
	assert_int_equal(
		symlinkat("../../nvme-subsys3", t->root_fd, "devices/nvme-subsys3/nvme3n1/device"),
		0);
}

static const struct lb_path *path_called(const struct lb_lun *lun, const char *name)
{
	for (uint32_t i = 0; i < lun->n_paths; i++)
		if (!strcmp(lun->paths[i].name, name))
			return &lun->paths[i];
	fail_msg("no path %s", name);
	return NULL;
}

static void native_paths_of_nvme(void **state)
{
	struct tree *t = *state;
	const struct lb_path *p;
	struct seen *s;

	put_subsystem(t);
	s = look(t, 259, 1);
	assert_int_equal(s->lun.n_paths, 2); /* nvme2 does not show this one */
	assert_int_equal(s->lun.n_paths_up, 1);
	p = path_called(&s->lun, "nvme3c0n1");
	assert_string_equal(p->controller, "nvme0");
	assert_string_equal(p->state, "live");
	assert_string_equal(p->transport, "tcp");
	assert_string_equal(p->address, "traddr=10.0.0.5,trsvcid=4420");
	assert_string_equal(p->hctl, "");
	assert_string_equal(p->dm_state, "");
	assert_int_equal(p->queue_depth, LB_LUN_UNKNOWN);
	p = path_called(&s->lun, "nvme3c11n1");
	assert_string_equal(p->controller, "nvme11");
	assert_string_equal(p->state, "connecting");
	assert_string_equal(p->address, "traddr=nn-0x2ff70002ac020a3d:pn-0x20310002ac020a3d,"
					"host_traddr=nn-0x20000090fae0b5f4:pn-0x10000090fae0b5f4");
	assert_string_equal(joined(&s->lun.lies_on), ""); /* they are no devices of their own */
	done(s);
}

/* One controller, which the disk belongs to: an NVMe disk has no paths then, as SCSI's has none. */
static void an_nvme_disk_without_multipath(void **state)
{
	struct tree *t = *state;
	struct seen *s;

	put(t, "nvme4", "state", "live");
	put(t, "nvme4", "transport", "pcie");
	put(t, "nvme4/nvme4n1", "ro", "0");
	number(t, "259:2", "nvme4/nvme4n1");
	assert_int_equal(symlinkat("../../nvme4", t->root_fd, "devices/nvme4/nvme4n1/device"), 0);
	s = look(t, 259, 2);
	assert_int_equal(s->lun.n_paths, 0);
	done(s);
}

/* As device-mapper tells them, here by hand: only root may ask. */
static void states_that_device_mapper_tells(void **state)
{
	struct tree *t = *state;
	struct lb_lun lun = {.n_paths = 0};
	struct lb_dmstat dm;

	put_path(t, "sda", "8:0", "2:0:0:1", "running");
	put_path(t, "sdb", "8:16", "3:0:0:1", "running");
	put_path(t, "sdc", "8:32", "4:0:0:1", "offline");
	put_path(t, "sdd", "8:48", "5:0:0:1", "running");
	assert_int_equal(lb_dmstat_parse("2 0 0 0 1 1 A 0 3 0 8:0 A 0 8:16 F 2 8:32 A 0",
				 "0 0 1 1 round-robin 0 3 0", &dm),
		0);
	for (unsigned int i = 0; i < 4; i++) {
		char name[8], numbers[16];
		int dir;

		snprintf(name, sizeof(name), "sd%c", (char)('a' + i));
		snprintf(numbers, sizeof(numbers), "8:%u", 16 * i);
		dir = lb_sysfs_dir(t->block_fd, numbers);
		lb_paths_add(&lun, dir, name, makedev(8, 16 * i), &dm);
		close(dir);
	}
	assert_int_equal(lun.n_paths, 4);
	assert_int_equal(lun.n_paths_up, 2);
	assert_string_equal(lun.paths[0].dm_state, "active");
	assert_string_equal(lun.paths[1].dm_state, "failed");
	assert_string_equal(lun.paths[2].dm_state, "active");
	assert_string_equal(lun.paths[3].dm_state, ""); /* not in its table any more */
	assert_true(lb_path_is_up(&lun.paths[0]) && !lb_path_is_down(&lun.paths[0]));
	assert_true(lb_path_is_down(&lun.paths[1]) && lb_path_is_down(&lun.paths[2]));
	assert_true(lb_path_is_up(&lun.paths[3]));
	assert_false(lb_path_is_up(&(struct lb_path){.name = "sde"}));
	assert_false(lb_path_is_down(&(struct lb_path){.name = "sde"}));
}

static void nothing_is_told(void **state)
{
	struct tree *t = *state;
	struct seen *s = look(t, 8, 99); /* no such device */

	assert_int_equal(s->lun.held_by.n + s->lun.lies_on.n + s->lun.n_paths, 0);
	assert_int_equal(s->stack.n_below, 0);
	done(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_TREE(paths_of_a_map),
		ON_TREE(a_path),
		ON_TREE(what_lies_on_a_map),
		ON_TREE(a_partition_lies_on_its_disk),
		ON_TREE(mounts_and_swap),
		ON_TREE(circles_end),
		ON_TREE(more_than_are_kept_are_counted),
		ON_TREE(native_paths_of_nvme),
		ON_TREE(an_nvme_disk_without_multipath),
		ON_TREE(states_that_device_mapper_tells),
		ON_TREE(nothing_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
