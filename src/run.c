#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "clock.h"
#include "control.h"
#include "data.h"
#include "fill.h"
#include "guard.h"
#include "lock.h"
#include "preflight.h"
#include "worker.h"

#define SLAB_MAX    (1ull << 30) /* the kernel's limit on one registered buffer */
#define SLAB_ALIGN  (2ull << 20) /* a huge page: I/O over 4 KiB pages is split by max_segments */
#define STACK_BYTES (128 * 1024)
#define LOOK_NS     (1 * LB_NSEC_PER_SEC) /* between two looks for other runs on the LUNs */

/* The workers wait at the gate until all have been set up, and all of them pass or none. */
struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t n_ready;
	enum { GATE_SHUT, GATE_OPEN, GATE_NEVER } state;
	struct lb_err err; /* of the first worker that failed */
	int ret;
};

struct crew {
	const struct lb_config *cfg;
	struct lb_board *board;
	struct lb_data *data; /* of writes; NULL: there are none */
	struct lb_lock *lock;
	struct gate gate;
	struct lb_control control; /* virtual runs only */
	struct thread {
		struct crew *crew;
		struct lb_worker worker;
		pthread_t id;
	} * threads;
};

static void free_buffers(struct lb_worker *w)
{
	for (uint32_t i = w->n_pool_slabs; i < w->n_slabs; i++)
		if (w->slabs[i].iov_base)
			munmap(w->slabs[i].iov_base, w->slabs[i].iov_len);
	free(w->slabs);
}

/* LEN bytes aligned to a huge page, and in huge pages where the host has them. */
static void *map_slab(size_t len)
{
	char *p = mmap(
		NULL, len + SLAB_ALIGN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *at;

	if (p == MAP_FAILED)
		return NULL;
	at = (char *)(((uintptr_t)p + SLAB_ALIGN - 1) & ~(SLAB_ALIGN - 1));
	if (at > p)
		munmap(p, (size_t)(at - p));
	munmap(at + len, (size_t)(p + SLAB_ALIGN - at));
	madvise(at, len, MADV_HUGEPAGE);
	return at;
}

/*
 * A few large slabs for all buffers of the worker; each slot's buffer lies in one of them. Before
 * them come those of the pool that writes take their data from, if there are any.
 */
static int make_buffers(struct lb_worker *w, uint64_t slot_bytes, struct lb_err *err)
{
	uint64_t per_slab = SLAB_MAX / slot_bytes, left = w->n_ios;
	uint32_t n_pool = w->data ? w->data->n_slabs : 0;
	uint32_t n_own = w->reads ? (uint32_t)((w->n_ios + per_slab - 1) / per_slab) : 0;

	w->slabs = calloc(n_pool + n_own + 1, sizeof(*w->slabs));
	if (!w->slabs)
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "out of memory");
	w->n_slabs = w->n_pool_slabs = n_pool;
	if (n_pool)
		memcpy(w->slabs, w->data->slabs, n_pool * sizeof(*w->slabs));
	for (; w->n_slabs < n_pool + n_own; w->n_slabs++, left -= per_slab) {
		size_t len = (left < per_slab ? left : per_slab) * slot_bytes;

		/* a tail of small pages would have the kernel see the whole in small pages */
		len = (len + SLAB_ALIGN - 1) & ~(SLAB_ALIGN - 1);
		w->slabs[w->n_slabs] = (struct iovec){.iov_base = map_slab(len), .iov_len = len};
		if (!w->slabs[w->n_slabs].iov_base)
			return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM,
				"out of memory: the buffers of one worker take %llu MiB (LUNs x --qd x --size)",
				(unsigned long long)(w->n_ios * slot_bytes) >> 20);
	}
	for (uint32_t i = 0; i < w->n_ios && n_own; i++) {
		struct lb_io *io = &w->ios[i];

		io->slab = (uint16_t)(n_pool + i / per_slab);
		io->buf = (char *)w->slabs[io->slab].iov_base + i % per_slab * slot_bytes;
		io->own_buf = (uint64_t)(uintptr_t)io->buf | io->slab;
	}
	return 0;
}

