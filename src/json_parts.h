/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that make JSON share. */
#ifndef JSON_PARTS_H
#define JSON_PARTS_H

#include <jansson.h>
#include <math.h>

#include "escape.h"
#include "state.h"
#include "util.h"

/* "schema" and "kernel", with which every document begins. */
json_t *json_document(const char *kernel);
/* Takes @document; the text ends with a newline, and is to be freed. NULL when jansson could not make it. */
char *json_text(json_t *document, bool pretty);
json_t *json_errors(const struct error *errors, size_t n);
json_t *json_change(const struct change *c);

static inline void put(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static inline void put_int(json_t *object, const char *key, int64_t value)
{
	put(object, key, value == UNKNOWN ? json_null() : json_integer(value));
}

static inline void put_string(json_t *object, const char *key, const char *s)
{
	_cleanup_free_ char *valid = s ? escape_utf8(s) : NULL;

	put(object, key, valid ? json_string(valid) : json_null());
}

static inline void put_bool(json_t *object, const char *key, bool known, bool value)
{
	put(object, key, known ? json_boolean(value) : json_null());
}

/* For the model's flags that can be UNKNOWN. */
static inline void put_flag(json_t *object, const char *key, int64_t value)
{
	put_bool(object, key, value != UNKNOWN, value != UNKNOWN && value);
}

/* For the model's char arrays, where "" says that it is not known. */
static inline void put_nonempty(json_t *object, const char *key, const char *s)
{
	put_string(object, key, *s ? s : NULL);
}

/* Rounded to @decimals: more would be noise. Not known is NAN. */
static inline void put_real(json_t *object, const char *key, double value, unsigned int decimals)
{
	double unit = 1;

	for (unsigned int i = 0; i < decimals; i++)
		unit *= 10;
	if (isfinite(value))
		value = (double)(int64_t)(value * unit + (value < 0 ? -0.5 : 0.5)) / unit;
	put(object, key, isfinite(value) ? json_real(value) : json_null());
}

#endif
