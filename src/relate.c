#include "relate.h"

#include <errno.h>
#include <linux/loop.h>
#include <linux/major.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

/* Where the bytes of a LUN lie, one step down: a loop device's are those of what is behind it. */
struct extent {
	dev_t dev;
	ino_t ino; /* 0: of a device */
	uint64_t start, end;
	struct lb_lun *lun;
};

/* A device and the LUN that it is, or that it is a path of. */
struct owner {
	dev_t dev;
	struct lb_lun *lun;
};

struct relation {
	struct lb_lun *luns;
	size_t n;
	const struct lb_stack *stack;
	bool for_writing;
	struct extent *extents;    /* n */
	struct lb_lun **by_wwid;   /* n */
	struct owner *given, *map; /* n; one for each path of a map */
	size_t n_given, n_map;
};

static struct extent extent_of(struct lb_lun *lun)
{
	struct extent e = {.dev = lun->dev, .end = lun->size_bytes, .lun = lun};
	struct loop_info64 info;

	if (lun->kind != LB_LUN_BLOCK) {
		e.ino = lun->ino;
	} else if (major(lun->dev) == LOOP_MAJOR && !ioctl(lun->fd, LOOP_GET_STATUS64, &info)) {
		/* numbered as the kernel packs them, which below 2^32 is as dev_t does */
		bool is_file = !info.lo_rdevice;

		e.dev = is_file ? info.lo_device : info.lo_rdevice;
		e.ino = is_file ? info.lo_inode : 0;
		e.start = info.lo_offset;
		e.end = info.lo_offset + lun->size_bytes;
	}
	return e;
}

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_extent(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;
	int o = order(x->dev, y->dev);

	o = o ? o : order(x->ino, y->ino);
	o = o ? o : order(x->start, y->start);
	return o ? o : order((uintptr_t)x->lun, (uintptr_t)y->lun); /* as they were given */
}

static int by_wwid(const void *a, const void *b)
{
	const struct lb_lun *x = *(struct lb_lun *const *)a, *y = *(struct lb_lun *const *)b;
	int o = strcmp(x->wwid, y->wwid);

	o = o ? o : order(x->size_bytes, y->size_bytes);
	return o ? o : order((uintptr_t)x, (uintptr_t)y);
}

static int by_owner(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;

	return order(x->dev, y->dev);
}

/* ---- the same storage ---- */

static void refuse_twin(struct lb_lun *a, struct lb_lun *b)
{
	struct lb_lun *first = a < b ? a : b, *lun = a < b ? b : a;

	if (lun->fate != LB_FATE_USED)
		return;
	if (lun->kind == first->kind && lun->dev == first->dev)
		lb_lun_refuse(lun, LB_ST_USAGE, "the same %s as %s: give it once",
			lun->kind == LB_LUN_BLOCK ? "device" : "file", first->name);
	else
		lb_lun_refuse(lun, LB_ST_USAGE,
			"the same storage as %s, by a loop device: give one of them", first->name);
}

static void refuse_twins(struct relation *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		if (r->luns[i].fate == LB_FATE_USED)
			r->extents[n++] = extent_of(&r->luns[i]);
	qsort(r->extents, n, sizeof(*r->extents), by_extent);
	for (size_t i = 1, longest = 0; i < n; i++) {
		const struct extent *e = &r->extents[i], *l = &r->extents[longest];
		bool is_same = e->dev == l->dev && e->ino == l->ino;

		if (is_same && e->start < l->end)
			refuse_twin(l->lun, e->lun);
		if (!is_same || e->end > l->end)
			longest = i;
	}
}

/* ---- paths of one LUN ---- */

static void refuse_path(struct lb_lun *path, const struct lb_lun *map)
{
	if (path->fate == LB_FATE_USED)
		lb_lun_refuse(path, LB_ST_USAGE,
			"a path of %s, which is given too: give the map alone", map->name);
}

/* LUN and FIRST are one, by WWID and size. */
static void refuse_same_wwid(struct lb_lun *lun, const struct lb_lun *first)
{
	const char *map = lun->map[0] ? lun->map : first->map;

	if (!strcmp(first->dm_type, "mpath"))
		refuse_path(lun, first);
	else if (map[0])
		lb_lun_refuse(lun, LB_ST_USAGE,
			"the same LUN as %s, by another path (WWID %s): give their map "
			"/dev/mapper/%s",
			first->name, lun->wwid, map);
	else
		lb_lun_refuse(lun, LB_ST_USAGE,
			"the same LUN as %s, by another path (WWID %s): give one of them, or set "
			"multipath up and give the map",
			first->name, lun->wwid);
}