/* The worker's lanes and slots as the plan says; LUNs are numbered anew for its engine. */
static int make_lanes(struct lb_worker *w)
{
	const struct lb_plan *plan = w->board->plan;

	w->lanes = aligned_alloc(64, w->n_lanes * sizeof(*w->lanes));
	w->writes = calloc(w->n_lanes, sizeof(*w->writes));
	w->fds = calloc(w->n_lanes, sizeof(*w->fds));
	w->parked = calloc(w->n_ios, sizeof(struct lb_io *));
	if (!w->lanes || !w->writes || !w->fds || !w->parked)
		return -ENOMEM;
	for (uint32_t l = 0; l < w->n_lanes; l++) {
		const struct lb_lane_plan *lp = &plan->lanes[w->first_lane + l];
		const struct lb_stream *stream = &plan->phases[0].streams[lp->stream];

		w->writes[l] = (struct lb_lane_writes){.data = w->data,
			.first_block = lp->first_block,
			.first_slot = w->first_slot};
		lb_lane_init(&w->lanes[l], w->board, w->first_lane + l, &w->writes[l]);
		w->reads |= stream->read_pct > 0;
		w->fds[l] = plan->luns[lp->lun]->fd;
		w->shares_hist |= lp->shares_hist;
		w->is_near_count |= w->count && w->lanes[l].near_full_at == LB_NEVER;
		for (uint32_t i = 0; i < lp->qd; i++) {
			uint32_t slot = lp->slot - w->first_slot + i;

			w->ios[slot] = (struct lb_io){.lane = &w->lanes[l],
				.len = (uint32_t)stream->size_bytes,
				.slot = slot,
				.fd = w->fds[l],
				.lun = l,
				.op = stream->read_pct ? LB_READ : LB_WRITE,
				.is_dsync = stream->is_dsync};
		}
	}
	return 0;
}

static int set_up(struct lb_worker *w, const struct lb_config *cfg, struct lb_err *err)
{
	struct lb_engine_cfg ec;
	cpu_set_t set;
	int ret;

	if (w->cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET(w->cpu, &set);
		pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	} else if (CPU_COUNT(&cfg->cpus)) {
		pthread_setaffinity_np(pthread_self(), sizeof(cfg->cpus), &cfg->cpus);
	}
	/*
	 * A table of descriptors of its own: in a shared one each call counts the open file up and
	 * down again, a counter that all threads on a LUN contend for.
	 */
	if (w->ops->caps & LB_CAP_DEPTH_ONE)
		unshare(CLONE_FILES);
	atomic_store(&w->state->tid, gettid());
	if (make_lanes(w))
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "out of memory");
	ret = make_buffers(w, w->board->plan->slot_bytes, err);
	if (ret)
		return ret;
	ec = (struct lb_engine_cfg){.fds = w->fds,
		.n_fds = w->n_lanes,
		.ios = w->ios,
		.n_ios = w->n_ios,
		.bufs_move = w->data != NULL,
		.slabs = w->slabs,
		.n_slabs = w->n_slabs,
		.opts = cfg->null_opts,
		.note = &w->state->note,
		.submit_since_ns = &w->state->submit_since_ns};
	return w->ops->setup(&w->engine, &ec, err);
}

/* Reports in, and waits until all have; returns whether to go on. */
static bool pass_gate(struct gate *g, int ret, const struct lb_err *err)
{
	bool go;

	pthread_mutex_lock(&g->lock);
	if (ret && !g->ret) {
		g->ret = ret;
		g->err = *err;
	}
	g->n_ready++;
	pthread_cond_broadcast(&g->changed);
	while (g->state == GATE_SHUT)
		pthread_cond_wait(&g->changed, &g->lock);
	go = g->state == GATE_OPEN;
	pthread_mutex_unlock(&g->lock);
	return go;
}

static void *worker_main(void *arg)
{
	struct thread *t = arg;
	struct lb_worker *w = &t->worker;
	struct lb_err err = {0};
	int ret = set_up(w, t->crew->cfg, &err);

	if (pass_gate(&t->crew->gate, ret, &err)) {
		ret = lb_worker_loop(w);
		if (ret < 0)
			atomic_store(&w->state->fatal, ret);
		if (w->control)
			w->board->virtual_end_ns = w->ops->now(w->engine);
		atomic_store(&w->state->has_ended, 1);
		lb_board_kick(w->board);
	}
	if (w->engine)
		w->ops->teardown(w->engine);
	free_buffers(w);
	free(w->lanes);
	free(w->writes);
	free(w->fds);
	free(w->parked);
	return NULL;
}

static void init_worker(struct crew *crew, uint32_t i)
{
	struct lb_board *b = crew->board;
	const struct lb_worker_plan *wp = &b->plan->workers[i];
	struct thread *t = &crew->threads[i];

	t->crew = crew;
	t->worker = (struct lb_worker){.ops = b->plan->engine,
		.board = b,
		.state = &b->workers[i],
		.ios = &b->ios[wp->slot],
		.n_ios = wp->n_slots,
		.n_lanes = wp->n_lanes,
		.first_lane = wp->lane,
		.first_slot = wp->slot,
		.count = b->plan->phases[0].count,
		.data = crew->data,
		.control = b->plan->is_virtual ? &crew->control : NULL,
		.cpu = wp->cpu};
}

