// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One run of the command, each of its processes traced. From the first openat("/dev/null") on, which is
 * main()'s first, calls are noted and may fail: what is before is the dynamic linker's.
 */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES_MAX 256
#define RUN_SECS 60		/* in software emulation, traced; a run past it hangs */

struct process {
	pid_t pid;
	bool failing;		/* the call it is in is the one that fails */
};

struct tracing {
	struct run *run;
	struct seen *seen;
	struct process processes[PROCESSES_MAX];
	int n_processes, alive;
	bool started;
};

static struct process *process_of(struct tracing *t, pid_t pid, int *index)
{
	for (*index = t->n_processes - 1; *index >= 0; --*index)
		if (t->processes[*index].pid == pid)
			return &t->processes[*index];
	if (t->n_processes == PROCESSES_MAX)
		die("more than %d processes", PROCESSES_MAX);
	*index = t->n_processes++;
	t->alive++;
	t->processes[*index] = (struct process){ .pid = pid };
	return &t->processes[*index];
}

static bool is_start(pid_t pid, const struct __ptrace_syscall_info *info)
{
	long word;

	if (info->entry.nr != SYS_openat)
		return false;
	errno = 0;
	word = ptrace(PTRACE_PEEKDATA, pid, info->entry.args[1], 0);
	return !errno && !memcmp(&word, "/dev/nul", sizeof(word));
}

static void enter(struct tracing *t, struct process *p, int index, const struct __ptrace_syscall_info *info)
{
	struct run *r = t->run;
	struct site site;

	if (!t->started && !(t->started = is_start(p->pid, info)))
		return;
	site_of_call(t->seen, p->pid, index, (long)info->entry.nr, (const uint64_t *)info->entry.args, &site);
	r->n_calls++;
	if (r->sites && r->n_sites < SITES_MAX)
		r->sites[r->n_sites++] = site;
	if (!r->fail || r->reached || !site_equal(&site, r->fail))
		return;
	r->reached = p->failing = true;
	/* No call of that number: the kernel then does nothing. */
	if (ptrace(PTRACE_POKEUSER, p->pid, offsetof(struct user, regs.orig_rax), -1L))
		die("PTRACE_POKEUSER: %s", strerror(errno));
}

static void leave(struct tracing *t, struct process *p)
{
	if (!p->failing)
		return;
	p->failing = false;
	if (ptrace(PTRACE_POKEUSER, p->pid, offsetof(struct user, regs.rax), (long)-t->run->errnum))
		die("PTRACE_POKEUSER: %s", strerror(errno));
}

/* A stop of one process: which signal it is to be resumed with. */
static int stopped(struct tracing *t, pid_t pid, int status)
{
	struct __ptrace_syscall_info info;
	int signal = WSTOPSIG(status), index;
	struct process *p = process_of(t, pid, &index);

	if (status >> 16)	/* a clone's event, or the first stop of a seized child */
		return 0;
	if (signal != (SIGTRAP | 0x80))
		return signal;
	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) < 0)
		return 0;	/* killed meanwhile */
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
		enter(t, p, index, &info);
	else if (info.op == PTRACE_SYSCALL_INFO_EXIT)
		leave(t, p);
	return 0;
}

static void kill_all(struct tracing *t)
{
	for (int i = 0; i < t->n_processes; i++)
		kill(t->processes[i].pid, SIGKILL);
}

static volatile sig_atomic_t late;

static void on_alarm(int signal)
{
	(void)signal;
	late = 1;
}

static void trace(struct tracing *t, pid_t first)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	int status, index;

	process_of(t, first, &index);
	late = 0;
	sigaction(SIGALRM, &sa, NULL);
	alarm(RUN_SECS);
	while (t->alive) {
		pid_t pid = waitpid(-1, &status, __WALL);

		if (pid < 0 && errno == EINTR && late) {
			t->run->hung = true;
			kill_all(t);
			late = 0;
			continue;
		}
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			die("waitpid: %s", strerror(errno));
		if (WIFSTOPPED(status)) {
			int signal = stopped(t, pid, status);

			ptrace(PTRACE_SYSCALL, pid, 0, signal);
			continue;
		}
		process_of(t, pid, &index);
		t->alive--;
		if (pid == first)
			t->run->status = status;
	}
	alarm(0);
}

static pid_t start(char *const argv[], int out, int err)
{
	int go[2];
	pid_t pid;

	if (pipe2(go, O_CLOEXEC))
		die("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid == 0) {
		char byte;

		dup2(out, STDOUT_FILENO);
		dup2(err, STDERR_FILENO);
		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(126);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
		   PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL) || ptrace(PTRACE_INTERRUPT, pid, 0, 0))
		die("PTRACE_SEIZE: %s", strerror(errno));
	if (write(go[1], "", 1) != 1)
		die("pipe: %s", strerror(errno));
	close(go[0]);
	close(go[1]);
	return pid;
}

static int temporary(void)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		die("/tmp: %s", strerror(errno));
	return fd;
}

static void take(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);

	if (n < 0 || (size_t)n == size - 1)
		die("its output cannot be read, or is larger than %zu bytes", size);
	text[n] = '\0';
	close(fd);
}

void run_command(char *const argv[], struct run *r)
{
	static struct tracing t;
	int out = temporary(), err = temporary();

	memset(&t, 0, sizeof(t));
	t.run = r;
	t.seen = seen_new();
	r->reached = r->hung = false;
	r->n_sites = r->n_calls = 0;
	trace(&t, start(argv, out, err));
	seen_free(t.seen);
	take(out, r->out, sizeof(r->out));
	take(err, r->err, sizeof(r->err));
}

void shell(const char *command, char *out, size_t size)
{
	FILE *p = popen(command, "r"); /* NOLINT: the test's own */
	size_t n;
	int rc;

	if (!p)
		die("popen: %s", strerror(errno));
	n = fread(out, 1, size - 1, p);
	out[n] = '\0';
	rc = pclose(p);
	if (rc)
		die("status %d of: %s", rc, command);
}
