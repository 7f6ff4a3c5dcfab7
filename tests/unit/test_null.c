/* The null engine: each script event to the nanosecond, its clock, and its queue against a plain
 * search. Times here are on its virtual clock, from its start (T0). */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "engine.h"
#include "rng.h"

#define T0  LB_NSEC_PER_SEC
#define US  LB_NSEC_PER_USEC
#define MS  LB_NSEC_PER_MSEC
#define LEN 4096u

struct rig {
	void *st;
	struct lb_io *ios;
	uint32_t n_ios;
};

/* Slot i belongs to LUN i % n_luns. */
static int rig_try(struct rig *r, const struct lb_null_opts *opts, uint32_t n_luns, uint32_t n_ios,
	struct lb_err *err)
{
	struct lb_engine_cfg cfg = {.n_fds = n_luns, .n_ios = n_ios, .opts = opts};

	r->ios = aligned_alloc(64, n_ios * sizeof(struct lb_io));
	assert_non_null(r->ios);
	memset(r->ios, 0, n_ios * sizeof(struct lb_io));
	r->n_ios = n_ios;
	for (uint32_t i = 0; i < n_ios; i++) {
		r->ios[i].len = LEN;
		r->ios[i].slot = i;
		r->ios[i].lun = i % n_luns;
	}
	cfg.ios = r->ios;
	return lb_engine_null.setup(&r->st, &cfg, err);
}

static void rig_make(
	struct rig *r, const char *latency, const char *script, uint32_t n_luns, uint32_t n_ios)
{
	struct lb_null_opts opts = {latency, script};
	struct lb_err err = {.text = ""};

	assert_int_equal(rig_try(r, &opts, n_luns, n_ios, &err), 0);
	assert_string_equal(err.text, "");
}

static void rig_done(struct rig *r)
{
	lb_engine_null.teardown(r->st);
	free(r->ios);
}

static uint64_t now(struct rig *r)
{
	return lb_engine_null.now(r->st);
}

static void submit(struct rig *r, uint32_t slot)
{
	struct lb_io *io = &r->ios[slot];

	assert_int_equal(lb_engine_null.exchange(r->st, &io, 1, 0, 0, 0), 0);
}

static void submit_range(struct rig *r, uint32_t from, uint32_t n)
{
	struct lb_io *ios[LB_BATCH];

	while (n) {
		uint32_t k = n < LB_BATCH ? n : LB_BATCH;

		for (uint32_t i = 0; i < k; i++)
			ios[i] = &r->ios[from++];
		assert_int_equal(lb_engine_null.exchange(r->st, ios, k, 0, 0, 0), 0);
		n -= k;
	}
}

static int reap(struct rig *r, struct lb_io **done, uint32_t min, uint32_t max, uint64_t wait_ns)
{
	return lb_engine_null.exchange(r->st, done, 0, min, max, wait_ns);
}

/* The next completion, whatever the wait: SLOT with RES at AT_NS after T0. */
static void next_is(struct rig *r, uint32_t slot, int32_t res, uint64_t at_ns)
{
	struct lb_io *done[1];

	assert_int_equal(reap(r, done, 1, 1, LB_NEVER), 1);
	assert_int_equal(done[0]->slot, slot);
	assert_int_equal(done[0]->res, res);
	assert_int_equal(now(r) - T0, at_ns);
}

/* Nothing will ever come any more; the clock does not move to say so. */
static void nothing_left(struct rig *r)
{
	struct lb_io *done[1];
	uint64_t before = now(r);

	assert_int_equal(reap(r, done, 1, 1, LB_NEVER), -EDEADLK);
	assert_int_equal(now(r), before);
}

