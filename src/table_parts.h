/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that make tables share: lines and cells, in libsmartcols' terms. */
#ifndef TABLE_PARTS_H
#define TABLE_PARTS_H

#include <libsmartcols.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table.h"

struct column {
	const char *name;
	int flags;	/* SCOLS_FL_... */
	size_t most;	/* characters of a cell on a terminal; 0: any number */
};

struct table {
	struct libscols_table *scols;
	const struct column *columns;
	const struct table_style *style;
	bool failed;	/* libsmartcols fails for want of memory only */
};

/* @columns and @style are kept until table_finish(). */
void table_init(struct table *t, const struct column *columns, size_t n,
		const struct table_style *style);
/* The text, to be freed; NULL if anything failed. */
char *table_finish(struct table *t);

/* NULL when it failed: cells of that line are none. */
struct libscols_line *add_line(struct table *t, struct libscols_line *parent);

/* The cell is @text, escaped, and on a terminal cut to what its column may have. */
void put_cell(struct table *t, struct libscols_line *line, size_t column, const char *text);
__attribute__((format(printf, 4, 5)))
void put_cellf(struct table *t, struct libscols_line *line, size_t column, const char *fmt, ...);
/* "-" for UNKNOWN. */
void put_int_cell(struct table *t, struct libscols_line *line, size_t column, int64_t value,
		  const char *unit);
/* Escaped @text in lines of at most @width characters, broken at blanks; 0: one line. */
void put_wrapped_cell(struct table *t, struct libscols_line *line, size_t column, const char *text,
		      size_t width);

/* A line below the table, as wide as it likes: sentences do not fit in cells. NULL stays NULL. */
__attribute__((format(printf, 3, 4)))
void add_below(char **text, bool utf8, const char *fmt, ...);

#endif
