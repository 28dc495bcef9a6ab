// SPDX-License-Identifier: GPL-2.0-or-later
#include "target.h"

#include <string.h>

#include "target_parts.h"
#include "util.h"

static bool is_fd(const char *text, int fd)
{
	char name[16];

	snprintf(name, sizeof(name), "fd%d", fd);
	return !strcmp(name, text);
}

static bool device_is_called(const struct device *d, const char *text)
{
	return !strcmp(d->id, text) || is_fd(text, d->fd);
}

static void add_tap_names(struct target_words *w, const struct vm *vm)
{
	for (size_t i = 0; i < vm->n_taps; i++)
		if (vm->taps[i].ifname[0])
			target_add_word(w, vm->taps[i].ifname);
}

static int no_device(struct error *e, const struct vm *vm, const char *text)
{
	_cleanup_free_ char *vm_text = target_name(vm, NULL, NULL);
	struct target_words have = { .len = 0 };

	for (size_t i = 0; i < vm->n_taps; i++)
		if (!strcmp(vm->taps[i].ifname, text)) {
			error_set(e, STATUS_NOT_FOUND, 0, NULL,
				  "no vhost-net device of %s is known to drive tap %s; give net0, net1 ...",
				  vm_text, text);
			return error_target(e, "%s/%s", vm_text, text);
		}
	for (size_t i = 0; i < vm->n_devices; i++)
		target_add_word(&have, vm->devices[i].id);
	add_tap_names(&have, vm);
	error_set(e, STATUS_NOT_FOUND, 0, NULL, "no device %s in %s; it has %s", text, vm_text,
		  have.len ? have.text : "no vhost device");
	return error_target(e, "%s/%s", vm_text, text);
}

static int add_device(struct selection *sel, struct vm *vm, struct device *d, const char *queues,
		      struct error *e)
{
	struct selected item = { .vm = vm, .device = d };

	if (queues && target_parse_queues(vm, d, queues, &item.queues, e))
		return -1;
	*ARRAY_ADD(sel->items, sel->n) = item;
	return 0;
}

static int add_devices(struct selection *sel, struct vm *vm, const char *device,
		       const char *queues, struct error *e)
{
	size_t before = sel->n;

	for (size_t i = 0; i < vm->n_devices; i++)
		if (device_is_called(&vm->devices[i], device))
			return add_device(sel, vm, &vm->devices[i], queues, e);
	for (size_t i = 0; i < vm->n_devices; i++)
		if (vm->devices[i].tap && !strcmp(vm->devices[i].tap, device) &&
		    add_device(sel, vm, &vm->devices[i], queues, e))
			return -1;
	return sel->n > before ? 0 : no_device(e, vm, device);
}

/* @rest is what @text has behind its VM. */
static int resolve_part(struct vm *vm, const char *text, const char *rest, struct selection *sel,
			struct error *e)
{
	_cleanup_free_ char *device = xstrdup(rest);
	char *queues = strchr(device, '/');

	if (queues)
		*queues++ = '\0';
	if (!*device)
		return target_usage(e, text, "the device is missing");
	if (queues && !*queues)
		return target_usage(e, text, "the queue is missing");
	if (queues && strchr(queues, '/'))
		return target_usage(e, text, "too many slashes");
	return add_devices(sel, vm, device, queues, e);
}

int target_resolve(struct state *s, const char *text, struct selection *sel, struct error *e)
{
	const char *rest;
	struct vm *vm;

	e->status = STATUS_OK;
	if (!*text || *text == '/')
		return target_usage(e, text, "the VM is missing");
	vm = target_find_vm(s, text, &rest, e);
	if (!vm)
		return -1;
	if (!rest) {
		*ARRAY_ADD(sel->items, sel->n) = (struct selected){ .vm = vm };
		return 0;
	}
	return resolve_part(vm, text, rest, sel, e);
}

char *target_name(const struct vm *vm, const struct device *d, const struct queue *q)
{
	_cleanup_free_ char *name = vm->name ? xstrdup(vm->name) : xasprintf("%d", (int)vm->pid);

	if (!d)
		return STEAL_PTR(name);
	if (!q)
		return xasprintf("%s/%s", name, d->id);
	if (q->name[0])
		return xasprintf("%s/%s/%s", name, d->id, q->name);
	return xasprintf("%s/%s/%u", name, d->id, q->index);
}