static void plain_is_first_in_first_out(void **state)
{
	struct rig r;
	struct lb_io *done[8];
	uint64_t before;
	uint32_t in = 0, out = 0;

	(void)state;
	assert_false(lb_null_is_virtual(NULL));
	rig_make(&r, NULL, NULL, 1, 5);
	for (int round = 0; round < 1000; round++) { /* the ring (of 8) wraps at every place */
		submit_range(&r, 0, 5);
		for (int i = 0; i < 5; i++)
			r.ios[i].offset_bytes = in++;
		assert_int_equal(reap(&r, done, 1, 3, LB_NEVER), 3);
		assert_int_equal(reap(&r, done + 3, 1, 8, LB_NEVER), 2);
		for (int i = 0; i < 5; i++) {
			assert_int_equal(done[i]->offset_bytes, out++);
			assert_int_equal(done[i]->res, LEN);
			done[i]->res = 0;
		}
	}
	assert_int_equal(reap(&r, done, 0, 8, LB_NEVER), 0);
	assert_int_equal(reap(&r, done, 1, 8, LB_NEVER), -EDEADLK);
	before = lb_now_ns();
	assert_int_equal(reap(&r, done, 1, 8, 3 * MS), 0);
	assert_true(lb_now_ns() - before >= 3 * MS);
	assert_true(now(&r) >= before + 3 * MS && now(&r) <= lb_now_ns());
	rig_done(&r);
}

static void plain_needs_no_options(void **state)
{
	struct rig r;
	struct lb_io *done[1];

	(void)state;
	assert_int_equal(rig_try(&r, NULL, 1, 1, NULL), 0);
	submit(&r, 0);
	assert_int_equal(reap(&r, done, 0, 1, 0), 1);
	assert_ptr_equal(done[0], &r.ios[0]);
	rig_done(&r);
}

static void clock_moves_only_to_what_is_due_or_the_waits_end(void **state)
{
	struct rig r;
	struct lb_io *done[4];

	(void)state;
	rig_make(&r, "5ms", NULL, 1, 4);
	assert_int_equal(now(&r), T0);
	assert_int_equal(reap(&r, done, 1, 4, 2 * MS), 0); /* nothing in flight: the wait's end */
	assert_int_equal(now(&r), T0 + 2 * MS);
	submit_range(&r, 0, 3); /* due at 7 ms */
	assert_int_equal(now(&r), T0 + 2 * MS);
	assert_int_equal(reap(&r, done, 0, 4, LB_NEVER), 0); /* no minimum: no waiting */
	assert_int_equal(now(&r), T0 + 2 * MS);
	assert_int_equal(reap(&r, done, 1, 4, 0), 0);
	assert_int_equal(now(&r), T0 + 2 * MS);
	assert_int_equal(reap(&r, done, 1, 4, 5 * MS - 1), 0); /* 1 ns too early */
	assert_int_equal(now(&r), T0 + 7 * MS - 1);
	submit(&r, 3);                                /* due at 12 ms - 1 ns */
	assert_int_equal(reap(&r, done, 1, 2, 1), 2); /* due at the wait's end: it is there */
	assert_int_equal(now(&r), T0 + 7 * MS);
	assert_ptr_equal(done[0], &r.ios[0]);
	assert_ptr_equal(done[1], &r.ios[1]);
	assert_int_equal(reap(&r, done, 0, 4, 0), 1); /* past max: the next call has it, at once */
	assert_ptr_equal(done[0], &r.ios[2]);
	assert_int_equal(now(&r), T0 + 7 * MS);
	next_is(&r, 3, LEN, 12 * MS - 1);
	nothing_left(&r);
	rig_done(&r);
}

static void script_alone_takes_1_ms(void **state)
{
	struct rig r;

	(void)state;
	rig_make(&r, NULL, "error:2:EIO", 1, 2);
	submit_range(&r, 0, 2);
	next_is(&r, 0, LEN, MS);
	next_is(&r, 1, -EIO, MS);
	rig_done(&r);
}

static void list_goes_round_for_each_lun(void **state)
{
	struct rig r;
	static const uint64_t at[] = {1, 1, 2, 2, 7, 7, 1, 1}; /* ms, of slot i */

	(void)state;
	rig_make(&r, "list:1ms/2ms/7ms", NULL, 2, 8);
	for (uint32_t i = 0; i < 8; i++) {
		uint64_t t = now(&r) - T0;

		submit(&r, i);
		next_is(&r, i, LEN, t + at[i] * MS);
	}
	rig_done(&r);
}

static uint64_t draw(struct rig *r, uint32_t slot)
{
	struct lb_io *done[1];
	uint64_t before = now(r);

	submit(r, slot);
	assert_int_equal(reap(r, done, 1, 1, LB_NEVER), 1);
	assert_ptr_equal(done[0], &r->ios[slot]);
	return now(r) - before;
}

