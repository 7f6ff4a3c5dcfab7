#include "workload.h"

#include <string.h>

#include "clock.h"

#define HAND 5u

/*
 * The cards of a deck in the order that keeps every kind nearest to its share all the way, begun at
 * another place for each lane, so that what many lanes deal, and none of them a whole deck, keeps
 * the shares together.
 */
static void lay_out(struct lb_deck *deck, const uint8_t *pct, uint32_t n, uint32_t begin)
{
	int32_t owed[LB_DECK_KINDS] = {0};

	for (uint32_t i = 0; i < LB_DECK_CARDS; i++) {
		uint32_t most = 0;

		for (uint32_t k = 0; k < n; k++) {
			owed[k] += pct[k];
			if (owed[k] > owed[most])
				most = k;
		}
		owed[most] -= (int32_t)LB_DECK_CARDS;
		deck->card[(i + begin) % LB_DECK_CARDS] = (uint8_t)most;
	}
}

void lb_deck_init(
	struct lb_deck *deck, const uint8_t *pct, uint32_t n, uint64_t seed, uint64_t stream)
{
	/* apart from the offsets, so that these are the same whatever the mix */
	lb_rng_seed(&deck->rng, ~seed, stream);
	deck->at = 0;
	lay_out(deck, pct, n, (uint32_t)(stream % LB_DECK_CARDS * 61 % LB_DECK_CARDS));
}

/* Twenty hands of five, each shuffled by itself (Fisher and Yates): none has more than its share.
 */
static void shuffle(struct lb_deck *deck)
{
	for (uint8_t *hand = deck->card; hand < deck->card + LB_DECK_CARDS; hand += HAND) {
		for (uint32_t i = HAND - 1; i > 0; i--) {
			uint32_t k = (uint32_t)lb_rng_below(&deck->rng, i + 1);
			uint8_t kept = hand[i];

			hand[i] = hand[k];
			hand[k] = kept;
		}
	}
}

uint32_t lb_deck_deal(struct lb_deck *deck)
{
	uint32_t card;

	if (deck->at == 0)
		shuffle(deck);
	card = deck->card[deck->at++];
	if (deck->at == LB_DECK_CARDS)
		deck->at = 0;
	return card;
}

static void init_pattern(struct lb_pattern *pattern, const struct lb_board *board, uint32_t at)
{
	const struct lb_plan *plan = board->plan;
	const struct lb_lane_plan *lp = &plan->lanes[at];
	const struct lb_stream *stream = &plan->phases[0].streams[lp->stream];
	struct lb_pattern_cfg cfg = {.pat = stream->pat,
		.n_blocks = lp->n_blocks,
		.block_bytes = stream->block_bytes,
		.cursors = &board->cursors[lp->cursor],
		.n_seq_streams = stream->n_seq_streams,
		.lane = lp->nth,
		.n_lanes = lp->n_siblings,
		.first_slot = lp->slot - plan->workers[lp->worker].slot,
		.seed = plan->seed,
		.lun = lp->lun};

	lb_pattern_init(pattern, &cfg);
}

/* The decks' random numbers are apart from those of the ops. */
static void init_mix(
	struct lb_aim *aim, const struct lb_stream *stream, uint64_t seed, uint64_t rng_stream)
{
	for (int op = 0; op < LB_OPS; op++)
		lb_deck_init(&aim->sizes[op], stream->sizes.pct, stream->sizes.n,
			seed + 1 + (uint64_t)op, rng_stream);
}

