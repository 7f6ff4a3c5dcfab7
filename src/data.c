#include "data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "rng.h"

#define MIB        (1ull << 20)
#define HOME_MIN   (160 * MIB) /* more than 128 MiB, zstd's window, with some to spare */
#define HOME_MAX   (512 * MIB)
#define HUGE_PAGE  (2 * MIB)
#define SLAB_MAX   (1024 * MIB)
#define SLOT_SHIFT 40 /* numbers of stamps that a slot has for itself */
#define RING_TRIES 64
#define LARGE      (64u << 10) /* writes from this size on */

/* How the pool is cut up. */
struct shape {
	uint64_t n_home, n_spare; /* pieces */
	uint32_t step;
};

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/*
 * At qd in flight of n homes, one write in n / qd finds its piece in use. Sixteen times what is in
 * flight keeps that rare, where memory allows; four times that many spare pieces pass before one
 * is used again. In any case there are more pieces than slots.
 */
static struct shape shape_of(const struct lb_data_cfg *cfg)
{
	uint64_t flight = cfg->n_slots * cfg->size_bytes, bytes = flight * 16, least;
	struct shape s = {.step = cfg->size_bytes % LB_DATA_BLOCK ? 8 : 1};

	bytes = bytes < HOME_MIN ? HOME_MIN : bytes > HOME_MAX ? HOME_MAX : bytes;
	s.n_home = bytes / cfg->size_bytes;
	if (s.n_home > cfg->n_blocks)
		s.n_home = cfg->n_blocks;
	else
		s.n_home |= s.step; /* LUNs of round sizes shall not all begin at one piece */
	s.n_home = round_up(s.n_home, s.step);
	least = cfg->n_slots + cfg->n_slots / 4 + 1;
	s.n_spare = s.n_home / 4 < 4ull * cfg->n_slots ? s.n_home / 4 : 4ull * cfg->n_slots;
	if (s.n_home + s.n_spare < least)
		s.n_spare = least - s.n_home;
	s.n_spare = round_up(s.n_spare ? s.n_spare : 1, s.step);
	return s;
}

uint64_t lb_data_pool_bytes(const struct lb_data_cfg *cfg)
{
	struct shape s = shape_of(cfg);

	return round_up((s.n_home + s.n_spare) * cfg->size_bytes, HUGE_PAGE);
}

uint64_t lb_data_bytes(const struct lb_data_cfg *cfg)
{
	struct shape s = shape_of(cfg);

	return lb_data_pool_bytes(cfg) + s.n_home + s.n_spare +
	       cfg->n_slots * sizeof(struct lb_data_slot);
}

/* ---- what the pool holds */

/* Random bytes, each sector with a stamp of its own. LEN is a multiple of 512. */
static void make_random(struct lb_rng *rng, char *at, uint64_t len)
{
	struct lb_rng r = *rng; /* in registers */

	for (uint64_t done = 0; done < len; done += LB_DATA_SECTOR) {
		uint64_t *word = (uint64_t *)(void *)(at + done);

		word[0] = lb_rng_next(&r);
		word[1] = lb_data_check(word[0]);
		for (uint32_t i = 2; i < LB_DATA_SECTOR / sizeof(*word); i++)
			word[i] = lb_rng_next(&r);
	}
	*rng = r;
}

static void make_zeros(char *at, uint64_t len, const struct lb_data_cfg *cfg)
{
	uint64_t unit = cfg->size_bytes & -cfg->size_bytes, keep;

	if (unit > LB_DATA_BLOCK)
		unit = LB_DATA_BLOCK;
	keep = unit * (100 - cfg->compress_pct) / 100;
	for (uint64_t done = 0; done < len; done += unit)
		memset(at + done + keep, 0, unit - keep);
}

static bool is_copy(uint64_t block, uint32_t pct)
{
	return block * pct % 100 < pct;
}

/* Puts copies where copies belong. */
static int make_copies(
	struct lb_data *d, const struct lb_data_cfg *cfg, struct lb_rng *rng, uint64_t len)
{
	uint64_t n = LB_DATA_COPIES * LB_DATA_BLOCK;
	char *copies = aligned_alloc(LB_DATA_BLOCK, n);

