// SPDX-License-Identifier: GPL-2.0-or-later
#include "json_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util.h"

/* "$.vms[0].devices[1]"; a key that is no plain word as ["a b"]. Cut off at the end of @text. */
static size_t put_path(const struct json_at *at, char *text, size_t size)
{
	size_t len;

	if (!at)
		return (size_t)snprintf(text, size, "$");
	len = put_path(at->up, text, size);
	if (len >= size)
		return len;
	if (!at->key)
		return len + (size_t)snprintf(text + len, size - len, "[%zu]", at->index);
	if (at->key[strspn(at->key, "abcdefghijklmnopqrstuvwxyz_$")])
		return len + (size_t)snprintf(text + len, size - len, "[\"%.40s\"]", at->key);
	return len + (size_t)snprintf(text + len, size - len, ".%.40s", at->key);
}

int json_fail(struct json_reader *r, const struct json_at *at, const char *fmt, ...)
{
	char path[sizeof(r->e->operation)], message[256];
	va_list ap;

	put_path(at, path, sizeof(path));
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	error_set(r->e, STATUS_USAGE, 0, path, "%s", message);
	return error_target(r->e, "%s", r->file);
}

static const char *type_name(const json_t *v)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
		[JSON_INTEGER] = "a number", [JSON_REAL] = "a fraction", [JSON_TRUE] = "true",
		[JSON_FALSE] = "false", [JSON_NULL] = "null",
	};

	return names[json_typeof(v)];
}

int json_wrong_type(struct json_reader *r, const struct json_at *at, const char *wanted,
		    const json_t *v)
{
	return json_fail(r, at, "it has to be %s, not %s", wanted, type_name(v));
}

static int unknown_key(struct json_reader *r, const struct json_at *at, const struct json_field *fields)
{
	char known[160] = "";

	for (const struct json_field *f = fields; f->name; f++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 *known ? ", " : "", f->name);
	return json_fail(r, at, "there is no such key; there are: %s", known);
}

int json_read_object(struct json_reader *r, const struct json_at *at, json_t *v,
		     const struct json_field *fields, void *into)
{
	const char *key;
	json_t *value;

	if (!json_is_object(v))
		return json_wrong_type(r, at, "an object", v);
	json_object_foreach(v, key, value) {
		const struct json_at here = { at, key, 0 };
		const struct json_field *f = fields;

		while (f->name && strcmp(f->name, key) != 0)
			f++;
		if (!f->name)
			return unknown_key(r, &here, fields);
		if (f->read(r, &here, value, into) < 0)
			return -1;
	}
	for (const struct json_field *f = fields; f->name; f++)
		if (f->required && !json_object_get(v, f->name))
			return json_fail(r, at, "the key '%s' is missing", f->name);
	return 0;
}

int json_read_array(struct json_reader *r, const struct json_at *at, json_t *v, json_read_value read,
		    void *into)
{
	json_t *item;
	size_t i;

	if (!json_is_array(v))
		return json_wrong_type(r, at, "an array", v);
	json_array_foreach(v, i, item) {
		const struct json_at here = { at, NULL, i };

		if (read(r, &here, item, into) < 0)
			return -1;
	}
	return 0;
}

int json_read_string(struct json_reader *r, const struct json_at *at, const json_t *v, const char *what,
		       char **into)
{
	if (!json_is_string(v))
		return json_wrong_type(r, at, what, v);
	if (!*json_string_value(v))
		return json_fail(r, at, "it is empty; it has to be %s", what);
	*into = xstrdup(json_string_value(v));
	return 0;
}

int json_read_number(struct json_reader *r, const struct json_at *at, const json_t *v, int64_t min,
		     int64_t max, int64_t *into)
{
	if (!json_is_integer(v))
		return json_wrong_type(r, at, "a whole number", v);
	*into = json_integer_value(v);
	if (*into < min || *into > max)
		return json_fail(r, at, "%lld is out of range; it is %lld to %lld", (long long)*into,
			    (long long)min, (long long)max);
	return 0;
}

int json_read_flag(struct json_reader *r, const struct json_at *at, const json_t *v, bool *into)
{
	if (!json_is_boolean(v))
		return json_wrong_type(r, at, "true or false", v);
	*into = json_is_true(v);
	return 0;
}

char *json_where(const struct json_reader *r, const struct json_at *at)
{
	char path[96];

	put_path(at, path, sizeof(path));
	return xasprintf("%s: %s", r->file, path);
}

static int syntax_error(const char *file, const json_error_t *why, struct error *e)
{
	char position[64];

	if (why->line < 1) /* there was no memory for it */
		snprintf(position, sizeof(position), "read");
	else
		snprintf(position, sizeof(position), "line %d, column %d", why->line, why->column);
	error_set(e, STATUS_USAGE, 0, position, "%s", why->text);
	return error_target(e, "%s", file);
}

int json_read(const char *file, const char *text, size_t len, const struct json_field *fields,
	      void *into, struct error *e)
{
	struct json_reader r = { file, e };
	json_error_t why;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	int ret;

	if (!root)
		return syntax_error(file, &why, e);
	ret = json_read_object(&r, NULL, root, fields, into);
	json_decref(root);
	return ret;
}
