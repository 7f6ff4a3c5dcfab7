/* Notes: each event once, many of a kind in one line, as they come and as they end. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "made.h"
#include "notes.h"

#define T0 (MADE_OPEN_NS + 10 * SEC)

struct bench {
	struct made *m;
	struct lb_progress p;
	struct lb_notes notes;
	int pipe[2];
	char said[8192];
};

static void begin(struct bench *b, uint32_t n_luns, enum lb_progress_show show)
{
	memset(b, 0, sizeof(*b));
	b->m = made_new(n_luns, 1, 1);
	assert_int_equal(pipe2(b->pipe, O_NONBLOCK), 0);
	lb_progress_init(&b->p, show, b->pipe[1]);
}

static void end(struct bench *b)
{
	lb_notes_done(&b->notes);
	lb_progress_done(&b->p);
	made_done(b->m);
	close(b->pipe[0]);
	close(b->pipe[1]);
}

static struct lb_event *stall(struct bench *b, int lun, uint64_t from_ns)
{
	return lb_event_add(&b->m->board.events, &(struct lb_event){.kind = LB_EV_STALL,
							 .lun = lun,
							 .begin_ns = from_ns,
							 .end_ns = LB_NEVER,
							 .n = 64});
}

/* What is told at T0 + NOW, when it has had time to settle. */
static const char *told(struct bench *b, uint64_t now)
{
	uint64_t due = lb_notes_tell(&b->notes, &b->p, &b->m->board, T0 + now);
	ssize_t n;

	if (due != LB_NEVER) {
		assert_true(due > T0 + now && due <= T0 + now + SEC);
		assert_true(lb_notes_tell(&b->notes, &b->p, &b->m->board, due) == LB_NEVER);
	}
	n = read(b->pipe[0], b->said, sizeof(b->said) - 1);
	b->said[n > 0 ? n : 0] = '\0';
	return b->said;
}

static void begin_and_end_are_told_once(void **state)
{
	struct bench b;
	struct lb_event *ev;

	(void)state;
	begin(&b, 2, LB_PROGRESS_AUTO);
	assert_string_equal(told(&b, 0), "");
	ev = stall(&b, 1, T0 - 5 * SEC);
	assert_string_equal(told(&b, 0),
		"lunbench: 5.0 s: /dev/mapper/mpath1: nothing came back for 5.2 s, 64 in flight\n");
	assert_string_equal(told(&b, 2 * SEC), "");
	ev->end_ns = T0 + 2300 * MS;
	assert_string_equal(told(&b, 2400 * MS),
		"lunbench: 12.3 s: /dev/mapper/mpath1: answering again after 7.3 s\n");
	assert_string_equal(told(&b, 4 * SEC), "");
	end(&b);
}

static void many_at_once_are_one_note(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 200, LB_PROGRESS_ALWAYS);
	for (int i = 0; i < 198; i++)
		stall(&b, i, T0 - 5 * SEC + (uint64_t)i * MS);
	assert_string_equal(told(&b, 0),
		"lunbench: 5.0 s: 198 LUNs: nothing came back for up to 5.2 s: /dev/mapper/mpath0, "
		"/dev/mapper/mpath1, /dev/mapper/mpath2 and 195 more\n");
	for (int i = 0; i < 198; i++)
		b.m->board.events.at[i].end_ns = T0 + SEC;
	assert_string_equal(told(&b, 2 * SEC),
		"lunbench: 11.0 s: 198 LUNs: answering again after up to 6.0 s: /dev/mapper/mpath0, "
		"/dev/mapper/mpath1, /dev/mapper/mpath2 and 195 more\n");
	end(&b);
}

/* A flapping path does not flood the terminal. */
static void rounds_are_a_second_apart(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 2, LB_PROGRESS_AUTO);
	stall(&b, 0, T0 - 5 * SEC);
	assert_true(told(&b, 0)[0]);
	stall(&b, 1, T0 - 5 * SEC);
	assert_int_equal(
		lb_notes_tell(&b.notes, &b.p, &b.m->board, T0 + 300 * MS), T0 + 200 * MS + SEC);
	end(&b);
}

static void never_means_never(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 2, LB_PROGRESS_NEVER);
	stall(&b, 0, T0 - 5 * SEC);
	assert_string_equal(told(&b, 0), "");
	end(&b);
}

/* Each kind says what it is, alone and of several. */
static void every_kind_has_its_words(void **state)
{
	static const struct {
		struct lb_event ev;
		const char *one, *two;
	} kinds[] = {
		{{.kind = LB_EV_ERRORS, .n = 7}, "a: 7 I/O errors", "2 LUNs: I/O errors: a, a"},
		{{.kind = LB_EV_LOST, .what = "the device \x1b is gone"},
			"a: lost: the device \\x1b is gone", "2 LUNs: lost: a, a"},
		{{.kind = LB_EV_PATH, .what = "sdc", .from = "running", .to = "offline"},
			"sdc: running -> offline (path of a)",
			"2 path changes: sdc running -> offline (path of a), sdc running -> offline "
			"(path of a)"},
		{{.kind = LB_EV_PATH, .from = "running", .to = "offline"}, "a: running -> offline",
			"2 path changes: a running -> offline, a running -> offline"},
		{{.kind = LB_EV_PATHS, .n = 4, .m = 1}, "a: 1 live path, before it 4",
			"2 LUNs: live paths changed: a, a"},
		{{.kind = LB_EV_SUSPENDED, .end_ns = 10 * SEC}, "a: suspended for 10.0 s",
			"2 LUNs: suspended for up to 10.0 s: a, a"},
		{{.kind = LB_EV_SIZE, .n = 1024, .m = 512}, "a: now of 512 bytes, before it 1024",
			"2 LUNs: another size: a, a"},
		{{.kind = LB_EV_HELD, .what = "with it waited b", .end_ns = 2 * SEC},
			"a: held a worker in a call that submits for 2.0 s; with it waited b",
			"2 workers: held in a call that submits for up to 2.0 s: a, a"},
		{{.kind = LB_EV_HELD,
			 .lun = LB_EVENT_OF_RUN,
			 .what = "by one of a, b",
			 .end_ns = 2 * SEC},
			"a worker: held in a call that submits for 2.0 s; by one of a, b",
			"2 workers: held in a call that submits for up to 2.0 s: a worker, a worker"},
		{{.kind = LB_EV_STEADY, .lun = LB_EVENT_OF_RUN}, "the run: steady state reached",
			"2 LUNs: steady: the run, the run"},
	};
	static const char *const names[] = {"a"};
	char buf[512];

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct lb_event_fold f = {0};

		lb_event_fold_add(&f, &kinds[i].ev, 0);
		assert_string_equal(
			lb_event_words(buf, sizeof(buf), &f, names, false), kinds[i].one);
		lb_event_fold_add(&f, &kinds[i].ev, 0);
		assert_string_equal(
			lb_event_words(buf, sizeof(buf), &f, names, false), kinds[i].two);
		lb_event_words(buf, 16, &f, names, false);
		assert_int_equal(strlen(buf), 15); /* cut, and no more */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(begin_and_end_are_told_once),
		cmocka_unit_test(many_at_once_are_one_note),
		cmocka_unit_test(rounds_are_a_second_apart),
		cmocka_unit_test(never_means_never),
		cmocka_unit_test(every_kind_has_its_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
