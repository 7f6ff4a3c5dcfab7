#include "feed.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "report.h"

/* A line in the making. */
struct line {
	FILE *file;
	char *text;
	size_t len;
};

static FILE *open_line(struct line *l)
{
	*l = (struct line){0};
	l->file = open_memstream(&l->text, &l->len);
	return l->file;
}

static void send_line(struct lb_feed *f, struct line *l, bool waits)
{
	if (fclose(l->file) == 0)
		lb_spool_put(f->spool, l->text, l->len, waits);
	free(l->text);
}

void lb_feed_start(struct lb_feed *f)
{
	if (!f->out)
		return;
	f->open_ns = LB_NEVER;
	lb_output_begin(f->out);
	f->errnum = -lb_spool_start(&f->spool, f->out->fd, LB_FEED_ROOM);
	if (f->errnum) {
		lb_spool_done(f->spool);
		f->spool = NULL;
	}
}

static void begin(
	struct lb_feed *f, const struct lb_board *b, const struct lb_plan *plan, bool waits)
{
	bool has_time = plan && !plan->is_virtual && f->open_ns != LB_NEVER;
	struct line l;

	f->has_begun = true;
	if (!open_line(&l))
		return;
	lb_report_stream_begin(
		l.file, plan, has_time ? f->open_ns + b->realtime_minus_monotonic_ns : 0);
	send_line(f, &l, waits);
}

static void tell_interval(struct lb_feed *f, const struct lb_plan *plan, const struct lb_series *s,
	uint32_t i, bool waits)
{
	struct line l;

	if (!open_line(&l))
		return;
	lb_report_stream_interval(l.file, plan, s, i, f->open_ns);
	send_line(f, &l, waits);
	f->n_told++;
}

static void tell_event(struct lb_feed *f, const struct lb_plan *plan, const struct lb_event *ev,
	uint32_t id, bool waits)
{
	struct line l;

	if (!open_line(&l))
		return;
	lb_report_stream_event(l.file, plan, ev, id, f->open_ns);
	send_line(f, &l, waits);
}

/* It is to be told of again when it ends. */
static void remember(struct lb_feed *f, uint32_t id)
{
	uint32_t *more = reallocarray(f->lasting, f->n_lasting + 1, sizeof(*more));

	if (!more)
		return;
	f->lasting = more;
	f->lasting[f->n_lasting++] = id;
}

/* Events that are new, and those of the old that have ended; what begins after UNTIL_NS waits. */
static void tell_events(struct lb_feed *f, const struct lb_board *b, uint64_t until_ns, bool waits)
{
	const struct lb_event *at = b->events.at;
	uint32_t n = lb_events_n(&b->events), left = 0;

	for (uint32_t i = 0; i < f->n_lasting; i++) {
		if (lb_event_has_ended(&at[f->lasting[i]]))
			tell_event(f, b->plan, &at[f->lasting[i]], f->lasting[i], waits);
		else
			f->lasting[left++] = f->lasting[i];
	}
	f->n_lasting = left;
	for (; f->n_events < n; f->n_events++) {
		const struct lb_event *ev = &at[f->n_events];

		if (!atomic_load_explicit(&ev->is_there, memory_order_acquire) ||
			ev->begin_ns > until_ns)
			return;
		tell_event(f, b->plan, ev, f->n_events, waits);
		if (!lb_event_has_ended(ev))
			remember(f, f->n_events);
	}
}

void lb_feed_look(struct lb_feed *f, const struct lb_board *b, const struct lb_sampler *s)
{
	const struct lb_series *last;
	uint32_t n_kept;

	if (!f->spool || !s)
		return;
	f->open_ns = atomic_load(&b->window.open_ns);
	if (f->open_ns == LB_NEVER)
		return;
	if (!f->has_begun)
		begin(f, b, b->plan, false);
	tell_events(f, b, LB_NEVER, false);
	last = lb_sampler_last(s, &n_kept);
	if (n_kept > f->n_told)
		tell_interval(f, b->plan, last, 0, false);
}

uint64_t lb_feed_lost(struct lb_feed *f, int *errnum)
{
	*errnum = f->spool ? lb_spool_errnum(f->spool) : f->errnum;
	return f->spool ? lb_spool_dropped(f->spool) : 0;
}

void lb_feed_end(struct lb_feed *f, const struct lb_board *b, const struct lb_result *r, int status)
{
	const struct lb_series *s = r->series;
	struct line l;

	if (f->spool) {
		if (r->plan && r->plan->is_virtual && s && s->n)
			f->open_ns = s->begin_ns;
		if (!f->has_begun)
			begin(f, b, r->plan, true);
		for (uint32_t i = 0; r->plan && r->plan->is_virtual && s && i < s->n; i++) {
			tell_events(f, b, s->end_ns[i], true);
			tell_interval(f, b->plan, s, i, true);
		}
		if (r->plan)
			tell_events(f, b, LB_NEVER, true);
		if (open_line(&l)) {
			lb_report_stream_end(l.file, r, status, lb_spool_dropped(f->spool));
			send_line(f, &l, true);
		}
		f->errnum = lb_spool_end(f->spool);
	}
	if (!f->out->errnum)
		f->out->errnum = f->errnum;
}

void lb_feed_done(struct lb_feed *f)
{
	lb_spool_done(f->spool);
	f->spool = NULL;
	free(f->lasting);
	f->lasting = NULL;
}
