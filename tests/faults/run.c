// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One run of the command, each of its processes traced: at every system call where all are to be noted, else
 * only at those of the number that is to fail, by a seccomp filter that asks the tracer, which is some ten
 * times faster. Noted are those from the first openat("/dev/null") on, which is main()'s first: what is before
 * is the dynamic linker's.
 */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES_MAX 256
#define RUN_SECS 60		/* in software emulation, traced; a run past it hangs */

struct tracing {
	struct run *run;
	struct seen *seen;
	pid_t processes[PROCESSES_MAX];
	int n_processes, alive;
	bool started;
};

static int process_of(struct tracing *t, pid_t pid)
{
	int index;

	for (index = t->n_processes - 1; index >= 0; index--)
		if (t->processes[index] == pid)
			return index;
	if (t->n_processes == PROCESSES_MAX)
		die("more than %d processes", PROCESSES_MAX);
	t->alive++;
	t->processes[t->n_processes] = pid;
	return t->n_processes++;
}

static bool is_start(pid_t pid, uint64_t path)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKDATA, pid, path, 0);
	return !errno && !memcmp(&word, "/dev/nul", sizeof(word));
}

/* No call of that number: the kernel then does nothing, and the result is what stands there. */
static void make_fail(pid_t pid, int errnum)
{
	if (ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, regs.orig_rax), -1L) ||
	    ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, regs.rax), (long)-errnum))
		die("PTRACE_POKEUSER: %s", strerror(errno));
}

static void enter(struct tracing *t, pid_t pid, long nr, const uint64_t *args)
{
	struct run *r = t->run;
	struct site site;

	site_of_call(t->seen, pid, process_of(t, pid), nr, args, &site);
	if (r->fail) {
		r->reached |= site_equal(&site, r->fail);
		if (site_equal(&site, r->fail))
			make_fail(pid, r->errnum);
		return;
	}
	if (!t->started && !(t->started = nr == SYS_openat && is_start(pid, args[1])))
		return;
	r->n_calls++;
	if (r->n_sites < SITES_MAX)
		r->sites[r->n_sites++] = site;
}

/* A stop of one process: which signal it is to be resumed with. */
static int stopped(struct tracing *t, pid_t pid, int status)
{
	struct __ptrace_syscall_info info;
	int signal = WSTOPSIG(status);

	process_of(t, pid);
	if (status >> 16 != PTRACE_EVENT_SECCOMP && status >> 16)
		return 0;	/* a clone's event, or the first stop of a seized child */
	if (!(status >> 16) && signal != (SIGTRAP | 0x80))
		return signal;
	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) < 0)
		return 0;	/* killed meanwhile */
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
		enter(t, pid, (long)info.entry.nr, (const uint64_t *)info.entry.args);
	else if (info.op == PTRACE_SYSCALL_INFO_SECCOMP)
		enter(t, pid, (long)info.seccomp.nr, (const uint64_t *)info.seccomp.args);
	return 0;
}

static void kill_all(struct tracing *t)
{
	for (int i = 0; i < t->n_processes; i++)
		kill(t->processes[i], SIGKILL);
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
	int status;

	process_of(t, first);
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

			ptrace(t->run->fail ? PTRACE_CONT : PTRACE_SYSCALL, pid, 0, signal);
			continue;
		}
		process_of(t, pid);
		t->alive--;
		if (pid == first)
			t->run->status = status;
	}
	alarm(0);
}

/* The tracer is asked about each call of that number, in this process and its children. */
static void ask_about(long nr)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = 4, .filter = code };

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(125);
}

static pid_t start(char *const argv[], const struct site *fail, int out, int err)
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
		if (fail)
			ask_about(fail->nr);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
		   PTRACE_O_TRACECLONE | PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL) || ptrace(PTRACE_INTERRUPT, pid, 0, 0))
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
	trace(&t, start(argv, r->fail, out, err));
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
