#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "lock.h"

#define MSEC LB_NSEC_PER_MSEC

static char path[64];
static struct lb_lun lun;
static struct lb_lun *luns[] = {&lun};
static struct lb_finding rows[8];
static struct lb_findings found = {.at = rows, .room = 8};
static struct lb_lock lock;
static struct lb_err err;

static int make_file(void **state)
{
	(void)state;
	strcpy(path, "/var/tmp/lunbench-lock-XXXXXX");
	lun = (struct lb_lun){.name = path, .kind = LB_LUN_FILE, .fate = LB_FATE_USED};
	lun.fd = mkstemp(path);
	found.n = 0;
	return lun.fd < 0;
}

static int remove_file(void **state)
{
	(void)state;
	lb_lock_done(&lock);
	close(lun.fd);
	return unlink(path);
}

/* A process called NAME that locks the file, lets us go on, and keeps it for MS (0: to its end). */
static pid_t locked_by(const char *name, int how, unsigned int ms)
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		int fd = open(path, O_RDONLY);

		prctl(PR_SET_NAME, name);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (fd < 0 || flock(fd, how) || write(ready[1], "x", 1) != 1)
			_exit(1);
		if (ms)
			usleep(ms * 1000);
		else
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* How long it took. */
static uint64_t take(bool for_writing)
{
	uint64_t began = lb_now_ns();

	assert_int_equal(lb_lock_take(&lock, luns, 1, for_writing, &err), 0);
	return lb_now_ns() - began;
}

static void alone(void **state)
{
	(void)state;
	assert_true(take(false) < 100 * MSEC);
	lb_lock_look(&lock, &found);
	assert_int_equal(found.n, 0);
	assert_int_equal(lun.fate, LB_FATE_USED);
}

static void two_readers_see_each_other_whoever_comes_later(void **state)
{
	pid_t pid = locked_by("lunbench", LOCK_SH, 0);
	char text[200];

	(void)state;
	assert_true(take(false) < 100 * MSEC);
	lb_lock_look(&lock, &found);
	assert_int_equal(found.n, 1);
	assert_string_equal(rows[0].code, "shared-lun");
	assert_int_equal(rows[0].lun, 0);
	assert_int_equal(rows[0].gravity, LB_DISTORTS);
	snprintf(text, sizeof(text),
		"another lunbench run (pid %d) reads it at the same time: the figures are of a LUN that is "
		"shared",
		pid);
	assert_string_equal(rows[0].text, text);
	lb_lock_look(&lock, &found); /* once is enough */
	assert_int_equal(found.n, 1);
	end(pid);
	lb_lock_done(&lock);

	found.n = 0;
	take(false);
	lb_lock_look(&lock, &found);
	assert_int_equal(found.n, 0);
	pid = locked_by("lunbench", LOCK_SH, 0);
	lb_lock_look(&lock, &found);
	assert_int_equal(found.n, 1);
	end(pid);
}

static void others_with_a_lock_are_no_run(void **state)
{
	pid_t pid = locked_by("systemd-udevd", LOCK_SH, 0);

	(void)state;
	take(false);
	lb_lock_look(&lock, &found);
	assert_int_equal(found.n, 0);
	end(pid);
}

static void a_writer_is_told_to_a_reader(void **state)
{
	pid_t pid = locked_by("lunbench", LOCK_EX, 0);
	uint64_t took = take(false);

	(void)state;
	assert_in_range(took, 1000 * MSEC, 1300 * MSEC);
	assert_int_equal(lun.fate, LB_FATE_USED);
	lb_lock_look(&lock, &found);
	assert_int_equal(found.n, 1);
	assert_non_null(strstr(rows[0].text, ") writes it at the same time: "));
	end(pid);
}

static void a_writer_is_refused_where_another_run_is(void **state)
{
	pid_t pid = locked_by("lunbench", LOCK_SH, 0);
	char text[100];

	(void)state;
	assert_in_range(take(true), 1000 * MSEC, 1300 * MSEC);
	assert_int_equal(lun.fate, LB_FATE_REFUSED);
	assert_int_equal(lun.refusal, LB_ST_USAGE);
	snprintf(text, sizeof(text), "in use: another lunbench run (pid %d) is on it", pid);
	assert_string_equal(lun.why, text);
	end(pid);
	lb_lock_done(&lock);

	pid = locked_by("mkfs.ext4", LOCK_EX, 0);
	take(true);
	snprintf(text, sizeof(text), "in use: mkfs.ext4 (pid %d) has locked it", pid);
	assert_string_equal(lun.why, text);
	end(pid);
}

static void what_holds_it_for_a_moment_is_waited_for(void **state)
{
	pid_t pid = locked_by("udevd", LOCK_SH, 300);

	(void)state;
	assert_in_range(take(true), 200 * MSEC, 900 * MSEC);
	assert_int_equal(lun.fate, LB_FATE_USED);
	waitpid(pid, NULL, 0);
	/* and a writer keeps all others out */
	pid = fork();
	if (!pid) {
		int fd = open(path, O_RDONLY);

		_exit(flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK ? 0 : 1);
	}
	{
		int status;

		waitpid(pid, &status, 0);
		assert_int_equal(status, 0);
	}
}

static void many_are_waited_for_together(void **state)
{
	struct lb_lun many[20];
	struct lb_lun *all[20];
	pid_t pid = locked_by("lunbench", LOCK_SH, 0);
	uint64_t began = lb_now_ns();

	(void)state;
	for (int i = 0; i < 20; i++) {
		many[i] = lun;
		many[i].fd = open(path, O_RDONLY);
		all[i] = &many[i];
	}
	assert_int_equal(lb_lock_take(&lock, all, 20, true, &err), 0);
	assert_in_range(lb_now_ns() - began, 1000 * MSEC, 1300 * MSEC);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(many[i].fate, LB_FATE_REFUSED);
		close(many[i].fd);
	}
	end(pid);
}

#define ON_FILE(f) cmocka_unit_test_setup_teardown(f, make_file, remove_file)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_FILE(alone),
		ON_FILE(two_readers_see_each_other_whoever_comes_later),
		ON_FILE(others_with_a_lock_are_no_run),
		ON_FILE(a_writer_is_told_to_a_reader),
		ON_FILE(a_writer_is_refused_where_another_run_is),
		ON_FILE(what_holds_it_for_a_moment_is_waited_for),
		ON_FILE(many_are_waited_for_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
