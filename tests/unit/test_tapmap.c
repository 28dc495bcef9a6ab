// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tapmap.h"
#include "util.h"

#define Q "qemu-system-x86_64\0-name\0a\0"

static void add_net(struct vm *vm, int fd)
{
	struct device *d = ARRAY_ADD(vm->devices, vm->n_devices);

	d->kind = DEVICE_NET;
	d->fd = fd;
}

static void add_tap_fd(struct vm *vm, const char *ifname, int fd)
{
	struct tap *t = NULL;

	for (size_t i = 0; i < vm->n_taps; i++)
		if (!strcmp(vm->taps[i].ifname, ifname))
			t = &vm->taps[i];
	if (!t) {
		t = ARRAY_ADD(vm->taps, vm->n_taps);
		snprintf(t->ifname, sizeof(t->ifname), "%s", ifname);
	}
	*ARRAY_ADD(t->fds, t->n_fds) = fd;
}

/* vhost-net fds 10-13 and a scsi 20; taps a: 3 4, b: 5 6. */
static struct vm two_nics(void)
{
	struct vm vm = { .pid = 1 };

	for (int fd = 10; fd < 14; fd++)
		add_net(&vm, fd);
	add_net(&vm, 20);
	vm.devices[4].kind = DEVICE_SCSI;
	add_tap_fd(&vm, "a", 3);
	add_tap_fd(&vm, "a", 4);
	add_tap_fd(&vm, "b", 5);
	add_tap_fd(&vm, "b", 6);
	return vm;
}

/* "aa-b": one letter a vhost-net device, - where it is unknown. */
static void assert_pairs(const char *cmdline, size_t len, const char *want)
{
	struct vm vm = two_nics();
	char got[8] = "";

	tapmap_pair_cmdline(&vm, cmdline, len);
	for (size_t i = 0; i < 4; i++) {
		got[i] = vm.devices[i].tap ? vm.devices[i].tap[0] : '-';
		assert_int_equal(vm.devices[i].tap_source,
				 vm.devices[i].tap ? TAP_SOURCE_CMDLINE : TAP_SOURCE_NONE);
	}
	assert_null(vm.devices[4].tap);
	assert_string_equal(got, want);
	vm_free(&vm);
}
#define PAIRS(cmdline, want) assert_pairs(cmdline, sizeof(cmdline), want)

static void numbered(void **state)
{
	(void)state;
	PAIRS(Q "-netdev\0tap,id=n0,fd=3,vhost=on,vhostfd=10", "a---");
	PAIRS(Q "-netdev\0tap,fds=3:4,id=h,vhost=on,vhostfds=12:13\0-netdev\0tap,fds=6:5,vhostfds=10:11",
	      "bbaa");
	PAIRS(Q "-netdev\0type=tap,vhostfd=11,fd=5", "-b--");
	PAIRS(Q "-net\0tap,fd=5,vhostfd=11\0-nic\0tap,fd=4,vhostfd=13", "-b-a");
	PAIRS(Q "-netdev\0{\"type\":\"tap\",\"fds\":\"3:5\",\"vhost\":true,\"vhostfds\":\"11:10\",\"id\":\"x\"}",
	      "ba--");
	PAIRS(Q "-netdev\0{\"id\":\"x\",\"vhostfd\":\"10\",\"fd\":\"6\",\"type\":\"tap\"}", "b---");
}

static void unknown(void **state)
{
	(void)state;
	PAIRS(Q "-netdev\0tap,ifname=a,queues=2,vhost=on", "----");
	PAIRS(Q "-netdev\0tap,fd=name,vhostfd=10", "----");
	PAIRS(Q "-netdev\0user,fd=3,vhostfd=10", "----");
	PAIRS(Q "-netdev\0tap,fd=3,vhostfd=99", "----");	/* closed since */
	PAIRS(Q "-netdev\0tap,fd=99,vhostfd=10", "----");
	PAIRS(Q "-netdev\0tap,fd=10,vhostfd=3", "----");
	PAIRS(Q "-netdev\0tap,fd=3,vhostfd=20", "----");	/* scsi by now */
	PAIRS(Q "-netdev\0tap,fds=3:x:5,vhostfds=10:11:12", "a-b-");
	PAIRS(Q "-netdev\0tap,fds=3,vhostfds=10:11", "a---");
	PAIRS(Q "-netdev\0tap,fd=-3,vhostfd=10", "----");
	PAIRS(Q "-netdev\0{\"type\":\"tap\",\"fd\":\"3\",\"vhostfd\":\"10\"", "----");
	PAIRS(Q "-append\0-netdev\0tap,fd=3,vhostfd=10", "----");
	PAIRS("crosvm\0run\0-netdev\0tap,fd=3,vhostfd=10", "----");
	PAIRS("", "----");
}

static void sole(void **state)
{
	struct vm vm = { .pid = 1 };

	(void)state;
	add_net(&vm, 10);
	add_net(&vm, 11);
	add_tap_fd(&vm, "a", 3);
	add_tap_fd(&vm, "a", 4);
	tapmap_pair_cmdline(&vm, Q "-netdev\0tap,fd=3,vhostfd=11", sizeof(Q "-netdev\0tap,fd=3,vhostfd=11"));
	assert_string_equal(vm.devices[0].tap, "a");
	assert_int_equal(vm.devices[0].tap_source, TAP_SOURCE_SOLE);
	assert_int_equal(vm.devices[1].tap_source, TAP_SOURCE_CMDLINE);
	vm_free(&vm);
	/* a macvtap whose name is not to be had is no name */
	add_net(&vm, 10);
	add_tap_fd(&vm, "", 3);
	tapmap_pair_cmdline(&vm, Q "-netdev\0tap,fd=3,vhostfd=10", sizeof(Q "-netdev\0tap,fd=3,vhostfd=10"));
	assert_null(vm.devices[0].tap);
	vm_free(&vm);
}

