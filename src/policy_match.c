// SPDX-License-Identifier: GPL-2.0-or-later
#include "policy_match.h"

#include <fnmatch.h>
#include <string.h>
#include <strings.h>

#include "procfs.h"
#include "target.h"
#include "util.h"
#include "vhost.h"
#include "vmname.h"

static bool glob(const char *pattern, const char *text)
{
	return text && fnmatch(pattern, text, 0) == 0;
}

static bool vm_matches(const struct policy_vm *entry, const struct vm *vm)
{
	return (!entry->name || glob(entry->name, vm->name)) &&
	       (!entry->uuid || (vm->uuid && !strcasecmp(entry->uuid, vm->uuid)));
}

bool policy_matches(const struct policy *p, const struct vm *vm)
{
	for (size_t i = 0; i < p->n_vms; i++)
		if (vm_matches(&p->vms[i], vm))
			return true;
	return false;
}

bool policy_may_match(const struct policy *p, const char *text)
{
	uint64_t pid;

	/* The name of a pid or a uuid is known when the VM is there. */
	if (proc_number(text, strlen(text), INT32_MAX, &pid) || vmname_is_uuid(text))
		return p->n_vms > 0;
	for (size_t i = 0; i < p->n_vms; i++)
		if (p->vms[i].uuid || !p->vms[i].name || glob(p->vms[i].name, text))
			return true;
	return false;
}

static bool device_matches(const struct policy_device *entry, const struct device *d)
{
	return (entry->kind == POLICY_ANY_KIND || entry->kind == d->kind) &&
	       (!entry->id || glob(entry->id, d->id)) && (!entry->tap || glob(entry->tap, d->tap));
}

static bool is_exact(const char *pattern)
{
	return pattern && !strpbrk(pattern, "*?[\\");
}

/* How narrowly an entry matches: the greater, the fewer it can mean. */
static int vm_rank(const struct policy_vm *vm)
{
	if (vm->uuid || is_exact(vm->name))
		return 2;
	return vm->name ? 1 : 0;
}

static int device_rank(const struct policy_device *d)
{
	if (is_exact(d->id) || is_exact(d->tap))
		return 3;
	if (d->id || d->tap)
		return 2;
	return d->kind != POLICY_ANY_KIND;
}

static bool is_narrower(const struct want *later, const struct want *earlier)
{
	int vm = vm_rank(later->vm) - vm_rank(earlier->vm);
	int device = device_rank(later->from) - device_rank(earlier->from);

	return vm >= 0 && device >= 0 && vm + device > 0;
}

/* One VM's share of a policy while it is put together. */
struct match {
	struct vm *vm;
	const struct policy_vm *entry;
	struct sentences *warnings, *missing;
	struct error *e;
};

static void merge(const struct match *m, struct want *have, const struct want *new,
		  const struct device *d, const char *setting, bool same)
{
	if (have->from && !same && !is_narrower(new, have)) {
		_cleanup_free_ char *name = target_name(m->vm, d, NULL);

		sentences_add(m->warnings, "%s: %s is set by %s and, to something else, by %s; the later one "
			      "holds", name, setting, have->from->where, new->from->where);
	}
	*have = *new;
}

