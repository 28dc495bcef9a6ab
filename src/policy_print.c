// SPDX-License-Identifier: GPL-2.0-or-later
/* policy -> JSON text: what policy_parse.c reads. */
#include <stdlib.h>

#include "escape.h"
#include "json_parts.h"
#include "policy.h"
#include "util.h"

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

static json_t *list_item_json(const struct policy_worker *w)
{
	json_t *o = json_object();
	/* Lists of queues are written as those of cpus are. */
	_cleanup_free_ char *queues = ranges_text(&w->queues);

	put_text(o, "queues", queues);
	put_text(o, "cpus", w->cpus);
	return o;
}

static json_t *workers_json(const struct policy_device *d)
{
	switch (d->workers) {
	case WORKERS_COUNT:
		return json_integer(d->count);
	case WORKERS_PER_QUEUE:
		return json_string("per-queue");
	default:
		return JSON_LIST(i, d->n_list, list_item_json(&d->list[i]));
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
	json_t *o = json_object(), *match = json_object();

	put_text(match, "name", vm->name);
	put_text(match, "uuid", vm->uuid);
	put(o, "match", match);
	put(o, "devices", JSON_LIST(i, vm->n_devices, device_json(&vm->devices[i])));
	return o;
}

static bool can_say(const char *text)
{
	return !text || utf8_valid(text);
}

/* A match that lost what it says would mean every VM, or every device of one. */
static bool can_match(const struct policy_vm *vm)
{
	bool can = can_say(vm->name) && can_say(vm->uuid);

	for (size_t i = 0; can && i < vm->n_devices; i++)
		can = can_say(vm->devices[i].id) && can_say(vm->devices[i].tap);
	return can;
}

char *policy_text(const struct policy *p, bool pretty)
{
	json_t *o;

	for (size_t i = 0; i < p->n_vms; i++)
		if (!can_match(&p->vms[i]))
			return NULL;
	o = json_root(1);
	put(o, "vms", JSON_LIST(i, p->n_vms, vm_json(&p->vms[i])));
	return json_finish(o, pretty);
}
