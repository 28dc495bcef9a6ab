// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>
#include <time.h>

#include "monitor.h"
#include "procfs.h"
#include "scan.h"
#include "util.h"

struct event monitor_event(const struct monitor *m, enum event_type type, const struct watched_vm *vm)
{
	struct event e = { .type = type, .initial = m->initial };
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	e.time = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	if (vm) {
		e.pid = vm->ref.pid;
		e.name = vm->name;
	}
	return e;
}

void monitor_free_vm(struct watched_vm *vm)
{
	vm_release(&vm->ref);
	free(vm->name);
	free(vm->devices);
	for (size_t i = 0; i < vm->n_taps; i++)
		monitor_free_tap(&vm->taps[i]);
	free(vm->taps);
}

void monitor_remove_vm(struct monitor *m, size_t index, const char *reason)
{
	struct event event = monitor_event(m, EVENT_VM_REMOVED, &m->vms[index]);

	event.reason = reason;
	m->tell(&event, m->arg);
	monitor_free_vm(&m->vms[index]);
	memmove(&m->vms[index], &m->vms[index + 1], (m->n_vms - index - 1) * sizeof(*m->vms));
	m->n_vms--;
}

/* ---- devices ---- */

static void copy_device(struct device *to, const struct device *from)
{
	*to = (struct device){ .kind = from->kind, .fd = from->fd };
	memcpy(to->id, from->id, sizeof(to->id));
}

static bool has_device(const struct device *list, size_t n, const struct device *d)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].fd == d->fd && list[i].kind == d->kind)
			return true;
	return false;
}

static void tell_device(const struct monitor *m, enum event_type type, const struct watched_vm *vm,
			const struct device *d)
{
	struct event event = monitor_event(m, type, vm);

	event.devices = d;
	event.n_devices = 1;
	m->tell(&event, m->arg);
}

static void take_devices(const struct monitor *m, struct watched_vm *vm, const struct vm *seen, bool tell)
{
	struct device *old = vm->devices;
	size_t n_old = vm->n_devices;

	vm->devices = NULL;
	vm->n_devices = 0;
	for (size_t i = 0; i < seen->n_devices; i++)
		copy_device(ARRAY_ADD(vm->devices, vm->n_devices), &seen->devices[i]);
	for (size_t i = 0; tell && i < n_old; i++)
		if (!has_device(vm->devices, vm->n_devices, &old[i]))
			tell_device(m, EVENT_DEVICE_REMOVED, vm, &old[i]);
	for (size_t i = 0; tell && i < vm->n_devices; i++)
		if (!has_device(old, n_old, &vm->devices[i]))
			tell_device(m, EVENT_DEVICE_ADDED, vm, &vm->devices[i]);
	free(old);
}

/* ---- taps ---- */

static struct watched_tap *watched_with_fd(const struct watched_vm *vm, int fd)
{
	for (size_t i = 0; i < vm->n_taps; i++)
		for (size_t k = 0; k < vm->taps[i].now.n_fds; k++)
			if (vm->taps[i].now.fds[k] == fd)
				return &vm->taps[i];
	return NULL;
}

/*
 * Files of it that have come and gone. A scan puts together what has one name: where that is two
 * taps, in two namespaces, each keeps the files that it was found by.
 */
static void take_fds(const struct watched_vm *vm, struct watched_tap *t, const struct tap *seen)
{
	for (size_t i = 0; i < seen->n_fds; i++) {
		const struct watched_tap *other = watched_with_fd(vm, seen->fds[i]);

		if (other && other != t)
			return;
	}
	t->now.n_fds = 0;
	for (size_t i = 0; i < seen->n_fds; i++)
		*ARRAY_ADD(t->now.fds, t->now.n_fds) = seen->fds[i];
}

static void add_tap(struct monitor *m, struct watched_vm *vm, const struct tap *seen)
{
	struct watched_tap *t = ARRAY_ADD(vm->taps, vm->n_taps);

	tap_init_as(&t->now, seen);
	tap_init(&t->told);
	t->added = true;
	take_fds(vm, t, seen);
	monitor_begin_tap(m, vm, t);
	t->dirty_at = clock_ns();
}

static bool still_held(const struct vm *seen, const struct watched_tap *t)
{
	for (size_t i = 0; i < seen->n_taps; i++)
		for (size_t k = 0; k < seen->taps[i].n_fds; k++)
			for (size_t f = 0; f < t->now.n_fds; f++)
				if (seen->taps[i].fds[k] == t->now.fds[f])
					return true;
	return false;
}

static void drop_taps(const struct monitor *m, struct watched_vm *vm, const struct vm *seen)
{
	size_t n = 0;

	for (size_t i = 0; i < vm->n_taps; i++) {
		struct watched_tap *t = &vm->taps[i];

		/* One without an interface is not in a scan: what became of it, its file tells. */
		if (still_held(seen, t) || t->dirty_at) {
			vm->taps[n++] = *t;
			continue;
		}
		monitor_tell_tap(m, EVENT_TAP_REMOVED, vm, &t->told, NULL);
		monitor_free_tap(t);
	}
	vm->n_taps = n;
}

