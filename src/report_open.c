/* How an open loop kept its schedule: what was asked for, and what is left of it. */
#include <inttypes.h>

#include "json_out.h"
#include "report.h"
#include "table.h"
#include "units.h"

static void add_rate(struct lb_table *t, double v)
{
	lb_table_add(t, "%.*f", v < 10 ? 3 : 1, v);
}

static void add_age(struct lb_table *t, uint64_t ns)
{
	char age[32];

	lb_table_add(t, "%s", ns ? lb_format_latency(age, sizeof(age), ns) : "-");
}

int lb_report_open(FILE *out, const struct lb_result *r, char *const *labels)
{
	static const char *const head[] = {
		"open loop", "asked/sec", "xfer/sec", "missed", "backlog", "oldest", "issued late"};
	struct lb_table t = {.align = "lrrrrrr"};
	int rc;

	if (!r->is_open || !r->window_ns.has)
		return 0;
	for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		lb_table_add(&t, "%s", head[i]);
	for (uint32_t i = 0; i <= r->n_luns; i++) {
		const struct lb_open *open = i < r->n_luns ? &r->luns[i].open : &r->open;
		const struct lb_figures *f = i < r->n_luns ? &r->luns[i].fig : &r->total;

		lb_table_add(&t, "%s", i < r->n_luns ? labels[i] : "Total");
		add_rate(&t, open->asked_per_s);
		add_rate(&t, f->xfer_per_s.v);
		lb_table_add(&t, "%" PRIu64, open->missed);
		lb_table_add(&t, "%" PRIu64, open->backlog);
		add_age(&t, open->oldest_age_ns);
		add_age(&t, (uint64_t)open->held_mean_ns.v);
	}
	fputc('\n', out);
	rc = lb_table_print(&t, out);
	lb_table_done(&t);
	return rc < 0 ? rc : 0;
}

void lb_report_open_json(struct lb_json *j, const struct lb_open *open)
{
	if (!open) {
		lb_json_null(j, "open_loop");
		return;
	}
	lb_json_open(j, "open_loop", '{');
	lb_json_f64(j, "asked_per_s", open->asked_per_s);
	lb_json_u64(j, "missed", open->missed);
	lb_json_u64(j, "backlog", open->backlog);
	lb_json_u64(j, "backlog_unissued", open->waiting);
	lb_json_u64_if(j, "backlog_oldest_age_ns", open->oldest_age_ns, open->oldest_age_ns);
	lb_json_f64_if(j, "issue_delay_mean_ns", open->held_mean_ns.has, open->held_mean_ns.v);
	lb_json_u64_if(j, "issue_delay_max_ns", open->held_max_ns.has, open->held_max_ns.v);
	lb_json_close(j, '}');
}
