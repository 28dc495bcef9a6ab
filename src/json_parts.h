/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that make JSON share. */
#ifndef JSON_PARTS_H
#define JSON_PARTS_H

#include <jansson.h>
#include <stdbool.h>

#include "state.h"

/* [ @item, ... ]: @item is an expression in @i, which counts up to @n. */
#define JSON_LIST(i, n, item)                                                 \
	({                                                                    \
		json_t *list_ = json_array();                                 \
		for (size_t i = 0; i < (n); i++)                              \
			json_array_append_new(list_, (item));                 \
		list_;                                                        \
	})

/* With "schema", with which every document begins. Before it nothing of jansson's may be in use. */
json_t *json_root(int schema);
/* The same with our schema, and with "kernel" unless @kernel is NULL; "" is not known. */
json_t *json_document(const char *kernel);
/* Takes @document; the text ends with a newline, and is to be freed. NULL when jansson could not make it. */
char *json_finish(json_t *document, bool pretty);

/* As valid UTF-8; null for NULL. */
json_t *json_text(const char *s);
json_t *json_errors(const struct error *errors, size_t n);
json_t *json_change(const struct change *c);

/* Rounded to @decimals: more would be noise. Not known is NAN. */
void put_real(json_t *object, const char *key, double value, unsigned int decimals);
/* By what a device or a tap is told from others. */
void put_device(json_t *object, const struct device *d);
void put_tap(json_t *object, const struct tap *t);

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
	put(object, key, json_text(s));
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

#endif
