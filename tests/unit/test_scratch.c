#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"

#define MIB     (1ull << 20)
#define EXTENTS 64

/* A directory on a disk's file system; the test is skipped where that has no O_DIRECT. */
static int make_dir(void **state)
{
	struct lb_scratch *s = calloc(1, sizeof(*s));

	strcpy(s->dir, "/var/tmp/lunbench-test.XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	s->count = 2;
	s->size_bytes = 9 * MIB; /* more than two writes */
	*state = s;
	return 0;
}

/* Fails when a test has left something. */
static int remove_dir(void **state)
{
	struct lb_scratch *s = *state;
	int rc = rmdir(s->dir);

	free(s);
	return rc;
}

static int create(const struct lb_scratch *s)
{
	struct lb_err err = {0};
	int fd = lb_scratch_create(s, &err);

	if (fd < 0 && err.status == LB_ST_USAGE)
		skip();
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_DIRECT, O_DIRECT);
	return fd;
}

/* Filled and sealed. */
static int fill(const struct lb_scratch *s)
{
	_Atomic uint64_t filled = 1;
	int fd = create(s);

	assert_int_equal(lb_scratch_fill(fd, s, &filled, NULL), 0);
	assert_int_equal(filled, 1 + s->size_bytes);
	fd = lb_scratch_seal(fd, NULL);
	assert_true(fd >= 0);
	return fd;
}

static char *content(int fd, size_t n)
{
	char *map = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0);

	assert_true(map != MAP_FAILED);
	return map;
}

static void has_no_name_and_is_only_read(void **state)
{
	struct lb_scratch *s = *state;
	struct stat st;
	int fd;

	s->size_bytes = MIB + 1000;
	fd = fill(s);
	assert_int_equal(fcntl(fd, F_GETFL) & (O_ACCMODE | O_DIRECT), O_RDONLY | O_DIRECT);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, MIB + 1000);
	assert_int_equal(st.st_nlink, 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	close(fd);
}

