#include "guard_family.h"

#include <stdlib.h>

#include "guard_sys.h"

#define DEPTH_MAX   16
#define MEMBERS_MAX 8192

static bool is_same(const struct lb_guard_id *a, const struct lb_guard_id *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

const struct lb_member *lb_family_find(const struct lb_family *f, const struct lb_guard_id *id)
{
	for (size_t i = 0; i < f->n; i++) {
		if (is_same(&f->members[i].id, id))
			return &f->members[i];
	}
	return NULL;
}

/* False: it is known already, or there is no room (then the family is cut). */
static bool enter(struct lb_family *f, struct lb_guard_id id)
{
	if (lb_family_find(f, &id))
		return false;
	if (f->n == f->room) {
		size_t room = f->room ? 2 * f->room : 64;
		struct lb_member *members =
			room > MEMBERS_MAX ? NULL : realloc(f->members, room * sizeof(*members));

		if (!members) {
			f->is_cut = true;
			return false;
		}
		f->members = members;
		f->room = room;
	}
	f->members[f->n++] = (struct lb_member){.role = f->role, .depth = f->depth, .id = id};
	return true;
}

static void climb(struct lb_family *f, struct lb_guard_id id);

static bool climb_to(void *arg, dev_t dev, const char *name)
{
	struct lb_family *f = (struct lb_family *)arg;
	struct lb_guard_id id = {.dev = dev};

	(void)name;
	if (f->depth > DEPTH_MAX)
		f->is_cut = true;
	else if (enter(f, id))
		climb(f, id);
	return true;
}

static void climb_loops(struct lb_family *f, const struct lb_guard_id *id)
{
	for (size_t i = 0; i < f->scan->n; i++) {
		const struct lb_user *u = &f->scan->users[i];

		if (u->kind == LB_USER_LOOP && is_same(&u->id, id))
			climb_to(f, u->loop, NULL);
	}
}

/* What lies on ID: its partitions, its holders, and loop devices over it; and what lies on those.
 */
static void climb(struct lb_family *f, struct lb_guard_id id)
{
	enum lb_role role = f->role;

	f->depth++;
	f->role = role == LB_ROLE_SELF ? LB_ROLE_PART : LB_ROLE_ABOVE;
	if (!id.ino && lb_guard_sys_partitions(id.dev, climb_to, f))
		f->is_cut = true;
	f->role = LB_ROLE_ABOVE;
	if (!id.ino && lb_guard_sys_links(id.dev, "holders", climb_to, f))
		f->is_cut = true;
	climb_loops(f, &id);
	f->role = role;
	f->depth--;
}

static const struct lb_user *loop_of(const struct lb_scan *scan, dev_t dev)
{
	for (size_t i = 0; i < scan->n; i++) {
		if (scan->users[i].kind == LB_USER_LOOP && scan->users[i].loop == dev)
			return &scan->users[i];
	}
	return NULL;
}

static bool overlap(const struct lb_user *a, const struct lb_user *b)
{
	return (!b->end || a->start < b->end) && (!a->end || b->start < a->end);
}

/*
 * A loop device claims nothing of what it lies on, so whoever uses that, or has another loop over
 * the same bytes, uses the LUN as if it were used itself.
 */
static void look_behind_loop(struct lb_family *f, const struct lb_user *loop)
{
	for (size_t i = 0; i < f->scan->n; i++) {
		const struct lb_user *u = &f->scan->users[i];

		if (u->kind == LB_USER_LOOP && u->loop != loop->loop &&
			is_same(&u->id, &loop->id) && overlap(u, loop)) {
			f->role = LB_ROLE_ABOVE;
			climb_to(f, u->loop, NULL);
		}
	}
	f->role = LB_ROLE_BELOW;
	if (!enter(f, loop->id) || loop->id.ino)
		return;
	f->role = LB_ROLE_ABOVE; /* its partitions and holders */
	if (lb_guard_sys_partitions(loop->id.dev, climb_to, f) ||
		lb_guard_sys_links(loop->id.dev, "holders", climb_to, f))
		f->is_cut = true;
}

static bool descend_to(void *arg, dev_t dev, const char *name);

/* What DEV lies on: its disk, its slaves, what is behind a loop device; and what those lie on. */
static void descend(struct lb_family *f, dev_t dev)
{
	const struct lb_user *loop = loop_of(f->scan, dev);
	dev_t disk = lb_guard_sys_disk(dev);

	if (++f->depth > DEPTH_MAX)
		f->is_cut = true;
	else {
		if (disk)
			descend_to(f, disk, NULL);
		if (lb_guard_sys_links(dev, "slaves", descend_to, f))
			f->is_cut = true;
		if (loop) {
			look_behind_loop(f, loop);
			if (!loop->id.ino)
				descend(f, loop->id.dev);
		}
	}
	f->depth--;
}

static bool descend_to(void *arg, dev_t dev, const char *name)
{
	struct lb_family *f = (struct lb_family *)arg;

	struct lb_guard_id id = {.dev = dev};

	(void)name;
	f->role = LB_ROLE_BELOW;
	if (!enter(f, id))
		return true;
	f->role = LB_ROLE_ABOVE;
	climb_loops(f, &id);
	descend(f, dev);
	return true;
}

void lb_family_gather(struct lb_family *f, const struct lb_scan *scan, const struct lb_lun *lun)
{
	struct lb_guard_id self = {.dev = lun->dev};

	*f = (struct lb_family){.scan = scan};
	if (lun->kind != LB_LUN_BLOCK)
		self.ino = lun->ino;
	f->role = LB_ROLE_SELF;
	f->depth = 0;
	enter(f, self);
	climb(f, self);
	if (!self.ino)
		descend(f, self.dev);
}

void lb_family_done(struct lb_family *f)
{
	free(f->members);
	f->members = NULL;
}
