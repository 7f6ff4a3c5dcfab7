/* Of a mix of sizes, what all LUNs together did of each. */
#include <inttypes.h>

#include "report.h"
#include "table.h"
#include "units.h"

static void add_latency(struct lb_table *t, struct lb_fig_u64 f, bool is_bound)
{
	char text[32];

	lb_table_add(t, "%s%s", f.has && is_bound ? ">=" : "",
		f.has ? lb_format_latency(text, sizeof(text), f.v) : "-");
}

static void add_rate(struct lb_table *t, struct lb_fig_f64 f, double unit, int decimals)
{
	if (f.has)
		lb_table_add(t, "%.*f", decimals, f.v / unit);
	else
		lb_table_add(t, "-");
}

int lb_report_sizes(FILE *out, const struct lb_result *r)
{
	static const char *const head[] = {
		"size", "", "xfer", "xfer/sec", "KB/sec", "mean", "p50", "p99", "p99.9", "max"};
	static const int shown[] = {LB_PCT_50, LB_PCT_99, LB_PCT_999};
	struct lb_table t = {.align = "rlrrrrrrrr"};
	char size[32];
	int rc;

	if (!r->n_by_size)
		return 0;
	for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		lb_table_add(&t, "%s", head[i]);
	for (uint32_t i = 0; i < r->n_by_size; i++) {
		const struct lb_size_figures *f = &r->by_size[i];

		lb_table_add(&t, "%s", lb_format_size(size, sizeof(size), f->size_bytes));
		lb_table_add(&t, "%s", f->op == LB_READ ? "reads" : "writes");
		lb_table_add(&t, "%" PRIu64, f->xfers);
		add_rate(&t, f->xfer_per_s, 1, 1);
		add_rate(&t, f->bytes_per_s, 1024, 0);
		add_latency(&t, f->lat.mean_ns, false);
		for (int k = 0; k < 3; k++)
			add_latency(&t, f->lat.pct_ns[shown[k]], f->lat.pct_over[shown[k]]);
		add_latency(&t, f->lat.max_ns, f->lat.max_is_bound);
	}
	fputc('\n', out);
	rc = lb_table_print(&t, out);
	lb_table_done(&t);
	return rc;
}
