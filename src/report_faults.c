/* What went wrong: I/O errors, and I/O that did not return in time. */
#include <inttypes.h>
#include <stdbool.h>

#include "clock.h"
#include "report.h"
#include "table.h"
#include "units.h"

/* Seconds into the window. */
static void add_moment(struct lb_table *t, const struct lb_result *r, uint64_t ns)
{
	if (!r->open_ns)
		lb_table_add(t, "-");
	else if (ns < r->open_ns)
		lb_table_add(t, "warm-up");
	else
		lb_table_add(t, "%.3f", lb_seconds(ns - r->open_ns));
}

/* A row: one kind of error of the LUN called LABEL. */
static void add_fault(
	struct lb_table *t, const struct lb_result *r, const char *label, const struct lb_fault *f)
{
	const char *op = f->op == LB_READ ? "read" : "write";
	char name[16];

	lb_table_add(t, "%s", label);
	lb_table_add(t, "%" PRIu64, f->n);
	if (f->is_rest)
		lb_table_add(t, "%s, of other kinds", op);
	else
		lb_table_add(t, "%s %s, %s", op, lb_fault_name(name, sizeof(name), f->res),
			lb_fault_words(f->res));
	add_moment(t, r, f->first.ns);
	add_moment(t, r, f->last.ns);
	lb_table_add(t, "%" PRIu64, f->first.offset_bytes);
}

static int print_table(FILE *out, struct lb_table *t)
{
	int rc = lb_table_print(t, out);

	lb_table_done(t);
	return rc;
}

static int print_errors(FILE *out, const struct lb_result *r, char *const *labels)
{
	static const char *const head[] = {
		"", "count", "error", "first s", "last s", "first offset"};
	struct lb_table t = {.align = "lrlrrr"};

	if (!r->total.errors)
		return 0;
	fprintf(out, "\n%" PRIu64 " I/O ERROR%s, in no rate or latency", r->total.errors,
		r->total.errors == 1 ? "" : "S");
	if (r->total.errors_outside)
		fprintf(out, " (%" PRIu64 " outside the measured time)", r->total.errors_outside);
	fputc('\n', out);
	for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		lb_table_add(&t, "%s", head[i]);
	for (uint32_t i = 0; i < r->n_luns; i++) {
		const struct lb_fault *f;

		for (uint32_t k = 0; (f = lb_faults_row(&r->luns[i].fig.faults, k)); k++)
			add_fault(&t, r, k ? "" : labels[i], f);
	}
	return print_table(out, &t);
}

/* The last I/Os of any run come late: they are told of where they took longer than all xfers. */
static bool is_unanswered(const struct lb_figures *f)
{
	return f->outstanding || f->lat.max_is_bound;
}

/* Came back, though late. */
static void add_late(struct lb_table *t, const struct lb_figures *f)
{
	char age[32];

	if (f->late)
		lb_table_add(t, "%" PRIu64 " came late, longest %s", f->late,
			lb_format_latency(age, sizeof(age), f->late_max_ns));
	else
		lb_table_add(t, "%s", "");
}

static int print_unanswered(FILE *out, const struct lb_result *r, char *const *labels)
{
	const bool any_out = r->total.outstanding;
	struct lb_table t = {.align = any_out ? "lll" : "ll"};
	char age[32];

	for (uint32_t i = 0; i < r->n_luns; i++) {
		const struct lb_figures *f = &r->luns[i].fig;

		if (!is_unanswered(f))
			continue;
		lb_table_add(&t, "%s", labels[i]);
		if (f->outstanding)
			lb_table_add(&t, "%" PRIu64 " STILL OUT, oldest %s", f->outstanding,
				lb_format_latency(age, sizeof(age), f->outstanding_max_age_ns));
		else if (any_out)
			lb_table_add(&t, "none still out");
		add_late(&t, f);
	}
	if (t.n && any_out)
		fprintf(out, "\nI/O without an answer when the measured time ended, in no rate\n");
	else if (t.n)
		fprintf(out,
			"\nI/O that came back only after the measured time, slower than all in "
			"it; in no rate\n");
	return print_table(out, &t);
}

/* Those marked with * in the table of rates. */
static int print_lost(FILE *out, const struct lb_result *r, char *const *labels)
{
	struct lb_table t = {.align = "lll"};
	char why[256];

	if (!r->n_lost)
		return 0;
	fprintf(out, "\n%u LUN%s LOST *, with rates over the time that %s lived\n", r->n_lost,
		r->n_lost == 1 ? "" : "S", r->n_lost == 1 ? "it" : "they");
	for (uint32_t i = 0; i < r->n_luns; i++) {
		const struct lb_lun_result *l = &r->luns[i];

		if (!l->is_lost)
			continue;
		lb_table_add(&t, "%s", labels[i]);
		if (r->open_ns && l->lost_ns >= r->open_ns)
			lb_table_add(&t, "after %.3f s", lb_seconds(l->lost_ns - r->open_ns));
		else
			lb_table_add(&t, "in the warm-up");
		lb_table_add(&t, "%s", lb_printable(why, sizeof(why), l->lost_why));
	}
	return print_table(out, &t);
}

int lb_report_faults(FILE *out, const struct lb_result *r, char *const *labels)
{
	int rc = print_lost(out, r, labels);

	if (!rc)
		rc = print_errors(out, r, labels);
	return rc ? rc : print_unanswered(out, r, labels);
}