static void uniform_reaches_both_ends_and_repeats(void **state)
{
	struct rig r, again;
	uint32_t seen[3] = {0}, differ = 0;

	(void)state;
	rig_make(&r, "uniform:5ns:7ns", NULL, 2, 2);
	rig_make(&again, "uniform:5ns:7ns", NULL, 2, 2);
	for (int i = 0; i < 3000; i++) {
		uint64_t a = draw(&r, 0), b = draw(&r, 1);

		assert_in_range(a, 5, 7);
		assert_in_range(b, 5, 7);
		seen[a - 5]++;
		differ += a != b;
		assert_int_equal(draw(&again, 0), a);
		assert_int_equal(draw(&again, 1), b);
	}
	for (int i = 0; i < 3; i++)
		assert_in_range(seen[i], 850, 1150); /* 1000 each; 150 is nearly 6 sigma */
	assert_in_range(differ, 1850, 2150);         /* the LUNs' sequences are independent */
	rig_done(&r);
	rig_done(&again);
}

static void exponential_has_its_mean_and_median(void **state)
{
	struct rig r;
	uint64_t sum = 0, v;
	uint32_t below = 0, n = 200000;

	(void)state;
	rig_make(&r, "exp:2ms", NULL, 1, 1);
	for (uint32_t i = 0; i < n; i++) {
		v = draw(&r, 0);
		assert_true(v >= 1);
		sum += v;
		below += v < 1386294; /* 2 ms * ln 2 */
	}
	assert_in_range(sum / n, 1980 * US, 2020 * US);
	assert_in_range(below, n / 2 - 1500, n / 2 + 1500);
	rig_done(&r);
	rig_make(&r, "exp:1ns", NULL, 1, 1);
	for (uint32_t i = 0; i < 1000; i++)
		assert_true(draw(&r, 0) >= 1); /* time always passes */
	rig_done(&r);
}

static void errors_and_shorts_come_every_so_many(void **state)
{
	struct rig r;
	static const int32_t res[] = {/* of I/O 1.. of LUN 0; error:3, short:2 */
		LEN, 512, -ENODEV, 512, LEN, -ENODEV, LEN, 512};

	(void)state;
	rig_make(&r, "1ms", "error:3:ENODEV@0,short:2:512@0", 2, 16);
	submit_range(&r, 0, 16);
	for (uint32_t i = 0; i < 16; i++)
		next_is(&r, i, i % 2 ? (int32_t)LEN : res[i / 2], MS);
	rig_done(&r);
	rig_make(&r, "1ms", "short:2:0,error:2:EIO,short:1:1M", 1, 2); /* the first given decides */
	submit_range(&r, 0, 2);
	next_is(&r, 0, LEN, MS); /* no shorter than it is long */
	next_is(&r, 1, 0, MS);
	rig_done(&r);
}

static void stall_holds_what_falls_into_it(void **state)
{
	struct rig r;

	(void)state;
	rig_make(&r, "list:9999999ns/10ms/14999999ns/15ms", "stall:10ms:5ms@0", 1, 4);
	submit_range(&r, 0, 4);
	next_is(&r, 0, LEN, 10 * MS - 1);
	next_is(&r, 1, LEN, 15 * MS);
	next_is(&r, 2, LEN, 15 * MS);
	next_is(&r, 3, LEN, 15 * MS);
	nothing_left(&r);
	rig_done(&r);
	/* from one stall into the next, in whatever order they are written */
	rig_make(&r, "5ms", "stall:20ms:5ms,stall:10ms:12ms,stall:5ms:5ms,stall:5ms:1s@1", 2, 2);
	submit_range(&r, 0, 2);
	next_is(&r, 0, LEN, 25 * MS);
	next_is(&r, 1, LEN, 1005 * MS);
	rig_done(&r);
}

static void lost_is_only_the_nth(void **state)
{
	struct rig r;

	(void)state;
	rig_make(&r, "1ms", "lose:2,lose:3@1", 2, 8);
	submit_range(&r, 0, 8);
	next_is(&r, 0, LEN, MS);
	next_is(&r, 1, LEN, MS);
	next_is(&r, 4, LEN, MS); /* 2, 3: the second of each; 5: the third of LUN 1 */
	next_is(&r, 6, LEN, MS);
	next_is(&r, 7, LEN, MS);
	nothing_left(&r);
	rig_done(&r);
}