static void merge_number(const struct match *m, struct want *have, const struct policy_device *from,
			 int64_t value, const struct device *d, const char *setting)
{
	const struct want new = { m->entry, from, value };

	if (value != UNKNOWN)
		merge(m, have, &new, d, setting, have->value == value);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_list(const struct policy_device *a, const struct policy_device *b)
{
	if (a->n_list != b->n_list)
		return false;
	for (size_t i = 0; i < a->n_list; i++)
		if (!ranges_equal(&a->list[i].queues, &b->list[i].queues) ||
		    !same_text(a->list[i].cpus, b->list[i].cpus))
			return false;
	return true;
}

static void merge_device(const struct match *m, const struct policy_device *from,
			 struct device_wants *w)
{
	const struct want new = { m->entry, from, 0 };
	const struct device *d = w->device;

	if (vhost_uses_busyloop(d->kind)) {
		merge_number(m, &w->busyloop[0], from, from->busyloop[0], d, "busyloop_usecs of rx");
		merge_number(m, &w->busyloop[1], from, from->busyloop[1], d, "busyloop_usecs of tx");
		merge_number(m, &w->rx_frames, from, from->rx_frames, d, "rx_frames");
	}
	if (from->workers && d->kind == DEVICE_SCSI)
		merge(m, &w->workers, &new, d, "workers", w->workers.from &&
		      w->workers.from->workers == from->workers && w->workers.from->count == from->count &&
		      same_list(w->workers.from, from));
	if (from->cpus && d->kind != DEVICE_VDPA)
		merge(m, &w->cpus, &new, d, "cpus",
		      w->cpus.from && same_text(w->cpus.from->cpus, from->cpus));
}

/* Of the devices that an entry matches one at least has to have each of its settings. */
static int check_settings(const struct match *m, const struct policy_device *from, unsigned int kinds)
{
	bool net = from->busyloop[0] != UNKNOWN || from->busyloop[1] != UNKNOWN || from->rx_frames != UNKNOWN;
	_cleanup_free_ char *name = target_name(m->vm, NULL, NULL);
	const char *what = NULL;

	if (net && !(kinds & 1u << DEVICE_NET))
		what = "busyloop_usecs and rx_frames are settings of net devices";
	else if (from->workers && !(kinds & 1u << DEVICE_SCSI))
		what = "workers is a setting of scsi devices";
	/* What is meant for all devices, or need not be there, may find none. */
	if (!what || from->optional || !device_rank(from))
		return 0;
	error_set(m->e, STATUS_UNSUPPORTED, 0, from->where, "%s, and it matches others only", what);
	return error_target(m->e, "%s", name);
}

static int match_entry(const struct match *m, const struct policy_device *from,
		       struct device_wants *wants)
{
	unsigned int kinds = 0;

	for (size_t i = 0; i < m->vm->n_devices; i++) {
		if (!device_matches(from, &m->vm->devices[i]))
			continue;
		kinds |= 1u << m->vm->devices[i].kind;
		merge_device(m, from, &wants[i]);
	}
	if (kinds)
		return check_settings(m, from, kinds);
	if (!from->optional)
		sentences_add(m->missing, "a device that %s matches", from->where);
	return 0;
}

int policy_frames_differ(const struct device_wants *a, const struct device_wants *b, struct error *e)
{
	if (!a->rx_frames.from || !b->rx_frames.from || a->rx_frames.value == b->rx_frames.value)
		return 0;
	error_set(e, STATUS_USAGE, 0, a->rx_frames.from->where,
		  "rx_frames is one value for the whole interface, and %s sets another on %s",
		  b->rx_frames.from->where, b->device->id);
	return error_target(e, "%s", a->device->id);
}

static bool knows_interface(const struct device *d)
{
	return d->inside.known && d->inside.tap_ifindex != UNKNOWN && d->inside.tap_netns != UNKNOWN;
}

/* Two of which it is not known drive two taps for all we know; a name is for when nothing else is known. */
static bool same_tap(const struct device *a, const struct device *b)
{
	if (knows_interface(a) && knows_interface(b))
		return a->inside.tap_ifindex == b->inside.tap_ifindex &&
		       a->inside.tap_netns == b->inside.tap_netns;
	return a->tap && b->tap && !strcmp(a->tap, b->tap);
}

/* Queue pairs of one NIC have one tap. */
static int check_taps(const struct match *m, const struct device_wants *wants)
{
	for (size_t i = 0; i < m->vm->n_devices; i++)
		for (size_t k = 0; k < i; k++)
			if (same_tap(wants[i].device, wants[k].device) &&
			    policy_frames_differ(&wants[i], &wants[k], m->e) < 0)
				return -1;
	return 0;
}

int policy_match(const struct policy *p, struct vm *vm, struct device_wants **wants,
		 struct sentences *warnings, struct sentences *missing, struct error *e)
{
	struct match m = { .vm = vm, .warnings = warnings, .missing = missing, .e = e };

	*wants = xcalloc(vm->n_devices, sizeof(**wants));
	for (size_t i = 0; i < vm->n_devices; i++)
		(*wants)[i].device = &vm->devices[i];
	for (size_t i = 0; i < p->n_vms; i++) {
		m.entry = &p->vms[i];
		for (size_t k = 0; vm_matches(m.entry, vm) && k < m.entry->n_devices; k++)
			if (match_entry(&m, &m.entry->devices[k], *wants) < 0)
				return -1;
	}
	return check_taps(&m, *wants);
}
