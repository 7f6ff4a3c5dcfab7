/* argv to exit status. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "judge.h"
#include "list.h"
#include "output.h"
#include "report.h"
#include "result.h"
#include "shm.h"
#include "supervise.h"
#include "sysfs.h"
#include "units.h"

struct run {
	struct lb_config cfg;
	struct lb_shm shm;
	struct lb_board *board;
	struct lb_outcome outcome;
	struct lb_result result;
	struct lb_output json;
};

static void complain(const char *text)
{
	char shown[4096];

	fprintf(stderr, "lunbench: %s\n", lb_printable(shown, sizeof(shown), text));
}

static int complain_of(const struct lb_err *err)
{
	complain(err->text);
	return err->status;
}

/*
 * A closed standard descriptor would be the number of the first LUN opened, and the report would be
 * written into it. The stand-in fails every use, so a report that cannot be seen is still noticed.
 */
static void secure_stdio(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
			open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
			abort();
}

/* What became of a target that is not used, for people to read. Returns whether it was refused. */
static bool tell_fate(const struct lb_lun *lun)
{
	char name[512], why[1024];

	if (lun->fate == LB_FATE_REFUSED || lun->fate == LB_FATE_PASSED_OVER)
		fprintf(stderr, "lunbench: %s: %s%s\n", lb_printable(name, sizeof(name), lun->name),
			lun->fate == LB_FATE_PASSED_OVER ? "passed over: " : "",
			lb_printable(why, sizeof(why), lun->why));
	return lun->fate == LB_FATE_REFUSED;
}

/* Returns how many were refused. */
static uint32_t tell_fates(const struct lb_board *b)
{
	uint32_t refused = 0;

	for (uint32_t i = 0; i < b->n_luns; i++)
		refused += tell_fate(&b->luns[i]);
	return refused;
}

/* What keeps the run from beginning, a line each. */
static bool tell_stops(const struct lb_result *r)
{
	bool any = false;

	for (uint32_t i = 0; i < r->preflight->n; i++) {
		const struct lb_finding *f = &r->preflight->at[i];

		if (f->gravity != LB_STOPS)
			continue;
		complain(f->text);
		any = true;
	}
	return any;
}

static int write_reports(struct run *r)
{
	const struct lb_config *cfg = &r->cfg;
	bool is_check = cfg->command == LB_CMD_CHECK;
	bool json_only = cfg->json_path && strcmp(cfg->json_path, "-") == 0;
	struct lb_err err;
	int failed = 0;

	if (!json_only && r->result.plan)
		failed = (is_check ? lb_report_check : lb_report_text)(stdout, &r->result) |
			 ferror(stdout) | fflush(stdout);
	if (failed)
		complain("cannot write the report to the standard output");
	if (cfg->json_path) {
		(is_check ? lb_report_check_json : lb_report_json)(r->json.file, &r->result);
		if (lb_output_commit(&r->json, &err)) {
			complain_of(&err);
			failed = 1;
		}
	}
	return failed ? LB_ST_OUTPUT : LB_OK;
}

/* Everything from the first look at a target to the last line of the report. */
static int measure(struct run *r)
{
	struct lb_err err;
	uint32_t refused;
	bool is_told; /* why it did not run: with its target, or in the report of a check */
	int status;

	if (lb_board_make(&r->board, &r->shm, &r->cfg, &err))
		return complain_of(&err);
	status = lb_supervise(&r->cfg, &r->shm, r->board, &r->outcome, &err);
	if (status == -EINTR)
		return 128 + r->outcome.signal;
	if (status < 0)
		return complain_of(&err);
	refused = tell_fates(r->board);
	if (lb_result_make(&r->result, &r->cfg, r->board, &r->outcome, &err))
		return complain_of(&err);
	is_told = refused || (r->cfg.command == LB_CMD_CHECK && r->result.plan);
	if (!is_told && !tell_stops(&r->result) && r->result.error[0])
		complain(r->result.error);
	status = write_reports(r);
	return status ? status : r->result.status;
}

static int write_list(struct run *r, const struct lb_list *list)
{
	const char *json_path = r->cfg.json_path;
	struct lb_err err;
	int failed = 0;

	for (size_t i = 0; i < list->n; i++)
		tell_fate(&list->rows[i].lun);
	if (!json_path || strcmp(json_path, "-"))
		failed = lb_report_list(stdout, list) | ferror(stdout) | fflush(stdout);
	if (failed)
		complain("cannot write the list to the standard output");
	if (json_path) {
		lb_report_list_json(r->json.file, list);
		if (lb_output_commit(&r->json, &err))
			failed = complain_of(&err);
	}
	return failed ? LB_ST_OUTPUT : (int)list->status;
}

static int list(struct run *r)
{
	struct lb_list all;
	struct lb_err err;
	int sysfs = lb_sysfs_open(), status;

	if (lb_list_make(&all, r->cfg.targets, r->cfg.n_targets, sysfs, "/proc", &err))
		status = complain_of(&err);
	else {
		lb_judge(&all);
		status = write_list(r, &all);
	}
	lb_list_done(&all);
	if (sysfs >= 0)
		close(sysfs);
	return status;
}

static int run(struct run *r, int argc, char **argv)
{
	struct lb_err err;

	if (lb_config_parse(&r->cfg, argc, argv, &err))
		return complain_of(&err);
	if (r->cfg.help || r->cfg.version) {
		if (r->cfg.help)
			lb_config_print_help(stdout, &r->cfg);
		else
			printf("lunbench %s\n", LB_VERSION);
		if (!fflush(stdout) && !ferror(stdout))
			return LB_OK;
		complain("cannot write to the standard output");
		return LB_ST_OUTPUT;
	}
	if (lb_config_check(&r->cfg, &err))
		return complain_of(&err);
	if (r->cfg.json_path && lb_output_open(&r->json, r->cfg.json_path, &err))
		return complain_of(&err);
	return r->cfg.command == LB_CMD_LIST ? list(r) : measure(r);
}

int main(int argc, char **argv)
{
	struct run *r = calloc(1, sizeof(*r));
	int status;

	if (!r)
		return LB_ST_UNAVAILABLE;
	secure_stdio();
	signal(SIGPIPE, SIG_IGN);
	status = run(r, argc, argv);
	lb_result_done(&r->result);
	lb_output_done(&r->json);
	lb_shm_done(&r->shm);
	lb_config_done(&r->cfg);
	free(r);
	return status;
}
