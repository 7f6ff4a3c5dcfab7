/* What a lane does next: offsets, decks and cursors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "clock.h"
#include "workload.h"

/* A lane of N_BLOCKS blocks of 4 KiB from 1 MiB on, without a board. */
static struct lb_lane lane_of(uint64_t n_blocks, uint64_t seed)
{
	struct lb_lane lane = {.n_blocks = n_blocks,
		.block_bytes = 4096,
		.start_bytes = 1 << 20,
		.is_plain = true};

	lb_rng_seed(&lane.rng, seed, 0);
	return lane;
}

static uint64_t next(struct lb_lane *lane)
{
	struct lb_io io = {0};

	lb_lane_next(lane, &io);
	assert_int_equal((io.offset_bytes - lane->start_bytes) % lane->block_bytes, 0);
	return (io.offset_bytes - lane->start_bytes) / lane->block_bytes;
}

/* Chi-square over ten parts of a 20 TB LUN: 27.9 is passed by chance once in a thousand seeds. */
static void random_offsets_are_even(void **state)
{
	const uint64_t n_blocks = (20ull << 40) / 4096, n = 100000;
	struct lb_lane lane = lane_of(n_blocks, 1);
	uint64_t part[10] = {0};
	double chi = 0;

	(void)state;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t block = next(&lane);

		assert_true(block < n_blocks);
		part[block * 10 / n_blocks]++;
	}
	for (int i = 0; i < 10; i++)
		chi += ((double)part[i] - n / 10.0) * ((double)part[i] - n / 10.0) / (n / 10.0);
	assert_true(chi < 27.9);
}

static void every_block_is_reached(void **state)
{
	struct lb_lane lane = lane_of(37, 2);
	uint64_t seen = 0;

	(void)state;
	for (int i = 0; i < 1000; i++)
		seen |= 1ull << next(&lane);
	assert_int_equal(seen, (1ull << 37) - 1);
	lane = lane_of(1, 3);
	assert_int_equal(next(&lane), 0);
}

static void a_seed_repeats_and_lanes_differ(void **state)
{
	struct lb_lane a = lane_of(1ull << 40, 7), b = lane_of(1ull << 40, 7),
		       c = lane_of(1ull << 40, 7);
	int same = 0;

	(void)state;
	lb_rng_seed(&c.rng, 7, 1);
	for (int i = 0; i < 1000; i++) {
		uint64_t block = next(&a);

		assert_int_equal(next(&b), block);
		same += next(&c) == block;
	}
	assert_int_equal(same, 0);
}

/* LANE becomes one of KIND; its state is AIM. */
static void set_pattern(struct lb_lane *lane, struct lb_aim *aim, enum lb_pat_kind kind,
	struct lb_cursor *cursor, bool shares_cursor)
{
	struct lb_pattern_cfg c = {.pat = {.kind = kind},
		.n_blocks = lane->n_blocks,
		.block_bytes = lane->block_bytes,
		.cursors = cursor,
		.n_seq_streams = 1,
		.n_lanes = shares_cursor ? 2 : 1,
		.seed = 1};

	*aim = (struct lb_aim){.has_pattern = true};
	lb_pattern_init(&aim->pattern, &c);
	lane->is_plain = false;
	lane->aim = aim;
}

static void sequential_wraps(void **state)
{
	struct lb_lane lane = lane_of(3, 0);
	struct lb_cursor cursor = {0};
	struct lb_aim p;

	(void)state;
	set_pattern(&lane, &p, LB_SEQ, &cursor, false);
	for (int i = 0; i < 7; i++)
		assert_int_equal(next(&lane), i % 3);
}

static void lanes_share_one_cursor(void **state)
{
	struct lb_cursor cursor = {0};
	struct lb_lane a = lane_of(5, 0), b = a;
	struct lb_aim pa, pb;

	(void)state;
	set_pattern(&a, &pa, LB_SEQ, &cursor, true);
	set_pattern(&b, &pb, LB_SEQ, &cursor, true);
	for (int i = 0; i < 12; i += 2) {
		assert_int_equal(next(&a), i % 5);
		assert_int_equal(next(&b), (i + 1) % 5);
	}
}

