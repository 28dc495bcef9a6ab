/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of the words that there are somebody meant who typed another one. */
#ifndef NEAREST_H
#define NEAREST_H

#include <stddef.h>

/*
 * How far @word is from what was @typed: the edits that it takes (insert, delete, replace, swap of
 * neighbours), or 1 when the word only goes on where the typing ended. NEAREST_NONE: another word,
 * not a slip.
 */
#define NEAREST_NONE 3
size_t nearest_distance(const char *typed, const char *word);

/* The nearer of @best (NULL: none so far) and @word. *least is how far; it starts as NEAREST_NONE. */
const char *nearest_of(const char *typed, const char *best, const char *word, size_t *least);

#endif
