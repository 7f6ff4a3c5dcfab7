#include "progress.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clock.h"
#include "table.h"
#include "units.h"

#define SILENT_NS   LB_NSEC_PER_SEC
#define READ(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

/* ---- looking ---- */

/* What the lanes have counted together. */
struct sums {
	uint64_t xfers, bytes; /* in the window or not */
	struct lb_hist hist;
};

/* Adds CELL's histogram; of one that is its own only the part that it has used. */
static void add_hist(struct lb_hist *into, const struct lb_cell *cell, bool is_shared)
{
	const struct lb_hist *h = READ(cell->hist);
	uint32_t from = is_shared ? 0 : lb_hist_bucket(READ(cell->min_ns));
	uint32_t to = is_shared ? LB_HIST_OVER : lb_hist_bucket(READ(cell->max_ns));

	for (uint32_t i = from; h && i <= to; i++)
		into->count[i] += READ(h->count[i]);
}

static void add_lanes(struct sums *sums, struct lb_progress *p, const struct lb_board *b)
{
	const struct lb_plan *plan = b->plan;

	for (uint32_t i = 0; i < plan->n_luns; i++)
		p->watch[i] = (struct lb_lun_watch){.last_ns = READ(b->lun_states[i].last_ns)};
	memset(p->hist_seen, 0, plan->n_hists);
	for (uint32_t i = 0; i < plan->n_lanes; i++) {
		const struct lb_lane_plan *lane = &plan->lanes[i];
		uint32_t n_sizes = plan->phases[0].streams[lane->stream].sizes.n;

		for (uint32_t k = 0; k < n_sizes * LB_OPS; k++) {
			const struct lb_cell *cell = lb_board_cell_at(b, i, k);
			char *seen = &p->hist_seen[lane->hist + k];
			uint64_t counted = READ(cell->xfers);
			uint64_t others = READ(cell->outside) + READ(cell->late);

			sums->xfers += counted + others;
			sums->bytes += lb_cell_bytes(cell) + others * cell->size_bytes;
			if (counted && !*seen) {
				add_hist(&sums->hist, cell, lane->shares_hist);
				*seen = 1;
			}
		}
	}
}

/* Looks what is in flight on the LUNs that have been silent, or on ALL. */
static void watch_slots(
	struct lb_lun_watch *watch, const struct lb_board *b, uint64_t now_ns, bool all)
{
	for (uint32_t i = 0; i < b->plan->n_lanes; i++) {
		const struct lb_lane_plan *lane = &b->plan->lanes[i];
		struct lb_lun_watch *w = &watch[lane->lun];

		if (!all && w->last_ns + SILENT_NS >= now_ns)
			continue;
		for (uint32_t k = lane->slot; k < lane->slot + lane->qd; k++) {
			uint64_t issue_ns = READ(b->ios[k].issue_ns);

			if (!issue_ns)
				continue;
			w->in_flight++;
			if (!w->oldest_ns || issue_ns < w->oldest_ns)
				w->oldest_ns = issue_ns;
		}
	}
}

static void take_watch(struct lb_progress_view *v, const struct lb_lun_watch *watch,
	const struct lb_plan *plan, uint64_t now_ns)
{
	bool is_draining = v->stage == LB_PROGRESS_DRAINING;

	for (uint32_t i = 0; i < plan->n_luns; i++) {
		const struct lb_lun_watch *w = &watch[i];
		uint64_t since_ns = w->oldest_ns;

		if (!w->in_flight)
			continue;
		if (!is_draining && since_ns < w->last_ns)
			since_ns = w->last_ns;
		v->n_waiting += w->in_flight;
		v->n_luns++;
		if (!is_draining && since_ns + SILENT_NS >= now_ns)
			continue;
		v->n_silent++;
		/* draining: the LUN of the oldest I/O; else the first that is silent */
		if (v->n_silent == 1 || (is_draining && since_ns + v->oldest_ns < now_ns)) {
			v->name = plan->luns[i]->name;
			v->oldest_ns = since_ns < now_ns ? now_ns - since_ns : 0;
		}
	}
}

static void take_rates(
	struct lb_progress *p, struct lb_progress_view *v, const struct sums *now, uint64_t now_ns)
{
	struct lb_hist delta;
	double s;

