/*
 * Random numbers: a multiplicative congruential generator modulo 2^128 of which the upper half is
 * given out, period 2^126. The multiplier is L'Ecuyer's ("Tables of Linear Congruential Generators
 * of Different Sizes and Good Lattice Structure", 1999). Seeded by SplitMix64 (Steele, Lea and
 * Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
 */
#ifndef LB_RNG_H
#define LB_RNG_H

#include <stdint.h>

struct lb_rng {
	uint64_t lo, hi; /* the state; always odd */
};

static inline uint64_t lb_splitmix64(uint64_t *x)
{
	uint64_t z = (*x += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* SEED and STREAM together name a starting point; equal pairs repeat exactly. */
static inline void lb_rng_seed(struct lb_rng *r, uint64_t seed, uint64_t stream)
{
	uint64_t a = seed, b = lb_splitmix64(&a) ^ stream;

	r->hi = lb_splitmix64(&b);
	r->lo = lb_splitmix64(&b) | 1;
}

static inline uint64_t lb_rng_next(struct lb_rng *r)
{
	unsigned __int128 s = (unsigned __int128)r->hi << 64 | r->lo;

	s *= 0xda942042e4dd58b5ull;
	r->lo = (uint64_t)s;
	return r->hi = (uint64_t)(s >> 64);
}

/*
 * Uniform in [0, n), without bias, n > 0: Lemire, "Fast Random Integer Generation in an
 * Interval", 2019. The division is reached with probability n / 2^64.
 */
static inline uint64_t lb_rng_below(struct lb_rng *r, uint64_t n)
{
	unsigned __int128 m = (unsigned __int128)lb_rng_next(r) * n;

	if (__builtin_expect((uint64_t)m < n, 0)) {
		uint64_t floor = -n % n;

		while ((uint64_t)m < floor)
			m = (unsigned __int128)lb_rng_next(r) * n;
	}
	return (uint64_t)(m >> 64);
}

#endif
