/*
 * JSON that people or programs wrote: RFC 8259, and comments (// and slash-star). Whatever two
 * readers might understand in two ways is refused: keys given twice, numbers that do not fit, NaN,
 * text after the document. Faults in the text are told with line and column, those of what it says
 * by where in the document they are: `a.json: luns[3].series: ...`.
 */
#ifndef LB_JSON_IN_H
#define LB_JSON_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct json_object;

/* A value, and where it is. It points to what it is in, which has to stay. */
struct lb_jin {
	const char *file;        /* for messages */
	const struct lb_jin *up; /* NULL: the document */
	const char *key;         /* in an object; NULL: in an array */
	size_t index;            /* in an array */
	struct json_object *v;   /* NULL: null */
};

/*
 * Reads the whole of the file PATH ("-": the standard input), or TEXT with its LEN bytes, which
 * messages call PATH. Return 0 or a negative errno with ERR: LB_ST_USAGE, or LB_ST_UNAVAILABLE
 * when there is no memory. lb_jin_done() may be called after either.
 */
int lb_jin_load(struct lb_jin *doc, const char *path, struct lb_err *err);
int lb_jin_parse(
	struct lb_jin *doc, const char *path, const char *text, size_t len, struct lb_err *err);
void lb_jin_done(struct lb_jin *doc);

/* `FILE: WHERE: FMT...`; returns -EINVAL. */
int lb_jin_fail(const struct lb_jin *at, struct lb_err *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Whether IN, an object, has KEY with a value that is not null. */
bool lb_jin_has(const struct lb_jin *in, const char *key);

/*
 * What is under KEY in IN, which must be an object; of the type that is wanted, or -EINVAL with
 * ERR. Strings live as long as the document and have no NUL in them. An array has *N items.
 */
int lb_jin_object(const struct lb_jin *in, const char *key, struct lb_jin *to, struct lb_err *err);
int lb_jin_array(
	const struct lb_jin *in, const char *key, struct lb_jin *to, size_t *n, struct lb_err *err);
int lb_jin_str(const struct lb_jin *in, const char *key, const char **to, struct lb_err *err);
int lb_jin_bool(const struct lb_jin *in, const char *key, bool *to, struct lb_err *err);
int lb_jin_u64(const struct lb_jin *in, const char *key, uint64_t *to, struct lb_err *err);
int lb_jin_f64(const struct lb_jin *in, const char *key, double *to, struct lb_err *err);

/* Item I (below *N) of the array IN: whatever it is; an object; a number. */
struct lb_jin lb_jin_item(const struct lb_jin *in, size_t i);
int lb_jin_item_object(const struct lb_jin *in, size_t i, struct lb_jin *to, struct lb_err *err);
int lb_jin_item_f64(const struct lb_jin *in, size_t i, double *to, struct lb_err *err);
bool lb_jin_item_is_null(const struct lb_jin *in, size_t i);

#endif
