/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON text into structs, by tables of keys. jansson checks the syntax, the depth (2048) and that no
 * key is there twice. Errors have the line and column of bad syntax, else the path of what is wrong.
 */
#ifndef JSON_READ_H
#define JSON_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

/* Where we are in the document: a chain up to its root, which is NULL. */
struct json_at {
	const struct json_at *up;
	const char *key;	/* NULL: an index */
	size_t index;
};

struct json_reader {
	const char *file;	/* what errors call it */
	struct error *e;
};

/* Reads the value @v, which stands at @at, into a struct that who named the reader knows. */
typedef int (*json_read_value)(struct json_reader *r, const struct json_at *at, json_t *v, void *into);

/* A key of an object: how to read it, and where into. The last one has no name. */
struct json_field {
	const char *name;
	json_read_value read;
	bool required;
};

/* The whole of @text, an object. STATUS_USAGE for whatever is wrong with it. */
int json_read(const char *file, const char *text, size_t len, const struct json_field *fields,
	      void *into, struct error *e);

/* The readers of values are made of these. Each returns 0, or -1 with r->e. */
__attribute__((format(printf, 3, 4)))
int json_fail(struct json_reader *r, const struct json_at *at, const char *fmt, ...);
int json_wrong_type(struct json_reader *r, const struct json_at *at, const char *wanted, const json_t *v);
int json_read_object(struct json_reader *r, const struct json_at *at, json_t *v,
		     const struct json_field *fields, void *into);
/* Each of its elements by @read, all with the same @into. */
int json_read_array(struct json_reader *r, const struct json_at *at, json_t *v, json_read_value read,
		    void *into);
/* Not an empty one. @what says what it is, for errors. */
int json_read_string(struct json_reader *r, const struct json_at *at, const json_t *v, const char *what,
		     char **into);
int json_read_number(struct json_reader *r, const struct json_at *at, const json_t *v, int64_t min,
		     int64_t max, int64_t *into);
int json_read_flag(struct json_reader *r, const struct json_at *at, const json_t *v, bool *into);

/* "policy.json: $.vms[0]", to be freed. */
char *json_where(const struct json_reader *r, const struct json_at *at);

#endif
