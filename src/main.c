/* argv to exit status. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "config.h"
#include "hint.h"
#include "judge.h"
#include "list.h"
#include "output.h"
#include "report.h"
#include "result.h"
#include "saved.h"
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
	struct lb_saved saved;
	struct lb_output json, text, stream;
	struct lb_feed feed;
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

/* Fails every use: reading where it is FOR_READING, else writing. -1: there is none. */
static int open_stand_in(bool for_reading)
{
	int fd = open("/dev/null", for_reading ? O_WRONLY : O_RDONLY), ends[2];

	if (fd >= 0 || pipe(ends))
		return fd;
	if (for_reading) /* both are of the lowest numbers there are: this one is to have the lower
			  */
		dup2(ends[1], ends[0]);
	close(ends[1]);
	return ends[0];
}

/*
 * A closed standard descriptor would be the number of the first LUN opened, and the report would be
 * written into it. The stand-in fails every use, so a report that cannot be seen is still noticed.
 * A block device there would be written over, too.
 */
static int secure_stdio(void)
{
	struct stat st;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
			open_stand_in(fd == STDIN_FILENO) != fd)
			return LB_ST_UNAVAILABLE;
	for (int fd = STDERR_FILENO; fd >= STDOUT_FILENO; fd--) {
		if (fstat(fd, &st) || !S_ISBLK(st.st_mode))
			continue;
		if (fd == STDOUT_FILENO)
			complain("the standard output is a block device, which a report would "
				 "destroy");
		return LB_ST_USAGE;
	}
	return LB_OK;
}

/* What a target that is not there may have been meant as, or "". */
static const char *hint(char *buf, size_t n, const struct lb_config *cfg, const struct lb_lun *lun)
{
	buf[0] = '\0';
	if (lun->refusal == LB_ST_UNAVAILABLE && access(lun->name, F_OK))
		lb_hint(buf, n, cfg->sets, cfg->n_sets, lun->name);
	return buf;
}

/* What became of a target that is not used, for people to read. Returns whether it was refused. */
static bool tell_fate(const struct lb_config *cfg, const struct lb_lun *lun)
{
	char name[512], why[1024], meant[256] = "";
	bool is_refused = lun->fate == LB_FATE_REFUSED;

	if (is_refused)
		hint(meant, sizeof(meant), cfg, lun);
	if (is_refused || lun->fate == LB_FATE_PASSED_OVER)
		fprintf(stderr, "lunbench: %s: %s%s%s%s%s\n",
			lb_shorten(name, sizeof(name), lun->name),
			is_refused ? "" : "passed over: ", lb_printable(why, sizeof(why), lun->why),
			meant[0] ? " (" : "", meant, meant[0] ? ")" : "");
	return is_refused;
}

