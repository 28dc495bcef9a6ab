// SPDX-License-Identifier: GPL-2.0-or-later
#include "netns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "pass.h"
#include "procfs.h"
#include "util.h"

/* The kernel answers at once; this is for the case that an answer is lost. */
#define ANSWER_SECONDS 5

int64_t netns_inode(int fd)
{
	struct stat st;

	if (ioctl(fd, NS_GET_NSTYPE) != CLONE_NEWNET || fstat(fd, &st))
		return -1;
	return (int64_t)st.st_ino;
}

/*
 * Whoever has CAP_NET_ADMIN in a namespace can send messages to the netlink sockets in it.
 * A connected one takes none but from its peer, here the kernel.
 */
static int open_socket(int protocol)
{
	struct timeval limit = { .tv_sec = ANSWER_SECONDS };
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	int on = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&kernel, sizeof(kernel)) ||
	    setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		return -1;
	return STEAL_FD(fd);
}

static int open_sockets(struct netns *ns)
{
	ns->route = open_socket(NETLINK_ROUTE);
	ns->generic = ns->route < 0 ? -1 : open_socket(NETLINK_GENERIC);
	return ns->generic < 0 ? -1 : 0;
}

/* Of the capabilities that we have, keep those of @mask. */
static int keep_capabilities(uint64_t mask)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, data))
		return -1;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		data[i].permitted &= (uint32_t)(mask >> (32 * i));
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &head, data) ? -1 : 0;
}

/*
 * The child. setns() takes CAP_SYS_ADMIN; a netlink socket carries the capabilities of who
 * opened it, so that one is opened with CAP_NET_ADMIN alone.
 */
static void enter(int fd, int to)
{
	const uint64_t sys_admin = 1ULL << CAP_SYS_ADMIN, net_admin = 1ULL << CAP_NET_ADMIN;
	struct netns ns = NETNS_INIT;
	int errnum = 0;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    keep_capabilities(sys_admin | net_admin) || setns(fd, CLONE_NEWNET) ||
	    keep_capabilities(net_admin) || open_sockets(&ns))
		errnum = errno;
	_exit(pass_files(to, errnum, (int[]){ ns.route, ns.generic }, 2) ? 1 : 0);
}

/* 0, or an errno. */
static int open_foreign(struct netns *ns, int fd)
{
	int pair[2], fds[2], errnum;
	pid_t child;

	if (pass_pair(pair))
		return errno;
	child = fork();
	if (child == 0)
		enter(fd, pair[1]);
	errnum = child < 0 ? errno : 0;
	close(pair[1]);
	if (!errnum)
		errnum = receive_files(pair[0], fds, 2);
	close(pair[0]);
	if (!errnum) {
		ns->route = fds[0];
		ns->generic = fds[1];
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return errnum;
}

int netns_open(struct netns *ns, int fd, struct error *e)
{
	_cleanup_close_ int own = netns_own(e);
	int errnum;

	*ns = NETNS_INIT;
	if (own < 0)
		return -1;
	ns->inode = netns_inode(fd);
	if (ns->inode < 0)
		return error_set(e, STATUS_NOT_FOUND, 0, "enter the network namespace",
				 "the file is no network namespace");
	if (ns->inode == netns_inode(own))
		errnum = open_sockets(ns) ? errno : 0;
	else
		errnum = open_foreign(ns, fd);
	if (!errnum)
		return 0;
	netns_close(ns);
	return error_errno(e, errnum, "enter the network namespace",
			   errnum == EPERM ? "it takes CAP_SYS_ADMIN" : NULL);
}

void netns_close(struct netns *ns)
{
	if (ns->route >= 0)
		close(ns->route);
	if (ns->generic >= 0)
		close(ns->generic);
	*ns = NETNS_INIT;
}

int netns_own(struct error *e)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? error_errno(e, errno, "open our network namespace", NULL) : fd;
}

static int named(const char *name, const char *path, struct error *e)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 && errno != ENOENT)
		return error_errno(e, errno, "open the network namespace",
				   errno == EACCES ? "it takes the right to trace that process" : NULL);
	if (fd < 0 || netns_inode(fd) < 0)
		return error_set(e, STATUS_NOT_FOUND, fd < 0 ? ENOENT : 0, NULL,
				 "there is no network namespace and no process '%s'", name);
	return STEAL_FD(fd);
}

int netns_find(const char *name, struct error *e)
{
	_cleanup_free_ char *path = xasprintf("/run/netns/%s", name);
	uint64_t pid;

	if (!*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		return error_set(e, STATUS_USAGE, 0, NULL,
				 "'%s' is neither the name of a network namespace nor a pid", name);
	if (access(path, F_OK) && proc_number(name, strlen(name), INT32_MAX, &pid)) {
		free(path);
		path = xasprintf("/proc/%d/ns/net", (int)pid);
	}
	return named(name, path, e);
}
