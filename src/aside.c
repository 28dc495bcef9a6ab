// SPDX-License-Identifier: GPL-2.0-or-later
#include "aside.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pass.h"
#include "util.h"

#define LATE_MS 5000		/* a read takes microseconds, but the machine may be busy */
#define LATE_AGAIN_MS 1000	/* once some are late: one after another they are waited for */
#define SOME_LATE 2
#define REMEMBER_MS 10000
#define MOST_LEFT 64		/* children left behind at one time */
#define CHUNK 4096u		/* bytes of an answer in a message: below any bound on messages */

const char aside_late[] = "the process keeps locked what this takes";

struct request {
	char path[32];
	size_t max;
};

struct answer {
	int errnum;
	bool truncated;
	size_t len;		/* of the text, which follows in messages of CHUNK bytes */
};

static struct {
	int to;			/* the child's socket */
	pid_t child;		/* 0: none */
	pid_t parent;		/* who started it */
	struct late {
		pid_t child;	/* that did not answer, until it has ended; else 0 */
		ino_t ino;	/* of the process's directory in /proc, which no two have at one time */
		int64_t until_ms;
	} late[MOST_LEFT];
} aside;

/* Of so much that is left, what the next message has. */
static size_t part(size_t left)
{
	return left < CHUNK ? left : CHUNK;
}

/* ---- the child ---- */

static void answer(int sock, const struct request *r, int pid_fd)
{
	struct proc_text text = { 0 };
	struct answer a = { 0 };

	if (proc_read(pid_fd, r->path, r->max, &text) < 0)
		a.errnum = errno;
	a.len = text.len;
	a.truncated = text.truncated;
	if (write(sock, &a, sizeof(a)) < 0)
		_exit(0);
	for (size_t at = 0; at < text.len; at += CHUNK)
		if (write(sock, text.data + at, part(text.len - at)) < 0)
			_exit(0);
	free(text.data);
}

/* With no file of ours but the socket: one who waits for ever must not keep a pipe or a lock for us. */
static void serve(int sock)
{
	struct request r;
	int pid_fd;

	if (dup2(sock, 0) < 0 || close_range(1, UINT_MAX, 0))
		_exit(0);
	while (recv(0, &r, sizeof(r), 0) == sizeof(r) && receive_files(0, &pid_fd, 1) == 0) {
		answer(0, &r, pid_fd);
		close(pid_fd);
	}
	_exit(0);
}

/* ---- the parent ---- */

static int64_t now_ms(void)
{
	return clock_ns() / 1000000;
}

/* Room for one that is late; NULL when as many are as may be. */
static struct late *find_room(void)
{
	struct late *room = NULL;

	for (size_t i = 0; i < MOST_LEFT; i++) {
		struct late *l = &aside.late[i];

		if (l->child && waitpid(l->child, NULL, WNOHANG) != 0)
			l->child = 0;
		if (!l->child && (!room || l->until_ms < room->until_ms))
			room = l;
	}
	return room;
}

static int start(void)
{
	int pair[2], errnum;

	/* A fork of ours has this from before; the child is not its own. */
	if (aside.parent != getpid())
		aside.child = 0;
	if (aside.child)
		return 0;
	if (!find_room()) {
		errno = EAGAIN;
		return -1;
	}
	if (pass_pair(pair))
		return -1;
	aside.child = fork();
	errnum = errno;
	if (aside.child == 0)
		serve(pair[1]);
	close(pair[1]);
	if (aside.child < 0) {
		close(pair[0]);
		aside.child = 0;
		errno = errnum;
		return -1;
	}
	aside.to = pair[0];
	aside.parent = getpid();
	return 0;
}

void aside_end(void)
{
	if (!aside.child || aside.parent != getpid())
		return;
	close(aside.to);
	/* A fork of ours can have the socket, too; and it waits for nothing but it. */
	kill(aside.child, SIGKILL);
	while (waitpid(aside.child, NULL, 0) < 0 && errno == EINTR)
		;
	aside.child = 0;
}

/* It ends when the process lets go, or ends. */
static void leave(ino_t ino)
{
	close(aside.to);
	kill(aside.child, SIGKILL);
	*find_room() = (struct late){ aside.child, ino, now_ms() + REMEMBER_MS };
	aside.child = 0;
}

