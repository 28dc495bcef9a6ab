// SPDX-License-Identifier: GPL-2.0-or-later
#include "source.h"

#include <string.h>

#include "cut.h"
#include "vhost.h"
#include "vm.h"

int source_parse(const char *text, enum source *source, struct error *e)
{
	if (!text)
		*source = SOURCE_AUTO;
	else if (!strcmp(text, "snapshot"))
		*source = SOURCE_SNAPSHOT;
	else if (!strcmp(text, "owner"))
		*source = SOURCE_OWNER;
	else
		return error_set(e, STATUS_USAGE, 0, "--source", "it is snapshot or owner, not '%s'", text);
	return 0;
}

/* The one process that is asked for; 0 when there are several, or none. */
static pid_t only_pid(const struct selection *sel)
{
	for (size_t i = 1; i < sel->n; i++)
		if (sel->items[i].vm != sel->items[0].vm)
			return 0;
	return sel->n ? sel->items[0].vm->pid : 0;
}

int source_check(const struct snapshot *snap, const struct selection *sel, struct error *e)
{
	for (size_t i = 0; i < sel->n; i++)
		if (!snapshot_can_serve(snap, sel->items[i].vm))
			return error_set(e, STATUS_UNSUPPORTED, 0, "take a kernel snapshot",
					 "this kernel tells no types of one of the devices' modules");
	return 0;
}

const char *source_owner(const struct selection *sel)
{
	for (size_t i = 0; i < sel->n; i++)
		if (sel->items[i].device || sel->items[i].vm->n_devices)
			return "owner";
	return NULL;
}

int source_take(enum source want, struct state *s, const struct selection *sel,
		struct snapshot *snap, struct error *e)
{
	*snap = (struct snapshot){ 0 };
	s->source = source_owner(sel);
	if (want == SOURCE_OWNER || (want == SOURCE_AUTO && !sel->n))
		return 0;
	/* Asked for by name it is taken even for no VM: that it works, or not, is the answer. */
	if (snapshot_take(only_pid(sel), snap, e) == 0) {
		if (source_check(snap, sel, e) == 0) {
			s->source = "snapshot";
			return 1;
		}
		snapshot_free(snap);
	}
	return want == SOURCE_SNAPSHOT ? -1 : 0;
}

int source_merge(const struct snapshot *snap, struct vm *vm, bool ignored_too, struct error *e)
{
	struct vm_ref ref = VM_REF_INIT;

	/* Scanned before the snapshot was taken and alive after it: its pid was no other's meanwhile. */
	if (vm_hold(&ref, vm->pid, vm->start_time, e) < 0)
		return -1;
	vm_release(&ref);
	snapshot_merge(snap, vm);
	for (size_t i = 0; !ignored_too && i < vm->n_devices; i++) {
		struct device *d = &vm->devices[i];

		for (size_t q = 0; q < d->n_queues && !vhost_uses_busyloop(d->kind); q++)
			d->queues[q].busyloop_usecs = UNKNOWN;
	}
	return 0;
}

/* A device that has gone or changed meanwhile has an error of its own, and nothing to be shown. */
static int check_read(const struct vm *vm, const struct selection *sel, struct error *e)
{
	for (size_t i = 0; i < vm->n_devices; i++) {
		const struct device *d = &vm->devices[i];

		if (d->kind == DEVICE_VDPA || d->inside.known || !d->n_errors ||
		    !selection_has_device(sel, vm, d))
			continue;
		*e = d->errors[d->n_errors - 1];
		return error_target(e, "%s", d->id);
	}
	return 0;
}

int source_read(enum source want, struct state *s, const struct selection *sel, bool ignored_too,
		struct error *why, struct error *e)
{
	struct snapshot snap;
	int ret = source_take(want, s, sel, &snap, why);

	if (ret < 0)
		*e = *why;
	if (ret > 0) {
		if (source_merge(&snap, sel->items[0].vm, ignored_too, e) < 0 ||
		    check_read(sel->items[0].vm, sel, e) < 0)
			ret = -1;
		snapshot_free(&snap);
	}
	return ret;
}

static bool queues_named(const struct selection *sel, const struct device *d)
{
	for (size_t i = 0; i < sel->n; i++)
		if (sel->items[i].device == d && sel->items[i].queues.n)
			return true;
	return false;
}

void source_hide_unused(struct state *s, const struct selection *sel)
{
	for (size_t v = 0; v < s->n_vms; v++)
		for (size_t i = 0; i < s->vms[v].n_devices; i++)
			if (!queues_named(sel, &s->vms[v].devices[i]))
				device_hide_unused(&s->vms[v].devices[i]);
}
