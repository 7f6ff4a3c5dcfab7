#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "region.h"

#define K   (1ull << 10)
#define MIB (1ull << 20)
#define TIB (1ull << 40)

static const struct lb_region whole = {.end = 1000000, .start_is_ppm = true, .end_is_ppm = true};

static struct lb_region bytes(uint64_t start, uint64_t end)
{
	return (struct lb_region){.start = start, .end = end};
}

static struct lb_region ppm(uint64_t start, uint64_t end)
{
	return (struct lb_region){
		.start = start, .end = end, .start_is_ppm = true, .end_is_ppm = true};
}

static struct lb_config cfg_of(struct lb_region region, uint64_t size, uint32_t n_streams)
{
	return (struct lb_config){.region = region,
		.size_bytes = size,
		.sizes = {1, {size}, {100}},
		.seq_streams = n_streams};
}

static void fits(uint64_t lun_bytes, uint32_t logical, struct lb_region r, uint64_t size,
	uint64_t start, uint64_t end)
{
	struct lb_lun lun = {.size_bytes = lun_bytes, .logical_block = logical};
	struct lb_config cfg = cfg_of(r, size, 1);
	struct lb_err err = {0};

	assert_int_equal(lb_region_fit(&lun, &cfg, &err), 0);
	assert_int_equal(lun.region_start, start);
	assert_int_equal(lun.region_end, end);
	/* what every fit must hold */
	assert_int_equal(lun.region_start % logical, 0);
	assert_int_equal((lun.region_end - lun.region_start) % size, 0);
	assert_true(lun.region_start < lun.region_end && lun.region_end <= lun_bytes);
}

static void fails(
	uint64_t lun_bytes, uint32_t logical, struct lb_region r, uint64_t size, const char *text)
{
	struct lb_lun lun = {.size_bytes = lun_bytes, .logical_block = logical};
	struct lb_config cfg = cfg_of(r, size, 1);
	struct lb_err err = {0};

	assert_int_equal(lb_region_fit(&lun, &cfg, &err), -EINVAL);
	assert_int_equal(err.status, LB_ST_USAGE);
	assert_string_equal(err.text, text);
	assert_int_equal(lun.region_end, 0);
}

static void each_stream_needs_a_transfer(void **state)
{
	struct lb_lun lun = {.size_bytes = 64 * K + 512, .logical_block = 512};
	struct lb_config cfg = cfg_of(whole, 16 * K, 4);
	struct lb_err err = {0};

	(void)state;
	assert_int_equal(lb_region_fit(&lun, &cfg, &err), 0);
	lun.region_end = 0;
	cfg.seq_streams = 5;
	assert_int_equal(lb_region_fit(&lun, &cfg, &err), -EINVAL);
	assert_int_equal(err.status, LB_ST_USAGE);
	assert_string_equal(err.text,
		"its region holds 4 transfers of --size 16k, --seq-streams 5 needs as many");
	assert_int_equal(lun.region_end, 0);
}

static void the_odd_tail_is_left_out(void **state)
{
	(void)state;
	fits(64 * MIB, 512, whole, 16 * K, 0, 64 * MIB);
	fits(64 * MIB + 3 * 512, 512, whole, 16 * K, 0, 64 * MIB);
	fits(64 * MIB + 16 * K - 512, 512, whole, 16 * K, 0, 64 * MIB);
	fits(64 * MIB + 3 * 512, 512, whole, 512, 0, 64 * MIB + 3 * 512);
	/* slots are counted from the region's start, so its tail is another one */
	fits(64 * MIB + 3 * 512, 512, bytes(3 * 512, 64 * MIB + 3 * 512), 16 * K, 3 * 512,
		64 * MIB + 3 * 512);
	fits(64 * MIB, 512, bytes(512, 64 * MIB), 16 * K, 512, 64 * MIB - 16 * K + 512);
}

static void a_lun_of_one_block_fits(void **state)
{
	(void)state;
	fits(16 * K, 512, whole, 16 * K, 0, 16 * K);
	fits(512, 512, whole, 512, 0, 512);
	fits(16 * K + 512, 512, bytes(512, 16 * K + 512), 16 * K, 512, 16 * K + 512);
}

