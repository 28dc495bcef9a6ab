// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tracer: a child that stops one thread, makes it run the calls, puts it back.
 *
 * The order of the steps is the proof. Until arch_set_call() nothing of the thread
 * has changed but dead bytes below its stack pointer. From there on it makes the
 * call exactly once, returns into the signal frame laid in those bytes, and is
 * back where it was, tracer or not. So this process may be killed anywhere.
 *
 * It is a process of its own because ptrace belongs to one thread, and because
 * the exit of the tracer is the only thing that lets go of a thread which runs or
 * is in uninterruptible sleep. While the thread is stopped: no printing, no
 * allocating, no waiting for anything but that thread.
 */
#include "owner_tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "owner_allow.h"
#include "util.h"

#define NS_PER_MS 1000000ull
#define STOP_TIMEOUT (200 * NS_PER_MS)
#define CALL_TIMEOUT (500 * NS_PER_MS)
/*
 * VHOST_ATTACH_VRING_WORKER waits for all CPUs (synchronize_rcu) and for what the queue had
 * under way. Milliseconds natively, and far more on a busy or emulated host.
 */
#define SLOW_CALL_TIMEOUT (5000 * NS_PER_MS)
/*
 * After that no further call is begun in this stop. Others than slow calls come near it only
 * on a host that is starved of CPU, where the thread must not be held the longer for it.
 */
#define SLOW_STOP_BUDGET (100 * NS_PER_MS)
#define STOP_BUDGET (300 * NS_PER_MS)
#define SPIN_NS 100000ull	/* longer than a stop takes natively: sleeping costs more */
#define TICK_USECS 10000	/* how often a blocked wait looks at its deadline */
/*
 * A wait is over its deadline only when it has seen half of the ticks until then, too: where the
 * whole host paused (a guest whose CPUs were taken away), the thread had no time to answer in.
 * A second later it is in any case: ticks are also few where we get little CPU.
 */
#define LEAST_TICKS(timeout) ((timeout) / 1000 / TICK_USECS / 2)
#define LATEST(timeout) ((timeout) + 1000 * NS_PER_MS)
#define LIFETIME_SECS 2		/* the kernel then kills us, if even the parent is gone */
#define SLOW_LIFETIME_SECS 8
#define SAME_THREAD_TRIES 3
#define RESTART_TRIES 8

#define SYSCALL_STOP (SIGTRAP | 0x80)	/* as PTRACE_O_TRACESYSGOOD marks it */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

#ifdef KILLPOINTS
/* Die here, tool and tracer both, when this is the point that the test chose. */
static void kill_point(struct tracer *t)
{
	const char *chosen = getenv("VHOSTCTL_KILLPOINT");

	if (chosen && (unsigned int)atoi(chosen) == t->shared->kill_points) {
		if (getppid() != 1)	/* a parent that died already left us to init */
			kill(getppid(), SIGKILL);
		kill(getpid(), SIGKILL);
	}
	t->shared->kill_points++;
}
#else
static void kill_point(struct tracer *t)
{
	(void)t;
}
#endif

long tracer_step(struct tracer *t, const char *what, long result)
{
	struct owner_log *log = &t->shared->log;
	int errnum = errno;

	if (log->n < OWNER_LOG_MAX)
		log->entries[log->n++] = (struct owner_log_entry){
			what, now_ns() - t->stop_asked, result, result < 0 ? errnum : 0
		};
	kill_point(t);
	errno = errnum;
	return result;
}

enum owner_outcome tracer_fail(struct tracer *t, enum owner_outcome outcome)
{
	t->shared->errnum = errno;
	return outcome;
}

/*
 * 1: stopped, as @status says. 0: not by the deadline. -1: the thread is gone.
 *
 * The stop is looked at and left to be reported again (WNOWAIT): wait_task_stopped()
 * zeroes the exit code that it hands out, and when a tracer dies, that code is what the
 * kernel delivers. A plain wait in a signal's stop, then a death: the signal is lost.
 */
static int wait_stop(struct tracer *t, pid_t tid, uint64_t timeout, int *status)
{
	uint64_t start = now_ns(), ticks = 0;

	for (;;) {
		uint64_t waited = now_ns() - start;
		bool spin = t->spin && waited < SPIN_NS;
		siginfo_t si = { .si_pid = 0 };
		int rc = waitid(P_PID, (id_t)tid, &si,
				WEXITED | WSTOPPED | WNOWAIT | __WALL | (spin ? WNOHANG : 0));

		if (rc == 0 && si.si_pid == tid) {
			*status = si.si_status << 8 | 0x7f; /* as waitpid() has it */
			return si.si_code == CLD_TRAPPED || si.si_code == CLD_STOPPED ? 1 : -1;
		}
		if (rc < 0 && errno != EINTR)
			return -1;
		ticks += rc < 0;
		if (waited > timeout && (ticks >= LEAST_TICKS(timeout) || waited > LATEST(timeout)))
			return 0;
	}
}

