#include "workload.h"

#include <string.h>

#include "clock.h"

#define CARDS 100u
#define HAND  5u

void lb_deck_init(struct lb_deck *deck, uint8_t read_pct, uint64_t seed, uint64_t stream)
{
	/* apart from the offsets, so that these are the same whatever the mix */
	lb_rng_seed(&deck->rng, ~seed, stream);
	deck->read_pct = read_pct;
	deck->phase = (uint8_t)(stream % CARDS * 62 % CARDS); /* lanes round up in turn */
	deck->at = CARDS;
}

/*
 * A deck is twenty hands of five, each with its share of the reads as near as whole cards come, and
 * shuffled (Fisher and Yates): so many lanes that each deal but a part of theirs keep it together.
 */
static void shuffle(struct lb_deck *deck)
{
	uint32_t dealt = 0;

	for (uint32_t hand = 0; hand < CARDS; hand += HAND) {
		uint32_t reads = ((hand + HAND) * deck->read_pct + deck->phase) / CARDS - dealt;
		uint8_t *card = &deck->card[hand];

		dealt += reads;
		for (uint32_t i = 0; i < HAND; i++)
			card[i] = i < reads ? LB_READ : LB_WRITE;
		for (uint32_t i = HAND - 1; i > 0; i--) {
			uint32_t k = (uint32_t)lb_rng_below(&deck->rng, i + 1);
			uint8_t kept = card[i];

			card[i] = card[k];
			card[k] = kept;
		}
	}
	deck->at = 0;
}

enum lb_op lb_deck_deal(struct lb_deck *deck)
{
	if (deck->at == CARDS)
		shuffle(deck);
	return (enum lb_op)deck->card[deck->at++];
}

void lb_lane_init(struct lb_lane *lane, const struct lb_board *board, uint32_t at,
	struct lb_pattern *pattern, struct lb_lane_writes *writes)
{
	const struct lb_plan *plan = board->plan;
	const struct lb_lane_plan *lp = &plan->lanes[at];
	const struct lb_stream *stream = &plan->phases[0].streams[lp->stream];
	uint64_t count = plan->phases[0].count;

	memset(lane, 0, sizeof(*lane));
	for (int op = 0; op < LB_OPS; op++) {
		lane->cell[op] = lb_board_cell(board, at, op);
		lane->cell[op]->look_at = LB_NEVER;
	}
	lb_rng_seed(&lane->rng, plan->seed, lp->rng_stream);
	lane->n_blocks = lp->n_blocks;
	lane->block_bytes = stream->size_bytes;
	lane->start_bytes = lp->region_start;
	lane->is_mixed = stream->read_pct > 0 && stream->read_pct < 100;
	lane->writes = stream->read_pct < 100 ? writes : NULL;
	lane->pattern = stream->pat.kind == LB_RAND ? NULL : pattern;
	lane->is_plain = !lane->pattern && !lane->writes;
	lane->shares_count = lp->n_siblings > 1;
	lane->faults = &board->faults[at];
	lane->qd = lane->n_resting = lp->qd;
	if (lane->pattern)
		lb_pattern_init(
			pattern, &(struct lb_pattern_cfg){.pat = stream->pat,
					 .n_blocks = lp->n_blocks,
					 .cursors = &board->cursors[lp->cursor],
					 .n_seq_streams = stream->n_seq_streams,
					 .lane = lp->nth,
					 .n_lanes = lp->n_siblings,
					 .first_slot = lp->slot - plan->workers[lp->worker].slot,
					 .seed = plan->seed,
					 .lun = lp->lun});
	if (lane->is_mixed)
		lb_deck_init(&writes->deck, stream->read_pct, plan->seed, lp->rng_stream);
	lane->near_full_at = LB_NEVER;
	if (count > LB_BATCH && !lane->shares_count && !lane->is_mixed)
		lane->near_full_at = count - LB_BATCH;
	lane->sample_at = stream->read_pct ? 1 : LB_NEVER;
	lane->cell[LB_READ]->look_at = lane->sample_at;
	lane->cell[LB_WRITE]->look_at = lane->near_full_at;
}

void lb_lane_next_other(struct lb_lane *lane, struct lb_io *io)
{
	struct lb_lane_writes *w = lane->writes;
	uint64_t block = lane->pattern ? lb_pattern_next(lane->pattern, &lane->rng, io->slot)
				       : lb_rng_below(&lane->rng, lane->n_blocks);

	io->offset_bytes = lane->start_bytes + block * lane->block_bytes;
	if (lane->is_mixed)
		io->op = (uint8_t)lb_deck_deal(&w->deck);
	if (!w)
		return;
	if (io->op == LB_WRITE) {
		io->buf = lb_data_next(
			w->data, w->first_slot + io->slot, w->first_block + block, &io->slab);
	} else {
		io->buf = (void *)(uintptr_t)(io->own_buf & ~(uint64_t)4095);
		io->slab = (uint16_t)(io->own_buf & 4095);
	}
}