char *target_fixed(const struct selected *item)
{
	_cleanup_free_ char *queues = ranges_text(&item->queues);

	if (!item->device)
		return xasprintf("%d", (int)item->vm->pid);
	return xasprintf("%d/fd%d%s%s", (int)item->vm->pid, item->device->fd, *queues ? "/" : "", queues);
}

int target_error(struct error *e, const struct vm *vm)
{
	char device[sizeof(e->target)];
	_cleanup_free_ char *name = target_name(vm, NULL, NULL);
	size_t len = strlen(name);

	if (!strncmp(e->target, name, len) && (!e->target[len] || e->target[len] == '/'))
		return -1;
	memcpy(device, e->target, sizeof(device));
	e->target[0] = '\0';
	return error_target(e, "%.100s%s%.50s", name, device[0] ? "/" : "", device);
}

void selection_free(struct selection *sel)
{
	for (size_t i = 0; i < sel->n; i++)
		ranges_free(&sel->items[i].queues);
	free(sel->items);
	*sel = (struct selection){ 0 };
}

int target_find(const char *const *texts, size_t n, struct state *s, struct selection *sel,
		struct error *e)
{
	if (target_scan(texts, n, s, e))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (target_resolve(s, texts[i], sel, e))
			return e->status == STATUS_NOT_FOUND ? target_explain_pid(s, texts[i], e) : -1;
	for (size_t i = 0; !n && i < s->n_vms; i++)
		*ARRAY_ADD(sel->items, sel->n) = (struct selected){ .vm = &s->vms[i] };
	return 0;
}

/* As for devices, an id wins over an interface of that name. */
static bool find_tap(const struct vm *vm, const char *text, struct target_tap *t)
{
	const char *name = text;

	for (size_t i = 0; i < vm->n_devices; i++) {
		const struct device *d = &vm->devices[i];

		if (!device_is_called(d, text) || !d->tap)
			continue;
		name = d->tap;
		if (d->inside.known && d->inside.tap_fd != UNKNOWN)
			t->fd = (int)d->inside.tap_fd;
	}
	t->ifname = name == text ? text : NULL;
	for (size_t i = 0; i < vm->n_taps; i++) {
		t->tap = &vm->taps[i];
		if (*name && !strcmp(t->tap->ifname, name))
			return true;
		for (size_t k = 0; name == text && k < t->tap->n_fds; k++)
			if (is_fd(text, t->tap->fds[k])) {
				t->ifname = NULL;
				t->fd = t->tap->fds[k];
				return true;
			}
	}
	t->tap = NULL;
	return false;
}

static int no_tap(struct error *e, const struct vm *vm, const char *text)
{
	_cleanup_free_ char *vm_text = target_name(vm, NULL, NULL);
	struct target_words have = { .len = 0 };

	add_tap_names(&have, vm);
	error_set(e, STATUS_NOT_FOUND, 0, NULL, "no tap %s in %s; it has %s", text, vm_text,
		  have.len ? have.text : "none");
	return error_target(e, "%s/%s", vm_text, text);
}

bool target_is_in(struct vm *vm, const char *rest)
{
	struct error ignored = ERROR_INIT;
	struct selection sel = { 0 };
	struct target_tap tap;
	bool is = resolve_part(vm, rest, rest, &sel, &ignored) == 0 || find_tap(vm, rest, &tap);

	selection_free(&sel);
	return is;
}

int target_find_tap(const char *text, struct state *s, struct vm **vm, struct target_tap *t, struct error *e)
{
	const char *rest;

	*t = (struct target_tap){ .fd = -1 };
	if (!*text || *text == '/')
		return target_usage(e, text, "the VM is missing");
	if (target_scan(&text, 1, s, e))
		return -1;
	e->status = STATUS_OK;
	*vm = target_find_vm(s, text, &rest, e);
	if (!*vm)
		return e->status == STATUS_NOT_FOUND ? target_explain_pid(s, text, e) : -1;
	if (!rest)
		return 0;
	if (!*rest)
		return target_usage(e, text, "the tap is missing");
	return find_tap(*vm, rest, t) ? 0 : no_tap(e, *vm, rest);
}