static bool is_event_stop(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP;
}

static bool is_syscall_stop(int status)
{
	return WSTOPSIG(status) == SYSCALL_STOP;
}

static void detach(struct tracer *t, pid_t tid, int signal)
{
	tracer_step(t, "PTRACE_DETACH", ptrace(PTRACE_DETACH, tid, 0, signal));
	t->shared->log.stopped_ns += now_ns() - t->stop_asked;
}

/* Is the thread still one of the process that was meant? Its number may have been reused. */
static bool is_ours(const struct tracer *t, pid_t tid)
{
	char path[32];

	snprintf(path, sizeof(path), "task/%d", tid);
	return faccessat(t->plan->proc_fd, path, F_OK, 0) == 0;
}

/* In a ptrace-stop of ours when it returns OUTCOME_DONE, free otherwise. */
static enum owner_outcome stop(struct tracer *t, pid_t tid)
{
	int status;

	if (tracer_step(t, "PTRACE_SEIZE",
		 ptrace(PTRACE_SEIZE, tid, 0, (void *)(uintptr_t)PTRACE_O_TRACESYSGOOD)) < 0)
		return tracer_fail(t, errno == ESRCH ? OUTCOME_GONE : OUTCOME_DENIED);
	/* What is seized by mistake is let go by our exit. */
	if (!is_ours(t, tid))
		return tracer_fail(t, OUTCOME_GONE);
	t->shared->log.tid = tid;
	t->shared->log.stops++;
	t->stop_asked = now_ns();
	if (tracer_step(t, "PTRACE_INTERRUPT", ptrace(PTRACE_INTERRUPT, tid, 0, 0)) < 0)
		return tracer_fail(t, OUTCOME_GONE);
	switch (wait_stop(t, tid, STOP_TIMEOUT, &status)) {
	case 0:
		return tracer_fail(t, OUTCOME_NO_STOP);
	case -1:
		return tracer_fail(t, OUTCOME_GONE);
	}
	tracer_step(t, "stopped", status >> 8);
	if (is_event_stop(status))
		return OUTCOME_DONE;
	/* A signal comes first. It is delivered as if we had not been there. */
	detach(t, tid, is_syscall_stop(status) ? 0 : WSTOPSIG(status));
	return OUTCOME_SIGNAL;
}

static bool write_vm(struct tracer *t, pid_t tid, uint64_t addr, void *bytes, size_t len)
{
	struct iovec local = { bytes, len }, remote = { (void *)addr, len }; /* NOLINT */

	return tracer_step(t, "process_vm_writev",
		    process_vm_writev(tid, &local, 1, &remote, 1, 0)) == (ssize_t)len;
}

static bool read_vm(struct tracer *t, pid_t tid, uint64_t addr, void *bytes, size_t len)
{
	struct iovec local = { bytes, len }, remote = { (void *)addr, len }; /* NOLINT */

	return tracer_step(t, "process_vm_readv",
		    process_vm_readv(tid, &local, 1, &remote, 1, 0)) == (ssize_t)len;
}

static bool set_sigmask(struct tracer *t, pid_t tid, uint64_t mask)
{
	return tracer_step(t, "PTRACE_SETSIGMASK",
		    ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask)) == 0;
}

/* The one place where registers are set to make a call. */
static bool set_call(struct tracer *t, pid_t tid, struct owner_call *c)
{
	if (!owner_allows(c->request, c->size)) {
		errno = EPERM;
		return false;
	}
	c->begun = true;	/* said before, since we can be killed between the two */
	if (arch_set_call(tid, &t->context, &t->plan->gadgets, &t->frame, c->fd, c->request) < 0) {
		tracer_step(t, "PTRACE_SETREGS ioctl", -1);
		return false;
	}
	t->shared->committed = true;
	return tracer_step(t, "PTRACE_SETREGS ioctl", 0) == 0;
}

/*
 * Let it run, by PTRACE_SYSCALL or PTRACE_CONT, to the next stop that @reached accepts. SIGSTOP
 * cannot be blocked: it is passed on, and the group stop that follows is run through, to be
 * resumed at the detach.
 */