static bool counts(const struct late *l)
{
	return l->child || l->until_ms > now_ms();
}

/* For a while; and for as long as a child of ours waits for it: one is enough. */
static bool was_late(ino_t ino)
{
	find_room();
	for (size_t i = 0; i < MOST_LEFT; i++)
		if (aside.late[i].ino == ino && counts(&aside.late[i]))
			return true;
	return false;
}

static int64_t patience_ms(void)
{
	size_t n = 0;

	for (size_t i = 0; i < MOST_LEFT; i++)
		n += counts(&aside.late[i]);
	return n < SOME_LATE ? LATE_MS : LATE_AGAIN_MS;
}

/* One message of the child's. 0; or -1 and errno: ETIMEDOUT, or EPIPE when it has been ended. */
static int receive(void *to, size_t len, int64_t until_ms)
{
	struct pollfd p = { .fd = aside.to, .events = POLLIN };
	ssize_t got;
	int n;

	do {
		int64_t left = until_ms - now_ms();

		n = poll(&p, 1, left > 0 ? (int)left : 0);
	} while (n < 0 && errno == EINTR);
	if (n <= 0) {
		errno = n ? errno : ETIMEDOUT;
		return -1;
	}
	got = recv(aside.to, to, len, 0);
	if (got == (ssize_t)len)
		return 0;
	errno = got < 0 ? errno : EPIPE;
	return -1;
}

/* 0; the errno of the read; or -1 and errno when there was no answer. */
static int ask(int pid_fd, const struct request *r, struct proc_text *text)
{
	int64_t until_ms = now_ms() + patience_ms();
	_cleanup_free_ char *data = NULL;
	struct answer a;

	if (write(aside.to, r, sizeof(*r)) < 0 || pass_files(aside.to, 0, &pid_fd, 1) < 0 ||
	    receive(&a, sizeof(a), until_ms) < 0)
		return -1;
	data = xcalloc(a.len + 1, 1);
	for (size_t at = 0; at < a.len; at += CHUNK)
		if (receive(data + at, part(a.len - at), until_ms) < 0)
			return -1;
	if (!a.errnum)
		*text = (struct proc_text){ STEAL_PTR(data), a.len, a.truncated };
	return a.errnum;
}

/* The same; a child that gave none is not asked again. */
static int ask_child(int pid_fd, const struct request *r, ino_t ino, struct proc_text *text)
{
	int ret = start() < 0 ? -1 : ask(pid_fd, r, text);
	int errnum = ret < 0 ? errno : ret;

	if (ret < 0 && aside.child)
		leave(errnum == ETIMEDOUT ? ino : 0);
	errno = errnum;
	return ret;
}

int aside_read(int pid_fd, const char *path, size_t max, struct proc_text *text)
{
	struct request r = { .max = max };
	struct stat st;
	int ret;

	*text = (struct proc_text){ 0 };
	snprintf(r.path, sizeof(r.path), "%s", path);
	if (fstat(pid_fd, &st))
		return -1;
	if (was_late(st.st_ino)) {
		errno = ETIMEDOUT;
		return -1;
	}
	ret = ask_child(pid_fd, &r, st.st_ino, text);
	/* A child that was ended, such as for want of memory, says nothing of the process. */
	if (ret < 0 && errno != ETIMEDOUT)
		ret = ask_child(pid_fd, &r, st.st_ino, text);
	if (ret < 0 && (errno == EPIPE || errno == ECONNRESET))
		errno = EAGAIN;
	return ret ? -1 : 0;
}

bool aside_answers(int pid_fd)
{
	_cleanup_proc_text_ struct proc_text text = { 0 };

	/* The cheapest that takes that lock. */
	return !aside_read(pid_fd, "auxv", 4096, &text) || (errno != ETIMEDOUT && errno != EAGAIN);
}

int64_t aside_cpu_ns(void)
{
	struct timespec ts;
	clockid_t clock;

	if (!aside.child || clock_getcpuclockid(aside.child, &clock) || clock_gettime(clock, &ts))
		return 0;
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}
