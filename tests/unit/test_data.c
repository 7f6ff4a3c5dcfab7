#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data.h"
#include "rng.h"

#define MIB 1048576ull

static struct lb_data *make(struct lb_data_cfg cfg)
{
	struct lb_data *d = NULL;
	struct lb_err err;

	if (!cfg.seed)
		cfg.seed = 7;
	if (!cfg.run)
		cfg.run = 8;
	assert_int_equal(lb_data_create(&d, &cfg, &err), 0);
	return d;
}

static uint64_t hash(const void *at, size_t len)
{
	const uint64_t *word = at;
	uint64_t h = 1;

	for (size_t i = 0; i < len / 8; i++)
		h = (h ^ word[i]) * 0x9e3779b97f4a7c15ull, h ^= h >> 32;
	return h;
}

/* Numbers seen: a table twice their count. */
struct seen {
	uint64_t *slot, mask, n_again;
};

static void note(struct seen *s, uint64_t h)
{
	uint64_t i = h & s->mask;

	while (s->slot[i] && s->slot[i] != h)
		i = (i + 1) & s->mask;
	s->n_again += s->slot[i] == h;
	s->slot[i] = h;
}

static void no_block_comes_twice(void **state)
{
	static const uint64_t sizes[] = {512, 1536, 4096, 6144, 8192, 65536, MIB};

	(void)state;
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		uint64_t size = sizes[k], part = size < 4096 ? size : 4096;
		uint64_t n = 384 * MIB / size > 400000 ? 400000 : 384 * MIB / size;
		struct lb_data *d = make((struct lb_data_cfg){
			.size_bytes = size, .n_blocks = 1000003, .n_slots = 3});
		struct seen seen = {.mask = (1u << 20) - 1};
		struct lb_rng rng;
		uint16_t slab;

		seen.slot = calloc(seen.mask + 1, sizeof(uint64_t));
		lb_rng_seed(&rng, k, 1);
		for (uint64_t i = 0; i < n; i++) {
			char *at = lb_data_next(d, i % 3, lb_rng_below(&rng, 1000003), &slab);

			for (uint64_t o = 0; o + part <= size; o += part)
				note(&seen, hash(at + o, part));
			if (size > 4096 && size % 4096)
				note(&seen, hash(at + size - 4096, 4096));
		}
		assert_int_equal(seen.n_again, 0);
		free(seen.slot);
		lb_data_done(d);
	}
}

/* Completions out of order, so few blocks that homes are often in use. */
static void what_is_in_flight_stays(void **state)
{
	static const struct {
		uint64_t size, n_blocks;
		uint32_t n_slots, compress, dedupe;
	} cases[] = {{8192, 70, 64, 0, 0}, {8192, 1, 64, 0, 0}, {512, 100, 64, 0, 0},
		{MIB, 40, 32, 0, 0}, {4096, 1000, 64, 50, 50}, {6144, 5, 16, 20, 30}};

	(void)state;
	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		uint32_t n_slots = cases[k].n_slots;
		uint64_t size = cases[k].size;
		struct lb_data *d = make((struct lb_data_cfg){.size_bytes = size,
			.n_blocks = lb_data_share(cases[k].n_blocks),
			.n_slots = n_slots,
			.compress_pct = cases[k].compress,
			.dedupe_pct = cases[k].dedupe});
		char *copies = malloc(n_slots * size), **at = calloc(n_slots, sizeof(*at));
		struct lb_rng rng;

		lb_rng_seed(&rng, k, 2);
		for (uint32_t i = 0; i < 3000; i++) {
			uint32_t slot = (uint32_t)lb_rng_below(&rng, n_slots);
			uint16_t slab;

			if (at[slot])
				assert_memory_equal(at[slot], copies + slot * size, size);
			at[slot] =
				lb_data_next(d, slot, lb_rng_below(&rng, cases[k].n_blocks), &slab);
			memcpy(copies + slot * size, at[slot], size);
			for (uint32_t o = 0; o < n_slots; o++)
				assert_true(o == slot || at[o] != at[slot]);
			assert_true(at[slot] >= (char *)d->slabs[slab].iov_base);
			assert_true(at[slot] + size <=
				    (char *)d->slabs[slab].iov_base + d->slabs[slab].iov_len);
			assert_int_equal((uintptr_t)at[slot] % (size % 4096 ? 512 : 4096), 0);
		}
		free(copies);
		free(at);
		lb_data_done(d);
	}
}

