#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "steady.h"
#include "units.h"
#include "values.h"

#define SECTOR           512
#define TARGETS_FILE_MAX (16u << 20) /* far more than anyone's LUNs: it is some other file */

/* Refuses what option NAME was set to: `--name: "text" FMT...`. */
__attribute__((format(printf, 4, 5))) static int refuse(
	const struct lb_config *cfg, const char *name, struct lb_err *err, const char *fmt, ...)
{
	const char *text = NULL;
	const struct lb_opt *opt = lb_opt_find(cfg->sets, cfg->n_sets, name, &text);
	char what[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return lb_opt_fail(opt, text ? text : "", EINVAL, err, "%s", what);
}

static int no_memory(struct lb_err *err)
{
	return lb_fail(err, LB_ST_UNAVAILABLE, ENOMEM, "no memory for the options");
}

static int make_set(struct lb_config *cfg, const struct lb_opt *rows, size_t n, void *base)
{
	struct lb_opt_set *set = &cfg->sets[cfg->n_sets];

	*set = (struct lb_opt_set){.rows = rows, .n = n, .base = base};
	set->source = calloc(n, sizeof(*set->source));
	set->text = calloc(n, sizeof(*set->text));
	cfg->n_sets++;
	if (!base || !set->source || !set->text)
		return -ENOMEM;
	lb_opt_defaults(set);
	return 0;
}

/* The whole of the file TARGETS_FILE, NUL-terminated, into cfg->targets_text. */
static int read_targets_file(struct lb_config *cfg, size_t *len, struct lb_err *err)
{
	FILE *f = fopen(cfg->targets_file, "re");
	size_t room = 0, got = 1;
	int rc = f ? 0 : -errno;

	for (*len = 0; !rc && got; *len += got) {
		if (*len + 1 >= room) {
			char *more = realloc(cfg->targets_text, room = room ? 2 * room : 4096);

			if (!more) {
				rc = -ENOMEM;
				break;
			}
			cfg->targets_text = more;
		}
		got = fread(cfg->targets_text + *len, 1, room - *len - 1, f);
		if (!got && ferror(f))
			rc = -errno;
		else if (*len > TARGETS_FILE_MAX)
			rc = -EFBIG;
	}
	if (f)
		fclose(f);
	if (rc == -EFBIG)
		return refuse(cfg, "targets", err, "is no list of LUNs: it is larger than 16M");
	if (rc)
		return refuse(cfg, "targets", err, "cannot be read: %s", strerror(-rc));
	cfg->targets_text[*len] = '\0';
	if (strlen(cfg->targets_text) != *len)
		return refuse(cfg, "targets", err,
			"is no list of LUNs: it is not text (it has a NUL byte)");
	return 0;
}

/* Ends LINE where it ends in anyone's files, and returns the next one; NULL: it was the last. */
static char *cut_line(char *line)
{
	size_t end = strcspn(line, "\r\n");
	char *next = line[end] ? line + end + 1 : NULL;

	line[end] = '\0';
	return next;
}

/* LINE without the blanks around it, and without a comment, which begins it or follows a blank. */
static char *strip(char *line)
{
	static const char blanks[] = " \t";
	char *end;

	line += strspn(line, blanks);
	for (end = line; *end && (*end != '#' || (end > line && !strchr(blanks, end[-1]))); end++)
		;
	while (end > line && strchr(blanks, end[-1]))
		end--;
	*end = '\0';
	return line;
}

/* Appends the lines of --targets to cfg->targets, whose operands stay in front. */
static int add_targets_file(struct lb_config *cfg, struct lb_err *err)
{
	const char **targets;
	size_t len, n_lines = 1;
	char *line, *next;
	int rc = read_targets_file(cfg, &len, err);

	if (rc)
		return rc;
	for (const char *s = cfg->targets_text; (s = strpbrk(s, "\r\n")); s++)
		n_lines++;
	targets = reallocarray(cfg->targets, cfg->n_targets + n_lines, sizeof(*targets));
	if (!targets)
		return no_memory(err);
	cfg->targets = targets;
	line = cfg->targets_text;
	if (!strncmp(line, "\xef\xbb\xbf", 3)) /* some editors begin a file so, unseen */
		line += 3;
	for (; line; line = next) {
		next = cut_line(line);
		line = strip(line);
		if (*line)
			cfg->targets[cfg->n_targets++] = line;
	}
	return 0;
}

/* by enum lb_command */
static const char *const commands[] = {NULL, "list", "check", "report"};

int lb_config_parse(struct lb_config *cfg, int argc, char **argv, struct lb_err *err)
{
	int rc;

	memset(cfg, 0, sizeof(*cfg));
	for (int i = LB_CMD_LIST; argc > 1 && i <= LB_CMD_REPORT; i++)
		if (!strcmp(argv[1], commands[i]))
			cfg->command = i;
	if (cfg->command != LB_CMD_RUN) {
		argc--;
		argv++;
	}
	cfg->null_opts = calloc(1, sizeof(*cfg->null_opts));
	cfg->targets = calloc((size_t)argc + 1, sizeof(*cfg->targets));
	if (!cfg->targets || make_set(cfg, lb_options, lb_options_count, cfg) ||
		make_set(cfg, lb_host_options, lb_host_options_count, cfg) ||
		make_set(cfg, lb_null_opt_rows, lb_null_opt_count, cfg->null_opts))
		return no_memory(err);
	rc = lb_opt_parse(cfg->sets, cfg->n_sets, argc, argv, cfg->targets, &cfg->n_targets, err);
	if (!rc && cfg->targets_file && !cfg->help && !cfg->version)
		rc = add_targets_file(cfg, err);
	return rc;
}

static int check_sizes(struct lb_config *cfg, struct lb_err *err)
{
	cfg->size_bytes = 0;
	for (uint32_t i = 0; i < cfg->sizes.n; i++) {
		uint64_t bytes = cfg->sizes.bytes[i];

		if (bytes % SECTOR)
			return refuse(cfg, "size", err,
				"is no multiple of 512 bytes, the smallest sector");
		if (bytes > cfg->size_bytes)
			cfg->size_bytes = bytes;
	}
	if (cfg->sizes.n > 1 && cfg->pat.kind == LB_PERM)
		return refuse(cfg, "size", err,
			"is a mix, and --pat perm takes each block once: blocks are of one size");
	return 0;
}

static int check_region(const struct lb_config *cfg, struct lb_err *err)
{
	const struct lb_region *r = &cfg->region;
	char size[32];

	if ((!r->start_is_ppm && r->start % SECTOR) || (!r->end_is_ppm && r->end % SECTOR))
		return refuse(
			cfg, "region", err, "does not lie on sectors: use multiples of 512 bytes");
	if (!r->start_is_ppm && !r->end_is_ppm && r->end - r->start < cfg->size_bytes)
		return refuse(cfg, "region", err, "is smaller than one transfer of --size %s",
			lb_format_size(size, sizeof(size), cfg->size_bytes));
	return 0;
}

static int check_seq_streams(const struct lb_config *cfg, struct lb_err *err)
{
	if (cfg->seq_streams == 1)
		return 0;
	if (cfg->pat.kind != LB_SEQ)
		return refuse(cfg, "seq-streams", err, "goes with --pat seq");
	if (cfg->seq_streams > cfg->qd)
		return refuse(cfg, "seq-streams", err,
			"is more than --qd %" PRIu32 ": each stream needs a transfer of its own",
			cfg->qd);
	return 0;
}

static int check_think(const struct lb_config *cfg, struct lb_err *err)
{
	if (cfg->think_ns && lb_config_is_paced(cfg))
		return refuse(cfg, "think", err,
			"goes with a closed loop: with a rate the next transfer comes when it is due");
	/* a run by count alone ends when nothing comes back for so long */
	if (cfg->count && !cfg->time_ns && cfg->think_ns >= lb_silence_ns(cfg->drain_ns))
		return refuse(cfg, "think", err,
			"is as long as a run with --count and without --time waits for a LUN: give "
			"--time, or a longer --drain");
	return 0;
}

static int check_cpus(const struct lb_config *cfg, struct lb_err *err)
{
	cpu_set_t may, not ;
	char lacking[128], usable[256];

	if (!CPU_COUNT(&cfg->cpus))
		return 0;
	if (sched_getaffinity(0, sizeof(may), &may))
		return lb_fail(err, LB_ST_UNAVAILABLE, errno,
			"--cpus: the kernel does not say which CPUs may be used: %s",
			strerror(errno));
	CPU_XOR(&not, &cfg->cpus, &may);
	CPU_AND(&not, &not, &cfg->cpus);
	if (!CPU_COUNT(&not ))
		return 0;
	return refuse(cfg, "cpus", err,
		"asks for CPUs that are not there or not allowed: %s; "
		"this process may use %s",
		lb_format_cpus(lacking, sizeof(lacking), &not ),
		lb_format_cpus(usable, sizeof(usable), &may));
}

/* The null engine's options have no effect on another one: then something else was meant. */
static int check_null_options(const struct lb_config *cfg, struct lb_err *err)
{
	const struct lb_opt_set *set = &cfg->sets[cfg->n_sets - 1];
	const char *engine = NULL;

	lb_opt_find(cfg->sets, cfg->n_sets, "engine", &engine);
	if (!strcmp(engine, "null"))
		return 0;
	for (size_t i = 0; i < set->n; i++)
		if (set->source[i] != LB_SRC_DEFAULT)
			return refuse(cfg, set->rows[i].name, err, "needs --engine null");
	return 0;
}

static int check_targets(const struct lb_config *cfg, struct lb_err *err)
{
	for (size_t i = 0; i < cfg->n_targets; i++)
		if (!*cfg->targets[i])
			return lb_fail(err, LB_ST_USAGE, EINVAL,
				"target %zu has an empty name: name a block device or a file",
				i + 1);
	if (cfg->command == LB_CMD_CHECK && cfg->scratch.count)
		return refuse(cfg, "scratch", err,
			"makes LUNs for a run; lunbench check looks at what is there");
	if (cfg->n_targets || cfg->scratch.count)
		return 0;
	if (cfg->targets_file)
		return refuse(cfg, "targets", err, "names no target");
	return lb_fail(err, LB_ST_USAGE, EINVAL,
		"no target given: name block devices or files, or use --scratch");
}

/* Each of the outputs needs a place of its own. */
static int check_outputs(const struct lb_config *cfg, struct lb_err *err)
{
	const char *json = cfg->json_path, *stream = cfg->stream_path;

	if (cfg->command == LB_CMD_CHECK && stream)
		return refuse(cfg, "stream", err, "is of a run; lunbench check makes none");
	if (json && stream && !strcmp(json, stream))
		return refuse(cfg, "stream", err, "is where --json goes: give it another place");
	return 0;
}

static bool is_given(const struct lb_config *cfg, const char *name)
{
	for (size_t s = 0; s < cfg->n_sets; s++)
		for (size_t i = 0; i < cfg->sets[s].n; i++)
			if (!strcmp(cfg->sets[s].rows[i].name, name))
				return cfg->sets[s].source[i] != LB_SRC_DEFAULT;
	return false;
}

/* Refuses any option but TAKEN (two), which are all that the command NAME can use. */
static int check_taken(
	const struct lb_config *cfg, const char *name, const char *const *taken, struct lb_err *err)
{
	for (size_t s = 0; s < cfg->n_sets; s++) {
		const struct lb_opt_set *set = &cfg->sets[s];

		for (size_t i = 0; i < set->n; i++) {
			const char *opt = set->rows[i].name;

			if (set->source[i] != LB_SRC_DEFAULT && strcmp(opt, taken[0]) &&
				strcmp(opt, taken[1]))
				return refuse(cfg, opt, err,
					"is of no use to lunbench %s, which takes --%s and --%s",
					name, taken[0], taken[1]);
		}
	}
	return 0;
}

static int check_list(const struct lb_config *cfg, struct lb_err *err)
{
	static const char *const taken[] = {"targets", "json"};
	int rc = check_taken(cfg, "list", taken, err);

	if (rc || (!cfg->n_targets && !cfg->targets_file))
		return rc;
	return check_targets(cfg, err);
}

static int check_report(const struct lb_config *cfg, struct lb_err *err)
{
	static const char *const taken[] = {"outage", "json"};
	int rc = check_taken(cfg, "report", taken, err);
	char name[256];

	if (rc)
		return rc;
	if (cfg->n_targets)
		return lb_fail(err, LB_ST_USAGE, EINVAL,
			"lunbench report looks at no target: %s is one too many",
			lb_shorten(name, sizeof(name), cfg->targets[0]));
	if (!cfg->outage_path)
		return lb_fail(err, LB_ST_USAGE, EINVAL,
			"lunbench report needs --outage RESULT.json: a result that --json wrote");
	return 0;
}

/* Options that say something of writes, where there are none, were meant otherwise. */
static int check_writes(const struct lb_config *cfg, struct lb_err *err)
{
	static const char *const of_writes[] = {
		"sync", "compress", "dedupe", "allow-write", "overwrite"};
	const char *op = NULL;

	lb_opt_find(cfg->sets, cfg->n_sets, "op", &op);
	if (cfg->op != LB_OP_RW && is_given(cfg, "read-pct"))
		return refuse(cfg, "read-pct", err, "goes with --op rw, not with --op %s", op);
	for (size_t i = 0; !lb_config_writes(cfg) && i < sizeof(of_writes) / sizeof(of_writes[0]);
		i++)
		if (is_given(cfg, of_writes[i]))
			return lb_fail(err, LB_ST_USAGE, EINVAL,
				"--%s is of writes, and this run writes nothing: --op write, --op rw or "
				"--fill does",
				of_writes[i]);
	/* scratch files are ours to write */
	if (lb_config_writes(cfg) && cfg->n_targets && !cfg->allow_write)
		return lb_fail(err, LB_ST_USAGE, EPERM,
			"--%s%s destroys what is in the region of every LUN given: if that is meant, say "
			"--allow-write",
			cfg->op != LB_OP_READ ? "op " : "fill", cfg->op != LB_OP_READ ? op : "");
	return 0;
}

/* A run until steady ends by itself, or by --max-time, which is its time. */
static int check_until(struct lb_config *cfg, struct lb_err *err)
{
	static const char *const of_time[] = {"time", "count"};
	static const char *const of_steady[] = {"steady-on", "steady-window", "max-time"};

	for (size_t i = 0; cfg->until != LB_UNTIL_STEADY && i < 3; i++)
		if (is_given(cfg, of_steady[i]))
			return refuse(cfg, of_steady[i], err, "goes with --until steady");
	if (cfg->until != LB_UNTIL_STEADY)
		return 0;
	for (size_t i = 0; i < 2; i++)
		if (is_given(cfg, of_time[i]))
			return refuse(cfg, of_time[i], err,
				"ends a run as well as --until steady, which --max-time bounds");
	if (cfg->steady_window_ns % cfg->interval_ns)
		return refuse(cfg, "steady-window", err,
			"is no multiple of --interval, which it is made of");
	if (cfg->max_time_ns / LB_STEADY_WINDOWS < cfg->steady_window_ns)
		return refuse(cfg, "max-time", err,
			"is less than the %d windows of --steady-window that are judged",
			LB_STEADY_WINDOWS);
	cfg->time_ns = cfg->max_time_ns;
	return 0;
}

static int check_rate(const struct lb_config *cfg, struct lb_err *err)
{
	static const char *const of_rates[] = {"arrival", "catch-up"};

	if (cfg->rate_milli_per_s && cfg->rate_total_milli_per_s)
		return refuse(cfg, "rate-total", err,
			"is over all LUNs, and --rate is of each: give one of them");
	for (size_t i = 0; !lb_config_is_paced(cfg) && i < sizeof(of_rates) / sizeof(of_rates[0]);
		i++)
		if (is_given(cfg, of_rates[i]))
			return lb_fail(err, LB_ST_USAGE, EINVAL,
				"--%s is of a run at a rate: --rate N or --rate-total N is missing",
				of_rates[i]);
	return 0;
}

int lb_config_check(struct lb_config *cfg, struct lb_err *err)
{
	int rc = check_sizes(cfg, err);

	if (!rc)
		rc = check_region(cfg, err);
	if (cfg->command == LB_CMD_LIST)
		return check_list(cfg, err);
	if (cfg->command == LB_CMD_REPORT)
		return check_report(cfg, err);
	if (cfg->outage_path)
		return refuse(
			cfg, "outage", err, "is of a run that is over: lunbench report --outage");
	if (!rc)
		rc = check_writes(cfg, err);
	if (!rc)
		rc = check_rate(cfg, err);
	if (!rc && cfg->threads_per_lun > cfg->qd)
		rc = refuse(cfg, "threads-per-lun", err,
			"is more than --qd %" PRIu32 ": each thread needs a transfer of its own",
			cfg->qd);
	if (!rc)
		rc = check_seq_streams(cfg, err);
	if (!rc)
		rc = check_think(cfg, err);
	if (!rc)
		rc = check_null_options(cfg, err);
	if (!rc)
		rc = check_cpus(cfg, err);
	if (!rc)
		rc = check_targets(cfg, err);
	if (!rc)
		rc = check_outputs(cfg, err);
	if (!rc)
		rc = check_until(cfg, err);
	if (!rc && !cfg->time_ns && !cfg->count)
		rc = lb_opt_set_value(cfg->sets, cfg->n_sets, "time", "30s", LB_SRC_DEFAULT, err);
	return rc;
}

void lb_config_done(struct lb_config *cfg)
{
	if (!cfg)
		return;
	for (size_t i = 0; i < cfg->n_sets; i++) {
		free(cfg->sets[i].source);
		free(cfg->sets[i].text);
	}
	lb_opt_list_done(&cfg->overwrite);
	free(cfg->null_opts);
	free(cfg->targets);
	free(cfg->targets_text);
	memset(cfg, 0, sizeof(*cfg));
}

void lb_config_print_help(FILE *out, const struct lb_config *cfg)
{
	fputs("Usage: lunbench [OPTION]... LUN...\n"
	      "       lunbench list [--targets FILE] [--json FILE] [LUN]...\n"
	      "       lunbench check [OPTION]... LUN...\n"
	      "       lunbench report --outage RESULT.json [--json FILE]\n"
	      "\n"
	      "Drives block devices as a database would, all at the same time, and says what\n"
	      "each of them did: transfers, rates, latencies. It reads, unless told to write.\n"
	      "\n"
	      "  lunbench --op read --pat rand --size 16k --qd 64 /dev/mapper/*\n"
	      "\n"
	      "lunbench list says what LUNs there are, the paths of each, who uses it, and\n"
	      "whether a write would be refused.\n"
	      "lunbench check says, without I/O, what would stop or distort the run that the\n"
	      "same options ask for.\n"
	      "lunbench report says of a result that --json saved what its outages cost.\n"
	      "\n"
	      "SIZE is bytes, or with k, M, G, T or P: powers of 1024. TIME is seconds, or with\n"
	      "ns, us, ms, s, m, h or d. Options and LUNs may be mixed; -- ends the options.\n"
	      "\n",
		out);
	lb_opt_print_help(out, cfg->sets, cfg->n_sets);
	fputs("\n"
	      "Exit status:\n"
	      "  0                       all was measured, without an error\n"
	      "  1                       it ran, but: I/O errors, a LUN lost or without any\n"
	      "                          transfer, or I/O that never came back\n"
	      "  2                       the request is wrong; no I/O was done\n"
	      "  3                       a LUN or the host cannot serve it now\n"
	      "  4                       the result could not be written\n"
	      "  130, 143, 129           stopped by SIGINT, SIGTERM, SIGHUP: the report is of\n"
	      "                          what was measured until then\n"
	      "\n"
	      "lunbench(8) says how it measures and how to read the report.\n",
		out);
}
