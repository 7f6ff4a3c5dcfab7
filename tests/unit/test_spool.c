/* Lines for a reader who is slow, stuck or gone. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "spool.h"

#define ROOM 64

struct bench {
	struct lb_spool *s;
	int reader, writer;
};

/* A pipe that holds a page; with IS_FULL it does. */
static void begin(struct bench *b, bool is_full)
{
	static const char page[4096];
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	b->reader = fds[0];
	b->writer = fds[1];
	assert_true(fcntl(b->writer, F_SETPIPE_SZ, (int)sizeof(page)) >= (int)sizeof(page));
	for (int left = is_full ? fcntl(b->writer, F_GETPIPE_SZ) : 0; left > 0; left -= 4096)
		assert_int_equal(write(b->writer, page, sizeof(page)), sizeof(page));
	assert_int_equal(lb_spool_start(&b->s, b->writer, ROOM), 0);
}

static void put(struct bench *b, const char *text, bool waits)
{
	lb_spool_put(b->s, text, strlen(text), waits);
}

/* Closes the pipe's end that was written to, and returns what is left in it. */
static const char *rest(struct bench *b)
{
	static char buf[8192];
	ssize_t n, len = 0;

	close(b->writer);
	while ((n = read(b->reader, buf + len, sizeof(buf) - 1 - (size_t)len)) > 0)
		len += n;
	buf[len] = '\0';
	close(b->reader);
	return buf;
}

static void all_lines_arrive_in_order(void **state)
{
	char line[16], all[2000] = "";
	struct bench b;

	(void)state;
	begin(&b, false);
	for (int i = 0; i < 100; i++) { /* more than there is room for: some must wait */
		snprintf(line, sizeof(line), "line %d\n", i);
		strcat(all, line);
		put(&b, line, true);
	}
	assert_int_equal(lb_spool_end(b.s), 0);
	assert_int_equal(lb_spool_dropped(b.s), 0);
	assert_string_equal(rest(&b), all);
	lb_spool_done(b.s);
}

static void whole_lines_are_dropped_when_nobody_reads(void **state)
{
	char drop[4096];
	struct bench b;

	(void)state;
	begin(&b, true);
	put(&b, "first, 32 characters with these\n", false);
	put(&b, "second, as many more of them...\n", false);
	put(&b, "no room\n", false);
	put(&b, "none for this one either\n", false);
	assert_int_equal(lb_spool_dropped(b.s), 2);
	assert_int_equal(lb_spool_errnum(b.s), 0);
	for (int n = fcntl(b.reader, F_GETPIPE_SZ); n > 0; n -= (int)sizeof(drop))
		assert_int_equal(read(b.reader, drop, sizeof(drop)), sizeof(drop));
	put(&b, "longer than there is room for at all, which nobody minds who waits for it\n",
		true);
	assert_int_equal(lb_spool_end(b.s), 0);
	assert_string_equal(rest(&b),
		"first, 32 characters with these\nsecond, as many more of them...\n"
		"longer than there is room for at all, which nobody minds who waits for it\n");
	lb_spool_done(b.s);
}

static void who_went_away_holds_nobody_up(void **state)
{
	struct bench b;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	begin(&b, false);
	close(b.reader);
	for (int i = 0; i < 100; i++)
		put(&b, "a line that nobody will ever read, and that is no loss\n", true);
	assert_int_equal(lb_spool_end(b.s), EPIPE);
	assert_int_equal(lb_spool_errnum(b.s), EPIPE);
	assert_int_equal(lb_spool_dropped(b.s), 0);
	lb_spool_done(b.s);
	lb_spool_done(NULL);
	close(b.writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_lines_arrive_in_order),
		cmocka_unit_test(whole_lines_are_dropped_when_nobody_reads),
		cmocka_unit_test(who_went_away_holds_nobody_up),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
