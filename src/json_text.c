#include "json_text.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

#define DEPTH_MAX 32 /* json-c's own */
#define BLANKS    " \t\r\n"

/* A text on its way to be a document. */
struct source {
	const char *path;
	char *text; /* NUL-terminated; comments become blanks */
	size_t len;
	struct lb_err *err;
};

/* ---- faults ---- */

static int no_memory(const struct source *s)
{
	char name[256];

	return lb_fail(s->err, LB_ST_UNAVAILABLE, ENOMEM, "%s: no memory for it",
		lb_shorten(name, sizeof(name), s->path));
}

/* `FILE:LINE:COLUMN: WHAT`, of what is wrong at byte AT; columns are characters. */
static int text_fault(const struct source *s, size_t at, const char *what)
{
	unsigned long line = 1, column = 1;
	char name[256];

	for (size_t i = 0; i < at && i < s->len; i++) {
		if (s->text[i] == '\n') {
			line++;
			column = 1;
		} else if ((s->text[i] & 0xc0) != 0x80) { /* not inside a character */
			column++;
		}
	}
	return lb_fail(s->err, LB_ST_USAGE, EINVAL, "%s:%lu:%lu: %s",
		lb_shorten(name, sizeof(name), s->path), line, column, what);
}

/* ---- the text ---- */

/* The first byte after the string that begins at AT; past the text: it does not end. */
static size_t string_end(const struct source *s, size_t at)
{
	for (at++; at < s->len && s->text[at] != '"'; at++)
		at += s->text[at] == '\\';
	return at + 1;
}

static bool has(const struct source *s, size_t at, const char *what)
{
	return !strncmp(s->text + at, what, strlen(what));
}

/* What is beside comments stays where it was, so that lines and columns are those of the file. */
static int blank_comments(struct source *s)
{
	for (size_t i = 0; i < s->len; i++) {
		const char *end;
		size_t begin = i;

		if (s->text[i] == '"') {
			i = string_end(s, i) - 1;
			continue;
		}
		if (has(s, i, "//"))
			end = s->text + i + strcspn(s->text + i, "\r\n");
		else if (!has(s, i, "/*"))
			continue;
		else if ((end = strstr(s->text + i + 2, "*/")))
			end += 2;
		else
			return text_fault(s, begin, "a comment begins here and has no end");
		for (; s->text + i < end; i++)
			if (s->text[i] != '\n')
				s->text[i] = ' ';
		i--;
	}
	return 0;
}

static const char *syntax_fault(enum json_tokener_error error)
{
	switch (error) {
	case json_tokener_continue:
	case json_tokener_error_parse_eof:
		return "the text ends too early";
	case json_tokener_error_depth:
		return "nested too deeply";
	case json_tokener_error_parse_utf8_string:
		return "this is no UTF-8";
	default:
		return json_tokener_error_desc(error);
	}
}

static int parse_syntax(struct source *s, struct json_object **to)
{
	struct json_tokener *tok = json_tokener_new_ex(DEPTH_MAX);
	enum json_tokener_error error;
	size_t end;

	if (!tok)
		return no_memory(s);
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	*to = json_tokener_parse_ex(tok, s->text, (int)s->len + 1); /* the NUL ends a number */
	error = json_tokener_get_error(tok);
	end = json_tokener_get_parse_end(tok);
	json_tokener_free(tok);
	if (error != json_tokener_success)
		return text_fault(s, end, syntax_fault(error));
	return 0;
}

/* ---- what json-c lets pass ---- */

static const char *digits(const char *p)
{
	while (*p >= '0' && *p <= '9')
		p++;
	return p;
}

/* Takes the number at *AT, and moves on to its end. */
static int check_number(const struct source *s, size_t *at)
{
	const char *begin = s->text + *at, *whole = begin + (*begin == '-'), *p = digits(whole);
	bool is_integer = true, is_form = p > whole && (*whole != '0' || p == whole + 1);
	bool has_overflown;

	if (*p == '.') {
		const char *fraction = p + 1;

		is_integer = false;
		p = digits(fraction);
		is_form &= p > fraction;
	}
	if (*p == 'e' || *p == 'E') {
		const char *power = p + 1 + (p[1] == '-' || p[1] == '+');

		is_integer = false;
		p = digits(power);
		is_form &= p > power;
	}
	if (!is_form)
		return text_fault(s, *at, "this is no number");
	errno = 0;
	if (!is_integer)
		has_overflown = !isfinite(strtod(begin, NULL));
	else if (*begin == '-')
		has_overflown = strtoll(begin, NULL, 10) == INT64_MIN && errno;
	else
		has_overflown = strtoull(begin, NULL, 10) == UINT64_MAX && errno;
	if (has_overflown)
		return text_fault(s, *at, "this number is too large");
	*at = (size_t)(p - s->text);
	return 0;
}

