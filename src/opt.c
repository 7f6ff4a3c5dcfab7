#include "opt.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

#define TYPED_MAX    96 /* of a value shown in a message */
#define ALLOWED_MAX  192
#define NAME_LEN_MAX 32 /* of an option; a longer name typed is near to none */

/* VALUE as a message shows it: printable, and "..." where it is too long to show. */
static char *typed(char buf[TYPED_MAX], const char *value)
{
	char longer[TYPED_MAX + 8];

	lb_printable(longer, sizeof(longer), value);
	lb_printable(buf, TYPED_MAX - 3, value);
	if (strlen(longer) > strlen(buf))
		strcat(buf, "...");
	return buf;
}

int lb_opt_fail(const struct lb_opt *opt, const char *value, int errnum, struct lb_err *err,
	const char *fmt, ...)
{
	char what[640], shown[TYPED_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return lb_fail(
		err, LB_ST_USAGE, errnum, "--%s: \"%s\" %s", opt->name, typed(shown, value), what);
}

/* A limit of OPT in its unit. */
static char *format_limit(char *buf, size_t n, const struct lb_opt *opt, uint64_t v)
{
	if (opt->type == LB_OPT_SIZE)
		return lb_format_size(buf, n, v);
	if (opt->type == LB_OPT_DURATION)
		return lb_format_duration(buf, n, v);
	snprintf(buf, n, "%" PRIu64, v);
	return buf;
}

char *lb_opt_range(char *buf, size_t n, const struct lb_opt *opt)
{
	char low[32], high[32];

	switch (opt->type) {
	case LB_OPT_U32:
	case LB_OPT_U64:
	case LB_OPT_SIZE:
	case LB_OPT_DURATION:
		snprintf(buf, n, "%s to %s", format_limit(low, sizeof(low), opt, opt->min),
			format_limit(high, sizeof(high), opt, opt->max));
		return buf;
	default:
		return strcpy(buf, "");
	}
}

char *lb_opt_words(char *buf, size_t n, const struct lb_opt *opt, const char *between)
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; opt->words[i] && len < n; i++)
		len += (size_t)snprintf(
			buf + len, n - len, "%s%s", i ? between : "", opt->words[i]);
	return buf;
}

/* What a value of OPT looks like. */
static char *allowed(char buf[ALLOWED_MAX], const struct lb_opt *opt)
{
	switch (opt->type) {
	case LB_OPT_SIZE:
		return strcpy(buf, "use bytes or k, M, G (powers of 1024), e.g. 16k");
	case LB_OPT_DURATION:
		return strcpy(buf, "use seconds or ns, us, ms, s, m, h, d, e.g. 30s");
	case LB_OPT_ENUM:
		memcpy(buf, "use ", 4);
		lb_opt_words(buf + 4, ALLOWED_MAX - 4, opt, ", ");
		return buf;
	case LB_OPT_STR:
	case LB_OPT_LIST:
	case LB_OPT_CUSTOM:
		snprintf(buf, ALLOWED_MAX, "use %s", opt->metavar);
		return buf;
	default:
		memcpy(buf, "use ", 4);
		lb_opt_range(buf + 4, ALLOWED_MAX - 4, opt);
		return buf;
	}
}

static void *field_of(const struct lb_opt_set *set, size_t i)
{
	return (char *)set->base + set->rows[i].offset;
}

