/*
 * What is written: data that neither compresses nor repeats (unless asked to), and that lunbench
 * knows again.
 *
 * A pool of random bytes is made once, for all workers of a stream; a write takes its data from it
 * by pointer. So a transfer costs no copy, only a stamp of 16 bytes in each 4 KiB. The pool is cut
 * into pieces of one write each, and a LUN's blocks lie on it in a circle: what stands on the LUN
 * repeats, stamps aside, at one distance only, the pool's length, in whatever order it was written.
 * That is longer than zstd's largest default window (level 22, --long=27: 128 MiB) can see; a pool
 * taken from in the order of the writes would repeat at any distance. A piece is in use from
 * lb_data_next() to the slot's next one, so nothing in flight changes: a write that finds its piece
 * in use takes one of a ring of spare pieces.
 *
 * The stamp is a number that no other block of any run has, and a hash of it; each sector of the
 * pool begins with such a pair from the start. So every 512 bytes written are recognisable (or
 * zeros, with compress_pct), and every 4 KiB are unique, at any alignment inside a write.
 *
 * compress_pct: of each unit (the largest power of two that divides the size of a write, at most
 * 4 KiB) the first part is random and the rest zeros, so that zstd and gzip over 64 KiB save that
 * much.
 *
 * dedupe_pct: so many of every 100 blocks of 4 KiB, evenly spread, counted from the region's
 * start, are copies of one of LB_DATA_COPIES blocks of this run. Which block is which is a matter
 * of its place, so that writes smaller than 4 KiB make whole copies too; a copy's neighbours within
 * 64 KiB are other ones, so that compression does not see them.
 */
#ifndef LB_DATA_H
#define LB_DATA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "err.h"

#define LB_DATA_BLOCK        4096u
#define LB_DATA_SECTOR       512u
#define LB_DATA_COPIES       32u /* 128 KiB */
#define LB_DATA_COMPRESS_MAX 95u /* a stamp of 16 bytes in 512 does not compress */

struct lb_data_cfg {
	uint64_t seed, run;    /* both decide over every byte; RUN is another for each run */
	uint32_t pool;         /* which of a run's pools, of one size each: they share nothing */
	uint64_t size_bytes;   /* of one write: a multiple of 512 */
	uint64_t n_blocks;     /* of that size, of all LUNs: the sum of their lb_data_share() */
	uint32_t n_slots;      /* writes in flight at most, of all workers */
	uint32_t compress_pct; /* at most LB_DATA_COMPRESS_MAX */
	uint32_t dedupe_pct;   /* at most 100 */
};

struct lb_data_slot {
	uint64_t stamp; /* of its next block */
	uint32_t piece; /* in use by it */
	uint32_t pad;
};
_Static_assert(sizeof(struct lb_data_slot) == 16, "four to a cache line");

/* Const once made, but for what slots, busy and turn point to. */
struct lb_data {
	char *pool;
	uint64_t size_bytes, inverse; /* 2^64 / n_home */
	struct lb_data_slot *slots;
	_Atomic uint8_t *busy; /* of each piece, and of one more, which is that of idle slots */
	uint32_t n_home;       /* pieces that blocks have by their place */
	uint32_t n_stamps;     /* of one write */
	bool is_plain;         /* small writes, no copies */
	uint8_t slab_shift;    /* so many pieces, by its power of two, make a slab */

	uint32_t dedupe_pct;
	uint32_t n_spare; /* pieces after the homes, for blocks that find theirs in use */
	uint32_t step;    /* pieces from one that begins at 4 KiB to the next such */
	_Atomic uint32_t *turn;
	struct iovec
		*slabs; /* the pool in parts of at most 1 GiB, to be registered with an engine */
	uint32_t n_slabs;
	void *map;
	uint64_t map_bytes;
};

