// SPDX-License-Identifier: GPL-2.0-or-later
#include "tapmap.h"

#include <fcntl.h>
#include <string.h>

#include "cmdline.h"
#include "procfs.h"
#include "util.h"
#include "vmfile.h"

static void set_tap(struct device *d, const struct tap *t, enum tap_source source)
{
	free(d->tap);
	d->tap = xstrdup(t->ifname);
	d->tap_source = source;
}

/* Next number of "3:4:5". -1 for a name (an fd handed over on the monitor) or rubbish. */
static int next_fd(const char **list)
{
	size_t len = strcspn(*list, ":");
	uint64_t fd;
	bool number = proc_number(*list, len, INT32_MAX, &fd);

	*list += len + ((*list)[len] == ':');
	return number ? (int)fd : -1;
}

static bool is_idle_tun(const struct vm *vm, int fd)
{
	for (size_t i = 0; i < vm->n_idle_tuns; i++)
		if (vm->idle_tuns[i] == fd)
			return true;
	return false;
}

/* One -netdev, -net or -nic. */
struct nic {
	bool tap, vhost, vhostforce, vhost_given;
	unsigned int queues;
	char *ifname, *fds, *vhost_fds;
};

/* What the command line told of all of them. */
struct told {
	size_t left;		/* bounds the work that a command line can make for us */
	size_t queues;		/* of NICs on vhost, with vhost-net files that QEMU opened by itself */
};

/* The interface that all the files of a NIC are queues of. NULL: none, or not one only. */
static struct tap *tap_of_list(const struct vm *vm, const char *fds, size_t left)
{
	struct tap *tap = NULL;

	for (; *fds && left; left--) {
		struct tap *t = tap_with_fd(vm, next_fd(&fds));

		if (t && tap && t != tap)
			return NULL;
		if (t)
			tap = t;
	}
	return tap;
}

/* A file without an interface, among those of a NIC, is a queue that the guest does not use. */
static void pair_lists(struct vm *vm, const struct nic *nic, struct told *told)
{
	const struct tap *whole = tap_of_list(vm, nic->fds, told->left);
	const char *tap_fds = nic->fds, *vhost_fds = nic->vhost_fds;

	for (; *tap_fds && *vhost_fds && told->left; told->left--) {
		int tap_fd = next_fd(&tap_fds);
		const struct tap *t = is_idle_tun(vm, tap_fd) ? whole : tap_with_fd(vm, tap_fd);
		struct device *d = device_with_fd(vm, next_fd(&vhost_fds));

		/* A macvtap of another namespace has no name that we could give. */
		if (t && d && d->kind == DEVICE_NET && t->ifname[0])
			set_tap(d, t, TAP_SOURCE_CMDLINE);
	}
}

static bool is_on(const char *value)
{
	return !strcmp(value, "on") || !strcmp(value, "true") || !strcmp(value, "yes") ||
	       !strcmp(value, "y");
}

static void take_key(struct nic *nic, const char *key, char **value)
{
	char **into = !strcmp(key, "fd") || !strcmp(key, "fds") ? &nic->fds :
		      !strcmp(key, "vhostfd") || !strcmp(key, "vhostfds") ? &nic->vhost_fds :
		      !strcmp(key, "ifname") ? &nic->ifname : NULL;
	uint64_t n;

	if (!strcmp(key, "type")) {
		nic->tap = !strcmp(*value, "tap");
	} else if (!strcmp(key, "vhost")) {
		nic->vhost = is_on(*value);
		nic->vhost_given = true;
	} else if (!strcmp(key, "vhostforce")) {
		nic->vhostforce = is_on(*value);
	} else if (!strcmp(key, "queues") && proc_number(*value, strlen(*value), 1024, &n)) {
		nic->queues = (unsigned int)n;
	} else if (into) {
		free(*into);
		*into = STEAL_PTR(*value);
	}
}

/* As net_init_tap_one() of QEMU's net/tap.c decides. */
static bool uses_vhost(const struct nic *nic)
{
	return nic->vhost_given ? nic->vhost : nic->vhost_fds || nic->vhostforce;
}

static unsigned int count_list(const char *list)
{
	unsigned int n = *list != '\0';

	for (; *list; list++)
		n += *list == ':';
	return n;
}

static struct tap *tap_called(const struct vm *vm, const char *ifname)
{
	for (size_t i = 0; i < vm->n_taps; i++)
		if (!vm->taps[i].macvtap && !strcmp(vm->taps[i].ifname, ifname))
			return &vm->taps[i];
	return NULL;
}

/* tap.vhost is what the command line says of it until finish() has more. */
static void take_nic(struct vm *vm, const struct nic *nic, struct told *told)
{
	bool vhost = uses_vhost(nic);
	struct tap *t = nic->fds ? tap_of_list(vm, nic->fds, told->left)
				 : nic->ifname ? tap_called(vm, nic->ifname) : NULL;

	if (nic->fds)
		told->left -= told->left < count_list(nic->fds) ? told->left : count_list(nic->fds);
	if (vhost && nic->fds && nic->vhost_fds)
		pair_lists(vm, nic, told);
	if (t)
		t->vhost = vhost;
	if (vhost && !nic->vhost_fds)
		told->queues += nic->fds ? count_list(nic->fds) : nic->queues;
}

