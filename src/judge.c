#include "judge.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "guard_scan.h"
#include "shm.h"

#define NO_ANSWER_S 5
#define ALL_S       30
#define FAREWELL_MS 50         /* a killed process that can end has by then */
#define SCANNING    UINT32_MAX /* of `at`: no LUN yet */

struct cell {
	_Atomic uint32_t is_done; /* release after the others */
	enum lb_write write;
	struct lb_verdict verdict;
};

/* Shared by the two processes. */
struct judge {
	_Atomic uint32_t at; /* the row being looked at */
	_Atomic uint64_t since_ns;
	struct cell *cells; /* one for each row */
};

static void settle(struct cell *c, enum lb_write write)
{
	c->write = write;
	atomic_store_explicit(&c->is_done, 1, memory_order_release);
}

__attribute__((format(printf, 2, 3))) static void word(struct cell *c, const char *fmt, ...)
{
	va_list ap;

	c->verdict = (struct lb_verdict){.may_write = false};
	va_start(ap, fmt);
	vsnprintf(c->verdict.what, sizeof(c->verdict.what), fmt, ap);
	va_end(ap);
}

/* ---- the process that looks */

/* LUN: of ROW, this process's own. */
static enum lb_write look_at(const struct lb_list_row *row, struct lb_lun *lun,
	const struct lb_scan *scan, struct cell *c)
{
	enum lb_write write = LB_WRITE_REFUSED;

	if (row->suspended[0]) { /* opened it would not hang, but all that reads it would */
		word(c, "%s is suspended", row->suspended);
		snprintf(c->verdict.say, sizeof(c->verdict.say), "dmsetup resume %s",
			row->suspended);
		return write;
	}
	if (!lb_lun_open(lun)) {
		const bool is_told = lun->fd >= 0 || row->lun.in_use[0]; /* all the same */

		word(c, "%s", lun->fd < 0 && is_told ? row->lun.in_use : lun->why);
		write = is_told ? LB_WRITE_REFUSED : LB_WRITE_UNKNOWN;
	} else if (lun->kind != row->lun.kind || lun->dev != row->lun.dev) {
		word(c, "its name now stands for another device");
		write = LB_WRITE_UNKNOWN;
	} else {
		lb_guard_look(scan, lun, &c->verdict);
		write = c->verdict.may_write ? LB_WRITE_ALLOWED : LB_WRITE_REFUSED;
	}
	if (lun->fd >= 0)
		close(lun->fd);
	return write;
}

/* Nothing of the parent's stays open: a reader of its output must see the end when it leaves. */
static void keep_nothing(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		dup2(null, fd);
	close_range(3, ~0u, 0);
}

__attribute__((noreturn)) static void look(
	struct judge *j, const struct lb_list *list, uint32_t from, pid_t parent)
{
	struct lb_lun *luns;
	struct lb_scan scan;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "lunbench");
	if (getppid() != parent)
		_exit(0);
	keep_nothing();
	luns = calloc(list->n, sizeof(*luns));
	if (!luns)
		_exit(1);
	for (size_t i = 0; i < list->n; i++)
		luns[i] = list->rows[i].lun;
	lb_scan_make(&scan, luns, list->n);
	for (uint32_t i = from; i < list->n; i++) {
		atomic_store(&j->since_ns, lb_now_ns());
		atomic_store(&j->at, i);
		if (luns[i].fate == LB_FATE_USED)
			settle(&j->cells[i],
				look_at(&list->rows[i], &luns[i], &scan, &j->cells[i]));
	}
	_exit(0);
}

/* ---- the process that watches */

static bool is_hung(struct judge *j)
{
	return lb_now_ns() >= atomic_load(&j->since_ns) + NO_ANSWER_S * LB_NSEC_PER_SEC;
}

/* Until CHILD, a pidfd, has ended, nothing has moved for too long, or END_NS. Whether it has. */
static bool watch(struct judge *j, int child, uint64_t end_ns)
{
	struct pollfd pfd = {.fd = child, .events = POLLIN};
	uint64_t now;

	while ((now = lb_now_ns()) < end_ns && !is_hung(j)) {
		uint64_t until = atomic_load(&j->since_ns) + NO_ANSWER_S * LB_NSEC_PER_SEC;
		uint64_t left = (until < end_ns ? until : end_ns) - now;

		if (poll(&pfd, 1, (int)(left / LB_NSEC_PER_MSEC) + 1) > 0)
			return true;
	}
	return false;
}

/* Has a child look at the rows from FROM on, and ends it. Whether it came to an end by itself. */
static bool run(struct judge *j, const struct lb_list *list, uint32_t from, uint64_t end_ns)
{
	pid_t self = getpid(), child = fork();
	bool has_ended = true;
	int fd;

	if (child == 0)
		look(j, list, from, self);
	if (child < 0)
		return true;
	fd = pidfd_open(child, 0);
	if (fd >= 0)
		has_ended = watch(j, fd, end_ns);
	kill(child, SIGKILL);
	if (fd >= 0) { /* one that hangs in the kernel is left behind */
		poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, FAREWELL_MS);
		close(fd);
	}
	waitpid(child, NULL, WNOHANG);
	return has_ended;
}

/* Returns the row to go on with; past the last one, there is no sense in that. */
static uint32_t look_from(
	struct judge *j, const struct lb_list *list, uint32_t from, uint64_t end_ns)
{
	bool has_ended;
	struct cell *c;
	uint32_t at;

	atomic_store(&j->at, SCANNING);
	atomic_store(&j->since_ns, lb_now_ns());
	has_ended = run(j, list, from, end_ns);
	at = atomic_load(&j->at);
	if (at == SCANNING)
		return SCANNING;
	c = &j->cells[at];
	if (atomic_load_explicit(&c->is_done, memory_order_acquire) ||
		list->rows[at].lun.fate != LB_FATE_USED)
		return at + 1;
	if (has_ended) {
		word(c, "what looked at it has died");
		settle(c, LB_WRITE_UNKNOWN);
	} else if (is_hung(j)) {
		word(c, "no answer for %d s", NO_ANSWER_S);
		settle(c, LB_WRITE_NO_ANSWER);
	} else {
		return at;
	}
	return at + 1;
}

void lb_judge(struct lb_list *list)
{
	uint64_t end_ns = lb_now_ns() + ALL_S * LB_NSEC_PER_SEC;
	struct lb_shm shm = {0};
	struct judge *j;
	struct lb_err err;

	if (!list->n || lb_shm_create(&shm, sizeof(*j) + list->n * sizeof(struct cell) + 64, &err))
		return;
	j = lb_shm_alloc(&shm, 1, sizeof(*j), 8);
	j->cells = lb_shm_alloc(&shm, list->n, sizeof(*j->cells), 8);
	signal(SIGCHLD, SIG_DFL);
	for (uint32_t i = 0; i < list->n && lb_now_ns() < end_ns;)
		i = look_from(j, list, i, end_ns);
	for (size_t i = 0; i < list->n; i++) {
		struct lb_list_row *row = &list->rows[i];

		if (!atomic_load_explicit(&j->cells[i].is_done, memory_order_acquire))
			word(&j->cells[i],
				lb_now_ns() < end_ns ? "it could not be looked at"
						     : "not looked at: the %d s for all were over",
				ALL_S);
		row->write = j->cells[i].write;
		row->verdict = j->cells[i].verdict;
	}
	lb_shm_done(&shm);
}
