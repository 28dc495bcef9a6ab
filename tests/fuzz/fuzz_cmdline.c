// SPDX-License-Identifier: GPL-2.0-or-later
/* Command lines of VMMs: a name, a uuid, and which tap each vhost-net device drives. */
#include "cmdline.h"
#include "fuzz.h"
#include "state.h"
#include "tapmap.h"
#include "vmname.h"

static void add_net(struct vm *vm, int fd)
{
	struct device *d = ARRAY_ADD(vm->devices, vm->n_devices);

	d->kind = DEVICE_NET;
	d->fd = fd;
}

static void add_tap(struct vm *vm, const char *ifname, int fd)
{
	struct tap *t = ARRAY_ADD(vm->taps, vm->n_taps);

	tap_init(t);
	snprintf(t->ifname, sizeof(t->ifname), "%s", ifname);
	*ARRAY_ADD(t->fds, t->n_fds) = fd;
	*ARRAY_ADD(t->fds, t->n_fds) = fd + 1;
}

static bool has_tap(const struct vm *vm, const char *ifname)
{
	for (size_t i = 0; i < vm->n_taps; i++)
		if (!strcmp(vm->taps[i].ifname, ifname))
			return true;
	return false;
}

static void pair(const char *text, size_t len)
{
	struct vm vm = { .pid = 1 };

	for (int fd = 10; fd < 14; fd++)
		add_net(&vm, fd);
	add_tap(&vm, "a", 3);
	add_tap(&vm, "b", 5);
	add_tap(&vm, "", 7);
	*ARRAY_ADD(vm.idle_tuns, vm.n_idle_tuns) = 9;
	tapmap_pair_cmdline(&vm, text, len);
	for (size_t i = 0; i < vm.n_devices; i++) {
		const char *tap = vm.devices[i].tap;

		CHECK(!tap || (*tap && has_tap(&vm, tap)));
		CHECK(!tap == (vm.devices[i].tap_source == TAP_SOURCE_NONE));
	}
	for (size_t i = 0; i < vm.n_taps; i++)
		CHECK(vm.taps[i].vhost == UNKNOWN || vm.taps[i].vhost == 0 || vm.taps[i].vhost == 1);
	vm_free(&vm);
}

static void options(const char *text, size_t len)
{
	const char *name, *value;
	size_t pos = 0, steps = 0;

	while (cmdline_next_option(text, len, &pos, &name, &value)) {
		CHECK(++steps <= len);
		for (int json = 0; value && json < 2; json++) {
			struct keyvals kv = keyvals_start(value, "type", json);
			size_t pairs = 0;
			char *k, *v;

			while (keyvals_next(&kv, &k, &v)) {
				CHECK(++pairs <= len + 1);
				CHECK(strlen(k) <= len + 4 && strlen(v) <= len + 4);
				free(k);
				free(v);
			}
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	_cleanup_free_ char *text = NULL, *name = NULL, *uuid = NULL;
	size_t len;

	text = take_rest(&in, &len);
	vmname_parse(text, len, &name, &uuid);
	CHECK(!name || (*name && strlen(name) <= len));
	CHECK(!uuid || vmname_is_uuid(uuid));
	options(text, len);
	pair(text, len);
	return 0;
}
