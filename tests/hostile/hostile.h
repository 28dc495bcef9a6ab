/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hostile: a process that passes for a VM and does what one should not. See usage(). */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mode {
	const char *name, *what;
	void (*run)(void);	/* does not return; calls ready() when it misbehaves */
};

void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
void need(long rc, const char *what);
uint32_t rnd(uint32_t below);
void nap_us(long us);
/* Prints "ready PID": from now on it may be looked at. */
void ready(pid_t pid);
/* A vhost-net device that this process owns. */
int vhost_open(void);
/* A tap of that name in this process's network namespace; "" for any. */
int tap_open(const char *name);
void start_thread(void (*run)(void));
/* In a call that can be borrowed. */
void rest(void) __attribute__((noreturn));
extern char **saved_argv;
extern int vhost_fd;	/* of main() */

/* hostile_fd.c */
void run_fds(void), run_vhosts(void), run_churn(void), run_swap(void), run_taps(void), run_namespaces(void);
/* hostile_proc.c */
void run_exit(void), run_reuse(void), run_exec(void), run_fork(void), run_vfork(void), run_leaderless(void),
	run_threads(void), run_signals(void), run_stops(void), run_traced(void), run_seccomp(void);
/* hostile_mem.c */
void run_names(void), run_cmdline(void), run_rewrite(void), run_unmap(void), run_flip(void), run_uffd(void);
/* hostile_fuse.c */
void run_fuse(void), run_locked(void), run_stuck(void);

#endif
