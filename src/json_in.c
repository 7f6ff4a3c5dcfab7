#include "json_in.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json_text.h"
#include "units.h"

/* "luns[3].series" of AT, at most N bytes with the NUL; "" for the document. */
static size_t put_where(char *buf, size_t n, const struct lb_jin *at)
{
	char key[64];
	size_t len;
	int more;

	buf[0] = '\0';
	if (!at->up)
		return 0;
	len = put_where(buf, n, at->up);
	if (at->key)
		more = snprintf(buf + len, n - len, "%s%s", len ? "." : "",
			lb_shorten(key, sizeof(key), at->key));
	else
		more = snprintf(buf + len, n - len, "[%zu]", at->index);
	return len + (size_t)more < n ? len + (size_t)more : n - 1;
}

int lb_jin_fail(const struct lb_jin *at, struct lb_err *err, const char *fmt, ...)
{
	char name[256], where[256], what[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	put_where(where, sizeof(where), at);
	return lb_fail(err, LB_ST_USAGE, EINVAL, "%s: %s%s%s",
		lb_shorten(name, sizeof(name), at->file), where, where[0] ? ": " : "", what);
}

/* ---- reading ---- */

/* The whole of a file. */
struct bytes {
	char *at;
	size_t n;
};

static int read_all(struct bytes *b, int fd)
{
	size_t room = 0;
	ssize_t got;

	do {
		if (room - b->n < 2) {
			char *more = realloc(b->at, room = room ? 2 * room : 1 << 16);

			if (!more)
				return -ENOMEM;
			b->at = more;
		}
		got = read(fd, b->at + b->n, room - b->n - 1);
		if (got > 0)
			b->n += (size_t)got;
		if (b->n > LB_JSON_TEXT_MAX)
			return -EFBIG;
	} while (got > 0 || (got < 0 && errno == EINTR));
	b->at[b->n] = '\0';
	return got < 0 ? -errno : 0;
}

static int read_file(struct bytes *b, const char *path)
{
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), ret;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		ret = -errno;
	else if (S_ISBLK(st.st_mode))
		ret = -ENOTBLK;
	else
		ret = read_all(b, fd);
	if (fd >= 0 && !is_stdin)
		close(fd);
	return ret;
}

int lb_jin_load(struct lb_jin *doc, const char *path, struct lb_err *err)
{
	struct bytes b = {0};
	char name[256];
	int ret = read_file(&b, path);

	*doc = (struct lb_jin){.file = path};
	if (ret)
		lb_fail(err, ret == -ENOMEM ? LB_ST_UNAVAILABLE : LB_ST_USAGE, -ret,
			"%s cannot be read: %s", lb_shorten(name, sizeof(name), path),
			ret == -ENOTBLK ? "it is a block device, not a file" : strerror(-ret));
	else
		ret = lb_json_text_parse(path, b.at, b.n, &doc->v, err);
	free(b.at);
	return ret;
}

int lb_jin_parse(
	struct lb_jin *doc, const char *path, const char *text, size_t len, struct lb_err *err)
{
	char *copy = len <= LB_JSON_TEXT_MAX ? malloc(len + 1) : NULL;
	int ret;

	*doc = (struct lb_jin){.file = path};
	if (!copy)
		return lb_fail(
			err, LB_ST_UNAVAILABLE, ENOMEM, "no memory for %zu bytes of JSON", len);
	memcpy(copy, text, len);
	copy[len] = '\0';
	ret = lb_json_text_parse(path, copy, len, &doc->v, err);
	free(copy);
	return ret;
}

void lb_jin_done(struct lb_jin *doc)
{
	if (!doc)
		return;
	json_object_put(doc->v);
	doc->v = NULL;
}

/* ---- what is in it ---- */

static const char *type_name(struct json_object *v)
{
	static const char *const names[] = {
		[json_type_null] = "null",
		[json_type_boolean] = "true or false",
		[json_type_double] = "a number",
		[json_type_int] = "a number",
		[json_type_object] = "an object",
		[json_type_array] = "an array",
		[json_type_string] = "a string",
	};

	return names[json_object_get_type(v)];
}

static int wrong_type(const struct lb_jin *at, const char *wanted, struct lb_err *err)
{
	return lb_jin_fail(at, err, "is %s, not %s", type_name(at->v), wanted);
}

