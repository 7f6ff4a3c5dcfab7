#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "made.h"
#include "progress.h"
#include "table.h"

#define assert_near(a, b) assert_true((a) > (b)*0.999999 && (a) < (b)*1.000001)

static void assert_words(const struct lb_progress_view *v, size_t width, const char *expected)
{
	char buf[512];

	assert_ptr_equal(lb_progress_words(buf, sizeof(buf), v, width), buf);
	assert_string_equal(buf, expected);
}

static void words_of_each_stage(void **state)
{
	struct lb_progress_view v = {.stage = LB_PROGRESS_NOTHING};

	(void)state;
	assert_words(&v, 80, "");
	v = (struct lb_progress_view){
		.stage = LB_PROGRESS_OPENING, .nth = 12, .n = 64, .name = "/dev/mapper/mpathl"};
	assert_words(&v, 80, "opening 12 of 64: /dev/mapper/mpathl");
	v = (struct lb_progress_view){.stage = LB_PROGRESS_SCRATCH, .percent = 42};
	assert_words(&v, 80, "filling scratch files: 42%");
	v = (struct lb_progress_view){
		.stage = LB_PROGRESS_FILLING, .percent = 7, .left_ns = 80 * LB_NSEC_PER_SEC};
	assert_words(&v, 80, "filling the LUNs: 7%  1m20s left");
	v = (struct lb_progress_view){.stage = LB_PROGRESS_WARMING};
	assert_words(&v, 80, "warming up");
	v.left_ns = 2 * SEC + 1;
	assert_words(&v, 80, "warming up, 3s left");
	v = (struct lb_progress_view){.stage = LB_PROGRESS_VIRTUAL, .xfers = 1234567};
	assert_words(&v, 80, "on a virtual clock: 1234567 xfers");
}

static struct lb_progress_view measuring(void)
{
	return (struct lb_progress_view){.stage = LB_PROGRESS_MEASURING,
		.left_ns = 22 * SEC,
		.has_rate = true,
		.xfer_per_s = 59604.4,
		.bytes_per_s = 59604.4 * 16384,
		.has_p99 = true,
		.p99_ns = 5131234};
}

static void words_of_measuring(void **state)
{
	struct lb_progress_view v = measuring();

	(void)state;
	assert_words(&v, 80, "22s left  59604 xfer/sec  953670 KB/sec  p99 5.13ms");
	v.left_ns = 8 * 3600 * SEC;
	v.has_p99 = false;
	v.xfer_per_s = 0.5;
	v.bytes_per_s = 8192;
	assert_words(&v, 80, "8h left  0.5 xfer/sec  8 KB/sec");
	v.has_rate = false;
	v.count = 50000;
	v.percent = 41;
	assert_words(&v, 80, "41% of 50000 xfers, 8h left");
	v.left_ns = 0;
	assert_words(&v, 80, "41% of 50000 xfers");
}

static void words_of_silence(void **state)
{
	struct lb_progress_view v = measuring();

	(void)state;
	v.n_silent = 1;
	v.name = "/dev/mapper/mpathc";
	v.oldest_ns = 12900 * MS;
	assert_words(&v, 200,
		"22s left  59604 xfer/sec  953670 KB/sec  p99 5.13ms  "
		"NO ANSWER: /dev/mapper/mpathc for 12 s");
	v.n_silent = 3;
	assert_words(&v, 120,
		"22s left  59604 xfer/sec  953670 KB/sec  p99 5.13ms  "
		"NO ANSWER: 3 LUNs, /dev/mapper/mpathc for 12 s");
	assert_words(&v, 95,
		"22s left  59604 xfer/sec  953670 KB/sec  p99 5.13ms  "
		"NO ANSWER: 3 LUNs, /de...r/mpathc for 12 s");
}

