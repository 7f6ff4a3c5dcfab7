/*
 * A permutation of the numbers below n, for any n, that takes no memory: a Feistel network over the
 * next power of two, stepped through until it falls below n (Black and Rogaway, "Ciphers with
 * Arbitrary Finite Domains", 2002: cycle walking, at most two steps on average). It scatters, it
 * hides nothing.
 */
#ifndef LB_PERM_H
#define LB_PERM_H

#include <stdint.h>

#include "rng.h"

#define LB_PERM_ROUNDS 6

struct lb_perm {
	uint64_t n;
	uint64_t high_mask, low_mask; /* of the two parts of a number */
	uint32_t low_bits;
	uint64_t key[LB_PERM_ROUNDS];
};

/* N > 0. SEED and STREAM choose the permutation, as they choose a starting point of lb_rng. */
static inline void lb_perm_init(struct lb_perm *p, uint64_t n, uint64_t seed, uint64_t stream)
{
	uint32_t bits = n > 1 ? 64 - (uint32_t)__builtin_clzll(n - 1) : 0;
	struct lb_rng rng;

	p->n = n;
	p->low_bits = (bits + 1) / 2;
	p->low_mask = (1ull << p->low_bits) - 1;
	p->high_mask = (1ull << (bits - p->low_bits)) - 1;
	lb_rng_seed(&rng, seed, stream);
	for (int i = 0; i < LB_PERM_ROUNDS; i++)
		p->key[i] = lb_rng_next(&rng);
}

/* The upper half of the product depends on all bits of V and KEY. */
static inline uint64_t lb_perm_round(uint64_t v, uint64_t key)
{
	uint64_t z = (v + key) * 0xbf58476d1ce4e5b9ull;

	return (z ^ z >> 32) * 0x94d049bb133111ebull >> 32;
}

/* Where I < n goes. */
static inline uint64_t lb_perm_at(const struct lb_perm *p, uint64_t i)
{
	do {
		uint64_t low = i & p->low_mask, high = i >> p->low_bits;

		for (int k = 0; k < LB_PERM_ROUNDS; k += 2) {
			high ^= lb_perm_round(low, p->key[k]) & p->high_mask;
			low ^= lb_perm_round(high, p->key[k + 1]) & p->low_mask;
		}
		i = high << p->low_bits | low;
	} while (i >= p->n);
	return i;
}

#endif
