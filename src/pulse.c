#include "pulse.h"

#include "clock.h"

/* Moves *MAX up to V; returns whether it did. The sampler may put 0 there at any time. */
static bool raise_to(uint64_t *max, uint64_t v)
{
	uint64_t was = __atomic_load_n(max, __ATOMIC_RELAXED);

	while (was < v)
		if (__atomic_compare_exchange_n(
			    max, &was, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
	return false;
}

/* A stall is over. They lie so far apart that no two lanes are here at once. */
static void tell_stall(struct lb_lun_state *lun, uint64_t from, uint64_t to)
{
	uint32_t n = atomic_load_explicit(&lun->n_stalls, memory_order_relaxed);

	lun->stalls[n % LB_STALLS] = (struct lb_stall){.from_ns = from, .to_ns = to};
	atomic_store_explicit(&lun->n_stalls, n + 1, memory_order_release);
}

/*
 * Of the gap from *FROM to *TO what is LUN's own: where its worker was held meanwhile for other
 * LUNs, the longer part of what is left.
 */
static void excuse(const struct lb_lun_state *lun, uint64_t *from, uint64_t *to)
{
	uint64_t held_from = atomic_load_explicit(&lun->held_from_ns, memory_order_acquire);
	uint64_t held_to = atomic_load_explicit(&lun->held_to_ns, memory_order_relaxed);

	if (held_from < *from || held_from >= *to)
		return;
	if (!held_to || held_to > *to)
		held_to = *to;
	if (held_from - *from >= *to - held_to)
		*to = held_from;
	else
		*from = held_to;
}

void lb_pulse_gap(struct lb_lun_state *lun, uint64_t last_ns, uint64_t t)
{
	const struct lb_board *b = lun->board;
	uint64_t open = atomic_load_explicit(&b->window.open_ns, memory_order_relaxed);
	uint64_t from = last_ns > open ? last_ns : open, gap;

	excuse(lun, &from, &t);
	gap = t - from;
	/* first, since whoever takes the gap puts 0 here afterwards */
	__atomic_store_n(
		&lun->look_ns, gap < b->stall_ns ? gap : b->stall_ns - 1, __ATOMIC_RELAXED);
	if (raise_to(&lun->gap_ns, gap))
		__atomic_store_n(&lun->gap_end_ns, t, __ATOMIC_RELAXED);
	if (raise_to(&lun->longest_ns, gap))
		__atomic_store_n(&lun->longest_end_ns, t, __ATOMIC_RELAXED);
	if (gap < b->stall_ns)
		return;
	lun->stalled_ns += gap;
	tell_stall(lun, from, t);
}

void lb_pulse_late(struct lb_lun_state *lun, uint64_t t)
{
	const struct lb_board *b = lun->board;
	uint64_t open = atomic_load_explicit(&b->window.open_ns, memory_order_relaxed);
	uint64_t late_ns = __atomic_load_n(&lun->late_ns, __ATOMIC_RELAXED), from = late_ns;

	/* of lanes that share the LUN, one that moves it on */
	if (!__atomic_compare_exchange_n(
		    &lun->late_ns, &late_ns, t, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	if (!from)
		from = __atomic_load_n(&lun->last_ns, __ATOMIC_RELAXED);
	if (from < open)
		from = open;
	if (from < t)
		excuse(lun, &from, &t);
	if (from < t && t - from >= b->stall_ns) {
		lun->n_late_stalls++;
		tell_stall(lun, from, t);
	}
}

void lb_pulse_move(struct lb_lun_state *lun, uint64_t last_ns, uint64_t t)
{
	if (__atomic_compare_exchange_n(
		    &lun->last_ns, &last_ns, t, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
		t - last_ns > __atomic_load_n(&lun->look_ns, __ATOMIC_RELAXED))
		lb_pulse_gap(lun, last_ns, t);
}

/* Lanes that share the LUN may count an error or two of a new burst to the one before. */
void lb_pulse_error(struct lb_lun_state *lun, uint64_t t)
{
	uint64_t to = atomic_load_explicit(&lun->burst_to_ns, memory_order_relaxed);

	if (!to || (to < t && t - to >= LB_LULL_NS)) {
		atomic_store_explicit(&lun->burst_n, 0, memory_order_relaxed);
		atomic_store_explicit(&lun->burst_to_ns, t, memory_order_relaxed);
		atomic_store_explicit(&lun->burst_from_ns, t, memory_order_release);
	} else if (to < t) {
		atomic_store_explicit(&lun->burst_to_ns, t, memory_order_relaxed);
	}
	atomic_fetch_add_explicit(&lun->burst_n, 1, memory_order_release);
}

void lb_pulse_begin(struct lb_lun_state *lun, uint64_t t)
{
	if (!atomic_load_explicit(&lun->n_busy, memory_order_relaxed))
		__atomic_store_n(&lun->last_ns, t, __ATOMIC_RELAXED);
	atomic_fetch_add_explicit(&lun->n_busy, 1, memory_order_release);
}

void lb_pulse_rest(struct lb_lun_state *lun)
{
	atomic_fetch_sub_explicit(&lun->n_busy, 1, memory_order_relaxed);
}

/* LAST_NS, or when its worker was let go again; LB_NEVER: it is held. */
static uint64_t or_let_go(const struct lb_lun_state *lun, uint64_t last_ns)
{
	uint64_t held_from = atomic_load_explicit(&lun->held_from_ns, memory_order_acquire);
	uint64_t held_to = atomic_load_explicit(&lun->held_to_ns, memory_order_relaxed);

	if (!held_from || held_from < last_ns)
		return last_ns;
	return held_to ? held_to : LB_NEVER;
}

uint64_t lb_pulse_silent_since(const struct lb_lun_state *lun)
{
	uint64_t last_ns, late_ns;

	if (!atomic_load_explicit(&lun->n_busy, memory_order_acquire) ||
		atomic_load_explicit(&lun->retired_ns, memory_order_relaxed))
		return LB_NEVER;
	last_ns = __atomic_load_n(&lun->last_ns, __ATOMIC_RELAXED);
	late_ns = __atomic_load_n(&lun->late_ns, __ATOMIC_RELAXED);
	return or_let_go(lun, last_ns > late_ns ? last_ns : late_ns);
}

void lb_pulse_held(struct lb_lun_state *lun, uint64_t from_ns)
{
	atomic_store_explicit(&lun->held_to_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&lun->held_from_ns, from_ns, memory_order_release);
}

void lb_pulse_let_go(struct lb_lun_state *lun, uint64_t to_ns)
{
	atomic_store_explicit(&lun->held_to_ns, to_ns, memory_order_release);
}

bool lb_pulse_last_gap(const struct lb_lun_state *lun, uint64_t open_ns, uint64_t close_ns,
	uint64_t *from_ns, uint64_t *to_ns)
{
	*from_ns = __atomic_load_n(&lun->last_ns, __ATOMIC_RELAXED);
	*to_ns = close_ns;
	if (!atomic_load_explicit(&lun->n_busy, memory_order_acquire) ||
		atomic_load_explicit(&lun->retired_ns, memory_order_relaxed) ||
		*from_ns >= close_ns)
		return false;
	if (*from_ns < open_ns)
		*from_ns = open_ns;
	excuse(lun, from_ns, to_ns);
	return true;
}

uint64_t lb_pulse_take_gap(struct lb_lun_state *lun, uint64_t *end_ns)
{
	uint64_t gap_ns = __atomic_exchange_n(&lun->gap_ns, 0, __ATOMIC_RELAXED);

	*end_ns = __atomic_load_n(&lun->gap_end_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&lun->look_ns, 0, __ATOMIC_RELEASE);
	return gap_ns;
}
