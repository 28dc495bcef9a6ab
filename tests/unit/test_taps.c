// SPDX-License-Identifier: GPL-2.0-or-later
/* Real taps of a child process, in namespaces of its own. They take root and /dev/net/tun. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coalesce.h"
#include "aside.h"
#include "taps.h"
#include "util.h"

static int open_tap(const char *name, int more)
{
	struct ifreq ifr = { .ifr_flags = (short)(IFF_TAP | IFF_NO_PI | more) };
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &ifr))
		_exit(1);
	return fd;
}

/*
 * A "VM" with fds 100 and 101, queues of ut0 of two; 102, a ut0 in another namespace; 103, a file
 * without interface.
 */
static void child(int ready)
{
	if (unshare(CLONE_NEWNET))
		_exit(1);
	dup2(open_tap("ut0", IFF_MULTI_QUEUE | IFF_VNET_HDR), 100);
	dup2(open_tap("ut0", IFF_MULTI_QUEUE | IFF_VNET_HDR), 101);
	dup2(open("/dev/net/tun", O_RDWR), 103);
	if (unshare(CLONE_NEWNET))
		_exit(1);
	dup2(open_tap("ut0", 0), 102);
	if (write(ready, "y", 1) == 1)
		pause();
	_exit(0);
}

/* 0 where there may be none. */
static pid_t start(void)
{
	char byte;
	int p[2];
	pid_t pid;

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0)
		child(p[1]);
	close(p[1]);
	if (read(p[0], &byte, 1) != 1) {
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	close(p[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static struct tap *add_tap(struct vm *vm, const char *name, int first, int last)
{
	struct tap *t = ARRAY_ADD(vm->taps, vm->n_taps);

	tap_init(t);
	snprintf(t->ifname, sizeof(t->ifname), "%s", name);
	for (int fd = first; fd <= last; fd++)
		*ARRAY_ADD(t->fds, t->n_fds) = fd;
	return t;
}

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* The scan has one row for all files whose interface is called ut0. */
static void read_all(void **state)
{
	struct error e = ERROR_INIT;
	struct vm vm = { .pid = start() };
	struct device *d;

	(void)state;
	if (!vm.pid)
		skip();
	add_tap(&vm, "ut0", 100, 102);
	/* and one that it saw under another name, before it was renamed */
	add_tap(&vm, "old", 101, 101);
	d = ARRAY_ADD(vm.devices, vm.n_devices);
	d->tap = xstrdup("old");
	assert_int_equal(taps_read(&vm, &e), 0);
	assert_int_equal(vm.n_taps, 2);
	assert_true(vm.taps[0].n_fds == 3 && vm.taps[0].fds[0] == 100 && vm.taps[0].fds[1] == 101);
	assert_true(vm.taps[1].n_fds == 1 && vm.taps[1].fds[0] == 102);
	assert_true(vm.taps[0].netns > 0 && vm.taps[1].netns > 0);
	assert_true(vm.taps[0].netns != vm.taps[1].netns);
	for (int i = 0; i < 2; i++) {
		const struct tap *t = &vm.taps[i];

		assert_string_equal(t->ifname, "ut0");
		assert_true(t->ifindex > 1 && t->mtu == 1500 && t->rx_frames == 0);
		assert_true(t->rx_frames_max == 64 && t->persist == 0 && t->rx_packets == 0);
		assert_string_equal(t->operstate, "down");
		assert_int_equal(t->n_errors, 0);
	}
	assert_true(vm.taps[0].multi_queue == 1 && vm.taps[0].vnet_hdr == 1);
	assert_true(vm.taps[0].numqueues == 2 && vm.taps[0].numdisabled == 0);
	assert_true(vm.taps[1].multi_queue == 0 && vm.taps[1].vnet_hdr == 0);
	assert_true(vm.taps[1].numqueues == UNKNOWN);
	end(vm.pid);
	vm_free(&vm);
}

static void set_one_of_two(void **state)
{
	struct error e = ERROR_INIT;
	struct vm vm = { .pid = start() };
	struct vm_ref ref = VM_REF_INIT;
	struct tap_visit v = TAP_VISIT_INIT;
	struct coalesce c = { .frames = 32, .dry_run = true };
	struct tap *a, *b;

	(void)state;
	if (!vm.pid)
		skip();
	add_tap(&vm, "ut0", 100, 101);
	add_tap(&vm, "ut0", 102, 102);
	a = &vm.taps[0];
	b = &vm.taps[1];
	assert_int_equal(vm_hold(&ref, vm.pid, 0, &e), 0);
	assert_int_equal(tap_visit(&ref, a, &v, coalesce_set, &c, &e), 0);
	assert_true(c.before == 0 && c.after == 32 && !c.sent);
	c = (struct coalesce){ .frames = 32, .expected = "ut1" };
	assert_int_equal(tap_visit(&ref, a, &v, coalesce_set, &c, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	assert_int_equal(tap_visit(&ref, a, &v, tap_get_rx_frames, NULL, &e), 0);
	assert_int_equal(v.facts.rx_frames, 0);
	c.expected = "ut0";
	assert_int_equal(tap_visit(&ref, a, &v, coalesce_set, &c, &e), 0);
	assert_true(c.before == 0 && c.after == 32 && c.sent);
	assert_int_equal(tap_visit(&ref, b, &v, tap_get_rx_frames, NULL, &e), 0);
	assert_int_equal(v.facts.rx_frames, 0);
	assert_int_equal(tap_visit(&ref, a, &v, tap_get_rx_frames, NULL, &e), 0);
	assert_int_equal(v.facts.rx_frames, 32);
	/* as the kernel does it: silently */
	assert_int_equal(ethnl_set_rx_frames(&v.ethnl, 65, &e), 0);
	assert_int_equal(tap_get_rx_frames(&v, NULL, &e), 0);
	assert_int_equal(v.facts.rx_frames, TAP_RX_FRAMES_MAX);
	tap_visit_end(&v);
	vm_release(&ref);
	end(vm.pid);
	vm_free(&vm);
}

static void gone(void **state)
{
	struct error e = ERROR_INIT;
	struct vm vm = { .pid = start() };
	struct vm_ref ref = VM_REF_INIT;
	struct tap_visit v = TAP_VISIT_INIT;

	(void)state;
	if (!vm.pid)
		skip();
	assert_int_equal(vm_hold(&ref, vm.pid, 0, &e), 0);
	/* a queue that is disabled comes before one that is not */
	add_tap(&vm, "ut0", 103, 103);
	*ARRAY_ADD(vm.taps[0].fds, vm.taps[0].n_fds) = 102;
	assert_int_equal(tap_visit(&ref, &vm.taps[0], &v, tap_get_rx_frames, NULL, &e), 0);
	/* no queue has an interface any more; the file is closed; the process is gone */
	vm.taps[0].n_fds = 1;
	assert_int_equal(taps_read(&vm, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	assert_int_equal(vm.taps[0].n_errors, 1);
	assert_true(vm.taps[0].mtu == UNKNOWN && vm.taps[0].rx_frames == UNKNOWN);
	vm.taps[0].fds[0] = 99;
	assert_int_equal(tap_visit(&ref, &vm.taps[0], &v, tap_get_rx_frames, NULL, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	end(vm.pid);
	vm.taps[0].fds[0] = 102;
	assert_int_equal(tap_visit(&ref, &vm.taps[0], &v, tap_get_rx_frames, NULL, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	assert_int_equal(taps_read(&vm, &e), -1);
	assert_int_equal(vm.taps[0].n_errors, 2);
	tap_visit_end(&v);
	vm_release(&ref);
	vm_free(&vm);
}

static void no_file_is_left(void **state)
{
	struct error e = ERROR_INIT;
	struct vm vm = { .pid = start() };
	int before;

	(void)state;
	aside_end();
	before = open_fds();
	if (!vm.pid)
		skip();
	add_tap(&vm, "ut0", 100, 103);
	for (int i = 0; i < 200; i++)
		taps_read(&vm, &e);
	aside_end();
	assert_int_equal(open_fds(), before);
	end(vm.pid);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	vm_free(&vm);
}

static void parse(void **state)
{
	static const char *const bad[] = { "65", "-1", "", "x", "1 ", " 1", "+1", "0x1", "1.0",
					   "99999999999999999999" };
	struct error e = ERROR_INIT;
	uint32_t n;

	(void)state;
	assert_int_equal(coalesce_parse("0", &n, &e), 0);
	assert_int_equal(n, 0);
	assert_int_equal(coalesce_parse("64", &n, &e), 0);
	assert_int_equal(n, 64);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(coalesce_parse(bad[i], &n, &e), -1);
		assert_int_equal(e.status, STATUS_USAGE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse),
		cmocka_unit_test(read_all),
		cmocka_unit_test(set_one_of_two),
		cmocka_unit_test(gone),
		cmocka_unit_test(no_file_is_left),
	};

	return cmocka_run_group_tests_name("taps", tests, NULL, NULL);
}
