/* What changes in sysfs becomes an event: states, suspension, size, live paths, devices that go. */
#include "tree.h"

#include <sys/sysmacros.h>

#include "devwatch.h"
#include "made.h"

struct bench {
	struct tree *t;
	struct made *m;
	struct lb_devwatch *w;
	uint32_t n_seen;
};

/* Two paths below a map (LUN 0), and a SCSI disk by itself (LUN 1). */
static void begin(struct bench *b, void **state)
{
	struct tree *t = *state;
	struct lb_lun *map, *disk;

	*b = (struct bench){.t = t, .m = made_new(2, 1, 1)};
	map = b->m->plan.luns[0];
	disk = b->m->plan.luns[1];
	map->kind = disk->kind = LB_LUN_BLOCK;
	map->dev = makedev(254, 0);
	map->n_paths = 2;
	strcpy(map->dm_type, "mpath");
	disk->dev = makedev(8, 0);
	number(t, "254:0", "dm-0");
	number(t, "8:16", "sdb");
	number(t, "8:32", "sdc");
	number(t, "8:0", "sda");
	put(t, "dm-0", "size", "2048");
	put(t, "dm-0/dm", "suspended", "0");
	put(t, "sda", "size", "4096");
	put(t, "sda/device", "state", "running");
	put(t, "sdb/device", "state", "running");
	put(t, "sdc/device", "state", "running");
	below(t, "dm-0", "sdb", "sdb");
	below(t, "dm-0", "sdc", "sdc");
	assert_int_equal(lb_devwatch_make(&b->w, &b->m->board, t->block_fd, -1), 0);
	lb_devwatch_look(b->w, MADE_OPEN_NS);
	assert_int_equal(b->m->board.events.n, 0);
	assert_int_equal(lb_devwatch_n(b->w), 6);
}

static void end(struct bench *b)
{
	lb_devwatch_done(b->w);
	made_done(b->m);
}

/* The events of a look at second AT, in words, each ending in a newline. */
static const char *look(struct bench *b, uint64_t at)
{
	static const char *const names[] = {"mpatha", "/dev/sda"};
	static char all[1024];
	size_t len = 0;

	lb_devwatch_look(b->w, MADE_OPEN_NS + at * SEC);
	all[0] = '\0';
	for (; b->n_seen < b->m->board.events.n; b->n_seen++) {
		const struct lb_event *ev = &b->m->board.events.at[b->n_seen];
		struct lb_event_fold f = {0};
		char words[256];

		assert_int_equal(ev->begin_ns, MADE_OPEN_NS + at * SEC);
		lb_event_fold_add(&f, ev, ev->begin_ns);
		lb_event_words(words, sizeof(words), &f, names, false);
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s\n", words);
	}
	return all;
}

static void states_are_told_when_they_change(void **state)
{
	struct bench b;

	begin(&b, state);
	assert_string_equal(look(&b, 1), "");
	put(b.t, "sdc/device", "state", "blocked");
	put(b.t, "sda/device", "state", "offline");
	assert_string_equal(look(&b, 2), "sdc: running -> blocked (path of mpatha)\n"
					 "mpatha: 1 live path, before it 2\n"
					 "/dev/sda: running -> offline\n");
	assert_string_equal(look(&b, 3), "");
	put(b.t, "sdc/device", "state", "transport-offline");
	assert_string_equal(look(&b, 4), "sdc: blocked -> transport-offline (path of mpatha)\n");
	put(b.t, "sdc/device", "state", "running");
	assert_string_equal(look(&b, 5), "sdc: transport-offline -> running (path of mpatha)\n"
					 "mpatha: 2 live paths, before it 1\n");
	end(&b);
}

static void a_suspension_has_its_end(void **state)
{
	struct bench b;
	const struct lb_event *ev;

	begin(&b, state);
	put(b.t, "dm-0/dm", "suspended", "1");
	assert_string_equal(look(&b, 3), "mpatha: suspended for 0.000 s\n");
	ev = &b.m->board.events.at[0];
	assert_true(ev->end_ns == LB_NEVER);
	assert_string_equal(look(&b, 4), "");
	put(b.t, "dm-0/dm", "suspended", "0");
	assert_string_equal(look(&b, 13), "");
	assert_int_equal(ev->end_ns, MADE_OPEN_NS + 13 * SEC);
	end(&b);
}

static void a_size_is_told_in_bytes(void **state)
{
	struct bench b;

	begin(&b, state);
	put(b.t, "sda", "size", "1024");
	assert_string_equal(look(&b, 1), "/dev/sda: now of 524288 bytes, before it 2097152\n");
	end(&b);
}

