#include "supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "control.h"
#include "notes.h"
#include "progress.h"
#include "run.h"
#include "units.h"

#define LEAD_NS      (2 * LB_NSEC_PER_MSEC)    /* the window's opening is announced so far ahead */
#define HURRY_NS     (1500 * LB_NSEC_PER_MSEC) /* the drain that a signal leaves */
#define NO_ANSWER_NS (10 * LB_NSEC_PER_SEC)    /* a target that takes longer to open will not */
#define NO_GUARD_NS  (120 * LB_NSEC_PER_SEC)   /* what looks into all of them has more time */
#define FAREWELL_MS  1000                      /* a child that can end has by then */
#define SAME_STOP_MS 300                       /* signals so near to the first are one stop */

struct supervisor {
	const struct lb_config *cfg;
	struct lb_board *board;
	struct lb_outcome *outcome;
	struct lb_feed *feed;
	struct lb_control control;
	bool has_control;
	struct lb_notes notes;
	uint64_t over_ns; /* when control had nothing more to wait for; 0: not yet */
	struct lb_progress progress;
	uint64_t tick_ns; /* when the live line is due next */
	pid_t child;
	int child_fd, signal_fd;
	uint64_t stop_ns; /* when the first signal came; 0: none has */
	/* while targets are opened: what was seen last, and since when */
	uint32_t opening_at;
	uint64_t filled_bytes, opening_since_ns;
};

static uint64_t realtime_offset(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * LB_NSEC_PER_SEC + (uint64_t)ts.tv_nsec - lb_now_ns();
}

int lb_board_make(struct lb_board **board, struct lb_shm *shm, const struct lb_config *cfg,
	struct lb_err *err)
{
	size_t n = cfg->n_targets + cfg->scratch.count;
	struct lb_board *b;
	uint32_t room = lb_findings_room((uint32_t)n);
	int ret = lb_shm_create(shm,
		sizeof(*b) + room * sizeof(*b->findings.at) +
			LB_EVENTS_ROOM * sizeof(*b->events.at) + lb_plan_size_bound(cfg, n),
		err);

	if (ret)
		return ret;
	*board = b = lb_shm_alloc(shm, 1, sizeof(*b), 64);
	b->luns = lb_shm_alloc(shm, n, sizeof(*b->luns), 64);
	b->n_luns = (uint32_t)n;
	b->realtime_minus_monotonic_ns = realtime_offset();
	b->findings.at = lb_shm_alloc(shm, room, sizeof(*b->findings.at), 64);
	b->findings.room = room;
	b->events.at = lb_shm_alloc(shm, LB_EVENTS_ROOM, sizeof(*b->events.at), 64);
	b->events.room = LB_EVENTS_ROOM;
	b->stall_ns = cfg->stall_ns;
	lb_luns_init(b->luns, cfg);
	b->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	b->edge_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (b->kick_fd < 0 || b->edge_fd < 0)
		return lb_fail(err, LB_ST_UNAVAILABLE, errno, "cannot make an eventfd: %s",
			strerror(errno));
	return 0;
}

