#include "hist.h"

#include <errno.h>

/* Bucket I holds (64 + sub) << shift and what follows it, up to the next bucket. */
uint64_t lb_hist_low_ns(uint32_t i)
{
	uint32_t shift = i / LB_HIST_SUB;

	if (shift == 0)
		return i;
	shift--;
	return (uint64_t)(LB_HIST_SUB + i % LB_HIST_SUB) << shift;
}

uint64_t lb_hist_high_ns(uint32_t i)
{
	return i < LB_HIST_OVER ? lb_hist_low_ns(i + 1) : UINT64_MAX;
}

void lb_hist_add(struct lb_hist *into, const struct lb_hist *h)
{
	for (uint32_t i = 0; i < LB_HIST_BUCKETS; i++)
		into->count[i] += h->count[i];
}

static uint64_t total_in(const struct lb_hist *h, uint32_t first, uint32_t last)
{
	uint64_t n = 0;

	for (uint32_t i = first; i <= last; i++)
		n += h->count[i];
	return n;
}

uint64_t lb_hist_total(const struct lb_hist *h)
{
	return total_in(h, 0, LB_HIST_OVER);
}

int lb_hist_percentile(
	const struct lb_hist *h, uint32_t ppm, uint64_t min_ns, uint64_t max_ns, uint64_t *ns)
{
	return lb_hist_percentile_in(h, 0, LB_HIST_OVER, ppm, min_ns, max_ns, ns);
}

int lb_hist_percentile_in(const struct lb_hist *h, uint32_t first, uint32_t last, uint32_t ppm,
	uint64_t min_ns, uint64_t max_ns, uint64_t *ns)
{
	const uint64_t whole = 1000000;
	uint64_t n = total_in(h, first, last), rank, seen = 0;
	uint32_t i;

	if (n == 0 || (unsigned __int128)n * (whole - ppm) < whole)
		return -ERANGE;
	rank = (uint64_t)(((unsigned __int128)n * ppm + whole - 1) / whole);
	if (rank == 0)
		rank = 1;
	for (i = first; i < LB_HIST_OVER; i++) {
		seen += h->count[i];
		if (seen >= rank)
			break;
	}
	if (i == LB_HIST_OVER) {
		*ns = lb_hist_low_ns(i);
		if (*ns < min_ns)
			*ns = min_ns;
		return 1;
	}
	*ns = lb_hist_high_ns(i) - 1;
	if (*ns > max_ns)
		*ns = max_ns;
	if (*ns < min_ns)
		*ns = min_ns;
	return 0;
}