static void ours_is_known_again(void **state)
{
	static const uint64_t sizes[] = {512, 6144, 8192, 65536};
	uint64_t sector[64];
	struct lb_rng rng;
	uint16_t slab;

	(void)state;
	for (size_t k = 0; k < 4; k++) {
		struct lb_data *d = make(
			(struct lb_data_cfg){.size_bytes = sizes[k], .n_blocks = 64, .n_slots = 4});

		for (uint32_t i = 0; i < 500; i++) {
			char *at = lb_data_next(d, i % 4, i * 7 % 64, &slab);

			for (uint64_t o = 0; o < sizes[k]; o += 512)
				assert_true(lb_data_is_ours(at + o));
			memcpy(sector, at, 512);
			((char *)sector)[i % 16] ^= 1; /* partly overwritten */
			assert_false(lb_data_is_ours(sector));
		}
		lb_data_done(d);
	}
	for (int c = 0; c < 256; c++) {
		memset(sector, c, 512);
		assert_false(lb_data_is_ours(sector));
	}
	lb_rng_seed(&rng, 1, 3);
	for (int i = 0; i < 100000; i++) {
		sector[0] = lb_rng_next(&rng);
		sector[1] = lb_rng_next(&rng);
		assert_false(lb_data_is_ours(sector));
		sector[0] = (uint64_t)i;
		sector[1] = (uint64_t)i * (uint64_t)i;
		assert_false(lb_data_is_ours(sector));
	}
}

static void seed_and_run_decide_over_it(void **state)
{
	struct lb_data_cfg cfg = {.size_bytes = 8192, .n_blocks = 100, .n_slots = 8};
	struct lb_data *a = make(cfg), *b = make(cfg), *c, *e;
	uint16_t slab;

	(void)state;
	cfg.run = 9;
	c = make(cfg);
	cfg.run = 8;
	cfg.seed = 9;
	e = make(cfg);
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t slot = i % 8, block = i * 37 % 100;
		uint64_t *at = lb_data_next(a, slot, block, &slab);
		uint64_t *other_run = lb_data_next(c, slot, block, &slab);
		uint64_t *other_seed = lb_data_next(e, slot, block, &slab);

		assert_memory_equal(at, lb_data_next(b, slot, block, &slab), 8192);
		for (uint32_t o = 0; o < 1024; o++) {
			assert_true(at[o] != other_run[o]);
			assert_true(at[o] != other_seed[o]);
		}
	}
	lb_data_done(a);
	lb_data_done(b);
	lb_data_done(c);
	lb_data_done(e);
}

/* A LUN's blocks repeat at one distance, beyond zstd's window; a small LUN's never. */
static void blocks_have_a_place(void **state)
{
	struct lb_data *d = make(
		(struct lb_data_cfg){.size_bytes = 8192, .n_blocks = 1ull << 40, .n_slots = 64});
	struct lb_rng rng;

	(void)state;
	assert_true(d->n_home * 8192ull > 159 * MIB);
	assert_int_equal(d->n_home % 2, 1);
	lb_rng_seed(&rng, 1, 4);
	for (int i = 0; i < 100000; i++) {
		uint64_t block = lb_rng_next(&rng) >> i % 64;

		assert_int_equal(lb_data_home(d, block), block % d->n_home);
	}
	assert_int_equal(lb_data_home(d, UINT64_MAX), UINT64_MAX % d->n_home);
	assert_int_equal(lb_data_home(d, d->n_home), 0);
	lb_data_done(d);
	d = make((struct lb_data_cfg){.size_bytes = 8192, .n_blocks = 1024, .n_slots = 64});
	assert_int_equal(d->n_home, 1024);
	assert_int_equal(d->n_spare, 256);
	lb_data_done(d);
	/* so much in flight that no more than that is taken */
	assert_true(lb_data_bytes(&(struct lb_data_cfg){
			    .size_bytes = MIB, .n_blocks = 1 << 30, .n_slots = 4096}) < 5125 * MIB);
}

