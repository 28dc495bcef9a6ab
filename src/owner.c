// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The side that prepares, watches and explains. Everything with ptrace is done by a
 * short-lived child (owner_trace.c), which may be killed at any time without harm:
 * so that is what happens to it when it does not come back in time.
 */
#include "owner.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "owner_allow.h"
#include "child.h"
#include "owner_plan.h"
#include "owner_thread.h"
#include "owner_trace.h"
#include "util.h"

#define CHILD_DEADLINE_MS 3000
#define SLOW_CHILD_DEADLINE_MS 9000
#define REST_MS 10		/* between two stops of one VM */
#define IDLE_TRIES 40		/* three seconds: a busy VM's threads are idle now and then */
#define PATIENT_TRIES 110	/* ten seconds */
#define IDLE_WAIT_MS 5		/* longer each time, which is no VM's rhythm */
#define IDLE_WAIT_MAX_MS 100
#define STACK_TRIES 2
#define UNSEEN_TRIES 2		/* refusals by a tracer that is gone when it is looked for */

static const char *const operation = "run a call in the VM's context";
static int idle_tries = IDLE_TRIES;

void owner_be_patient(void)
{
	idle_tries = PATIENT_TRIES;
}

/* In words, for those who have to do something about it. */
static int explain(const struct owner_shared *s, pid_t pid, struct error *e)
{
	static const struct {
		enum status status;
		const char *why;
	} words[] = {
		[OUTCOME_NONE] = { STATUS_FAILED,
			"the tracer did not come back in time and was ended, which leaves the VM whole; "
			"whether the call was made is not known, so read the value back" },
		[OUTCOME_SIGNAL] = { STATUS_FAILED, "its idle threads are flooded with signals; try again" },
		[OUTCOME_RSEQ] = { STATUS_FAILED, "its threads are too busy; try again" },
		[OUTCOME_TRACED] = { STATUS_DENIED,
			"other runs of this program have its threads all the time; try again" },
		[OUTCOME_GONE] = { STATUS_FAILED, "the thread or the whole process ended meanwhile" },
		[OUTCOME_NO_STOP] = { STATUS_FAILED,
			"its threads are in uninterruptible sleep (state D); look at its storage" },
		[OUTCOME_BUSY] = { STATUS_FAILED, "its idle threads became busy; try again" },
		[OUTCOME_REGISTERS] = { STATUS_UNSUPPORTED,
			"its threads have a register state that cannot be carried (32-bit code?)" },
		[OUTCOME_STACK] = { STATUS_UNSUPPORTED,
			"its idle threads run on alternate or coroutine stacks; try again, and "
			"report it if that stays so" },
		[OUTCOME_DISPATCH] = { STATUS_UNSUPPORTED,
			"its system calls are redirected (syscall user dispatch)" },
		[OUTCOME_SECCOMP] = { STATUS_UNSUPPORTED,
			"its seccomp filter does not allow the call, and making it could kill the VM; "
			"start the VM with a filter that allows it" },
		[OUTCOME_SECCOMP_UNREAD] = { STATUS_UNSUPPORTED,
			"its seccomp filter cannot be read, so it is not known whether the call would "
			"kill it; run as root (CAP_SYS_ADMIN), outside of any seccomp sandbox" },
		[OUTCOME_DENIED] = { STATUS_DENIED, NULL },
		[OUTCOME_CODE] = { STATUS_FAILED, "its code changed while it was looked at; try again" },
		[OUTCOME_FD] = { STATUS_FAILED,
			"it closed or replaced the device's fd meanwhile; list the VM again" },
		[OUTCOME_NOT_ALLOWED] = { STATUS_FAILED,
			"the thread could not be set up; nothing was changed" },
		[OUTCOME_WRITE] = { STATUS_FAILED,
			"the thread's stack could not be written; the call was not made" },
		[OUTCOME_NOT_RUN] = { STATUS_FAILED,
			"the borrowed thread would not run and was put back as it was; is the VM "
			"frozen or starved of CPU?" },
		[OUTCOME_LOST] = { STATUS_FAILED,
			"the call did not return in time and was left to finish by itself; read the "
			"value back" },
	};

	if (s->outcome == OUTCOME_GONE && s->committed)
		return error_set(e, STATUS_FAILED, s->errnum, operation,
				 "%s; whether the call was made is not known, so read the value back",
				 words[s->outcome].why);
	if (s->outcome == OUTCOME_DENIED)
		return error_set(e, STATUS_DENIED, s->errnum, operation,
				 "ptrace of process %d is refused (%s); root (CAP_SYS_PTRACE) is needed, and "
				 "no other tracer", pid, strerror(s->errnum));
	return error_set(e, words[s->outcome].status, s->errnum, operation, "%s",
			 words[s->outcome].why);
}

static int trace_thread(const struct owner_plan *plan, pid_t tid, struct owner_shared *shared,
			struct error *e)
{
	sigset_t all, old;
	pid_t child;

