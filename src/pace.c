#include "pace.h"

#include <math.h>

#include "clock.h"
#include "rng.h"

#define MILLI        1000u
#define TICKS_PER_NS 256u       /* 64 bits of them are two years, and a gap is never none */
#define WALK_MOST    (1u << 20) /* arrivals of a backlog that are looked at one by one, */
#define GLANCE_MOST  (1u << 10) /* and where nobody asks for their ages: once an interval */

typedef unsigned __int128 u128;

/* ---- fixed: arrivals are numbered ---- */

/*
 * Number K of LUN I of N is due at (K + I/N) / rate, and N times the rate is the total: nothing is
 * rounded but the nanosecond.
 */
static uint64_t fixed_due_ns(const struct lb_pace *p, uint64_t k)
{
	u128 nth = (u128)k * p->n_luns + p->lun;

	return (uint64_t)(nth * (MILLI * LB_NSEC_PER_SEC) / p->total_milli_per_s);
}

/* How many are due before T_NS. */
static uint64_t fixed_count(const struct lb_pace *p, uint64_t t_ns)
{
	u128 unit = MILLI * LB_NSEC_PER_SEC;
	u128 slots = ((u128)t_ns * p->total_milli_per_s + unit - 1) / unit; /* of all LUNs */

	return slots <= p->lun ? 0 : (uint64_t)((slots - p->lun - 1) / p->n_luns) + 1;
}

/* ---- poisson: an arrival is its time, and from that comes the next ---- */

static uint64_t poisson_after(const struct lb_pace *p, uint64_t ticks)
{
	uint64_t x = p->key ^ ticks;
	double u = (double)((lb_splitmix64(&x) >> 11) + 1) * 0x1p-53; /* in (0, 1] */
	double mean = (double)TICKS_PER_NS * (double)(MILLI * LB_NSEC_PER_SEC) * p->n_luns /
		      (double)p->total_milli_per_s;
	double gap = nearbyint(-log(u) * mean);

	return ticks + (gap < 1 ? 1 : (uint64_t)gap);
}

/* ---- either ---- */

static uint64_t due_of(const struct lb_pace *p, uint64_t next)
{
	return p->arrival == LB_ARRIVAL_FIXED ? fixed_due_ns(p, next) : next / TICKS_PER_NS;
}

static uint64_t after(const struct lb_pace *p, uint64_t next)
{
	return p->arrival == LB_ARRIVAL_FIXED ? next + 1 : poisson_after(p, next);
}

void lb_pace_init(struct lb_pace *p, enum lb_arrival arrival, uint64_t total_milli_per_s,
	uint32_t lun, uint32_t n_luns, uint64_t seed)
{
	uint64_t key = lun;

	key = seed ^ lb_splitmix64(&key);
	*p = (struct lb_pace){.arrival = arrival,
		.total_milli_per_s = total_milli_per_s,
		.lun = lun,
		.n_luns = n_luns,
		.key = lb_splitmix64(&key)};
	if (arrival == LB_ARRIVAL_POISSON)
		atomic_init(&p->next, poisson_after(p, 0));
}

uint64_t lb_pace_next_ns(const struct lb_pace *p)
{
	return due_of(p, atomic_load_explicit(&p->next, memory_order_relaxed));
}

bool lb_pace_claim(struct lb_pace *p, uint64_t now_ns, uint64_t *due_ns)
{
	uint64_t next = atomic_load_explicit(&p->next, memory_order_relaxed);

	do {
		*due_ns = due_of(p, next);
		if (*due_ns > now_ns)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&p->next, &next, after(p, next), memory_order_relaxed, memory_order_relaxed));
	return true;
}

/* The last arrival due by FREE_NS that is not before NEXT; N: those from NEXT to it, due at OPEN_NS
 * or later. */
static uint64_t last_due(
	const struct lb_pace *p, uint64_t next, uint64_t free_ns, uint64_t open_ns, uint64_t *n)
{
	uint64_t t;

	*n = 0;
	if (p->arrival == LB_ARRIVAL_FIXED) {
		uint64_t last = fixed_count(p, free_ns + 1), first = fixed_count(p, open_ns);

		if (last <= next + 1)
			return next;
		if (first < next)
			first = next;
		*n = last - 1 > first ? last - 1 - first : 0;
		return last - 1;
	}
	for (; (t = after(p, next)) / TICKS_PER_NS <= free_ns; next = t)
		*n += next / TICKS_PER_NS >= open_ns;
	return next;
}

uint64_t lb_pace_skip(struct lb_pace *p, uint64_t free_ns, uint64_t open_ns)
{
	uint64_t next = atomic_load_explicit(&p->next, memory_order_relaxed), to, n;

	do {
		to = last_due(p, next, free_ns, open_ns, &n);
		if (to == next)
			return 0;
	} while (!atomic_compare_exchange_weak_explicit(
		&p->next, &next, to, memory_order_relaxed, memory_order_relaxed));
	return n;
}

static void fixed_waiting(const struct lb_pace *p, uint64_t next, uint64_t now_ns,
	struct lb_waiting *w, struct lb_hist *ages)
{
	uint64_t end = fixed_count(p, now_ns), above = end;

	w->n = end - next;
	/* ages fall evenly from the first to the last */
	w->sum_ns = (double)w->n / 2 * (double)(w->oldest_ns + now_ns - fixed_due_ns(p, end - 1));
	for (uint32_t i = 0; ages && above > next; i++) {
		uint64_t high = lb_hist_high_ns(i);
		uint64_t from = high <= now_ns ? fixed_count(p, now_ns - high + 1) : 0;

		if (from < next)
			from = next;
		ages->count[i] += above - from;
		above = from;
	}
}

static void poisson_waiting(const struct lb_pace *p, uint64_t next, uint64_t now_ns,
	struct lb_waiting *w, struct lb_hist *ages)
{
	const uint64_t most = ages ? WALK_MOST : GLANCE_MOST;

	for (; next / TICKS_PER_NS < now_ns && w->n < most; next = poisson_after(p, next)) {
		uint64_t age_ns = now_ns - next / TICKS_PER_NS;

		w->n++;
		w->sum_ns += (double)age_ns;
		if (ages)
			ages->count[lb_hist_bucket(age_ns)]++;
	}
	if (next / TICKS_PER_NS < now_ns) {
		uint64_t left_ns = now_ns - next / TICKS_PER_NS;
		uint64_t rest = (uint64_t)((u128)left_ns * p->total_milli_per_s /
					   (MILLI * LB_NSEC_PER_SEC) / p->n_luns);

		w->n += rest;
		w->sum_ns += (double)rest * (double)left_ns / 2;
		if (ages)
			ages->count[0] += rest;
	}
}

struct lb_waiting lb_pace_waiting(const struct lb_pace *p, uint64_t now_ns, struct lb_hist *ages)
{
	uint64_t next = atomic_load_explicit(&p->next, memory_order_relaxed);
	uint64_t due_ns = due_of(p, next);
	struct lb_waiting w = {0};

	if (due_ns >= now_ns)
		return w;
	w.oldest_ns = now_ns - due_ns;
	if (p->arrival == LB_ARRIVAL_FIXED)
		fixed_waiting(p, next, now_ns, &w, ages);
	else
		poisson_waiting(p, next, now_ns, &w, ages);
	return w;
}