static void dead_returns_nothing_from_then_on(void **state)
{
	struct rig r;
	struct lb_io *done[4];

	(void)state;
	rig_make(&r, "list:9999999ns/10ms/1ms", "dead:10ms@0,gone:10ms:EIO@0", 2, 6);
	submit_range(&r, 0, 4);
	next_is(&r, 0, LEN, 10 * MS - 1);
	next_is(&r, 1, LEN, 10 * MS - 1);
	submit(&r, 4);
	next_is(&r, 3, LEN, 10 * MS); /* 2: due at 10 ms sharp */
	assert_int_equal(reap(&r, done, 1, 4, 3600 * LB_NSEC_PER_SEC), 0);
	assert_int_equal(now(&r), T0 + 10 * MS + 3600 * LB_NSEC_PER_SEC);
	submit(&r, 5); /* LUN 1 lives on */
	next_is(&r, 5, LEN, 10 * MS + 3600000 * MS + 1 * MS);
	nothing_left(&r);
	rig_done(&r);
}

static void gone_fails_what_is_in_flight_and_all_that_follows(void **state)
{
	struct rig r;
	struct lb_io *done[1];

	(void)state;
	rig_make(&r, "list:9999999ns/20ms/1h", "gone:10ms:ENODEV,short:1:8", 1, 4);
	submit_range(&r, 0, 3);
	next_is(&r, 0, 8, 10 * MS - 1);
	next_is(&r, 1, -ENODEV, 10 * MS);
	next_is(&r, 2, -ENODEV, 10 * MS);
	for (int i = 0; i < 3; i++) {
		submit(&r, 3);
		next_is(&r, 3, -ENODEV, 10 * MS); /* at once: time does not pass */
	}
	rig_done(&r);
	rig_make(&r, "1ms", "stall:0:1s,gone:500ms:EIO", 1, 1); /* a stall ends with the device */
	submit(&r, 0);
	next_is(&r, 0, -EIO, 500 * MS);
	rig_done(&r);
	rig_make(&r, "1ms", "gone:2ms:EIO,dead:5ms", 1, 1);
	submit(&r, 0);
	next_is(&r, 0, LEN, MS);
	submit(&r, 0);
	next_is(&r, 0, -EIO, 2 * MS);
	assert_int_equal(reap(&r, done, 1, 1, 3 * MS), 0);
	submit(&r, 0); /* due at 5 ms, not when it went away */
	nothing_left(&r);
	rig_done(&r);
}

static void slow_multiplies(void **state)
{
	struct rig r;

	(void)state;
	rig_make(&r, "1d", "slow:1000000,slow:1000000", 1, 1); /* past 64 bits: not back to soon */
	submit(&r, 0);
	nothing_left(&r);
	rig_done(&r);
	rig_make(&r, "2ms", "slow:3@1,slow:10,stall:60ms:1ns", 2, 2);
	submit_range(&r, 0, 2);
	next_is(&r, 0, LEN, 20 * MS);
	next_is(&r, 1, LEN, 60 * MS + 1); /* what is stalled is the slowed time */
	rig_done(&r);
}

