#include "list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/major.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "stack.h"
#include "sysfs.h"

static int no_memory(struct lb_err *err)
{
	return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "no memory for the list");
}

static struct lb_list_row *add_row(struct lb_list *list)
{
	struct lb_list_row *row;

	if (list->n == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		struct lb_list_row *more = reallocarray(list->rows, room, sizeof(*more));

		if (!more)
			return NULL;
		list->rows = more;
		list->room = room;
	}
	row = &list->rows[list->n++];
	memset(row, 0, sizeof(*row));
	row->lun = (struct lb_lun){.kind = LB_LUN_BLOCK, .fd = -1};
	return row;
}

/* All of a block device but its name. */
static void describe(struct lb_list_row *row, struct lb_stack *stack, uint32_t index)
{
	lb_sysfs_describe(stack->sysfs, &row->lun, row->suspended);
	lb_sysfs_measure(stack->sysfs, &row->lun);
	lb_stack_describe(stack, &row->lun, index);
	row->lun.fate = LB_FATE_USED;
}

static void look_at_target(struct lb_list *list, struct lb_list_row *row, struct lb_stack *stack)
{
	struct lb_lun *lun = &row->lun;
	int named = lb_lun_look(lun);

	lun->queue_depth = lun->nr_requests = lun->max_io_bytes = lun->rotational = LB_LUN_UNKNOWN;
	lun->optimal_io_bytes = lun->read_only = LB_LUN_UNKNOWN;
	if (named < 0) {
		if (lun->fate == LB_FATE_REFUSED && list->status != LB_ST_USAGE)
			list->status = lun->refusal;
		return;
	}
	close(named);
	if (lun->kind != LB_LUN_BLOCK) {
		lun->fate = LB_FATE_USED;
		return;
	}
	describe(row, stack, (uint32_t)(row - list->rows));
	if (!lun->kernel_name[0] && stack->sysfs >= 0) { /* a node, and nothing behind it */
		lb_lun_refuse(lun, LB_ST_UNAVAILABLE, "no such device");
		list->status = list->status ? list->status : LB_ST_UNAVAILABLE;
	}
}

/* A disk that is there; what is made on demand and is empty (loop, zram, nbd) has no such link. */
static bool is_hardware(int sysfs, dev_t dev)
{
	char name[64];
	int dir = lb_sysfs_device(sysfs, dev, name, sizeof(name));
	bool is = dir >= 0 && !faccessat(dir, "device", F_OK, 0);

	if (dir >= 0)
		close(dir);
	return is;
}

static bool could_be_lun(const struct lb_lun *lun, int sysfs)
{
	unsigned int kind = major(lun->dev);

	if (kind == RAMDISK_MAJOR || kind == FLOPPY_MAJOR || kind == SCSI_CDROM_MAJOR)
		return false;
	if (lun->is_partition || !strcmp(lun->dm_type, "part"))
		return false;
	return lun->size_bytes || is_hardware(sysfs, lun->dev);
}

static int discover(struct lb_list *list, struct lb_stack *stack, struct lb_err *err)
{
	int fd = stack->sysfs < 0 ? -1 : lb_sysfs_dir(stack->sysfs, ".");
	DIR *all = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;
	int rc = 0;

	if (!all) {
		if (fd >= 0)
			close(fd);
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOENT,
			"/sys/dev/block cannot be read: name the devices to list");
	}
	while (!rc && (de = readdir(all))) {
		struct lb_list_row *row;
		unsigned int maj, min;

		if (sscanf(de->d_name, "%u:%u", &maj, &min) != 2 ||
			lb_stack_is_path(stack, makedev(maj, min)))
			continue;
		row = add_row(list);
		if (!row) {
			rc = no_memory(err);
			break;
		}
		row->lun.dev = makedev(maj, min);
		describe(row, stack, (uint32_t)list->n - 1);
		snprintf(row->name, sizeof(row->name), "/dev/%s%s",
			row->lun.dm_name[0] ? "mapper/" : "",
			row->lun.dm_name[0] ? row->lun.dm_name : row->lun.kernel_name);
		if (!could_be_lun(&row->lun, stack->sysfs))
			list->n--;
	}
	closedir(all);
	return rc;
}

/* sda ... sdz, sdaa; nvme2n1 before nvme10n1. */
static int by_name(const void *a, const void *b)
{
	const char *x = ((const struct lb_list_row *)a)->name;
	const char *y = ((const struct lb_list_row *)b)->name;

	if (!strncmp(x, "/dev/sd", 7) && !strncmp(y, "/dev/sd", 7) && strlen(x) != strlen(y))
		return strlen(x) < strlen(y) ? -1 : 1;
	return strverscmp(x, y);
}

int lb_list_make(struct lb_list *list, const char *const *targets, size_t n, int sysfs,
	const char *proc, struct lb_err *err)
{
	struct lb_stack stack;
	struct utsname uts;
	int rc = 0;

	*list = (struct lb_list){.is_of_targets = n > 0};
	if (!uname(&uts)) {
		snprintf(list->host, sizeof(list->host), "%s", uts.nodename);
		snprintf(list->kernel, sizeof(list->kernel), "%s", uts.release);
	}
	lb_stack_init(&stack, sysfs, proc);
	for (size_t i = 0; i < n && !rc; i++) {
		struct lb_list_row *row = add_row(list);

		if (!row) {
			rc = no_memory(err);
			break;
		}
		row->lun.name = targets[i];
		look_at_target(list, row, &stack);
	}
	if (!n)
		rc = discover(list, &stack, err);
	if (!n && list->n)
		qsort(list->rows, list->n, sizeof(*list->rows), by_name);
	for (size_t i = 0; !n && i < list->n; i++)
		list->rows[i].lun.name = list->rows[i].name;
	if (!rc && stack.is_short)
		rc = no_memory(err);
	lb_stack_done(&stack);
	return rc;
}

void lb_list_done(struct lb_list *list)
{
	free(list->rows);
	*list = (struct lb_list){0};
}
