#include "hint.h"

#include <stdio.h>
#include <string.h>

/* Whether a letter more or less, another one, or two that changed places, make A of B. */
static bool is_near(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);

	for (; n && m && *a == *b; a++, b++, n--, m--)
		;
	for (; n && m && a[n - 1] == b[m - 1]; n--, m--)
		;
	return (n <= 1 && m <= 1) || (n == 2 && m == 2 && a[0] == b[1] && a[1] == b[0]);
}

static bool has_word(const struct lb_opt *opt, const char *name)
{
	for (const char *const *w = opt->words; w && *w; w++)
		if (!strcmp(*w, name))
			return true;
	return false;
}

/* Of several, one whose value may be left out: there the blank made it a target. */
static const struct lb_opt *option_of(
	const struct lb_opt_set *sets, size_t n_sets, const char *name)
{
	const struct lb_opt *found = NULL;

	for (size_t s = 0; s < n_sets; s++)
		for (size_t i = 0; i < sets[s].n; i++)
			if (has_word(&sets[s].rows[i], name) &&
				(!found || (sets[s].rows[i].is_optional && !found->is_optional)))
				found = &sets[s].rows[i];
	return found;
}

const char *lb_hint(
	char *buf, size_t n, const struct lb_opt_set *sets, size_t n_sets, const char *name)
{
	static const char *const commands[] = {"list", "check", "report"};
	const struct lb_opt *opt = strchr(name, '/') ? NULL : option_of(sets, n_sets, name);

	buf[0] = '\0';
	if (opt)
		snprintf(buf, n, "--%s=%s?", opt->name, name);
	for (size_t i = 0; !opt && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (is_near(name, commands[i]))
			snprintf(buf, n, "lunbench %s?", commands[i]);
	return buf;
}