/* Together every block once, then all of them again in the same order. */
static void lanes_share_one_permutation(void **state)
{
	enum { BLOCKS = 1000 };
	struct lb_cursor cursor = {0};
	struct lb_lane a = lane_of(BLOCKS, 0), b = lane_of(BLOCKS, 5);
	struct lb_aim pa, pb;
	uint64_t first[BLOCKS], n_seen = 0;
	bool seen[BLOCKS] = {false};

	(void)state;
	set_pattern(&a, &pa, LB_PERM, &cursor, true);
	set_pattern(&b, &pb, LB_PERM, &cursor, true);
	for (int i = 0; i < BLOCKS; i++) {
		first[i] = next(i % 3 ? &a : &b);
		n_seen += !seen[first[i]];
		seen[first[i]] = true;
	}
	assert_int_equal(n_seen, BLOCKS);
	for (int i = 0; i < BLOCKS; i++)
		assert_int_equal(next(i % 7 ? &a : &b), first[i]);
}

/* Each hundred has exactly the share, in another order each time. */
static void a_deck_keeps_the_share(void **state)
{
	static const uint8_t shares[] = {0, 1, 30, 70, 99, 100};
	uint8_t first[100], second[100];

	(void)state;
	for (size_t s = 0; s < sizeof(shares); s++) {
		struct lb_deck deck;

		lb_deck_init(&deck, (uint8_t[]){shares[s], (uint8_t)(100 - shares[s])}, 2, 1, s);
		for (int round = 0; round < 20; round++) {
			int reads = 0;

			memcpy(first, second, sizeof(first));
			for (int i = 0; i < 100; i++)
				reads += (second[i] = (uint8_t)lb_deck_deal(&deck)) == LB_READ;
			assert_int_equal(reads, shares[s]);
			if (round && shares[s] == 30)
				assert_memory_not_equal(first, second, sizeof(first));
		}
	}
}

/* Of several kinds too, exactly, and never far from it on the way. */
static void a_deck_of_many_kinds(void **state)
{
	static const uint8_t pcts[][LB_DECK_KINDS] = {
		{1, 1, 1, 1, 1, 1, 1, 93}, {34, 33, 33}, {50, 25, 13, 12}, {90, 10}, {100}};

	(void)state;
	for (size_t c = 0; c < sizeof(pcts) / sizeof(pcts[0]); c++) {
		for (uint64_t lane = 0; lane < 100; lane++) {
			struct lb_deck deck;
			int dealt[LB_DECK_KINDS] = {0};

			lb_deck_init(&deck, pcts[c], LB_DECK_KINDS, 1, lane);
			for (int i = 1; i <= 300; i++) {
				dealt[lb_deck_deal(&deck)]++;
				for (int k = 0; k < (int)LB_DECK_KINDS; k++)
					assert_true(abs(100 * dealt[k] - i * pcts[c][k]) < 600);
			}
			for (int k = 0; k < (int)LB_DECK_KINDS; k++)
				assert_int_equal(dealt[k], 3 * pcts[c][k]);
		}
	}
}

/* Sixty-four lanes that deal 37 cards each: their reads together are within half a point. */
static void parts_of_decks_keep_the_share_together(void **state)
{
	(void)state;
	for (uint8_t pct = 1; pct < 100; pct += 7) {
		int reads = 0;

		for (uint64_t lane = 0; lane < 64; lane++) {
			struct lb_deck deck;

			lb_deck_init(&deck, (uint8_t[]){pct, (uint8_t)(100 - pct)}, 2, 1, lane);
			for (int i = 0; i < 37; i++)
				reads += lb_deck_deal(&deck) == LB_READ;
		}
		assert_true(reads * 200 >= (2 * pct - 1) * 64 * 37);
		assert_true(reads * 200 <= (2 * pct + 1) * 64 * 37);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_offsets_are_even),
		cmocka_unit_test(every_block_is_reached),
		cmocka_unit_test(a_seed_repeats_and_lanes_differ),
		cmocka_unit_test(sequential_wraps),
		cmocka_unit_test(lanes_share_one_cursor),
		cmocka_unit_test(lanes_share_one_permutation),
		cmocka_unit_test(a_deck_keeps_the_share),
		cmocka_unit_test(a_deck_of_many_kinds),
		cmocka_unit_test(parts_of_decks_keep_the_share_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
