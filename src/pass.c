// SPDX-License-Identifier: GPL-2.0-or-later
#include "pass.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union rights {
	struct cmsghdr head;
	char space[CMSG_SPACE(PASS_MAX * sizeof(int))];
};

int pass_pair(int pair[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

int pass_files(int to, int errnum, const int *fds, size_t n)
{
	union rights control = { .head = { .cmsg_len = CMSG_LEN(n * sizeof(*fds)), .cmsg_level = SOL_SOCKET,
					   .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { &errnum, sizeof(errnum) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (!errnum) {
		memcpy(CMSG_DATA(&control.head), fds, n * sizeof(*fds));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(*fds));
	}
	return sendmsg(to, &msg, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

int receive_files(int from, int *fds, size_t n)
{
	union rights control;
	int errnum;
	struct iovec iov = { &errnum, sizeof(errnum) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = CMSG_SPACE(n * sizeof(*fds)) };
	ssize_t len;
	size_t got;

	do {
		len = recvmsg(from, &msg, MSG_CMSG_CLOEXEC);
	} while (len < 0 && errno == EINTR);
	if (len != sizeof(errnum))
		return len < 0 ? errno : ECHILD;
	if (errnum)
		return errnum;
	got = CMSG_FIRSTHDR(&msg) ? (control.head.cmsg_len - CMSG_LEN(0)) / sizeof(*fds) : 0;
	memcpy(fds, CMSG_DATA(&control.head), got * sizeof(*fds));
	if (got != n) {		/* no room for them all in our table */
		while (got)
			close(fds[--got]);
		return EMFILE;
	}
	return 0;
}