/* Of the string from AT up to END. */
static int check_string(const struct source *s, size_t at, size_t end)
{
	for (size_t i = at; i < end; i++) {
		if ((unsigned char)s->text[i] < 0x20)
			return text_fault(
				s, i, "a control character in a string: write \\n or \\u");
		if (s->text[i] != '\\')
			continue;
		if (has(s, i, "\\u0000"))
			return text_fault(s, i, "a NUL (\\u0000) in a string");
		i++;
	}
	return 0;
}

/* Adds the key, a string from AT up to END, to KEYS. */
static int check_key(const struct source *s, size_t at, size_t end, struct json_object *keys)
{
	char *raw = strndup(s->text + at, end - at);
	struct json_object *key = raw ? json_tokener_parse(raw) : NULL;
	const char *name = key ? json_object_get_string(key) : NULL;
	int ret = 0;

	if (name && json_object_object_get_ex(keys, name, NULL))
		ret = text_fault(s, at, "this key was given before in the same object");
	else if (!name || json_object_object_add(keys, name, NULL))
		ret = no_memory(s);
	json_object_put(key);
	free(raw);
	return ret;
}

/* Takes the token at *AT, and moves on to its end. OPEN: the keys of the objects it is in. */
static int check_token(
	const struct source *s, size_t *at, struct json_object **open, unsigned *depth)
{
	char c = s->text[*at];
	size_t begin = *at, end;
	int ret;

	if (c == '-' || (c >= '0' && c <= '9'))
		return check_number(s, at);
	if (c == '"') {
		*at = end = string_end(s, begin);
		ret = check_string(s, begin, end);
		if (!ret && s->text[end + strspn(s->text + end, BLANKS)] == ':')
			ret = check_key(s, begin, end, open[*depth - 1]);
		return ret;
	}
	if (c == '{' || c == '[') {
		open[*depth] = c == '{' ? json_object_new_object() : NULL;
		if (c == '{' && !open[*depth])
			return no_memory(s);
		++*depth;
	} else if (c == '}' || c == ']') {
		json_object_put(open[--*depth]);
	} else if (c == 't' || c == 'f' || c == 'n') {
		*at += strspn(s->text + begin, "truefalsn") - 1;
	} else if (c == '\'') {
		return text_fault(s, begin, "a string must be in double quotes");
	} else if (!strchr(BLANKS ",:", c)) {
		return text_fault(s, begin, "this is no JSON");
	}
	++*at;
	return 0;
}

/* Of a text that json-c takes, so brackets match and strings end. */
static int check_tokens(const struct source *s)
{
	struct json_object *open[DEPTH_MAX + 1];
	unsigned depth = 0;
	int ret = 0;

	for (size_t at = 0; !ret && at < s->len;)
		ret = check_token(s, &at, open, &depth);
	while (depth)
		json_object_put(open[--depth]);
	return ret;
}

int lb_json_text_parse(
	const char *path, char *text, size_t len, struct json_object **to, struct lb_err *err)
{
	struct source src = {.path = path, .text = text, .len = len, .err = err}, *s = &src;
	const char *nul = memchr(text, '\0', len);
	int ret;

	*to = NULL;
	if (nul)
		return text_fault(s, (size_t)(nul - text), "a NUL byte: this is no text");
	if (has(s, 0, "\xef\xbb\xbf")) /* some editors begin a file so, unseen */
		memset(text, ' ', 3);
	ret = blank_comments(s);
	if (!ret && !text[strspn(text, BLANKS)])
		ret = text_fault(s, len, "there is nothing in it");
	if (!ret)
		ret = parse_syntax(s, to);
	if (!ret)
		ret = check_tokens(s);
	if (ret) {
		json_object_put(*to);
		*to = NULL;
	}
	return ret;
}
