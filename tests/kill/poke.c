// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * poke PID FD VALUE: the owner context alone: sets queue 1's busy-loop timeout through any file of a process.
 * One that is no vhost device answers ENOTTY, which will do: so the kill test runs natively too, on any
 * kernel, at full speed and with whatever registers the CPU has. For tests/faults it speaks as vhostctl does.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/vhost.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "error.h"
#include "owner.h"

int main(int argc, char **argv)
{
	struct vhost_vring_state s = { .index = 1 };
	struct owner_call call = { .request = VHOST_SET_VRING_BUSYLOOP_TIMEOUT, .size = sizeof(s) };
	struct error e = ERROR_INIT;
	char path[32];
	int pid, proc_fd, pidfd;

	/* As main() of vhostctl does first: from here on calls may be made to fail. */
	close(open("/dev/null", O_RDONLY | O_CLOEXEC));
	if (argc != 4)
		return 2;
	pid = atoi(argv[1]);
	call.fd = atoi(argv[2]);
	s.num = atoi(argv[3]);
	memcpy(call.arg, &s, sizeof(s));
	snprintf(path, sizeof(path), "/proc/%d", pid);
	proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	call.held_fd = syscall(SYS_pidfd_getfd, pidfd, call.fd, 0);
	if (proc_fd < 0 || pidfd < 0 || call.held_fd < 0) {
		fprintf(stderr, "vhostctl: poke: %s\n", strerror(errno));
		return 1;
	}
	if (owner_run(pid, proc_fd, OWNER_THREAD_ANY, &call, 1, NULL, &e)) {
		fprintf(stderr, "vhostctl: poke: %s: %s\n", e.operation, e.message);
		return 1;
	}
	if (call.result != 0 && call.result != -ENOTTY) {
		fprintf(stderr, "vhostctl: poke: result %ld\n", call.result);
		return 1;
	}
	if (puts("{}") < 0 || fflush(stdout)) {
		fprintf(stderr, "vhostctl: poke: write standard output: %s\n", strerror(errno));
		return 1;
	}
	return 0;
}
