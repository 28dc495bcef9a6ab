/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A typed option table over getopt_long. Parsing, the help text and
 * --dump-options all come out of the same table, so they cannot disagree.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "error.h"

enum option_type {
	OPTION_FLAG,	/* bool */
	OPTION_COUNT,	/* int, one more each time */
	OPTION_CHOICE,	/* int, becomes .value */
	OPTION_STRING,	/* const char *, points into argv */
};

/* A table ends with an entry whose name is NULL. */
struct option_spec {
	const char *name;	/* long form, without dashes */
	char letter;		/* short form, 0 for none */
	enum option_type type;
	const char *metavar;	/* name of the argument; NULL for types without one */
	const char *help;	/* one line */
	size_t offset;		/* of the value in the struct that the set names */
	unsigned int value;
};

/* A table together with the struct its offsets count in (NULL when only for help). */
struct option_set {
	const struct option_spec *specs;
	void *base;
};

/*
 * Parse argv[1…] with all of @sets. @leading stops at the first operand, as is
 * needed before a command's name. Returns the index of the first operand
 * (operands are last in argv then), or -1 with a one-line error.
 */
int options_parse(const struct option_set *sets, size_t n_sets, int argc, char **argv,
		  bool leading, struct error *e);

/* One help line per option. */
void options_help(FILE *f, const struct option_spec *specs);

/* "COMMAND<TAB>--option<TAB>METAVAR or -", a line for each long and each short form. */
void options_dump(FILE *f, const char *command, const struct option_spec *specs);

/* A whole decimal number up to @max. 0, or -1 when @s is anything else. */
int parse_uint(const char *s, uint64_t max, uint64_t *value);

#endif