	shared->outcome = OUTCOME_NONE;
	/* A ctrl-C waits for the VM's thread, which is back in a moment. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	child = fork();
	if (child == 0)
		owner_trace(plan, tid, shared);
	if (child > 0)
		child_wait(child, plan->slow_calls ? SLOW_CHILD_DEADLINE_MS : CHILD_DEADLINE_MS);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return child < 0 ? error_errno(e, errno, "start the tracer", NULL) : 0;
}

static bool another_thread_may_do(enum owner_outcome o)
{
	return o >= OUTCOME_SIGNAL && o <= OUTCOME_SECCOMP_UNREAD;
}

/* Refused because another run of this program was there first, now or just before? */
static bool was_taken(const struct owner_plan *plan, pid_t tid, const struct owner_shared *shared,
		      int *denials)
{
	int64_t tracer;

	if (shared->outcome != OUTCOME_DENIED || shared->errnum != EPERM)
		return false;
	tracer = owner_thread_tracer(plan->proc_fd, tid);
	return tracer > 0 ? owner_tracer_passes(tracer) : ++*denials <= UNSEEN_TRIES;
}

/* The stack of a thread that is younger than the plan is not in it. */
static int plan_again(struct owner_plan *plan, struct error *e)
{
	struct owner_plan fresh = { .pid = plan->pid,
				    .proc_fd = plan->proc_fd,
				    .slow_calls = plan->slow_calls };

	owner_plan_free(plan);
	*plan = fresh;
	return owner_plan_read(plan->proc_fd, plan, e);
}

/* One batch: the best thread, and others where that one turned out unfit. */
static int run_batch(struct owner_plan *plan, enum owner_thread rule, struct owner_shared *shared,
		     struct error *e)
{
	int denials = 0;

	shared->outcome = OUTCOME_NONE;
	for (int tries = 0; tries < idle_tries; tries++) {
		struct owner_candidate threads[OWNER_THREADS_MAX];
		int n = owner_threads(plan->proc_fd, plan->pid, rule, threads, e);

		if (n < 0)
			return -1;
		for (int i = 0; i < n; i++) {
			plan->has_seccomp = owner_thread_has_seccomp(plan->proc_fd, threads[i].tid);
			if (trace_thread(plan, threads[i].tid, shared, e) < 0)
				return -1;
			if (was_taken(plan, threads[i].tid, shared, &denials))
				shared->outcome = OUTCOME_TRACED;
			if (shared->outcome == OUTCOME_DONE)
				return 0;
			if (shared->committed || !another_thread_may_do(shared->outcome))
				return explain(shared, plan->pid, e);
		}
		/* Refusals of principle do not pass with time. */
		if (shared->outcome >= OUTCOME_REGISTERS &&
		    (shared->outcome != OUTCOME_STACK || tries >= STACK_TRIES))
			break;
		if (shared->outcome == OUTCOME_STACK && plan_again(plan, e) < 0)
			return -1;
		sleep_ms(tries < IDLE_WAIT_MAX_MS / IDLE_WAIT_MS ? IDLE_WAIT_MS * (tries + 1) :
								   IDLE_WAIT_MAX_MS);
	}
	if (shared->outcome != OUTCOME_NONE)
		return explain(shared, plan->pid, e);
	return error_set(e, STATUS_FAILED, 0, operation,
			 rule == OWNER_THREAD_MAIN ?
				 "its main thread is not idle in a call that can be borrowed; try again" :
				 "none of its threads is idle in a call that can be borrowed; try again");
}

static int check_calls(const struct owner_call *calls, size_t n, struct error *e)
{
	for (size_t i = 0; i < n; i++)
		if (!owner_allows(calls[i].request, calls[i].size))
			return error_set(e, STATUS_FAILED, EPERM, operation,
					 "request %#x is not one that may be made in a VM", calls[i].request);
	return 0;
}

static void keep_log(struct owner_log *log, const struct owner_shared *shared)
{
	unsigned int stops;
	uint64_t ns;

	if (!log)
		return;
	stops = log->stops + shared->log.stops;
	ns = log->stopped_ns + shared->log.stopped_ns;
	*log = shared->log;
	log->stops = stops;
	log->stopped_ns = ns;
}

#ifdef KILLPOINTS
/* Tells a test how many points there are to die at. */
static void report_kill_points(const struct owner_shared *shared)
{
	if (getenv("VHOSTCTL_KILLPOINT_COUNT"))
		dprintf(STDERR_FILENO, "killpoints: %u\n", shared->kill_points);
}
#else
static void report_kill_points(const struct owner_shared *shared)
{
	(void)shared;
}
#endif

static int run_batches(struct owner_plan *plan, enum owner_thread rule, struct owner_call *calls,
		       size_t n, struct owner_log *log, struct owner_shared *shared,
		       struct error *e)
{
	int ret = 0;

	for (size_t at = 0; at < n && ret == 0 && !shared->ended; at += shared->n_made) {
		if (at)
			sleep_ms(REST_MS);
		memset(shared, 0, sizeof(*shared));
		shared->n = n - at < OWNER_BATCH ? n - at : OWNER_BATCH;
		memcpy(shared->calls, calls + at, shared->n * sizeof(*calls));
		ret = run_batch(plan, rule, shared, e);
		memcpy(calls + at, shared->calls, shared->n * sizeof(*calls));
		keep_log(log, shared);
		report_kill_points(shared);
	}
	return ret;
}

int owner_run(pid_t pid, int proc_fd, enum owner_thread rule, struct owner_call *calls, size_t n,
	      struct owner_log *log, struct error *e)
{
	struct owner_plan plan = {
		.pid = pid,
		.proc_fd = proc_fd,
		/* What may block is sent to a helper; the rest returns at once. */
		.slow_calls = rule == OWNER_THREAD_HELPER,
	};
	struct owner_shared *shared;
	int ret = -1;

	for (size_t i = 0; i < n; i++)
		calls[i].begun = calls[i].done = false;
	if (check_calls(calls, n, e) < 0 || owner_plan_check(proc_fd, pid, rule, e) < 0)
		return -1;
	shared = child_share(sizeof(*shared));
	if (!shared)
		return error_errno(e, errno, operation, NULL);
	if (owner_plan_read(proc_fd, &plan, e) == 0)
		ret = run_batches(&plan, rule, calls, n, log, shared, e);
	owner_plan_free(&plan);
	munmap(shared, sizeof(*shared));
	return ret;
}