/* Starts all threads and waits until each has set itself up; then the gate opens, or never. */
static int start_crew(struct crew *crew, struct lb_err *err)
{
	struct gate *g = &crew->gate;
	uint32_t n = crew->board->plan->n_workers, made = 0;
	pthread_attr_t attr;
	int ret = 0;

	crew->threads = calloc(n, sizeof(*crew->threads));
	if (!crew->threads)
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "out of memory");
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (; made < n && !ret; made += !ret) {
		init_worker(crew, made);
		ret = -pthread_create(
			&crew->threads[made].id, &attr, worker_main, &crew->threads[made]);
	}
	pthread_attr_destroy(&attr);
	if (ret)
		lb_fail(err, LB_ST_UNAVAILABLE, -ret,
			"cannot start worker %u of %u: %s: raise ulimit -u, kernel.pid_max or the pids limit "
			"of the cgroup, or take a smaller --qd",
			made + 1, n, strerror(-ret));
	pthread_mutex_lock(&g->lock);
	while (g->n_ready < made)
		pthread_cond_wait(&g->changed, &g->lock);
	if (!ret && g->ret) {
		ret = g->ret;
		*err = g->err;
	}
	if (ret) {
		g->state = GATE_NEVER;
		pthread_cond_broadcast(&g->changed);
	}
	pthread_mutex_unlock(&g->lock);
	for (uint32_t i = 0; ret && i < made; i++)
		pthread_join(crew->threads[i].id, NULL);
	return ret;
}

static void open_gate(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->state = GATE_OPEN;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
}

static int make_cells(struct lb_shm *shm, struct lb_board *b)
{
	const struct lb_plan *p = b->plan;

	b->cells = lb_shm_alloc(shm, (size_t)p->n_lanes * LB_OPS, sizeof(*b->cells), 128);
	b->hists = lb_shm_alloc(shm, p->n_hists, sizeof(*b->hists), 64);
	b->ios = lb_shm_alloc(shm, p->n_slots, sizeof(*b->ios), 64);
	b->cursors = lb_shm_alloc(shm, p->n_cursors, sizeof(*b->cursors), 64);
	b->workers = lb_shm_alloc(shm, p->n_workers, sizeof(*b->workers), 64);
	b->lun_states = lb_shm_alloc(shm, p->n_luns, sizeof(*b->lun_states), 64);
	if (!b->cells || !b->hists || !b->ios || !b->cursors || !b->workers || !b->lun_states)
		return -ENOMEM;
	for (uint32_t l = 0; l < p->n_lanes; l++) {
		for (int op = 0; op < LB_OPS; op++) {
			struct lb_cell *cell = lb_board_cell(b, l, op);

			cell->min_ns = UINT64_MAX;
			cell->hist = &b->hists[p->lanes[l].hist + op];
		}
	}
	return 0;
}

/* Thread CPU times and the process's at an edge of the window; who was late for its opening. */
static void note_usage(struct crew *crew, bool at_close)
{
	struct lb_board *b = crew->board;

	getrusage(RUSAGE_SELF, at_close ? &b->usage_close : &b->usage_open);
	*(at_close ? &b->usage_close_ns : &b->usage_open_ns) = lb_now_ns();
	for (uint32_t i = 0; i < b->plan->n_workers; i++) {
		struct lb_worker_state *ws = &b->workers[i];
		struct timespec ts = {0};
		clockid_t clock;

		if (pthread_getcpuclockid(crew->threads[i].id, &clock) == 0)
			clock_gettime(clock, &ts);
		*(at_close ? &ws->cpu_close_ns : &ws->cpu_open_ns) =
			(uint64_t)ts.tv_sec * LB_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
		if (!at_close)
			ws->n_late = b->plan->workers[i].n_lanes - atomic_load(&ws->n_started);
	}
	atomic_store(&b->has_usage, at_close ? 2 : 1);
}

/* Sleeps until UNTIL_NS or until the window's edges change. */
static void sleep_until(const struct lb_board *b, uint64_t until_ns)
{
	struct pollfd pfd = {.fd = b->edge_fd, .events = POLLIN};
	struct timespec ts, *timeout = NULL;
	uint64_t now = lb_now_ns(), drop;

	if (until_ns != LB_NEVER) {
		uint64_t left = until_ns > now ? until_ns - now : 0;

		ts = (struct timespec){.tv_sec = (time_t)(left / LB_NSEC_PER_SEC),
			.tv_nsec = (long)(left % LB_NSEC_PER_SEC)};
		timeout = &ts;
	}
	if (ppoll(&pfd, 1, timeout, NULL) > 0 && read(b->edge_fd, &drop, sizeof(drop)) < 0)
		return;
}