/* The N LUNs at FIRST have one WWID. */
static void settle_wwid(struct lb_lun **first, size_t n)
{
	size_t end;

	for (size_t i = 0; i < n; i = end) {
		struct lb_lun *keep = first[i];

		for (end = i; end < n && first[end]->size_bytes == first[i]->size_bytes; end++)
			if (!strcmp(first[end]->dm_type, "mpath") && strcmp(keep->dm_type, "mpath"))
				keep = first[end];
		for (size_t k = i; k < end; k++) {
			first[k]->wwid_not_unique = end - i < n;
			if (first[k] != keep)
				refuse_same_wwid(first[k], keep);
		}
	}
}

static void settle_wwids(struct relation *r)
{
	size_t n = 0, end;

	for (size_t i = 0; i < r->n; i++)
		if (r->luns[i].fate == LB_FATE_USED && r->luns[i].wwid[0])
			r->by_wwid[n++] = &r->luns[i];
	qsort(r->by_wwid, n, sizeof(struct lb_lun *), by_wwid);
	for (size_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n && !strcmp(r->by_wwid[end]->wwid, r->by_wwid[i]->wwid);
			end++)
			;
		settle_wwid(&r->by_wwid[i], end - i);
	}
}

/* ---- one inside another ---- */

static struct lb_lun *owner_of(const struct owner *owners, size_t n, dev_t dev)
{
	struct owner key = {.dev = dev}, *found;

	found = n ? bsearch(&key, owners, n, sizeof(key), by_owner) : NULL;
	return found ? found->lun : NULL;
}

static void list_owners(struct relation *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->luns[i].fate == LB_FATE_USED && r->luns[i].kind == LB_LUN_BLOCK)
			r->given[r->n_given++] = (struct owner){r->luns[i].dev, &r->luns[i]};
	qsort(r->given, r->n_given, sizeof(*r->given), by_owner);
	for (size_t i = 0; i < r->stack->n_below; i++) {
		const struct lb_below *b = &r->stack->below[i];

		if (b->is_path && r->luns[b->lun].fate == LB_FATE_USED)
			r->map[r->n_map++] = (struct owner){b->dev, &r->luns[b->lun]};
	}
	qsort(r->map, r->n_map, sizeof(*r->map), by_owner);
}

static void settle_paths(struct relation *r)
{
	for (size_t i = 0; i < r->n_map; i++) {
		struct lb_lun *path = owner_of(r->given, r->n_given, r->map[i].dev);

		if (path)
			refuse_path(path, r->map[i].lun);
	}
}

/* What B's LUN lies inside of, or NULL. */
static struct lb_lun *outer_of(const struct relation *r, const struct lb_below *b)
{
	struct lb_lun *outer = b->is_path ? NULL : owner_of(r->given, r->n_given, b->dev);

	outer = outer ? outer : owner_of(r->map, r->n_map, b->dev);
	return outer == &r->luns[b->lun] || (outer && outer->fate == LB_FATE_REFUSED) ? NULL
										      : outer;
}

static void settle_inner(struct relation *r)
{
	for (size_t i = 0; i < r->stack->n_below; i++) {
		struct lb_lun *lun = &r->luns[r->stack->below[i].lun];

		if (lun->fate == LB_FATE_USED && outer_of(r, &r->stack->below[i]))
			lun->fate = LB_FATE_PASSED_OVER;
	}
	/* only now is it known which is the outermost: that one is named */
	for (size_t i = 0; i < r->stack->n_below; i++) {
		struct lb_lun *lun = &r->luns[r->stack->below[i].lun];
		const struct lb_lun *outer = outer_of(r, &r->stack->below[i]);

		if (lun->fate != LB_FATE_PASSED_OVER || lun->why[0] || !outer ||
			outer->fate != LB_FATE_USED)
			continue;
		if (r->for_writing)
			lb_lun_refuse(lun, LB_ST_USAGE,
				"lies inside %s, which is given too: give one of them",
				outer->name);
		else
			snprintf(lun->why, sizeof(lun->why),
				"lies inside %.400s, which is measured whole", outer->name);
	}
}

int lb_luns_relate(struct lb_lun *luns, size_t n, const struct lb_stack *stack, bool for_writing,
	struct lb_err *err)
{
	struct relation r = {.luns = luns, .n = n, .stack = stack, .for_writing = for_writing};
	int rc = 0;

	r.extents = calloc(n + 1, sizeof(*r.extents));
	r.by_wwid = calloc(n + 1, sizeof(struct lb_lun *));
	r.given = calloc(n + 1, sizeof(*r.given));
	r.map = calloc(stack->n_below + 1, sizeof(*r.map));
	if (stack->is_short || !r.extents || !r.by_wwid || !r.given || !r.map) {
		rc = lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "no memory for %zu targets", n);
	} else {
		refuse_twins(&r);
		list_owners(&r);
		settle_paths(&r);
		settle_wwids(&r);
		settle_inner(&r);
	}
	free(r.extents);
	free(r.by_wwid);
	free(r.given);
	free(r.map);
	return rc;
}
