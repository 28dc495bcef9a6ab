// SPDX-License-Identifier: GPL-2.0-or-later
/* JSON text -> policy. jansson checks syntax, depth and duplicate keys; here is what the keys mean. */
#include <jansson.h>
#include <stdarg.h>
#include <string.h>

#include "ethnl.h"
#include "policy.h"
#include "procfs.h"
#include "util.h"

#define WORKERS_MAX 1024	/* as many request queues as vhost_scsi can have */
#define QUEUES_MAX 1026		/* and two more */

/* Where we are in the document: a chain up to its root. */
struct at {
	const struct at *up;
	const char *key;	/* NULL: an index */
	size_t index;
};

struct reader {
	const char *file;
	struct error *e;
};

/* A key of an object: how to read it, and where into. */
struct field {
	const char *name;
	int (*read)(struct reader *r, const struct at *at, json_t *v, void *into);
	bool required;
};

/* "$.vms[0].devices[1]"; a key that is no plain word as ["a b"]. Cut off at the end of @text. */
static size_t put_path(const struct at *at, char *text, size_t size)
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

__attribute__((format(printf, 3, 4)))
static int fail(struct reader *r, const struct at *at, const char *fmt, ...)
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

static int wrong_type(struct reader *r, const struct at *at, const char *wanted, const json_t *v)
{
	return fail(r, at, "it has to be %s, not %s", wanted, type_name(v));
}

static int unknown_key(struct reader *r, const struct at *at, const struct field *fields)
{
	char known[160] = "";

	for (const struct field *f = fields; f->name; f++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 *known ? ", " : "", f->name);
	return fail(r, at, "there is no such key; there are: %s", known);
}

static int read_object(struct reader *r, const struct at *at, json_t *v, const struct field *fields,
		       void *into)
{
	const char *key;
	json_t *value;

	if (!json_is_object(v))
		return wrong_type(r, at, "an object", v);
	json_object_foreach(v, key, value) {
		const struct at here = { at, key, 0 };
		const struct field *f = fields;

		while (f->name && strcmp(f->name, key) != 0)
			f++;
		if (!f->name)
			return unknown_key(r, &here, fields);
		if (f->read(r, &here, value, into) < 0)
			return -1;
	}
	for (const struct field *f = fields; f->name; f++)
		if (f->required && !json_object_get(v, f->name))
			return fail(r, at, "the key '%s' is missing", f->name);
	return 0;
}

static int read_string(struct reader *r, const struct at *at, const json_t *v, const char *what,
		       char **into)
{
	if (!json_is_string(v))
		return wrong_type(r, at, what, v);
	if (!*json_string_value(v))
		return fail(r, at, "it is empty; it has to be %s", what);
	*into = xstrdup(json_string_value(v));
	return 0;
}

static int read_number(struct reader *r, const struct at *at, const json_t *v, int64_t min, int64_t max,
		       int64_t *into)
{
	if (!json_is_integer(v))
		return wrong_type(r, at, "a whole number", v);
	*into = json_integer_value(v);
	if (*into < min || *into > max)
		return fail(r, at, "%lld is out of range; it is %lld to %lld", (long long)*into,
			    (long long)min, (long long)max);
	return 0;
}

static int read_flag(struct reader *r, const struct at *at, const json_t *v, bool *into)
{
	if (!json_is_boolean(v))
		return wrong_type(r, at, "true or false", v);
	*into = json_is_true(v);
	return 0;
}

/* For people: JSON has no other place for words. */
static int read_comment(struct reader *r, const struct at *at, json_t *v, void *into)
{
	(void)into;
	return json_is_string(v) ? 0 : wrong_type(r, at, "a string", v);
}

/* ---- values ---- */

static int read_rx_usecs(struct reader *r, const struct at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	return read_number(r, at, v, 0, UINT32_MAX, &d->busyloop[0]);
}

static int read_tx_usecs(struct reader *r, const struct at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	return read_number(r, at, v, 0, UINT32_MAX, &d->busyloop[1]);
}

static const struct field busyloop_fields[] = {
	{ "rx", read_rx_usecs, false },
	{ "tx", read_tx_usecs, false },
	{ NULL, NULL, false },
};

