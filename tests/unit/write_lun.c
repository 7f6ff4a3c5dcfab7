/*
 * A LUN as a run would leave it, on stdout: written all over in random order, SLOTS in flight, then
 * as many random blocks once more.
 *
 *     write_lun SIZE BLOCKS SLOTS COMPRESS DEDUPE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "rng.h"

int main(int argc, char **argv)
{
	struct lb_data_cfg cfg = {.seed = 1, .run = 2};
	struct lb_data *d;
	struct lb_err err;
	struct lb_rng rng;
	uint32_t *order;
	uint16_t slab;
	char *lun;

	if (argc != 6)
		return 2;
	cfg.size_bytes = strtoull(argv[1], NULL, 0);
	cfg.n_blocks = strtoull(argv[2], NULL, 0);
	cfg.n_slots = (uint32_t)atoi(argv[3]);
	cfg.compress_pct = (uint32_t)atoi(argv[4]);
	cfg.dedupe_pct = (uint32_t)atoi(argv[5]);
	lun = malloc(cfg.n_blocks * cfg.size_bytes);
	order = calloc(cfg.n_blocks, sizeof(*order));
	if (!lun || !order || lb_data_create(&d, &cfg, &err))
		return 1;
	lb_rng_seed(&rng, 5, 6);
	for (uint32_t i = 0; i < cfg.n_blocks; i++) {
		uint32_t j = (uint32_t)lb_rng_below(&rng, i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	for (uint64_t i = 0; i < 2 * cfg.n_blocks; i++) {
		uint64_t block = i < cfg.n_blocks ? order[i] : lb_rng_below(&rng, cfg.n_blocks);
		uint32_t slot = (uint32_t)lb_rng_below(&rng, cfg.n_slots);

		memcpy(lun + block * cfg.size_bytes, lb_data_next(d, slot, block, &slab),
			cfg.size_bytes);
	}
	fwrite(lun, cfg.size_bytes, cfg.n_blocks, stdout);
	lb_data_done(d);
	free(order);
	free(lun);
	return fclose(stdout) ? 1 : 0;
}
