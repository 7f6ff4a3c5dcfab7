#include "json_out.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

static void put_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (size_t len; *s; s += len) {
		len = lb_utf8_len(s);
		if (!len) {
			fputs("\xef\xbf\xbd", out); /* U+FFFD */
			len = 1;
		} else if (*s == '"' || *s == '\\') {
			fprintf(out, "\\%c", *s);
		} else if ((unsigned char)*s < 0x20 || *s == 0x7f) {
			fprintf(out, "\\u%04x", (unsigned)*s);
		} else {
			fwrite(s, 1, len, out);
		}
	}
	fputc('"', out);
}

static void put_line(struct lb_json *j)
{
	if (!j->is_line)
		fprintf(j->out, "\n%*s", (int)(2 * j->depth), "");
}

void lb_json_raw(struct lb_json *j, const char *key)
{
	if (j->has_sibling)
		fputs(j->is_line ? ", " : ",", j->out);
	if (j->depth)
		put_line(j);
	if (key) {
		put_string(j->out, key);
		fputs(": ", j->out);
	}
	j->has_sibling = true;
}

void lb_json_open(struct lb_json *j, const char *key, char bracket)
{
	lb_json_raw(j, key);
	fputc(bracket, j->out);
	j->depth++;
	j->has_sibling = false;
}

void lb_json_close(struct lb_json *j, char bracket)
{
	j->depth--;
	if (j->has_sibling)
		put_line(j);
	fputc(bracket, j->out);
	j->has_sibling = true;
	if (!j->depth)
		fputc('\n', j->out);
}

void lb_json_null(struct lb_json *j, const char *key)
{
	lb_json_raw(j, key);
	fputs("null", j->out);
}

void lb_json_bool(struct lb_json *j, const char *key, bool v)
{
	lb_json_raw(j, key);
	fputs(v ? "true" : "false", j->out);
}

void lb_json_u64(struct lb_json *j, const char *key, uint64_t v)
{
	lb_json_raw(j, key);
	fprintf(j->out, "%" PRIu64, v);
}

void lb_json_i64(struct lb_json *j, const char *key, int64_t v)
{
	lb_json_raw(j, key);
	fprintf(j->out, "%" PRId64, v);
}

void lb_json_f64(struct lb_json *j, const char *key, double v)
{
	char buf[40], *point;

	if (!isfinite(v)) {
		lb_json_null(j, key);
		return;
	}
	lb_json_raw(j, key);
	if (v == 0)
		v = 0;                                  /* -0 too */
	for (int digits = 15; digits <= 17; digits++) { /* 17 always suffice for a double */
		snprintf(buf, sizeof(buf), "%.*g", digits, v);
		if (strtod(buf, NULL) == v)
			break;
	}
	point = strchr(buf, ',');
	if (point) /* some locales' */
		*point = '.';
	fputs(buf, j->out);
	if (!strpbrk(buf, ".e"))
		fputs(".0", j->out);
}

void lb_json_str(struct lb_json *j, const char *key, const char *s)
{
	if (!s) {
		lb_json_null(j, key);
		return;
	}
	lb_json_raw(j, key);
	put_string(j->out, s);
}

void lb_json_bool_if(struct lb_json *j, const char *key, bool is_known, bool v)
{
	if (is_known)
		lb_json_bool(j, key, v);
	else
		lb_json_null(j, key);
}

void lb_json_u64_if(struct lb_json *j, const char *key, bool is_known, uint64_t v)
{
	if (is_known)
		lb_json_u64(j, key, v);
	else
		lb_json_null(j, key);
}

void lb_json_f64_if(struct lb_json *j, const char *key, bool is_known, double v)
{
	lb_json_f64(j, key, is_known ? v : NAN);
}

void lb_json_text(struct lb_json *j, const char *key, const char *s)
{
	lb_json_str(j, key, s && s[0] ? s : NULL);
}
