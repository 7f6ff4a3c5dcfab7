#include "judge.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
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
#include "guard_use.h"
#include "shm.h"

#define NO_ANSWER_S 5
#define ALL_S       30
#define GRACE_MS    50 /* a killed process that can end has by then */
#define LOOKERS     16 /* LUNs looked at side by side: so many can hang and cost 5 s in all */
#define NOTHING     UINT32_MAX

enum done { NOT_DONE, CLAIMED, DONE };

struct cell {
	_Atomic uint32_t done; /* whoever claims it fills in the rest; release with DONE */
	enum lb_write write;
	struct lb_verdict verdict;
};

/* What one thread is at. */
struct slot {
	_Atomic uint32_t at;       /* the row; NOTHING: none yet */
	_Atomic uint64_t since_ns; /* LB_NEVER: it waits for another thread, or has ended */
};

/* Shared by the two processes. */
struct judge {
	_Atomic uint32_t next; /* row */
	struct slot slots[LOOKERS];
	struct cell *cells; /* one for each row */
};

static bool is_done(struct cell *c)
{
	return atomic_load_explicit(&c->done, memory_order_acquire) == DONE;
}

/* The first to settle it does. */
static void settle(struct cell *c, enum lb_write write, const struct lb_verdict *v)
{
	uint32_t not_done = NOT_DONE;

	if (!atomic_compare_exchange_strong(&c->done, &not_done, CLAIMED))
		return;
	c->write = write;
	c->verdict = *v;
	atomic_store_explicit(&c->done, DONE, memory_order_release);
}

__attribute__((format(printf, 2, 3))) static void word(struct lb_verdict *v, const char *fmt, ...)
{
	va_list ap;

	*v = (struct lb_verdict){.may_write = false};
	va_start(ap, fmt);
	vsnprintf(v->what, sizeof(v->what), fmt, ap);
	va_end(ap);
}

/* ---- the process that looks */

struct looker {
	struct judge *judge;
	const struct lb_list *list;
	struct lb_lun *luns; /* copies of the rows', to be opened */
	const struct lb_scan *scan;
	pthread_mutex_t *alone;
	struct slot *slot;
	pthread_t thread;
};

/* Two that try whether they have related devices alone would be in each other's way. */
static void look_at_use(struct looker *l, const struct lb_lun *lun, struct lb_use *use)
{
	atomic_store(&l->slot->since_ns, LB_NEVER);
	pthread_mutex_lock(l->alone);
	atomic_store(&l->slot->since_ns, lb_now_ns());
	lb_guard_use(l->scan, lun, false, use);
	pthread_mutex_unlock(l->alone);
}

/* LUN: of ROW, this process's own. */
static enum lb_write look_at(
	struct looker *l, const struct lb_list_row *row, struct lb_lun *lun, struct lb_verdict *v)
{
	struct lb_use use;

	if (row->suspended[0]) { /* all that reads it would hang */
		word(v, "%s is suspended", row->suspended);
		snprintf(v->say, sizeof(v->say), "dmsetup resume %s", row->suspended);
		return LB_WRITE_REFUSED;
	}
	if (!lb_lun_open(lun)) {
		const bool is_told = lun->fd >= 0 || row->lun.in_use[0]; /* all the same */

		word(v, "%s", lun->fd < 0 && is_told ? row->lun.in_use : lun->why);
		return is_told ? LB_WRITE_REFUSED : LB_WRITE_UNKNOWN;
	}
	if (lun->kind != row->lun.kind || lun->dev != row->lun.dev) {
		word(v, "its name now stands for another device");
		return LB_WRITE_UNKNOWN;
	}
	look_at_use(l, lun, &use);
	lb_guard_look(lun, &use, v);
	return v->may_write ? LB_WRITE_ALLOWED : LB_WRITE_REFUSED;
}

static void *look_at_some(void *arg)
{
	struct looker *l = arg;
	uint32_t i;

	while ((i = atomic_fetch_add(&l->judge->next, 1)) < l->list->n) {
		struct cell *c = &l->judge->cells[i];
		struct lb_verdict v;
		enum lb_write write;

		if (l->luns[i].fate != LB_FATE_USED || atomic_load(&c->done) != NOT_DONE)
			continue;
		/* in this order, see is_hung() */
		atomic_store(&l->slot->since_ns, lb_now_ns());
		atomic_store(&l->slot->at, i);
		write = look_at(l, &l->list->rows[i], &l->luns[i], &v);
		settle(c, write, &v);
		if (l->luns[i].fd >= 0)
			close(l->luns[i].fd);
	}
	atomic_store(&l->slot->since_ns, LB_NEVER);
	return NULL;
}

/* Nothing of the parent's stays open: a reader of its output must see the end when it leaves. */
static void keep_nothing(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		dup2(null, fd);
	close_range(3, ~0u, 0);
}

static void look_at_all(struct judge *j, const struct lb_list *list)
{
	struct lb_lun *luns = calloc(list->n, sizeof(*luns));
	pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
	struct looker lookers[LOOKERS];
	struct lb_scan scan;
	int n = 0;

	if (!luns)
		return;
	for (size_t i = 0; i < list->n; i++)
		luns[i] = list->rows[i].lun;
	lb_scan_make(&scan, luns, list->n);
	for (; n < LOOKERS && (size_t)n < list->n; n++) {
		lookers[n] = (struct looker){.judge = j,
			.list = list,
			.luns = luns,
			.scan = &scan,
			.alone = &alone,
			.slot = &j->slots[n]};
		atomic_store(&j->slots[n].since_ns, lb_now_ns());
		if (pthread_create(&lookers[n].thread, NULL, look_at_some, &lookers[n]))
			break;
	}
	if (!n) /* no thread to be had */
		look_at_some(&lookers[0]);
	for (int i = 0; i < n; i++)
		pthread_join(lookers[i].thread, NULL);
}

