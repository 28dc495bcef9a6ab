// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes and threads: too many, gone, others than they were; stopped, traced, flooded, filtered. */
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Forks a VM that lives for a few milliseconds, again and again; with @pid, always as that one. */
static void short_lives(pid_t pid)
{
	for (;;) {
		pid_t child;

		if (pid) {
			int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);

			need(fd, "ns_last_pid");
			dprintf(fd, "%d", (int)pid - 1);
			close(fd);
		}
		child = fork();
		need(child, "fork");
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			vhost_open();
			start_thread(rest);
			nap_us(rnd(30000));
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
}

void run_exit(void)
{
	ready(getpid());
	short_lives(0);
}

void run_reuse(void)
{
	/* Of some that are free: high, where nobody else is. */
	ready(30000);
	short_lives(30000);
}

void run_exec(void)
{
	char *const argv[] = { saved_argv[0], (char *)"exec", (char *)"again", NULL };

	/* The first one opens a device that all later ones have, and none of them owns. */
	if (!saved_argv[2] || strcmp(saved_argv[2], "again")) {
		int fd = vhost_open();

		fcntl(fd, F_SETFD, 0);
		ready(getpid());
	}
	start_thread(rest);
	nap_us(rnd(20000));
	execv("/proc/self/exe", argv);
	die("exec: %s", strerror(errno));
}

void run_fork(void)
{
	vhost_open();
	start_thread(rest);
	ready(getpid());
	for (;;) {
		pid_t pid = fork();

		need(pid, "fork");
		if (pid == 0) {
			nap_us(rnd(5000));
			_exit(0);
		}
		nap_us(rnd(2000));
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

void run_vfork(void)
{
	vhost_open();
	ready(getpid());
	if (vfork() == 0)
		for (;;)
			pause();
	_exit(1);
}

void run_leaderless(void)
{
	vhost_open();
	start_thread(rest);
	start_thread(rest);
	ready(getpid());
	pthread_exit(NULL);
}

static void one_of_many(void)
{
	char name[16];

	/* Names of workers, of whatever processes there may be. */
	snprintf(name, sizeof(name), "vhost-%u", rnd(4000) + 1);
	prctl(PR_SET_NAME, name);
	rest();
}

void run_threads(void)
{
	vhost_open();
	for (int i = 0; i < 10000; i++)
		start_thread(one_of_many);
	ready(getpid());
	rest();
}

static void on_signal(int signal)
{
	(void)signal;
}

void run_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	pid_t parent = getpid();

	sigaction(SIGUSR1, &sa, NULL);
	vhost_open();
	for (int i = 0; i < 3; i++)
		start_thread(rest);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			if (kill(parent, SIGUSR1))
				_exit(0);
			nap_us(20);
		}
	}
	ready(parent);
	rest();
}

void run_stops(void)
{
	pid_t parent = getpid();

	vhost_open();
	start_thread(rest);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			if (kill(parent, SIGSTOP))
				_exit(0);
			nap_us(rnd(3000));
			kill(parent, SIGCONT);
			nap_us(rnd(3000));
		}
	}
	ready(parent);
	rest();
}

void run_traced(void)
{
	pid_t parent = getpid();
	int go[2];
	char byte;

	vhost_open();
	start_thread(rest);
	need(pipe(go), "pipe");
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		need(ptrace(PTRACE_SEIZE, parent, 0, 0), "PTRACE_SEIZE");
		if (write(go[1], "", 1) != 1)
			_exit(1);
		for (;;) {
			int status;

			if (waitpid(parent, &status, __WALL) == parent && WIFSTOPPED(status))
				ptrace(PTRACE_CONT, parent, 0, WSTOPSIG(status));
		}
	}
	if (read(go[0], &byte, 1) != 1)
		die("no tracer");
	ready(parent);
	rest();
}

/* Forbids ioctl on pain of death, for all threads. */
static void forbid_ioctl(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = 4, .filter = code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &prog);
}

static void forbid_later(void)
{
	nap_us(rnd(40000));
	forbid_ioctl();
	rest();
}

/* Its own filter may kill it while it is borrowed: then there is the next one. */
void run_seccomp(void)
{
	ready(getpid());
	for (;;) {
		pid_t pid = fork();

		need(pid, "fork");
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			prctl(PR_SET_NAME, "qemu-filtered");
			vhost_open();
			start_thread(forbid_later);
			start_thread(rest);
			nap_us(100000);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}