	v->xfers = now->xfers;
	if (now_ns > p->at_ns) {
		v->has_rate = true;
		s = (double)(now_ns - p->at_ns) / (double)LB_NSEC_PER_SEC;
		v->xfer_per_s = (double)(now->xfers - p->xfers) / s;
		v->bytes_per_s = (double)(now->bytes - p->bytes) / s;
		for (uint32_t i = 0; i < LB_HIST_BUCKETS; i++)
			delta.count[i] = now->hist.count[i] - p->hist.count[i];
		v->has_p99 = lb_hist_percentile(&delta, 990000, 0, UINT64_MAX, &v->p99_ns) >= 0;
	}
	p->at_ns = now_ns;
	p->xfers = now->xfers;
	p->bytes = now->bytes;
	p->hist = now->hist;
}

/* What is overdue for a tenth of a second and more: less comes and goes. */
static uint64_t look_at_backlog(const struct lb_board *b, uint64_t now_ns)
{
	uint64_t since_ns = now_ns - atomic_load(&b->window.start_ns), n = 0;

	for (uint32_t i = 0; b->paces && i < b->plan->n_luns; i++) {
		struct lb_waiting w = lb_pace_waiting(&b->paces[i], since_ns, NULL);

		if (w.oldest_ns >= LB_NSEC_PER_SEC / 10)
			n += w.n;
	}
	return n;
}

static void take_stage(struct lb_progress_view *v, const struct lb_board *b, uint64_t now_ns)
{
	const struct lb_phase *phase = &b->plan->phases[0];
	uint64_t open_ns = atomic_load(&b->window.open_ns);
	uint64_t close_ns = atomic_load(&b->window.close_ns);
	uint64_t most = 0;

	if (b->plan->is_virtual) {
		v->stage = LB_PROGRESS_VIRTUAL;
	} else if (close_ns <= now_ns) { /* a claim too: it ends now */
		v->stage = LB_PROGRESS_DRAINING;
	} else if (now_ns < open_ns) {
		v->stage = LB_PROGRESS_WARMING;
		v->left_ns = open_ns == LB_NEVER ? 0 : open_ns - now_ns;
	} else {
		v->stage = LB_PROGRESS_MEASURING;
		v->left_ns = close_ns == LB_NEVER ? 0 : close_ns - now_ns;
		v->count = phase->count;
		for (uint32_t i = 0; v->count && i < b->plan->n_luns; i++) {
			uint64_t counted = atomic_load(&b->lun_states[i].counted);

			most = counted > most ? counted : most;
		}
		if (v->count)
			v->percent = (unsigned)((unsigned __int128)most * 100 / v->count);
	}
}

static void look_at_opening(struct lb_progress *p, struct lb_progress_view *v,
	const struct lb_config *cfg, const struct lb_board *b, uint64_t now_ns)
{
	uint64_t filled = atomic_load(&b->filled_bytes), fill = atomic_load(&b->fill_bytes);
	uint64_t all = fill ? fill : cfg->scratch.count * cfg->scratch.size_bytes;
	uint32_t at = atomic_load(&b->opening_at);

	v->stage = LB_PROGRESS_OPENING;
	v->n = b->n_luns;
	v->nth = at + 1;
	if (at < b->n_luns)
		v->name = b->luns[at].name;
	if (filled && filled < all) {
		if (!p->fill_ns || p->fill_bytes != all) {
			p->fill_ns = now_ns;
			p->fill_bytes = all;
			p->fill_from = filled;
		}
		if (filled > p->fill_from)
			v->left_ns =
				(uint64_t)((double)(now_ns - p->fill_ns) * (double)(all - filled) /
					   (double)(filled - p->fill_from));
		v->stage = fill ? LB_PROGRESS_FILLING : LB_PROGRESS_SCRATCH;
		v->percent = (unsigned)((unsigned __int128)filled * 100 / all);
	}
	if (v->stage == LB_PROGRESS_OPENING && !v->name)
		v->stage = LB_PROGRESS_NOTHING;
}