int lb_opt_set_number(const struct lb_opt *opt, void *field, const char *value, struct lb_err *err)
{
	const char *kind = opt->type == LB_OPT_SIZE       ? "size"
			   : opt->type == LB_OPT_DURATION ? "duration"
							  : "number";
	char can[ALLOWED_MAX], shown[TYPED_MAX];
	uint64_t v = 0;
	int rc = opt->type == LB_OPT_SIZE       ? lb_parse_size(value, &v)
		 : opt->type == LB_OPT_DURATION ? lb_parse_duration(value, &v)
						: lb_parse_u64(value, &v);

	if (rc == -EINVAL)
		return lb_opt_fail(
			opt, value, EINVAL, err, "is no %s: %s", kind, allowed(can, opt));
	if (rc == -EDOM)
		return lb_opt_fail(opt, value, EINVAL, err, "is not a whole number of %s",
			opt->type == LB_OPT_SIZE ? "bytes" : "nanoseconds");
	if (rc || v < opt->min || v > opt->max)
		return lb_fail(err, LB_ST_USAGE, ERANGE, "--%s: %s is out of range (%s)", opt->name,
			typed(shown, value), lb_opt_range(can, sizeof(can), opt));
	if (opt->type == LB_OPT_U32)
		*(uint32_t *)field = (uint32_t)v;
	else
		*(uint64_t *)field = v;
	return 0;
}

static int set_enum(const struct lb_opt *opt, int *field, const char *value, struct lb_err *err)
{
	char can[ALLOWED_MAX];

	for (int i = 0; opt->words[i]; i++) {
		if (!strcmp(opt->words[i], value)) {
			*field = i;
			return 0;
		}
	}
	return lb_opt_fail(opt, value, EINVAL, err, "is not known: %s", allowed(can, opt));
}

/* A parser of its own may have put the value into its message as it was typed. */
static int set_custom(const struct lb_opt *opt, void *field, const char *value, struct lb_err *err)
{
	struct lb_err raw = {0};
	int rc = opt->parse(opt, field, value, &raw);

	if (rc && err) {
		err->status = raw.status;
		lb_printable(err->text, sizeof(err->text), raw.text);
	}
	return rc;
}

static int add_to_list(struct lb_opt_list *list, const char *value, struct lb_err *err)
{
	const char **item = realloc(list->item, (list->n + 1) * sizeof(*item));
	char *text = NULL;

	if (item) {
		list->item = item;
		if (asprintf(&text, "%s%s%s", list->text ? list->text : "", list->text ? "," : "",
			    value) < 0)
			text = NULL;
	}
	if (!text)
		return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "out of memory");
	list->item[list->n++] = value;
	free(list->text);
	list->text = text;
	return 0;
}

void lb_opt_list_done(struct lb_opt_list *list)
{
	free(list->item);
	free(list->text);
	*list = (struct lb_opt_list){0};
}

static int set_field(const struct lb_opt *opt, void *field, const char *value, struct lb_err *err)
{
	char can[ALLOWED_MAX];

	if (opt->type != LB_OPT_FLAG && !*value)
		return lb_fail(err, LB_ST_USAGE, EINVAL, "--%s: the value is empty: %s", opt->name,
			allowed(can, opt));
	switch (opt->type) {
	case LB_OPT_FLAG:
		*(bool *)field = true;
		return 0;
	case LB_OPT_ENUM:
		return set_enum(opt, field, value, err);
	case LB_OPT_STR:
		*(const char **)field = value;
		return 0;
	case LB_OPT_LIST:
		return add_to_list(field, value, err);
	case LB_OPT_CUSTOM:
		return set_custom(opt, field, value, err);
	default:
		return lb_opt_set_number(opt, field, value, err);
	}
}

void lb_opt_defaults(struct lb_opt_set *set)
{
	struct lb_err err = {0};

	for (size_t i = 0; i < set->n; i++) {
		const struct lb_opt *opt = &set->rows[i];
		int rc = opt->dflt ? set_field(opt, field_of(set, i), opt->dflt, &err) : 0;

		assert(!rc);
		(void)rc;
		set->source[i] = LB_SRC_DEFAULT;
		set->text[i] = opt->dflt;
	}
}

/* ---- finding an option by what was typed */

struct place {
	const struct lb_opt_set *set;
	size_t i;
};

