#include "crew.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "control.h"
#include "data.h"
#include "devwatch.h"
#include "lun_lost.h"
#include "sysfs.h"
#include "worker.h"

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
	uint64_t run_id; /* of the data that is written */
	struct lb_board *board;
	struct lb_data *data[LB_SIZES_MAX]; /* of writes, by size; NULL: there are none */
	struct lb_lock *lock;
	struct gate gate;
	struct lb_control control; /* virtual runs only */
	struct thread {
		struct crew *crew;
		struct lb_worker worker;
		pthread_t id;
	} * threads;
};

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
	int ret = lb_worker_set_up(w, t->crew->cfg, &err);

	if (pass_gate(&t->crew->gate, ret, &err)) {
		ret = lb_worker_loop(w);
		if (ret < 0)
			atomic_store(&w->state->fatal, ret);
		if (w->control) {
			w->board->virtual_end_ns = w->ops->now(w->engine);
			lb_control_finish(w->control, w->board->virtual_end_ns);
		}
		atomic_store(&w->state->has_ended, 1);
		lb_board_kick(w->board);
	}
	lb_worker_tear_down(w);
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
		.control = b->plan->is_virtual ? &crew->control : NULL,
		.cpu = wp->cpu};
	memcpy(t->worker.data, crew->data, sizeof(crew->data));
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

/* The CPU time that a worker has used; 0: unknown, it has ended. */
static uint64_t worker_cpu_ns(const struct thread *t)
{
	struct timespec ts = {0};
	clockid_t clock;

	if (pthread_getcpuclockid(t->id, &clock) == 0)
		clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * LB_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* Of a worker that has not seen the window's end, and may not for long: it waits for a device. */
static void note_worker_close(struct lb_worker_state *ws, const struct thread *t)
{
	uint64_t cpu_ns;

	if (atomic_load(&ws->has_closed) || !(cpu_ns = worker_cpu_ns(t)))
		return;
	atomic_store(&ws->cpu_close_ns, cpu_ns);
	atomic_store(&ws->cpu_close_at_ns, lb_now_ns());
}

/* CPU times of process, threads and host at an edge of the window; who was late for its opening. */
static void note_usage(struct crew *crew, bool at_close)
{
	struct lb_board *b = crew->board;

	getrusage(RUSAGE_SELF, at_close ? &b->usage_close : &b->usage_open);
	*(at_close ? &b->usage_close_ns : &b->usage_open_ns) = lb_now_ns();
	for (uint32_t i = 0; i < b->plan->n_workers; i++) {
		struct lb_worker_state *ws = &b->workers[i];

		if (at_close) {
			note_worker_close(ws, &crew->threads[i]);
			continue;
		}
		ws->cpu_open_ns = worker_cpu_ns(&crew->threads[i]);
		ws->n_late = b->plan->workers[i].n_lanes - atomic_load(&ws->n_started);
	}
	lb_host_cpu_read(&crew->cfg->cpus, at_close ? &b->host_close : &b->host_open);
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

/* Stays with the window to read the CPU clocks at its edges, to see other runs come, and LUNs go.
 */
static void attend_window(struct crew *crew)
{
	struct lb_window *w = &crew->board->window;
	uint64_t open, close, edge, lost_ns, look_ns = lb_now_ns() + LOOK_NS;
	struct lb_lost_watch lost;
	bool is_open = false;

	lb_lost_init(&lost, crew->board, lb_sysfs_open(), lb_now_ns());
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
		lost_ns = lb_lost_look(&lost, now);
		edge = is_open || close < open ? close : open;
		if (lost_ns < edge)
			edge = lost_ns;
		sleep_until(crew->board, look_ns < edge ? look_ns : edge);
	}
	lb_lost_done(&lost);
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

/* The pools that all writes of the run take their data from: one for each size. */
static int make_data(struct crew *crew, struct lb_err *err)
{
	const struct lb_plan *plan = crew->board->plan;
	const struct lb_stream *stream = &plan->phases[0].streams[0];
	int ret = 0;

	if (stream->read_pct == 100)
		return 0;
	for (uint32_t s = 0; !ret && s < stream->sizes.n; s++) {
		struct lb_data_cfg dc = {.seed = plan->seed,
			.run = crew->run_id,
			.pool = s,
			.size_bytes = stream->sizes.bytes[s],
			.n_blocks = plan->n_blocks[s],
			.n_slots = plan->n_slots,
			.compress_pct = crew->cfg->compress_pct,
			.dedupe_pct = crew->cfg->dedupe_pct};

		ret = lb_data_create(&crew->data[s], &dc, err);
	}
	return ret;
}

int lb_crew_run(const struct lb_config *cfg, struct lb_board *b, struct lb_lock *lock,
	uint64_t run_id, struct lb_err *err)
{
	struct crew *crew = calloc(1, sizeof(*crew));
	int ret;

	if (!crew)
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "out of memory");
	crew->cfg = cfg;
	crew->board = b;
	crew->lock = lock;
	crew->run_id = run_id;
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
	if (b->plan->is_virtual && lb_control_init(&crew->control, b, cfg->drain_ns, 0))
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "out of memory");
	atomic_store(&b->window.start_ns,
		b->plan->is_virtual ? b->plan->engine->now(crew->threads[0].worker.engine)
				    : lb_now_ns());
	atomic_store_explicit(&b->stage, LB_STAGE_RUNNING, memory_order_release);
	lb_board_kick(b);
	if (!(b->plan->engine->caps & LB_CAP_NO_DEVICE))
		lb_devwatch_start(b);
	open_gate(&crew->gate);
	if (!b->plan->is_virtual)
		attend_window(crew);
	for (uint32_t i = 0; i < b->plan->n_workers; i++)
		pthread_join(crew->threads[i].id, NULL);
	read_kernel_stats(b, true);
	lb_lock_look(lock, &b->findings);
	return 0;
}