static int read_busyloop(struct reader *r, const struct at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	if (json_is_object(v))
		return read_object(r, at, v, busyloop_fields, into);
	if (!json_is_integer(v))
		return wrong_type(r, at, "a whole number, or an object with rx and tx", v);
	if (read_rx_usecs(r, at, v, into) < 0)
		return -1;
	d->busyloop[1] = d->busyloop[0];
	return 0;
}

static int read_rx_frames(struct reader *r, const struct at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	return read_number(r, at, v, 0, TAP_RX_FRAMES_MAX, &d->rx_frames);
}

/* Whether this host has those cpus is asked when the policy is used. */
static int read_cpu_list(struct reader *r, const struct at *at, const json_t *v, char **into)
{
	struct error bad = ERROR_INIT;
	struct ranges cpus;

	if (read_string(r, at, v, "a list of cpus such as \"2-5,8\"", into) < 0)
		return -1;
	if (ranges_parse(*into, &cpus, &bad) < 0)
		return fail(r, at, "'%.64s' is no list of cpus; give one such as \"2-5,8\"", *into);
	ranges_free(&cpus);
	return 0;
}

static int read_cpus(struct reader *r, const struct at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	return read_cpu_list(r, at, v, &d->cpus);
}

/* "ctl", "event", "req0", "2" or "2-5" of a vhost-scsi device: drivers/vhost/scsi.c. */
static bool parse_queue(const char *word, uint32_t *first, uint32_t *last)
{
	size_t len = strcspn(word, "-");
	uint64_t a, b;

	*first = *last = !strcmp(word, "event");
	if (!strcmp(word, "ctl") || !strcmp(word, "event"))
		return true;
	if (!strncmp(word, "req", 3)) {
		if (!proc_number(word + 3, strlen(word + 3), QUEUES_MAX - 3, &a))
			return false;
		*first = *last = (uint32_t)a + 2;
		return true;
	}
	if (!proc_number(word, len, QUEUES_MAX - 1, &a))
		return false;
	b = a;
	if (word[len] && !proc_number(word + len + 1, strlen(word + len + 1), QUEUES_MAX - 1, &b))
		return false;
	*first = (uint32_t)a;
	*last = (uint32_t)b;
	return b >= a;
}

static int read_queues(struct reader *r, const struct at *at, json_t *v, void *into)
{
	struct policy_worker *w = into;
	_cleanup_free_ char *text = NULL;
	uint32_t first, last;
	char *p, *word;

	if (read_string(r, at, v, "a list of queues such as \"req0,4-5\"", &text) < 0)
		return -1;
	for (p = text; (word = strsep(&p, ","));) {
		if (!parse_queue(word, &first, &last))
			return fail(r, at, "'%.40s' is no queue; it is ctl, event, req0, an index up to "
				    "%d, or a range such as 2-5", word, QUEUES_MAX - 1);
		ranges_add(&w->queues, first, last);
	}
	return 0;
}

static int read_worker_cpus(struct reader *r, const struct at *at, json_t *v, void *into)
{
	struct policy_worker *w = into;

	return read_cpu_list(r, at, v, &w->cpus);
}

static const struct field worker_fields[] = {
	{ "queues", read_queues, true },
	{ "cpus", read_worker_cpus, false },
	{ NULL, NULL, false },
};

/* A queue has one worker. */
static int check_overlap(struct reader *r, const struct at *at, const struct policy_device *d)
{
	const struct ranges *last = &d->list[d->n_list - 1].queues;

	for (size_t i = 0; i + 1 < d->n_list; i++)
		for (size_t k = 0; k < last->n; k++)
			for (uint32_t q = last->items[k].first; q <= last->items[k].last; q++)
				if (ranges_contain(&d->list[i].queues, q))
					return fail(r, at, "queue %u is another worker's already", q);
	return 0;
}

static int read_worker_list(struct reader *r, const struct at *at, json_t *v, struct policy_device *d)
{
	json_t *item;
	size_t i;

	d->workers = WORKERS_LISTED;
	if (json_array_size(v) > WORKERS_MAX)
		return fail(r, at, "these are more than %d workers", WORKERS_MAX);
	json_array_foreach(v, i, item) {
		const struct at here = { at, NULL, i };

		if (read_object(r, &here, item, worker_fields, ARRAY_ADD(d->list, d->n_list)) < 0 ||
		    check_overlap(r, &here, d) < 0)
			return -1;
	}
	return 0;
}

