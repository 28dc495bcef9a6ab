// SPDX-License-Identifier: GPL-2.0-or-later
#include "owner_child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "util.h"

#define DIE_MS 1000		/* a process that is not in uninterruptible sleep dies at once */
#define TICK_MS 5

/* Where there is no pidfd to be had, the child is looked at again and again. */
static bool ended_by_looking(pid_t child, int ms)
{
	const struct timespec tick = { 0, TICK_MS * 1000000 };

	for (; ms > 0; ms -= TICK_MS) {
		siginfo_t si = { .si_pid = 0 };

		if (waitid(P_PID, (id_t)child, &si, WEXITED | WNOHANG | WNOWAIT) == 0 && si.si_pid == child)
			return true;
		nanosleep(&tick, NULL);
	}
	return false;
}

static bool ended(pid_t child, int pidfd, int ms)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	int n;

	do
		n = pidfd < 0 ? -1 : poll(&p, 1, ms);
	while (pidfd >= 0 && n < 0 && errno == EINTR);
	return n < 0 ? ended_by_looking(child, ms) : n > 0;
}

int owner_child_wait(pid_t child, int deadline_ms)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	bool in_time = ended(child, pidfd, deadline_ms);

	if (!in_time)
		kill(child, SIGKILL);
	if (in_time || ended(child, pidfd, DIE_MS))
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	return in_time ? 0 : -1;
}
