/* What went wrong: I/O errors, and I/O that did not return in time. */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "report.h"
#include "table.h"
#include "units.h"

/* The first error of F in words. */
static void add_first_error(struct lb_table *t, const struct lb_figures *f)
{
	char what[128], when[64] = "";
	const char *name = f->first_error_res < 0 ? strerrorname_np(-f->first_error_res) : NULL;

	if (f->first_error_res < 0)
		snprintf(what, sizeof(what), "%s (%s)", name ? name : "error",
			strerror(-f->first_error_res));
	else
		snprintf(what, sizeof(what), "short (%d bytes moved)", f->first_error_res);
	if (f->first_error_s.has && f->first_error_s.v < 0)
		snprintf(when, sizeof(when), " in the warm-up");
	else if (f->first_error_s.has)
		snprintf(when, sizeof(when), " after %.3f s", f->first_error_s.v);
	lb_table_add(t, "first%s: %s at offset %" PRIu64, when, what, f->first_error_offset);
}

static int print_table(FILE *out, struct lb_table *t)
{
	int rc = lb_table_print(t, out);

	lb_table_done(t);
	return rc;
}

static int print_errors(FILE *out, const struct lb_result *r, char *const *labels)
{
	struct lb_table t = {.align = "lrl"};

	if (!r->total.errors)
		return 0;
	fprintf(out, "\n%" PRIu64 " I/O ERROR%s, in no rate or latency", r->total.errors,
		r->total.errors == 1 ? "" : "S");
	if (r->total.errors_outside)
		fprintf(out, " (%" PRIu64 " outside the measured time)", r->total.errors_outside);
	fputc('\n', out);
	for (uint32_t i = 0; i < r->n_luns; i++) {
		if (!r->luns[i].fig.errors)
			continue;
		lb_table_add(&t, "%s", labels[i]);
		lb_table_add(&t, "%" PRIu64, r->luns[i].fig.errors);
		add_first_error(&t, &r->luns[i].fig);
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

int lb_report_faults(FILE *out, const struct lb_result *r, char *const *labels)
{
	int rc = print_errors(out, r, labels);

	return rc ? rc : print_unanswered(out, r, labels);
}
