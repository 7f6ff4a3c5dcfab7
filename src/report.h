/* The reports of a result: one renderer each. They see the result alone. */
#ifndef LB_REPORT_H
#define LB_REPORT_H

#include <stdio.h>

#include "result.h"

/*
 * For people: 80 to 100 columns where the names allow it, no colour. Of a run that was refused
 * there is nothing to tell here. Returns 0 or a negative errno; whether all of it reached OUT's
 * file only the caller's fflush() tells.
 */
int lb_report_text(FILE *out, const struct lb_result *r);

/*
 * For programs: one document, of any run, as schema/lunbench-result-1.schema.json describes it.
 * Returns as lb_report_text() does.
 */
int lb_report_json(FILE *out, const struct lb_result *r);

/*
 * What LUN is, into the object that is open in J: the keys that rows of the result and of the list
 * have in common.
 */
struct lb_json;
void lb_report_lun(struct lb_json *j, const struct lb_lun *lun);

/* What became of a target, as an object of its own. */
void lb_report_target(struct lb_json *j, const struct lb_lun *lun);

/*
 * lunbench list, for people and as schema/lunbench-list-1.schema.json describes it. They return as
 * lb_report_text() does.
 */
struct lb_list;
int lb_report_list(FILE *out, const struct lb_list *list);
int lb_report_list_json(FILE *out, const struct lb_list *list);

/* The same two of `lunbench check`; schema/lunbench-check-1.schema.json. */
int lb_report_check(FILE *out, const struct lb_result *r);
int lb_report_check_json(FILE *out, const struct lb_result *r);

/* The time series of a run: its times; ROW's figures (n_luns: the total's); and its trend. */
void lb_report_series(struct lb_json *j, const struct lb_result *r);
void lb_report_series_row(struct lb_json *j, const struct lb_result *r, uint32_t row);
void lb_report_trend(struct lb_json *j, const struct lb_result *r);

/* NS since the epoch in ISO 8601; 0 is null. */
void lb_report_utc(struct lb_json *j, const char *key, uint64_t ns);

/* How the run ended: the keys from "status" to "error". */
void lb_report_ending(struct lb_json *j, const struct lb_result *r, int status);

/*
 * Lines of the stream, schema/lunbench-stream-1.schema.json: the first one (PLAN may be NULL),
 * point I of S, a series over the LUNs of PLAN whose window opened at OPEN_NS (LB_NEVER: it did
 * not), event EV, which other lines about it call ID too, and the last one.
 */
void lb_report_stream_begin(FILE *out, const struct lb_plan *plan, uint64_t start_realtime_ns);
void lb_report_stream_interval(FILE *out, const struct lb_plan *plan, const struct lb_series *s,
	uint32_t i, uint64_t open_ns);
void lb_report_stream_event(FILE *out, const struct lb_plan *plan, const struct lb_event *ev,
	uint32_t id, uint64_t open_ns);
void lb_report_stream_end(FILE *out, const struct lb_result *r, int status, uint64_t dropped);

/* --until steady: a line of text, if it was asked for, and the key "steady_state". */
void lb_report_steady(FILE *out, const struct lb_result *r);
void lb_report_steady_json(struct lb_json *j, const struct lb_result *r);

/* lunbench report --outage, for people and as schema/lunbench-outage-1.schema.json describes it.
 * They return as lb_report_text() does. */
struct lb_saved;
int lb_report_saved(FILE *out, const struct lb_saved *s);
int lb_report_saved_json(FILE *out, const struct lb_saved *s);

/* What is run, on how many LUNs and by which engine: a line for each stream, and why that
 * engine. Returns 0 or -ENOMEM. */
int lb_report_streams(FILE *out, const struct lb_result *r);

/* TEXT wrapped at 80 columns, the lines after the first indented by INDENT; the first begins at
 * column AT. */
void lb_report_wrapped(FILE *out, const char *text, size_t at, size_t indent);

/* The lines of TEXT, each wrapped where it has more than 100 columns. TEXT is altered. */
void lb_report_lines(FILE *out, char *text);

/* What went wrong: I/O errors, I/O that did not return in time. Returns 0 or -ENOMEM. */
int lb_report_faults(FILE *out, const struct lb_result *r, char *const *labels);

/*
 * What befell the LUNs: events on a time line, and for which LUNs nothing came back for long.
 * Returns 0 or -ENOMEM.
 */
int lb_report_events(FILE *out, const struct lb_result *r, char *const *labels);

/* The same for programs: the keys "events" and "events_dropped" into the object open in J. */
void lb_report_events_json(struct lb_json *j, const struct lb_result *r);

/* An outage of a LUN, or of all together (is_total). */
struct lb_report_outage {
	const struct lb_outage *o;
	uint32_t row;
	bool is_total;
};

/* How many R has to tell people of, and of these the *N (at most) that cost the most, by their
 * begin; *N becomes how many these are. The caller frees. NULL: no memory. */
uint32_t lb_report_outages_count(const struct lb_result *r);
struct lb_report_outage *lb_report_outages_pick(const struct lb_result *r, uint32_t *n);

/* PICK in words; N bytes with the NUL. LABELS: of the LUNs. Returns BUF. */
char *lb_report_outage_words(
	char *buf, size_t n, const struct lb_report_outage *pick, char *const *labels);

/* The key "outages" of row ROW (n_luns: the total) into the object open in J. */
void lb_report_outages_json(struct lb_json *j, const struct lb_result *r, uint32_t row);

/* The keys of one event. LUN: its name, NULL: of the run. OPEN_NS: the window's opening; LB_NEVER:
 * there is none, and no times. */
void lb_report_event_keys(
	struct lb_json *j, const struct lb_event *ev, const char *lun, uint64_t open_ns);

/* The keys of a LUN's silence, or of all LUNs'. */
void lb_report_silence(struct lb_json *j, const struct lb_silence *s);

/* How an open loop kept its schedule: a table, and as an object in J, null where OPEN is. */
struct lb_open;
int lb_report_open(FILE *out, const struct lb_result *r, char *const *labels);
void lb_report_open_json(struct lb_json *j, const struct lb_open *open);

/* The key "streams" of PHASE into the object open in J. */
void lb_report_streams_json(struct lb_json *j, const struct lb_phase *phase);

/* Of a mix of sizes a table, a row for each. Returns 0 or -ENOMEM. */
int lb_report_sizes(FILE *out, const struct lb_result *r);

/* The LUNs' names as columns; the caller frees. NULL: no memory. */
char **lb_report_labels(const struct lb_result *r);

/* Its findings, wrapped; LABELS are the LUNs' names. Findings that say the same share a line. */
void lb_report_findings(FILE *out, const struct lb_result *r, char *const *labels);

/* --hist: the latencies of F, called NAME, as bars; a row for each power of two of a microsecond.
 */
int lb_report_bars(FILE *out, const char *name, const struct lb_figures *f);

#endif
