/* A result that was saved, read again as far as its outages need it. */
#ifndef LB_SAVED_H
#define LB_SAVED_H

#include "json_in.h"
#include "result.h"

struct lb_saved {
	/* LUNs' names, window, events and outages; nothing else is filled */
	struct lb_result r;
	const char *path;
	const char *host, *start_utc; /* NULL: unknown */
	const char *ended_by;
	bool is_complete;
	size_t n_points;
	struct lb_fig_f64 interval_s;

	struct lb_jin doc;
	struct lb_lun *luns;
	struct lb_event *events;
};

/*
 * Reads PATH ("-": stdin), a document of schema/lunbench-result-1.schema.json of any run, and finds
 * its outages. Returns 0 or a negative errno with ERR, which says what is wrong with the document
 * and where. lb_saved_done() may be called after either.
 */
int lb_saved_load(struct lb_saved *s, const char *path, struct lb_err *err);
void lb_saved_done(struct lb_saved *s);

#endif