/* sysfs gives an error for what has gone, here it is an empty file. */
static void what_has_gone_may_come_back(void **state)
{
	struct bench b;

	begin(&b, state);
	put_bytes(b.t, "devices/sdb/device/state", "", 0);
	assert_string_equal(look(&b, 1), "sdb: running -> gone (path of mpatha)\n"
					 "mpatha: 1 live path, before it 2\n");
	assert_string_equal(look(&b, 2), "");
	put(b.t, "sdb/device", "state", "running");
	assert_string_equal(look(&b, 3), "sdb: gone -> running (path of mpatha)\n"
					 "mpatha: 2 live paths, before it 1\n");
	/* a disk has its state to say so, and its size says nothing more */
	put_bytes(b.t, "devices/sda/size", "", 0);
	put_bytes(b.t, "devices/sda/device/state", "", 0);
	assert_string_equal(look(&b, 4), "/dev/sda: running -> gone\n");
	/* a map without one */
	put_bytes(b.t, "devices/dm-0/size", "", 0);
	assert_string_equal(look(&b, 5), "mpatha: present -> gone\n");
	put(b.t, "dm-0", "size", "2048");
	assert_string_equal(look(&b, 6), "mpatha: gone -> present\n");
	end(&b);
}

static void a_path_that_is_new_is_taken_up(void **state)
{
	struct bench b;

	begin(&b, state);
	number(b.t, "8:48", "sdd");
	put(b.t, "sdd/device", "state", "running");
	below(b.t, "dm-0", "sdd", "sdd");
	put_bytes(b.t, "devices/sdb/device/state", "", 0);
	assert_string_equal(look(&b, 1), "sdb: running -> gone (path of mpatha)\n"
					 "sdd: gone -> running (path of mpatha)\n");
	end(&b);
}

/* The kernel joins an NVMe namespace's paths; a partition's disk is what has states. */
static void nvme_and_partitions(void **state)
{
	struct tree *t = *state;
	struct bench b;
	struct lb_lun *ns, *part;

	b = (struct bench){.t = t, .m = made_new(2, 1, 1)};
	ns = b.m->plan.luns[0];
	part = b.m->plan.luns[1];
	ns->kind = part->kind = LB_LUN_BLOCK;
	ns->dev = makedev(259, 0);
	ns->n_paths = 2;
	ns->paths[0] = (struct lb_path){.name = "nvme0c0n1", .controller = "nvme0"};
	ns->paths[1] = (struct lb_path){.name = "nvme0c1n1", .controller = "nvme1"};
	part->dev = makedev(8, 1);
	number(t, "259:0", "nvme0n1");
	put(t, "nvme0n1", "size", "2048");
	put(t, "nvme0n1/device/nvme0", "state", "live");
	put(t, "nvme0n1/device/nvme1", "state", "live");
	number(t, "8:0", "sda");
	put(t, "sda/device", "state", "running");
	number(t, "8:1", "sda/sda1");
	put(t, "sda/sda1", "partition", "1");
	put(t, "sda/sda1", "size", "100");
	assert_int_equal(lb_devwatch_make(&b.w, &b.m->board, t->block_fd, -1), 0);
	lb_devwatch_look(b.w, MADE_OPEN_NS);
	put(t, "nvme0n1/device/nvme1", "state", "connecting");
	put(t, "sda/device", "state", "offline");
	put(t, "sda/sda1", "size", "90");
	assert_string_equal(look(&b, 1), "nvme0c1n1: live -> connecting (path of mpatha)\n"
					 "mpatha: 1 live path, before it 2\n"
					 "/dev/sda: now of 46080 bytes, before it 51200\n"
					 "/dev/sda: running -> offline\n");
	end(&b);
}

static void files_and_hosts_without_sysfs_have_nothing_to_tell(void **state)
{
	struct bench b = {.t = *state, .m = made_new(1, 1, 1)};

	b.m->plan.luns[0]->kind = LB_LUN_FILE;
	assert_int_equal(lb_devwatch_make(&b.w, &b.m->board, b.t->block_fd, -1), 0);
	assert_string_equal(look(&b, 0), "");
	assert_int_equal(lb_devwatch_n(b.w), 0);
	lb_devwatch_done(b.w);
	b.m->plan.luns[0]->kind = LB_LUN_BLOCK;
	assert_int_equal(lb_devwatch_make(&b.w, &b.m->board, -2, -1), 0);
	assert_string_equal(look(&b, 1), "");
	assert_int_equal(lb_devwatch_n(b.w), 0);
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_TREE(states_are_told_when_they_change),
		ON_TREE(a_suspension_has_its_end),
		ON_TREE(a_size_is_told_in_bytes),
		ON_TREE(what_has_gone_may_come_back),
		ON_TREE(a_path_that_is_new_is_taken_up),
		ON_TREE(nvme_and_partitions),
		ON_TREE(files_and_hosts_without_sysfs_have_nothing_to_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
