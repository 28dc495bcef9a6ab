// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long a stop lasts: a bare seize, stop, release (the floor), the same with as many stops as a call
 * in the thread's context takes at least (entry, exit, and the one to leave by), the owner context with
 * 1, 4 and 16 ioctls, and gdb making one call. All in one run, interleaved, on one process
 * with three threads: the one that is borrowed, one that spins and reads the clock (what a
 * bystander notices), one idle.
 *
 * The stop for one ioctl is also told part by part, from the log that "-v" prints.
 *
 * With /dev/vhost-net the ioctls are real ones; without it they end with ENOTTY, which
 * costs the same but for the driver's own work.
 *
 *   pause ROUNDS GDB_ROUNDS
 *
 * Prints rows for table.awk.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/vhost.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "owner.h"
#include "util.h"

#define ROUNDS_MAX 5000

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* Shared with the subject: the longest time its spinning thread did not run. */
static struct {
	_Atomic uint64_t gap;
} *seen;

struct series {
	const char *name;
	uint64_t ns[ROUNDS_MAX], gap[ROUNDS_MAX];
	size_t n;
};

static void *spin(void *arg)
{
	uint64_t last = now_ns();

	(void)arg;
	for (;;) {
		uint64_t now = now_ns();

		if (now - last > seen->gap)
			seen->gap = now - last;
		last = now;
	}
	return NULL;
}

static void *idle(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

static pid_t start_subject(int *fd, bool *real)
{
	pid_t pid;

	*fd = open("/dev/vhost-net", O_RDWR | O_CLOEXEC);
	*real = *fd >= 0;
	if (!*real)
		*fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	pid = fork();
	if (pid == 0) {
		pthread_t t[2];

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (*real && ioctl(*fd, VHOST_SET_OWNER) < 0)
			_exit(1);
		if (pthread_create(&t[0], NULL, spin, NULL) || pthread_create(&t[1], NULL, idle, NULL))
			_exit(1);
		for (;;)
			ppoll(NULL, 0, NULL, NULL);
	}
	usleep(200000);
	return pid;
}

static void add(struct series *s, uint64_t ns)
{
	if (s->n < ROUNDS_MAX) {
		s->ns[s->n] = ns;
		s->gap[s->n++] = seen->gap;
	}
}

static void next_stop(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, __WALL | WNOHANG) != pid)
		;
}

/* The thread's own call starts again, is interrupted, and ends: three stops more, with nothing done. */
static void resume_thrice(pid_t pid)
{
	ptrace(PTRACE_SYSCALL, pid, 0, 0);
	next_stop(pid);
	ptrace(PTRACE_INTERRUPT, pid, 0, 0);
	ptrace(PTRACE_SYSCALL, pid, 0, 0);
	next_stop(pid);
	ptrace(PTRACE_SYSCALL, pid, 0, 0);
	next_stop(pid);
}

/* What any ptrace stop costs, in a child as new as the owner context's. */
static void bare(struct series *s, pid_t pid, bool resumed)
{
	uint64_t *result = (uint64_t *)(seen + 1);
	pid_t child;

	seen->gap = 0;
	child = fork();
	if (child == 0) {
		uint64_t start;

		if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD) < 0)
			_exit(1);
		start = now_ns();
		ptrace(PTRACE_INTERRUPT, pid, 0, 0);
		next_stop(pid);
		if (resumed)
			resume_thrice(pid);
		ptrace(PTRACE_DETACH, pid, 0, 0);
		*result = now_ns() - start;
		_exit(0);
	}
	waitpid(child, NULL, 0);
	add(s, *result);
}

/* What a stop for one ioctl consists of: each part ends before the first step of that name. */
static const char *const part_ends[] = { "read registers", "process_vm_writev", "PTRACE_SYSCALL", "PTRACE_CONT" };
#define N_PARTS (ARRAY_SIZE(part_ends) + 1)
static struct series parts[N_PARTS] = {
	{ .name = "1 ioctl, of which: it stops" },
	{ .name = "1 ioctl, of which: it is looked at" },
	{ .name = "1 ioctl, of which: it is made ready" },
	{ .name = "1 ioctl, of which: it makes the call" },
	{ .name = "1 ioctl, of which: it is put back" },
};

static void add_parts(const struct owner_log *log)
{
	uint64_t last = 0;
	size_t part = 0;

	if (log->stops != 1)
		return;
	for (size_t i = 1; i < log->n && part < N_PARTS - 1; i++) {
		if (strcmp(log->entries[i].what, part_ends[part]))
			continue;
		add(&parts[part++], log->entries[i - 1].ns - last);
		last = log->entries[i - 1].ns;
	}
	add(&parts[N_PARTS - 1], log->stopped_ns - last);
}