/* What LUNs take of the numbering of blocks: the first begins at 0, the next after this much. */
static inline uint64_t lb_data_share(uint64_t n_blocks)
{
	return (n_blocks + 7) & ~7ull;
}

/* Memory that lb_data_create() will take, in bytes, nearly all of it in one piece: the pool. CFG:
 * its size_bytes, n_blocks and n_slots. */
uint64_t lb_data_bytes(const struct lb_data_cfg *cfg);
uint64_t lb_data_pool_bytes(const struct lb_data_cfg *cfg);

/*
 * Makes the pool, in memory of huge pages where the host has them: some 0.1 s. Returns 0, or
 * -ENOMEM with ERR.
 */
int lb_data_create(struct lb_data **d, const struct lb_data_cfg *cfg, struct lb_err *err);
void lb_data_done(struct lb_data *d);

/* A piece in place of HOME, which is in use: claimed. */
uint32_t lb_data_find(struct lb_data *d, uint32_t home);

/* Stamps the piece at AT where lb_data_next() does not: large ones, and ones with copies. */
void lb_data_stamp(const struct lb_data *d, char *at, uint64_t stamp);

#define LB_DATA_STAMP_STEP 0x9e3779b97f4a7c15ull /* odd: no stamp comes twice in 2^64 */

/* The second word of a stamp, by its first. No word makes both 0. */
static inline uint64_t lb_data_check(uint64_t stamp)
{
	uint64_t z = (stamp ^ 0x6c756e62656e6368ull) * 0xd1342543de82ef95ull;

	return z ^ z >> 32;
}

/* Whether SECTOR, 512 bytes aligned to 8, is the beginning of data that lunbench has written. */
static inline bool lb_data_is_ours(const void *sector)
{
	const uint64_t *word = sector;

	return word[1] == lb_data_check(word[0]);
}

static inline bool lb_data_claim(struct lb_data *d, uint32_t piece)
{
	return !atomic_exchange_explicit(&d->busy[piece], 1, memory_order_acquire);
}

/* BLOCK modulo n_home: the quotient is at most one too small. */
static inline uint32_t lb_data_home(const struct lb_data *d, uint64_t block)
{
	uint64_t q = (uint64_t)(((unsigned __int128)block * d->inverse) >> 64);
	uint64_t r = block - q * d->n_home;

	return (uint32_t)(r < d->n_home ? r : r - d->n_home);
}

/*
 * The data of the next write in SLOT, size_bytes at the address returned; SLAB becomes its index in
 * d->slabs. BLOCK is the block's number on its LUN, from the region's start, plus where the LUN's
 * numbers begin. To be called when the slot's last write has come back, and by one thread at a time
 * for each slot; different slots never wait for each other. Aligned to 4 KiB if the size is a
 * multiple of it, else to 512.
 */
static inline void *lb_data_next(struct lb_data *d, uint32_t slot, uint64_t block, uint16_t *slab)
{
	struct lb_data_slot *s = &d->slots[slot];
	uint32_t piece = lb_data_home(d, block), n = d->n_stamps;
	uint64_t stamp = s->stamp;
	char *at;

	atomic_store_explicit(&d->busy[s->piece], 0, memory_order_release);
	if (__builtin_expect(!lb_data_claim(d, piece), 0))
		piece = lb_data_find(d, piece);
	s->piece = piece;
	at = d->pool + piece * d->size_bytes;
	*slab = (uint16_t)(piece >> d->slab_shift);
	s->stamp = stamp + n * LB_DATA_STAMP_STEP;
	if (__builtin_expect(!d->is_plain, 0)) {
		lb_data_stamp(d, at, stamp);
		return at;
	}
	for (uint32_t i = 0; i < n; i++, stamp += LB_DATA_STAMP_STEP) {
		uint64_t *word = (uint64_t *)(void *)(at + (uint64_t)i * LB_DATA_BLOCK);

		word[0] = stamp;
		word[1] = lb_data_check(stamp);
	}
	return at;
}

#endif
