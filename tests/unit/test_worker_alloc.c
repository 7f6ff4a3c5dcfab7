/* The hot loop allocates nothing, with any engine. The linker leads all allocations through here.
 */
#include "worker_rig.h"

#include <fcntl.h>
#include <sys/mman.h>

static unsigned long n_calls;

/* The linker's names: __wrap_ is what our code calls, __real_ what it would have called. */
#define COUNTED(type, name, params, args)                                                          \
	type __real_##name params;                                                                 \
	type __wrap_##name params;                                                                 \
	type __wrap_##name params                                                                  \
	{                                                                                          \
		n_calls++;                                                                         \
		return __real_##name args;                                                         \
	}

COUNTED(void *, malloc, (size_t size), (size))
COUNTED(void *, calloc, (size_t n, size_t size), (n, size))
COUNTED(void *, realloc, (void *p, size_t size), (p, size))
COUNTED(void *, aligned_alloc, (size_t align, size_t size), (align, size))
COUNTED(int, posix_memalign, (void **p, size_t align, size_t size), (p, align, size))
COUNTED(void, free, (void *p), (p))
COUNTED(char *, strdup, (const char *s), (s))
COUNTED(void *, mmap, (void *p, size_t len, int prot, int flags, int fd, off_t off),
	(p, len, prot, flags, fd, off))
COUNTED(void *, mmap64, (void *p, size_t len, int prot, int flags, int fd, off_t off),
	(p, len, prot, flags, fd, off))
COUNTED(int, munmap, (void *p, size_t len), (p, len))

/* Runs the loop and returns the allocations in it; LINE is complete, FD its targets' file. */
static unsigned long loop_calls(struct rig *g, const char *line, int fd)
{
	unsigned long before;

	n_calls = 0;
	rig_make(g, line, fd);
	assert_true(n_calls > 0); /* the counting works: its set-up does allocate */
	if (!g->worker.control) {
		uint64_t now = lb_now_ns();

		atomic_store(&g->board->window.open_ns, now);
		atomic_store(&g->board->window.close_ns, now + 100 * MS);
	}
	before = n_calls;
	rig_loop(g);
	before = n_calls - before;
	assert_int_equal(g->ret, 0);
	return before;
}

static void virtual_runs_allocate_nothing(void **state)
{
	static const char *const lines[] = {
		"--null-latency 1ms --qd 100 --time 1s --ramp 1s a b c",
		"--null-latency 1ms --qd 100 --count 5000 a b c",
		"--null-latency exp:1ms --null-script error:7:EIO,lose:13 --qd 100 --time 1s a b c",
		"--null-latency 1ms --null-script gone:500ms:EIO --qd 100 --time 1s a b c",
		"--null-latency 1ms --null-script dead:500ms --qd 100 --count 5000 a b c",
		"--null-latency exp:1ms --rate 9000 --arrival poisson --qd 9 --time 1s a b c",
		"--null-latency 1ms --rate 9000 --catch-up none --qd 7 --time 2s a b c",
	};
	struct rig g;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char line[300];

		snprintf(line, sizeof(line), "--engine null --size 4k %s", lines[i]);
		assert_int_equal(loop_calls(&g, line, -1), 0);
		rig_result(&g);
		assert_true(g.r.total.xfers > 10000);
		rig_done(&g);
	}
}

/* A file of holes that is gone when it is closed, open as LUNs are; -1: there is no O_DIRECT. */
static int sparse_file(void)
{
	char path[] = "/var/tmp/lunbench-test.XXXXXX";
	int fd = mkstemp(path), direct;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, RIG_LUN_BYTES), 0);
	close(fd);
	direct = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	unlink(path);
	return direct;
}

static void real_engine(const char *name, uint32_t qd)
{
	const struct lb_engine_ops *ops = lb_engine_by_name(name);
	struct lb_err err = {.text = ""};
	char line[200];
	struct rig g;
	int fd;

	assert_non_null(ops);
	if (ops->probe && ops->probe(&err)) {
		print_message("%s\n", err.text);
		skip();
	}
	fd = sparse_file();
	if (fd < 0)
		skip();
	snprintf(line, sizeof(line), "--engine %s --size 4k --qd %u %s--time 1s lun", name, qd,
		ops->caps & LB_CAP_DEPTH_ONE ? "" : "--workers 1 ");
	assert_int_equal(loop_calls(&g, line, fd), 0);
	rig_result(&g);
	assert_true(g.r.total.xfers > 0);
	assert_int_equal(g.r.total.errors, 0);
	assert_int_equal(g.r.total.outstanding, 0);
	assert_int_equal(g.r.total.late, qd); /* each place was in flight to the end */
	assert_true(g.r.total.zero_fraction.v == 1.0);
	rig_done(&g);
	close(fd);
}

static void io_uring_allocates_nothing(void **state)
{
	(void)state;
	real_engine("io_uring", 64);
}

static void libaio_allocates_nothing(void **state)
{
	(void)state;
	real_engine("libaio", 64);
}

static void sync_allocates_nothing(void **state)
{
	(void)state;
	real_engine("sync", 1);
}

static void null_allocates_nothing(void **state)
{
	struct rig g;

	(void)state;
	assert_int_equal(
		loop_calls(&g, "--engine null --size 4k --qd 64 --workers 1 --time 1s a b", -1), 0);
	rig_result(&g);
	assert_true(g.r.total.xfers > 0);
	assert_int_equal(g.r.total.late, 128);
	rig_done(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(virtual_runs_allocate_nothing),
		cmocka_unit_test(null_allocates_nothing),
		cmocka_unit_test(io_uring_allocates_nothing),
		cmocka_unit_test(libaio_allocates_nothing),
		cmocka_unit_test(sync_allocates_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