static void words_of_draining(void **state)
{
	struct lb_progress_view v = {.stage = LB_PROGRESS_DRAINING,
		.n_waiting = 3,
		.n_luns = 1,
		.name = "lun7",
		.oldest_ns = 12 * SEC};

	(void)state;
	assert_words(&v, 80, "waiting for 3 I/Os of lun7, oldest 12 s");
	v.n_waiting = 1;
	assert_words(&v, 80, "waiting for 1 I/O of lun7, oldest 12 s");
	v.n_waiting = 130;
	v.n_luns = 3;
	assert_words(&v, 80, "waiting for 130 I/Os of 3 LUNs, oldest 12 s: lun7");
	v.n_waiting = 0;
	assert_words(&v, 80, "ending");
}

static void words_fit(void **state)
{
	struct lb_progress_view v = measuring();
	char buf[512];

	(void)state;
	v.n_silent = 2;
	v.name = "/dev/disk/by-id/dm-uuid-mpath-360002ac000000000000000120001f3a4";
	for (size_t width = 0; width < 150; width++)
		assert_true(lb_columns(lb_progress_words(buf, sizeof(buf), &v, width)) <= width);
	assert_words(&v, 10, "22s left  ");
	/* a small buffer is not overrun */
	assert_int_equal(strlen(lb_progress_words(buf, 20, &v, 150)), 19);
}

/* 4 LUNs in the window, all answering at NOW. */
static struct made *running(uint64_t now_ns)
{
	struct made *m = made_new(4, 2, 8);

	m->board.stage = LB_STAGE_RUNNING;
	for (uint32_t i = 0; i < 4; i++) {
		made_xfers(m, i, 1000, MS);
		m->board.lun_states[i].last_ns = now_ns - MS;
		m->board.ios[m->plan.lanes[i].slot].issue_ns = now_ns - MS;
	}
	return m;
}

static void differences_of_a_second(void **state)
{
	uint64_t now_ns = MADE_OPEN_NS + 2 * SEC;
	struct made *m = running(now_ns);
	struct lb_progress p;
	struct lb_progress_view v;

	(void)state;
	lb_progress_init(&p, LB_PROGRESS_NEVER, -1);
	lb_progress_look(&p, &v, &m->cfg, &m->board, now_ns);
	assert_int_equal(v.stage, LB_PROGRESS_MEASURING);
	assert_int_equal(v.left_ns, 8 * SEC);
	assert_near(v.xfer_per_s, 1600.0); /* 4000 since the start, 2.5 s ago */
	assert_int_equal(v.n_silent, 0);

	made_xfers(m, 1, 98, 2 * MS);
	made_xfers(m, 2, 2, 9 * MS);
	lb_board_cell(&m->board, 3, LB_READ)->outside = 50;
	lb_progress_look(&p, &v, &m->cfg, &m->board, now_ns + SEC / 2);
	assert_true(v.has_rate);
	assert_near(v.xfer_per_s, 300.0);
	assert_near(v.bytes_per_s, 300.0 * 16384);
	assert_true(v.has_p99);
	assert_int_equal(v.p99_ns, lb_hist_high_ns(lb_hist_bucket(9 * MS)) - 1);

	made_xfers(m, 1, 99, 2 * MS); /* too few for a p99 */
	lb_progress_look(&p, &v, &m->cfg, &m->board, now_ns + SEC);
	assert_near(v.xfer_per_s, 198.0);
	assert_false(v.has_p99);
	lb_progress_done(&p);
	made_done(m);
}

static void shared_histograms_count_once(void **state)
{
	uint64_t now_ns = MADE_OPEN_NS + 2 * SEC;
	struct made *m = made_new(3, 3, 1);
	struct lb_progress p;
	struct lb_progress_view v;

	(void)state;
	m->board.stage = LB_STAGE_RUNNING;
	m->plan.n_luns = 2; /* lanes 0 and 2 on one LUN and histogram, another between them */
	m->plan.lanes[2].lun = m->plan.lanes[2].hist = 0;
	m->plan.lanes[0].shares_hist = m->plan.lanes[2].shares_hist = true;
	lb_board_cell(&m->board, 2, LB_READ)->hist = &m->board.hists[0];
	lb_progress_init(&p, LB_PROGRESS_NEVER, -1);
	lb_progress_look(&p, &v, &m->cfg, &m->board, now_ns);
	for (uint32_t i = 0; i < 3; i++)
		made_xfers(m, i, 100, (i + 1) * MS);
	lb_progress_look(&p, &v, &m->cfg, &m->board, now_ns + SEC);
	assert_near(v.xfer_per_s, 300.0);
	assert_int_equal(lb_hist_total(&p.hist), 300);
	lb_progress_done(&p);
	made_done(m);
}

