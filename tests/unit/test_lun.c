/* Targets that need no device: files, and what is no LUN at all. Devices: tests/loop/targets.py. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <linux/magic.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine.h"
#include "lun.h"

#define MAX     16
#define TMPFS   "/dev/shm"
#define NOTHING 12345u /* `at` before anything is looked at */

struct bench {
	char dir[64];
	struct lb_config cfg;
	const char *targets[MAX];
	struct lb_lun luns[MAX];
	_Atomic uint32_t at;
	_Atomic uint64_t filled;
	struct lb_err err;
};

static int make_bench(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	strcpy(b->dir, "/var/tmp/lunbench-test.XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	assert_int_equal(chdir(b->dir), 0);
	b->cfg.targets = b->targets;
	b->cfg.size_bytes = 16384;
	b->cfg.sizes = (struct lb_sizes){1, {16384}, {100}};
	b->cfg.seq_streams = 1;
	b->cfg.region = (struct lb_region){.end = 1000000, .end_is_ppm = true};
	*state = b;
	return 0;
}

static int remove_bench(void **state)
{
	struct bench *b = *state;
	char command[128];

	lb_luns_close(b->luns, MAX);
	assert_int_equal(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -rf %s", b->dir);
	free(b);
	return system(command);
}

static void make_file(const char *name, off_t size)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	close(fd);
}

/* Looks at the targets given, up to NULL. */
static int open_targets(struct bench *b, ...)
{
	va_list ap;

	lb_luns_close(b->luns, b->cfg.n_targets);
	b->cfg.n_targets = 0;
	va_start(ap, b);
	while ((b->targets[b->cfg.n_targets] = va_arg(ap, const char *)))
		b->cfg.n_targets++;
	va_end(ap);
	b->at = NOTHING;
	lb_luns_init(b->luns, &b->cfg);
	return lb_luns_open(b->luns, &b->cfg, &b->at, &b->filled, &b->err);
}

static void assert_refused(const struct lb_lun *lun, enum lb_status status, const char *why)
{
	assert_string_equal(lun->why, why);
	assert_int_equal(lun->fate, LB_FATE_REFUSED);
	assert_int_equal(lun->refusal, status);
}

static void assert_used(const struct lb_lun *lun)
{
	assert_string_equal(lun->why, "");
	assert_int_equal(lun->fate, LB_FATE_USED);
}

static void names_are_there_before_anything_is_opened(void **state)
{
	struct bench *b = *state;

	b->targets[0] = "x";
	b->cfg.n_targets = 1;
	b->cfg.scratch.count = 2;
	lb_luns_init(b->luns, &b->cfg);
	assert_ptr_equal(b->luns[0].name, b->targets[0]);
	assert_string_equal(b->luns[1].name, "scratch0");
	assert_string_equal(b->luns[2].name, "scratch1");
	assert_int_equal(b->luns[0].kind, LB_LUN_BLOCK);
	assert_int_equal(b->luns[2].kind, LB_LUN_SCRATCH);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(b->luns[i].fate, LB_FATE_PENDING);
		assert_int_equal(b->luns[i].fd, -1);
		assert_int_equal(b->luns[i].nr_requests, LB_LUN_UNKNOWN);
	}
}

