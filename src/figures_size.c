/* The figures of each size of a mix. */
#include <errno.h>
#include <stdlib.h>

#include "figures.h"

/* One LUN's, or all of them: tallies by size and, of each, op. */
struct work {
	uint32_t *lanes, *first; /* see lb_plan_lanes_by_lun() */
	char *hist_seen;
	uint32_t n_tallies;
	struct lb_tally *lun, *total;
	struct lb_figures *fig; /* the one at hand */
};

static bool work_alloc(struct work *w, const struct lb_plan *plan)
{
	w->n_tallies = plan->n_sizes * LB_OPS;
	w->lanes = calloc((size_t)plan->n_lanes + 1, sizeof(*w->lanes));
	w->first = calloc((size_t)plan->n_luns + 1, sizeof(*w->first));
	w->hist_seen = calloc((size_t)plan->n_hists + 1, 1);
	w->lun = malloc(w->n_tallies * sizeof(*w->lun));
	w->total = malloc(w->n_tallies * sizeof(*w->total));
	w->fig = malloc(sizeof(*w->fig));
	return w->lanes && w->first && w->hist_seen && w->lun && w->total && w->fig;
}

static void work_done(struct work *w)
{
	free(w->lanes);
	free(w->first);
	free(w->hist_seen);
	free(w->lun);
	free(w->total);
	free(w->fig);
}

static void add_lane(struct work *w, const struct lb_board *b, uint32_t index)
{
	const struct lb_lane_plan *lane = &b->plan->lanes[index];

	for (uint32_t k = 0; k < w->n_tallies; k++) {
		const struct lb_cell *cell = lb_board_cell_at(b, index, k);
		char *seen = &w->hist_seen[lane->hist + k];

		lb_tally_add_cell(&w->lun[k], cell, lane->shares_hist ? !*seen : cell->xfers != 0);
		*seen = 1;
	}
}

/* TALLIES into ROWS, those of ops that the stream does not do left out. */
static void make_rows(struct lb_size_figures *rows, const struct lb_tally *tallies, struct work *w,
	const struct lb_stream *stream, const struct lb_span *s)
{
	const bool does[LB_OPS] = {
		[LB_READ] = stream->read_pct > 0, [LB_WRITE] = stream->read_pct < 100};

	for (uint32_t k = 0; k < w->n_tallies; k++) {
		if (!does[k % LB_OPS])
			continue;
		*w->fig = (struct lb_figures){0};
		lb_figures_of(w->fig, &tallies[k], s);
		*rows++ = (struct lb_size_figures){.size_bytes = stream->sizes.bytes[k / LB_OPS],
			.op = k % LB_OPS,
			.xfers = w->fig->xfers,
			.bytes = w->fig->bytes,
			.xfer_per_s = w->fig->xfer_per_s,
			.bytes_per_s = w->fig->bytes_per_s,
			.lat = w->fig->lat};
	}
}

static void make_all(
	struct lb_result *r, const struct lb_board *b, const struct lb_span *s, struct work *w)
{
	const struct lb_stream *stream = &r->plan->phases[0].streams[0];

	lb_plan_lanes_by_lun(r->plan, w->lanes, w->first);
	for (uint32_t k = 0; k < w->n_tallies; k++)
		lb_tally_init(&w->total[k]);
	for (uint32_t i = 0; i < r->n_luns; i++) {
		struct lb_span own = *s;

		if (r->luns[i].lived_ns.has)
			own.close_ns = own.open_ns + r->luns[i].lived_ns.v;
		r->luns[i].by_size = &r->size_figs[(size_t)i * r->n_by_size];
		for (uint32_t k = 0; k < w->n_tallies; k++)
			lb_tally_init(&w->lun[k]);
		for (uint32_t l = w->first[i]; s->end_ns && l < w->first[i + 1]; l++)
			add_lane(w, b, w->lanes[l]);
		make_rows(r->luns[i].by_size, w->lun, w, stream, &own);
		for (uint32_t k = 0; k < w->n_tallies; k++)
			lb_tally_add(&w->total[k], &w->lun[k]);
	}
	r->by_size = &r->size_figs[(size_t)r->n_luns * r->n_by_size];
	make_rows(r->by_size, w->total, w, stream, s);
}

int lb_figures_by_size(struct lb_result *r, const struct lb_board *b, const struct lb_span *s)
{
	const struct lb_stream *stream = &r->plan->phases[0].streams[0];
	uint32_t n_ops = (stream->read_pct > 0) + (stream->read_pct < 100);
	struct work work = {0};
	int ret = -ENOMEM;

	if (stream->sizes.n < 2)
		return 0;
	r->n_by_size = stream->sizes.n * n_ops;
	r->size_figs = calloc(((size_t)r->n_luns + 1) * r->n_by_size, sizeof(*r->size_figs));
	if (work_alloc(&work, r->plan) && r->size_figs) {
		make_all(r, b, s, &work);
		ret = 0;
	}
	work_done(&work);
	return ret;
}