static void silent_luns(void **state)
{
	uint64_t now_ns = MADE_OPEN_NS + 4 * SEC;
	struct made *m = running(now_ns);
	struct lb_progress p;
	struct lb_progress_view v;

	(void)state;
	m->board.lun_states[1].last_ns = now_ns - SEC; /* not over a second */
	m->board.lun_states[2].last_ns = now_ns - 3 * SEC;
	m->board.lun_states[3].last_ns = now_ns - 2 * SEC;
	for (uint32_t i = 1; i < 4; i++)
		m->board.ios[m->plan.lanes[i].slot].issue_ns = now_ns - 4 * SEC;
	lb_progress_init(&p, LB_PROGRESS_NEVER, -1);
	lb_progress_look(&p, &v, &m->cfg, &m->board, now_ns);
	assert_int_equal(v.n_silent, 2);
	assert_string_equal(v.name, "/dev/mapper/mpath2");
	assert_int_equal(v.oldest_ns, 3 * SEC);

	/* one with nothing in flight, or whose I/O is young, is not silent */
	m->board.ios[m->plan.lanes[2].slot].issue_ns = 0;
	m->board.ios[m->plan.lanes[3].slot].issue_ns = now_ns - SEC / 2;
	lb_progress_look(&p, &v, &m->cfg, &m->board, now_ns);
	assert_int_equal(v.n_silent, 0);
	assert_null(v.name);

	/* a LUN that has never answered is silent since its first I/O */
	m->board.lun_states[3].last_ns = 0;
	m->board.ios[m->plan.lanes[3].slot + 7].issue_ns = now_ns - 4 * SEC;
	lb_progress_look(&p, &v, &m->cfg, &m->board, now_ns);
	assert_int_equal(v.n_silent, 1);
	assert_string_equal(v.name, "/dev/mapper/mpath3");
	assert_int_equal(v.oldest_ns, 4 * SEC);
	lb_progress_done(&p);
	made_done(m);
}

static void a_backlog_is_told_when_it_is_old(void **state)
{
	uint64_t now_ns = MADE_OPEN_NS + 4 * SEC, due_ns;
	struct made *m = running(now_ns);
	struct lb_progress p;
	struct lb_progress_view v;
	char buf[200];

	(void)state;
	made_open(m, m->plan.n_luns * 1000 * 1000ull, LB_ARRIVAL_FIXED, LB_CATCH_UP_QD);
	/* all but what is due now, and of one LUN what was due in the last second */
	for (uint32_t i = 0; i < m->plan.n_luns; i++)
		while (lb_pace_claim(&m->board.paces[i],
			now_ns - m->board.window.start_ns - (i == 2 ? SEC : 99 * MS), &due_ns))
			;
	lb_progress_init(&p, LB_PROGRESS_NEVER, -1);
	lb_progress_look(&p, &v, &m->cfg, &m->board, now_ns);
	assert_int_equal(v.backlog, 1000);
	assert_non_null(strstr(lb_progress_words(buf, sizeof(buf), &v, 190), "  backlog 1000"));
	while (lb_pace_claim(&m->board.paces[2], now_ns - m->board.window.start_ns, &due_ns))
		;
	lb_progress_look(&p, &v, &m->cfg, &m->board, now_ns);
	assert_int_equal(v.backlog, 0);
	assert_null(strstr(lb_progress_words(buf, sizeof(buf), &v, 190), "backlog"));
	lb_progress_done(&p);
	made_done(m);
}

