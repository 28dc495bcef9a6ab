// SPDX-License-Identifier: GPL-2.0-or-later
#include "stopper.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>

#include "util.h"

/* Blocked, an ignored signal would be kept, too. */
static bool is_ignored(int signo)
{
	struct sigaction act;

	return !sigaction(signo, NULL, &act) && act.sa_handler == SIG_IGN;
}

static int hold(struct stopper *s, const int *signals, size_t n)
{
	*s = (struct stopper){ .fd = -1 };
	sigemptyset(&s->set);
	for (size_t i = 0; i < n; i++)
		if (!is_ignored(signals[i]))
			sigaddset(&s->set, signals[i]);
	s->holds = sigprocmask(SIG_BLOCK, &s->set, &s->before) == 0;
	return s->holds ? 0 : -1;
}

int stopper_start(struct stopper *s, struct error *e)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

	if (hold(s, signals, ARRAY_SIZE(signals)))
		return error_errno(e, errno, "block signals", NULL);
	s->fd = signalfd(-1, &s->set, SFD_CLOEXEC | SFD_NONBLOCK);
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
	if (s->holds)
		sigprocmask(SIG_SETMASK, &s->before, NULL);
	s->holds = false;
}

void stopper_hold(struct stopper *s)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	hold(s, signals, ARRAY_SIZE(signals));
}

void stopper_release(struct stopper *s)
{
	const struct timespec now = { 0, 0 };

	while (sigtimedwait(&s->set, NULL, &now) > 0)
		;
	stopper_end(s);
}

int stopper_wait(struct stopper *s, int64_t until_ns)
{
	while (!s->got) {
		int64_t left = until_ns - clock_ns();
		struct timespec ts = { .tv_sec = left > 0 ? left / 1000000000 : 0,
				       .tv_nsec = left > 0 ? left % 1000000000 : 0 };
		int signo = sigtimedwait(&s->set, NULL, &ts);

		if (signo > 0)
			s->got = signo;
		else if (errno != EINTR)
			break;
	}
	return s->got;
}

bool stopper_sleep(struct stopper *s, int64_t ms)
{
	return stopper_wait(s, clock_ns() + ms * 1000000) != 0;
}

bool stopper_came(struct stopper *s)
{
	return stopper_wait(s, 0) != 0;
}

/* Until @fd can be written to: true; or another signal than s->got comes while it cannot. */
static bool until_writable(struct stopper *s, int fd)
{
	struct pollfd p[] = { { .fd = fd, .events = POLLOUT }, { .fd = s->fd, .events = POLLIN } };
	const struct timespec now = { 0, 0 };

	for (;;) {
		int n = poll(p, ARRAY_SIZE(p), -1), signo;

		/* Without a poll, the write is to say what is wrong. */
		if (n < 0 ? errno != EINTR : p[0].revents)
			return true;
		signo = n > 0 ? sigtimedwait(&s->set, NULL, &now) : 0;
		if (signo > 0) {
			s->got = s->got ? s->got : signo;
			return false;
		}
	}
}

/* A pipe that can be written to takes PIPE_BUF bytes at once, pipe(7): no write() waits for who reads it. */
int stopper_write(struct stopper *s, int fd, const char *text, bool *stopped)
{
	size_t left = strlen(text);

	*stopped = false;
	while (left) {
		ssize_t n;

		*stopped = !until_writable(s, fd);
		if (*stopped)
			return 0;
		n = write(fd, text, left < PIPE_BUF ? left : PIPE_BUF);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -1;
		text += n > 0 ? n : 0;
		left -= n > 0 ? (size_t)n : 0;
	}
	return 0;
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