static void an_edge_in_bytes_lies_on_a_block(void **state)
{
	(void)state;
	fits(64 * MIB, 4096, bytes(4096, 64 * MIB), 4 * K, 4096, 64 * MIB);
	fits(64 * MIB, 4096, bytes(4096, 64 * MIB - 4096), 4 * K, 4096, 64 * MIB - 4096);
	/* a file may end anywhere, and its end may be said */
	fits(64 * MIB + 512, 4096, bytes(0, 64 * MIB + 512), 4 * K, 0, 64 * MIB);
	fails(64 * MIB, 4096, bytes(512, 64 * MIB), 4 * K,
		"logical block 4096, --region starts at 512, which is not a multiple");
	fails(64 * MIB, 4096, bytes(4096, MIB + 512), 4 * K,
		"logical block 4096, --region ends at 1024.5k, which is not a multiple");
	fails(64 * MIB, 4096, bytes(4097, 64 * MIB), 4 * K,
		"logical block 4096, --region starts at 4097, which is not a multiple");
}

static void percentages_are_rounded_in(void **state)
{
	(void)state;
	fits(64 * MIB, 4096, ppm(1, 999999), 4 * K, 4096, 64 * MIB - 4096);
	/* a tenth of 1000 sectors is 51200 bytes, a third 170666.5 */
	fits(1000 * 512, 512, ppm(100000, 333333), 512, 51200, 51200 + 233 * 512);
	/* one byte above a block: the percentage is rounded up before the block is */
	fits(1000001 * 512ull, 512, ppm(1, 1000000), 512, 1024, 1000001 * 512ull);
}

static void percentages_hold_up_to_2_to_63(void **state)
{
	const uint64_t lun = 1ull << 63;

	(void)state;
	fits(lun, 4096, whole, 64 * MIB, 0, lun);
	fits(lun, 512, ppm(500000, 1000000), MIB, lun / 2, lun);
	fits(lun, 512, ppm(250000, 750000), MIB, lun / 4, lun / 4 * 3);
	/* 2^63 * 999999 / 10^6 = 9223362813482738952.8..., a multiple of 512 above it */
	fits(lun, 512, ppm(999999, 1000000), 512, 9223362813482739200ull, lun);
	fits(lun - 512, 512, whole, 16 * K, 0, lun - 16 * K);
	fits(20 * TIB, 512, ppm(100000, 200000), 16 * K, 2 * TIB, 4 * TIB);
}

static void size_must_be_whole_blocks(void **state)
{
	(void)state;
	fails(64 * MIB, 4096, whole, 512, "logical block 4096, --size 512 is not a multiple");
	fails(64 * MIB, 4096, whole, 6 * K, "logical block 4096, --size 6k is not a multiple");
	fails(64 * MIB, 512, whole, 1000, "logical block 512, --size 1000 is not a multiple");
	fits(64 * MIB, 4096, whole, 12 * K, 0, 5461 * 12 * K);
}

static void what_does_not_fit_names_both_sizes(void **state)
{
	(void)state;
	fails(8 * MIB, 512, whole, 16 * MIB, "its size is 8M, --size 16M does not fit");
	fails(16 * K - 512, 512, whole, 16 * K, "its size is 15.5k, --size 16k does not fit");
	fails(8 * MIB, 512, bytes(0, 9 * MIB), 4 * K, "its size is 8M, --region ends at 9M");
	fails(8 * MIB, 512, bytes(0, 8 * MIB + 1), 4 * K,
		"its size is 8M, --region ends at 8388609");
	fails(8 * MIB, 512, bytes(8 * MIB, 9 * MIB), 4 * K,
		"its size is 8M, --region starts at 8M");
	fails(8 * MIB, 512, bytes(9 * MIB, UINT64_MAX), 4 * K,
		"its size is 8M, --region starts at 9M");
	fails(8 * MIB, 512, bytes(UINT64_MAX, UINT64_MAX), 4 * K,
		"its size is 8M, --region starts at 18446744073709551615");
	fails(8 * MIB, 512, ppm(0, 100000), MIB,
		"its size is 8M, --region leaves 838860 of it, --size 1M does not fit");
	/* the start, rounded up, is past the end, or is the end */
	fails(8 * MIB, 4096, ppm(500, 900), 512 * 8,
		"its size is 8M, --region leaves 0 of it, --size 4k does not fit");
	fails(8 * MIB, 4096, ppm(999999, 1000000), 4 * K,
		"its size is 8M, --region leaves 0 of it, --size 4k does not fit");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_odd_tail_is_left_out),
		cmocka_unit_test(each_stream_needs_a_transfer),
		cmocka_unit_test(a_lun_of_one_block_fits),
		cmocka_unit_test(an_edge_in_bytes_lies_on_a_block),
		cmocka_unit_test(percentages_are_rounded_in),
		cmocka_unit_test(percentages_hold_up_to_2_to_63),
		cmocka_unit_test(size_must_be_whole_blocks),
		cmocka_unit_test(what_does_not_fit_names_both_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
