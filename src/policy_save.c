// SPDX-License-Identifier: GPL-2.0-or-later
/* From what a VM is to a policy that keeps it so. */
#include <string.h>

#include "escape.h"
#include "policy.h"
#include "target.h"
#include "util.h"
#include "vhost.h"

/* A name as a glob that matches only itself. */
static char *literal(const char *name)
{
	char *out = xcalloc(strlen(name) * 2 + 1, 1), *at = out;

	for (; *name; name++) {
		if (strchr("*?[\\", *name))
			*at++ = '\\';
		*at++ = *name;
	}
	return out;
}

static int save_match(const struct vm *vm, bool same_name, struct policy_vm *entry, struct error *e)
{
	_cleanup_free_ char *text = target_name(vm, NULL, NULL);
	bool by_name = vm->name && *vm->name && utf8_valid(vm->name);

	if (by_name)
		entry->name = literal(vm->name);
	if (vm->uuid && (!by_name || same_name))
		entry->uuid = xstrdup(vm->uuid);
	if (entry->uuid || (by_name && !same_name))
		return 0;
	error_set(e, STATUS_UNSUPPORTED, 0, "save",
		  "nothing tells it from other VMs: it has no uuid, and %s; start it with -uuid",
		  same_name ? "another VM has its name" : vm->name ? "its name is no UTF-8" : "no name");
	return error_target(e, "%s", text);
}

/* One tap, named by each of its devices, is said once. */
static const struct tap *tap_to_save(const struct vm *vm, const struct device *d)
{
	const struct tap *found = NULL;

	for (const struct device *other = vm->devices; d->tap && other < d; other++)
		if (other->tap && !strcmp(other->tap, d->tap))
			return NULL;
	for (size_t i = 0; d->tap && i < vm->n_taps; i++) {
		if (strcmp(vm->taps[i].ifname, d->tap) != 0)
			continue;
		if (found)
			return NULL;
		found = &vm->taps[i];
	}
	return found;
}

static void save_net(const struct vm *vm, const struct device *d, struct policy_device *entry)
{
	const struct tap *tap = tap_to_save(vm, d);

	for (size_t i = 0; i < d->n_queues && i < ARRAY_SIZE(entry->busyloop); i++) {
		entry->busyloop[i] = d->queues[i].busyloop_usecs;
		entry->force |= entry->busyloop[i] > VALUE_USECS_LIMIT;
	}
	if (tap)
		entry->rx_frames = tap->rx_frames;
}

static const char *worker_cpus(const struct device *d, int64_t id)
{
	const struct worker *w = device_worker(d, id);

	return w ? w->cpus : NULL;
}

/* Each worker but the default one, with its queues; they come in the order of these. */
static void save_workers(const struct device *d, struct policy_device *entry)
{
	_cleanup_free_ int64_t *ids = NULL;
	size_t n = 0;

	entry->workers = WORKERS_LISTED;
	for (size_t i = 0; i < d->n_queues; i++) {
		const struct queue *q = &d->queues[i];
		size_t at = 0;

		if (q->worker_id == 0)
			continue;
		while (at < n && ids[at] != q->worker_id)
			at++;
		if (at == n) {
			const char *cpus = worker_cpus(d, q->worker_id);

			*ARRAY_ADD(ids, n) = q->worker_id;
			ARRAY_ADD(entry->list, entry->n_list)->cpus = cpus ? xstrdup(cpus) : NULL;
		}
		ranges_add(&entry->list[at].queues, q->index, q->index);
	}
}

static bool knows_workers(const struct device *d)
{
	for (size_t i = 0; i < d->n_queues; i++)
		if (d->queues[i].worker_id == UNKNOWN)
			return false;
	return d->queues_known && d->n_queues;
}

static void save_device(const struct vm *vm, const struct device *d, struct policy_vm *to)
{
	struct policy_device entry;
	const char *cpus = worker_cpus(d, 0);

	policy_device_init(&entry);
	entry.kind = d->kind;
	entry.id = xstrdup(d->id);
	if (vhost_uses_busyloop(d->kind))
		save_net(vm, d, &entry);
	if (d->kind == DEVICE_SCSI && knows_workers(d))
		save_workers(d, &entry);
	if (cpus && d->kind != DEVICE_VDPA)
		entry.cpus = xstrdup(cpus);
	*ARRAY_ADD(to->devices, to->n_devices) = entry;
}

int policy_save(const struct vm *vm, bool same_name, struct policy *p, struct error *e)
{
	struct policy_vm *entry = ARRAY_ADD(p->vms, p->n_vms);

	if (save_match(vm, same_name, entry, e) < 0)
		return -1;
	for (size_t i = 0; i < vm->n_devices; i++)
		save_device(vm, &vm->devices[i], entry);
	return 0;
}