static void init_one(struct lb_lane *lane, const struct lb_board *board, uint32_t at, uint32_t size)
{
	const struct lb_plan *plan = board->plan;
	const struct lb_lane_plan *lp = &plan->lanes[at];
	const struct lb_stream *stream = &plan->phases[0].streams[lp->stream];
	uint64_t count = plan->phases[0].count;

	memset(lane, 0, sizeof(*lane));
	for (int op = 0; op < LB_OPS; op++) {
		lane->cell[op] = lb_board_cell_of(board, at, size, op);
		lane->cell[op]->look_at = LB_NEVER;
	}
	lb_rng_seed(&lane->rng, plan->seed, lp->rng_stream);
	lane->block_bytes = stream->sizes.bytes[size];
	lane->n_blocks = lp->region_bytes / lane->block_bytes;
	lane->start_bytes = lp->region_start;
	lane->is_mixed = stream->read_pct > 0 && stream->read_pct < 100;
	lane->shares_count = lp->n_siblings > 1 || stream->sizes.n > 1;
	lane->faults = &board->faults[at];
	lane->qd = lane->n_resting = lp->qd;
	lane->near_full_at = LB_NEVER;
	if (count > LB_BATCH && !lane->shares_count && !lane->is_mixed)
		lane->near_full_at = count - LB_BATCH;
	lane->sample_at = stream->read_pct ? 1 : LB_NEVER;
	lane->cell[LB_READ]->look_at = lane->sample_at;
	lane->cell[LB_WRITE]->look_at = lane->near_full_at;
}

void lb_lane_init(struct lb_lane *lanes, const struct lb_board *board, uint32_t at,
	struct lb_aim *aim, struct lb_lane_writes *writes)
{
	const struct lb_plan *plan = board->plan;
	const struct lb_lane_plan *lp = &plan->lanes[at];
	const struct lb_stream *stream = &plan->phases[0].streams[lp->stream];
	const bool has_pattern = stream->pat.kind != LB_RAND, is_mix = stream->sizes.n > 1;
	const uint8_t ops[LB_OPS] = {
		[LB_READ] = stream->read_pct, [LB_WRITE] = (uint8_t)(100 - stream->read_pct)};

	for (uint32_t s = 0; s < stream->sizes.n; s++) {
		struct lb_lane *lane = &lanes[s];

		init_one(lane, board, at, s);
		lane->writes = stream->read_pct < 100 ? &writes[s] : NULL;
		lane->aim = has_pattern || is_mix ? aim : NULL;
		lane->is_plain = !lane->aim && !lane->writes;
	}
	aim->has_pattern = has_pattern;
	aim->lanes = is_mix ? lanes : NULL;
	if (has_pattern)
		init_pattern(&aim->pattern, board, at);
	if (is_mix)
		init_mix(aim, stream, plan->seed, lp->rng_stream);
	if (lanes->is_mixed)
		lb_deck_init(&writes->deck, ops, LB_OPS, plan->seed, lp->rng_stream);
}

/* What IO writes next to its place, the BLOCK-th of its size. */
static void take_data(const struct lb_lane_writes *w, struct lb_io *io, uint64_t block)
{
	if (io->op == LB_WRITE) {
		io->buf = lb_data_next(
			w->data, w->first_slot + io->slot, w->first_block + block, &io->slab);
		io->slab = (uint16_t)(io->slab + w->first_slab);
	} else {
		io->buf = (void *)(uintptr_t)(io->own_buf & ~(uint64_t)4095);
		io->slab = (uint16_t)(io->own_buf & 4095);
	}
}

void lb_lane_next_other(struct lb_lane *lane, struct lb_io *io)
{
	struct lb_lane *const first = lb_lane_first(lane);
	struct lb_aim *aim = first->aim;
	uint64_t at, block = 0;

	if (first->is_mixed)
		io->op = (uint8_t)lb_deck_deal(&first->writes->deck);
	if (aim && aim->lanes) {
		lane = &first[lb_deck_deal(&aim->sizes[io->op])];
		io->lane = lane;
		io->len = (uint32_t)lane->block_bytes;
	}
	if (aim && aim->has_pattern) {
		at = lb_pattern_next(&aim->pattern, &first->rng, io->slot, lane->block_bytes);
		if (lane->writes)
			block = at / lane->block_bytes;
	} else {
		block = lb_rng_below(&first->rng, lane->n_blocks);
		at = block * lane->block_bytes;
	}
	io->offset_bytes = lane->start_bytes + at;
	if (lane->writes)
		take_data(lane->writes, io, block);
}