/* Those of our signals that the caller has not told us to ignore (nohup). */
static void heeded_signals(sigset_t *set)
{
	static const int ours[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction act;

	sigemptyset(set);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (sigaction(ours[i], NULL, &act) == 0 && act.sa_handler != SIG_IGN)
			sigaddset(set, ours[i]);
}

static void handle_heeded(void (*handler)(int))
{
	struct sigaction act = {.sa_handler = handler, .sa_flags = SA_RESTART};
	sigset_t set;

	heeded_signals(&set);
	for (int signum = 1; signum < NSIG; signum++)
		if (sigismember(&set, signum) == 1)
			sigaction(signum, &act, NULL);
}

static void end_at_once(int signum)
{
	_exit(128 + signum);
}

static void bear(int signum)
{
	(void)signum;
}

static void bear_no_more(int signum)
{
	(void)signum;
	handle_heeded(end_at_once);
}

/* One stop may come as several signals: timeout(1) and some shells send one to the process and one
 * to its group. Those that come within LEFT_NS more are borne, later ones end all. */
static void bear_for(uint64_t left_ns)
{
	struct sigaction act = {.sa_handler = bear_no_more, .sa_flags = SA_RESTART};
	struct itimerval timer = {.it_value.tv_usec = (suseconds_t)(left_ns / 1000 + 1)};

	handle_heeded(bear);
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void bear_one(int signum)
{
	(void)signum;
	bear_for(SAME_STOP_MS * LB_NSEC_PER_MSEC);
}

/* The reports are still to be made, and may find no reader. A first signal has nothing to cut by
 * now; any other ends at once. */
static void handle_in_reports(uint64_t stop_ns)
{
	uint64_t since = lb_now_ns() - stop_ns;

	if (!stop_ns)
		handle_heeded(bear_one);
	else if (since < SAME_STOP_MS * LB_NSEC_PER_MSEC)
		bear_for(SAME_STOP_MS * LB_NSEC_PER_MSEC - since);
	else
		handle_heeded(end_at_once);
}

/* A signal: the first one in the window ends it, one in the drain shortens that; a second one ends
 * all, unless it comes with the first. */
static int take_signal(struct supervisor *s)
{
	struct signalfd_siginfo info;
	uint64_t now = lb_now_ns();

	if (read(s->signal_fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	if (s->stop_ns) {
		if (now - s->stop_ns < SAME_STOP_MS * LB_NSEC_PER_MSEC)
			return 0;
		s->outcome->signal = (int)info.ssi_signo;
		return -EINTR;
	}
	s->stop_ns = now;
	if (!s->has_control) { /* nothing has begun */
		s->outcome->signal = (int)info.ssi_signo;
		return 1;
	}
	if (s->control.state <= LB_CTL_MEASURING && now < lb_window_end_now(&s->board->window) &&
		lb_window_close(&s->board->window, NULL, NULL)) {
		s->outcome->signal = (int)info.ssi_signo;
		lb_board_kick(s->board);
	}
	s->control.hurry_ns = now + HURRY_NS;
	return 0;
}

/* An open that does not return: nobody can tell when it will, so say whose it is and leave. */
static bool has_no_answer(struct supervisor *s, uint64_t now)
{
	struct lb_board *b = s->board;
	uint32_t at = atomic_load(&b->opening_at);
	uint64_t filled = atomic_load(&b->filled_bytes);
	char name[200];

	if (at != s->opening_at || filled != s->filled_bytes || !s->opening_since_ns) {
		s->opening_at = at;
		s->filled_bytes = filled;
		s->opening_since_ns = now;
	}
	if (atomic_load(&b->fill_bytes)) /* it has a limit of its own */
		return false;
	if (at >= b->n_luns) {
		if (now - s->opening_since_ns < NO_GUARD_NS)
			return false;
		snprintf(s->outcome->no_answer, sizeof(s->outcome->no_answer),
			"a LUN has not answered the write guard for %u s",
			(unsigned)(NO_GUARD_NS / LB_NSEC_PER_SEC));
		return true;
	}
	if (now - s->opening_since_ns < NO_ANSWER_NS)
		return false;
	snprintf(s->outcome->no_answer, sizeof(s->outcome->no_answer), "%s: no answer for %u s",
		lb_shorten(name, sizeof(name), b->luns[at].name),
		(unsigned)(NO_ANSWER_NS / LB_NSEC_PER_SEC));
	return true;
}

/* Waits for news, or until UNTIL_NS. Returns 1 when the child has died, -EINTR to end at once. */
static int wait_for_news(struct supervisor *s, uint64_t until_ns)
{
	struct pollfd fds[] = {{.fd = s->signal_fd, .events = POLLIN},
		{.fd = s->board->kick_fd, .events = POLLIN}, {.fd = s->child_fd, .events = POLLIN}};
	uint64_t now = lb_now_ns(), left = until_ns > now ? until_ns - now : 0, drop;
	struct timespec ts = {.tv_sec = (time_t)(left / LB_NSEC_PER_SEC),
		.tv_nsec = (long)(left % LB_NSEC_PER_SEC)};

	if (ppoll(fds, 3, until_ns == LB_NEVER ? NULL : &ts, NULL) <= 0)
		return 0;
	if (fds[0].revents)
		return take_signal(s);
	if (fds[1].revents && read(s->board->kick_fd, &drop, sizeof(drop)) < 0)
		return 0;
	return fds[2].revents != 0;
}

/* What is due at NOW. Returns when to look again; *OVER when there is nothing more to wait for. */
static uint64_t look(struct supervisor *s, uint64_t now, bool *over)
{
	struct lb_board *b = s->board;
	uint64_t next, open;
	uint32_t closed_early;
	enum lb_stage stage = atomic_load_explicit(&b->stage, memory_order_acquire);

	if (lb_board_is_done(b)) {
		*over = true;
		return now;
	}
	if (stage == LB_STAGE_OPENING) {
		*over = has_no_answer(s, now);
		return now + LB_NSEC_PER_SEC;
	}
	if (b->plan->is_virtual) /* its own worker steps its control */
		return LB_NEVER;
	if (!s->has_control) {
		lb_control_init(&s->control, b, s->cfg->drain_ns, LEAD_NS);
		s->has_control = true;
	}
	open = atomic_load(&b->window.open_ns);
	closed_early = atomic_load(&b->window.closed_early);
	next = lb_control_step(&s->control, now);
	if (atomic_load(&b->window.open_ns) != open ||
		atomic_load(&b->window.closed_early) != closed_early)
		lb_board_kick(b); /* whoever attends the window wants to know */
	if (s->control.state != LB_CTL_OVER)
		return next;
	/* the child has yet to read its clocks and counters, unless something holds it */
	if (!s->over_ns)
		s->over_ns = now;
	*over = s->control.timed_out || now - s->over_ns >= FAREWELL_MS * LB_NSEC_PER_MSEC;
	return s->over_ns + FAREWELL_MS * LB_NSEC_PER_MSEC;
}

/* Whoever reads the stream hears what is new. */
static void tell_feed(struct supervisor *s)
{
	int errnum;

	lb_feed_look(s->feed, s->board, s->control.sampler);
	s->outcome->stream_dropped = lb_feed_lost(s->feed, &errnum);
	s->outcome->stream_failed = errnum != 0;
}

/* The child has ended by itself, or is told to, or is left behind: the kernel lets it go when it
 * can. */
static void part(struct supervisor *s, bool died)
{
	struct pollfd pfd = {.fd = s->child_fd, .events = POLLIN};
	bool is_done = lb_board_is_done(s->board), is_ending = died || is_done;

	if (!is_ending || s->outcome->timed_out)
		kill(s->child, SIGKILL);
	if (poll(&pfd, 1, is_ending ? FAREWELL_MS : FAREWELL_MS / 20) > 0)
		waitpid(s->child, &s->outcome->child_status, WNOHANG);
	s->outcome->child_died = died && !is_done;
	if (s->outcome->child_died && s->has_control)
		lb_window_close(&s->board->window, NULL, NULL);
	if (s->has_control)
		lb_control_finish(&s->control, lb_now_ns());
	tell_feed(s);
	lb_control_done(&s->control);
}

/* What is for people and due at NOW. Returns when more will be. */
static uint64_t tell(struct supervisor *s, uint64_t now)
{
	uint64_t next = LB_NEVER;

	if (s->has_control)
		next = lb_notes_tell(&s->notes, &s->progress, s->board, now);
	if (now >= s->tick_ns) {
		lb_progress_tick(&s->progress, s->cfg, s->board, now);
		s->tick_ns += LB_NSEC_PER_SEC;
		if (s->tick_ns <= now) /* stopped, or held up: no need to catch up */
			s->tick_ns = now + LB_NSEC_PER_SEC;
	}
	return s->progress.is_on && s->tick_ns < next ? s->tick_ns : next;
}

static int watch(struct supervisor *s)
{
	bool over = false;
	int ret = 0;

	s->tick_ns = lb_now_ns() + LB_NSEC_PER_SEC;
	while (!over && ret == 0) {
		uint64_t now = lb_now_ns(), next = look(s, now, &over), tell_ns;

		if (over)
			break;
		tell_feed(s);
		tell_ns = tell(s, now);
		ret = wait_for_news(s, tell_ns < next ? tell_ns : next);
	}
	lb_progress_clear(&s->progress);
	lb_progress_done(&s->progress);
	s->outcome->timed_out = s->has_control && s->control.timed_out;
	s->outcome->stalled = atomic_load(&s->board->window.stalled);
	part(s, ret == 1 && !s->outcome->signal);
	return ret == -EINTR ? ret : 0;
}

int lb_supervise(const struct lb_config *cfg, struct lb_shm *shm, struct lb_board *board,
	struct lb_outcome *outcome, struct lb_feed *feed, struct lb_err *err)
{
	struct supervisor s = {.cfg = cfg,
		.board = board,
		.outcome = outcome,
		.feed = feed,
		.control.hurry_ns = LB_NEVER};
	sigset_t heeded, before;
	pid_t self = getpid();
	int ret;

	*outcome = (struct lb_outcome){0};
	lb_progress_init(&s.progress, cfg->progress, STDERR_FILENO);
	heeded_signals(&heeded);
	sigprocmask(SIG_BLOCK, &heeded, &before);
	s.signal_fd = signalfd(-1, &heeded, SFD_CLOEXEC | SFD_NONBLOCK);
	signal(SIGCHLD, SIG_DFL); /* ignored, nobody would be told how the child ended */
	s.child = fork();
	if (s.child == 0)
		lb_run(cfg, shm, board, self);
	if (s.child < 0 || s.signal_fd < 0)
		return lb_fail(err, LB_ST_UNAVAILABLE, errno,
			"cannot start the measuring process: %s: see ulimit -u and -n, kernel.pid_max and "
			"the pids limit of the cgroup",
			strerror(errno));
	s.child_fd = pidfd_open(s.child, 0);
	lb_feed_start(feed); /* a thread: not before the fork, and without our signals */
	ret = watch(&s);
	outcome->end_ns = lb_now_ns();
	lb_notes_done(&s.notes);
	close(s.child_fd);
	close(s.signal_fd);
	handle_in_reports(s.stop_ns);
	sigdelset(&before, SIGALRM);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return ret;
}
