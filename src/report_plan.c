/* The streams of a plan as a document has them. */
#include "json_out.h"
#include "report.h"

static void put_pattern(struct lb_json *j, const struct lb_pat *pat)
{
	bool is_zipf = pat->kind == LB_ZIPF, is_hot = pat->kind == LB_HOT;

	lb_json_str(j, "pattern", lb_pat_names[pat->kind]);
	lb_json_f64_if(j, "zipf_theta", is_zipf, pat->theta_e4 / 1e4);
	lb_json_f64_if(j, "hot_blocks_pct", is_hot, pat->hot_ppm / 1e4);
	lb_json_f64_if(j, "hot_xfers_pct", is_hot, pat->hot_xfers_ppm / 1e4);
}

static void put_sizes(struct lb_json *j, const struct lb_sizes *sizes)
{
	lb_json_open(j, "sizes", '[');
	for (uint32_t i = 0; i < sizes->n; i++) {
		lb_json_open(j, NULL, '{');
		lb_json_u64(j, "size_bytes", sizes->bytes[i]);
		lb_json_u64(j, "pct", sizes->pct[i]);
		lb_json_close(j, '}');
	}
	lb_json_close(j, ']');
}

void lb_report_streams_json(struct lb_json *j, const struct lb_phase *phase)
{
	lb_json_open(j, "streams", '[');
	for (uint32_t i = 0; i < phase->n_streams; i++) {
		const struct lb_stream *s = &phase->streams[i];

		lb_json_open(j, NULL, '{');
		lb_json_str(j, "name", s->name);
		lb_json_str(j, "group", s->group->name);
		lb_json_u64(j, "read_pct", s->read_pct);
		lb_json_bool(j, "dsync", s->is_dsync && s->read_pct < 100);
		put_pattern(j, &s->pat);
		lb_json_u64_if(j, "seq_streams", s->pat.kind == LB_SEQ, s->n_seq_streams);
		lb_json_u64(j, "size_bytes", s->size_bytes);
		put_sizes(j, &s->sizes);
		lb_json_u64(j, "qd_per_lun", s->qd);
		lb_json_f64(j, "think_s", (double)s->think_ns / 1e9);
		lb_json_f64_if(j, "rate_per_s", s->rate_milli_per_s > 0,
			(double)s->rate_milli_per_s / 1e3);
		lb_json_str(
			j, "arrival", s->rate_milli_per_s ? lb_arrival_words[s->arrival] : NULL);
		lb_json_str(
			j, "catch_up", s->rate_milli_per_s ? lb_catch_up_words[s->catch_up] : NULL);
		lb_json_close(j, '}');
	}
	lb_json_close(j, ']');
}
