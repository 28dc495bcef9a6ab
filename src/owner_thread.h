/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which thread of a VM may be borrowed for a moment. */
#ifndef OWNER_THREAD_H
#define OWNER_THREAD_H

#include "owner_trace.h"

struct owner_candidate {
	pid_t tid;
	int rank;		/* the lower, the better */
};

/*
 * Threads that wait in a system call, best first, at most OWNER_THREADS_MAX.
 * Returns how many (0: none is idle now), or -1 with @e.
 */
int owner_threads(int proc_fd, pid_t pid, enum owner_thread rule, struct owner_candidate *found,
		  struct error *e);

/* Does a seccomp filter bind the thread, as /proc says? Unreadable counts as yes. */
bool owner_thread_has_seccomp(int proc_fd, pid_t tid);

/* Who traces the thread: a pid; 0 or UNKNOWN (state.h): nobody, as far as can be seen from here. */
int64_t owner_thread_tracer(int proc_fd, pid_t tid);
/* Will that one let go in a moment? It is this program too, which holds none for long, or has ended. */
bool owner_tracer_passes(int64_t tracer);

#endif
