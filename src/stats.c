#include "stats.h"

#include <string.h>

/* The writer is another process: each field is read once, whole. */
#define READ(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

void lb_tally_init(struct lb_tally *t)
{
	memset(t, 0, sizeof(*t));
	t->min_ns = UINT64_MAX;
}

static void take_max(uint64_t *max, uint64_t v)
{
	if (v > *max)
		*max = v;
}

void lb_tally_add_cell(struct lb_tally *t, const struct lb_cell *cell, int with_hist)
{
	uint64_t xfers = READ(cell->xfers), min_ns = READ(cell->min_ns);
	struct lb_hist *hist = READ(cell->hist);

	if (xfers && min_ns < t->min_ns)
		t->min_ns = min_ns;
	if (xfers)
		take_max(&t->max_ns, READ(cell->max_ns));
	take_max(&t->late_max_ns, READ(cell->late_max_ns));
	t->xfers += xfers;
	t->bytes += xfers * cell->size_bytes;
	t->sum_ns += READ(cell->sum_ns);
	t->outside += READ(cell->outside);
	t->errors += READ(cell->errors);
	t->errors_other += READ(cell->errors_other);
	t->late += READ(cell->late);
	t->zero_samples += READ(cell->zero_samples);
	t->samples += READ(cell->samples);
	if (with_hist && hist)
		lb_hist_add(&t->hist, hist);
}

void lb_tally_add(struct lb_tally *into, const struct lb_tally *t)
{
	if (t->xfers && t->min_ns < into->min_ns)
		into->min_ns = t->min_ns;
	take_max(&into->max_ns, t->max_ns);
	take_max(&into->late_max_ns, t->late_max_ns);
	into->xfers += t->xfers;
	into->bytes += t->bytes;
	into->sum_ns += t->sum_ns;
	into->outside += t->outside;
	into->errors += t->errors;
	into->errors_other += t->errors_other;
	into->late += t->late;
	into->zero_samples += t->zero_samples;
	into->samples += t->samples;
	lb_faults_add(&into->faults, &t->faults, LB_FAULT_OPS);
	lb_hist_add(&into->hist, &t->hist);
}