/* Returns how many were refused. */
static uint32_t tell_fates(const struct lb_config *cfg, const struct lb_board *b)
{
	uint32_t refused = 0;

	for (uint32_t i = 0; i < b->n_luns; i++)
		refused += tell_fate(cfg, &b->luns[i]);
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

/* What is for people, on stdout; NULL: it has been told that there is none. */
static FILE *begin_text(struct run *r)
{
	struct lb_err err;

	if (lb_output_open(&r->text, LB_OUTPUT_WHOLE, "-", NULL, 0, &err) == 0)
		return r->text.file;
	complain_of(&err);
	return NULL;
}

/* FAILED: it could not be made. Returns LB_OK or, told, LB_ST_OUTPUT. */
static int end_output(struct lb_output *out, int failed, bool is_page)
{
	struct lb_err err;
	int ret = 0;

	if (out->errnum || !failed)
		ret = lb_output_commit(out, &err);
	else
		complain("no memory for the report");
	if (ret && !(is_page && ret == -EPIPE)) /* who pages has seen enough of it */
		complain_of(&err);
	return ret || failed ? LB_ST_OUTPUT : LB_OK;
}

static bool has_text(const struct run *r)
{
	return (!r->cfg.json_path || strcmp(r->cfg.json_path, "-")) &&
	       (!r->cfg.stream_path || strcmp(r->cfg.stream_path, "-"));
}

static int write_reports(struct run *r)
{
	bool is_check = r->cfg.command == LB_CMD_CHECK;
	int status = LB_OK;
	FILE *out;

	if (has_text(r) && r->result.plan) {
		out = begin_text(r);
		status = LB_ST_OUTPUT;
		if (out)
			status = end_output(&r->text,
				(is_check ? lb_report_check : lb_report_text)(out, &r->result),
				false);
	}
	if (r->cfg.json_path)
		status |= end_output(&r->json,
			(is_check ? lb_report_check_json : lb_report_json)(
				r->json.file, &r->result),
			false);
	return status;
}

/* The last lines of the stream, which may have to wait for whoever reads it. */
static int end_stream(struct run *r, int status)
{
	if (!r->feed.out)
		return status;
	lb_feed_end(&r->feed, r->board, &r->result, status);
	return end_output(&r->stream, 0, false) ? LB_ST_OUTPUT : status;
}

/* A signal came before there was anything to measure: the report would be empty. */
static void tell_signal(struct lb_result *r)
{
	const char *name = sigabbrev_np(r->signal);

	snprintf(r->error, sizeof(r->error), "stopped by SIG%s before anything was measured",
		name ? name : "?");
	complain(r->error);
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
	status = lb_supervise(&r->cfg, &r->shm, r->board, &r->outcome, &r->feed, &err);
	if (status == -EINTR)
		return 128 + r->outcome.signal;
	if (status < 0)
		return complain_of(&err);
	refused = tell_fates(&r->cfg, r->board);
	if (lb_result_make(&r->result, &r->cfg, r->board, &r->outcome, &err))
		return complain_of(&err);
	if (r->result.signal && !r->result.plan)
		tell_signal(&r->result);
	is_told = (r->result.signal && !r->result.plan) || refused ||
		  (r->cfg.command == LB_CMD_CHECK && r->result.plan);
	if (!is_told && !tell_stops(&r->result) && r->result.error[0])
		complain(r->result.error);
	status = write_reports(r);
	return end_stream(r, status ? status : r->result.status);
}

static int write_list(struct run *r, const struct lb_list *list)
{
	int status = LB_OK;
	FILE *out;

	for (size_t i = 0; i < list->n; i++)
		tell_fate(&r->cfg, &list->rows[i].lun);
	if (has_text(r)) {
		out = begin_text(r);
		status = out ? end_output(&r->text, lb_report_list(out, list), true) : LB_ST_OUTPUT;
	}
	if (r->cfg.json_path)
		status |= end_output(&r->json, lb_report_list_json(r->json.file, list), false);
	return status ? status : (int)list->status;
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

static int report(struct run *r)
{
	struct lb_err err;
	int status = LB_OK;
	FILE *out;

	if (lb_saved_load(&r->saved, r->cfg.outage_path, &err))
		return complain_of(&err);
	if (has_text(r)) {
		out = begin_text(r);
		status = out ? end_output(&r->text, lb_report_saved(out, &r->saved), true)
			     : LB_ST_OUTPUT;
	}
	if (r->cfg.json_path)
		status |=
			end_output(&r->json, lb_report_saved_json(r->json.file, &r->saved), false);
	return status;
}

static int write_page(struct run *r)
{
	FILE *out = begin_text(r);

	if (!out)
		return LB_ST_OUTPUT;
	if (r->cfg.help)
		lb_config_print_help(out, &r->cfg);
	else
		fprintf(out, "lunbench %s\n", LB_VERSION);
	return end_output(&r->text, 0, true);
}

static int open_file(struct run *r, struct lb_output *out, enum lb_output_way way, const char *path)
{
	struct lb_err err;
	int ret = lb_output_open(out, way, path, &r->cfg, LB_NSEC_PER_SEC, &err);

	if (ret == -EAGAIN) {
		complain_of(&err);
		ret = lb_output_open(out, way, path, &r->cfg, LB_NEVER, &err);
	}
	return ret ? complain_of(&err) : LB_OK;
}

/* Where the document and the stream go. */
static int open_files(struct run *r)
{
	int status = LB_OK;

	if (r->cfg.json_path)
		status = open_file(r, &r->json, LB_OUTPUT_WHOLE, r->cfg.json_path);
	if (!status && r->cfg.stream_path)
		status = open_file(r, &r->stream, LB_OUTPUT_LINES, r->cfg.stream_path);
	if (status || !r->cfg.stream_path)
		return status;
	r->feed.out = &r->stream;
	if (!r->json.path || !r->stream.path || strcmp(r->json.path, r->stream.path))
		return LB_OK;
	complain("--stream: is where --json goes: give it another place");
	return LB_ST_USAGE;
}

static int run(struct run *r, int argc, char **argv)
{
	struct lb_err err;
	int status;

	if (lb_config_parse(&r->cfg, argc, argv, &err))
		return complain_of(&err);
	if (r->cfg.help || r->cfg.version)
		return write_page(r);
	if (lb_config_check(&r->cfg, &err))
		return complain_of(&err);
	status = open_files(r);
	if (status)
		return status;
	if (r->cfg.command == LB_CMD_LIST)
		return list(r);
	return r->cfg.command == LB_CMD_REPORT ? report(r) : measure(r);
}

int main(int argc, char **argv)
{
	struct run *r = calloc(1, sizeof(*r));
	int status;

	if (!r)
		return LB_ST_UNAVAILABLE;
	status = secure_stdio();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* EFBIG says it in words */
	if (!status)
		status = run(r, argc, argv);
	lb_saved_done(&r->saved);
	lb_result_done(&r->result);
	lb_output_done(&r->json);
	lb_output_done(&r->text);
	lb_feed_done(&r->feed);
	lb_output_done(&r->stream);
	lb_shm_done(&r->shm);
	lb_config_done(&r->cfg);
	free(r);
	return status;
}
