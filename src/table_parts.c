// SPDX-License-Identifier: GPL-2.0-or-later
#include "table_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "escape.h"
#include "state.h"
#include "util.h"

void table_init(struct table *t, const struct column *columns, size_t n,
		const struct table_style *style)
{
	*t = (struct table){ .scols = scols_new_table(), .columns = columns, .style = style };
	t->failed = !t->scols;
	for (size_t i = 0; i < n && !t->failed; i++) {
		struct libscols_column *c = scols_table_new_column(t->scols, columns[i].name, 0,
								   columns[i].flags);

		t->failed = !c;
		if (c && columns[i].flags & SCOLS_FL_WRAP) /* where put_wrapped_cell() broke it */
			scols_column_set_wrapfunc(c, scols_wrapnl_chunksize,
						  scols_wrapnl_nextchunk, NULL);
	}
	if (t->failed)
		return;
	scols_table_enable_ascii(t->scols, !style->utf8);
	scols_table_enable_noencoding(t->scols, 1); /* escape_text() has done it */
	scols_table_set_termforce(t->scols, style->width ? SCOLS_TERMFORCE_ALWAYS
							 : SCOLS_TERMFORCE_NEVER);
	if (style->width)
		scols_table_set_termwidth(t->scols, (size_t)style->width);
}

char *table_finish(struct table *t)
{
	char *text = NULL, *lines = NULL;

	if (!t->failed && scols_print_table_to_string(t->scols, &text) == 0)
		lines = xasprintf("%s\n", text);
	free(text);
	scols_unref_table(t->scols);
	return lines;
}

struct libscols_line *add_line(struct table *t, struct libscols_line *parent)
{
	struct libscols_line *line = t->failed ? NULL : scols_table_new_line(t->scols, parent);

	t->failed |= !line;
	return line;
}

/* Leave @most characters of the escaped @text, of which the last says that more was there. */
static void cut(char *text, size_t most)
{
	uint32_t code;
	char *at = text;

	for (size_t i = 0; i + 1 < most && *at; i++)
		at += utf8_decode(at, &code);
	if (*at && at[utf8_decode(at, &code)])
		strcpy(at, "~");
}

void put_cell(struct table *t, struct libscols_line *line, size_t column, const char *text)
{
	_cleanup_free_ char *safe = escape_text(text, t->style->utf8);

	if (t->style->width && t->columns[column].most)
		cut(safe, t->columns[column].most);
	if (line)
		t->failed |= scols_line_set_data(line, column, safe) != 0;
}

void put_cellf(struct table *t, struct libscols_line *line, size_t column, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_cell(t, line, column, text);
}

void put_int_cell(struct table *t, struct libscols_line *line, size_t column, int64_t value,
		  const char *unit)
{
	if (value == UNKNOWN)
		put_cell(t, line, column, "-");
	else
		put_cellf(t, line, column, "%" PRId64 "%s", value, unit);
}

void put_wrapped_cell(struct table *t, struct libscols_line *line, size_t column, const char *text,
		      size_t width)
{
	_cleanup_free_ char *safe = escape_text(text, t->style->utf8);
	char *start = safe, *blank = NULL;

	for (char *p = safe; width && *p; p++) {
		if (*p == ' ')
			blank = p;
		if ((size_t)(p - start) < width || !blank)
			continue;
		*blank = '\n';
		start = blank + 1;
		blank = NULL;
	}
	if (line)
		t->failed |= scols_line_set_data(line, column, safe) != 0;
}

void add_below(char **text, bool utf8, const char *fmt, ...)
{
	_cleanup_free_ char *line = NULL, *safe = NULL, *longer = NULL;
	va_list ap;

	if (!*text)
		return;
	va_start(ap, fmt);
	if (vasprintf(&line, fmt, ap) < 0)
		line = NULL;
	va_end(ap);
	safe = escape_text(line ? line : "out of memory", utf8);
	longer = xasprintf("%s%s\n", *text, safe);
	free(*text);
	*text = STEAL_PTR(longer);
}