static void stages_of_a_run(void **state)
{
	struct made *m = running(MADE_OPEN_NS);
	struct lb_progress p;
	struct lb_progress_view v;

	(void)state;
	lb_progress_init(&p, LB_PROGRESS_NEVER, -1);
	m->board.stage = LB_STAGE_OPENING;
	m->board.opening_at = 2;
	lb_progress_look(&p, &v, &m->cfg, &m->board, MADE_OPEN_NS - SEC);
	assert_int_equal(v.stage, LB_PROGRESS_OPENING);
	assert_int_equal(v.nth, 3);
	assert_int_equal(v.n, 4);
	assert_string_equal(v.name, "/dev/mapper/mpath2");

	m->cfg.scratch.count = 4;
	m->cfg.scratch.size_bytes = 256 << 20;
	m->board.filled_bytes = 512 << 20;
	lb_progress_look(&p, &v, &m->cfg, &m->board, MADE_OPEN_NS - SEC);
	assert_int_equal(v.stage, LB_PROGRESS_SCRATCH);
	assert_int_equal(v.percent, 50);

	m->board.filled_bytes = 1024 << 20;
	m->board.opening_at = 4; /* past the last: engine, buffers */
	lb_progress_look(&p, &v, &m->cfg, &m->board, MADE_OPEN_NS - SEC);
	assert_int_equal(v.stage, LB_PROGRESS_NOTHING);

	m->board.stage = LB_STAGE_RUNNING;
	lb_progress_look(&p, &v, &m->cfg, &m->board, MADE_OPEN_NS - SEC);
	assert_int_equal(v.stage, LB_PROGRESS_WARMING);
	assert_int_equal(v.left_ns, SEC);
	m->board.window.open_ns = LB_NEVER;
	lb_progress_look(&p, &v, &m->cfg, &m->board, MADE_OPEN_NS - SEC);
	assert_int_equal(v.stage, LB_PROGRESS_WARMING);
	assert_int_equal(v.left_ns, 0);

	m->board.window.open_ns = MADE_OPEN_NS;
	m->board.window.close_ns = LB_NEVER;
	m->phase.count = 3000;
	m->board.lun_states[3].counted = 1000;
	lb_progress_look(&p, &v, &m->cfg, &m->board, MADE_OPEN_NS);
	assert_int_equal(v.stage, LB_PROGRESS_MEASURING);
	assert_int_equal(v.left_ns, 0);
	assert_int_equal(v.percent, 33);

	m->board.window.close_ns = MADE_OPEN_NS + SEC;
	m->board.ios[m->plan.lanes[1].slot + 1].issue_ns = MADE_OPEN_NS - SEC;
	m->board.ios[m->plan.lanes[0].slot].issue_ns = 0;
	lb_progress_look(&p, &v, &m->cfg, &m->board, MADE_OPEN_NS + SEC);
	assert_int_equal(v.stage, LB_PROGRESS_DRAINING);
	assert_int_equal(v.n_waiting, 4);
	assert_int_equal(v.n_luns, 3);
	assert_string_equal(v.name, "/dev/mapper/mpath1");
	assert_int_equal(v.oldest_ns, 2 * SEC);

	m->board.stage = LB_STAGE_DRAINED;
	lb_progress_look(&p, &v, &m->cfg, &m->board, MADE_OPEN_NS + SEC);
	assert_int_equal(v.stage, LB_PROGRESS_NOTHING);
	lb_progress_done(&p);
	made_done(m);
}

static void on_or_off(void **state)
{
	struct lb_progress p;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	lb_progress_init(&p, LB_PROGRESS_AUTO, fds[1]);
	assert_false(p.is_on);
	lb_progress_init(&p, LB_PROGRESS_ALWAYS, fds[1]);
	assert_true(p.is_on);
	lb_progress_init(&p, LB_PROGRESS_NEVER, fds[1]);
	assert_false(p.is_on);
	close(fds[0]);
	close(fds[1]);
}

