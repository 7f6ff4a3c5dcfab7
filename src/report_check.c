/* What `lunbench check` has to say, for people. */
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void print_stops(FILE *out, const struct lb_findings *all)
{
	bool is_first = true;

	for (uint32_t i = 0; i < all->n; i++) {
		const struct lb_finding *f = &all->at[i];

		if (f->gravity != LB_STOPS)
			continue;
		if (is_first)
			fprintf(out, "\nstops the run\n");
		is_first = false;
		fprintf(out, "  %s:", f->code);
		lb_report_wrapped(out, f->text, 2 + strlen(f->code) + 1, 6);
	}
}

/* All of it in one line, wrapped. */
static int print_fine(FILE *out, const struct lb_findings *all)
{
	char *text = NULL;
	size_t len;
	FILE *line = open_memstream(&text, &len);

	if (!line)
		return -ENOMEM;
	for (uint32_t i = 0; i < all->n; i++)
		if (all->at[i].gravity == LB_FINE)
			fprintf(line, "%s%s", ftell(line) ? ", " : "", all->at[i].text);
	if (fclose(line) || !text)
		return -ENOMEM;
	if (*text) {
		fprintf(out, "\nfine:");
		lb_report_wrapped(out, text, strlen("fine:"), 2);
	}
	free(text);
	return 0;
}

int lb_report_check(FILE *out, const struct lb_result *r)
{
	char **labels;
	int rc;

	if (!r->plan)
		return 0;
	labels = lb_report_labels(r);
	if (!labels)
		return -ENOMEM;
	rc = lb_report_streams(out, r);
	print_stops(out, r->preflight);
	lb_report_findings(out, r, labels);
	if (r->status == LB_OK && !r->n_findings)
		fprintf(out, "\nnothing would stop or distort this run\n");
	if (!rc)
		rc = print_fine(out, r->preflight);
	free(labels);
	return rc ? rc : ferror(out) ? -EIO : 0;
}