bool lb_jin_has(const struct lb_jin *in, const char *key)
{
	struct json_object *v = NULL;

	return json_object_is_type(in->v, json_type_object) &&
	       json_object_object_get_ex(in->v, key, &v) && v;
}

/* Whatever is under KEY in IN; WANTED: what should be. */
static int find(const struct lb_jin *in, const char *key, struct lb_jin *to, const char *wanted,
	struct lb_err *err)
{
	*to = (struct lb_jin){.file = in->file, .up = in, .key = key};
	if (!json_object_is_type(in->v, json_type_object))
		return wrong_type(in, "an object", err);
	if (!json_object_object_get_ex(in->v, key, &to->v))
		return lb_jin_fail(to, err, "is missing: %s", wanted);
	return 0;
}

static int to_object(const struct lb_jin *at, struct lb_err *err)
{
	return json_object_is_type(at->v, json_type_object) ? 0 : wrong_type(at, "an object", err);
}

static int to_f64(const struct lb_jin *at, double *to, struct lb_err *err)
{
	if (!json_object_is_type(at->v, json_type_double) &&
		!json_object_is_type(at->v, json_type_int))
		return wrong_type(at, "a number", err);
	*to = json_object_get_double(at->v);
	return 0;
}

int lb_jin_object(const struct lb_jin *in, const char *key, struct lb_jin *to, struct lb_err *err)
{
	int ret = find(in, key, to, "an object", err);

	return ret ? ret : to_object(to, err);
}

int lb_jin_array(
	const struct lb_jin *in, const char *key, struct lb_jin *to, size_t *n, struct lb_err *err)
{
	int ret = find(in, key, to, "an array", err);

	if (ret)
		return ret;
	if (!json_object_is_type(to->v, json_type_array))
		return wrong_type(to, "an array", err);
	*n = json_object_array_length(to->v);
	return 0;
}

int lb_jin_str(const struct lb_jin *in, const char *key, const char **to, struct lb_err *err)
{
	struct lb_jin at;
	int ret = find(in, key, &at, "a string", err);

	if (ret)
		return ret;
	if (!json_object_is_type(at.v, json_type_string))
		return wrong_type(&at, "a string", err);
	*to = json_object_get_string(at.v);
	return 0;
}

int lb_jin_bool(const struct lb_jin *in, const char *key, bool *to, struct lb_err *err)
{
	struct lb_jin at;
	int ret = find(in, key, &at, "true or false", err);

	if (ret)
		return ret;
	if (!json_object_is_type(at.v, json_type_boolean))
		return wrong_type(&at, "true or false", err);
	*to = json_object_get_boolean(at.v);
	return 0;
}

int lb_jin_u64(const struct lb_jin *in, const char *key, uint64_t *to, struct lb_err *err)
{
	struct lb_jin at;
	int ret = find(in, key, &at, "a whole number", err);

	if (ret)
		return ret;
	if (!json_object_is_type(at.v, json_type_int))
		return lb_jin_fail(&at, err, "is no whole number");
	if (json_object_get_int64(at.v) < 0)
		return lb_jin_fail(&at, err, "is below 0");
	*to = json_object_get_uint64(at.v);
	return 0;
}

int lb_jin_f64(const struct lb_jin *in, const char *key, double *to, struct lb_err *err)
{
	struct lb_jin at;
	int ret = find(in, key, &at, "a number", err);

	return ret ? ret : to_f64(&at, to, err);
}

struct lb_jin lb_jin_item(const struct lb_jin *in, size_t i)
{
	return (struct lb_jin){
		.file = in->file, .up = in, .index = i, .v = json_object_array_get_idx(in->v, i)};
}

int lb_jin_item_object(const struct lb_jin *in, size_t i, struct lb_jin *to, struct lb_err *err)
{
	*to = lb_jin_item(in, i);
	return to_object(to, err);
}

int lb_jin_item_f64(const struct lb_jin *in, size_t i, double *to, struct lb_err *err)
{
	struct lb_jin at = lb_jin_item(in, i);

	return to_f64(&at, to, err);
}

bool lb_jin_item_is_null(const struct lb_jin *in, size_t i)
{
	return !json_object_array_get_idx(in->v, i);
}
