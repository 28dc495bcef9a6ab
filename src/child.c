// SPDX-License-Identifier: GPL-2.0-or-later
#include "child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
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

int child_wait(pid_t child, int deadline_ms)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	bool in_time = ended(child, pidfd, deadline_ms);
	int status = 0;

	if (!in_time)
		kill(child, SIGKILL);
	if (in_time || ended(child, pidfd, DIE_MS))
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
	if (!in_time)
		return ETIMEDOUT;
	return status ? ECHILD : 0;
}

int child_run(void (*work)(void *arg), void *arg, int deadline_ms)
{
	pid_t child = fork();

	if (child == 0) {
		work(arg);
		_exit(0);
	}
	return child < 0 ? errno : child_wait(child, deadline_ms);
}

int child_end_after(int secs, timer_t *timer)
{
	struct sigevent end = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	struct itimerspec at = { .it_value = { secs, 0 } };

	return timer_create(CLOCK_MONOTONIC, &end, timer) || timer_settime(*timer, 0, &at, NULL) ? -1 : 0;
}

void *child_share(size_t size)
{
	void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return shared == MAP_FAILED ? NULL : shared;
}