static void read_nic(struct vm *vm, const char *value, struct told *told)
{
	struct keyvals kv = keyvals_start(value, "type", true);
	struct nic nic = { .queues = 1 };
	char *key, *val;

	while (keyvals_next(&kv, &key, &val)) {
		take_key(&nic, key, &val);
		free(key);
		free(val);
	}
	if (nic.tap)
		take_nic(vm, &nic, told);
	free(nic.ifname);
	free(nic.fds);
	free(nic.vhost_fds);
}

static size_t count_unpaired(const struct vm *vm)
{
	size_t n = 0;

	for (size_t i = 0; i < vm->n_devices; i++)
		n += vm->devices[i].kind == DEVICE_NET && !vm->devices[i].tap;
	return n;
}

/*
 * The one tap that what is unpaired must be on: the VM's only one, or the one on vhost among
 * taps of which the command line tells all.
 */
static const struct tap *only_candidate(const struct vm *vm)
{
	const struct tap *found = NULL;

	if (vm->n_taps == 1)
		return &vm->taps[0];
	for (size_t i = 0; i < vm->n_taps; i++) {
		if (vm->taps[i].vhost == 0)
			continue;
		if (found || vm->taps[i].vhost == UNKNOWN)
			return NULL;
		found = &vm->taps[i];
	}
	return found;
}

static void pair_rest(struct vm *vm)
{
	const struct tap *t = only_candidate(vm);

	if (!t || !t->ifname[0])
		return;
	for (size_t i = 0; i < vm->n_devices; i++)
		if (vm->devices[i].kind == DEVICE_NET && !vm->devices[i].tap)
			set_tap(&vm->devices[i], t, vm->n_taps == 1 ? TAP_SOURCE_SOLE : TAP_SOURCE_CMDLINE);
}

/* By name, but where more is known, two taps of one name are not one. */
static bool drives(const struct device *d, const struct tap *t)
{
	if (!d->tap || strcmp(d->tap, t->ifname))
		return false;
	return !d->inside.known || d->inside.tap_ifindex == UNKNOWN || t->ifindex == UNKNOWN ||
	       (d->inside.tap_ifindex == t->ifindex && d->inside.tap_netns == t->netns);
}

static bool is_paired(const struct vm *vm, const struct tap *t)
{
	for (size_t i = 0; i < vm->n_devices; i++)
		if (drives(&vm->devices[i], t))
			return true;
	return false;
}

void tapmap_mark_vhost(struct vm *vm)
{
	size_t unpaired = count_unpaired(vm);

	for (size_t i = 0; i < vm->n_taps; i++) {
		if (is_paired(vm, &vm->taps[i]))
			vm->taps[i].vhost = KNOWN(true);
		else if (!unpaired)
			vm->taps[i].vhost = KNOWN(false);
	}
}

/*
 * From what the command line asked for to what there is: QEMU goes on without vhost where it
 * cannot have it. If it told of all taps and there are as many files as it asked for, each got its own.
 */
static void decide_vhost(struct vm *vm, const struct told *told)
{
	bool all = count_unpaired(vm) == told->queues;

	for (size_t i = 0; i < vm->n_taps; i++)
		all &= vm->taps[i].vhost != UNKNOWN;
	for (size_t i = 0; i < vm->n_taps; i++)
		if (vm->taps[i].vhost != 0 && !all)
			vm->taps[i].vhost = UNKNOWN;
	tapmap_mark_vhost(vm);
}

void tapmap_pair_cmdline(struct vm *vm, const char *cmdline, size_t len)
{
	struct told told = { .left = 8192 };
	const char *option, *value;
	size_t pos = 0;

	for (size_t i = 0; i < vm->n_taps; i++)
		vm->taps[i].vhost = UNKNOWN;
	if (cmdline_vmm(cmdline, len) == VMM_QEMU)
		while (cmdline_next_option(cmdline, len, &pos, &option, &value))
			if (value && (!strcmp(option, "netdev") || !strcmp(option, "net") ||
				      !strcmp(option, "nic")))
				read_nic(vm, value, &told);
	pair_rest(vm);
	decide_vhost(vm, &told);
}

void tapmap_pair(int proc_fd, struct vm *vm)
{
	_cleanup_proc_text_ struct proc_text text = { 0 };
	char path[32];

	if (!vm->n_taps)
		return;
	if (!vm->n_devices) {
		tapmap_pair_cmdline(vm, "", 0);
		return;
	}
	snprintf(path, sizeof(path), "%d", (int)vm->pid);
	_cleanup_close_ int pid_fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (pid_fd < 0 || vm_read_cmdline(pid_fd, &text))
		return;
	tapmap_pair_cmdline(vm, text.data, text.len);
}
