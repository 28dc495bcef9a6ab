// SPDX-License-Identifier: GPL-2.0-or-later
#include "cut.h"

#include <string.h>

#include "util.h"

bool selection_has_device(const struct selection *sel, const struct vm *vm, const struct device *d)
{
	for (size_t i = 0; i < sel->n; i++)
		if (sel->items[i].vm == vm && (!sel->items[i].device || sel->items[i].device == d))
			return true;
	return false;
}

bool selection_has_queue(const struct selection *sel, const struct vm *vm, const struct device *d,
			 unsigned int index)
{
	for (size_t i = 0; i < sel->n; i++) {
		const struct selected *s = &sel->items[i];

		if (s->vm == vm && (!s->device || (s->device == d && target_has_queue(s, index))))
			return true;
	}
	return false;
}

bool selection_begins_vm(const struct selection *sel, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (sel->items[k].vm == sel->items[i].vm)
			return false;
	return true;
}

static bool has_vm(const struct selection *sel, const struct vm *vm, bool whole)
{
	for (size_t i = 0; i < sel->n; i++)
		if (sel->items[i].vm == vm && (!whole || !sel->items[i].device))
			return true;
	return false;
}

static void cut_queues(const struct selection *sel, const struct vm *vm, struct device *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n_queues; i++)
		if (selection_has_queue(sel, vm, d, d->queues[i].index))
			d->queues[n++] = d->queues[i];
	d->n_queues = n;
}

static bool drives_a_kept_device(const struct tap *t, const struct device *devices, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (devices[i].tap && !strcmp(devices[i].tap, t->ifname))
			return true;
	return false;
}

static void cut_taps(struct vm *vm)
{
	size_t n = 0;

	for (size_t i = 0; i < vm->n_taps; i++) {
		if (drives_a_kept_device(&vm->taps[i], vm->devices, vm->n_devices))
			vm->taps[n++] = vm->taps[i];
		else
			tap_free(&vm->taps[i]);
	}
	vm->n_taps = n;
}

/* Queues before devices: cutting moves what a selection points to. */
static void cut_devices(const struct selection *sel, struct vm *vm)
{
	_cleanup_free_ bool *keep = xcalloc(vm->n_devices, sizeof(*keep));
	size_t n = 0;

	for (size_t i = 0; i < vm->n_devices; i++) {
		keep[i] = selection_has_device(sel, vm, &vm->devices[i]);
		cut_queues(sel, vm, &vm->devices[i]);
	}
	for (size_t i = 0; i < vm->n_devices; i++) {
		if (keep[i])
			vm->devices[n++] = vm->devices[i];
		else
			device_free(&vm->devices[i]);
	}
	vm->n_devices = n;
	cut_taps(vm);
}

void state_cut(struct state *s, struct selection *sel)
{
	_cleanup_free_ bool *keep = xcalloc(s->n_vms, sizeof(*keep));
	size_t n = 0;

	for (size_t i = 0; i < s->n_vms; i++) {
		keep[i] = has_vm(sel, &s->vms[i], false);
		if (keep[i] && !has_vm(sel, &s->vms[i], true))
			cut_devices(sel, &s->vms[i]);
	}
	for (size_t i = 0; i < s->n_vms; i++) {
		if (keep[i])
			s->vms[n++] = s->vms[i];
		else
			vm_free(&s->vms[i]);
	}
	s->n_vms = n;
	selection_free(sel);
	*sel = (struct selection){ 0 };
}

static bool is_unused(const struct device *d, const struct queue *q)
{
	if (q->worker_id > 0)
		return false;
	if (q->ring.known)
		return !q->ring.set_up;
	return d->vmm_queues && q->index >= d->vmm_queues;
}

void device_hide_unused(struct device *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n_queues; i++)
		if (!is_unused(d, &d->queues[i]))
			d->queues[n++] = d->queues[i];
	d->n_queues = n;
}
