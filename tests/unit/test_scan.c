// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Scans of this host with real taps: the program runs itself as the processes to be found.
 * What needs vhost devices is tested in the lab. Skipped where no tap can be made.
 */
#include "unit.h"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scan.h"
#include "target.h"
#include "util.h"

#define UUID "11111111-2222-3333-4444-555555555555"

static int open_tap(const char *ifname, short flags)
{
	struct ifreq ifr = { .ifr_flags = (short)(IFF_TAP | IFF_NO_PI | flags) };
	int fd = open("/dev/net/tun", O_RDWR);

	if (fd < 0)
		return -1;
	strncpy(ifr.ifr_name, ifname, IFNAMSIZ - 1);
	if (ioctl(fd, TUNSETIFF, &ifr)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* A file system of another user's, which tells root nothing; nobody has to serve it for that. */
static int open_foreign_fuse(void)
{
	int fuse = open("/dev/fuse", O_RDWR);
	char options[80];

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=65534,group_id=65534", fuse);
	if (fuse < 0 || unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("scan", "/tmp", "fuse", MS_NOSUID | MS_NODEV, options))
		return -1;
	return open("/tmp", O_PATH);
}

/* In the child: two queues of one tap, one of another, an unused tun, and an O_PATH fd. */
static int be_process(bool with_fuse)
{
	int ready = 50;

	prctl(PR_SET_NAME, "a) R (b\n");
	if (with_fuse && open_foreign_fuse() < 0)
		return 1;
	if (open_tap("vctl-a", IFF_MULTI_QUEUE) < 0 || open_tap("vctl-b", 0) < 0 ||
	    open_tap("vctl-a", IFF_MULTI_QUEUE) < 0 || open("/dev/net/tun", O_RDWR) < 0 ||
	    open("/dev/net/tun", O_PATH) < 0)
		return 1;
	if (write(ready, "x", 1) != 1)
		return 1;
	close(ready);
	pause();
	return 0;
}

/* The child's pid once it holds its files; 0 when it cannot make taps. */
static pid_t start(char *const argv[])
{
	int fds[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		/* taps in a namespace of their own: names cannot clash, and nothing is left */
		if (unshare(CLONE_NEWNET))
			_exit(1);
		dup2(fds[1], 50);
		close(fds[0]);
		close(fds[1]);
		execv("/proc/self/exe", argv);
		_exit(1);
	}
	close(fds[1]);
	if (read(fds[0], &c, 1) != 1) {
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	close(fds[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static const struct vm *find(const struct state *s, pid_t pid)
{
	for (size_t i = 0; i < s->n_vms; i++)
		if (s->vms[i].pid == pid)
			return &s->vms[i];
	return NULL;
}

static void assert_taps(const struct vm *vm)
{
	assert_int_equal(vm->n_devices, 0);
	assert_int_equal(vm->n_taps, 2);
	assert_string_equal(vm->taps[0].ifname, "vctl-a");
	assert_int_equal(vm->taps[0].n_fds, 2);
	assert_string_equal(vm->taps[0].path, "/dev/net/tun");
	assert_false(vm->taps[0].macvtap);
	assert_true(vm->taps[0].rx_frames == UNKNOWN && vm->taps[0].ifindex == UNKNOWN);
	assert_string_equal(vm->taps[1].ifname, "vctl-b");
	assert_int_equal(vm->taps[1].n_fds, 1);
}

/* QEMU without vhost, by its command line. */
static void qemu_with_taps(void **state)
{
	char *argv[] = { (char *)"qemu-system-x86_64", (char *)"-name", (char *)"guest=sc\x1b\xff,,an",
			 (char *)"-uuid", (char *)UUID, NULL };
	pid_t pid = start(argv);
	struct error e = ERROR_INIT;
	struct state s = { 0 };
	const struct vm *vm;

	(void)state;
	if (!pid)
		skip();
	assert_int_equal(scan_host(&s, &e), 0);
	vm = find(&s, pid);
	assert_non_null(vm);
	assert_taps(vm);
	assert_string_equal(vm->name, "sc\x1b\xff,an");
	assert_string_equal(vm->uuid, UUID);
	assert_string_equal(vm->comm, "a) R (b\n");
	assert_true(vm->start_time > 0 && vm->netns > 0);
	assert_non_null(vm->cgroup);
	assert_true(s.kernel[0] && !s.source);
	state_free(&s);
	end(pid);
	assert_int_equal(scan_host(&s, &e), 0);
	assert_null(find(&s, pid));
	state_free(&s);
}

/* A process that merely uses a tap is no VM, unless one asks for it by its pid. */
static void other_with_taps(void **state)
{
	char *argv[] = { (char *)"openvpn", (char *)"--name", (char *)"vpn", NULL };
	pid_t pid = start(argv);
	struct error e = ERROR_INIT;
	struct state s = { 0 };

	(void)state;
	if (!pid)
		skip();
	assert_int_equal(scan_host(&s, &e), 0);
	assert_null(find(&s, pid));
	state_free(&s);
	assert_int_equal(scan_pid(pid, &s, &e), 0);
	assert_int_equal(s.n_vms, 1);
	assert_taps(&s.vms[0]);
	state_free(&s);
	end(pid);
	assert_int_equal(scan_pid(pid, &s, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	state_free(&s);
}

static void no_vm(void **state)
{
	struct error e = ERROR_INIT;
	struct state s = { 0 };

	(void)state;
	assert_int_equal(scan_pid(getpid(), &s, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	assert_non_null(strstr(e.message, "no vhost device and no tap"));
	state_free(&s);
	assert_int_equal(scan_pid(0x3fffffff, &s, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	state_free(&s);
}

/* What an ordinary user is told: that there is something it could not read, and exit 4. */
static void ordinary_user(void **state)
{
	char *argv[] = { (char *)"qemu-system-x86_64", (char *)"-name", (char *)"sc/an", NULL };
	static const char *const target[] = { "sc/an/net0" };
	static const char *const no_target[] = { "sc/annex" };
	pid_t pid = getuid() ? 0 : start(argv), user;
	int status;

	(void)state;
	if (!pid)
		skip();
	user = fork();
	if (user == 0) {
		struct error e = ERROR_INIT;
		struct state s = { 0 };
		struct selection sel = { 0 };

		if (setgid(65534) || setuid(65534))
			_exit(10);
		if (scan_pid(pid, &s, &e) != -1 || e.status != STATUS_DENIED)
			_exit(11);
		if (scan_host(&s, &e) || s.n_vms || !scan_denied(&s))
			_exit(12);
		state_free(&s);
		if (target_find(target, 1, &s, &sel, &e) != -1 || e.status != STATUS_DENIED)
			_exit(13);
		state_free(&s);
		if (target_find(no_target, 1, &s, &sel, &e) != -1 || e.status != STATUS_NOT_FOUND)
			_exit(14);
		state_free(&s);
		_exit(0);
	}
	waitpid(user, &status, 0);
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_true(WIFEXITED(status));
	end(pid);
}

/* What one of its files refuses is no refusal of the process. */
static void foreign_fuse(void **state)
{
	char *argv[] = { (char *)"qemu-system-x86_64", (char *)"-name", (char *)"fuse", NULL };
	pid_t pid = start(argv);
	struct error e = ERROR_INIT;
	struct state s = { 0 };

	(void)state;
	if (!pid)
		skip();
	assert_int_equal(scan_pid(pid, &s, &e), 0);
	assert_taps(&s.vms[0]);
	state_free(&s);
	assert_int_equal(scan_host(&s, &e), 0);
	assert_non_null(find(&s, pid));
	state_free(&s);
	end(pid);
}

/* A VM is there or could not be looked into, but never gone, nor is a part of it. 0: so it is. */
static int scan_with(pid_t pid, rlim_t descriptors)
{
	const struct rlimit limit = { descriptors, descriptors };
	struct error e = ERROR_INIT;
	struct state s = { 0 };
	const struct vm *vm;
	int ret = 0;

	if (setrlimit(RLIMIT_NOFILE, &limit))
		return 10;
	if (scan_pid(pid, &s, &e) && (e.status != STATUS_FAILED || e.errnum != EMFILE))
		return 11;
	if (s.n_vms && s.vms[0].n_taps != 2)
		return 12;
	state_free(&s);
	if (scan_host(&s, &e))
		return e.errnum == EMFILE ? 0 : 13;
	vm = find(&s, pid);
	if (vm ? vm->n_taps != 2 || !vm->name : !scan_failed(&s))
		ret = 14;
	state_free(&s);
	return ret;
}

static void few_descriptors(void **state)
{
	char *argv[] = { (char *)"qemu-system-x86_64", (char *)"-name", (char *)"scan", NULL };
	pid_t pid = start(argv);

	(void)state;
	if (!pid)
		skip();
	for (rlim_t n = 3; n < 16; n++) {
		pid_t child = fork();
		int status;

		if (child == 0)
			_exit(scan_with(pid, n));
		waitpid(child, &status, 0);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	end(pid);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(qemu_with_taps),
		cmocka_unit_test(other_with_taps),
		cmocka_unit_test(no_vm),
		cmocka_unit_test(ordinary_user),
		cmocka_unit_test(few_descriptors),
		cmocka_unit_test(foreign_fuse),
	};

	if (!strcmp(argv[0], "qemu-system-x86_64") || !strcmp(argv[0], "openvpn"))
		return be_process(argc > 2 && !strcmp(argv[2], "fuse"));
	return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
