/* The time line: what befell the LUNs and when, for people and for programs. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "json_out.h"
#include "report.h"
#include "table.h"

#define LINES_MAX   20 /* of the time line; the JSON has all */
#define OUTAGES_MAX 8  /* the total's among them */
#define ROWS_MAX    8  /* of silent LUNs */
#define NEAR_NS     LB_NSEC_PER_SEC
#define SILENCE_MIN LB_NSEC_PER_SEC /* what is shorter is told by the latencies */

/* ---- for programs ---- */

static void put_time(struct lb_json *j, const char *key, uint64_t ns, uint64_t open_ns)
{
	if (ns == LB_NEVER || open_ns == LB_NEVER)
		lb_json_null(j, key);
	else
		lb_json_f64(j, key, lb_seconds_since(open_ns, ns));
}

static void put_text(struct lb_json *j, const char *key, bool has, const char *s)
{
	lb_json_str(j, key, has && s[0] ? s : NULL);
}

void lb_report_event_keys(
	struct lb_json *j, const struct lb_event *ev, const char *lun, uint64_t open_ns)
{
	enum lb_event_kind kind = ev->kind;
	bool is_change = kind == LB_EV_PATHS || kind == LB_EV_SIZE;
	uint64_t n = atomic_load_explicit(&ev->n, memory_order_relaxed);

	lb_json_str(j, "kind", lb_event_names[kind]);
	lb_json_str(j, "lun", lun);
	put_time(j, "begin_s", ev->begin_ns, open_ns);
	put_time(j, "end_s", atomic_load_explicit(&ev->end_ns, memory_order_acquire), open_ns);
	lb_json_u64_if(j, "ios", kind == LB_EV_STALL || kind == LB_EV_ERRORS, n);
	lb_json_u64_if(j, "luns_held", kind == LB_EV_HELD, n);
	put_text(j, "path", kind == LB_EV_PATH, ev->what);
	put_text(j, "from_state", kind == LB_EV_PATH, ev->from);
	put_text(j, "to_state", kind == LB_EV_PATH, ev->to);
	lb_json_u64_if(j, "from", is_change, n);
	lb_json_u64_if(j, "to", is_change, ev->m);
	put_text(j, "text", kind == LB_EV_LOST || kind == LB_EV_HELD, ev->what);
}

void lb_report_events_json(struct lb_json *j, const struct lb_result *r)
{
	uint64_t open_ns = r->window_ns.has ? r->open_ns : LB_NEVER;

	lb_json_open(j, "events", '[');
	for (uint32_t i = 0; i < r->n_events; i++) {
		const struct lb_event *ev = r->events[i];

		lb_json_open(j, NULL, '{');
		lb_report_event_keys(
			j, ev, ev->lun < 0 ? NULL : r->luns[ev->lun].lun->name, open_ns);
		lb_json_close(j, '}');
	}
	lb_json_close(j, ']');
	lb_json_u64(j, "events_dropped", r->events_dropped);
}

void lb_report_silence(struct lb_json *j, const struct lb_silence *s)
{
	lb_json_f64_if(j, "longest_gap_s", s->longest_ns.has, lb_seconds(s->longest_ns.v));
	lb_json_f64_if(j, "longest_gap_at_s", s->longest_s.has, s->longest_s.v);
	lb_json_u64(j, "stalls", s->n_stalls);
	lb_json_f64(j, "stalled_s", lb_seconds(s->stalled_ns));
}

/* ---- for people ---- */

/*
 * Event AT, and where FOLDS those of its kind that begin within a second of it. TOLD has a mark for
 * each that is in a line.
 */
static struct lb_event_fold fold_at(
	const struct lb_result *r, uint32_t at, bool folds, uint64_t end_ns, char *told)
{
	const struct lb_event *first = r->events[at];
	struct lb_event_fold fold = {0};

	for (uint32_t i = at; i < r->n_events; i++) {
		const struct lb_event *ev = r->events[i];

		if (i > at && (!folds || ev->begin_ns - first->begin_ns > NEAR_NS))
			break;
		if (told[i] || ev->kind != first->kind)
			continue;
		lb_event_fold_add(&fold, ev, end_ns);
		told[i] = 1;
	}
	return fold;
}

/* A line of the time line: events, or an outage. */
struct line {
	uint32_t place;      /* among those of one time */
	double from_s, to_s; /* INFINITY: to the end */
	struct lb_event_fold fold;
	const struct lb_report_outage *outage; /* NULL: the fold */
};

static int by_from(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->from_s != y->from_s)
		return x->from_s < y->from_s ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

static void time_of(char *buf, size_t n, const struct line *line)
{
	if (isinf(line->to_s))
		snprintf(buf, n, "%.1f s to the end", line->from_s);
	else if (line->to_s - line->from_s < NEAR_NS / 10 / 1e9)
		snprintf(buf, n, "%.1f s", line->from_s);
	else
		snprintf(buf, n, "%.1f to %.1f s", line->from_s, line->to_s);
}

