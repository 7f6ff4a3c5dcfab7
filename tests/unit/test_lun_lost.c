/* LUNs that go or change while they are measured: memory stands in for devices, a tree for sysfs.
 */
#include "tree.h"

#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "lun_lost.h"
#include "made.h"

#define N_LUNS 20
#define BYTES  (100ll << 30)

/* N_LUNS LUNs of 100 GiB, the I-th with device number 8:I and WWID 3600...I. */
static struct made *twenty(struct tree *t, struct lb_lost_watch *l)
{
	struct made *m = made_new(N_LUNS, 1, 4);
	char numbers[16], dir[16], wwid[48];

	for (uint32_t i = 0; i < N_LUNS; i++) {
		struct lb_lun *lun = &m->board.luns[i];

		lun->fd = memfd_create("lun", MFD_CLOEXEC);
		assert_int_equal(ftruncate(lun->fd, BYTES), 0);
		lun->kind = LB_LUN_BLOCK;
		lun->dev = makedev(8, i);
		m->board.lun_states[i].has_kernel_stat = 1;
		snprintf(numbers, sizeof(numbers), "8:%u", i);
		snprintf(dir, sizeof(dir), "sd%u", i);
		number(t, numbers, dir);
		snprintf(wwid, sizeof(wwid), "naa.60002ac000000000000002300000%04u", i);
		put(t, dir, "device/wwid", wwid);
		snprintf(lun->wwid, sizeof(lun->wwid), "360002ac000000000000002300000%04u", i);
	}
	lb_lost_init(l, &m->board, dup(t->block_fd), MADE_OPEN_NS);
	return m;
}

static void twenty_done(struct made *m, struct lb_lost_watch *l)
{
	lb_lost_done(l);
	for (uint32_t i = 0; i < N_LUNS; i++)
		close(m->board.luns[i].fd);
	made_done(m);
}

static const char *why(const struct made *m, uint32_t i)
{
	return m->board.lun_states[i].retired_why;
}

static void once_a_second_sizes_are_looked_at(void **state)
{
	struct lb_lost_watch l;
	struct made *m = twenty(*state, &l);

	assert_int_equal(ftruncate(m->board.luns[17].fd, BYTES / 2), 0);
	assert_int_equal(ftruncate(m->board.luns[18].fd, 0), 0);
	assert_int_equal(ftruncate(m->board.luns[19].fd, BYTES * 2), 0); /* no harm is done */
	assert_int_equal(lb_lost_look(&l, MADE_OPEN_NS + SEC - 1), MADE_OPEN_NS + SEC);
	assert_int_equal(m->board.n_retired, 0);
	assert_int_equal(lb_lost_look(&l, MADE_OPEN_NS + SEC), MADE_OPEN_NS + 2 * SEC);
	assert_int_equal(m->board.n_retired, 2);
	assert_int_equal(m->board.lun_states[17].retired_ns, MADE_OPEN_NS + SEC);
	assert_string_equal(why(m, 17), "shrunk from 100G to 50G");
	assert_string_equal(why(m, 18), "the device is gone, or empty");
	twenty_done(m, &l);
}

static void a_file_too(void **state)
{
	struct lb_lost_watch l;
	struct made *m = twenty(*state, &l);

	m->board.luns[3].kind = LB_LUN_FILE;
	m->board.luns[3].dev = makedev(254, 1); /* its file system's */
	lb_lost_look(&l, MADE_OPEN_NS + SEC);
	assert_int_equal(m->board.n_retired, 0);
	assert_int_equal(ftruncate(m->board.luns[3].fd, 512), 0);
	lb_lost_look(&l, MADE_OPEN_NS + 2 * SEC);
	assert_string_equal(why(m, 3), "shrunk from 100G to 512");
	twenty_done(m, &l);
}

/* Device I was taken away. */
static void take_away(struct tree *t, uint32_t i)
{
	char link[32];

	snprintf(link, sizeof(link), "dev/block/8:%u", i);
	assert_int_equal(unlinkat(t->root_fd, link, 0), 0);
}

static void suspects_are_looked_at_soon(void **state)
{
	struct tree *t = *state;
	struct lb_lost_watch l;
	struct made *m = twenty(t, &l);

	take_away(t, 12);
	put(t, "sd13", "device/wwid", "naa.60002ac0000000000000023000009999");
	m->board.lun_states[12].is_suspect = m->board.lun_states[13].is_suspect = 1;
	m->board.lun_states[14].is_suspect = m->board.has_suspects = 1;
	assert_int_equal(lb_lost_look(&l, MADE_OPEN_NS + 10 * MS), MADE_OPEN_NS + SEC);
	assert_int_equal(m->board.n_retired, 2);
	assert_string_equal(why(m, 12), "the device is gone");
	assert_string_equal(
		why(m, 13), "another LUN is in its place: 360002ac0000000000000023000009999");
	assert_int_equal(m->board.has_suspects, 0);
	assert_int_equal(m->board.lun_states[14].is_suspect, 0); /* and may be one again */
	/* the next have to wait */
	take_away(t, 14);
	m->board.lun_states[14].is_suspect = m->board.has_suspects = 1;
	lb_lost_look(&l, MADE_OPEN_NS + SEC);
	assert_int_equal(
		lb_lost_look(&l, MADE_OPEN_NS + SEC + 9 * MS), MADE_OPEN_NS + SEC + 10 * MS);
	assert_int_equal(m->board.n_retired, 2);
	lb_lost_look(&l, MADE_OPEN_NS + SEC + 10 * MS);
	assert_int_equal(m->board.n_retired, 3);
	twenty_done(m, &l);
}

static void the_others_have_their_turn(void **state)
{
	struct tree *t = *state;
	struct lb_lost_watch l;
	struct made *m = twenty(t, &l);

	take_away(t, 0);
	take_away(t, 19);
	for (uint64_t s = 1; s <= 3; s++) { /* eight a second */
		lb_lost_look(&l, MADE_OPEN_NS + s * SEC);
		assert_int_equal(m->board.n_retired, s < 3 ? 1 : 2);
	}
	assert_int_equal(m->board.lun_states[19].retired_ns, MADE_OPEN_NS + 3 * SEC);
	twenty_done(m, &l);
}

static void what_sysfs_never_told_of_is_not_missed(void **state)
{
	struct tree *t = *state;
	struct lb_lost_watch l;
	struct made *m = twenty(t, &l);

	take_away(t, 0);
	m->board.lun_states[0].has_kernel_stat = 0;
	m->board.luns[1].wwid[0] = '\0';
	put(t, "sd2", "device/wwid", "");
	lb_lost_look(&l, MADE_OPEN_NS + SEC);
	assert_int_equal(m->board.n_retired, 0);
	twenty_done(m, &l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_TREE(once_a_second_sizes_are_looked_at),
		ON_TREE(a_file_too),
		ON_TREE(suspects_are_looked_at_soon),
		ON_TREE(the_others_have_their_turn),
		ON_TREE(what_sysfs_never_told_of_is_not_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
