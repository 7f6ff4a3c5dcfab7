/*
 * Option rows: one const table says what an option is called, what it takes, its default, its
 * range and its words. From a row come the parser, --help, the manual's section, the completion and
 * the echo in the JSON, so an option is spelled in one place.
 */
#ifndef LB_OPT_H
#define LB_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "err.h"

enum lb_opt_type {
	LB_OPT_FLAG,     /* bool; takes no value */
	LB_OPT_U32,      /* uint32_t, a plain number */
	LB_OPT_U64,      /* uint64_t, a plain number */
	LB_OPT_SIZE,     /* uint64_t bytes */
	LB_OPT_DURATION, /* uint64_t ns */
	LB_OPT_ENUM,     /* int, one of `words` by position */
	LB_OPT_STR,      /* const char *, kept as given (not copied) */
	LB_OPT_LIST,     /* struct lb_opt_list; may be given again and again */
	LB_OPT_CUSTOM,   /* `parse` decides */
};

/* What an option that may be repeated was given, in order; the strings are kept, not copied. */
struct lb_opt_list {
	const char **item;
	size_t n;
	char *text; /* all of them, with commas between */
};

void lb_opt_list_done(struct lb_opt_list *list);

/* Where a value came from; the strongest wins. */
enum lb_opt_source { LB_SRC_DEFAULT, LB_SRC_PROFILE, LB_SRC_COMMAND_LINE };

struct lb_opt {
	const char *name; /* without the dashes */
	char letter;      /* its short form, or 0 */
	enum lb_opt_type type;
	const char *section;      /* heading in --help and the manual */
	const char *metavar;      /* NULL for LB_OPT_FLAG; for LB_OPT_ENUM: its words */
	size_t offset;            /* of the field in the struct that the table fills */
	uint64_t min, max;        /* inclusive; of numbers, bytes or ns */
	const char *const *words; /* LB_OPT_ENUM: NULL-terminated; LB_OPT_CUSTOM: to complete by */
	const char *dflt; /* parsed like a value given; NULL: the field stays zero (unset) */
	const char *help; /* a line for --help */
	const char *man;  /* the manual's paragraphs; mdoc(7) text */
	bool is_optional; /* the value may be left out: --name means --name=optional_value */
	const char *optional_value;
	/* LB_OPT_CUSTOM. Says what is wrong with VALUE and what would be right in ERR. */
	int (*parse)(const struct lb_opt *opt, void *field, const char *value, struct lb_err *err);
};

/*
 * A table in use: N rows over the struct at BASE, and for each row where its value came from and
 * the text it was given as (the default's text, or NULL when unset).
 */
struct lb_opt_set {
	const struct lb_opt *rows;
	size_t n;
	void *base;
	enum lb_opt_source *source; /* n */
	const char **text;          /* n */
};

/* Fills the fields of SET with the defaults. A default that does not parse is a bug: asserts. */
void lb_opt_defaults(struct lb_opt_set *set);

/*
 * Sets one option by name (without dashes) from VALUE (NULL: none given). Fills ERR with option,
 * value and what is allowed; returns 0 or -EINVAL, -ERANGE, -ENOENT (no such option).
 */
int lb_opt_set_value(struct lb_opt_set *sets, size_t n_sets, const char *name, const char *value,
	enum lb_opt_source source, struct lb_err *err);

/*
 * Parses ARGV[1..] against the tables: --name VALUE, --name=VALUE, -l VALUE, -lVALUE; `--` ends the
 * options; options and operands may be mixed. Names must be whole. The operands are gathered, in
 * order, at the front of OPERANDS (room for argc), *N_OPERANDS of them. An option given twice is
 * refused (-EINVAL) unless equal: the last does not silently win.
 */
int lb_opt_parse(struct lb_opt_set *sets, size_t n_sets, int argc, char **argv,
	const char **operands, size_t *n_operands, struct lb_err *err);

/* VALUE as OPT of a numeric type takes it, into FIELD. Returns 0 or negative with ERR. */
int lb_opt_set_number(const struct lb_opt *opt, void *field, const char *value, struct lb_err *err);

/*
 * For parsers of LB_OPT_CUSTOM: `--name: "VALUE" FMT...`, the value made printable and cut where it
 * is long. Returns -ERRNUM.
 */
int lb_opt_fail(const struct lb_opt *opt, const char *value, int errnum, struct lb_err *err,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* The row called NAME, and in *TEXT (may be NULL) its text. NULL: there is none. */
const struct lb_opt *lb_opt_find(
	const struct lb_opt_set *sets, size_t n_sets, const char *name, const char **text);

/* "512 to 64M", "" for types without a range; and the words of an LB_OPT_ENUM. Return BUF. */
char *lb_opt_range(char *buf, size_t n, const struct lb_opt *opt);
char *lb_opt_words(char *buf, size_t n, const struct lb_opt *opt, const char *between);

/*
 * The rows as --help lists them (80 columns), as mdoc(7) for the manual's OPTIONS, and as a bash
 * completion.
 */
void lb_opt_print_help(FILE *out, const struct lb_opt_set *sets, size_t n_sets);
void lb_opt_print_man(FILE *out, const struct lb_opt_set *sets, size_t n_sets);
void lb_opt_print_completion(FILE *out, const struct lb_opt_set *sets, size_t n_sets);

#endif
