#include <string.h>

#include "report.h"
#include "units.h"

#define TEXT_COLUMNS 80  /* of running text */
#define LINE_COLUMNS 100 /* of a line of figures */
#define FINDINGS_MAX 8   /* lines of one code; the JSON has them all */

static void wrap(FILE *out, const char *text, size_t at, size_t indent, size_t columns)
{
	while (*text) {
		size_t len = strcspn(text, " ");
		int n = (int)len;

		if (at > indent && at + 1 + len > columns) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			fputc(' ', out);
			at++;
		}
		fprintf(out, "%.*s", n, text);
		at += len;
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

void lb_report_wrapped(FILE *out, const char *text, size_t at, size_t indent)
{
	wrap(out, text, at, indent, TEXT_COLUMNS);
}

void lb_report_lines(FILE *out, char *text)
{
	for (char *line = text, *end; *line; line = end) {
		size_t first = strcspn(line, " \n");

		end = strchrnul(line, '\n');
		if (*end)
			*end++ = '\0';
		fwrite(line, 1, first, out);
		line += first + (line[first] == ' ');
		wrap(out, line, first, 2, LINE_COLUMNS);
	}
}

/* How many findings from I on say the same of different LUNs. */
static uint32_t same_findings(const struct lb_result *r, uint32_t i)
{
	uint32_t k = i + 1;

	while (r->findings[i].lun >= 0 && k < r->n_findings && r->findings[k].lun >= 0 &&
		!strcmp(r->findings[i].code, r->findings[k].code) &&
		!strcmp(r->findings[i].text, r->findings[k].text))
		k++;
	return k - i;
}

/* Whom N findings from I on are about: some names, and how many more. */
static void whom(const struct lb_result *r, char *const *labels, uint32_t i, uint32_t n, char *buf,
	size_t room)
{
	const uint32_t shown = n <= 4 ? n : 3;
	size_t len = 0;

	buf[0] = '\0';
	if (r->findings[i].lun < 0)
		return;
	if (n == r->n_luns && n > 1) {
		snprintf(buf, room, n == 2 ? "both LUNs: " : "all %u LUNs: ", n);
		return;
	}
	for (uint32_t k = 0; k < shown && len < room; k++)
		len += (size_t)snprintf(buf + len, room - len, "%s%s", k ? ", " : "",
			labels[r->findings[i + k].lun]);
	if (len < room && shown < n)
		len += (size_t)snprintf(buf + len, room - len, " and %u more LUNs", n - shown);
	if (len < room)
		snprintf(buf + len, room - len, ": ");
}

void lb_report_findings(FILE *out, const struct lb_result *r, char *const *labels)
{
	char names[4096 + 256], text[1300], line[sizeof(names) + sizeof(text)];
	uint32_t lines = 0;

	if (r->n_findings)
		fprintf(out, "\nfindings\n");
	for (uint32_t i = 0, n; i < r->n_findings; i += n) {
		const struct lb_finding *f = &r->findings[i];
		size_t code = strlen(f->code);

		n = same_findings(r, i);
		lines = i && !strcmp(f->code, r->findings[i - 1].code) ? lines + 1 : 1;
		if (lines > FINDINGS_MAX) {
			for (n = 1;
				i + n < r->n_findings && !strcmp(f->code, r->findings[i + n].code);)
				n++;
			fprintf(out, "  %s: %u more; --json has them all\n", f->code, n);
			continue;
		}
		whom(r, labels, i, n, names, sizeof(names));
		snprintf(line, sizeof(line), "%s%s", names,
			lb_printable(text, sizeof(text), f->text));
		fprintf(out, "  %s:", f->code);
		lb_report_wrapped(out, line, 2 + code + 1, 6);
	}
}
