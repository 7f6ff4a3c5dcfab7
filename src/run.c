#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "clock.h"
#include "crew.h"
#include "fill.h"
#include "guard.h"
#include "lock.h"
#include "preflight.h"

/* Nothing of the parent's stays open here: a reader of its output must see the end when it leaves.
 */
static void keep_only(const struct lb_board *b)
{
	int lo = b->kick_fd < b->edge_fd ? b->kick_fd : b->edge_fd;
	int hi = b->kick_fd < b->edge_fd ? b->edge_fd : b->kick_fd;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		dup2(null, fd);
	close_range(3, (unsigned)lo - 1, 0);
	if (hi > lo + 1)
		close_range((unsigned)lo + 1, (unsigned)hi - 1, 0);
	close_range((unsigned)hi + 1, ~0u, 0);
}

static void raise_nofile(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < lim.rlim_max) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
}

static bool any_refused(const struct lb_board *b)
{
	bool used = false;

	for (uint32_t i = 0; i < b->n_luns; i++) {
		if (b->luns[i].fate == LB_FATE_REFUSED)
			return true;
		used |= b->luns[i].fate == LB_FATE_USED;
	}
	return !used;
}

/* Leave to write to every LUN, or none of them is written to. */
static int ask_guard(const struct lb_config *cfg, struct lb_board *b)
{
	const struct lb_opt_list *ids = &cfg->overwrite;
	struct lb_verdict *verdicts = calloc(b->n_luns, sizeof(*verdicts));
	size_t refused;

	if (!verdicts)
		return lb_fail(&b->err, LB_ST_UNAVAILABLE, ENOMEM, "out of memory");
	for (size_t i = 0; i < ids->n; i++) {
		if (lb_guard_names_any(b->luns, b->n_luns, ids->item[i]))
			continue;
		free(verdicts);
		return lb_fail(&b->err, LB_ST_USAGE, EINVAL,
			"--overwrite: \"%.200s\" is none of the LUNs given", ids->item[i]);
	}
	if (cfg->command == LB_CMD_CHECK) /* it would; nothing is opened for writing to say so */
		refused = lb_guard_examine(b->luns, b->n_luns, ids->item, ids->n, verdicts);
	else
		refused = lb_guard_open(b->luns, b->n_luns, ids->item, ids->n, verdicts);
	if (refused) {
		b->err.status = LB_ST_USAGE;
		lb_guard_refuse(b->luns, b->n_luns, verdicts, b->err.text);
	}
	free(verdicts);
	return refused ? -EPERM : 0;
}

/* Another number for each run: two runs never write the same blocks. */
static uint64_t make_run_id(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ((uint64_t)ts.tv_sec * LB_NSEC_PER_SEC + (uint64_t)ts.tv_nsec) ^ (uint64_t)getpid()
											<< 40;
}

static int fill(const struct lb_config *cfg, struct lb_board *b, uint64_t run_id)
{
	uint64_t patience_ns = cfg->drain_ns < LB_NSEC_PER_SEC ? LB_NSEC_PER_SEC : cfg->drain_ns;

	atomic_store(&b->filled_bytes, 0);
	atomic_store(&b->fill_bytes, lb_fill_bytes(b->luns, b->n_luns));
	lb_board_kick(b);
	return lb_fill(
		b->luns, b->n_luns, cfg->seed, run_id, patience_ns, &b->filled_bytes, &b->err);
}

static int make_cells(struct lb_shm *shm, struct lb_board *b)
{
	const struct lb_plan *p = b->plan;

	b->cells =
		lb_shm_alloc(shm, (size_t)p->n_lanes * p->n_sizes * LB_OPS, sizeof(*b->cells), 128);
	b->faults = lb_shm_alloc(shm, p->n_lanes, sizeof(*b->faults), 64);
	b->hists = lb_shm_alloc(shm, p->n_hists, sizeof(*b->hists), 64);
	b->ios = lb_shm_alloc(shm, p->n_slots, sizeof(*b->ios), 64);
	b->cursors = lb_shm_alloc(shm, p->n_cursors, sizeof(*b->cursors), 64);
	b->workers = lb_shm_alloc(shm, p->n_workers, sizeof(*b->workers), 64);
	b->lun_states = lb_shm_alloc(shm, p->n_luns, sizeof(*b->lun_states), 64);
	b->series = lb_series_make(shm, p);
	if (!b->series || !b->cells || !b->faults || !b->hists || !b->ios || !b->cursors ||
		!b->workers || !b->lun_states)
		return -ENOMEM;
	lb_board_cells_init(b);
	return lb_responses_make(shm, b);
}

static int prepare(const struct lb_config *cfg, struct lb_shm *shm, struct lb_board *b,
	struct lb_lock *lock, uint64_t run_id)
{
	const bool for_writing = lb_config_writes(cfg);
	int ret = lb_luns_open(b->luns, cfg, &b->opening_at, &b->filled_bytes, &b->err);

	if (ret)
		return ret;
	atomic_store(&b->opening_at, b->n_luns);
	if (any_refused(b))
		return -EINVAL;
	if (for_writing && (ret = ask_guard(cfg, b)))
		return ret;
	ret = lb_plan_make(shm, cfg, b->luns, b->n_luns, &b->plan, &b->err);
	if (!ret)
		ret = lb_lock_take(lock, b->plan->luns, b->plan->n_luns, for_writing, &b->err);
	if (ret)
		return ret;
	if (any_refused(b))
		return -EBUSY;
	lb_lock_look(lock, &b->findings);
	ret = lb_preflight(&b->findings, cfg, b->plan, for_writing, &b->err);
	if (ret || cfg->command == LB_CMD_CHECK)
		return ret;
	if (make_cells(shm, b))
		return lb_fail(
			&b->err, LB_ST_UNAVAILABLE, ENOMEM, "out of shared memory for the figures");
	return cfg->fill ? fill(cfg, b, run_id) : 0;
}

static bool has_stops(const struct lb_board *b)
{
	for (uint32_t i = 0; i < b->findings.n; i++)
		if (b->findings.at[i].gravity == LB_STOPS)
			return true;
	return false;
}

void lb_run(const struct lb_config *cfg, struct lb_shm *shm, struct lb_board *b, pid_t parent)
{
	enum lb_stage end = LB_STAGE_DRAINED;
	struct lb_lock lock = {0};
	uint64_t run_id = make_run_id();
	int ret;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "lunbench"); /* other runs know us by it: see lock.c */
	if (getppid() != parent)
		_exit(0); /* it left before we could ask to be told */
	keep_only(b);
	raise_nofile();
	ret = prepare(cfg, shm, b, &lock, run_id);
	if (cfg->command == LB_CMD_CHECK && (!ret || has_stops(b)))
		end = LB_STAGE_CHECKED;
	else if (ret || (ret = lb_crew_run(cfg, b, &lock, run_id, &b->err)))
		end = LB_STAGE_REFUSED;
	atomic_store_explicit(&b->stage, end, memory_order_release);
	lb_board_kick(b);
	_exit(0);
}