static enum owner_outcome run_until(struct tracer *t, pid_t tid, bool by_syscall, uint64_t timeout,
				    bool (*reached)(int status))
{
	int status, signal = 0;

	for (;;) {
		long rc = by_syscall ? ptrace(PTRACE_SYSCALL, tid, 0, signal)
				     : ptrace(PTRACE_CONT, tid, 0, signal);

		if (tracer_step(t, by_syscall ? "PTRACE_SYSCALL" : "PTRACE_CONT", rc) < 0)
			return tracer_fail(t, OUTCOME_GONE);
		switch (wait_stop(t, tid, timeout, &status)) {
		case 0:
			return tracer_fail(t, OUTCOME_LOST);
		case -1:
			return tracer_fail(t, OUTCOME_GONE);
		}
		if (reached(status))
			return OUTCOME_DONE;
		signal = is_event_stop(status) || is_syscall_stop(status) ? 0 : WSTOPSIG(status);
	}
}

static enum owner_outcome run_to_syscall_stop(struct tracer *t, pid_t tid)
{
	return run_until(t, tid, true, t->plan->slow_calls ? SLOW_CALL_TIMEOUT : CALL_TIMEOUT,
			 is_syscall_stop);
}

/* Results that mean "not done, to be called again": the kernel's ERESTART... numbers. */
static bool wants_restart(long rc)
{
	return rc <= -512 && rc >= -516;
}

static enum owner_outcome run_call(struct tracer *t, pid_t tid, struct owner_call *c)
{
	for (int tries = 0; tries < RESTART_TRIES; tries++) {
		enum owner_outcome o = run_to_syscall_stop(t, tid);
		long rc;

		if (o == OUTCOME_DONE)
			o = run_to_syscall_stop(t, tid);
		if (o != OUTCOME_DONE)
			return o;
		if (tracer_step(t, "PTRACE_GETREGS",
			 arch_call_result(tid, &t->plan->gadgets, &t->frame, &rc)) < 0)
			return tracer_fail(t, OUTCOME_LOST);
		if (!wants_restart(rc)) {
			c->result = rc;
			c->done = read_vm(t, tid, t->frame.arg, c->arg, c->size);
			return c->done ? OUTCOME_DONE : tracer_fail(t, OUTCOME_LOST);
		}
		if (!set_call(t, tid, c))
			return tracer_fail(t, OUTCOME_LOST);
	}
	c->done = true;
	c->result = -EINTR;
	return OUTCOME_DONE;
}

/*
 * From the exit stop of a call into get_signal(), where the kernel's own logic will
 * restart what the thread was interrupted in, once its registers are as they were.
 */
static enum owner_outcome to_signal_stop(struct tracer *t, pid_t tid)
{
	/* Without the stop to come it would run on, through the frame, into its own code. */
	if (tracer_step(t, "PTRACE_INTERRUPT", ptrace(PTRACE_INTERRUPT, tid, 0, 0)) < 0)
		return tracer_fail(t, OUTCOME_LOST);
	return run_until(t, tid, false, CALL_TIMEOUT, is_event_stop);
}

/* Only where the frame has not put it back: then nothing is left to do, and it must be let go as it is. */
static enum owner_outcome put_back(struct tracer *t, pid_t tid)
{
	if (!arch_is_at_call(tid, &t->plan->gadgets, &t->frame) || !set_sigmask(t, tid, t->context.sigmask) ||
	    tracer_step(t, "PTRACE_SETREGS restore", arch_restore(tid, &t->context)) < 0)
		return tracer_fail(t, OUTCOME_LOST);
	detach(t, tid, 0);
	return OUTCOME_DONE;
}

/*
 * The thread took too long. If it can still be stopped outside the call, it is put
 * back as it was; if not, our exit frees it and the frame does the rest.
 */
static enum owner_outcome give_up(struct tracer *t, pid_t tid)
{
	int status;

	tracer_step(t, "PTRACE_INTERRUPT", ptrace(PTRACE_INTERRUPT, tid, 0, 0));
	if (wait_stop(t, tid, STOP_TIMEOUT, &status) != 1 || !is_event_stop(status) ||
	    put_back(t, tid) != OUTCOME_DONE)
		return OUTCOME_LOST;
	t->shared->calls[t->shared->n_made].begun = false;
	return OUTCOME_NOT_RUN;
}

static bool is_over_budget(const struct tracer *t)
{
	return now_ns() - t->stop_asked > (t->plan->slow_calls ? SLOW_STOP_BUDGET : STOP_BUDGET);
}

