/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Run ioctls in the context of the process that owns a file: by one of its own
 * threads, stopped for tens of microseconds, in a way that even SIGKILL of this
 * program leaves that process whole (see owner_trace.c).
 *
 * Knows nothing of vhost; which requests may be issued at all: owner_allow.c.
 */
#ifndef OWNER_H
#define OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "error.h"

#define OWNER_ARG_MAX 16
#define OWNER_BATCH 64		/* ioctls in one stop: about a millisecond natively */
#define OWNER_LOG_MAX 1024

/* One ioctl to run. */
struct owner_call {
	int fd;				/* in the owner's fd table */
	int held_fd;			/* ours, of the same open file: compared before the call */
	unsigned int request;
	unsigned int size;		/* bytes of arg that the request reads or writes */
	unsigned char arg[OWNER_ARG_MAX];
	bool essential;			/* if it fails, the calls after it are not made */
	bool begun;			/* it was on its way: it may have happened, even if not done */
	bool done;			/* the call was made and returned */
	long result;			/* valid when done: >= 0, or -errno */
};

/*
 * Which thread may be borrowed. Never a vCPU's nor a worker's in any case.
 * MAIN: what is created inherits name, cgroup, affinity from the caller.
 * HELPER: the call may block for milliseconds, better not in the main loop.
 */
enum owner_thread { OWNER_THREAD_ANY, OWNER_THREAD_MAIN, OWNER_THREAD_HELPER };

/* One system call that touched the VM. */
struct owner_log_entry {
	const char *what;
	uint64_t ns;			/* since the thread was asked to stop */
	long result;
	int errnum;
};

struct owner_log {
	pid_t tid;			/* the thread that was stopped; 0: none */
	unsigned int stops;
	uint64_t stopped_ns;		/* from the request to stop until let go, all stops added */
	struct owner_log_entry entries[OWNER_LOG_MAX];	/* of the last stop */
	size_t n;
};

/*
 * Run @calls, in order, in the process @pid, whose /proc directory @proc_fd is
 * (an fd that outlives pid reuse). Up to OWNER_BATCH calls share one stop, fewer when
 * they are slow; more take several, with a rest between.
 *
 * 0: every call was made, up to an essential one that failed; each has its result.
 * -1: @e says why not; calls with done set were made all the same. @log may be NULL.
 */
int owner_run(pid_t pid, int proc_fd, enum owner_thread rule, struct owner_call *calls, size_t n,
	      struct owner_log *log, struct error *e);

/*
 * From now on a VM whose threads are all busy is waited for ten seconds instead of three, until
 * this program ends: what puts a VM back as it was must not give up where a new setting may.
 */
void owner_be_patient(void);

#endif