void lb_progress_look(struct lb_progress *p, struct lb_progress_view *v,
	const struct lb_config *cfg, const struct lb_board *board, uint64_t now_ns)
{
	uint32_t stage = atomic_load(&board->stage);
	const struct lb_plan *plan = board->plan;
	struct sums sums = {0};

	*v = (struct lb_progress_view){0};
	if (stage == LB_STAGE_OPENING)
		look_at_opening(p, v, cfg, board, now_ns);
	if (stage != LB_STAGE_RUNNING)
		return;
	if (!p->watch)
		p->watch = calloc(plan->n_luns, sizeof(*p->watch));
	if (!p->hist_seen)
		p->hist_seen = malloc(plan->n_hists);
	if (!p->watch || !p->hist_seen)
		return;
	if (!p->at_ns) /* the first is compared with the start */
		p->at_ns = atomic_load(&board->window.start_ns);
	take_stage(v, board, now_ns);
	add_lanes(&sums, p, board);
	take_rates(p, v, &sums, now_ns);
	if (v->stage == LB_PROGRESS_VIRTUAL)
		return;
	if (v->stage != LB_PROGRESS_DRAINING)
		v->backlog = look_at_backlog(board, now_ns);
	watch_slots(p->watch, board, now_ns, v->stage == LB_PROGRESS_DRAINING);
	take_watch(v, p->watch, plan, now_ns);
}

/* ---- words ---- */

struct words {
	char *buf;
	size_t n, len, cols, width;
};

static void say(struct words *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct words *w, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(w->buf + w->len, w->n - w->len, fmt, ap);
	va_end(ap);
	if (len > 0)
		w->len += (size_t)len < w->n - w->len ? (size_t)len : w->n - w->len - 1;
}

/* NAME in what is left of the line, if that is worth it; TAIL columns are still needed after it. */
static void say_name(struct words *w, const char *name, size_t tail)
{
	size_t used = lb_columns(w->buf) + tail;
	char printable[1024];

	if (used + 8 > w->width)
		return;
	lb_printable(printable, sizeof(printable), name);
	lb_elide(printable, w->width - used);
	say(w, "%s", printable);
}

/* Whole seconds, rounded up. */
static const char *whole_seconds(char *buf, size_t n, uint64_t ns)
{
	ns = (ns + LB_NSEC_PER_SEC - 1) / LB_NSEC_PER_SEC * LB_NSEC_PER_SEC;
	return lb_format_duration(buf, n, ns);
}

static void say_rates(struct words *w, const struct lb_progress_view *v)
{
	char buf[32];

	if (!v->has_rate)
		return;
	say(w, "  %.*f xfer/sec  %.0f KB/sec", v->xfer_per_s < 100 ? 1 : 0, v->xfer_per_s,
		v->bytes_per_s / 1024);
	if (v->has_p99)
		say(w, "  p99 %s", lb_format_latency(buf, sizeof(buf), v->p99_ns));
}

static void say_backlog(struct words *w, const struct lb_progress_view *v)
{
	if (v->backlog)
		say(w, "  backlog %" PRIu64, v->backlog);
}

static void say_silent(struct words *w, const struct lb_progress_view *v)
{
	char tail[64];

	if (!v->n_silent)
		return;
	say(w, "  NO ANSWER: ");
	snprintf(tail, sizeof(tail), " for %llu s", v->oldest_ns / LB_NSEC_PER_SEC);
	if (v->n_silent > 1)
		say(w, "%u LUNs, ", v->n_silent);
	say_name(w, v->name, strlen(tail));
	say(w, "%s", tail);
}

static void say_measuring(struct words *w, const struct lb_progress_view *v)
{
	char buf[64];

	if (v->count)
		say(w, "%u%% of %" PRIu64 " xfers", v->percent, v->count);
	if (v->count && v->left_ns)
		say(w, ", ");
	if (v->left_ns)
		say(w, "%s left", whole_seconds(buf, sizeof(buf), v->left_ns));
	say_rates(w, v);
	say_backlog(w, v);
	say_silent(w, v);
}

static void say_draining(struct words *w, const struct lb_progress_view *v)
{
	char tail[64];

	if (!v->n_waiting) {
		say(w, "ending");
		return;
	}
	say(w, "waiting for %" PRIu64 " I/O%s of ", v->n_waiting, v->n_waiting == 1 ? "" : "s");
	snprintf(tail, sizeof(tail), ", oldest %llu s", v->oldest_ns / LB_NSEC_PER_SEC);
	if (v->n_luns > 1) {
		say(w, "%u LUNs%s: ", v->n_luns, tail);
		tail[0] = '\0';
	}
	say_name(w, v->name, strlen(tail));
	say(w, "%s", tail);
}

