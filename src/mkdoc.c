/*
 * Made and run by the build alone: writes to stdout what is made from the table of options.
 *
 *	mkdoc man TEMPLATE    the template, with the table for its line @OPTIONS@
 *	mkdoc completion      for bash
 */
#include <stdlib.h>
#include <string.h>

#include "config.h"

static int print_man(const struct lb_config *cfg, const char *template)
{
	FILE *in = fopen(template, "r");
	char *line = NULL;
	size_t room = 0;

	if (!in)
		return -1;
	while (getline(&line, &room, in) > 0) {
		if (!strcmp(line, "@OPTIONS@\n"))
			lb_opt_print_man(stdout, cfg->sets, cfg->n_sets);
		else
			fputs(line, stdout);
	}
	free(line);
	return ferror(in) | fclose(in);
}

int main(int argc, char **argv)
{
	struct lb_config cfg;
	int rc = lb_config_parse(&cfg, 1, argv, NULL);

	if (!rc && argc == 3 && !strcmp(argv[1], "man"))
		rc = print_man(&cfg, argv[2]);
	else if (!rc && argc == 2 && !strcmp(argv[1], "completion"))
		lb_opt_print_completion(stdout, cfg.sets, cfg.n_sets);
	else
		rc = -1;
	lb_config_done(&cfg);
	return rc || fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
