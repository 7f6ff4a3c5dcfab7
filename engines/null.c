/*
 * null: an engine that does no I/O. Plain, everything completes at once on the real clock, which
 * measures the harness. Scripted, it plays devices on a virtual clock that moves only in reap().
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "engine.h"
#include "null_script.h"

#define START_NS LB_NSEC_PER_SEC /* of the virtual clock: 0 means "not in flight" to the worker */
#define SEED     0x6c756e62656e6368ull /* "lunbench" */

/* A completion to come. */
struct due {
	uint64_t due_ns;
	uint64_t seq; /* of its submission: orders what is due at one instant */
	struct lb_io *io;
};

struct null_lun {
	uint64_t n_ios; /* submitted so far */
	struct lb_rng rng;
};

struct null_engine {
	bool is_virtual;
	/* plain: what was submitted, in order */
	struct lb_io **fifo;
	uint32_t mask, head, tail;
	/* scripted */
	uint64_t now_ns, seq;
	struct due *heap; /* binary, the earliest at [0] */
	uint32_t n_due, n_ios;
	struct null_lun *luns;
	struct lb_null_latency latency;
	struct lb_null_script script;
};

static bool is_before(const struct due *a, const struct due *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->seq < b->seq;
}

static void heap_push(struct null_engine *e, struct due d)
{
	uint32_t i = e->n_due++;

	assert(i < e->n_ios);
	while (i) {
		uint32_t up = (i - 1) / 2;

		if (!is_before(&d, &e->heap[up]))
			break;
		e->heap[i] = e->heap[up];
		i = up;
	}
	e->heap[i] = d;
}

static struct lb_io *heap_pop(struct null_engine *e)
{
	struct lb_io *io = e->heap[0].io;
	struct due last = e->heap[--e->n_due];
	uint32_t i = 0, down;

	while ((down = 2 * i + 1) < e->n_due) {
		if (down + 1 < e->n_due && is_before(&e->heap[down + 1], &e->heap[down]))
			down++;
		if (!is_before(&e->heap[down], &last))
			break;
		e->heap[i] = e->heap[down];
		i = down;
	}
	e->heap[i] = last;
	return io;
}

