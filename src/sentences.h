/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What there is to tell the reader of a command's output beside the output. */
#ifndef SENTENCES_H
#define SENTENCES_H

#include <stddef.h>

struct sentences {
	char **items;
	size_t n;
};

/* One more. */
__attribute__((format(printf, 2, 3)))
void sentences_add(struct sentences *s, const char *fmt, ...);
/* It can be added to again. */
void sentences_free(struct sentences *s);

#endif
