/*
 * Random numbers: xoroshiro128++ 1.0 (Blackman and Vigna, "Scrambled Linear Pseudorandom Number
 * Generators", 2019), period 2^128 - 1, seeded by SplitMix64 as its authors advise.
 */
#ifndef LB_RNG_H
#define LB_RNG_H

#include <stdint.h>

struct lb_rng {
	uint64_t s0, s1;
};

static inline uint64_t lb_splitmix64(uint64_t *x)
{
	uint64_t z = (*x += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* SEED and STREAM together name one of 2^128 starting points; equal pairs repeat exactly. */
static inline void lb_rng_seed(struct lb_rng *r, uint64_t seed, uint64_t stream)
{
	uint64_t a = seed, b = lb_splitmix64(&a) ^ stream;

	r->s0 = lb_splitmix64(&b);
	r->s1 = lb_splitmix64(&b);
	if (!r->s0 && !r->s1) /* the one state that never moves */
		r->s1 = 1;
}

static inline uint64_t lb_rotl64(uint64_t x, unsigned k)
{
	return (x << k) | (x >> (64 - k));
}

static inline uint64_t lb_rng_next(struct lb_rng *r)
{
	uint64_t s0 = r->s0, s1 = r->s1;
	uint64_t out = lb_rotl64(s0 + s1, 17) + s0;

	s1 ^= s0;
	r->s0 = lb_rotl64(s0, 49) ^ s1 ^ (s1 << 21);
	r->s1 = lb_rotl64(s1, 28);
	return out;
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
