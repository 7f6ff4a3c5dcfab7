#include "notes.h"

#include <stdio.h>
#include <stdlib.h>

#include "clock.h"

#define SETTLE_NS (200 * LB_NSEC_PER_MSEC) /* what befalls many LUNs takes a moment */
#define APART_NS  LB_NSEC_PER_SEC          /* between two rounds of notes */

/* The events that can be told of are [n_seen, ...). */
static uint32_t end_of_news(const struct lb_notes *n, const struct lb_events *log)
{
	uint32_t end = n->n_seen, all = lb_events_n(log);

	while (end < all && atomic_load_explicit(&log->at[end].is_there, memory_order_acquire))
		end++;
	return end;
}

static bool any_has_ended(const struct lb_notes *n, const struct lb_events *log)
{
	for (uint32_t i = 0; i < n->n_lasting; i++)
		if (lb_event_has_ended(&log->at[n->lasting[i]]))
			return true;
	return false;
}

/* Room for all that can last when there are EVENTS of them, and the names; false: no memory. */
static bool make_room(struct lb_notes *n, const struct lb_plan *plan, uint32_t events)
{
	if (!n->names) {
		n->names = calloc(plan->n_luns, sizeof(*n->names));
		for (uint32_t i = 0; n->names && i < plan->n_luns; i++)
			n->names[i] = plan->luns[i]->name;
	}
	if (n->room < events) {
		uint32_t room = events < 64 ? 64 : 2 * events;
		uint32_t *lasting = realloc(n->lasting, room * sizeof(*lasting));
		uint32_t *over = realloc(n->over, room * sizeof(*over));

		n->lasting = lasting ? lasting : n->lasting;
		n->over = over ? over : n->over;
		n->room = lasting && over ? room : n->room;
	}
	return n->names && n->room >= events;
}

/* Which of those that lasted are over, and which of the news [n_seen, END) last. Each is looked at
 * once: what ends later is for the next round. */
static void sort_out(struct lb_notes *n, const struct lb_events *log, uint32_t end)
{
	uint32_t left = 0;

	n->n_over = 0;
	for (uint32_t i = 0; i < n->n_lasting; i++) {
		if (lb_event_has_ended(&log->at[n->lasting[i]]))
			n->over[n->n_over++] = n->lasting[i];
		else
			n->lasting[left++] = n->lasting[i];
	}
	n->n_lasting = left;
	for (uint32_t i = n->n_seen; i < end; i++)
		if (!lb_event_has_ended(&log->at[i]))
			n->lasting[n->n_lasting++] = i;
}

/* When it began or ended, by the measured time, and what it is. */
static void tell(const struct lb_notes *n, struct lb_progress *p, const struct lb_event_fold *f,
	uint64_t open_ns, bool at_end)
{
	uint64_t at_ns = at_end ? f->to_ns : f->from_ns;
	char words[1024], line[1100], when[32] = "warm-up";

	if (!f->n)
		return;
	if (at_ns >= open_ns)
		snprintf(when, sizeof(when), "%.1f s",
			(double)(at_ns - open_ns) / (double)LB_NSEC_PER_SEC);
	snprintf(line, sizeof(line), "%s: %s", when,
		lb_event_words(words, sizeof(words), f, n->names, at_end));
	lb_progress_note(p, line);
}

/* One note for what is over of a kind, and one for the news [n_seen, END). */
static void tell_kind(const struct lb_notes *n, struct lb_progress *p, const struct lb_board *b,
	uint32_t end, enum lb_event_kind kind, uint64_t now)
{
	const struct lb_events *log = &b->events;
	uint64_t open_ns = atomic_load(&b->window.open_ns);
	struct lb_event_fold over = {0}, news = {0};

	for (uint32_t i = 0; i < n->n_over; i++)
		if (log->at[n->over[i]].kind == kind)
			lb_event_fold_add(&over, &log->at[n->over[i]], now);
	for (uint32_t i = n->n_seen; i < end; i++)
		if (log->at[i].kind == kind)
			lb_event_fold_add(&news, &log->at[i], now);
	tell(n, p, &over, open_ns, true);
	tell(n, p, &news, open_ns, false);
}

uint64_t lb_notes_tell(
	struct lb_notes *n, struct lb_progress *p, const struct lb_board *board, uint64_t now_ns)
{
	const struct lb_events *log = &board->events;
	uint32_t end = p->has_notes ? end_of_news(n, log) : 0;

	if (!n->due_ns && (end > n->n_seen || any_has_ended(n, log))) {
		n->due_ns = now_ns + SETTLE_NS;
		if (n->told_ns && n->due_ns < n->told_ns + APART_NS)
			n->due_ns = n->told_ns + APART_NS;
	}
	if (!n->due_ns)
		return LB_NEVER;
	if (now_ns < n->due_ns)
		return n->due_ns;
	n->due_ns = 0;
	n->told_ns = now_ns;
	if (!make_room(n, board->plan, end)) /* the report has them all the same */
		return LB_NEVER;
	sort_out(n, log, end);
	for (int kind = 0; kind < LB_EV_KINDS; kind++)
		tell_kind(n, p, board, end, (enum lb_event_kind)kind, now_ns);
	n->n_seen = end;
	return LB_NEVER;
}

void lb_notes_done(struct lb_notes *n)
{
	free(n->lasting);
	free(n->over);
	free(n->names);
}
