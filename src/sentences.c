// SPDX-License-Identifier: GPL-2.0-or-later
#include "sentences.h"

#include <stdarg.h>

#include "util.h"

void sentences_add(struct sentences *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	*ARRAY_ADD(s->items, s->n) = xvasprintf(fmt, ap);
	va_end(ap);
}

void sentences_free(struct sentences *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->items[i]);
	free(s->items);
	*s = (struct sentences){ 0 };
}
