#include "guard_sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DIR_OF     "/sys/dev/block/%u:%u"
#define NUMBERS(d) major(d), minor(d)

bool lb_guard_sys_knows(dev_t dev)
{
	char path[64];

	snprintf(path, sizeof(path), DIR_OF "/dev", NUMBERS(dev));
	return !access(path, F_OK);
}

static bool read_line(const char *path, char *buf, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, buf, n - 1);

	if (fd >= 0)
		close(fd);
	buf[got > 0 ? got : 0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return buf[0] != '\0';
}

bool lb_guard_sys_text(dev_t dev, const char *attr, char *buf, size_t n)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), DIR_OF "/%s", NUMBERS(dev), attr);
	return read_line(path, buf, n);
}

bool lb_guard_sys_number(dev_t dev, const char *attr, uint64_t *v)
{
	char text[32], *end;

	if (!lb_guard_sys_text(dev, attr, text, sizeof(text)))
		return false;
	errno = 0;
	*v = strtoull(text, &end, 10);
	return !errno && !*end;
}

static dev_t number_of(dev_t dev, const char *attr)
{
	unsigned int ma, mi;
	char text[32];

	if (!lb_guard_sys_text(dev, attr, text, sizeof(text)) ||
		sscanf(text, "%u:%u", &ma, &mi) != 2)
		return 0;
	return makedev(ma, mi);
}

dev_t lb_guard_sys_disk(dev_t dev)
{
	char text[32];

	return lb_guard_sys_text(dev, "partition", text, sizeof(text)) ? number_of(dev, "../dev")
								       : 0;
}

/* Those of the directory SUB of DEV's that have a file MARK. */
static int each_in(dev_t dev, const char *sub, const char *mark, lb_guard_each *each, void *arg)
{
	char path[PATH_MAX], attr[NAME_MAX + 64];
	struct dirent *de;
	DIR *d;
	int rc = 0;

	snprintf(path, sizeof(path), DIR_OF "/%s", NUMBERS(dev), sub);
	d = opendir(path);
	if (!d) /* partitions have holders but no slaves, and so on */
		return errno == ENOENT && lb_guard_sys_knows(dev) ? 0 : -errno;
	while (!rc && (errno = 0, de = readdir(d))) {
		dev_t found;

		if (de->d_name[0] == '.')
			continue;
		snprintf(attr, sizeof(attr), "%s/%s/%s", sub, de->d_name, mark);
		snprintf(path, sizeof(path), DIR_OF "/%s", NUMBERS(dev), attr);
		if (access(path, F_OK)) {
			/* any other entry of a disk's directory; of holders, it has gone */
			errno = 0;
			continue;
		}
		snprintf(attr, sizeof(attr), "%s/%s/dev", sub, de->d_name);
		found = number_of(dev, attr);
		if (!found)
			rc = -ENODEV;
		else if (!each(arg, found, de->d_name))
			rc = -ENOMEM;
	}
	if (!rc)
		rc = -errno;
	closedir(d);
	return rc;
}

int lb_guard_sys_links(dev_t dev, const char *sub, lb_guard_each *each, void *arg)
{
	return each_in(dev, sub, "dev", each, arg);
}

int lb_guard_sys_partitions(dev_t dev, lb_guard_each *each, void *arg)
{
	return each_in(dev, ".", "partition", each, arg);
}

char *lb_guard_sys_name(dev_t dev, char *buf, size_t n)
{
	char path[64], link[PATH_MAX], *base;
	ssize_t len;

	if (lb_guard_sys_text(dev, "dm/name", buf, n))
		return buf;
	snprintf(path, sizeof(path), DIR_OF, NUMBERS(dev));
	len = readlink(path, link, sizeof(link) - 1);
	if (len < 0) {
		snprintf(buf, n, "%u:%u", NUMBERS(dev));
		return buf;
	}
	link[len] = '\0';
	base = strrchr(link, '/');
	snprintf(buf, n, "%.*s", (int)n - 1, base ? base + 1 : link);
	for (char *c = buf; (c = strchr(c, '!'));) /* sysfs's way to spell a / */
		*c = '/';
	return buf;
}