static void print_lines(FILE *out, char *const *labels, const struct line *lines, uint32_t n)
{
	char when[64], words[1024];
	size_t width = 0;

	for (uint32_t i = 0; i < n; i++) {
		time_of(when, sizeof(when), &lines[i]);
		if (strlen(when) > width)
			width = strlen(when);
	}
	for (uint32_t i = 0; i < n; i++) {
		time_of(when, sizeof(when), &lines[i]);
		fprintf(out, "  %-*s  ", (int)width, when);
		if (lines[i].outage)
			lb_report_outage_words(words, sizeof(words), lines[i].outage, labels);
		else
			lb_event_words(words, sizeof(words), &lines[i].fold,
				(const char *const *)labels, false);
		lb_report_wrapped(out, words, width + 4, width + 4);
	}
}

/* The events of R, as at most LINES_MAX lines; returns these, and in *MORE what there was no line
 * for. TOLD: zeros, for each. */
static uint32_t event_lines(
	const struct lb_result *r, struct line *lines, char *told, uint32_t *more)
{
	uint64_t end_ns = r->open_ns + r->window_ns.v;
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n_events; i++) {
		struct line *line = &lines[n];

		if (told[i])
			continue;
		if (n == LINES_MAX) {
			++*more;
			continue;
		}
		*line = (struct line){
			.place = n, .fold = fold_at(r, i, r->n_events > LINES_MAX, end_ns, told)};
		line->from_s = lb_seconds_since(r->open_ns, line->fold.from_ns);
		line->to_s = line->fold.to_ns == LB_NEVER
				     ? INFINITY
				     : lb_seconds_since(r->open_ns, line->fold.to_ns);
		n++;
	}
	return n;
}

static int print_events(FILE *out, const struct lb_result *r, char *const *labels)
{
	struct line lines[LINES_MAX + OUTAGES_MAX];
	char *told = calloc(r->n_events + 1, 1);
	uint32_t n = 0, n_more = 0, n_outages = OUTAGES_MAX;
	struct lb_report_outage *outages = lb_report_outages_pick(r, &n_outages);
	int rc = told && outages ? 0 : -ENOMEM;

	if (!rc) {
		n = event_lines(r, lines, told, &n_more);
		for (uint32_t i = 0; i < n_outages; i++, n++)
			lines[n] = (struct line){.place = n,
				.from_s = outages[i].o->begin_s,
				.to_s = outages[i].o->end_s,
				.outage = &outages[i]};
		n_more += lb_report_outages_count(r) - n_outages;
		qsort(lines, n, sizeof(*lines), by_from);
		fprintf(out, "\nwhat befell the LUNs, by seconds of the measured time\n");
		print_lines(out, labels, lines, n);
		if (n_more)
			fprintf(out, "  and %" PRIu32 " more; --json has them all\n", n_more);
	}
	if (r->events_dropped)
		fprintf(out, "  and %" PRIu32 " for which there was no room\n", r->events_dropped);
	free(outages);
	free(told);
	return rc;
}

/* One stall is told of as an event, and what is short by the latencies. */
static bool is_to_tell(const struct lb_silence *s)
{
	return s->n_stalls > 1 || (!s->n_stalls && s->longest_ns.v >= SILENCE_MIN);
}

static int by_length(const void *a, const void *b)
{
	const struct lb_lun_result *x = *(const struct lb_lun_result *const *)a;
	const struct lb_lun_result *y = *(const struct lb_lun_result *const *)b;
	uint64_t nx = x->silence.longest_ns.v, ny = y->silence.longest_ns.v;

	return nx != ny ? (nx > ny ? -1 : 1) : (x > y) - (x < y);
}

static void add_silence(struct lb_table *t, const struct lb_silence *s, const char *name)
{
	lb_table_add(t, "%s", name);
	lb_table_add(t, "%.3f", lb_seconds(s->longest_ns.v));
	lb_table_add(t, "%.1f", s->longest_s.v);
	lb_table_add(t, "%" PRIu64, s->n_stalls);
	lb_table_add(t, "%.3f", lb_seconds(s->stalled_ns));
}

static int print_silences(FILE *out, const struct lb_result *r, char *const *labels)
{
	const struct lb_lun_result **luns = malloc((r->n_luns + 1) * sizeof(*luns));
	struct lb_table t = {.align = "lrrrr"};
	uint32_t n = 0;
	int rc = 0;

	if (!luns)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_luns; i++)
		if (is_to_tell(&r->luns[i].silence))
			luns[n++] = &r->luns[i];
	qsort(luns, n, sizeof(*luns), by_length);
	if (n) {
		lb_table_add(&t, "nothing came back, s");
		lb_table_add(&t, "longest");
		lb_table_add(&t, "at");
		lb_table_add(&t, "stalls");
		lb_table_add(&t, "stalled");
		for (uint32_t i = 0; i < n && i < ROWS_MAX; i++)
			add_silence(&t, &luns[i]->silence, labels[luns[i] - r->luns]);
		fputc('\n', out);
		rc = lb_table_print(&t, out);
		lb_table_done(&t);
	}
	if (n > ROWS_MAX)
		fprintf(out, "and %" PRIu32 " more LUNs\n", n - ROWS_MAX);
	free(luns);
	return rc;
}

int lb_report_events(FILE *out, const struct lb_result *r, char *const *labels)
{
	bool has_any = r->n_events || lb_report_outages_count(r);
	int rc = has_any && r->window_ns.has ? print_events(out, r, labels) : 0;

	return rc ? rc : print_silences(out, r, labels);
}
