/* The text of a JSON document, made into json-c's objects: what json_in.h says of it. */
#ifndef LB_JSON_TEXT_H
#define LB_JSON_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct json_object;

#define LB_JSON_TEXT_MAX (INT32_MAX - 64) /* bytes: json-c counts in int */

/*
 * TEXT has LEN bytes, at most LB_JSON_TEXT_MAX, and a NUL after them; its comments are blanked.
 * Returns 0 or a negative errno with ERR, in which PATH is the text's name. The caller puts *TO,
 * which is NULL where the document is null.
 */
int lb_json_text_parse(
	const char *path, char *text, size_t len, struct json_object **to, struct lb_err *err);

#endif
