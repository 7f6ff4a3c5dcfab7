#include "region.h"

#include <errno.h>

#include "units.h"

#define PPM 1000000u

/* SIZE * PPM / 10^6, rounded up or down; 128 bits, since 2^63 bytes are allowed. */
static uint64_t part_of(uint64_t size_bytes, uint64_t ppm, bool round_up)
{
	unsigned __int128 scaled = (unsigned __int128)size_bytes * ppm;

	return (uint64_t)((scaled + (round_up ? PPM - 1 : 0)) / PPM);
}

/* An edge of the region that was given in bytes must lie on a block: moved, it would be another. */
static int check_edge(
	const struct lb_lun *lun, bool is_ppm, uint64_t edge, bool is_start, struct lb_err *err)
{
	char text[32];

	if (is_ppm || edge % lun->logical_block == 0 || (!is_start && edge == lun->size_bytes))
		return 0;
	return lb_fail(err, LB_ST_USAGE, EINVAL,
		"logical block %u, --region %s at %s, which is not a multiple", lun->logical_block,
		is_start ? "starts" : "ends", lb_format_size(text, sizeof(text), edge));
}

int lb_region_fit(struct lb_lun *lun, const struct lb_config *cfg, struct lb_err *err)
{
	const struct lb_region *region = &cfg->region;
	uint64_t start = region->start, end = region->end;
	uint64_t size_bytes = cfg->size_bytes, unit = lb_sizes_unit(&cfg->sizes);
	char size[32], have[32], edge[32];

	lb_format_size(size, sizeof(size), size_bytes);
	lb_format_size(have, sizeof(have), lun->size_bytes);
	for (uint32_t i = 0; i < cfg->sizes.n; i++)
		if (cfg->sizes.bytes[i] % lun->logical_block)
			return lb_fail(err, LB_ST_USAGE, EINVAL,
				"logical block %u, --size %s is not a multiple", lun->logical_block,
				lb_format_size(size, sizeof(size), cfg->sizes.bytes[i]));
	if (size_bytes > lun->size_bytes)
		return lb_fail(err, LB_ST_USAGE, EINVAL, "its size is %s, --size %s does not fit",
			have, size);
	if (region->start_is_ppm)
		start = part_of(lun->size_bytes, start, true);
	if (region->end_is_ppm)
		end = part_of(lun->size_bytes, end, false);
	if (end > lun->size_bytes || start >= lun->size_bytes)
		return lb_fail(err, LB_ST_USAGE, EINVAL, "its size is %s, --region %s %s", have,
			start >= lun->size_bytes ? "starts at" : "ends at",
			lb_format_size(edge, sizeof(edge), start >= lun->size_bytes ? start : end));
	if (check_edge(lun, region->start_is_ppm, start, true, err) ||
		check_edge(lun, region->end_is_ppm, end, false, err))
		return -EINVAL;
	start += (lun->logical_block - start % lun->logical_block) % lun->logical_block;
	if (start >= end || end - start < size_bytes)
		return lb_fail(err, LB_ST_USAGE, EINVAL,
			"its size is %s, --region leaves %s of it, --size %s does not fit", have,
			lb_format_size(edge, sizeof(edge), start < end ? end - start : 0), size);
	if ((end - start) / size_bytes < cfg->seq_streams)
		return lb_fail(err, LB_ST_USAGE, EINVAL,
			"its region holds %llu transfers of --size %s, --seq-streams %u needs as many",
			(unsigned long long)((end - start) / size_bytes), size, cfg->seq_streams);
	lun->region_start = start;
	lun->region_end = end - (end - start) % unit;
	return 0;
}