static int read_workers(struct reader *r, const struct at *at, json_t *v, void *into)
{
	struct policy_device *d = into;
	int64_t count;

	if (json_is_array(v))
		return read_worker_list(r, at, v, d);
	if (json_is_string(v) && !strcmp(json_string_value(v), "per-queue")) {
		d->workers = WORKERS_PER_QUEUE;
		return 0;
	}
	if (!json_is_integer(v))
		return json_is_string(v) ? fail(r, at, "'%.40s' is no number of workers; the only word is "
						"\"per-queue\"", json_string_value(v))
					 : wrong_type(r, at, "a number, \"per-queue\" or an array", v);
	if (read_number(r, at, v, 1, WORKERS_MAX, &count) < 0)
		return -1;
	d->workers = WORKERS_COUNT;
	d->count = (unsigned int)count;
	return 0;
}

/* ---- matches ---- */

static int read_kind(struct reader *r, const struct at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	if (!json_is_string(v))
		return wrong_type(r, at, "a string", v);
	for (d->kind = 0; d->kind < DEVICE_KINDS; d->kind++)
		if (!strcmp(json_string_value(v), device_kind_name(d->kind)))
			return 0;
	return fail(r, at, "'%.40s' is no kind of device; it is net, scsi, vsock or vdpa",
		    json_string_value(v));
}

static int read_id(struct reader *r, const struct at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	return read_string(r, at, v, "a device such as \"net0\"", &d->id);
}

static int read_tap(struct reader *r, const struct at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	return read_string(r, at, v, "the name of a tap", &d->tap);
}

static const struct field device_match_fields[] = {
	{ "kind", read_kind, false },
	{ "id", read_id, false },
	{ "tap", read_tap, false },
	{ NULL, NULL, false },
};

static int read_device_match(struct reader *r, const struct at *at, json_t *v, void *into)
{
	return read_object(r, at, v, device_match_fields, into);
}

static int read_name(struct reader *r, const struct at *at, json_t *v, void *into)
{
	struct policy_vm *vm = into;

	return read_string(r, at, v, "the name of a VM", &vm->name);
}

static int read_uuid(struct reader *r, const struct at *at, json_t *v, void *into)
{
	struct policy_vm *vm = into;

	if (read_string(r, at, v, "a uuid", &vm->uuid) < 0)
		return -1;
	if (strlen(vm->uuid) == 36 && vm->uuid[strspn(vm->uuid, "0123456789abcdefABCDEF-")] == '\0')
		return 0;
	return fail(r, at, "'%.64s' is no uuid", vm->uuid);
}

static const struct field vm_match_fields[] = {
	{ "name", read_name, false },
	{ "uuid", read_uuid, false },
	{ NULL, NULL, false },
};

static int read_vm_match(struct reader *r, const struct at *at, json_t *v, void *into)
{
	return read_object(r, at, v, vm_match_fields, into);
}

/* ---- entries ---- */

static int read_optional(struct reader *r, const struct at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	return read_flag(r, at, v, &d->optional);
}

static int read_force(struct reader *r, const struct at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	return read_flag(r, at, v, &d->force);
}

static const struct field device_fields[] = {
	{ "match", read_device_match, true },	{ "busyloop_usecs", read_busyloop, false },
	{ "rx_frames", read_rx_frames, false }, { "workers", read_workers, false },
	{ "cpus", read_cpus, false },		{ "optional", read_optional, false },
	{ "force", read_force, false },		{ "comment", read_comment, false },
	{ NULL, NULL, false },
};

