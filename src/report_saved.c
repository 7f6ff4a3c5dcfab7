/* lunbench report --outage: what the outages of a saved result cost, for people and for programs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "json_out.h"
#include "report.h"
#include "saved.h"
#include "units.h"

/* ---- for people ---- */

static void print_head(FILE *out, const struct lb_saved *s)
{
	char path[256], host[256], from[64], end[64];

	fprintf(out,
		"%s: ", strcmp(s->path, "-") ? lb_shorten(path, sizeof(path), s->path) : "stdin");
	if (!s->r.window_ns.has)
		fprintf(out, "nothing was measured (%s)\n",
			lb_printable(end, sizeof(end), s->ended_by));
	else
		fprintf(out, "%s%u LUN%s measured for %.3f s%s%s%s%s\n",
			s->is_complete ? "" : "INCOMPLETE: ", s->r.n_luns,
			s->r.n_luns == 1 ? "" : "s", lb_seconds(s->r.window_ns.v),
			s->start_utc ? " from " : "",
			s->start_utc ? lb_printable(from, sizeof(from), s->start_utc) : "",
			s->host ? " on " : "",
			s->host ? lb_shorten(host, sizeof(host), s->host) : "");
}

/* What the absence of outages is worth. */
static void print_none(FILE *out, const struct lb_saved *s)
{
	if (s->n_points < LB_OUTAGE_POINTS_MIN)
		fprintf(out, "%zu interval%s: fewer than the %d that can tell of an outage\n",
			s->n_points, s->n_points == 1 ? "" : "s", LB_OUTAGE_POINTS_MIN);
	else
		fprintf(out, "no outage in %zu intervals of %g s\n", s->n_points, s->interval_s.v);
}

int lb_report_saved(FILE *out, const struct lb_saved *s)
{
	char **labels = lb_report_labels(&s->r);
	int rc = 0;

	if (!labels)
		return -ENOMEM;
	print_head(out, s);
	if (s->r.window_ns.has && !lb_report_outages_count(&s->r))
		print_none(out, s);
	if (s->r.window_ns.has)
		rc = lb_report_events(out, &s->r, labels);
	free(labels);
	return rc ? rc : ferror(out) ? -EIO : 0;
}

/* ---- for programs ---- */

int lb_report_saved_json(FILE *out, const struct lb_saved *s)
{
	const struct lb_result *r = &s->r;
	struct lb_json j = {.out = out};

	lb_json_open(&j, NULL, '{');
	lb_json_str(&j, "schema", "lunbench-outage/1");
	lb_json_str(&j, "version", LB_VERSION);
	lb_json_str(&j, "result", s->path);
	lb_json_bool(&j, "complete", s->is_complete);
	lb_json_str(&j, "ended_by", s->ended_by);
	lb_json_str(&j, "host", s->host);
	lb_json_str(&j, "start_utc", s->start_utc);
	lb_json_f64_if(&j, "window_s", r->window_ns.has, lb_seconds(r->window_ns.v));
	lb_json_f64_if(&j, "interval_s", s->interval_s.has, s->interval_s.v);
	lb_json_u64(&j, "intervals", s->n_points);
	lb_json_open(&j, "total", '{');
	lb_report_outages_json(&j, r, r->n_luns);
	lb_json_close(&j, '}');
	lb_json_open(&j, "luns", '[');
	for (uint32_t i = 0; i < r->n_luns; i++) {
		lb_json_open(&j, NULL, '{');
		lb_json_str(&j, "name", r->luns[i].lun->name);
		lb_report_outages_json(&j, r, i);
		lb_json_close(&j, '}');
	}
	lb_json_close(&j, ']');
	lb_report_events_json(&j, r);
	lb_json_close(&j, '}');
	return ferror(out) ? -EIO : 0;
}
