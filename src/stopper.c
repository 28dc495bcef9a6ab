// SPDX-License-Identifier: GPL-2.0-or-later
#include "stopper.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <time.h>

#include "util.h"

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

int64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static bool is_ignored(int signo)
{
	struct sigaction act;

	return !sigaction(signo, NULL, &act) && act.sa_handler == SIG_IGN;
}

int stopper_start(struct stopper *s, struct error *e)
{
	sigset_t set;

	*s = (struct stopper){ .fd = -1 };
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (!is_ignored(signals[i]))
			sigaddset(&set, signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, &s->before))
		return error_errno(e, errno, "block signals", NULL);
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd >= 0)
		return 0;
	error_errno(e, errno, "wait for signals", NULL);
	stopper_end(s);
	return -1;
}

void stopper_end(struct stopper *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	sigprocmask(SIG_SETMASK, &s->before, NULL);
}

int stopper_wait(struct stopper *s, int64_t until_ns)
{
	while (!s->got) {
		int64_t left = until_ns - clock_ns();
		struct timespec ts = { .tv_sec = left > 0 ? left / 1000000000 : 0,
				       .tv_nsec = left > 0 ? left % 1000000000 : 0 };
		struct pollfd p = { .fd = s->fd, .events = POLLIN };
		struct signalfd_siginfo info;
		int n = ppoll(&p, 1, &ts, NULL);

		if (n > 0 && read(s->fd, &info, sizeof(info)) == sizeof(info))
			s->got = (int)info.ssi_signo;
		else if (n == 0)
			break;
	}
	return s->got;
}

const char *stopper_name(int signo)
{
	switch (signo) {
	case SIGINT:
		return "SIGINT";
	case SIGTERM:
		return "SIGTERM";
	case SIGHUP:
		return "SIGHUP";
	case SIGQUIT:
		return "SIGQUIT";
	default:
		return NULL;
	}
}