/* Edits that turn A into B: a character more, less or another, or two neighbours swapped. */
static unsigned distance(const char *a, const char *b)
{
	unsigned d[NAME_LEN_MAX + 1][NAME_LEN_MAX + 1];
	size_t na = strlen(a), nb = strlen(b);

	if (na > NAME_LEN_MAX || nb > NAME_LEN_MAX)
		return NAME_LEN_MAX;
	for (size_t i = 0; i <= na; i++) {
		for (size_t j = 0; j <= nb; j++) {
			unsigned best = (unsigned)(i ? i : j), cost;

			if (i && j) {
				cost = a[i - 1] != b[j - 1];
				best = d[i - 1][j - 1] + cost;
				if (d[i - 1][j] + 1 < best)
					best = d[i - 1][j] + 1;
				if (d[i][j - 1] + 1 < best)
					best = d[i][j - 1] + 1;
				if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
					a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
					best = d[i - 2][j - 2] + 1;
			}
			d[i][j] = best;
		}
	}
	return d[na][nb];
}

/* The option that NAME was meant to be: one that it begins, or is a slip or two away from. */
static const char *nearest(const struct lb_opt_set *sets, size_t n_sets, const char *name)
{
	size_t len = strlen(name);
	unsigned best = len < 4 ? 2 : 3, d; /* one slip in a short name, two in a longer one */
	const char *found = NULL;

	for (size_t s = 0; s < n_sets; s++) {
		for (size_t i = 0; i < sets[s].n; i++) {
			const char *known = sets[s].rows[i].name;

			d = len >= 2 && !strncmp(known, name, len) ? 0 : distance(name, known);
			if (d < best) {
				best = d;
				found = known;
			}
		}
	}
	return found;
}

static int unknown(const struct lb_opt_set *sets, size_t n_sets, const char *dashes,
	const char *name, struct lb_err *err)
{
	const char *near = dashes[1] ? nearest(sets, n_sets, name) : NULL;
	char shown[TYPED_MAX];

	typed(shown, name);
	if (near)
		return lb_fail(err, LB_ST_USAGE, ENOENT,
			"unknown option \"%s%s\": did you mean --%s?", dashes, shown, near);
	return lb_fail(err, LB_ST_USAGE, ENOENT, "unknown option \"%s%s\": --help lists them all",
		dashes, shown);
}

static bool find_name(const struct lb_opt_set *sets, size_t n_sets, const char *name, size_t len,
	struct place *at)
{
	for (size_t s = 0; s < n_sets; s++) {
		for (size_t i = 0; i < sets[s].n; i++) {
			const char *known = sets[s].rows[i].name;

			if (strlen(known) == len && !memcmp(known, name, len)) {
				*at = (struct place){&sets[s], i};
				return true;
			}
		}
	}
	return false;
}

static bool find_letter(const struct lb_opt_set *sets, size_t n_sets, char letter, struct place *at)
{
	for (size_t s = 0; s < n_sets; s++) {
		for (size_t i = 0; i < sets[s].n; i++) {
			if (letter && sets[s].rows[i].letter == letter) {
				*at = (struct place){&sets[s], i};
				return true;
			}
		}
	}
	return false;
}

const struct lb_opt *lb_opt_find(
	const struct lb_opt_set *sets, size_t n_sets, const char *name, const char **text)
{
	struct place at;

	if (!find_name(sets, n_sets, name, strlen(name), &at))
		return NULL;
	if (text)
		*text = at.set->text[at.i];
	return &at.set->rows[at.i];
}

/* ---- setting it */

static int set_place(
	struct place at, const char *value, enum lb_opt_source source, struct lb_err *err)
{
	const struct lb_opt *opt = &at.set->rows[at.i];
	char shown[2][TYPED_MAX], can[ALLOWED_MAX];
	int rc;

