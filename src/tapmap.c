// SPDX-License-Identifier: GPL-2.0-or-later
#include "tapmap.h"

#include <fcntl.h>
#include <string.h>

#include "cmdline.h"
#include "procfs.h"
#include "util.h"
#include "vmfile.h"

static struct device *net_with_fd(struct vm *vm, int fd)
{
	for (size_t i = 0; i < vm->n_devices; i++)
		if (vm->devices[i].kind == DEVICE_NET && vm->devices[i].fd == fd)
			return &vm->devices[i];
	return NULL;
}

static const struct tap *tap_with_fd(const struct vm *vm, int fd)
{
	for (size_t i = 0; i < vm->n_taps; i++)
		for (size_t j = 0; j < vm->taps[i].n_fds; j++)
			if (vm->taps[i].fds[j] == fd)
				return &vm->taps[i];
	return NULL;
}

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

/* @left bounds the work that a command line can make for us. */
static void pair_lists(struct vm *vm, const char *tap_fds, const char *vhost_fds, size_t *left)
{
	for (; *tap_fds && *vhost_fds && *left; (*left)--) {
		const struct tap *t = tap_with_fd(vm, next_fd(&tap_fds));
		struct device *d = net_with_fd(vm, next_fd(&vhost_fds));

		/* A macvtap of another namespace has no name that we could give. */
		if (t && d && t->ifname[0])
			set_tap(d, t, TAP_SOURCE_CMDLINE);
	}
}

static void pair_netdev(struct vm *vm, const char *value, size_t *left)
{
	struct keyvals kv = keyvals_start(value, "type", true);
	_cleanup_free_ char *fds = NULL;
	_cleanup_free_ char *vhost_fds = NULL;
	bool tap = false;
	char *key, *val;

	while (keyvals_next(&kv, &key, &val)) {
		char **into = !strcmp(key, "fd") || !strcmp(key, "fds") ? &fds :
			      !strcmp(key, "vhostfd") || !strcmp(key, "vhostfds") ? &vhost_fds : NULL;

		if (!strcmp(key, "type"))
			tap = !strcmp(val, "tap");
		if (into) {
			free(*into);
			*into = STEAL_PTR(val);
		}
		free(key);
		free(val);
	}
	if (tap && fds && vhost_fds)
		pair_lists(vm, fds, vhost_fds, left);
}

void tapmap_pair_cmdline(struct vm *vm, const char *cmdline, size_t len)
{
	const char *option, *value;
	size_t pos = 0, left = 8192;

	if (cmdline_vmm(cmdline, len) == VMM_QEMU)
		while (cmdline_next_option(cmdline, len, &pos, &option, &value))
			if (value && (!strcmp(option, "netdev") || !strcmp(option, "net") ||
				      !strcmp(option, "nic")))
				pair_netdev(vm, value, &left);
	if (vm->n_taps != 1 || !vm->taps[0].ifname[0])
		return;
	for (size_t i = 0; i < vm->n_devices; i++)
		if (vm->devices[i].kind == DEVICE_NET && !vm->devices[i].tap)
			set_tap(&vm->devices[i], &vm->taps[0], TAP_SOURCE_SOLE);
}

void tapmap_pair(int proc_fd, struct vm *vm)
{
	_cleanup_proc_text_ struct proc_text text = { 0 };
	char path[32];

	if (!vm->n_taps || !vm->n_devices)
		return;
	snprintf(path, sizeof(path), "%d", (int)vm->pid);
	_cleanup_close_ int pid_fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (pid_fd < 0 || vm_read_cmdline(pid_fd, &text))
		return;
	tapmap_pair_cmdline(vm, text.data, text.len);
}
