/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the fuzzers share. A fuzzer is LLVMFuzzerTestOneInput() in fuzz_X.c, which includes the real source
 * where it needs what that keeps to itself. It ends the program where the code under test is wrong.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(what)                                                                             \
	do {                                                                                    \
		if (!(what)) {                                                                  \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what); \
			abort();                                                                \
		}                                                                               \
	} while (0)

struct input {
	const uint8_t *p;
	size_t left;
};

/* 0 when there is no more. */
static inline uint8_t take_byte(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->p++;
}

static inline void take_bytes(struct input *in, void *to, size_t n)
{
	size_t have = n < in->left ? n : in->left;

	memset(to, 0, n);
	memcpy(to, in->p, have);
	in->p += have;
	in->left -= have;
}

static inline uint32_t take_u32(struct input *in)
{
	uint32_t v;

	take_bytes(in, &v, sizeof(v));
	return v;
}

/* What is left as an allocation of just its size, a NUL past its end: overruns show. */
static inline char *take_rest(struct input *in, size_t *len)
{
	char *text = xcalloc(in->left + 1, 1);

	*len = in->left;
	take_bytes(in, text, in->left);
	return text;
}

/* Up to the next newline; NULL when nothing is left. */
static inline char *take_line(struct input *in)
{
	const uint8_t *end = in->left ? memchr(in->p, '\n', in->left) : NULL;
	size_t len = end ? (size_t)(end - in->p) : in->left;
	char *line;

	if (!in->left)
		return NULL;
	line = xcalloc(len + 1, 1);
	take_bytes(in, line, len);
	if (end)
		take_byte(in);
	return line;
}

#endif