/* Random submits and reaps, every completion checked against a search through all in flight. */
static void queue_agrees_with_a_plain_search(void **state)
{
	enum { N = 1000, LUNS = 3 };
	static const uint64_t lat[] = {3, 1, 4, 1, 5, 9, 2, 6, 500};
	uint64_t due[N], seq[N], n_seq = 0, nth[LUNS] = {0}, t = T0;
	uint32_t idle[N], n_idle = N, n_returned = 0;
	struct lb_io *done[N];
	struct lb_rng rng;
	struct rig r;

	(void)state;
	lb_rng_seed(&rng, 1, 1);
	rig_make(&r, "list:3ns/1ns/4ns/1ns/5ns/9ns/2ns/6ns/500ns", NULL, LUNS, N);
	for (uint32_t i = 0; i < N; i++) {
		idle[i] = i;
		seq[i] = UINT64_MAX; /* not in flight */
	}
	for (int round = 0; round < 20000; round++) {
		uint32_t k = (uint32_t)lb_rng_below(&rng, round % 100 < 50 ? 33 : 3);
		uint32_t max = 1 + (uint32_t)lb_rng_below(&rng, 20);
		uint32_t min = (uint32_t)lb_rng_below(&rng, 2);
		uint64_t wait_ns = lb_rng_below(&rng, 8), first = UINT64_MAX;
		int n;

		for (; k && n_idle; k--) {
			uint32_t at = (uint32_t)lb_rng_below(&rng, n_idle), s = idle[at];

			idle[at] = idle[--n_idle];
			due[s] = t + lat[nth[s % LUNS]++ % 9];
			seq[s] = n_seq++;
			submit(&r, s);
		}
		for (uint32_t s = 0; s < N; s++)
			if (seq[s] != UINT64_MAX && due[s] < first)
				first = due[s];
		if (min && first > t)
			t = first < t + wait_ns ? first : t + wait_ns;
		n = reap(&r, done, min, max, wait_ns);
		assert_int_equal(now(&r), t);
		for (uint32_t i = 0; i <= max; i++) {
			uint32_t best = N;

			for (uint32_t s = 0; s < N; s++)
				if (seq[s] != UINT64_MAX && due[s] <= t &&
					(best == N || due[s] < due[best] ||
						(due[s] == due[best] && seq[s] < seq[best])))
					best = s;
			if (i == max || best == N) {
				assert_int_equal(n, (int)i);
				break;
			}
			assert_true((int)i < n);
			assert_int_equal(done[i]->slot, best);
			seq[best] = UINT64_MAX;
			idle[n_idle++] = best;
			n_returned++;
		}
	}
	assert_int_equal(n_returned + N - n_idle, n_seq);
	assert_true(n_seq > 50000);
	rig_done(&r);
}

static void many_slots_come_back_once_each_and_in_order(void **state)
{
	enum { N = 200000 };
	struct rig r;
	struct lb_io *done[LB_BATCH];
	uint64_t last = 0;
	uint32_t n = 0;

	(void)state;
	rig_make(&r, "uniform:1us:1s", "slow:2@7", 64, N);
	submit_range(&r, 0, N);
	while (n < N) {
		int k = reap(&r, done, 1, LB_BATCH, LB_NEVER);

		assert_true(k > 0);
		assert_true(now(&r) >= last);
		last = now(&r);
		for (int i = 0; i < k; i++) {
			assert_int_equal(done[i]->offset_bytes, 0);
			done[i]->offset_bytes = 1; /* seen */
		}
		n += (uint32_t)k;
	}
	assert_int_equal(n, N);
	nothing_left(&r);
	rig_done(&r);
}

static void a_lun_that_is_not_there_is_refused_at_setup(void **state)
{
	struct lb_null_opts opts = {NULL, "lose:1@1,dead:1s@2"};
	struct lb_err err = {.text = ""};
	struct rig r;

	(void)state;
	assert_int_equal(rig_try(&r, &opts, 2, 2, &err), -EINVAL);
	assert_null(r.st);
	assert_string_equal(err.text, "--null-script 'lose:1@1,dead:1s@2': there is no LUN @2: the "
				      "2 LUNs are counted from 0");
	assert_int_equal(err.status, LB_ST_USAGE);
	rig_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_is_first_in_first_out),
		cmocka_unit_test(plain_needs_no_options),
		cmocka_unit_test(clock_moves_only_to_what_is_due_or_the_waits_end),
		cmocka_unit_test(script_alone_takes_1_ms),
		cmocka_unit_test(list_goes_round_for_each_lun),
		cmocka_unit_test(uniform_reaches_both_ends_and_repeats),
		cmocka_unit_test(exponential_has_its_mean_and_median),
		cmocka_unit_test(errors_and_shorts_come_every_so_many),
		cmocka_unit_test(stall_holds_what_falls_into_it),
		cmocka_unit_test(lost_is_only_the_nth),
		cmocka_unit_test(dead_returns_nothing_from_then_on),
		cmocka_unit_test(gone_fails_what_is_in_flight_and_all_that_follows),
		cmocka_unit_test(slow_multiplies),
		cmocka_unit_test(queue_agrees_with_a_plain_search),
		cmocka_unit_test(many_slots_come_back_once_each_and_in_order),
		cmocka_unit_test(a_lun_that_is_not_there_is_refused_at_setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