/* Stays with the window to read the CPU clocks at its edges, and to see other runs come. */
static void attend_window(struct crew *crew)
{
	struct lb_window *w = &crew->board->window;
	uint64_t open, close, edge, look_ns = lb_now_ns() + LOOK_NS;
	bool is_open = false;

	for (;;) {
		uint64_t now = lb_now_ns();

		close = lb_window_end(w);
		open = atomic_load(&w->open_ns);
		if (!is_open && now >= open && open < close) {
			note_usage(crew, false);
			is_open = true;
		}
		if (now >= close)
			break;
		if (now >= look_ns) {
			lb_lock_look(crew->lock, &crew->board->findings);
			look_ns = lb_now_ns() + LOOK_NS;
		}
		edge = is_open || close < open ? close : open;
		sleep_until(crew->board, look_ns < edge ? look_ns : edge);
	}
	if (is_open)
		note_usage(crew, true);
}

static void read_kernel_stats(struct lb_board *b, bool after)
{
	for (uint32_t i = 0; i < b->plan->n_luns; i++) {
		struct lb_lun_state *s = &b->lun_states[i];

		if (lb_lun_kernel_stat(
			    b->plan->luns[i], after ? &s->kernel_after : &s->kernel_before) == 0)
			atomic_fetch_add(&s->has_kernel_stat, 1);
	}
}

/* Another number for each run: two runs never write the same blocks. */
static uint64_t run_id(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ((uint64_t)ts.tv_sec * LB_NSEC_PER_SEC + (uint64_t)ts.tv_nsec) ^ (uint64_t)getpid()
											<< 40;
}

/* The pool that all writes of the run take their data from. */
static int make_data(struct crew *crew, struct lb_err *err)
{
	const struct lb_plan *plan = crew->board->plan;
	const struct lb_stream *stream = &plan->phases[0].streams[0];
	struct lb_data_cfg dc = {.seed = plan->seed,
		.run = run_id(),
		.size_bytes = stream->size_bytes,
		.n_blocks = plan->n_blocks,
		.n_slots = plan->n_slots,
		.compress_pct = crew->cfg->compress_pct,
		.dedupe_pct = crew->cfg->dedupe_pct};

	return stream->read_pct < 100 ? lb_data_create(&crew->data, &dc, err) : 0;
}

static int run_crew(
	const struct lb_config *cfg, struct lb_board *b, struct lb_lock *lock, struct lb_err *err)
{
	struct crew *crew = calloc(1, sizeof(*crew));
	int ret;

	if (!crew)
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "out of memory");
	crew->cfg = cfg;
	crew->board = b;
	crew->lock = lock;
	pthread_mutex_init(&crew->gate.lock, NULL);
	pthread_cond_init(&crew->gate.changed, NULL);
	atomic_store(&b->window.open_ns, LB_NEVER);
	atomic_store(&b->window.close_ns, LB_NEVER);
	ret = make_data(crew, err);
	if (!ret)
		ret = start_crew(crew, err);
	if (ret)
		return ret;
	read_kernel_stats(b, false);
	if (b->plan->is_virtual)
		lb_control_init(&crew->control, b, cfg->drain_ns, 0);
	atomic_store(&b->window.start_ns,
		b->plan->is_virtual ? b->plan->engine->now(crew->threads[0].worker.engine)
				    : lb_now_ns());
	atomic_store_explicit(&b->stage, LB_STAGE_RUNNING, memory_order_release);
	lb_board_kick(b);
	open_gate(&crew->gate);
	if (!b->plan->is_virtual)
		attend_window(crew);
	for (uint32_t i = 0; i < b->plan->n_workers; i++)
		pthread_join(crew->threads[i].id, NULL);
	read_kernel_stats(b, true);
	lb_lock_look(lock, &b->findings);
	return 0;
}

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

static int fill(const struct lb_config *cfg, struct lb_board *b)
{
	uint64_t patience_ns = cfg->drain_ns < LB_NSEC_PER_SEC ? LB_NSEC_PER_SEC : cfg->drain_ns;

	atomic_store(&b->filled_bytes, 0);
	atomic_store(&b->fill_bytes, lb_fill_bytes(b->luns, b->n_luns));
	lb_board_kick(b);
	return lb_fill(
		b->luns, b->n_luns, cfg->seed, run_id(), patience_ns, &b->filled_bytes, &b->err);
}

static int prepare(
	const struct lb_config *cfg, struct lb_shm *shm, struct lb_board *b, struct lb_lock *lock)
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
	return cfg->fill ? fill(cfg, b) : 0;
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
	int ret;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "lunbench"); /* other runs know us by it: see lock.c */
	if (getppid() != parent)
		_exit(0); /* it left before we could ask to be told */
	keep_only(b);
	raise_nofile();
	ret = prepare(cfg, shm, b, &lock);
	if (cfg->command == LB_CMD_CHECK && (!ret || has_stops(b)))
		end = LB_STAGE_CHECKED;
	else if (ret || (ret = run_crew(cfg, b, &lock, &b->err)))
		end = LB_STAGE_REFUSED;
	atomic_store_explicit(&b->stage, end, memory_order_release);
	lb_board_kick(b);
	_exit(0);
}