static void slabs_are_the_whole_pool(void **state)
{
	static const uint64_t sizes[] = {512, 1536, 8192, MIB, 3 * MIB};

	(void)state;
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		struct lb_data_cfg cfg = {.size_bytes = sizes[k], .n_blocks = 333, .n_slots = 5};
		struct lb_data *d = make(cfg);
		uint64_t bytes = 0;

		for (uint32_t i = 0; i < d->n_slabs; i++)
			bytes += d->slabs[i].iov_len;
		assert_int_equal(bytes, lb_data_pool_bytes(&cfg));
		assert_int_equal(bytes % (2 * MIB), 0);
		lb_data_done(d);
	}
}

static void copies_are_dealt_by_place(void **state)
{
	static const uint64_t sizes[] = {512, 4096, 6144, 65536};

	(void)state;
	for (size_t k = 0; k < 4; k++) {
		uint64_t size = sizes[k], n = lb_data_share(4800 * 4096 / size), n_copies = 0;
		struct lb_data *d = make((struct lb_data_cfg){
			.size_bytes = size, .n_blocks = n, .n_slots = 1, .dedupe_pct = 25});
		char *lun = malloc(n * size);
		struct seen seen = {.mask = (1u << 14) - 1};
		uint16_t slab;

		for (uint64_t b = 0; b < n; b++)
			memcpy(lun + b * size, lb_data_next(d, 0, b, &slab), size);
		seen.slot = calloc(seen.mask + 1, sizeof(uint64_t));
		for (uint64_t i = 0; i < 4800; i++)
			note(&seen, hash(lun + i * 4096, 4096));
		n_copies = seen.n_again;
		assert_in_range(n_copies, 1200 - LB_DATA_COPIES, 1200);
		free(seen.slot);
		free(lun);
		lb_data_done(d);
	}
}

static void zeros_are_what_compresses(void **state)
{
	struct lb_data *d = make((struct lb_data_cfg){
		.size_bytes = 8192, .n_blocks = 100, .n_slots = 1, .compress_pct = 50});
	static const char zeros[2048];
	uint16_t slab;

	(void)state;
	for (uint32_t b = 0; b < 300; b++) {
		char *at = lb_data_next(d, 0, b, &slab);

		for (int i = 0; i < 8192; i += 4096)
			assert_memory_equal(at + i + 2048 + 64, zeros, 2048 - 64);
		for (int i = 0; i < 16; i++)
			assert_true(lb_data_is_ours(at + i * 512) ||
				    memcmp(at + i * 512, zeros, 512) == 0);
	}
	lb_data_done(d);
}

static void no_memory_is_said(void **state)
{
	struct lb_data_cfg cfg = {
		.size_bytes = 64 * MIB, .n_blocks = 1ull << 40, .n_slots = 1u << 22};
	struct lb_data *d = NULL;
	struct lb_err err;

	(void)state;
	assert_int_equal(lb_data_create(&d, &cfg, &err), -ENOMEM);
	assert_null(d);
	assert_int_equal(err.status, LB_ST_UNAVAILABLE);
	assert_string_equal(err.text, "out of memory: the data to be written takes 335544453 MiB");
	lb_data_done(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_block_comes_twice),
		cmocka_unit_test(what_is_in_flight_stays),
		cmocka_unit_test(ours_is_known_again),
		cmocka_unit_test(seed_and_run_decide_over_it),
		cmocka_unit_test(blocks_have_a_place),
		cmocka_unit_test(slabs_are_the_whole_pool),
		cmocka_unit_test(copies_are_dealt_by_place),
		cmocka_unit_test(zeros_are_what_compresses),
		cmocka_unit_test(no_memory_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
