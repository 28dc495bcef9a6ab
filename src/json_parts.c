// SPDX-License-Identifier: GPL-2.0-or-later
#include "json_parts.h"

#include <math.h>
#include <string.h>

#include "escape.h"
#include "util.h"

#define SCHEMA 1 /* counts breaking changes only */

/* jansson fails for want of memory only; with this it ends as everything else does then. */
static void *allocate(size_t size)
{
	return xcalloc(1, size);
}

json_t *json_root(int schema)
{
	json_t *o;

	json_set_alloc_funcs(allocate, free);
	o = json_object();
	put_int(o, "schema", schema);
	return o;
}

json_t *json_document(const char *kernel)
{
	json_t *o = json_root(SCHEMA);

	if (kernel)
		put_nonempty(o, "kernel", kernel);
	return o;
}

/* The one byte that is neither printable nor escaped by jansson; it can only be inside a string. */
static char *escape_delete(char *text)
{
	size_t n = 0, len = strlen(text);
	char *out, *at;

	for (const char *p = text; (p = strchr(p, 0x7f)); p++)
		n++;
	at = out = xcalloc(len + n * 5 + 1, 1);
	for (const char *p = text; *p; p++) {
		if (*p == 0x7f)
			at = stpcpy(at, "\\u007f");
		else
			*at++ = *p;
	}
	free(text);
	return out;
}

char *json_finish(json_t *document, bool pretty)
{
	size_t flags = JSON_ENSURE_ASCII | JSON_REAL_PRECISION(13) |
		       (pretty ? JSON_INDENT(2) : JSON_COMPACT);
	char *text = json_dumps(document, flags), *line;

	json_decref(document);
	if (!text)
		return NULL;
	text = escape_delete(text);
	line = xasprintf("%s\n", text);
	free(text);
	return line;
}

json_t *json_text(const char *s)
{
	_cleanup_free_ char *valid = s ? escape_utf8(s) : NULL;

	return valid ? json_string(valid) : json_null();
}

void put_real(json_t *object, const char *key, double value, unsigned int decimals)
{
	double unit = 1;

	for (unsigned int i = 0; i < decimals; i++)
		unit *= 10;
	if (isfinite(value))
		value = (double)(int64_t)(value * unit + (value < 0 ? -0.5 : 0.5)) / unit;
	put(object, key, isfinite(value) ? json_real(value) : json_null());
}

void put_device(json_t *object, const struct device *d)
{
	put_string(object, "id", d->id);
	put_string(object, "kind", device_kind_name(d->kind));
	put_int(object, "fd", d->fd);
}

void put_tap(json_t *object, const struct tap *t)
{
	put_nonempty(object, "ifname", t->ifname);
	put_int(object, "ifindex", t->ifindex);
	put_int(object, "netns", t->netns);
	put(object, "fds", JSON_LIST(i, t->n_fds, json_integer(t->fds[i])));
}

static json_t *error_json(const struct error *e)
{
	json_t *o = json_object();

	put_nonempty(o, "operation", e->operation);
	put_string(o, "code", error_name(e->errnum));
	put_string(o, "message", e->message);
	return o;
}

json_t *json_errors(const struct error *errors, size_t n)
{
	return JSON_LIST(i, n, error_json(&errors[i]));
}

json_t *json_change(const struct change *c)
{
	json_t *o = json_object();

	put_string(o, "target", c->target);
	put_int(o, "pid", c->pid ? c->pid : UNKNOWN);
	put_string(o, "setting", c->setting);
	if (c->before_text || c->after_text) {
		put_string(o, "before", c->before_text);
		put_string(o, "after", c->after_text);
	} else {
		put_int(o, "before", c->before);
		put_int(o, "after", c->after);
	}
	if (c->concerns_worker) {
		put_int(o, "worker_id", c->worker_id);
		put_int(o, "worker_tid", c->worker_tid);
	}
	put(o, "applied", json_boolean(c->applied));
	return o;
}