/* What can be seen to be wrong without any VM. */
static int check_device(struct reader *r, const struct at *at, const struct policy_device *d)
{
	const struct at busyloop = { at, "busyloop_usecs", 0 }, frames = { at, "rx_frames", 0 };
	const struct at workers = { at, "workers", 0 }, cpus = { at, "cpus", 0 };
	const char *kind = d->kind == POLICY_ANY_KIND ? "" : device_kind_name(d->kind);
	bool net = !*kind || d->kind == DEVICE_NET, scsi = !*kind || d->kind == DEVICE_SCSI;
	bool sets_busyloop = d->busyloop[0] != UNKNOWN || d->busyloop[1] != UNKNOWN;

	for (int i = 0; i < 2; i++)
		if (d->busyloop[i] > VALUE_USECS_LIMIT && !d->force)
			return fail(r, &busyloop, "%lld us is more than 10 ms and would burn a whole CPU "
				    "(10 to 100 is what people use); \"force\": true beside it if you mean it",
				    (long long)d->busyloop[i]);
	if (sets_busyloop && !net)
		return fail(r, &busyloop, "vhost-%s does not busy-loop; only net does", kind);
	if (d->rx_frames != UNKNOWN && !net)
		return fail(r, &frames, "a %s device has no tap; only net has", kind);
	if (d->workers && !scsi)
		return fail(r, &workers, "vhost-%s has no worker calls in any kernel so far; only scsi has",
			    kind);
	if (d->cpus && d->kind == DEVICE_VDPA)
		return fail(r, &cpus, "vhost-vdpa has no workers to place");
	return 0;
}

static char *where(const struct reader *r, const struct at *at)
{
	char path[96];

	put_path(at, path, sizeof(path));
	return xasprintf("%s: %s", r->file, path);
}

static int read_devices(struct reader *r, const struct at *at, json_t *v, void *into)
{
	struct policy_vm *vm = into;
	json_t *item;
	size_t i;

	if (!json_is_array(v))
		return wrong_type(r, at, "an array", v);
	json_array_foreach(v, i, item) {
		const struct at here = { at, NULL, i };
		struct policy_device *d = ARRAY_ADD(vm->devices, vm->n_devices);

		policy_device_init(d);
		d->where = where(r, &here);
		if (read_object(r, &here, item, device_fields, d) < 0 || check_device(r, &here, d) < 0)
			return -1;
	}
	return 0;
}

static const struct field vm_fields[] = {
	{ "match", read_vm_match, true },
	{ "devices", read_devices, true },
	{ "comment", read_comment, false },
	{ NULL, NULL, false },
};

static int read_vms(struct reader *r, const struct at *at, json_t *v, void *into)
{
	struct policy *p = into;
	json_t *item;
	size_t i;

	if (!json_is_array(v))
		return wrong_type(r, at, "an array", v);
	json_array_foreach(v, i, item) {
		const struct at here = { at, NULL, i };
		struct policy_vm *vm = ARRAY_ADD(p->vms, p->n_vms);

		vm->where = where(r, &here);
		if (read_object(r, &here, item, vm_fields, vm) < 0)
			return -1;
	}
	return 0;
}

static int read_schema(struct reader *r, const struct at *at, json_t *v, void *into)
{
	int64_t schema;

	(void)into;
	if (!json_is_integer(v))
		return wrong_type(r, at, "the number 1", v);
	schema = json_integer_value(v);
	return schema == 1 ? 0 : fail(r, at, "this program knows schema 1, not %lld", (long long)schema);
}

static const struct field top_fields[] = {
	{ "schema", read_schema, true },
	{ "vms", read_vms, true },
	{ "$schema", read_comment, false },
	{ "comment", read_comment, false },
	{ NULL, NULL, false },
};

static int syntax_error(const char *file, const json_error_t *why, struct error *e)
{
	char position[64];

	if (why->line < 1) /* of a whole that is too large or of no memory */
		snprintf(position, sizeof(position), "read the policy");
	else
		snprintf(position, sizeof(position), "line %d, column %d", why->line, why->column);
	error_set(e, STATUS_USAGE, 0, position, "%s", why->text);
	return error_target(e, "%s", file);
}

int policy_parse(const char *file, const char *text, size_t len, struct policy *p, struct error *e)
{
	struct reader r = { file, e };
	json_error_t why;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	int ret;

	if (!root)
		return syntax_error(file, &why, e);
	ret = read_object(&r, NULL, root, top_fields, p);
	json_decref(root);
	return ret;
}
