/* Trees as sysfs has them, made in a directory, so that devices can be tried which no test machine
 * has. */
#ifndef LB_TEST_TREE_H
#define LB_TEST_TREE_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct tree {
	char root[64];
	int root_fd, block_fd;
};

static inline void put_bytes(struct tree *t, const char *path, const void *data, size_t n)
{
	char part[256];
	int fd;

	for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		assert_true(!mkdirat(t->root_fd, part, 0700) || errno == EEXIST);
	}
	fd = openat(t->root_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, n), n);
	close(fd);
}

/* A file DIR/NAME with a line of text, under devices/. */
static inline void put(struct tree *t, const char *dir, const char *name, const char *text)
{
	char path[256], line[256];

	snprintf(path, sizeof(path), "devices/%s/%s", dir, name);
	snprintf(line, sizeof(line), "%s\n", text);
	put_bytes(t, path, line, strlen(line));
}

/* /sys/dev/block/NUMBERS, for the device at devices/DIR. */
static inline void number(struct tree *t, const char *numbers, const char *dir)
{
	char target[256], link[64];

	snprintf(target, sizeof(target), "../../devices/%s", dir);
	snprintf(link, sizeof(link), "dev/block/%s", numbers);
	assert_int_equal(symlinkat(target, t->root_fd, link), 0);
	put(t, dir, "dev", numbers);
}

static inline void link_to(struct tree *t, const char *dir, const char *sub, const char *up,
	const char *to, const char *name)
{
	char target[256], link[256];

	snprintf(target, sizeof(target), "%s%s", up, to);
	snprintf(link, sizeof(link), "devices/%s/%s", dir, sub);
	assert_true(!mkdirat(t->root_fd, link, 0700) || errno == EEXIST);
	snprintf(link, sizeof(link), "devices/%s/%s/%s", dir, sub, name);
	assert_int_equal(symlinkat(target, t->root_fd, link), 0);
}

/* DIR, a disk or map, lies on SLAVE, a disk, map or partition (sda/sda1), which NAME is the name
 * of. */
static inline void below(struct tree *t, const char *dir, const char *slave, const char *name)
{
	link_to(t, dir, "slaves", "../../", slave, name);
	link_to(t, slave, "holders", strchr(slave, '/') ? "../../../" : "../../", dir, dir);
}

static inline int make_tree(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));

	strcpy(t->root, "/tmp/lunbench-test.XXXXXX");
	assert_non_null(mkdtemp(t->root));
	t->root_fd = open(t->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_bytes(t, "dev/block/.here", "", 0);
	t->block_fd = openat(t->root_fd, "dev/block", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(t->block_fd >= 0);
	*state = t;
	return 0;
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline int remove_tree(void **state)
{
	struct tree *t = *state;

	close(t->block_fd);
	close(t->root_fd);
	nftw(t->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(t);
	return 0;
}

#define ON_TREE(f) cmocka_unit_test_setup_teardown(f, make_tree, remove_tree)

#endif
