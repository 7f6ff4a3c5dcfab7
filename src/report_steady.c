/* Whether the run came to a steady state, and the windows that tell. */
#include "clock.h"
#include "json_out.h"
#include "report.h"
#include "units.h"

/* By enum lb_steady_on. */
static const struct {
	const char *name, *unit, *words, *text_unit;
	double scale; /* of the text's unit */
} kinds[] = {
	[LB_STEADY_XFER] = {"xfer", "xfer/s", "xfer/sec", "", 1},
	[LB_STEADY_KB] = {"kb", "KB/s", "KB/sec", "", 1},
	[LB_STEADY_P99] = {"p99", "ns", "p99", " us", 1e3},
};

void lb_report_steady(FILE *out, const struct lb_result *r)
{
	const struct lb_phase *phase = &r->plan->phases[0];
	const struct lb_steady *s = &r->steady;
	char window[64];

	if (!phase->steady_ns || !r->window_ns.has)
		return;
	if (!s->n) {
		fprintf(out, "steady state NOT reached after %.1f s: it takes %d windows of %s\n",
			(double)r->window_ns.v / 1e9, LB_STEADY_WINDOWS,
			lb_format_duration(window, sizeof(window), phase->steady_ns));
		return;
	}
	fprintf(out, "steady state %s", s->is_reached ? "" : "NOT ");
	fprintf(out,
		"reached after %.1f s, by %s over %u windows of %s:", lb_seconds(r->window_ns.v),
		kinds[phase->steady_on].words, s->n,
		lb_format_duration(window, sizeof(window), phase->steady_ns));
	for (uint32_t i = 0; i < s->n; i++)
		fprintf(out, " %.1f%s", s->value[i] / kinds[phase->steady_on].scale,
			kinds[phase->steady_on].text_unit);
	if (s->n == LB_STEADY_WINDOWS)
		fprintf(out,
			"; range %.1f%% of their mean (20%% at most), slope %.1f%% (10%% at most)",
			s->fit.range_pct, s->fit.slope_pct);
	else
		fprintf(out, "; it takes %d", LB_STEADY_WINDOWS);
	fputc('\n', out);
}

void lb_report_steady_json(struct lb_json *j, const struct lb_result *r)
{
	const struct lb_phase *phase = r->plan ? &r->plan->phases[0] : NULL;
	const struct lb_steady *s = &r->steady;
	bool is_asked = phase && phase->steady_ns, has_fit = s->n == LB_STEADY_WINDOWS;

	lb_json_open(j, "steady_state", '{');
	lb_json_str(j, "on", is_asked ? kinds[phase->steady_on].name : NULL);
	lb_json_str(j, "unit", is_asked ? kinds[phase->steady_on].unit : NULL);
	lb_json_f64_if(j, "window_s", is_asked, is_asked ? lb_seconds(phase->steady_ns) : 0);
	lb_json_bool_if(j, "reached", is_asked, s->is_reached);
	lb_json_f64_if(j, "at_s", s->is_reached,
		s->is_reached ? lb_seconds_since(r->open_ns, s->end_ns[s->n - 1]) : 0);
	lb_json_open(j, "windows", '[');
	for (uint32_t i = 0; i < s->n; i++) {
		lb_json_open(j, NULL, '{');
		lb_json_f64(j, "end_s", lb_seconds_since(r->open_ns, s->end_ns[i]));
		lb_json_f64(j, "value", s->value[i]);
		lb_json_close(j, '}');
	}
	lb_json_close(j, ']');
	lb_json_f64_if(j, "mean", has_fit, s->fit.mean);
	lb_json_f64_if(j, "range_pct", has_fit, s->fit.range_pct);
	lb_json_f64_if(j, "slope_pct", has_fit, s->fit.slope_pct);
	lb_json_close(j, '}');
}
