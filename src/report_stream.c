/*
 * The stream: a line for each interval and event, each a document of its own.
 * schema/lunbench-stream-1.schema.json says what is in them.
 */
#include "clock.h"
#include "json_out.h"
#include "report.h"

static void begin_line(struct lb_json *j, FILE *out, const char *type)
{
	*j = (struct lb_json){.out = out, .is_line = true};
	lb_json_open(j, NULL, '{');
	lb_json_str(j, "type", type);
}

/* ---- the first line ---- */

static void put_lun(struct lb_json *j, const struct lb_lun *lun)
{
	lb_json_open(j, NULL, '{');
	lb_json_str(j, "lun", lun->name);
	lb_json_str(j, "kernel_name", lun->kernel_name[0] ? lun->kernel_name : NULL);
	lb_json_str(j, "wwid", lun->wwid[0] ? lun->wwid : NULL);
	lb_json_u64(j, "size_bytes", lun->size_bytes);
	lb_json_close(j, '}');
}

void lb_report_stream_begin(FILE *out, const struct lb_plan *plan, uint64_t start_realtime_ns)
{
	struct lb_json j;

	begin_line(&j, out, "begin");
	lb_json_str(&j, "schema", "lunbench-stream/1");
	lb_json_str(&j, "version", LB_VERSION);
	lb_report_utc(&j, "start_utc", start_realtime_ns);
	lb_json_bool(&j, "virtual_clock", plan && plan->is_virtual);
	lb_json_f64_if(&j, "interval_s", plan, plan ? lb_seconds(plan->interval_ns) : 0);
	lb_json_open(&j, "luns", '[');
	for (uint32_t i = 0; plan && i < plan->n_luns; i++)
		put_lun(&j, plan->luns[i]);
	lb_json_close(&j, ']');
	lb_json_close(&j, '}');
}

/* ---- an interval ---- */

static void put_known(struct lb_json *j, const char *key, uint64_t v)
{
	lb_json_u64_if(j, key, v, v);
}

static void put_op(struct lb_json *j, const char *key, const struct lb_series *s, uint32_t row,
	int pos, uint32_t i, bool is_open)
{
	const struct lb_point *p;

	if (pos < 0) {
		lb_json_null(j, key);
		return;
	}
	p = lb_series_point(s, row, (uint32_t)pos, i);
	lb_json_open(j, key, '{');
	lb_json_u64(j, "xfers", p->xfers);
	lb_json_u64(j, "bytes", p->bytes);
	lb_json_u64(j, "errors", p->errors);
	put_known(j, "mean_ns", lb_point_mean_ns(p));
	put_known(j, "p50_ns", p->p50_ns);
	put_known(j, "p99_ns", p->p99_ns);
	put_known(j, "max_ns", p->max_ns);
	put_known(j, "response_mean_ns", is_open ? lb_point_response_mean_ns(p) : 0);
	put_known(j, "response_p99_ns", p->response_p99_ns);
	put_known(j, "response_max_ns", p->response_max_ns);
	lb_json_close(j, '}');
}

static void put_row(
	struct lb_json *j, const struct lb_series *s, uint32_t row, uint32_t i, bool is_open)
{
	const struct lb_point_both *both = lb_series_both(s, row, i);

	put_op(j, "read", s, row, s->pos[LB_READ], i, is_open);
	put_op(j, "write", s, row, s->pos[LB_WRITE], i, is_open);
	lb_json_u64(j, "in_flight", both->in_flight);
	lb_json_u64(j, "longest_gap_ns", both->gap_ns);
	lb_json_u64_if(j, "backlog", is_open, both->backlog);
	if (row + 1 == s->n_rows)
		lb_json_u64(j, "silent_luns", both->n_silent);
}

void lb_report_stream_interval(FILE *out, const struct lb_plan *plan, const struct lb_series *s,
	uint32_t i, uint64_t open_ns)
{
	bool is_open = plan->phases[0].streams[0].rate_milli_per_s > 0;
	struct lb_json j;

	begin_line(&j, out, "interval");
	lb_json_f64(&j, "begin_s", lb_seconds_since(open_ns, lb_series_begin_ns(s, i)));
	lb_json_f64(&j, "end_s", lb_seconds_since(open_ns, s->end_ns[i]));
	lb_json_open(&j, "total", '{');
	put_row(&j, s, plan->n_luns, i, is_open);
	lb_json_close(&j, '}');
	lb_json_open(&j, "luns", '[');
	for (uint32_t row = 0; row < plan->n_luns; row++) {
		lb_json_open(&j, NULL, '{');
		lb_json_str(&j, "lun", plan->luns[row]->name);
		put_row(&j, s, row, i, is_open);
		lb_json_close(&j, '}');
	}
	lb_json_close(&j, ']');
	lb_json_close(&j, '}');
}

/* ---- an event ---- */

void lb_report_stream_event(FILE *out, const struct lb_plan *plan, const struct lb_event *ev,
	uint32_t id, uint64_t open_ns)
{
	struct lb_json j;

	begin_line(&j, out, "event");
	lb_json_u64(&j, "event", id);
	lb_report_event_keys(&j, ev, ev->lun < 0 ? NULL : plan->luns[ev->lun]->name, open_ns);
	lb_json_close(&j, '}');
}

/* ---- the last line ---- */

void lb_report_stream_end(FILE *out, const struct lb_result *r, int status, uint64_t dropped)
{
	struct lb_json j;

	begin_line(&j, out, "end");
	lb_report_ending(&j, r, status);
	lb_json_f64_if(&j, "window_s", r->window_ns.has, lb_seconds(r->window_ns.v));
	lb_json_u64(&j, "xfers", r->total.xfers);
	lb_json_u64(&j, "bytes", r->total.bytes);
	lb_json_u64(&j, "errors", r->total.errors);
	lb_json_u64(&j, "lines_dropped", dropped);
	lb_json_close(&j, '}');
}