static void owner(struct series *s, pid_t pid, int proc_fd, int fd, size_t n, bool real)
{
	static struct owner_log log;
	struct owner_call calls[16];
	struct error e = ERROR_INIT;

	memset(calls, 0, sizeof(calls));
	memset(&log, 0, sizeof(log));
	for (size_t i = 0; i < n; i++) {
		calls[i].fd = calls[i].held_fd = fd;
		calls[i].request = VHOST_GET_VRING_BUSYLOOP_TIMEOUT;
		calls[i].size = sizeof(struct vhost_vring_state);
	}
	seen->gap = 0;
	if (owner_run(pid, proc_fd, OWNER_THREAD_MAIN, calls, n, &log, &e) < 0 ||
	    calls[n - 1].result != (real ? 0 : -ENOTTY)) {
		fprintf(stderr, "pause: %s (%ld)\n", e.message, calls[n - 1].result);
		exit(1);
	}
	add(s, log.stopped_ns);
	if (n == 1)
		add_parts(&log);
}

/* gdb stops every thread, so the spinning one tells how long. */
static void gdb(struct series *s, pid_t pid, int fd)
{
	char *command = xasprintf("gdb -q -nx -batch -p %d -ex 'call (int)ioctl(%d, %u, $sp - 1024)' "
				  ">/dev/null 2>&1 </dev/null", pid, fd,
				  (unsigned int)VHOST_GET_VRING_BUSYLOOP_TIMEOUT);

	seen->gap = 0;
	if (system(command) != 0) { /* NOLINT: the command is ours */
		fprintf(stderr, "pause: gdb failed\n");
		exit(1);
	}
	free(command);
	add(s, seen->gap);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double usecs(uint64_t *ns, size_t n, unsigned int percent)
{
	qsort(ns, n, sizeof(*ns), compare);
	return (double)ns[(n - 1) * percent / 100] / 1000;
}

/* gdb stops all, and the bystander is who tells how long; it has no pause of its own. */
static void print(struct series *s, struct series *of, const char *goal, bool real)
{
	static const char *const words[] = { "refused: no vhost here", "on vhost-net" };
	double ratio = usecs(s->ns, s->n, 50) / usecs(of->ns, of->n, 50);

	printf("pause, %s (%s)\tus\t%.1f\t%.1f\t%.1f\t%.2f\t%s\t%s\n", s->name, words[real],
	       usecs(s->ns, s->n, 10), usecs(s->ns, s->n, 50), usecs(s->ns, s->n, 90), ratio, of->name, goal);
}

static void print_bystander(struct series *s)
{
	printf("bystander's pause, %s\tus\t%.1f\t%.1f\t%.1f\t\t\t\n", s->name, usecs(s->gap, s->n, 10),
	       usecs(s->gap, s->n, 50), usecs(s->gap, s->n, 90));
}

enum { BARE, RESUMED, ONE, FOUR, SIXTEEN, GDB, N_SERIES };

static void print_all(struct series *s, bool real)
{
	print(&s[BARE], &s[BARE], "", real);
	print(&s[RESUMED], &s[BARE], "", real);
	print(&s[ONE], &s[BARE], "<=2", real);
	print(&s[ONE], &s[RESUMED], "", real);
	for (size_t i = 0; i < N_PARTS && parts[i].n; i++)
		print(&parts[i], &s[BARE], "", real);
	print(&s[FOUR], &s[BARE], "", real);
	print(&s[SIXTEEN], &s[BARE], "", real);
	if (s[GDB].n)
		print(&s[GDB], &s[ONE], ">=1000", real);
	for (size_t i = 0; i < N_SERIES; i++)
		if (s[i].n)
			print_bystander(&s[i]);
}

int main(int argc, char **argv)
{
	static struct series series[N_SERIES] = {
		[BARE] = { .name = "bare stop" },
		[RESUMED] = { .name = "bare stop, resumed as often as 1 ioctl takes" },
		[ONE] = { .name = "vhostctl, 1 ioctl" },
		[FOUR] = { .name = "vhostctl, 4 ioctls" },
		[SIXTEEN] = { .name = "vhostctl, 16 ioctls" },
		[GDB] = { .name = "gdb, 1 ioctl" },
	};
	int rounds = argc > 1 ? atoi(argv[1]) : 300, gdb_rounds = argc > 2 ? atoi(argv[2]) : 5;
	int fd, proc_fd;
	char path[32];
	bool real;
	pid_t pid;

	seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = start_subject(&fd, &real);
	snprintf(path, sizeof(path), "/proc/%d", pid);
	proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < rounds; i++) {
		bare(&series[BARE], pid, false);
		bare(&series[RESUMED], pid, true);
		owner(&series[ONE], pid, proc_fd, fd, 1, real);
		owner(&series[FOUR], pid, proc_fd, fd, 4, real);
		owner(&series[SIXTEEN], pid, proc_fd, fd, 16, real);
	}
	for (int i = 0; i < gdb_rounds; i++)
		gdb(&series[GDB], pid, fd);
	print_all(series, real);
	kill(pid, SIGKILL);
	return 0;
}
