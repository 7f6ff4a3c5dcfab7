#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "limits.h"

static char root[64];

static void put(const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *s = path + strlen(root) + 1; (s = strchr(s, '/')); s++) {
		*s = '\0';
		mkdir(path, 0700);
		*s = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int make_root(void **state)
{
	(void)state;
	strcpy(root, "/tmp/lunbench-limits-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command);
}

static void expect(struct lb_limit l, uint64_t max, uint64_t used)
{
	assert_int_equal(l.max, max);
	assert_int_equal(l.used, used);
}

static void a_host_that_tells_nothing(void **state)
{
	struct lb_limits l;

	(void)state;
	lb_limits_gather(&l, root);
	expect(l.aio, LB_UNLIMITED, 0);
	expect(l.pids, LB_UNLIMITED, 0);
	expect(l.tasks, LB_UNLIMITED, 0);
	expect(l.maps, LB_UNLIMITED, 0);
	expect(l.memory, LB_UNLIMITED, 0);
	expect(l.group_tasks, LB_UNLIMITED, 0);
	expect(l.group_memory, LB_UNLIMITED, 0);
}

static void what_proc_tells(void **state)
{
	struct lb_limits l;

	(void)state;
	put("proc/sys/fs/aio-max-nr", "65536\n");
	put("proc/sys/fs/aio-nr", "640\n");
	put("proc/sys/kernel/pid_max", "32768\n");
	put("proc/sys/kernel/threads-max", "192731\n");
	put("proc/sys/vm/max_map_count", "65530\n");
	put("proc/loadavg", "0.08 0.03 0.05 2/345 12345\n");
	put("proc/meminfo",
		"MemTotal:        1000 kB\nMemFree:          10 kB\nMemAvailable:    600 kB\n");
	put("proc/self/maps", "a\nb\nc\n");
	put("proc/self/fd/0", "");
	put("proc/self/fd/7", "");
	lb_limits_gather(&l, root);
	expect(l.aio, 65536, 640);
	expect(l.pids, 32768, 345);
	expect(l.tasks, 192731, 345);
	expect(l.maps, 65530, 3);
	expect(l.memory, 1000 << 10, 400 << 10);
	assert_int_equal(l.files.used, 2);
}

static void capabilities_lift_limits(void **state)
{
	struct rlimit lim;
	struct lb_limits l;

	(void)state;
	getrlimit(RLIMIT_MEMLOCK, &lim);
	if (lim.rlim_cur == RLIM_INFINITY)
		skip();
	put("proc/self/status",
		"Name:\tx\nCapPrm:\tffff\nCapEff:\t0000000000004000\n"); /* IPC_LOCK */
	lb_limits_gather(&l, root);
	assert_int_equal(l.locked.max, LB_UNLIMITED);
	put("proc/self/status", "Name:\tx\nCapPrm:\tffff\nCapEff:\t0000000000002000\n");
	lb_limits_gather(&l, root);
	assert_int_equal(l.locked.max, lim.rlim_cur);
}

static void groups_of_v1(void **state)
{
	struct lb_limits l;

	(void)state;
	put("proc/self/cgroup", "9:name=systemd:/x\n8:pids:/a/b\n4:cpu,memory:/m\n0::/u\n");
	put("proc/self/mountinfo",
		"25 1 0:22 / /sys rw - sysfs sysfs rw\n"
		"30 25 0:26 / /cg/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
		"31 25 0:27 / /cg/pids rw shared:10 - cgroup cgroup rw,pids\n"
		"32 25 0:28 / /cg/mem rw - cgroup cgroup rw,cpu,memory\n");
	put("cg/pids/a/b/pids.max", "1000\n");
	put("cg/pids/a/b/pids.current", "10\n");
	put("cg/pids/a/pids.max", "500\n"); /* leaves less */
	put("cg/pids/a/pids.current", "90\n");
	put("cg/mem/m/memory.limit_in_bytes", "1000000\n");
	put("cg/mem/m/memory.usage_in_bytes", "900000\n");
	put("cg/mem/m/memory.stat",
		"cache 5\ninactive_file 1\nactive_file 1\ntotal_inactive_file 500000\ntotal_active_file 100000\n");
	put("cg/mem/memory.limit_in_bytes", "9223372036854771712\n");
	put("cg/mem/memory.usage_in_bytes", "2000000\n");
	lb_limits_gather(&l, root);
	expect(l.group_tasks, 500, 90);
	assert_string_equal(l.group_tasks_path, "/a");
	expect(l.group_memory, 1000000, 300000);
	assert_string_equal(l.group_memory_path, "/m");
}

static void groups_of_v2(void **state)
{
	struct lb_limits l;

	(void)state;
	put("proc/self/cgroup", "0::/user.slice/s\n");
	put("proc/self/mountinfo", "30 25 0:26 / /cg rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
	put("cg/user.slice/s/pids.max", "max\n");
	put("cg/user.slice/s/pids.current", "3\n");
	put("cg/user.slice/pids.max", "max\n");
	put("cg/user.slice/s/memory.max", "800\n");
	put("cg/user.slice/s/memory.current", "700\n");
	put("cg/user.slice/s/memory.stat", "anon 1\ninactive_file 100\nactive_file 50\n");
	put("cg/user.slice/memory.max", "max\n");
	lb_limits_gather(&l, root);
	expect(l.group_tasks, LB_UNLIMITED, 0);
	expect(l.group_memory, 800, 550);
	assert_string_equal(l.group_memory_path, "/user.slice/s");
	put("cg/user.slice/pids.max", "40\n");
	put("cg/user.slice/pids.current", "41\n");
	lb_limits_gather(&l, root);
	expect(l.group_tasks, 40, 41);
	assert_string_equal(l.group_tasks_path, "/user.slice");
}

static void a_container_sees_its_own_group_at_the_top(void **state)
{
	struct lb_limits l;

	(void)state;
	put("proc/self/cgroup", "8:pids:/docker/c0\n0::/\n");
	put("proc/self/mountinfo", "31 25 0:27 /docker/c0 /cg/pids ro - cgroup cgroup rw,pids\n");
	put("cg/pids/pids.max", "64\n");
	put("cg/pids/pids.current", "4\n");
	lb_limits_gather(&l, root);
	expect(l.group_tasks, 64, 4);
	assert_string_equal(l.group_tasks_path, "/");
	put("proc/self/cgroup", "8:pids:/docker/c01\n"); /* a neighbour, whose mount this is not */
	lb_limits_gather(&l, root);
	expect(l.group_tasks, LB_UNLIMITED, 0);
	put("proc/self/cgroup", "8:pids:/../other\n"); /* outside of our namespace */
	put("proc/self/mountinfo", "31 25 0:27 / /cg/pids ro - cgroup cgroup rw,pids\n");
	lb_limits_gather(&l, root);
	expect(l.group_tasks, LB_UNLIMITED, 0);
}

static void this_host(void **state)
{
	struct rlimit lim;
	struct lb_limits l;

	(void)state;
	lb_limits_gather(&l, "");
	getrlimit(RLIMIT_NOFILE, &lim);
	assert_int_equal(l.files.max, lim.rlim_max);
	assert_in_range(l.files.used, 3, 100);
	assert_in_range(l.maps.used, 10, 1000);
	assert_in_range(l.pids.used, 2, l.pids.max);
	assert_in_range(l.memory.used, 1, l.memory.max - 1);
}

#define IN_ROOT(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_ROOT(a_host_that_tells_nothing),
		IN_ROOT(what_proc_tells),
		IN_ROOT(capabilities_lift_limits),
		IN_ROOT(groups_of_v1),
		IN_ROOT(groups_of_v2),
		IN_ROOT(a_container_sees_its_own_group_at_the_top),
		cmocka_unit_test(this_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
