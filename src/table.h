/* Columns of text that line up, as wide as what is in them. */
#ifndef LB_TABLE_H
#define LB_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct lb_table {
	const char *align; /* a letter for each column, 'l' or 'r' */
	char **cells;      /* row by row */
	size_t n, room;
	bool is_short; /* of memory: cells are missing */
};

/* The next cell, from the left, row by row; UTF-8. */
void lb_table_add(struct lb_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Writes the rows, two blanks between columns, none at the end of a line. 0 or -ENOMEM. */
int lb_table_print(const struct lb_table *t, FILE *out);

void lb_table_done(struct lb_table *t);

/* Characters of S, taken as one column each. */
size_t lb_columns(const char *s);

/* Cuts S after COLS columns. */
void lb_cut(char *s, size_t cols);

/*
 * Cuts the middle out of NAME where it is wider than WIDTH (at least 4) columns; the tail, where
 * names differ most, keeps twice what the head does.
 */
void lb_elide(char *name, size_t width);

/*
 * N names made fit for a column: printable, at most as long as it takes. Long ones lose their
 * middle, but names that differ still do. Returns an array of N strings in one allocation, which
 * the caller frees, or NULL: no memory.
 */
char **lb_labels(const char *const *names, size_t n);

#endif
