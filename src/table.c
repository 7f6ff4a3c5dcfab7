#include "table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

#define LABEL_WIDTH 32
#define LABEL_MAX   1024 /* bytes, with the NUL */

static bool is_first_byte(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

size_t lb_columns(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += is_first_byte(*s);
	return n;
}

void lb_table_add(struct lb_table *t, const char *fmt, ...)
{
	va_list ap;
	char *cell;
	int len;

	if (t->n == t->room) {
		size_t room = t->room ? 2 * t->room : 64;
		char **more = realloc(t->cells, room * sizeof(*more));

		if (!more) {
			t->is_short = true;
			return;
		}
		t->cells = more;
		t->room = room;
	}
	va_start(ap, fmt);
	len = vasprintf(&cell, fmt, ap);
	va_end(ap);
	if (len < 0)
		t->is_short = true;
	else
		t->cells[t->n++] = cell;
}

int lb_table_print(const struct lb_table *t, FILE *out)
{
	size_t n_cols = strlen(t->align), *widths;

	if (t->is_short || !(widths = calloc(n_cols, sizeof(*widths))))
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++) {
		size_t w = lb_columns(t->cells[i]);

		if (widths[i % n_cols] < w)
			widths[i % n_cols] = w;
	}
	for (size_t i = 0; i < t->n; i += n_cols) {
		size_t pending = 0; /* blanks, written only when something follows */

		for (size_t c = 0; c < n_cols && i + c < t->n; c++) {
			const char *cell = t->cells[i + c];
			size_t pad = widths[c] - lb_columns(cell);

			if (t->align[c] == 'r')
				pending += pad;
			if (*cell) {
				fprintf(out, "%*s%s", (int)pending, "", cell);
				pending = 0;
			} else {
				pending += t->align[c] == 'r' ? 0 : pad;
				pad = 0;
			}
			pending += (t->align[c] == 'l' ? pad : 0) + 2;
		}
		fputc('\n', out);
	}
	free(widths);
	return 0;
}

void lb_table_done(struct lb_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->cells[i]);
	free(t->cells);
	*t = (struct lb_table){0};
}

/* Where character N of S begins. */
static const char *nth(const char *s, size_t n)
{
	for (; *s; s++)
		if (is_first_byte(*s) && !n--)
			break;
	return s;
}

void lb_cut(char *s, size_t cols)
{
	s[nth(s, cols) - s] = '\0';
}

void lb_elide(char *name, size_t width)
{
	size_t cols = lb_columns(name), head = (width - 3) / 3, tail = width - 3 - head;
	char *cut = name + (nth(name, head) - name);
	const char *rest;

	if (cols <= width)
		return;
	rest = nth(name, cols - tail);
	memmove(cut + 3, rest, strlen(rest) + 1);
	memcpy(cut, "...", 3);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Whether two of N labels are equal; SORTED is scratch. */
static bool has_twins(char *const *labels, size_t n, const char **sorted)
{
	memcpy(sorted, labels, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_text);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(sorted[i - 1], sorted[i]))
			return true;
	return false;
}

char **lb_labels(const char *const *names, size_t n)
{
	char **labels = malloc(n * (sizeof(*labels) + LABEL_MAX) + 1);
	const char **sorted = malloc(n * sizeof(*sorted) + 1);
	char *text = (char *)(labels + n);
	size_t longest = 0;

	if (!labels || !sorted) {
		free(labels);
		free(sorted);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		labels[i] = text + i * LABEL_MAX;
	for (size_t width = LABEL_WIDTH;; width += 8) {
		for (size_t i = 0; i < n; i++) {
			size_t cols = lb_columns(lb_printable(labels[i], LABEL_MAX, names[i]));

			if (cols > longest)
				longest = cols;
			lb_elide(labels[i], width);
		}
		if (width >= longest || !has_twins(labels, n, sorted))
			break;
	}
	free(sorted);
	return labels;
}