	if (!copies)
		return -ENOMEM;
	make_random(rng, copies, n);
	make_zeros(copies, n, cfg);
	for (uint64_t block = 0; block < len / LB_DATA_BLOCK; block++)
		if (is_copy(block, cfg->dedupe_pct))
			memcpy(d->pool + block * LB_DATA_BLOCK,
				copies + block % LB_DATA_COPIES * LB_DATA_BLOCK, LB_DATA_BLOCK);
	free(copies);
	return 0;
}

static int make_pool(struct lb_data *d, const struct lb_data_cfg *cfg, uint64_t len)
{
	struct lb_rng rng;

	lb_rng_seed(&rng, cfg->seed, cfg->run + cfg->pool * LB_DATA_STAMP_STEP);
	make_random(&rng, d->pool, len);
	if (cfg->compress_pct)
		make_zeros(d->pool, len, cfg);
	return cfg->dedupe_pct ? make_copies(d, cfg, &rng, len) : 0;
}

/* ---- making it */

static int map_pool(struct lb_data *d, uint64_t len)
{
	uintptr_t at;

	len = round_up(
		len, HUGE_PAGE); /* a tail of small pages would make io_uring see it all as such */
	d->map_bytes = len + HUGE_PAGE;
	d->map = mmap(
		NULL, d->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (d->map == MAP_FAILED) {
		d->map = NULL;
		return -ENOMEM;
	}
	at = round_up((uintptr_t)d->map, HUGE_PAGE);
	d->pool = (char *)at;
	madvise(d->pool, len, MADV_HUGEPAGE);
	return 0;
}

static int make_slabs(struct lb_data *d, uint64_t len)
{
	uint64_t slab;

	while (d->size_bytes << (d->slab_shift + 1) <= SLAB_MAX)
		d->slab_shift++;
	slab = d->size_bytes << d->slab_shift;
	d->n_slabs = (uint32_t)((len + slab - 1) / slab);
	d->slabs = calloc(d->n_slabs, sizeof(*d->slabs));
	if (!d->slabs)
		return -ENOMEM;
	for (uint64_t i = 0; i < d->n_slabs; i++) {
		/* to the end of the last huge page, which is locked as a whole */
		uint64_t left = round_up(len, HUGE_PAGE) - i * slab;

		d->slabs[i] = (struct iovec){
			.iov_base = d->pool + i * slab, .iov_len = left < slab ? left : slab};
	}
	return 0;
}

static int make_slots(struct lb_data *d, const struct lb_data_cfg *cfg)
{
	uint32_t n = d->n_home + d->n_spare;
	struct lb_rng rng;
	uint64_t first,
		before = (uint64_t)cfg->pool * cfg->n_slots; /* slots of the pools before it */

	lb_rng_seed(&rng, cfg->run, cfg->seed);
	first = lb_rng_next(&rng);
	d->slots = calloc(cfg->n_slots, sizeof(*d->slots));
	d->busy = calloc((size_t)n + 1, sizeof(*d->busy));
	d->turn = aligned_alloc(64, 64);
	if (!d->slots || !d->busy || !d->turn)
		return -ENOMEM;
	atomic_init(d->turn, 0);
	for (uint64_t i = 0; i < cfg->n_slots; i++)
		d->slots[i] = (struct lb_data_slot){
			.stamp = first + ((before + i) << SLOT_SHIFT) * LB_DATA_STAMP_STEP,
			.piece = n};
	return 0;
}

int lb_data_create(struct lb_data **out, const struct lb_data_cfg *cfg, struct lb_err *err)
{
	struct shape s = shape_of(cfg);
	uint64_t len = (s.n_home + s.n_spare) * cfg->size_bytes;
	struct lb_data *d = calloc(1, sizeof(*d));
	int ret = d ? map_pool(d, len) : -ENOMEM;

	if (!ret) {
		d->size_bytes = cfg->size_bytes;
		d->is_plain = cfg->size_bytes < LARGE && !cfg->dedupe_pct;
		d->n_home = (uint32_t)s.n_home;
		d->n_spare = (uint32_t)s.n_spare;
		d->step = s.step;
		d->inverse = UINT64_MAX / s.n_home;
		d->n_stamps = (uint32_t)((cfg->size_bytes + LB_DATA_BLOCK - 1) / LB_DATA_BLOCK);
		d->dedupe_pct = cfg->dedupe_pct;
		ret = make_slabs(d, len);
	}
	if (!ret)
		ret = make_slots(d, cfg);
	if (!ret)
		ret = make_pool(d, cfg, len);
	if (ret) {
		lb_data_done(d);
		return lb_fail(err, LB_ST_UNAVAILABLE, -ret,
			"out of memory: the data to be written takes %llu MiB",
			(unsigned long long)(lb_data_bytes(cfg) / MIB));
	}
	*out = d;
	return 0;
}

void lb_data_done(struct lb_data *d)
{
	if (!d)
		return;
	if (d->map)
		munmap(d->map, d->map_bytes);
	free(d->slabs);
	free(d->slots);
	free((void *)d->busy);
	free((void *)d->turn);
	free(d);
}

/* ---- what is rare while it is used */

/*
 * Spare pieces are taken in turn, those on which HOME's copies and zeros lie as they should. When
 * nearly all are in use, any piece is good; some are free, though perhaps not the one just looked
 * at.
 */
uint32_t lb_data_find(struct lb_data *d, uint32_t home)
{
	uint32_t n = d->n_home + d->n_spare, piece;

	for (int i = 0; i < RING_TRIES; i++) {
		uint64_t turn = atomic_fetch_add_explicit(d->turn, 1, memory_order_relaxed);

		piece = d->n_home + (uint32_t)((turn * d->step + home % d->step) % d->n_spare);
		if (lb_data_claim(d, piece))
			return piece;
	}
	for (piece = home;; piece = piece + 1 == n ? 0 : piece + 1)
		if (!atomic_load_explicit(&d->busy[piece], memory_order_relaxed) &&
			lb_data_claim(d, piece))
			return piece;
}

static void stamp_some(const struct lb_data *d, char *at, uint64_t stamp)
{
	uint64_t first = (uint64_t)(at - d->pool) / LB_DATA_BLOCK;

	for (uint64_t i = 0; i < d->n_stamps; i++, stamp += LB_DATA_STAMP_STEP) {
		uint64_t *word = (uint64_t *)(void *)(at + i * LB_DATA_BLOCK);

		if (is_copy(first + i, d->dedupe_pct))
			continue;
		word[0] = stamp;
		word[1] = lb_data_check(stamp);
	}
}

/* Whole lines past the caches, where the CPU can: it need not fetch them from who had them last. */
static void stamp_all(const struct lb_data *d, char *at, uint64_t stamp)
{
	for (uint32_t i = 0; i < d->n_stamps; i++, stamp += LB_DATA_STAMP_STEP) {
		char *line = at + (uint64_t)i * LB_DATA_BLOCK;
		uint64_t check = lb_data_check(stamp);

#ifdef __SSE2__
		__m128i *part = (__m128i *)(void *)line;

		_mm_stream_si128(part, _mm_set_epi64x((long long)check, (long long)stamp));
		for (uint32_t k = 1; k < 4;
			k++) { /* bytes of no meaning, as random as the pool's */
			uint64_t other = (check ^ k) * LB_DATA_STAMP_STEP;

			_mm_stream_si128(part + k, _mm_set_epi64x((long long)(other ^ other >> 29),
							   (long long)(other * other + check)));
		}
#else
		uint64_t *word = (uint64_t *)(void *)line;

		word[0] = stamp;
		word[1] = check;
#endif
	}
#ifdef __SSE2__
	_mm_sfence();
#endif
}

void lb_data_stamp(const struct lb_data *d, char *at, uint64_t stamp)
{
	if (d->dedupe_pct)
		stamp_some(d, at, stamp);
	else
		stamp_all(d, at, stamp);
}