static uint64_t mul_sat(uint64_t a, uint64_t b)
{
	uint64_t r;

	return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

static uint64_t add_sat(uint64_t a, uint64_t b)
{
	uint64_t r;

	return __builtin_add_overflow(a, b, &r) ? UINT64_MAX : r;
}

static bool concerns(const struct lb_null_event *ev, uint32_t lun)
{
	return ev->lun == LB_NULL_ALL_LUNS || ev->lun == lun;
}

/* What the NTH I/O of its LUN comes to: bytes or -errno. The first event that applies decides. */
static int32_t script_result(const struct null_engine *e, const struct lb_io *io, uint64_t nth)
{
	for (uint32_t i = 0; i < e->script.n_events; i++) {
		const struct lb_null_event *ev = &e->script.events[i];

		if (!concerns(ev, io->lun))
			continue;
		if (ev->kind == LB_NULL_ERROR && nth % ev->a == 0)
			return -(int32_t)ev->b;
		if (ev->kind == LB_NULL_SHORT && nth % ev->a == 0)
			return (int32_t)(ev->b < io->len ? ev->b : io->len);
	}
	return (int32_t)io->len;
}

/* Moves DUE_NS to the end of every stall it falls into, also one after the other. */
static uint64_t past_stalls(const struct null_engine *e, uint32_t lun, uint64_t due_ns)
{
	bool has_moved;

	do {
		has_moved = false;
		for (uint32_t i = 0; i < e->script.n_events; i++) {
			const struct lb_null_event *ev = &e->script.events[i];

			if (ev->kind == LB_NULL_STALL && concerns(ev, lun) &&
				due_ns >= START_NS + ev->a && due_ns - START_NS - ev->a < ev->b) {
				due_ns = START_NS + ev->a + ev->b;
				has_moved = true;
			}
		}
	} while (has_moved);
	return due_ns;
}

/* Sets the I/O's res (early: nobody looks before reap) and returns when it is due, or LB_NEVER. */
static uint64_t play(struct null_engine *e, struct lb_io *io)
{
	struct null_lun *lun = &e->luns[io->lun];
	uint64_t nth = ++lun->n_ios;
	uint64_t lat_ns = lb_null_latency_draw(&e->latency, nth, &lun->rng), due_ns;

	for (uint32_t i = 0; i < e->script.n_events; i++) {
		const struct lb_null_event *ev = &e->script.events[i];

		if (ev->kind == LB_NULL_SLOW && concerns(ev, io->lun))
			lat_ns = mul_sat(lat_ns, ev->a);
	}
	io->res = script_result(e, io, nth);
	due_ns = past_stalls(e, io->lun, add_sat(e->now_ns, lat_ns));
	for (uint32_t i = 0; i < e->script.n_events; i++) {
		const struct lb_null_event *ev = &e->script.events[i];
		uint64_t from_ns = START_NS + ev->a;

		if (ev->kind != LB_NULL_GONE || !concerns(ev, io->lun) || due_ns < from_ns)
			continue;
		due_ns = from_ns > e->now_ns ? from_ns : e->now_ns;
		io->res = -(int32_t)ev->b;
	}
	for (uint32_t i = 0; i < e->script.n_events; i++) {
		const struct lb_null_event *ev = &e->script.events[i];

		if (concerns(ev, io->lun) &&
			((ev->kind == LB_NULL_LOSE && nth == ev->a) ||
				(ev->kind == LB_NULL_DEAD && due_ns >= START_NS + ev->a)))
			return LB_NEVER;
	}
	return due_ns;
}

static int null_submit(void *st, struct lb_io *const *ios, uint32_t n)
{
	struct null_engine *e = st;

	if (__builtin_expect(!e->is_virtual, 1)) {
		for (uint32_t i = 0; i < n; i++) {
			ios[i]->res = (int32_t)ios[i]->len;
			e->fifo[e->tail++ & e->mask] = ios[i];
		}
		return 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint64_t due_ns = play(e, ios[i]);

		if (due_ns != LB_NEVER)
			heap_push(e, (struct due){due_ns, e->seq++, ios[i]});
	}
	return 0;
}

static int reap_virtual(
	struct null_engine *e, struct lb_io **done, uint32_t min, uint32_t max, uint64_t wait_ns)
{
	uint32_t n = 0;

	if (min && (!e->n_due || e->heap[0].due_ns > e->now_ns)) {
		uint64_t end_ns = add_sat(e->now_ns, wait_ns);

		if (e->n_due && e->heap[0].due_ns < end_ns)
			end_ns = e->heap[0].due_ns;
		if (end_ns == LB_NEVER)
			return -EDEADLK; /* nothing will ever come, and no time was set */
		e->now_ns = end_ns;
	}
	while (n < max && e->n_due && e->heap[0].due_ns <= e->now_ns)
		done[n++] = heap_pop(e);
	return (int)n;
}

static int null_reap(void *st, struct lb_io **done, uint32_t min, uint32_t max, uint64_t wait_ns)
{
	struct null_engine *e = st;
	uint32_t n;

	if (__builtin_expect(e->is_virtual, 0))
		return reap_virtual(e, done, min, max, wait_ns);
	n = e->tail - e->head;
	if (n > max)
		n = max;
	for (uint32_t i = 0; i < n; i++)
		done[i] = e->fifo[e->head++ & e->mask];
	if (n < min) {
		struct timespec ts = {
			(time_t)(wait_ns / LB_NSEC_PER_SEC), (long)(wait_ns % LB_NSEC_PER_SEC)};

		if (wait_ns == LB_NEVER)
			return -EDEADLK;
		nanosleep(&ts, NULL);
	}
	return (int)n;
}

static int null_exchange(
	void *st, struct lb_io **ios, uint32_t n, uint32_t min, uint32_t max, uint64_t wait_ns)
{
	int ret = null_submit(st, ios, n);

	return ret < 0 ? ret : null_reap(st, ios, min, max, wait_ns);
}

static uint64_t null_now(void *st)
{
	const struct null_engine *e = st;

	return e->is_virtual ? e->now_ns : lb_now_ns();
}

static void null_teardown(void *st)
{
	struct null_engine *e = st;

	if (!e)
		return;
	lb_null_latency_done(&e->latency);
	lb_null_script_done(&e->script);
	free(e->fifo);
	free(e->heap);
	free(e->luns);
	free(e);
}

static int setup_plain(struct null_engine *e, const struct lb_engine_cfg *cfg)
{
	uint32_t n = 1;

	while (n < cfg->n_ios)
		n *= 2;
	e->mask = n - 1;
	e->fifo = calloc(n, sizeof(struct lb_io *));
	return e->fifo ? 0 : -ENOMEM;
}

static int setup_virtual(struct null_engine *e, const struct lb_engine_cfg *cfg, struct lb_err *err)
{
	const struct lb_null_opts *opts = cfg->opts;
	int rc = lb_null_latency_parse(
		&e->latency, "null-latency", opts->latency ? opts->latency : "1ms", err);

	if (!rc && opts->script)
		rc = lb_null_script_parse(&e->script, "null-script", opts->script, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < e->script.n_events; i++) {
		uint32_t lun = e->script.events[i].lun;

		if (lun != LB_NULL_ALL_LUNS && lun >= cfg->n_fds)
			return lb_fail(err, LB_ST_USAGE, EINVAL,
				"--null-script '%s': there is no LUN @%u: the %u LUNs are counted from 0",
				opts->script, lun, cfg->n_fds);
	}
	e->is_virtual = true;
	e->now_ns = START_NS;
	e->n_ios = cfg->n_ios;
	e->heap = calloc(cfg->n_ios, sizeof(*e->heap));
	e->luns = calloc(cfg->n_fds, sizeof(*e->luns));
	if (!e->heap || !e->luns)
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM,
			"null engine: out of memory for %u I/Os", cfg->n_ios);
	for (uint32_t i = 0; i < cfg->n_fds; i++)
		lb_rng_seed(&e->luns[i].rng, SEED, i);
	return 0;
}