	if (opt->type == LB_OPT_FLAG) {
		if (value)
			return lb_fail(err, LB_ST_USAGE, EINVAL, "--%s takes no value: \"%s\"",
				opt->name, typed(shown[0], value));
		value = "true";
	} else if (!value) {
		if (!opt->is_optional)
			return lb_fail(err, LB_ST_USAGE, EINVAL, "--%s needs a value: %s",
				opt->name, allowed(can, opt));
		value = opt->optional_value;
	}
	if (source < at.set->source[at.i])
		return 0;
	if (opt->type != LB_OPT_LIST && source == LB_SRC_COMMAND_LINE &&
		at.set->source[at.i] == source && strcmp(at.set->text[at.i], value))
		return lb_fail(err, LB_ST_USAGE, EINVAL, "--%s is given twice: \"%s\" and \"%s\"",
			opt->name, typed(shown[0], at.set->text[at.i]), typed(shown[1], value));
	rc = set_field(opt, field_of(at.set, at.i), value, err);
	if (rc)
		return rc;
	at.set->source[at.i] = source;
	at.set->text[at.i] = value;
	if (opt->type == LB_OPT_LIST)
		at.set->text[at.i] = ((struct lb_opt_list *)field_of(at.set, at.i))->text;
	return 0;
}

int lb_opt_set_value(struct lb_opt_set *sets, size_t n_sets, const char *name, const char *value,
	enum lb_opt_source source, struct lb_err *err)
{
	struct place at;

	if (!find_name(sets, n_sets, name, strlen(name), &at))
		return unknown(sets, n_sets, "--", name, err);
	return set_place(at, value, source, err);
}

/* The value of an option that came without one: the next argument, *NEXT, where it takes one. */
static int value_after(
	const struct place *at, char **next, const char **value, int *taken, struct lb_err *err)
{
	const struct lb_opt *opt = &at->set->rows[at->i];
	char shown[TYPED_MAX], can[ALLOWED_MAX];

	*value = NULL;
	if (opt->type == LB_OPT_FLAG || opt->is_optional || !*next)
		return 0;
	/* a forgotten value must not swallow the next option (--json --hist would make a file) */
	if (!strncmp(*next, "--", 2))
		return lb_fail(err, LB_ST_USAGE, EINVAL,
			"--%s needs a value, and \"%s\" follows: %s", opt->name,
			typed(shown, *next), allowed(can, opt));
	*value = *next;
	*taken = 1;
	return 0;
}

/* Parses the option at ARGV[0]; *TAKEN is 1 when the next argument was its value. */
static int parse_one(
	struct lb_opt_set *sets, size_t n_sets, char **argv, int *taken, struct lb_err *err)
{
	const char *name = argv[0] + 1, *value = NULL, *equals;
	struct place at;
	size_t len;
	int rc = 0;

	if (*name == '-') {
		name++;
		equals = strchr(name, '=');
		len = equals ? (size_t)(equals - name) : strlen(name);
		if (!find_name(sets, n_sets, name, len, &at)) {
			char cut[TYPED_MAX];

			if (!len || len >= sizeof(cut)) /* "--=3" is no name at all */
				return unknown(sets, n_sets, "--", name, err);
			memcpy(cut, name, len);
			cut[len] = '\0';
			return unknown(sets, n_sets, "--", cut, err);
		}
		value = equals ? equals + 1 : NULL;
	} else {
		if (!find_letter(sets, n_sets, *name, &at))
			return unknown(sets, n_sets, "-", name, err);
		value = name[1] ? name + 1 : NULL;
	}
	if (!value)
		rc = value_after(&at, argv + 1, &value, taken, err);
	return rc ? rc : set_place(at, value, LB_SRC_COMMAND_LINE, err);
}

int lb_opt_parse(struct lb_opt_set *sets, size_t n_sets, int argc, char **argv,
	const char **operands, size_t *n_operands, struct lb_err *err)
{
	bool is_ended = false;

	*n_operands = 0;
	for (int i = 1; i < argc; i++) {
		int taken = 0, rc;

		if (is_ended || argv[i][0] != '-' || !argv[i][1]) {
			operands[(*n_operands)++] = argv[i];
			continue;
		}
		if (!strcmp(argv[i], "--")) {
			is_ended = true;
			continue;
		}
		rc = parse_one(sets, n_sets, &argv[i], &taken, err);
		if (rc)
			return rc;
		i += taken;
	}
	return 0;
}
