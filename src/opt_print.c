/* The table of options as people read it: --help, the manual, and what the shell completes. */
#include <inttypes.h>
#include <string.h>

#include "opt.h"

#define WIDTH  80
#define COLUMN 26 /* where the help text begins */

/* What stands for the value of OPT: "SIZE", "rand|seq"; "" for a flag. */
static char *placeholder(char *buf, size_t n, const struct lb_opt *opt)
{
	if (opt->type == LB_OPT_ENUM && !opt->metavar)
		return lb_opt_words(buf, n, opt, "|");
	snprintf(buf, n, "%s", opt->metavar ? opt->metavar : "");
	return buf;
}

/* "512 to 64M; default 8k", with "" where there is nothing to say. */
static char *limits(char *buf, size_t n, const struct lb_opt *opt)
{
	char range[96];

	lb_opt_range(range, sizeof(range), opt);
	if (opt->max == UINT64_MAX) /* no limit that anyone meets */
		range[0] = '\0';
	snprintf(buf, n, "%s%s%s%s", range, *range && opt->dflt ? "; " : "",
		opt->dflt ? "default " : "", opt->dflt ? opt->dflt : "");
	return buf;
}

/* TEXT in lines of at most WIDTH columns, each from COLUMN on; the cursor stands at AT. */
static void print_wrapped(FILE *out, size_t at, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, " ");

		if (at > COLUMN && at + 1 + len > WIDTH) {
			fputc('\n', out);
			at = 0;
		}
		if (at <= COLUMN)
			at += (size_t)fprintf(out, "%*s", (int)(COLUMN - at), "");
		else
			at += (size_t)fprintf(out, " ");
		at += (size_t)fprintf(out, "%.*s", (int)len, text);
		text += len + strspn(text + len, " ");
	}
	fputc('\n', out);
}

static void print_help_row(FILE *out, const struct lb_opt *opt)
{
	char value[128], about[160], text[1024];
	size_t at;

	placeholder(value, sizeof(value), opt);
	limits(about, sizeof(about), opt);
	snprintf(text, sizeof(text), "%s%s%s%s", opt->help, *about ? " (" : "", about,
		*about ? ")" : "");
	at = (size_t)fprintf(out, "  --%s", opt->name);
	if (opt->letter)
		at += (size_t)fprintf(out, ", -%c", opt->letter);
	if (*value)
		at += (size_t)fprintf(out, opt->is_optional ? "[=%s]" : " %s", value);
	if (at + 2 > COLUMN) {
		fputc('\n', out);
		at = 0;
	}
	print_wrapped(out, at, text);
}

/* Calls ROW for each row, and HEADING (may be NULL) ahead of the first of each section. */
static void for_each_row(FILE *out, const struct lb_opt_set *sets, size_t n_sets,
	void (*heading)(FILE *, const char *, bool is_first),
	void (*row)(FILE *, const struct lb_opt *))
{
	const char *section = NULL;

	for (size_t s = 0; s < n_sets; s++) {
		for (size_t i = 0; i < sets[s].n; i++) {
			const struct lb_opt *opt = &sets[s].rows[i];

			if (heading && (!section || strcmp(section, opt->section)))
				heading(out, opt->section, !section);
			section = opt->section;
			row(out, opt);
		}
	}
}

static void print_help_heading(FILE *out, const char *section, bool is_first)
{
	fprintf(out, "%s%s:\n", is_first ? "" : "\n", section);
}

void lb_opt_print_help(FILE *out, const struct lb_opt_set *sets, size_t n_sets)
{
	for_each_row(out, sets, n_sets, print_help_heading, print_help_row);
}

/* S with its hyphens as minus signs, which a reader can copy into a shell. */
static void print_roff(FILE *out, const char *s)
{
	for (; *s; s++)
		fprintf(out, *s == '-' ? "\\-" : "%c", *s);
}

static void print_man_row(FILE *out, const struct lb_opt *opt)
{
	char value[128], about[160];

	placeholder(value, sizeof(value), opt);
	fputs(".It Fl ", out);
	if (opt->letter)
		fprintf(out, "%c , Fl ", opt->letter);
	print_roff(out, "-");
	print_roff(out, opt->name);
	if (*value) {
		fputs(opt->is_optional ? " Ns Op = Ns Ar " : " Ar ", out);
		print_roff(out, value);
	}
	fprintf(out, "\n%s%s", opt->man, opt->man[strlen(opt->man) - 1] == '\n' ? "" : "\n");
	if (*limits(about, sizeof(about), opt)) {
		fputc('(', out);
		print_roff(out, about);
		fputs(")\n", out);
	}
}

static void print_man_heading(FILE *out, const char *section, bool is_first)
{
	fprintf(out, "%s.Ss %s\n.Bl -tag -width Ds\n", is_first ? "" : ".El\n", section);
}

void lb_opt_print_man(FILE *out, const struct lb_opt_set *sets, size_t n_sets)
{
	for_each_row(out, sets, n_sets, print_man_heading, print_man_row);
	fputs(".El\n", out);
}

/* How bash completes the value of OPT. */
static void print_completion_row(FILE *out, const struct lb_opt *opt)
{
	char words[128];

	if (opt->type == LB_OPT_FLAG)
		return;
	fputs("\t", out);
	if (!opt->is_optional)
		fprintf(out, "--%s | ", opt->name);
	fprintf(out, "--%s=)\n", opt->name);
	if (opt->words)
		fprintf(out, "\t\tCOMPREPLY=($(compgen -W '%s' -- \"$cur\"))\n",
			lb_opt_words(words, sizeof(words), opt, " "));
	else if (strncmp(opt->metavar, "FILE", 4))
		fputs("\t\tcompopt +o default\n", out);
	fputs("\t\treturn\n\t\t;;\n", out);
}

static void print_completion_name(FILE *out, const struct lb_opt *opt)
{
	fprintf(out, " --%s", opt->name);
}

void lb_opt_print_completion(FILE *out, const struct lb_opt_set *sets, size_t n_sets)
{
	/* bash splits words at "=": --pat=ra is three of them */
	fputs("# bash completion for lunbench, made from its table of options\n"
	      "_lunbench()\n"
	      "{\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
	      "\n"
	      "\tCOMPREPLY=()\n"
	      "\tif [[ $cur == = ]]; then\n"
	      "\t\tprev+='='\n"
	      "\t\tcur=\n"
	      "\telif [[ $prev == = ]]; then\n"
	      "\t\tprev=${COMP_WORDS[COMP_CWORD - 2]}=\n"
	      "\tfi\n"
	      "\tcase $prev in\n",
		out);
	for_each_row(out, sets, n_sets, NULL, print_completion_row);
	fputs("\tesac\n"
	      "\tif [[ $cur == -* ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W '",
		out);
	for_each_row(out, sets, n_sets, NULL, print_completion_name);
	fputs("' -- \"$cur\"))\n"
	      "\tfi\n"
	      "}\n"
	      "complete -o default -F _lunbench lunbench\n",
		out);
}
