/* Events in words, for notes while it runs and for the report. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "event.h"
#include "units.h"

/* Of several: "8 LUNs: WHAT: a, b, c and 5 more"; when it is over: "8 LUNs: END after 7.3 s: ...".
 */
static const struct {
	const char *who, *what, *end; /* what NULL: each tells for itself */
	bool has_length;
} kinds[LB_EV_KINDS] = {
	[LB_EV_STALL] = {"LUNs", "nothing came back", "answering again", true},
	[LB_EV_ERRORS] = {"LUNs", "I/O errors", "no I/O errors any more", false},
	[LB_EV_LOST] = {"LUNs", "lost", "", false},
	[LB_EV_PATH] = {"path changes", NULL, "", false},
	[LB_EV_PATHS] = {"LUNs", "live paths changed", "", false},
	[LB_EV_SUSPENDED] = {"LUNs", "suspended", "no longer suspended", true},
	[LB_EV_SIZE] = {"LUNs", "another size", "", false},
	[LB_EV_HELD] = {"workers", "held in a call that submits", "going on", true},
	[LB_EV_STEADY] = {"LUNs", "steady", "", false},
};

struct words {
	char *buf;
	size_t n, len;
};

__attribute__((format(printf, 2, 3))) static void say(struct words *w, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(w->buf + w->len, w->n - w->len, fmt, ap);
	va_end(ap);
	if (len > 0)
		w->len += (size_t)len < w->n - w->len ? (size_t)len : w->n - w->len - 1;
}

/* "7.3 s"; tenths where they say something. */
static const char *seconds(char buf[32], uint64_t ns)
{
	double s = (double)ns / (double)LB_NSEC_PER_SEC;

	snprintf(buf, 32, "%.*f s", s < 0.1 ? 3 : s < 100 ? 1 : 0, s);
	return buf;
}

static void say_name(struct words *w, const char *name)
{
	char shown[96];

	say(w, "%s", lb_shorten(shown, sizeof(shown), name));
}

/* A path by its own name, all else by its LUN's. */
static void say_who(struct words *w, const struct lb_event *ev, const char *const *names)
{
	if (ev->kind == LB_EV_PATH && ev->what[0])
		say_name(w, ev->what);
	else if (ev->lun >= 0)
		say_name(w, names[ev->lun]);
	else
		say(w, "%s", ev->kind == LB_EV_HELD ? "a worker" : "the run");
}

static void say_path(struct words *w, const struct lb_event *ev, const char *const *names)
{
	say(w, "%s -> %s", ev->from, ev->to);
	if (!ev->what[0] || ev->lun < 0)
		return;
	say(w, " (path of ");
	say_name(w, names[ev->lun]);
	say(w, ")");
}

/* What befell its LUN. */
static void say_what(
	struct words *w, const struct lb_event *ev, uint64_t ns, const char *const *names)
{
	uint64_t n = atomic_load_explicit(&ev->n, memory_order_relaxed);
	char buf[32], text[sizeof(ev->what) * 4];

	switch (ev->kind) {
	case LB_EV_STALL:
		say(w, "nothing came back for %s", seconds(buf, ns));
		if (n)
			say(w, ", %" PRIu64 " in flight", n);
		break;
	case LB_EV_ERRORS:
		say(w, "%" PRIu64 " I/O error%s", n, n == 1 ? "" : "s");
		break;
	case LB_EV_LOST:
		say(w, "lost: %s", lb_printable(text, sizeof(text), ev->what));
		break;
	case LB_EV_PATH:
		say_path(w, ev, names);
		break;
	case LB_EV_PATHS:
		say(w, "%" PRIu64 " live path%s, before it %" PRIu64, ev->m, ev->m == 1 ? "" : "s",
			n);
		break;
	case LB_EV_SUSPENDED:
		say(w, "suspended for %s", seconds(buf, ns));
		break;
	case LB_EV_SIZE:
		say(w, "now of %" PRIu64 " bytes, before it %" PRIu64, ev->m, n);
		break;
	case LB_EV_HELD:
		say(w, "held %sin a call that submits for %s; %s", ev->lun < 0 ? "" : "a worker ",
			seconds(buf, ns), lb_printable(text, sizeof(text), ev->what));
		break;
	case LB_EV_STEADY:
		say(w, "steady state reached");
		break;
	case LB_EV_KINDS:
		break;
	}
}

void lb_event_fold_add(struct lb_event_fold *f, const struct lb_event *ev, uint64_t now_ns)
{
	uint64_t end_ns = atomic_load_explicit(&ev->end_ns, memory_order_acquire);

	if (!f->n || ev->begin_ns < f->from_ns)
		f->from_ns = ev->begin_ns;
	if (!f->n || end_ns > f->to_ns)
		f->to_ns = end_ns;
	if (end_ns == LB_NEVER)
		end_ns = now_ns;
	if (end_ns > ev->begin_ns && end_ns - ev->begin_ns > f->longest_ns)
		f->longest_ns = end_ns - ev->begin_ns;
	if (f->n < LB_EVENTS_SHOWN)
		f->first[f->n] = ev;
	f->n++;
}

static void say_several(
	struct words *w, const struct lb_event_fold *f, const char *const *names, bool at_end)
{
	enum lb_event_kind kind = f->first[0]->kind;
	char buf[32];

	say(w, "%" PRIu32 " %s", f->n, kinds[kind].who);
	if (kinds[kind].what)
		say(w, ": %s", at_end ? kinds[kind].end : kinds[kind].what);
	if (at_end || kinds[kind].has_length)
		say(w, " %s up to %s", at_end ? "after" : "for", seconds(buf, f->longest_ns));
	for (uint32_t i = 0; i < f->n && i < LB_EVENTS_SHOWN; i++) {
		say(w, "%s", i ? ", " : ": ");
		say_who(w, f->first[i], names);
		if (kind == LB_EV_PATH) {
			say(w, " ");
			say_path(w, f->first[i], names);
		}
	}
	if (f->n > LB_EVENTS_SHOWN)
		say(w, " and %" PRIu32 " more", f->n - LB_EVENTS_SHOWN);
}

char *lb_event_words(
	char *buf, size_t n, const struct lb_event_fold *f, const char *const *names, bool at_end)
{
	struct words w = {.buf = buf, .n = n};
	char length[32];

	buf[0] = '\0';
	if (f->n > 1) {
		say_several(&w, f, names, at_end);
		return buf;
	}
	say_who(&w, f->first[0], names);
	say(&w, ": ");
	if (at_end)
		say(&w, "%s after %s", kinds[f->first[0]->kind].end,
			seconds(length, f->longest_ns));
	else
		say_what(&w, f->first[0], f->longest_ns, names);
	return buf;
}