static int null_setup(void **st, const struct lb_engine_cfg *cfg, struct lb_err *err)
{
	struct null_engine *e = calloc(1, sizeof(*e));
	int rc;

	*st = NULL;
	if (!e)
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "null engine: out of memory");
	if (lb_null_is_virtual(cfg->opts))
		rc = setup_virtual(e, cfg, err);
	else if ((rc = setup_plain(e, cfg)))
		lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "null engine: out of memory for %u I/Os",
			cfg->n_ios);
	if (rc) {
		null_teardown(e);
		return rc;
	}
	*st = e;
	return 0;
}

static int null_probe(struct lb_err *err)
{
	(void)err;
	return 0;
}

const struct lb_engine_ops lb_engine_null = {
	.name = "null",
	.help = "no I/O: measures lunbench itself, or plays a scripted device",
	.caps = LB_CAP_NO_DEVICE,
	.slots_max = 1u << 30,
	.probe = null_probe,
	.setup = null_setup,
	.exchange = null_exchange,
	.now = null_now,
	.teardown = null_teardown,
};

bool lb_null_is_virtual(const struct lb_null_opts *opts)
{
	return opts && (opts->latency || opts->script);
}

static int opt_latency(const struct lb_opt *opt, void *field, const char *value, struct lb_err *err)
{
	struct lb_null_latency lat;
	int rc = lb_null_latency_parse(&lat, opt->name, value, err);

	lb_null_latency_done(&lat);
	if (!rc)
		*(const char **)field = value;
	return rc;
}

static int opt_script(const struct lb_opt *opt, void *field, const char *value, struct lb_err *err)
{
	struct lb_null_script script;
	int rc = lb_null_script_parse(&script, opt->name, value, err);

	lb_null_script_done(&script);
	if (!rc)
		*(const char **)field = value;
	return rc;
}

