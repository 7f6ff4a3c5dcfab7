/*
 * The write interlock, driven by tests: guard_tool [--open] [--4kn] [--overwrite ID]... PATH...
 * Prints for each PATH a line "PATH: VERDICT", and with --open what was held in the end. Ends with
 * 0 when all may be written to, 2 when not. With --open a line is read from stdin before the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"

int main(int argc, char **argv)
{
	const char *overwrite[64], *targets[256];
	struct lb_config cfg = {.targets = targets,
		.size_bytes = 512,
		.sizes = {1, {512}, {100}},
		.seq_streams = 1,
		.region = {.end = 1000000, .start_is_ppm = true, .end_is_ppm = true}};
	size_t n_overwrite = 0, n, refused;
	struct lb_lun *luns;
	struct lb_verdict *verdicts;
	bool do_open = false;
	_Atomic uint32_t at;
	_Atomic uint64_t filled;
	struct lb_err err = {.text = ""};
	char summary[512];

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--open"))
			do_open = true;
		else if (!strcmp(argv[i], "--4kn"))
			cfg.size_bytes = cfg.sizes.bytes[0] = 4096;
		else if (!strcmp(argv[i], "--overwrite") && i + 1 < argc && n_overwrite < 64)
			overwrite[n_overwrite++] = argv[++i];
		else if (cfg.n_targets < 256)
			targets[cfg.n_targets++] = argv[i];
	}
	n = cfg.n_targets;
	luns = calloc(n + 1, sizeof(*luns));
	verdicts = calloc(n + 1, sizeof(*verdicts));
	if (!luns || !verdicts)
		return 3;
	lb_luns_init(luns, &cfg);
	if (lb_luns_open(luns, &cfg, &at, &filled, &err)) {
		printf("%s\n", err.text);
		return 3;
	}
	for (size_t i = 0; i < n_overwrite; i++) {
		if (!lb_guard_names_any(luns, n, overwrite[i]))
			printf("--overwrite %s: names none\n", overwrite[i]);
	}
	refused = do_open ? lb_guard_open(luns, n, overwrite, n_overwrite, verdicts)
			  : lb_guard_examine(luns, n, overwrite, n_overwrite, verdicts);
	for (size_t i = 0; i < n; i++) {
		if (verdicts[i].may_write)
			printf("%s: may be written to: %s\n", luns[i].name, verdicts[i].what);
		else if (luns[i].fate == LB_FATE_REFUSED)
			printf("%s: unfit: %s\n", luns[i].name, luns[i].why);
	}
	lb_guard_refuse(luns, n, verdicts, summary);
	for (size_t i = 0; i < n; i++) {
		if (!strncmp(luns[i].why, "not written to: ", 16))
			printf("%s: %s\n", luns[i].name, luns[i].why);
	}
	if (refused)
		printf("%s\n", summary);
	fflush(stdout);
	if (do_open)
		getchar();
	lb_luns_close(luns, n);
	free(luns);
	free(verdicts);
	return refused ? 2 : 0;
}
