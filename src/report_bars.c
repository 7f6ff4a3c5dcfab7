#include <errno.h>
#include <inttypes.h>

#include "report.h"
#include "table.h"
#include "units.h"

#define BAR_WIDTH 40

/*
 * A power of two of a microsecond (and of its 8th part, 125 ns) is 125 * 2^k ns, so it is an edge
 * of the histogram: rows are sums of whole buckets. Oracle's wait histograms have the same rows.
 */
#define FIRST_EDGE 125ull

struct row {
	uint64_t low_ns, high_ns, count; /* high 0: no end */
};

#define MAX_ROWS 40
#define GAP_MIN  4

/*
 * The last of N rows is not empty; those before it are, back to USED. Makes them one row where
 * there are many. Returns the new N.
 */
static uint32_t close_gap(struct row *rows, uint32_t used, uint32_t n)
{
	if (!used || n - 1 - used < GAP_MIN)
		return n;
	rows[used].high_ns = rows[n - 2].high_ns;
	rows[used + 1] = rows[n - 1];
	return used + 2;
}

/* Sums H into rows, from the first to the last that is not empty; long gaps become one row. */
static uint32_t rows_make(struct row *rows, const struct lb_hist *h)
{
	uint64_t end = lb_hist_low_ns(LB_HIST_OVER), low = 0, high = FIRST_EDGE;
	uint32_t n = 0, used = 0, i = 0;

	while (low < end) {
		struct row *row = &rows[n];

		*row = (struct row){low, high, 0};
		for (; i < LB_HIST_OVER && lb_hist_low_ns(i) < high; i++)
			row->count += h->count[i];
		low = high;
		high = 2 * high < end ? 2 * high : end;
		if (!row->count && !used)
			continue;
		n++;
		if (row->count) {
			n = close_gap(rows, used, n);
			used = n;
		}
	}
	if (h->count[LB_HIST_OVER]) {
		rows[n++] = (struct row){end, 0, h->count[LB_HIST_OVER]};
		used = close_gap(rows, used, n);
	}
	return used;
}

/* Percent to two digits; what is there never reads as 0, what is not all never as 100. */
static void add_percent(struct lb_table *t, uint64_t part, uint64_t whole)
{
	unsigned hundredths = (unsigned)(((unsigned __int128)part * 10000 + whole / 2) / whole);

	if (hundredths == 10000 && part < whole)
		hundredths--;
	if (part && !hundredths)
		lb_table_add(t, "<0.01");
	else
		lb_table_add(t, "%u.%02u", hundredths / 100, hundredths % 100);
}

int lb_report_bars(FILE *out, const char *name, const struct lb_figures *f)
{
	static const char bar[BAR_WIDTH + 1] = "########################################";
	struct lb_table t = {.align = "rlrrrl"};
	uint64_t total = lb_hist_total(&f->hist), most = 0, seen = 0;
	struct row rows[MAX_ROWS];
	uint32_t n = rows_make(rows, &f->hist);
	char low[32], high[32];
	int rc;

	fprintf(out, "\nlatencies of %s%s\n", name, total ? "" : ": none");
	if (!total)
		return 0;
	for (const char *const *h =
			(const char *const[]){"from", "to", "xfer", "%", "sum %", "", NULL};
		*h; h++)
		lb_table_add(&t, "%s", *h);
	for (uint32_t i = 0; i < n; i++)
		if (rows[i].count > most)
			most = rows[i].count;
	for (uint32_t i = 0; i < n; i++) {
		/* rounded up: a single xfer is still seen */
		int len = (int)(((unsigned __int128)rows[i].count * BAR_WIDTH + most - 1) / most);

		seen += rows[i].count;
		lb_table_add(&t, "%s", lb_format_latency(low, sizeof(low), rows[i].low_ns));
		lb_table_add(&t, "%s",
			rows[i].high_ns ? lb_format_latency(high, sizeof(high), rows[i].high_ns)
					: "...");
		lb_table_add(&t, "%" PRIu64, rows[i].count);
		add_percent(&t, rows[i].count, total);
		add_percent(&t, seen, total);
		lb_table_add(&t, "%.*s", len, bar);
	}
	rc = lb_table_print(&t, out);
	lb_table_done(&t);
	return rc;
}