char *lb_progress_words(char *buf, size_t n, const struct lb_progress_view *v, size_t width)
{
	struct words w = {.buf = buf, .n = n, .width = width};
	char left[64];

	buf[0] = '\0';
	switch (v->stage) {
	case LB_PROGRESS_NOTHING:
		break;
	case LB_PROGRESS_OPENING:
		say(&w, "opening %u of %u: ", v->nth, v->n);
		say_name(&w, v->name, 0);
		break;
	case LB_PROGRESS_FILLING:
		say(&w, "filling the LUNs: %u%%", v->percent);
		if (v->left_ns)
			say(&w, "  %s left", whole_seconds(left, sizeof(left), v->left_ns));
		break;
	case LB_PROGRESS_SCRATCH:
		say(&w, "filling scratch files: %u%%", v->percent);
		break;
	case LB_PROGRESS_WARMING:
		say(&w, "warming up");
		if (v->left_ns)
			say(&w, ", %s left", whole_seconds(left, sizeof(left), v->left_ns));
		say_rates(&w, v);
		say_backlog(&w, v);
		say_silent(&w, v);
		break;
	case LB_PROGRESS_MEASURING:
		say_measuring(&w, v);
		break;
	case LB_PROGRESS_DRAINING:
		say_draining(&w, v);
		break;
	case LB_PROGRESS_VIRTUAL:
		say(&w, "on a virtual clock: %" PRIu64 " xfers", v->xfers);
		break;
	}
	lb_cut(buf, width);
	return buf;
}

/* ---- writing ---- */

void lb_progress_init(struct lb_progress *p, enum lb_progress_show show, int fd)
{
	*p = (struct lb_progress){.fd = fd, .is_tty = isatty(fd)};
	p->is_on = show == LB_PROGRESS_ALWAYS || (show == LB_PROGRESS_AUTO && p->is_tty);
	p->has_notes = show != LB_PROGRESS_NEVER;
}

static size_t width_of(const struct lb_progress *p)
{
	struct winsize size;

	if (!p->is_tty)
		return 200;
	if (ioctl(p->fd, TIOCGWINSZ, &size) < 0 || size.ws_col < 20)
		return 79;
	return size.ws_col - 1u; /* the last column would move some terminals on */
}

/* Whether FD would take a line now. */
static bool is_writable(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLOUT};

	return poll(&pfd, 1, 0) == 1 && (pfd.revents & POLLOUT);
}

/* On a terminal in place of the line that stands there. What cannot be written is lost. */
static void show(struct lb_progress *p, const char *words)
{
	size_t cols = lb_columns(words);
	size_t blanks = p->is_tty && p->shown > cols ? p->shown - cols : 0;
	char line[2048];
	int len;

	if (!is_writable(p->fd))
		return;
	if (p->is_tty)
		len = snprintf(
			line, sizeof(line), "\r%s%*s%s", words, (int)blanks, "", cols ? "" : "\r");
	else
		len = snprintf(line, sizeof(line), "%s\n", words);
	if (write(p->fd, line, (size_t)len) == len)
		p->shown = p->is_tty ? cols : 0;
}

void lb_progress_note(struct lb_progress *p, const char *note)
{
	char line[2048];
	int len;

	lb_progress_clear(p);
	len = snprintf(line, sizeof(line), "lunbench: %s\n", note);
	if (is_writable(p->fd) && write(p->fd, line, (size_t)len) != len)
		return; /* cut short, and nobody to tell */
}

void lb_progress_tick(struct lb_progress *p, const struct lb_config *cfg,
	const struct lb_board *board, uint64_t now_ns)
{
	struct lb_progress_view v;
	char words[1024];

	if (!p->is_on)
		return;
	lb_progress_look(p, &v, cfg, board, now_ns);
	lb_progress_words(words, sizeof(words), &v, width_of(p));
	if (words[0])
		show(p, words);
}

void lb_progress_clear(struct lb_progress *p)
{
	if (p->shown)
		show(p, "");
}

void lb_progress_done(struct lb_progress *p)
{
	lb_progress_clear(p);
	free(p->watch);
	free(p->hist_seen);
	p->watch = NULL;
	p->hist_seen = NULL;
}