/* "10?": vhost yes, no, unknown, a character each tap; with n vhost-net devices. */
static void assert_vhost(const char *cmdline, size_t len, int n, const char *want, const char *pairs)
{
	struct vm vm = { .pid = 1 };
	char got[4] = "", taps[4] = "";

	for (int fd = 10; fd < 10 + n; fd++)
		add_net(&vm, fd);
	add_tap_fd(&vm, "a", 3);
	add_tap_fd(&vm, "b", 5);
	tapmap_pair_cmdline(&vm, cmdline, len);
	for (size_t i = 0; i < 2; i++)
		got[i] = vm.taps[i].vhost == UNKNOWN ? '?' : vm.taps[i].vhost ? '1' : '0';
	for (size_t i = 0; i < vm.n_devices; i++)
		taps[i] = vm.devices[i].tap ? vm.devices[i].tap[0] : '-';
	assert_string_equal(got, want);
	assert_string_equal(taps, pairs);
	vm_free(&vm);
}
#define VHOST(cmdline, n, want, pairs) assert_vhost(cmdline, sizeof(cmdline), n, want, pairs)
#define NIC(name, more) "\0-netdev\0tap,ifname=" name more

static void vhost_or_not(void **state)
{
	(void)state;
	VHOST(Q NIC("a", ",vhost=on") NIC("b", ",vhost=off"), 1, "10", "a");
	VHOST(Q NIC("a", "") NIC("b", ",queues=2,vhost=on"), 2, "01", "bb");
	VHOST(Q NIC("a", ",vhostforce=on") NIC("b", ",script=no"), 1, "10", "a");
	VHOST(Q "\0-netdev\0{\"type\":\"tap\",\"ifname\":\"a\",\"vhost\":true}" NIC("b", ""), 1, "10", "a");
	VHOST(Q "\0-netdev\0tap,fd=3\0-netdev\0tap,fd=5,vhost=on", 1, "01", "b");
	/* all have it, but not which has which */
	VHOST(Q NIC("a", ",vhost=on") NIC("b", ",vhost=on"), 2, "11", "--");
	/* QEMU did not get one of them */
	VHOST(Q NIC("a", ",vhost=on") NIC("b", ",vhost=on"), 1, "??", "-");
	VHOST(Q NIC("a", ",vhost=on") NIC("b", ",vhost=on"), 0, "00", "");
	VHOST(Q NIC("a", ",queues=2,vhost=on") NIC("b", ",vhost=on"), 3, "11", "---");
	/* one came after the start, or was renamed */
	VHOST(Q NIC("a", ",vhost=on"), 1, "??", "-");
	VHOST(Q NIC("b", ""), 1, "?0", "-");
	VHOST(Q NIC("a", ",vhost=on") NIC("x", ",vhost=off"), 1, "??", "-");
	/* no QEMU */
	VHOST("crosvm\0run" NIC("a", ",vhost=on") NIC("b", ""), 1, "??", "-");
	VHOST("vmm", 0, "00", "");
}

/* A queue that the guest does not use has no interface, and is its NIC's all the same. */
static void disabled_queue(void **state)
{
	static const char one[] = Q "-netdev\0tap,fds=3:7,vhostfds=10:11";
	static const char two[] = Q "-netdev\0tap,fds=3:5:7,vhostfds=10:12:11";
	struct vm vm = { .pid = 1 };

	(void)state;
	for (int fd = 10; fd < 12; fd++)
		add_net(&vm, fd);
	add_tap_fd(&vm, "a", 3);
	add_tap_fd(&vm, "b", 5);
	*ARRAY_ADD(vm.idle_tuns, vm.n_idle_tuns) = 7;
	tapmap_pair_cmdline(&vm, two, sizeof(two));
	assert_null(vm.devices[1].tap);
	tapmap_pair_cmdline(&vm, one, sizeof(one));
	assert_string_equal(vm.devices[0].tap, "a");
	assert_string_equal(vm.devices[1].tap, "a");
	assert_int_equal(vm.devices[1].tap_source, TAP_SOURCE_CMDLINE);
	vm_free(&vm);
}

/* A VM with thousands of fds and a megabyte of pairs costs no more than a moment. */
static void hostile(void **state)
{
	size_t len = 1 << 20;
	char *cmdline = malloc(len + 1);
	struct vm vm = { .pid = 1 };

	(void)state;
	for (int fd = 0; fd < 8192; fd++)
		add_net(&vm, fd);
	add_tap_fd(&vm, "a", 9000);
	add_tap_fd(&vm, "b", 9001);
	for (size_t i = 0; i < len; i++)
		cmdline[i] = i & 1 ? ':' : '9';
	memcpy(cmdline, Q "-netdev\0tap,fds=", sizeof(Q "-netdev\0tap,fds=") - 1);
	memcpy(cmdline + len / 2, ",vhostfds=", 10);
	cmdline[len] = '\0';
	tapmap_pair_cmdline(&vm, cmdline, len);
	for (size_t i = 0; i < vm.n_devices; i++)
		assert_null(vm.devices[i].tap);
	/* and of keys */
	for (size_t i = 40; i < len; i++)
		cmdline[i] = "a=b,"[i & 3];
	tapmap_pair_cmdline(&vm, cmdline, len);
	vm_free(&vm);
	free(cmdline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbered),
		cmocka_unit_test(unknown),
		cmocka_unit_test(sole),
		cmocka_unit_test(vhost_or_not),
		cmocka_unit_test(disabled_queue),
		cmocka_unit_test(hostile),
	};

	return cmocka_run_group_tests_name("tapmap", tests, NULL, NULL);
}
