#include "output_check.h"

#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "units.h"

#define SCHEMA "\"schema\": \"lunbench-"

static int refuse(struct lb_err *err, const char *option, const char *path, const char *what)
{
	char name[256];

	return lb_fail(err, LB_ST_USAGE, EEXIST, "%s: %s %s", option,
		lb_shorten(name, sizeof(name), path), what);
}

static bool leads_to(const char *path, const struct stat *st)
{
	struct stat other;

	return !stat(path, &other) && other.st_dev == st->st_dev && other.st_ino == st->st_ino;
}

/* A name with blanks in it is not recognised: what is in the file will tell. */
static bool is_swap(const struct stat *st)
{
	FILE *f = fopen("/proc/swaps", "re");
	char *line = NULL;
	size_t room = 0;
	bool is = false;

	while (f && !is && getline(&line, &room, f) > 0) {
		line[strcspn(line, " \t\n")] = '\0';
		is = line[0] == '/' && leads_to(line, st);
	}
	free(line);
	if (f)
		fclose(f);
	return is;
}

/* By sysfs, so that no device is opened. */
static bool is_behind_loop(const struct stat *st)
{
	char *line = NULL;
	size_t room = 0;
	bool is = false;
	glob_t loops;

	if (glob("/sys/block/loop*/loop/backing_file", GLOB_NOSORT, NULL, &loops))
		return false;
	for (size_t i = 0; i < loops.gl_pathc && !is; i++) {
		FILE *f = fopen(loops.gl_pathv[i], "re");

		if (!f)
			continue;
		if (getline(&line, &room, f) > 0) {
			line[strcspn(line, "\n")] = '\0';
			is = leads_to(line, st);
		}
		fclose(f);
	}
	free(line);
	globfree(&loops);
	return is;
}

int lb_output_check_use(const char *option, const char *path, const struct stat *st,
	const struct lb_config *cfg, struct lb_err *err)
{
	if (S_ISBLK(st->st_mode))
		return refuse(err, option, path,
			"is a block device, not a file: is the file name missing?");
	if (!S_ISREG(st->st_mode))
		return 0;
	for (size_t i = 0; cfg && i < cfg->n_targets; i++)
		if (leads_to(cfg->targets[i], st))
			return refuse(err, option, path,
				"is a target too: is the file name for it missing?");
	if (cfg && cfg->targets_file && leads_to(cfg->targets_file, st))
		return refuse(err, option, path, "is the list of targets: give another name");
	if (cfg && cfg->outage_path && leads_to(cfg->outage_path, st))
		return refuse(err, option, path, "is the result that is read: give another name");
	if (is_swap(st))
		return refuse(err, option, path, "is swap: give another name");
	if (is_behind_loop(st))
		return refuse(
			err, option, path, "is behind a loop device: is the file name missing?");
	return 0;
}

int lb_output_check_content(const char *option, const char *path, int fd, struct lb_err *err)
{
	char head[256], what[160], size[32];
	ssize_t len = pread(fd, head, sizeof(head), 0);
	struct stat st;

	if (len < 0)
		return lb_fail(err, LB_ST_OUTPUT, errno, "cannot read %s: %s",
			lb_shorten(what, sizeof(what), path), strerror(errno));
	if (!len || (head[0] == '{' && memmem(head, (size_t)len, SCHEMA, strlen(SCHEMA))))
		return 0;
	lb_format_about_size(size, sizeof(size), fstat(fd, &st) ? 0 : (uint64_t)st.st_size);
	snprintf(what, sizeof(what),
		"is a file of %s%s that is no result of lunbench: give another name, or remove it",
		size, st.st_size < 1024 ? " bytes" : "");
	return refuse(err, option, path, what);
}
