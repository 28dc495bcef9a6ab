// SPDX-License-Identifier: GPL-2.0-or-later
/* Sockets in other namespaces, and interfaces there. What takes root is skipped without. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ethnl.h"
#include "link.h"
#include "netns.h"
#include "state.h"

/* A process in a network namespace of its own; 0 without the right to. */
static pid_t child_elsewhere(void)
{
	char byte = 0;
	int p[2];
	pid_t pid;

	assert_int_equal(pipe(p), 0);
	pid = fork();
	if (pid == 0) {
		byte = unshare(CLONE_NEWNET) ? 'n' : 'y';
		if (write(p[1], &byte, 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(p[0], &byte, 1), 1);
	close(p[0]);
	close(p[1]);
	if (byte == 'y')
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void find_names(void **state)
{
	static const char *const bad[] = { "", ".", "..", "../net", "a/b" };
	struct error e = ERROR_INIT;
	char pid[16];
	int fd, own = netns_own(&e), other = open("/proc/self/ns/uts", O_RDONLY);

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(netns_find(bad[i], &e), -1);
		assert_int_equal(e.status, STATUS_USAGE);
	}
	assert_int_equal(netns_find("no-such-namespace", &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	assert_int_equal(netns_find("2147483647", &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	fd = netns_find(pid, &e);
	assert_true(fd >= 0 && own >= 0 && other >= 0);
	assert_int_equal(netns_inode(fd), netns_inode(own));
	assert_int_equal(netns_inode(other), -1);
	close(fd);
	close(own);
	close(other);
}

/* A process with rights in the namespace may send to any socket there, but not to ours. */
static void only_the_kernel_is_heard(void **state)
{
	struct error e = ERROR_INIT;
	struct netns ns;
	struct sockaddr_nl to = { 0 };
	socklen_t len = sizeof(to);
	int own = netns_own(&e), forger = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	struct nlmsghdr forged = { .nlmsg_len = sizeof(forged), .nlmsg_type = NLMSG_DONE };

	(void)state;
	assert_int_equal(netns_open(&ns, own, &e), 0);
	assert_int_equal(getsockname(ns.route, (struct sockaddr *)&to, &len), 0);
	assert_true(to.nl_pid != 0);
	assert_int_equal(sendto(forger, &forged, sizeof(forged), 0, (struct sockaddr *)&to, len), -1);
	assert_true(errno == ECONNREFUSED || errno == EPERM);
	netns_close(&ns);
	close(forger);
	close(own);
}

static void loopback(void **state)
{
	struct error e = ERROR_INIT;
	struct netns ns;
	struct link link;
	struct tap facts;
	struct ethnl dev = { .ns = &ns, .ifindex = 1 };
	int64_t frames = 5;
	int own = netns_own(&e);

	(void)state;
	tap_init(&facts);
	assert_int_equal(netns_open(&ns, own, &e), 0);
	close(own);
	assert_int_equal(link_read(&ns, 0, "lo", &link, &facts, &e), 0);
	assert_int_equal(link.ifindex, 1);
	assert_string_equal(link.ifname, "lo");
	assert_string_equal(link.kind, "");
	assert_false(link_is_tun(&link) || link_is_macvtap(&link));
	assert_true(facts.mtu > 0 && facts.rx_packets >= 0 && facts.operstate[0]);
	assert_null(facts.master);
	assert_true(facts.multi_queue == UNKNOWN && facts.numqueues == UNKNOWN);
	assert_int_equal(link_read(&ns, 1, NULL, &link, NULL, &e), 0);
	assert_string_equal(link.ifname, "lo");
	assert_int_equal(link_read(&ns, 0, "no-such-link", &link, NULL, &e), -1);
	assert_true(e.status == STATUS_NOT_FOUND && e.errnum == ENODEV);
	/* no coalescing is not 0 */
	assert_int_equal(ethnl_get_rx_frames(&dev, &frames, &e), 0);
	assert_true(frames == UNKNOWN);
	assert_int_equal(ethnl_set_rx_frames(&dev, 1, &e), -1);
	assert_true(e.status == STATUS_UNSUPPORTED || e.status == STATUS_DENIED);
	dev.ifindex = INT32_MAX;
	assert_int_equal(ethnl_get_rx_frames(&dev, &frames, &e), -1);
	assert_true(e.status == STATUS_NOT_FOUND && e.errnum == ENODEV);
	tap_free(&facts);
	netns_close(&ns);
}

static void elsewhere(void **state)
{
	struct error e = ERROR_INIT;
	struct netns ns, here;
	struct link link;
	char name[16];
	int fd, own, before = open_fds();
	pid_t pid = child_elsewhere();

	(void)state;
	if (!pid)
		skip();
	snprintf(name, sizeof(name), "%d", (int)pid);
	fd = netns_find(name, &e);
	own = netns_own(&e);
	assert_int_equal(netns_open(&ns, fd, &e), 0);
	assert_int_equal(netns_open(&here, own, &e), 0);
	assert_true(ns.inode == netns_inode(fd) && ns.inode != here.inode);
	/* It is another loopback: down, as in every new namespace. */
	assert_int_equal(link_read(&ns, 0, "lo", &link, NULL, &e), 0);
	/* A namespace that is held open can be entered when its last process is gone. */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	netns_close(&ns);
	assert_int_equal(netns_open(&ns, fd, &e), 0);
	close(fd);
	close(own);
	assert_int_equal(link_read(&ns, 1, NULL, &link, NULL, &e), 0);
	netns_close(&ns);
	netns_close(&here);
	/* no file is left, and no child */
	assert_int_equal(open_fds(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(netns_find(name, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
}

static void no_namespace(void **state)
{
	struct error e = ERROR_INIT;
	struct netns ns;
	int fd = open("/dev/null", O_RDONLY);

	(void)state;
	assert_int_equal(netns_open(&ns, fd, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	assert_true(ns.route == -1 && ns.generic == -1);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(find_names),
		cmocka_unit_test(only_the_kernel_is_heard),
		cmocka_unit_test(loopback),
		cmocka_unit_test(elsewhere),
		cmocka_unit_test(no_namespace),
	};

	return cmocka_run_group_tests_name("netns", tests, NULL, NULL);
}