static void take_taps(struct monitor *m, struct watched_vm *vm, const struct vm *seen)
{
	for (size_t i = 0; i < seen->n_taps; i++) {
		const struct tap *tap = &seen->taps[i];
		struct watched_tap *t = NULL;

		for (size_t k = 0; !t && k < tap->n_fds; k++)
			t = watched_with_fd(vm, tap->fds[k]);
		if (!t) {
			add_tap(m, vm, tap);
			continue;
		}
		take_fds(vm, t, tap);
		/* A notification was missed, the fd is another tap's by now, or a look failed. */
		if ((strcmp(t->now.ifname, tap->ifname) || t->lost || t->recheck) && !t->dirty_at) {
			t->recheck = true;
			t->dirty_at = clock_ns();
		}
	}
}

/* ---- VMs ---- */

static struct watched_vm *watched(const struct monitor *m, const struct vm *vm)
{
	for (size_t i = 0; i < m->n_vms; i++)
		if (m->vms[i].ref.pid == vm->pid && m->vms[i].ref.start_time == vm->start_time)
			return &m->vms[i];
	return NULL;
}

static void tell_added(const struct monitor *m, const struct watched_vm *vm)
{
	struct event event = monitor_event(m, EVENT_VM_ADDED, vm);
	_cleanup_free_ struct tap *taps = xcalloc(vm->n_taps + 1, sizeof(*taps));

	for (size_t i = 0; i < vm->n_taps; i++)
		taps[i] = vm->taps[i].now;
	event.devices = vm->devices;
	event.n_devices = vm->n_devices;
	event.taps = taps;
	event.n_taps = vm->n_taps;
	m->tell(&event, m->arg);
}

static bool has_several_files(const struct vm *vm)
{
	for (size_t i = 0; i < vm->n_taps; i++)
		if (vm->taps[i].n_fds > 1 && !vm->taps[i].macvtap)
			return true;
	return false;
}

void monitor_no_descriptor(struct monitor *m)
{
	error_set(&m->failure, STATUS_FAILED, EMFILE, "watch the VMs",
		  "%s; each VM takes two: raise the hard limit, for example with 'ulimit -n N' as root",
		  strerror(EMFILE));
}

static void add_vm(struct monitor *m, struct vm *seen)
{
	struct watched_vm vm = { .ref = VM_REF_INIT, .seen = true };
	struct error e = ERROR_INIT;
	struct watched_vm *kept;

	/* One that has ended meanwhile has never been there for us; another one is found by the next scan. */
	if (vm_hold(&vm.ref, seen->pid, seen->start_time, &e)) {
		if (e.errnum == EMFILE)
			monitor_no_descriptor(m);
		return;
	}
	vm.name = seen->name ? xstrdup(seen->name) : NULL;
	kept = ARRAY_ADD(m->vms, m->n_vms);
	*kept = vm;
	take_devices(m, kept, seen, false);
	if (has_several_files(seen))
		taps_regroup(&kept->ref, seen);
	take_taps(m, kept, seen);
	tell_added(m, kept);
	/* They are told with it; what was read before the watch is compared once more. */
	for (size_t i = 0; i < kept->n_taps; i++)
		monitor_told_tap(&kept->taps[i]);
}

/*
 * Of one that ends its pidfd will tell. A @scan that could not look into all does not tell which: one of
 * those, or one that is no VM any more.
 */
static bool is_none(const struct watched_vm *vm, const struct state *scan)
{
	struct error e = ERROR_INIT;
	struct state s = { 0 };
	bool none;

	if (proc_is_ending(vm->ref.proc_fd))
		return false;
	none = !scan->n_errors || (scan_vm(vm->ref.pid, &s, &e) && e.status == STATUS_NOT_FOUND);
	state_free(&s);
	return none;
}

void monitor_take_scan(struct monitor *m, struct state *s, bool whole)
{
	for (size_t i = 0; i < m->n_vms; i++)
		m->vms[i].seen = false;
	for (size_t i = 0; i < s->n_vms; i++) {
		struct watched_vm *vm = watched(m, &s->vms[i]);

		if (vm)
			vm->seen = true;
		/* Which fds are one file, and so what is a device, is not known: the next scan may tell. */
		if (s->vms[i].locked || s->files_unknown)
			continue;
		if (!vm) {
			add_vm(m, &s->vms[i]);
			continue;
		}
		take_devices(m, vm, &s->vms[i], true);
		take_taps(m, vm, &s->vms[i]);
		drop_taps(m, vm, &s->vms[i]);
	}
	for (size_t i = m->n_vms; whole && i > 0; i--)
		if (!m->vms[i - 1].seen && is_none(&m->vms[i - 1], s))
			monitor_remove_vm(m, i - 1, "it holds no vhost device and no tap any more");
	tap_visit_end(&m->visit);
}