const struct lb_opt lb_null_opt_rows[] = {
	{
		.name = "null-latency",
		.type = LB_OPT_CUSTOM,
		.section = "Null engine",
		.metavar = "SPEC",
		.offset = offsetof(struct lb_null_opts, latency),
		.help = "time each I/O takes, on a virtual clock: 5ms, uniform:1ms:3ms, exp:2ms, "
			"list:1ms/7ms",
		.man = "Only with\n"
		       ".Fl -engine Cm null .\n"
		       "The run is played on a virtual clock by one worker, so it takes no longer than\n"
		       "the computing does, and it is the same each time.\n"
		       ".Ar SPEC\n"
		       "says how long an I/O takes, from its submission:\n"
		       ".Bl -tag -width uniform:LOW:HIGH\n"
		       ".It Ar TIME\n"
		       "always this, as 5ms\n"
		       ".It Cm uniform : Ns Ar LOW : Ns Ar HIGH\n"
		       "any nanosecond from LOW to HIGH, both included, equally often\n"
		       ".It Cm exp : Ns Ar MEAN\n"
		       "exponentially distributed with this mean; never below 1 ns\n"
		       ".It Cm list : Ns Ar TIME Ns / Ns Ar TIME Ns ...\n"
		       "one after the other and from the beginning again, for each LUN by itself in\n"
		       "the order of its I/O\n"
		       ".El\n"
		       ".Pp\n"
		       "Each time is from 1ns to 1d.\n"
		       "With\n"
		       ".Fl -null-script\n"
		       "alone it is 1ms.\n",
		.parse = opt_latency,
	},
	{
		.name = "null-script",
		.type = LB_OPT_CUSTOM,
		.section = "Null engine",
		.metavar = "EVENT[,EVENT]...",
		.offset = offsetof(struct lb_null_opts, script),
		.help = "what goes wrong, on a virtual clock: error:100:EIO, stall:2s:5s@0, lose:7 ...",
		.man = "Only with\n"
		       ".Fl -engine Cm null .\n"
		       "The run is played on a virtual clock, as with\n"
		       ".Fl -null-latency ,\n"
		       "and these events befall its I/O, each on every LUN by itself, or with\n"
		       ".Li @ Ns Ar N\n"
		       "after it only on one, counted from 0 in the order of the targets.\n"
		       "The I/Os of a LUN are numbered from 1 as they are submitted;\n"
		       ".Ar FROM\n"
		       "is counted from the start of the clock, before the ramp.\n"
		       ".Bl -tag -width error:EVERY:ERRNO\n"
		       ".It Cm error : Ns Ar EVERY : Ns Ar ERRNO\n"
		       "every EVERY-th I/O fails with this error, given by name, after its usual time\n"
		       ".It Cm short : Ns Ar EVERY : Ns Ar BYTES\n"
		       "every EVERY-th I/O moves only so many bytes (all of it, if it is no longer\n"
		       "than that); where error or short events meet, the one given first decides\n"
		       ".It Cm slow : Ns Ar FACTOR\n"
		       "every I/O takes FACTOR times as long, a whole number; several multiply\n"
		       ".It Cm stall : Ns Ar FROM : Ns Ar FOR\n"
		       "what would complete in the time from FROM up to but not including FROM + FOR\n"
		       "completes at its end, unless that lies in another stall\n"
		       ".It Cm gone : Ns Ar FROM : Ns Ar ERRNO\n"
		       "the device goes away at FROM: what is in flight fails then, what is issued later\n"
		       "fails at once\n"
		       ".It Cm lose : Ns Ar NTH\n"
		       "the NTH I/O never returns\n"
		       ".It Cm dead : Ns Ar FROM\n"
		       "nothing that is due at FROM or later ever returns, errors and\n"
		       ".Cm gone\n"
		       "included\n"
		       ".El\n"
		       ".Pp\n"
		       "EVERY and NTH are whole numbers from 1; FACTOR goes to 1000000, BYTES from 0 to\n"
		       "64M, FROM from 0 and FOR from 1ns to 365d.\n",
		.parse = opt_script,
	},
};
const size_t lb_null_opt_count = sizeof(lb_null_opt_rows) / sizeof(lb_null_opt_rows[0]);
