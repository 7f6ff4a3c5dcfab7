/*
 * JSON (RFC 8259) as it is written: one number writer, one string writer, nothing kept in memory.
 * NaN, infinities and -0 are never written; invalid UTF-8 becomes U+FFFD.
 */
#ifndef LB_JSON_OUT_H
#define LB_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct lb_json {
	FILE *out;
	unsigned depth;
	bool has_sibling; /* a comma is due */
	bool is_line;     /* all of it in one line */
};

/* KEY is NULL inside arrays and for the document itself. BRACKET is '{' or '['. */
void lb_json_open(struct lb_json *j, const char *key, char bracket);
void lb_json_close(struct lb_json *j, char bracket); /* '}' or ']' */

void lb_json_null(struct lb_json *j, const char *key);
void lb_json_bool(struct lb_json *j, const char *key, bool v);
void lb_json_u64(struct lb_json *j, const char *key, uint64_t v);
void lb_json_i64(struct lb_json *j, const char *key, int64_t v);

/*
 * V in the fewest digits that read back as V, always with a point or an exponent, so that a key's
 * values have one type everywhere; null when it is no finite number.
 */
void lb_json_f64(struct lb_json *j, const char *key, double v);

/* NULL is null. */
void lb_json_str(struct lb_json *j, const char *key, const char *s);

/* The same where the value is known; else null. */
void lb_json_bool_if(struct lb_json *j, const char *key, bool is_known, bool v);
void lb_json_u64_if(struct lb_json *j, const char *key, bool is_known, uint64_t v);
void lb_json_f64_if(struct lb_json *j, const char *key, bool is_known, double v);

/* NULL and "" are null. */
void lb_json_text(struct lb_json *j, const char *key, const char *s);

/* Begins a value that the caller writes to j->out by itself. */
void lb_json_raw(struct lb_json *j, const char *key);

#endif
