// SPDX-License-Identifier: GPL-2.0-or-later
#include "nearest.h"

#include <string.h>

/* Longer words are compared by their beginning: names here are short, and what is typed can be anything. */
#define LONGEST 31

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

static size_t edits(const char *a, const char *b)
{
	size_t d[LONGEST + 1][LONGEST + 1], la = strnlen(a, LONGEST), lb = strnlen(b, LONGEST);

	for (size_t i = 0; i <= la; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= lb; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= la; i++) {
		for (size_t j = 1; j <= lb; j++) {
			size_t cost = a[i - 1] != b[j - 1];

			d[i][j] = min3(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < d[i][j])
				d[i][j] = d[i - 2][j - 2] + 1;
		}
	}
	return d[la][lb];
}

size_t nearest_distance(const char *typed, const char *word)
{
	size_t len = strlen(typed), n = edits(typed, word);

	if (len > 2 && !strncmp(typed, word, len))
		return 1;
	/* Of a short word, two edits leave nothing. */
	return n < NEAREST_NONE && n + 1 < strlen(word) ? n : NEAREST_NONE;
}

const char *nearest_of(const char *typed, const char *best, const char *word, size_t *least)
{
	size_t n = nearest_distance(typed, word);

	if (n >= *least)
		return best;
	*least = n;
	return word;
}
