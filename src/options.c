/* THE table of options, the one place an option is spelled: what is run. options_host.c goes on. */
#include "config.h"

#include "clock.h"
#include "values.h"

#define FIELD(name) offsetof(struct lb_config, name)
#define DAYS        (86400 * LB_NSEC_PER_SEC)

#define WORKLOAD "Workload"
#define RATE     "Rate"
#define RUN      "Run"
#define FAULTS   "When things go wrong"
#define WRITES   "Writing"

/* in the order of the enums that they fill */
static const char *const ops[] = {"read", "write", "rw", NULL};
static const char *const on_errors[] = {"continue", "lun", "stop", NULL};
static const char *const syncs[] = {"none", "dsync", NULL};
const char *const lb_arrival_words[] = {"fixed", "poisson", NULL};
const char *const lb_catch_up_words[] = {"qd", "none", NULL};
static const char *const untils[] = {"time", "steady", NULL};
static const char *const steady_ons[] = {"xfer", "kb", "p99", NULL};
static const char *const pats[] = {"rand", "seq", "perm", "zipf:", "hot:", NULL};

const struct lb_opt lb_options[] = {
	{
		.name = "op",
		.type = LB_OPT_ENUM,
		.section = WORKLOAD,
		.offset = FIELD(op),
		.words = ops,
		.dflt = "read",
		.help = "what each transfer does",
		.man = "What each transfer does:\n"
		       ".Cm read ,\n"
		       ".Cm write ,\n"
		       "or\n"
		       ".Cm rw ,\n"
		       "a mix of both, see\n"
		       ".Fl \\-read\\-pct .\n"
		       "Writing destroys what is in the region of every LUN, and needs\n"
		       ".Fl \\-allow\\-write .",
	},
	{
		.name = "read-pct",
		.type = LB_OPT_U32,
		.section = WORKLOAD,
		.metavar = "PCT",
		.offset = FIELD(read_pct),
		.max = 100,
		.dflt = "70",
		.help = "of --op rw: how many of 100 transfers are reads",
		.man = "How many of 100 transfers of\n"
		       ".Fl \\-op Cm rw\n"
		       "are reads.\n"
		       "They are dealt from a shuffled deck, so that a short run has the share as well.",
	},
	{
		.name = "pat",
		.type = LB_OPT_CUSTOM,
		.section = WORKLOAD,
		.metavar = "PAT",
		.offset = FIELD(pat),
		.words = pats,
		.dflt = "rand",
		.parse = lb_parse_pat,
		.help = "rand, seq, perm (each block once, in random order), zipf:THETA or "
			"hot:BLOCKS/XFERS, e.g. hot:20/80",
		.man = "The order of the transfers on each LUN.\n"
		       ".Cm rand\n"
		       "takes every block of the region with equal chance, again and again.\n"
		       ".Cm seq\n"
		       "goes from the start of the region to its end and begins anew;\n"
		       "the transfers in flight on a LUN lie side by side.\n"
		       ".Cm perm\n"
		       "takes every block of the region once, in a random order that\n"
		       ".Fl \\-seed\n"
		       "chooses, before any comes again.\n"
		       "It then begins anew in the same order, so that each block comes back after all\n"
		       "the others: no cache that is smaller than the region has kept it.\n"
		       ".Cm zipf: Ns Ar THETA\n"
		       "takes the k-th most frequent block with a chance in proportion to\n"
		       "1/k^THETA, with THETA more than 0 and less than 2, to four decimals; it is\n"
		       "often taken as 0.99.\n"
		       ".Cm hot: Ns Ar BLOCKS Ns / Ns Ar XFERS\n"
		       "gives to so many percent of the blocks so many percent of the transfers:\n"
		       ".Cm hot:20/80 .\n"
		       "Of both, the blocks taken more often are scattered over the region, and\n"
		       ".Fl \\-seed\n"
		       "chooses them.\n"
		       "A cache makes the more of such a run the longer it lasts, as it does of a\n"
		       "database.",
	},
	{
		.name = "seq-streams",
		.type = LB_OPT_U32,
		.section = WORKLOAD,
		.metavar = "N",
		.offset = FIELD(seq_streams),
		.min = 1,
		.max = 4096,
		.dflt = "1",
		.help = "of --pat seq: how many streams read or write each LUN",
		.man = "How many sequential streams there are on each LUN, as several scans of\n"
		       "one table space are.\n"
		       "The region is cut into so many parts of the same size, and each stream goes\n"
		       "through its own again and again.\n"
		       "They share\n"
		       ".Fl \\-qd\n"
		       "evenly: each keeps its share in flight, whatever the others do.",
	},
	{
		.name = "size",
		.type = LB_OPT_CUSTOM,
		.section = WORKLOAD,
		.metavar = "SIZE",
		.offset = FIELD(sizes),
		.min = 512,
		.max = 64ull << 20,
		.dflt = "8k",
		.parse = lb_parse_sizes,
		.help = "bytes of one transfer, a multiple of 512 up to 64M; or a mix of sizes with the "
			"share of each in 100 transfers, e.g. 8k:90,1M:10",
		.man = "Bytes of one transfer: a multiple of 512, and of each LUN's logical block;\n"
		       "at most 64M.\n"
		       "A list of up to eight sizes, each with a colon and its share in 100 transfers,\n"
		       "is a mix:\n"
		       ".Li 8k:90,1M:10 .\n"
		       "The shares are dealt from a shuffled deck, of reads and of writes apart, so that\n"
		       "a short run has them as well, and each op the same ones.\n"
		       "Random transfers of each size lie on multiples of that size, counted from the\n"
		       "region's start; sequential ones follow each other without a gap, and one that\n"
		       "would pass the region's end begins at its start.\n"
		       "The report has figures for each size.",
	},
	{
		.name = "qd",
		.type = LB_OPT_U32,
		.section = WORKLOAD,
		.metavar = "N",
		.offset = FIELD(qd),
		.min = 1,
		.max = 4096,
		.dflt = "32",
		.help = "transfers kept in flight on each LUN",
		.man = "Transfers kept in flight on each LUN.\n"
		       "What is more than the device itself takes waits in the host, and that wait is\n"
		       "part of the latency.",
	},
	{
		.name = "think",
		.type = LB_OPT_DURATION,
		.section = WORKLOAD,
		.metavar = "TIME",
		.offset = FIELD(think_ns),
		.max = DAYS,
		.dflt = "0",
		.help = "how long each place in flight rests between two transfers, as users do",
		.man = "How long each of the\n"
		       ".Fl \\-qd\n"
		       "places in flight rests when a transfer has come back before the next one is\n"
		       "issued in it, as the sessions of users do: then\n"
		       ".Fl \\-qd\n"
		       "is the number of sessions on each LUN, and fewer are in flight.\n"
		       "It is at least so long: how much longer is a matter of the host's timers, some\n"
		       "tens of microseconds.\n"
		       "No latency has this time in it.",
	},
	{
		.name = "region",
		.type = LB_OPT_CUSTOM,
		.section = WORKLOAD,
		.metavar = "START-END",
		.offset = FIELD(region),
		.dflt = "0-100%",
		.parse = lb_parse_region,
		.help = "the part of each LUN that is used, in bytes or percent: 0-10%, 1G-2G, 1G-",
		.man = "The part of each LUN that is used, from\n"
		       ".Ar START\n"
		       "up to, but not including,\n"
		       ".Ar END .\n"
		       "Either is a size or a percentage of the LUN (to four decimals);\n"
		       "without\n"
		       ".Ar END\n"
		       "it reaches to the end of the LUN.\n"
		       "Where one is a percentage, the other must be one too, or have a unit, or be 0.\n"
		       "The part must hold at least one transfer.",
	},
	{
		.name = "seed",
		.type = LB_OPT_U64,
		.section = WORKLOAD,
		.metavar = "N",
		.offset = FIELD(seed),
		.max = UINT64_MAX,
		.dflt = "1",
		.help = "start of the random numbers; equal seeds repeat a run",
		.man = "Start of the random numbers.\n"
		       "It is fixed unless given, so that two runs of one command ask for the same\n"
		       "blocks and can be compared.\n"
		       "For the same reason the second run may find them in a cache:\n"
		       "give another seed\n"
		       ".Pq Li $RANDOM\n"
		       "where that must not be.",
	},
	{
		.name = "rate",
		.type = LB_OPT_CUSTOM,
		.section = RATE,
		.metavar = "N",
		.offset = FIELD(rate_milli_per_s),
		.parse = lb_parse_arrivals,
		.help = "transfers due each second on each LUN, whatever it does: 500, 0.5, 10k",
		.man = "Transfers that are due each second on each LUN, whatever it does; see\n"
		       ".Sx OPEN LOOP .\n"
		       "From 0.001 to 10M, with up to three decimals; k and M are powers of 1000.\n"
		       "Then\n"
		       ".Fl \\-qd\n"
		       "is the most that is in flight on a LUN.\n"
		       "Without it a LUN gets the next transfer when one has come back.",
	},
	{
		.name = "rate-total",
		.type = LB_OPT_CUSTOM,
		.section = RATE,
		.metavar = "N",
		.offset = FIELD(rate_total_milli_per_s),
		.parse = lb_parse_arrivals,
		.help = "the same over all LUNs together, in even shares",
		.man = "The same over all LUNs together: each gets an even share.",
	},
	{
		.name = "arrival",
		.type = LB_OPT_ENUM,
		.section = RATE,
		.offset = FIELD(arrival),
		.words = lb_arrival_words,
		.dflt = "fixed",
		.help = "how they are spread: evenly, or as chance has it (poisson)",
		.man = "How what is due is spread over the time.\n"
		       "With\n"
		       ".Cm fixed\n"
		       "the time from one to the next is always the same, and LUNs take turns;\n"
		       "with\n"
		       ".Cm poisson\n"
		       "they come by chance, as from many users who know nothing of each other.\n"
		       ".Fl \\-seed\n"
		       "repeats them.",
	},
	{
		.name = "catch-up",
		.type = LB_OPT_ENUM,
		.section = RATE,
		.offset = FIELD(catch_up),
		.words = lb_catch_up_words,
		.dflt = "qd",
		.help = "what is overdue: issued as fast as --qd lets it, or skipped",
		.man = "What becomes of transfers that were due while all of\n"
		       ".Fl \\-qd\n"
		       "were in flight.\n"
		       "With\n"
		       ".Cm qd\n"
		       "they wait and are issued as soon as one comes back;\n"
		       "with\n"
		       ".Cm none\n"
		       "one is skipped when the next is due before a transfer is free for it.\n"
		       "What was skipped is counted, and as nobody knows how long it would have taken\n"
		       "there are no response percentiles then.",
	},
	{
		.name = "sync",
		.type = LB_OPT_ENUM,
		.section = WRITES,
		.offset = FIELD(sync),
		.words = syncs,
		.dflt = "none",
		.help = "what a write waits for: dsync as a redo log does",
		.man = "What a write waits for.\n"
		       "With\n"
		       ".Cm dsync\n"
		       "each one is on stable storage when it comes back (RWF_DSYNC), which is what a\n"
		       "redo log waits for; with\n"
		       ".Cm none\n"
		       "it may lie in a write cache of the device.",
	},
	{
		.name = "compress",
		.type = LB_OPT_U32,
		.section = WRITES,
		.metavar = "PCT",
		.offset = FIELD(compress_pct),
		.max = 95,
		.dflt = "0",
		.help = "how much of what is written compression saves",
		.man = "How much zstd or gzip over 64 KB pieces save of what is written.\n"
		       "Of each 4 KB (of less, where\n"
		       ".Fl \\-size\n"
		       "is no multiple of that) the first part is random and the rest zeros.\n"
		       "By default nothing is saved.",
	},
	{
		.name = "dedupe",
		.type = LB_OPT_U32,
		.section = WRITES,
		.metavar = "PCT",
		.offset = FIELD(dedupe_pct),
		.max = 100,
		.dflt = "0",
		.help = "how many of 100 written 4 KB blocks are copies of others",
		.man = "How many of 100 blocks of 4 KB are copies of one of 32 blocks of this run.\n"
		       "Which ones is a matter of their place on the LUN.\n"
		       "By default no block is written twice.",
	},
	{
		.name = "fill",
		.type = LB_OPT_FLAG,
		.section = WRITES,
		.offset = FIELD(fill),
		.help = "write every block of the region once before measuring",
		.man = "Write every block of the region of each LUN once, in order, before measuring:\n"
		       "a thin LUN has no blocks before, and returns zeros without any I/O.\n"
		       "That is a write, also before\n"
		       ".Fl \\-op Cm read .",
	},
	{
		.name = "allow-write",
		.type = LB_OPT_FLAG,
		.section = WRITES,
		.offset = FIELD(allow_write),
		.help = "consent to writing: what is on the LUNs is lost",
		.man = "Consent to writing.\n"
		       "Nothing is written without it.\n"
		       "With it, a LUN that is in use, or that holds anything, is refused all the same,\n"
		       "and then none of them is written; see\n"
		       ".Sx SAFETY .",
	},
	{
		.name = "overwrite",
		.type = LB_OPT_LIST,
		.section = WRITES,
		.metavar = "ID",
		.offset = FIELD(overwrite),
		.help = "write to this LUN although it holds something; once for each, by its WWID",
		.man = "Write to the LUN of this\n"
		       ".Ar ID\n"
		       "although something is on it.\n"
		       "It is given once for each LUN: by the WWID, as multipath or\n"
		       ".Nm Cm list\n"
		       "show it, and by its path only where it has none.\n"
		       "What is in use cannot be named so.",
	},
	{
		.name = "time",
		.type = LB_OPT_DURATION,
		.section = RUN,
		.metavar = "TIME",
		.offset = FIELD(time_ns),
		.min = LB_NSEC_PER_USEC,
		.max = 365 * DAYS,
		.help = "how long is measured; 30s when there is no --count either",
		.man = "How long is measured.\n"
		       "It is kept whatever a LUN does.\n"
		       "Without it and without\n"
		       ".Fl \\-count\n"
		       "it is 30s.",
	},
	{
		.name = "count",
		.type = LB_OPT_U64,
		.section = RUN,
		.metavar = "N",
		.offset = FIELD(count),
		.min = 1,
		.max = UINT64_MAX,
		.help = "end for all when the first LUN has done N transfers",
		.man = "The run ends for all LUNs when the first of them has done\n"
		       ".Ar N\n"
		       "transfers, so that every LUN was under load for the whole time.\n"
		       "With\n"
		       ".Fl \\-time\n"
		       "too, whichever comes first ends it.",
	},
	{
		.name = "until",
		.type = LB_OPT_ENUM,
		.section = RUN,
		.offset = FIELD(until),
		.words = untils,
		.dflt = "time",
		.help = "what ends the run: its time or count, or the steady state",
		.man = "What ends the run.\n"
		       ".Cm time :\n"
		       "what\n"
		       ".Fl \\-time\n"
		       "and\n"
		       ".Fl \\-count\n"
		       "say.\n"
		       ".Cm steady :\n"
		       "the steady state; see\n"
		       ".Sx STEADY STATE .",
	},
	{
		.name = "steady-on",
		.type = LB_OPT_ENUM,
		.section = RUN,
		.offset = FIELD(steady_on),
		.words = steady_ons,
		.dflt = "xfer",
		.help = "of --until steady: what is to be so, xfer/sec, KB/sec or the 99th percentile",
		.man = "What is to be steady, of all LUNs together:\n"
		       "xfer/sec, KB/sec, or the 99th percentile of latency.",
	},
	{
		.name = "steady-window",
		.type = LB_OPT_DURATION,
		.section = RUN,
		.metavar = "TIME",
		.offset = FIELD(steady_window_ns),
		.min = 10 * LB_NSEC_PER_MSEC,
		.max = DAYS,
		.dflt = "60s",
		.help = "of --until steady: length of each of the five windows",
		.man = "The length of each of the five windows that are compared: a multiple of\n"
		       ".Fl \\-interval .",
	},
	{
		.name = "max-time",
		.type = LB_OPT_DURATION,
		.section = RUN,
		.metavar = "TIME",
		.offset = FIELD(max_time_ns),
		.min = LB_NSEC_PER_MSEC,
		.max = 365 * DAYS,
		.dflt = "24h",
		.help = "of --until steady: how long is measured at most",
		.man = "How long is measured at most for a steady state to be reached.\n"
		       "If it is not by then, the exit status is 1.",
	},
	{
		.name = "ramp",
		.type = LB_OPT_DURATION,
		.section = RUN,
		.metavar = "TIME",
		.offset = FIELD(ramp_ns),
		.max = 365 * DAYS,
		.dflt = "0",
		.help = "how long it runs before it measures",
		.man = "How long it runs before it measures.\n"
		       "Nothing of this time is in any figure.",
	},
	{
		.name = "drain",
		.type = LB_OPT_DURATION,
		.section = RUN,
		.metavar = "TIME",
		.offset = FIELD(drain_ns),
		.max = DAYS,
		.dflt = "60s",
		.help = "how long to wait at the end for what is in flight",
		.man = "How long to wait, when the measured time is over, for what is still in flight.\n"
		       "Arrays may by design take a minute for one transfer.\n"
		       "What has not returned by then is reported as outstanding.\n"
		       "A run with\n"
		       ".Fl \\-count\n"
		       "and without\n"
		       ".Fl \\-time\n"
		       "also ends when no LUN has done a transfer for so long, and at least for a second.",
	},
	{
		.name = "on-error",
		.type = LB_OPT_ENUM,
		.section = FAULTS,
		.offset = FIELD(on_error),
		.words = on_errors,
		.dflt = "continue",
		.help = "after an I/O error: go on, give up its LUN, or end the run",
		.man = "What an I/O error leads to.\n"
		       ".Cm continue :\n"
		       "the run goes on, and the LUN is given up only if its device is gone\n"
		       ".Pq Er ENODEV , ENXIO , No another size\n"
		       "or after\n"
		       ".Fl \\-max\\-errors .\n"
		       ".Cm lun :\n"
		       "the first error of a LUN ends it.\n"
		       ".Cm stop :\n"
		       "the first error ends the run for all.\n"
		       "Nothing more is issued to a LUN that was given up, its rates are over the time\n"
		       "that it lived, the others go on, and the exit status is 1.",
	},
	{
		.name = "max-errors",
		.type = LB_OPT_U32,
		.section = FAULTS,
		.metavar = "N",
		.offset = FIELD(max_errors),
		.max = UINT32_MAX,
		.dflt = "100",
		.help = "so many errors in a row, and the LUN is given up; 0: never",
		.man = "A LUN is given up when so many of its I/Os have failed in a row, with no success\n"
		       "of any of them in between; 0: never.",
	},
	{
		.name = "stall",
		.type = LB_OPT_DURATION,
		.section = FAULTS,
		.metavar = "TIME",
		.offset = FIELD(stall_ns),
		.min = LB_NSEC_PER_MSEC,
		.max = 365 * DAYS,
		.dflt = "5s",
		.help = "a LUN with I/O in flight has stalled when nothing comes back for so long",
		.man = "A LUN with I/O in flight from which nothing comes back for so long has stalled.\n"
		       "That is told at once on the standard error, and in the report with its begin and\n"
		       "end; see\n"
		       ".Sx EVENTS .",
	},
};

const size_t lb_options_count = sizeof(lb_options) / sizeof(lb_options[0]);
