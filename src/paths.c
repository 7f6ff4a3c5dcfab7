#include "paths.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sysfs.h"

static bool runs(const struct lb_path *p)
{
	return !strcmp(p->state, "running") || !strcmp(p->state, "live");
}

bool lb_path_is_up(const struct lb_path *p)
{
	return strcmp(p->dm_state, "failed") != 0 && (p->state[0] ? runs(p) : p->dm_state[0]);
}

bool lb_path_is_down(const struct lb_path *p)
{
	return !lb_path_is_up(p) && (p->state[0] || p->dm_state[0]);
}

/* What the device of DIR belongs to: /sys/block/sda/device is a link to .../0:0:0:1, that of an
 * NVMe disk to .../nvme0. */
static void read_parent(int dir, struct lb_path *path)
{
	unsigned int h, c, t, ctrl;
	char link[512], *base, after;
	ssize_t len = readlinkat(dir, "device", link, sizeof(link) - 1);

	if (len < 0)
		return;
	link[len] = '\0';
	base = strrchr(link, '/');
	base = base ? base + 1 : link;
	if (sscanf(base, "%u:%u:%u:", &h, &c, &t) == 3)
		snprintf(path->hctl, sizeof(path->hctl), "%.*s", (int)sizeof(path->hctl) - 1, base);
	else if (sscanf(base, "nvme%u%c", &ctrl, &after) == 1)
		snprintf(path->controller, sizeof(path->controller), "nvme%u", ctrl);
}

static void add(struct lb_lun *lun, int dir, const char *name, const char *dm_state)
{
	struct lb_path path = {.queue_depth = lb_sysfs_number(dir, "device/queue_depth")};

	snprintf(path.name, sizeof(path.name), "%.*s", (int)sizeof(path.name) - 1, name);
	snprintf(path.dm_state, sizeof(path.dm_state), "%s", dm_state);
	read_parent(dir, &path);
	lb_sysfs_text(dir, "device/state", path.state, sizeof(path.state));
	if (path.controller[0]) {
		lb_sysfs_text(dir, "device/transport", path.transport, sizeof(path.transport));
		lb_sysfs_text(dir, "device/address", path.address, sizeof(path.address));
	}
	lun->n_paths_up += lb_path_is_up(&path);
	if (lun->n_paths < LB_PATHS_MAX)
		lun->paths[lun->n_paths] = path;
	lun->n_paths++;
}

void lb_paths_add(
	struct lb_lun *lun, int dir, const char *name, dev_t dev, const struct lb_dmstat *dm)
{
	const char *state = "";

	for (uint32_t i = 0; i < dm->n_paths && i < LB_DMSTAT_PATHS_MAX; i++)
		if (dm->paths[i].dev == dev)
			state = dm->paths[i].is_active ? "active" : "failed";
	add(lun, dir, name, state);
}

/*
 * The namespace's device belongs to the subsystem then, which links to its controllers; each of
 * these has a hidden disk for the path through it: nvme0n1's through nvme2 is nvme0c2n1.
 */
void lb_paths_add_nvme(struct lb_lun *lun, int dir)
{
	unsigned int subsystem, namespace, ctrl;
	struct dirent *de;
	char name[96], after;
	DIR *entries;
	int fd;

	if (sscanf(lun->kernel_name, "nvme%un%u%c", &subsystem, &namespace, &after) != 2)
		return;
	fd = lb_sysfs_dir(dir, "device");
	entries = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !entries)
		close(fd);
	while (entries && (de = readdir(entries))) {
		if (sscanf(de->d_name, "nvme%u%c", &ctrl, &after) != 1)
			continue;
		snprintf(name, sizeof(name), "nvme%u/nvme%uc%un%u", ctrl, subsystem, ctrl,
			namespace);
		fd = lb_sysfs_dir(dirfd(entries), name);
		if (fd < 0) /* a controller that does not show this namespace */
			continue;
		add(lun, fd, strchr(name, '/') + 1, "");
		close(fd);
	}
	if (entries)
		closedir(entries);
}
