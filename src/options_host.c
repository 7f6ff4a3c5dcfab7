/* The table of options goes on: how it is driven, on what, and what becomes of the result. */
#include "config.h"

#include "clock.h"
#include "values.h"

#define FIELD(name) offsetof(struct lb_config, name)

#define DRIVE   "How it is driven"
#define TARGETS "Targets"
#define REPORTS "Reports"
#define ABOUT   "About"

/* in the order of the enums that they fill; engines: auto, then lb_engines[] */
static const char *const engines[] = {"auto", "io_uring", "libaio", "sync", "null", NULL};
static const char *const hists[] = {"none", "total", "each", NULL};
static const char *const progresses[] = {"auto", "always", "never", NULL};

const struct lb_opt lb_host_options[] = {
	{
		.name = "engine",
		.type = LB_OPT_ENUM,
		.section = DRIVE,
		.offset = FIELD(engine),
		.words = engines,
		.dflt = "auto",
		.help = "how I/O reaches the kernel",
		.man = "How I/O reaches the kernel; see\n"
		       ".Sx ENGINES .",
	},
	{
		.name = "workers",
		.type = LB_OPT_U32,
		.section = DRIVE,
		.metavar = "N",
		.offset = FIELD(workers),
		.min = 1,
		.max = 1024,
		.help = "threads that the LUNs are spread over; without it one a CPU, at most one a LUN",
		.man = "Threads that the LUNs are spread over.\n"
		       "Without it there is one for each CPU that may be used, and at most one for each\n"
		       "LUN.",
	},
	{
		.name = "cpus",
		.type = LB_OPT_CUSTOM,
		.section = DRIVE,
		.metavar = "LIST",
		.offset = FIELD(cpus),
		.parse = lb_parse_cpus,
		.help = "CPUs to run on, e.g. 0-3,8; without it all that may be used",
		.man = "The CPUs that the threads run on, as numbers and ranges: 0-3,8.\n"
		       "Without it: all that the process may use.",
	},
	{
		.name = "threads-per-lun",
		.type = LB_OPT_U32,
		.section = DRIVE,
		.metavar = "N",
		.offset = FIELD(threads_per_lun),
		.min = 1,
		.max = 4096,
		.dflt = "1",
		.help = "threads that share the qd of one LUN, at most qd",
		.man = "Threads that share the queue depth of one LUN, where one is too slow for it.\n"
		       "At most as many as\n"
		       ".Fl \\-qd .",
	},
	{
		.name = "targets",
		.type = LB_OPT_STR,
		.section = TARGETS,
		.metavar = "FILE",
		.offset = FIELD(targets_file),
		.help = "more LUNs, one path a line; # begins a comment",
		.man = "A file that names more LUNs, one path a line.\n"
		       "Blank lines, blanks around a path, and what follows a # that begins a line\n"
		       "or stands after a blank are skipped; a leading dash belongs to the path.",
	},
	{
		.name = "scratch",
		.type = LB_OPT_CUSTOM,
		.section = TARGETS,
		.metavar = "COUNTxSIZE[@DIR]",
		.offset = FIELD(scratch),
		.parse = lb_parse_scratch,
		.help = "make files to use as LUNs, e.g. 4x256M, in DIR (default /var/tmp); they "
			"vanish at the end",
		.man = "Make\n"
		       ".Ar COUNT\n"
		       "files of\n"
		       ".Ar SIZE\n"
		       "in\n"
		       ".Ar DIR\n"
		       ".Pq default Pa /var/tmp ,\n"
		       "filled with data that does not compress, and use them as LUNs:\n"
		       "up to 1000 files of at least 1M.\n"
		       "They have no name while they are used and are gone when the run ends.",
	},
	{
		.name = "json",
		.type = LB_OPT_STR,
		.section = REPORTS,
		.metavar = "FILE",
		.offset = FIELD(json_path),
		.help = "write the result as JSON; - : to stdout, in place of the text",
		.man = "Write the result to\n"
		       ".Ar FILE\n"
		       "as one JSON document.\n"
		       "With\n"
		       ".Sq \\-\n"
		       "it goes to the standard output in place of the text.\n"
		       "The file appears when it is complete, or not at all.\n"
		       "A result that is there is replaced, or written over where it cannot be.\n"
		       "A block device is refused, and so is a file that is a target or swap,\n"
		       "or holds something other than a result of\n"
		       ".Nm .",
	},
	{
		.name = "interval",
		.type = LB_OPT_DURATION,
		.section = REPORTS,
		.metavar = "TIME",
		.offset = FIELD(interval_ns),
		.min = 10 * LB_NSEC_PER_MSEC,
		.max = 86400 * LB_NSEC_PER_SEC,
		.dflt = "1s",
		.help = "of the time series, which is in the JSON and the stream",
		.man = "The time series has a point for each\n"
		       ".Ar TIME ;\n"
		       "it is in the JSON and the stream, see\n"
		       ".Sx TIME SERIES .",
	},
	{
		.name = "stream",
		.type = LB_OPT_STR,
		.section = REPORTS,
		.metavar = "FILE",
		.offset = FIELD(stream_path),
		.help = "write the time series and events as JSON lines during the run; - : to "
			"stdout, in place of the text",
		.man = "Write a line of JSON to\n"
		       ".Ar FILE\n"
		       "for each interval and each event of the run, while it goes on.\n"
		       "With\n"
		       ".Sq \\-\n"
		       "they go to the standard output in place of the text; see\n"
		       ".Sx TIME SERIES .",
	},
	{
		.name = "outage",
		.type = LB_OPT_STR,
		.section = REPORTS,
		.metavar = "FILE",
		.offset = FIELD(outage_path),
		.help = "of lunbench report: the result whose outages it tells of; - : stdin",
		.man = "Of\n"
		       ".Nm\n"
		       ".Cm report\n"
		       "alone: the result, written by\n"
		       ".Fl \\-json ,\n"
		       "whose outages it tells of; see\n"
		       ".Sx OUTAGES .\n"
		       "With\n"
		       ".Sq \\-\n"
		       "it is read from the standard input.",
	},
	{
		.name = "hist",
		.type = LB_OPT_ENUM,
		.section = REPORTS,
		.offset = FIELD(hist),
		.words = hists,
		.dflt = "none",
		.is_optional = true,
		.optional_value = "total",
		.help = "draw the histogram of latencies; --hist alone: total",
		.man = "Draw the histogram of latencies: that of all LUNs together,\n"
		       "or one for each LUN too.\n"
		       "Without a value it is\n"
		       ".Cm total .",
	},
	{
		.name = "progress",
		.type = LB_OPT_ENUM,
		.section = REPORTS,
		.offset = FIELD(progress),
		.words = progresses,
		.dflt = "auto",
		.help = "a live line on stderr; auto: when it is a terminal",
		.man = "Whether a live line is shown on the standard error during the run.\n"
		       ".Cm auto :\n"
		       "when that is a terminal.",
	},
	{
		.name = "help",
		.letter = 'h',
		.type = LB_OPT_FLAG,
		.section = ABOUT,
		.offset = FIELD(help),
		.help = "show this page",
		.man = "Show a page of help and exit.",
	},
	{
		.name = "version",
		.letter = 'V',
		.type = LB_OPT_FLAG,
		.section = ABOUT,
		.offset = FIELD(version),
		.help = "show the version",
		.man = "Show the version and exit.",
	},
};

const size_t lb_host_options_count = sizeof(lb_host_options) / sizeof(lb_host_options[0]);