static void a_file_stands_in(void **state)
{
	struct bench *b = *state;
	const struct lb_lun *lun = &b->luns[0];
	struct stat st;

	make_file("f", (1 << 20) + 1536);
	assert_int_equal(open_targets(b, "f", NULL), 0);
	assert_used(lun);
	assert_int_equal(stat("f", &st), 0);
	assert_int_equal(lun->kind, LB_LUN_FILE);
	assert_int_equal(lun->dev, st.st_dev);
	assert_int_equal(lun->ino, st.st_ino);
	assert_int_equal(lun->size_bytes, (1 << 20) + 1536);
	assert_int_equal(lun->region_start, 0);
	assert_int_equal(lun->region_end, 1 << 20);
	assert_in_range(lun->logical_block, 512, 4096);
	assert_int_equal(lun->physical_block, lun->logical_block);
	assert_string_equal(lun->kernel_name, "");
	assert_int_equal(lun->rotational, LB_LUN_UNKNOWN);
	assert_int_equal(fcntl(lun->fd, F_GETFL) & (O_ACCMODE | O_DIRECT | O_NOATIME),
		O_RDONLY | O_DIRECT | O_NOATIME);
	assert_int_equal(fcntl(lun->fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(b->at, 0);
	assert_int_equal(b->filled, 0);
}

static void nowait_is_tried_only_for_who_cares(void **state)
{
	struct bench *b = *state;
	int libaio = 0, io_uring = 0;

	for (int i = 0; lb_engines[i]; i++) {
		if (lb_engines[i] == &lb_engine_libaio)
			libaio = i + 1;
		if (lb_engines[i] == &lb_engine_io_uring)
			io_uring = i + 1;
	}
	make_file("f", 1 << 20);
	b->cfg.engine = LB_ENGINE_AUTO;
	assert_int_equal(open_targets(b, "f", NULL), 0);
	if (!b->luns[0].has_nowait) /* not so on every file system */
		skip();
	b->cfg.engine = libaio;
	assert_int_equal(open_targets(b, "f", NULL), 0);
	assert_used(&b->luns[0]);
	assert_false(b->luns[0].has_nowait);
	b->cfg.engine = io_uring;
	assert_int_equal(open_targets(b, "f", NULL), 0);
	assert_true(b->luns[0].has_nowait);
}

static void every_unfit_target_is_named(void **state)
{
	struct bench *b = *state;
	struct sockaddr_un addr = {.sun_family = AF_UNIX, .sun_path = "socket"};
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	make_file("good", 1 << 20);
	make_file("empty", 0);
	make_file("small", 8192);
	assert_int_equal(mkdir("dir", 0700), 0);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(bind(s, (struct sockaddr *)&addr, sizeof(addr)), 0);
	close(s);
	assert_int_equal(symlink("gone", "dangling"), 0);
	alarm(20); /* should an open hang */
	assert_int_equal(open_targets(b, "dir", "fifo", "socket", "/dev/null", "missing",
				 "dangling", "good/below", "empty", "small", "good", NULL),
		0);
	alarm(0);
	assert_refused(&b->luns[0], LB_ST_USAGE, "a directory, not a block device or a file");
	assert_refused(&b->luns[1], LB_ST_USAGE, "a FIFO, not a block device or a file");
	assert_refused(&b->luns[2], LB_ST_USAGE, "a socket, not a block device or a file");
	assert_refused(
		&b->luns[3], LB_ST_USAGE, "a character device, not a block device or a file");
	assert_refused(&b->luns[4], LB_ST_UNAVAILABLE, "no such device");
	assert_refused(&b->luns[5], LB_ST_UNAVAILABLE, "no such device");
	assert_refused(&b->luns[6], LB_ST_UNAVAILABLE, "no such device");
	assert_refused(&b->luns[7], LB_ST_UNAVAILABLE, "its size is 0");
	assert_refused(&b->luns[8], LB_ST_USAGE, "its size is 8k, --size 16k does not fit");
	assert_used(&b->luns[9]);
	assert_int_equal(b->at, 9);
	assert_int_equal(access("missing", F_OK), -1); /* nothing was made */
	assert_int_equal(access("gone", F_OK), -1);
}

static void the_same_file_twice(void **state)
{
	struct bench *b = *state;
	char path[128];

	make_file("a", 1 << 20);
	make_file("b", 1 << 20);
	assert_int_equal(symlink("a", "soft"), 0);
	assert_int_equal(symlink("soft", "softer"), 0);
	assert_int_equal(link("a", "hard"), 0);
	snprintf(path, sizeof(path), "%s/a", b->dir);
	assert_int_equal(open_targets(b, "softer", "b", "hard", path, "b", NULL), 0);
	assert_used(&b->luns[0]);
	assert_used(&b->luns[1]);
	assert_refused(&b->luns[2], LB_ST_USAGE, "the same file as softer: give it once");
	assert_refused(&b->luns[3], LB_ST_USAGE, "the same file as softer: give it once");
	assert_refused(&b->luns[4], LB_ST_USAGE, "the same file as b: give it once");
}

static void scratch_waits_for_the_targets(void **state)
{
	struct bench *b = *state;

	b->cfg.scratch.count = 2;
	b->cfg.scratch.size_bytes = 1 << 20;
	strcpy(b->cfg.scratch.dir, b->dir);
	make_file("f", 1 << 20);
	assert_int_equal(open_targets(b, "f", "missing", NULL), 0);
	assert_used(&b->luns[0]);
	assert_refused(&b->luns[1], LB_ST_UNAVAILABLE, "no such device");
	assert_int_equal(b->luns[2].fate, LB_FATE_PENDING);
	assert_int_equal(b->filled, 0); /* nothing is written for a run that will not be */
	lb_luns_close(b->luns, MAX);
	assert_int_equal(open_targets(b, "f", NULL), 0);
	assert_used(&b->luns[0]);
	assert_used(&b->luns[1]);
	assert_used(&b->luns[2]);
	assert_int_equal(b->luns[2].size_bytes, 1 << 20);
	assert_int_equal(b->luns[2].region_end, 1 << 20);
	assert_int_equal(b->filled, 2 << 20);
	assert_int_equal(b->at, 2);
	lb_luns_close(b->luns, MAX);
}

static void scratch_too_small_is_one_error(void **state)
{
	struct bench *b = *state;
	char want[256];

	b->cfg.scratch.count = 3;
	b->cfg.scratch.size_bytes = 8192;
	strcpy(b->cfg.scratch.dir, b->dir);
	assert_int_equal(open_targets(b, "missing", NULL), -EINVAL);
	assert_int_equal(b->err.status, LB_ST_USAGE);
	snprintf(want, sizeof(want), "--scratch: %s: its size is 8k, --size 16k does not fit",
		b->dir);
	assert_string_equal(b->err.text, want);
	assert_refused(&b->luns[0], LB_ST_UNAVAILABLE, "no such device"); /* told as well */
	lb_luns_close(b->luns, MAX);
}

static void a_file_system_in_memory(void **state)
{
	const char *file = TMPFS "/lunbench-test";
	const char *text = "its file system buffers O_DIRECT: figures would be memory's";
	struct bench *b = *state;
	struct statfs fs;
	char want[256];

	if (statfs(TMPFS, &fs) || fs.f_type != TMPFS_MAGIC)
		skip();
	make_file(file, 1 << 20);
	open_targets(b, file, NULL);
	unlink(file);
	assert_refused(&b->luns[0], LB_ST_USAGE, text);
	assert_int_equal(b->luns[0].logical_block, 0); /* is not known */
	b->cfg.scratch.count = 1;
	b->cfg.scratch.size_bytes = 1 << 20;
	strcpy(b->cfg.scratch.dir, TMPFS);
	assert_int_equal(open_targets(b, NULL), -EINVAL);
	assert_int_equal(b->err.status, LB_ST_USAGE);
	snprintf(want, sizeof(want), "--scratch: %s: %s", TMPFS, text);
	assert_string_equal(b->err.text, want);
	lb_luns_close(b->luns, MAX);
}

/* Runs FN in a child that may give up its rights. */
static void in_child(void (*fn)(struct bench *), struct bench *b)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		fn(b);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static bool is_refused(const struct lb_lun *lun, const char *why)
{
	return lun->fate == LB_FATE_REFUSED && lun->refusal == LB_ST_UNAVAILABLE &&
	       !strcmp(lun->why, why);
}

static void look_as_nobody(struct bench *b)
{
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
		_exit(2);
	open_targets(b, "mine", "group", "closed/f", "all", NULL);
	if (!is_refused(&b->luns[0], "no right to read it: root could"))
		_exit(3);
	if (!is_refused(
		    &b->luns[1], "no right to read it: root could, or a member of the group root"))
		_exit(4);
	if (!is_refused(&b->luns[2], "no right to read it: root could"))
		_exit(5);
	if (b->luns[3].fate != LB_FATE_USED)
		_exit(6);
}

static void who_could_read_it_is_told(void **state)
{
	if (geteuid())
		skip();
	make_file("mine", 1 << 20);
	make_file("group", 1 << 20);
	make_file("all", 1 << 20);
	assert_int_equal(mkdir("closed", 0700), 0);
	make_file("closed/f", 1 << 20);
	assert_int_equal(chmod("group", 0640), 0);
	assert_int_equal(chmod("all", 0644), 0);
	assert_int_equal(chmod(".", 0755), 0);
	in_child(look_as_nobody, *state);
}

static void limit_open_files(struct bench *b)
{
	struct rlimit limit = {.rlim_cur = 30, .rlim_max = 400};

	setrlimit(RLIMIT_NOFILE, &limit);
	if (open_targets(b, "f", NULL) || b->luns[0].fate != LB_FATE_USED)
		_exit(2);
	getrlimit(RLIMIT_NOFILE, &limit); /* it was raised, as far as needed */
	if (limit.rlim_cur != 34 || limit.rlim_max != 400)
		_exit(3);
	limit.rlim_cur = limit.rlim_max = 33;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (open_targets(b, "f", NULL) != -EMFILE || b->err.status != LB_ST_UNAVAILABLE ||
		strcmp(b->err.text,
			"1 LUN and 1 worker need 34 open files, the limit (ulimit -n) is 33") ||
		b->at != NOTHING)
		_exit(4);
}

static void open_files_are_enough_or_told(void **state)
{
	make_file("f", 1 << 20);
	in_child(limit_open_files, *state);
}

#define ON_BENCH(f) cmocka_unit_test_setup_teardown(f, make_bench, remove_bench)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_BENCH(names_are_there_before_anything_is_opened),
		ON_BENCH(a_file_stands_in),
		ON_BENCH(nowait_is_tried_only_for_who_cares),
		ON_BENCH(every_unfit_target_is_named),
		ON_BENCH(the_same_file_twice),
		ON_BENCH(scratch_waits_for_the_targets),
		ON_BENCH(scratch_too_small_is_one_error),
		ON_BENCH(a_file_system_in_memory),
		ON_BENCH(who_could_read_it_is_told),
		ON_BENCH(open_files_are_enough_or_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