/* The first call is committed already; the others follow one by one in the same stop. */
static enum owner_outcome run_calls(struct tracer *t, pid_t tid)
{
	struct owner_call *calls = t->shared->calls;

	for (size_t i = 0; i < t->shared->n; i++) {
		enum owner_outcome o;

		/* Stopped after a call, so that the way back is open if the next cannot start. */
		if (i && (!write_vm(t, tid, t->frame.arg, calls[i].arg, calls[i].size) ||
			  !set_call(t, tid, &calls[i]))) {
			tracer_fail(t, OUTCOME_WRITE);
			o = to_signal_stop(t, tid);
			return o == OUTCOME_DONE ? OUTCOME_WRITE : o;
		}
		o = run_call(t, tid, &calls[i]);
		if (o != OUTCOME_DONE)
			return o;
		t->shared->n_made = i + 1;
		t->shared->ended = calls[i].essential && calls[i].result < 0;
		if (t->shared->ended || is_over_budget(t))
			break;
	}
	return to_signal_stop(t, tid);
}

/* The thread is stopped; it is free again when this returns. */
static enum owner_outcome commit(struct tracer *t, pid_t tid)
{
	struct owner_call *first = &t->shared->calls[0];
	enum owner_outcome o;

	memcpy(t->frame.bytes + (t->frame.arg - t->frame.addr), first->arg, first->size);
	o = OUTCOME_WRITE;
	if (!write_vm(t, tid, t->frame.addr, t->frame.bytes, t->frame.len))
		goto untouched;
	/* Sets what is set already, but makes a temporary mask (ppoll's) the plain one. */
	if (!set_sigmask(t, tid, t->context.sigmask))
		goto untouched;
	o = OUTCOME_NOT_ALLOWED;	/* or the thread was killed just now */
	if (!set_call(t, tid, first))
		goto untouched;
	/* After the commit, since a death before it would leave everything blocked. */
	if (!set_sigmask(t, tid, ~0ull))
		return tracer_fail(t, OUTCOME_LOST); /* a handler could run between: the frame does it all */
	o = run_calls(t, tid);
	if (o == OUTCOME_DONE || o == OUTCOME_WRITE)
		return put_back(t, tid) == OUTCOME_DONE ? o : OUTCOME_LOST;
	return o == OUTCOME_LOST ? give_up(t, tid) : o;

untouched:
	tracer_fail(t, o);
	detach(t, tid, 0);
	return o;
}

static enum owner_outcome try_thread(struct tracer *t, pid_t tid)
{
	enum owner_outcome o;

	t->shared->log.n = 0;
	t->stop_asked = now_ns();
	o = stop(t, tid);
	if (o != OUTCOME_DONE)
		return o;
	o = tracer_examine(t, tid);
	if (o == OUTCOME_DONE)
		return commit(t, tid);
	detach(t, tid, 0);
	return o;
}

static void on_tick(int signal)
{
	(void)signal;
}

/* Bounds for everything: ticks that interrupt a blocked wait, and an end by the kernel. */
static void set_timers(bool slow_calls)
{
	struct sigaction tick = { .sa_handler = on_tick };	/* no SA_RESTART */
	struct itimerval every = { { 0, TICK_USECS }, { 0, TICK_USECS } };
	timer_t timer;
	sigset_t set;

	sigaction(SIGALRM, &tick, NULL);
	/* Signals meant to end the tool wait until the thread is back. */
	sigfillset(&set);
	sigdelset(&set, SIGALRM);
	sigprocmask(SIG_SETMASK, &set, NULL);
	/* Without it, the parent ends us. */
	(void)child_end_after(slow_calls ? SLOW_LIFETIME_SECS : LIFETIME_SECS, &timer);
	setitimer(ITIMER_REAL, &every, NULL);
}

void owner_trace(const struct owner_plan *plan, pid_t tid, struct owner_shared *shared)
{
	/* Static: too large for a stack, and its pages are touched before anything stops. */
	static struct tracer t;
	enum owner_outcome o;
	int tries = SAME_THREAD_TRIES;

	memset(&t, 0, sizeof(t));
	t.plan = plan;
	t.shared = shared;
	t.spin = sysconf(_SC_NPROCESSORS_ONLN) > 1;
	arch_prepare();
	set_timers(plan->slow_calls);
	do {
		o = try_thread(&t, tid);
	} while ((o == OUTCOME_SIGNAL || o == OUTCOME_RSEQ) && --tries);
	shared->outcome = o;
	_exit(0);
}
