#include "dmstat.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

/* ---- the ioctl */

union answer {
	struct dm_ioctl head;
	char bytes[16384];
};

int lb_dmstat_open(void)
{
	int fd = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/*
 * Asks for all targets of map DEV. Returns the first, in IO, with its words behind it, or NULL: it
 * has none, or *RC says why not. FLAGS: DM_STATUS_TABLE_FLAG for its table, 0 for its state.
 */
static const struct dm_target_spec *ask(
	int fd, dev_t dev, uint32_t flags, union answer *io, int *rc)
{
	/* without NOFLUSH some targets finish I/O first, which may not end */
	io->head = (struct dm_ioctl){.version = {4, 0, 0},
		.data_size = sizeof(*io),
		.data_start = sizeof(io->head),
		.flags = DM_NOFLUSH_FLAG | flags,
		.dev = dev};
	*rc = fd < 0 ? -EBADF : 0;
	if (!*rc && ioctl(fd, DM_TABLE_STATUS, io))
		*rc = -errno;
	if (*rc || !io->head.target_count)
		return NULL;
	io->bytes[sizeof(*io) - 1] = '\0';
	return (const void *)(io->bytes + sizeof(io->head));
}

int lb_dmstat_type(int fd, dev_t dev, char *type, size_t n)
{
	union answer io;
	int rc;
	/* of the state a thin pool's target may wait for its metadata */
	const struct dm_target_spec *spec = ask(fd, dev, DM_STATUS_TABLE_FLAG, &io, &rc);

	type[0] = '\0';
	if (spec)
		snprintf(type, n, "%.*s", (int)sizeof(spec->target_type), spec->target_type);
	return rc;
}

/* The words of map DEV if it is one of multipath's, else NULL and *RC. */
static const char *ask_multipath(int fd, dev_t dev, uint32_t flags, union answer *io, int *rc)
{
	const struct dm_target_spec *spec = ask(fd, dev, flags, io, rc);

	if (*rc)
		return NULL;
	if (!spec || io->head.target_count != 1 ||
		strncmp(spec->target_type, "multipath", sizeof(spec->target_type)))
		*rc = -ENODATA;
	else if (io->head.flags & DM_BUFFER_FULL_FLAG)
		*rc = -ENOSPC;
	return *rc ? NULL : (const char *)(spec + 1);
}

int lb_dmstat_multipath(int fd, dev_t dev, struct lb_dmstat *out)
{
	const char *table, *status = NULL;
	union answer io, io_status;
	int rc;

	*out = (struct lb_dmstat){.n_paths = 0};
	/* the table first: it tells what the state would be of */
	table = ask_multipath(fd, dev, DM_STATUS_TABLE_FLAG, &io, &rc);
	if (table)
		status = ask_multipath(fd, dev, 0, &io_status, &rc);
	return status ? lb_dmstat_parse(status, table, out) : rc;
}

/* ---- what multipath says, drivers/md/dm-mpath.c: multipath_status() */

/* The next word of *TEXT into WORD; words that do not fit, or none, are none. */
static bool take_word(const char **text, char *word, size_t n)
{
	const char *from = *text + strspn(*text, " ");
	size_t len = strcspn(from, " ");

	*text = from + len;
	if (!len || len >= n)
		return false;
	memcpy(word, from, len);
	word[len] = '\0';
	return true;
}

static bool take_number(const char **text, uint32_t *v)
{
	char word[16], *end;
	unsigned long long all;

	if (!take_word(text, word, sizeof(word)) || word[0] < '0' || word[0] > '9')
		return false;
	all = strtoull(word, &end, 10);
	*v = (uint32_t)all;
	return !*end && all <= UINT32_MAX;
}

/* Any words, of whatever length. */
static bool skip_words(const char **text, uint32_t n)
{
	for (; n; n--) {
		*text += strspn(*text, " ");
		if (!**text)
			return false;
		*text += strcspn(*text, " ");
	}
	return true;
}

/* A count, and so many words. */
static bool skip_counted(const char **text)
{
	uint32_t n;

	return take_number(text, &n) && skip_words(text, n);
}

/* "8:16 A 0" and N_ARGS words of the path selector. */
static bool take_path(const char **text, uint32_t n_args, struct lb_dmstat *out)
{
	struct lb_dmstat_path path = {.dev = 0};
	char numbers[32], state[2], after;
	unsigned int maj, min;

	if (!take_word(text, numbers, sizeof(numbers)) ||
		sscanf(numbers, "%u:%u%c", &maj, &min, &after) != 2 ||
		!take_word(text, state, sizeof(state)) || !strchr("AF", state[0]) ||
		!take_number(text, &path.fail_count) || !skip_words(text, n_args))
		return false;
	path.dev = makedev(maj, min);
	path.is_active = state[0] == 'A';
	if (out->n_paths < LB_DMSTAT_PATHS_MAX)
		out->paths[out->n_paths] = path;
	out->n_paths++;
	out->n_active += path.is_active;
	return true;
}

/* "A 0 2 2", state, selector's words, paths, words for each; then the paths. */
static bool take_group(const char **text, struct lb_dmstat *out)
{
	uint32_t n, n_args;
	char state[2];

	if (!take_word(text, state, sizeof(state)) || !skip_counted(text) ||
		!take_number(text, &n) || !take_number(text, &n_args))
		return false;
	while (n--)
		if (!take_path(text, n_args, out))
			return false;
	return true;
}

/* "2 queue_if_no_path retain_attached_hw_handler ...": the state does not tell it. */
static bool take_features(const char **text, struct lb_dmstat *out)
{
	static const char queue[] = "queue_if_no_path";
	uint32_t n;

	if (!take_number(text, &n))
		return false;
	while (n--) {
		const char *word = *text + strspn(*text, " ");

		if (!skip_words(text, 1))
			return false;
		if ((size_t)(*text - word) == strlen(queue) && !strncmp(word, queue, strlen(queue)))
			out->queues_if_no_path = true;
	}
	return true;
}

int lb_dmstat_parse(const char *status, const char *table, struct lb_dmstat *out)
{
	uint32_t groups, next;

	*out = (struct lb_dmstat){.n_paths = 0};
	/* features, hardware handler, groups, the one that is used next */
	if (take_features(&table, out) && skip_counted(&status) && skip_counted(&status) &&
		take_number(&status, &groups) && take_number(&status, &next)) {
		while (groups && take_group(&status, out))
			groups--;
		if (!groups && !status[strspn(status, " ")])
			return 0;
	}
	*out = (struct lb_dmstat){.n_paths = 0};
	return -EPROTO;
}