/* Blocks that are only reserved read as zeros without any I/O. */
static void every_block_is_written_and_not_in_memory(void **state)
{
	struct lb_scratch *s = *state;
	int fd = fill(s);
	struct fiemap *f = calloc(1, sizeof(*f) + EXTENTS * sizeof(struct fiemap_extent));
	unsigned char resident[9 * MIB / 4096];
	uint64_t mapped = 0;
	char *map;

	f->fm_length = FIEMAP_MAX_OFFSET;
	f->fm_extent_count = EXTENTS;
	if (ioctl(fd, FS_IOC_FIEMAP, f) == 0) { /* not on every file system */
		for (uint32_t i = 0; i < f->fm_mapped_extents; i++) {
			assert_false(f->fm_extents[i].fe_flags &
				     (FIEMAP_EXTENT_UNWRITTEN | FIEMAP_EXTENT_DELALLOC |
					     FIEMAP_EXTENT_UNKNOWN));
			mapped += f->fm_extents[i].fe_length;
		}
		assert_int_equal(mapped, s->size_bytes);
	}
	free(f);
	map = content(fd, s->size_bytes);
	assert_int_equal(mincore(map, s->size_bytes, resident), 0);
	for (size_t i = 0; i < sizeof(resident); i++)
		assert_false(resident[i] & 1);
	munmap(map, s->size_bytes);
	close(fd);
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void data_neither_repeats_nor_compresses(void **state)
{
	struct lb_scratch *s = *state;
	const size_t words = s->size_bytes / 8;
	uint64_t *all = malloc(2 * s->size_bytes);
	uint32_t of_byte[256] = {0};

	for (int i = 0; i < 2; i++) {
		int fd = fill(s);
		char *map = content(fd, s->size_bytes);

		memcpy(all + (size_t)i * words, map, s->size_bytes);
		munmap(map, s->size_bytes);
		close(fd);
	}
	for (size_t i = 0; i < 2 * s->size_bytes; i++)
		of_byte[((unsigned char *)all)[i]]++;
	/* 18 Mi bytes: 73728 of each value, standard deviation 271 */
	for (int i = 0; i < 256; i++)
		assert_in_range(of_byte[i], 73728 - 8 * 271, 73728 + 8 * 271);
	/* no 8 bytes occur twice in either file, at any place: 2.4 million of 2^64 */
	qsort(all, 2 * words, sizeof(*all), compare_u64);
	for (size_t i = 1; i < 2 * words; i++)
		assert_true(all[i] != all[i - 1]);
	free(all);
}

static void a_failed_write_is_told(void **state)
{
	struct lb_scratch *s = *state;
	_Atomic uint64_t filled = 0;
	struct lb_err err = {0};
	char want[4096];
	int fd = open("/dev/full", O_RDWR | O_CLOEXEC);

	assert_int_equal(lb_scratch_fill(fd, s, &filled, &err), -ENOSPC);
	assert_int_equal(err.status, LB_ST_UNAVAILABLE);
	snprintf(want, sizeof(want), "--scratch: %s: writing: No space left on device", s->dir);
	assert_string_equal(err.text, want);
	assert_int_equal(filled, 0);
	close(fd);
}

static void room_is_checked(void **state)
{
	struct lb_scratch *s = *state;
	struct lb_err err = {0};
	char want[4096];

	assert_int_equal(lb_scratch_check(s, &err), 0);
	s->size_bytes = 1ull << 60;
	s->count = 1 << 16; /* together past 64 bits */
	assert_int_equal(lb_scratch_check(s, &err), -ENOSPC);
	assert_int_equal(err.status, LB_ST_UNAVAILABLE);
	snprintf(want, sizeof(want), "--scratch: %s: needs 8192P with room", s->dir);
	assert_memory_equal(err.text, want, strlen(want));
	s->count = 1;
	assert_int_equal(lb_scratch_check(s, &err), -ENOSPC);
	/* 1/64 and 64 MiB more are 1040 PiB and a little, rounded up by 16 */
	snprintf(want, sizeof(want), "--scratch: %s: needs 1056P with room to spare, ", s->dir);
	assert_memory_equal(err.text, want, strlen(want));
	strcpy(s->dir + strlen(s->dir), "/none");
	assert_int_equal(lb_scratch_check(s, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/none: cannot be used: No such file or directory"));
	*strrchr(s->dir, '/') = '\0';
}

/* Runs FN in a child that may spoil its own limits and rights. */
static void in_child(void (*fn)(struct lb_scratch *), struct lb_scratch *s)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		fn(s);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void limit_file_size(struct lb_scratch *s)
{
	struct rlimit limit = {4 * MIB, 4 * MIB};
	struct lb_err err = {0};

	setrlimit(RLIMIT_FSIZE, &limit);
	if (lb_scratch_check(s, &err) != -EFBIG || err.status != LB_ST_UNAVAILABLE ||
		strcmp(err.text, "--scratch: needs files of 9M, their limit (ulimit -f) is 4M"))
		_exit(1);
}

static void the_file_size_limit_is_told(void **state)
{
	in_child(limit_file_size, *state);
}

/* Makes O_TMPFILE fail as it does where the file system has no such thing. */
static void deny_tmpfile(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &prog, 0, 0))
		_exit(2);
}

static void create_without_tmpfile(struct lb_scratch *s)
{
	_Atomic uint64_t filled = 0;
	struct stat st;
	int fd;

	deny_tmpfile();
	if (open(s->dir, O_TMPFILE | O_RDWR, 0600) >= 0 || errno != EOPNOTSUPP)
		_exit(3);
	fd = lb_scratch_create(s, NULL);
	if (fd < 0 || lb_scratch_fill(fd, s, &filled, NULL) || (fd = lb_scratch_seal(fd, NULL)) < 0)
		_exit(4);
	if (fstat(fd, &st) || st.st_nlink != 0 || (uint64_t)st.st_size != s->size_bytes)
		_exit(5);
}

static void works_without_tmpfile(void **state)
{
	close(create(*state));
	in_child(create_without_tmpfile, *state);
}

#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_DIR(has_no_name_and_is_only_read),
		IN_DIR(every_block_is_written_and_not_in_memory),
		IN_DIR(data_neither_repeats_nor_compresses),
		IN_DIR(a_failed_write_is_told),
		IN_DIR(room_is_checked),
		IN_DIR(the_file_size_limit_is_told),
		IN_DIR(works_without_tmpfile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
