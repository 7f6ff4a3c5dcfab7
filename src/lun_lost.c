#include "lun_lost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "sysfs.h"
#include "units.h"

#define LOOK_NS   (1 * LB_NSEC_PER_SEC) /* between two looks, at all or at suspects */
#define TURN_LUNS 8u                    /* closer looks in a turn: each is some 75 system calls */

/*
 * Asked of the descriptor that is held, whose position nobody uses: no name, no I/O. A device that
 * was deleted has none.
 */
static uint64_t size_now(const struct lb_lun *lun)
{
	off_t end = lseek(lun->fd, 0, SEEK_END);

	return end > 0 ? (uint64_t)end : 0;
}

static bool has_shrunk(const struct lb_lun *lun, char *why, size_t n)
{
	char was[32], is[32];
	uint64_t size = size_now(lun);

	if (size >= lun->size_bytes)
		return false;
	if (size)
		snprintf(why, n, "shrunk from %s to %s",
			lb_format_size(was, sizeof(was), lun->size_bytes),
			lb_format_size(is, sizeof(is), size));
	else
		snprintf(why, n, "the device is gone, or empty");
	return true;
}

/* What now has its device number. SEEN: sysfs told of it before. */
static bool is_another(int sysfs, const struct lb_lun *lun, bool seen, char *why, size_t n)
{
	char name[64], suspended[128];
	struct lb_lun *now;
	int dir = lb_sysfs_device(sysfs, lun->dev, name, sizeof(name));
	bool is;

	if (dir < 0) {
		snprintf(why, n, "the device is gone");
		return seen;
	}
	close(dir);
	now = calloc(1, sizeof(*now));
	if (!now)
		return false;
	now->kind = lun->kind;
	now->dev = lun->dev;
	lb_sysfs_describe(sysfs, now, suspended);
	is = now->wwid[0] && lun->wwid[0] && strcmp(now->wwid, lun->wwid) != 0;
	if (is)
		snprintf(why, n, "another LUN is in its place: %.64s", now->wwid);
	free(now);
	return is;
}

static void look_at(struct lb_lost_watch *l, uint32_t i, bool closely, uint64_t now_ns)
{
	struct lb_board *b = l->board;
	const struct lb_lun *lun = b->plan->luns[i];
	bool seen = atomic_load(&b->lun_states[i].has_kernel_stat) != 0;
	char why[120];

	if (atomic_load_explicit(&b->lun_states[i].retired_ns, memory_order_relaxed))
		return;
	if (has_shrunk(lun, why, sizeof(why)) ||
		(closely && lun->kind == LB_LUN_BLOCK &&
			is_another(l->sysfs, lun, seen, why, sizeof(why))))
		lb_lun_retire(b, i, now_ns, why);
}

void lb_lost_init(struct lb_lost_watch *l, struct lb_board *board, int sysfs, uint64_t now_ns)
{
	/* the first suspects are looked at at once */
	*l = (struct lb_lost_watch){
		.board = board, .sysfs = sysfs, .all_ns = now_ns, .suspects_ns = now_ns - LOOK_NS};
}

void lb_lost_done(struct lb_lost_watch *l)
{
	if (l->sysfs >= 0)
		close(l->sysfs);
}

uint64_t lb_lost_look(struct lb_lost_watch *l, uint64_t now_ns)
{
	struct lb_board *b = l->board;
	uint32_t n = b->plan->n_luns;
	uint64_t all_ns, suspects_ns;

	if (atomic_load(&b->has_suspects) && now_ns >= l->suspects_ns + LOOK_NS) {
		atomic_store(&b->has_suspects, 0);
		for (uint32_t i = 0; i < n; i++)
			if (atomic_exchange(&b->lun_states[i].is_suspect, 0))
				look_at(l, i, true, now_ns);
		l->suspects_ns = now_ns;
	}
	if (now_ns >= l->all_ns + LOOK_NS) {
		for (uint32_t i = 0; i < n; i++)
			look_at(l, i, (i + n - l->turn) % n < TURN_LUNS, now_ns);
		l->turn = (l->turn + TURN_LUNS) % n;
		l->all_ns = now_ns;
	}
	all_ns = l->all_ns + LOOK_NS;
	suspects_ns = atomic_load(&b->has_suspects) ? l->suspects_ns + LOOK_NS : LB_NEVER;
	return all_ns < suspects_ns ? all_ns : suspects_ns;
}
