/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between owner.c, which prepares and watches, and its short-lived tracer child. */
#ifndef OWNER_TRACE_H
#define OWNER_TRACE_H

#include "owner.h"
#include "owner_arch.h"

#define OWNER_THREADS_MAX 8

enum owner_outcome {
	OUTCOME_NONE,		/* the child never got to say: killed, or crashed */
	OUTCOME_DONE,
	/* Another try with the same thread may go well. */
	OUTCOME_SIGNAL,		/* it had a signal to deliver first */
	OUTCOME_RSEQ,		/* within a restartable sequence */
	OUTCOME_TRACED,		/* another run of this program has it for the moment */
	/* Another thread may do. */
	OUTCOME_GONE,		/* the thread, or the whole process */
	OUTCOME_NO_STOP,	/* did not stop in time: uninterruptible */
	OUTCOME_BUSY,		/* left the system call it was idle in */
	OUTCOME_REGISTERS,	/* not a plain 64-bit thread, or state we cannot carry */
	OUTCOME_STACK,		/* runs on a stack we do not know */
	OUTCOME_DISPATCH,	/* its system calls are redirected to a handler */
	OUTCOME_SECCOMP,	/* its filter does not let the calls through */
	OUTCOME_SECCOMP_UNREAD,	/* its filter could not be read */
	/* No use trying further. */
	OUTCOME_DENIED,		/* ptrace refused */
	OUTCOME_CODE,		/* the code we need changed underfoot */
	OUTCOME_FD,		/* the fd is no longer that file */
	OUTCOME_NOT_ALLOWED,	/* the request is not on the list */
	OUTCOME_WRITE,		/* the frame could not be written */
	/* After the commit point: the thread finishes by itself. */
	OUTCOME_NOT_RUN,	/* it would not run, and was put back as it was */
	OUTCOME_LOST,		/* it did not come back in time */
};

struct owner_range {
	uint64_t start, end;
};

/* What the child needs, prepared before anything stops. */
struct owner_plan {
	pid_t pid;
	int proc_fd;
	bool has_seccomp;		/* mode 2, as /proc said before */
	bool slow_calls;		/* they may wait for the kernel to reach a quiet state */
	struct arch_gadgets gadgets;
	struct owner_range main_stack;	/* [stack] */
	struct owner_range *stacks;	/* writable private mappings, sorted: may hold a thread's */
	size_t n_stacks;
};

/* Memory shared with the child: what it was asked, and how far it got. */
struct owner_shared {
	struct owner_call calls[OWNER_BATCH];
	size_t n;
	size_t n_made;		/* when all went well: the others are for another stop */
	bool ended;		/* an essential call failed: there shall be no other stop */
	enum owner_outcome outcome;
	int errnum;
	bool committed;		/* at least one call was on its way: never try again from the start */
	struct owner_log log;
	unsigned int kill_points;	/* passed so far; counted in KILLPOINTS builds only */
};

/* The child's whole life, spent on one thread. Never returns. */
void owner_trace(const struct owner_plan *plan, pid_t tid, struct owner_shared *shared)
	__attribute__((noreturn));

/* Is this a system call in which a thread waits, and may be borrowed? */
bool owner_idle_syscall(long nr);

#endif