__attribute__((noreturn)) static void look(
	struct judge *j, const struct lb_list *list, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "lunbench");
	if (getppid() == parent) {
		keep_nothing();
		look_at_all(j, list);
	}
	_exit(0);
}

/* ---- the process that watches */

/* Whether the thread has been at row *AT for too long. *UNTIL: when it will have; LB_NEVER. */
static bool is_hung(struct slot *s, uint64_t now, uint32_t *at, uint64_t *until)
{
	uint64_t since = atomic_load(&s->since_ns);

	*at = atomic_load(&s->at);
	*until = since == LB_NEVER ? LB_NEVER : since + NO_ANSWER_S * LB_NSEC_PER_SEC;
	/* a row of a moment ago, at a time from before it, is no sign */
	return now >= *until && atomic_load(&s->since_ns) == since;
}

/* Settles what does not answer. Returns when to look again; LB_NEVER: nothing moves any more. */
static uint64_t look_round(struct judge *j, uint64_t now)
{
	uint64_t first = LB_NEVER, until;
	struct lb_verdict v;
	uint32_t at;

	for (int i = 0; i < LOOKERS; i++) {
		if (!is_hung(&j->slots[i], now, &at, &until)) {
			first = until < first ? until : first;
		} else if (at != NOTHING) {
			word(&v, "no answer for %d s", NO_ANSWER_S);
			settle(&j->cells[at], LB_WRITE_NO_ANSWER, &v);
		}
	}
	return first;
}

/* Until CHILD, a pidfd, has ended, nothing moves any more, or END_NS. Whether it has ended. */
static bool watch(struct judge *j, int child, uint64_t end_ns)
{
	struct pollfd pfd = {.fd = child, .events = POLLIN};
	bool moves = true;
	uint64_t now;

	while ((now = lb_now_ns()) < end_ns) {
		uint64_t next = look_round(j, now), left;

		if (next == LB_NEVER && !moves)
			return false;
		/* all may wait for one that is just going on: a second look tells */
		moves = next != LB_NEVER;
		left = (next < end_ns ? next : end_ns) - now;
		if (poll(&pfd, 1, moves ? (int)(left / LB_NSEC_PER_MSEC) + 1 : GRACE_MS) > 0)
			return true;
	}
	return false;
}

/* Has a child look at what is not done, and ends it. Whether it came to an end by itself. */
static bool run(struct judge *j, const struct lb_list *list, uint64_t end_ns)
{
	pid_t self = getpid(), child = fork();
	bool has_ended = true;
	int fd;

	if (child == 0)
		look(j, list, self);
	if (child < 0)
		return true;
	fd = pidfd_open(child, 0);
	if (fd >= 0)
		has_ended = watch(j, fd, end_ns);
	kill(child, SIGKILL);
	if (fd >= 0) { /* one that hangs in the kernel is left behind */
		poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, GRACE_MS);
		close(fd);
	}
	waitpid(child, NULL, WNOHANG);
	return has_ended;
}

/* Returns how many rows it has settled. */
static uint32_t look_once(struct judge *j, const struct lb_list *list, uint64_t end_ns)
{
	uint32_t before = 0, after = 0;
	struct lb_verdict v;

	for (size_t i = 0; i < list->n; i++)
		before += is_done(&j->cells[i]);
	atomic_store(&j->next, 0);
	for (int i = 0; i < LOOKERS; i++) {
		atomic_store(&j->slots[i].at, NOTHING);
		atomic_store(&j->slots[i].since_ns, i ? LB_NEVER : lb_now_ns());
	}
	if (run(j, list, end_ns)) {
		word(&v, "what looked at it has died"); /* unless it is done */
		for (int i = 0; i < LOOKERS; i++)
			if (atomic_load(&j->slots[i].at) != NOTHING)
				settle(&j->cells[atomic_load(&j->slots[i].at)], LB_WRITE_UNKNOWN,
					&v);
	}
	for (size_t i = 0; i < list->n; i++)
		after += is_done(&j->cells[i]);
	return after - before;
}

void lb_judge(struct lb_list *list)
{
	uint64_t end_ns = lb_now_ns() + ALL_S * LB_NSEC_PER_SEC;
	uint32_t left = 0, done;
	struct lb_shm shm = {0};
	struct judge *j;
	struct lb_err err;

	for (size_t i = 0; i < list->n; i++)
		left += list->rows[i].lun.fate == LB_FATE_USED;
	if (!left || lb_shm_create(&shm, sizeof(*j) + list->n * sizeof(struct cell) + 64, &err))
		return;
	j = lb_shm_alloc(&shm, 1, sizeof(*j), 8);
	j->cells = lb_shm_alloc(&shm, list->n, sizeof(*j->cells), 8);
	signal(SIGCHLD, SIG_DFL);
	for (done = 1; done && left && lb_now_ns() < end_ns; left -= done)
		done = look_once(j, list, end_ns);
	for (size_t i = 0; i < list->n; i++) {
		struct lb_list_row *row = &list->rows[i];

		if (is_done(&j->cells[i])) {
			row->write = j->cells[i].write;
			row->verdict = j->cells[i].verdict;
		} else if (lb_now_ns() >= end_ns) {
			word(&row->verdict, "not looked at: the %d s for all were over", ALL_S);
		} else {
			word(&row->verdict, "it could not be looked at");
		}
	}
	lb_shm_done(&shm);
}
