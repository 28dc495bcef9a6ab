// SPDX-License-Identifier: GPL-2.0-or-later
/* policy -> JSON text: what policy_parse.c reads. */
#include <stdlib.h>

#include "affinity.h"
#include "json_parts.h"
#include "policy.h"
#include "util.h"

static void *allocate(size_t size)
{
	return xcalloc(1, size);
}

static void put_text(json_t *object, const char *key, const char *text)
{
	if (text)
		put(object, key, json_string(text));
}

static void put_number(json_t *object, const char *key, int64_t number)
{
	if (number != UNKNOWN)
		put(object, key, json_integer(number));
}

static json_t *busyloop_json(const struct policy_device *d)
{
	json_t *o = json_object();

	put_number(o, "rx", d->busyloop[0]);
	put_number(o, "tx", d->busyloop[1]);
	return o;
}

static json_t *list_json(const struct policy_device *d)
{
	json_t *list = json_array();

	for (size_t i = 0; i < d->n_list; i++) {
		json_t *o = json_object();
		/* Lists of queues are written as those of cpus are. */
		_cleanup_free_ char *queues = ranges_text(&d->list[i].queues);

		put_text(o, "queues", queues);
		put_text(o, "cpus", d->list[i].cpus);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *workers_json(const struct policy_device *d)
{
	switch (d->workers) {
	case WORKERS_COUNT:
		return json_integer(d->count);
	case WORKERS_PER_QUEUE:
		return json_string("per-queue");
	default:
		return list_json(d);
	}
}

static json_t *device_json(const struct policy_device *d)
{
	json_t *o = json_object(), *match = json_object();

	if (d->kind != POLICY_ANY_KIND)
		put_text(match, "kind", device_kind_name(d->kind));
	put_text(match, "id", d->id);
	put_text(match, "tap", d->tap);
	put(o, "match", match);
	if (d->busyloop[0] != UNKNOWN || d->busyloop[1] != UNKNOWN)
		put(o, "busyloop_usecs", busyloop_json(d));
	put_number(o, "rx_frames", d->rx_frames);
	if (d->workers)
		put(o, "workers", workers_json(d));
	put_text(o, "cpus", d->cpus);
	if (d->optional)
		put(o, "optional", json_true());
	if (d->force)
		put(o, "force", json_true());
	return o;
}

static json_t *vm_json(const struct policy_vm *vm)
{
	json_t *o = json_object(), *match = json_object(), *devices = json_array();

	put_text(match, "name", vm->name);
	put_text(match, "uuid", vm->uuid);
	put(o, "match", match);
	for (size_t i = 0; i < vm->n_devices; i++)
		json_array_append_new(devices, device_json(&vm->devices[i]));
	put(o, "devices", devices);
	return o;
}

char *policy_text(const struct policy *p, bool pretty)
{
	json_t *o, *vms;

	json_set_alloc_funcs(allocate, free);
	o = json_object();
	vms = json_array();
	put_number(o, "schema", 1);
	for (size_t i = 0; i < p->n_vms; i++)
		json_array_append_new(vms, vm_json(&p->vms[i]));
	put(o, "vms", vms);
	return json_text(o, pretty);
}
