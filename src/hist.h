/*
 * Latency histogram: log-linear, 64 buckets for each power of two (relative width at most 1/64),
 * exact below 64 ns, up to 2^41 ns (36 min 39 s); above that one bucket says "longer". The edges
 * are fixed, so histograms of LUNs, runs and hosts add up bucket by bucket.
 */
#ifndef LB_HIST_H
#define LB_HIST_H

#include <stdint.h>

#define LB_HIST_SUB_BITS 6
#define LB_HIST_TOP_BITS 41
#define LB_HIST_SUB      (1u << LB_HIST_SUB_BITS)
#define LB_HIST_OVER     ((LB_HIST_TOP_BITS - LB_HIST_SUB_BITS + 1) * LB_HIST_SUB) /* "longer" */
#define LB_HIST_BUCKETS  (LB_HIST_OVER + 1)

struct lb_hist {
	uint64_t count[LB_HIST_BUCKETS];
};

static inline uint32_t lb_hist_bucket(uint64_t ns)
{
	/* below 64 the shift is 0 and the bucket is the value */
	uint32_t shift = (uint32_t)(63 ^ __builtin_clzll(ns | LB_HIST_SUB)) - LB_HIST_SUB_BITS;
	uint32_t i = shift * LB_HIST_SUB + (uint32_t)(ns >> shift);

	return __builtin_expect(i < LB_HIST_OVER, 1) ? i : LB_HIST_OVER;
}

/* First value of bucket I in ns; of LB_HIST_OVER: the end of the range. */
uint64_t lb_hist_low_ns(uint32_t i);

/* First value past bucket I in ns; UINT64_MAX for LB_HIST_OVER. */
uint64_t lb_hist_high_ns(uint32_t i);

void lb_hist_add(struct lb_hist *into, const struct lb_hist *h);
uint64_t lb_hist_total(const struct lb_hist *h);

/*
 * The PPM-th part-per-million percentile (990000: p99) in ns, by rank ceil(p n) in integers: the
 * largest value of its bucket, clamped to [min_ns, max_ns]. Returns 0 when it was determined, 1
 * when the rank falls in the bucket past the range (then *ns is where that begins, or min_ns if
 * that is more, and the truth is at or above it), and -ERANGE when n < 1 / (1 - p): too few samples
 * to speak of it.
 */
int lb_hist_percentile(
	const struct lb_hist *h, uint32_t ppm, uint64_t min_ns, uint64_t max_ns, uint64_t *ns);

/* The same of an H that has nothing outside the buckets FIRST to LAST. */
int lb_hist_percentile_in(const struct lb_hist *h, uint32_t first, uint32_t last, uint32_t ppm,
	uint64_t min_ns, uint64_t max_ns, uint64_t *ns);

#endif