/* What FD has to read, at most N - 1 bytes, as a string. */
static const char *got(int fd, char *buf, size_t n)
{
	ssize_t len = read(fd, buf, n - 1);

	assert_true(len >= 0);
	buf[len] = '\0';
	return buf;
}

static void lines_on_a_pipe(void **state)
{
	struct made *m = running(MADE_OPEN_NS);
	struct lb_progress p;
	char buf[256];
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	lb_progress_init(&p, LB_PROGRESS_ALWAYS, fds[1]);
	lb_progress_tick(&p, &m->cfg, &m->board, MADE_OPEN_NS);
	assert_string_equal(got(fds[0], buf, sizeof(buf)),
		"10s left  8000 xfer/sec  128000 KB/sec  p99 1.01ms\n");
	lb_progress_done(&p); /* adds nothing */
	close(fds[1]);
	assert_string_equal(got(fds[0], buf, sizeof(buf)), "");
	close(fds[0]);
	made_done(m);
}

static void full_pipe_is_passed_over(void **state)
{
	struct made *m = running(MADE_OPEN_NS);
	struct lb_progress p;
	char page[4096] = "";
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	for (int i = 0; i < 16; i++)
		assert_int_equal(write(fds[1], page, sizeof(page)), sizeof(page));
	lb_progress_init(&p, LB_PROGRESS_ALWAYS, fds[1]);
	lb_progress_tick(&p, &m->cfg, &m->board, MADE_OPEN_NS); /* returns */
	lb_progress_done(&p);
	close(fds[0]);
	close(fds[1]);
	made_done(m);
}

static void one_line_on_a_terminal(void **state)
{
	struct winsize size = {.ws_row = 24, .ws_col = 40};
	struct made *m = running(MADE_OPEN_NS);
	struct lb_progress p;
	char buf[256];
	int master, slave;

	(void)state;
	if (openpty(&master, &slave, NULL, NULL, &size) < 0)
		skip();
	lb_progress_init(&p, LB_PROGRESS_AUTO, slave);
	assert_true(p.is_on);
	lb_progress_tick(&p, &m->cfg, &m->board, MADE_OPEN_NS);
	assert_string_equal(
		got(master, buf, sizeof(buf)), "\r10s left  8000 xfer/sec  128000 KB/sec ");
	made_xfers(m, 0, 4000, MS);
	lb_progress_tick(&p, &m->cfg, &m->board, MADE_OPEN_NS + SEC);
	assert_string_equal(
		got(master, buf, sizeof(buf)), "\r9s left  4000 xfer/sec  64000 KB/sec  p");
	lb_progress_tick(&p, &m->cfg, &m->board, MADE_OPEN_NS + 2 * SEC);
	assert_string_equal(
		got(master, buf, sizeof(buf)), "\r8s left  0.0 xfer/sec  0 KB/sec  NO ANS");
	m->board.window.close_ns = MADE_OPEN_NS;
	memset(m->board.ios, 0, m->plan.n_slots * sizeof(*m->board.ios));
	lb_progress_tick(&p, &m->cfg, &m->board, MADE_OPEN_NS + 3 * SEC);
	assert_string_equal(
		got(master, buf, sizeof(buf)), "\rending                                 ");
	lb_progress_clear(&p);
	assert_string_equal(got(master, buf, sizeof(buf)), "\r      \r");
	lb_progress_done(&p);
	close(slave);
	close(master);
	made_done(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_of_each_stage),
		cmocka_unit_test(words_of_measuring),
		cmocka_unit_test(words_of_silence),
		cmocka_unit_test(words_of_draining),
		cmocka_unit_test(words_fit),
		cmocka_unit_test(differences_of_a_second),
		cmocka_unit_test(shared_histograms_count_once),
		cmocka_unit_test(silent_luns),
		cmocka_unit_test(a_backlog_is_told_when_it_is_old),
		cmocka_unit_test(stages_of_a_run),
		cmocka_unit_test(on_or_off),
		cmocka_unit_test(lines_on_a_pipe),
		cmocka_unit_test(full_pipe_is_passed_over),
		cmocka_unit_test(one_line_on_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
