// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * May this stopped thread be borrowed? The last look before anything is touched: what
 * was true a moment ago, when the thread was chosen, need not be any more.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "owner_tracer.h"
#include "seccomp.h"

#define PAGE 4096
#define STACK_ROOM 4096
#define STACK_PAGES_MAX 8	/* a frame with all that XSAVE knows (AMX) takes three */
#define SECCOMP_FILTERS_MAX 64

#ifndef PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG
#define PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG 0x4211	/* Linux 6.4 */
#endif

static bool in_range(const struct owner_range *r, uint64_t from, uint64_t to)
{
	return from >= r->start && to <= r->end;
}

static int compare_address(const void *key, const void *element)
{
	uint64_t addr = *(const uint64_t *)key;
	const struct owner_range *r = element;

	return addr < r->start ? -1 : addr >= r->end;
}

/*
 * The frame must lie in the stack that the thread really runs on: the process's
 * [stack], or the mapping that also holds its thread-local storage, which is how
 * libraries lay out a thread's stack. Alternate and coroutine stacks are neither.
 */
static bool stack_is_known(const struct tracer *t)
{
	uint64_t sp = arch_sp(&t->context), tls = arch_tls(&t->context);
	uint64_t low = t->frame.addr - STACK_ROOM;
	const struct owner_range *r;

	if (in_range(&t->plan->main_stack, low, sp))
		return true;
	r = bsearch(&low, t->plan->stacks, t->plan->n_stacks, sizeof(*r), compare_address);
	return r && in_range(r, low, sp) && in_range(r, tls, tls);
}

/*
 * A guard below the stack need not end the mapping (MADV_GUARD_INSTALL, Linux 6.13, which glibc 2.42 uses):
 * behind it may lie another thread's. One byte of each page is read; a guard's cannot be.
 */
static bool stack_is_whole(struct tracer *t, pid_t tid)
{
	uint64_t low = (t->frame.addr - STACK_ROOM) & ~(uint64_t)(PAGE - 1);
	uint64_t pages = (arch_sp(&t->context) - low) / PAGE + 1;
	struct iovec local[STACK_PAGES_MAX], remote[STACK_PAGES_MAX];
	char byte;

	if (pages > STACK_PAGES_MAX)
		return false;
	for (uint64_t i = 0; i < pages; i++) {
		local[i] = (struct iovec){ &byte, 1 };
		remote[i] = (struct iovec){ (void *)(low + i * PAGE), 1 }; /* NOLINT */
	}
	return tracer_step(t, "process_vm_readv stack",
			   process_vm_readv(tid, local, pages, remote, pages, 0)) == (ssize_t)pages;
}

/* Interrupted inside a restartable sequence, a thread must not be sent elsewhere. */
static bool in_rseq(pid_t tid)
{
	struct __ptrace_rseq_configuration c = { 0 };
	uint64_t section = 0;
	struct iovec local = { &section, sizeof(section) }, remote;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof(c), &c) < 0 || !c.rseq_abi_pointer)
		return false;
	remote = (struct iovec){ (void *)(c.rseq_abi_pointer + 8), sizeof(section) }; /* NOLINT */
	return process_vm_readv(tid, &local, 1, &remote, 1, 0) != sizeof(section) || section;
}

/* Linux before 6.4 cannot tell (ESRCH, EIO or EINVAL): nothing to go by there. */
static bool is_dispatched(pid_t tid)
{
	struct {
		uint64_t mode, selector, offset, len;
	} c = { 0 };

	return ptrace(PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, tid, sizeof(c), &c) >= 0 && c.mode;
}

/* What every call of the batch, and the sigreturn after it, would meet in @filter. */
static bool filter_lets_all(const struct tracer *t, size_t len)
{
	struct seccomp_data d;

	for (size_t i = 0; i < t->shared->n; i++) {
		const struct owner_call *c = &t->shared->calls[i];

		arch_seccomp_ioctl(&t->context, &t->plan->gadgets, &t->frame, c->fd, c->request, &d);
		if (!seccomp_lets_through(seccomp_run(t->filter, len, &d)))
			return false;
		arch_seccomp_sigreturn(&t->context, &t->plan->gadgets, &t->frame, c->fd, c->request,
				       &d);
		if (!seccomp_lets_through(seccomp_run(t->filter, len, &d)))
			return false;
	}
	return true;
}

/* Without the right to read filters: does the thread have any? */
static bool has_no_seccomp(const struct tracer *t, pid_t tid)
{
	char path[48], buf[4096];
	const char *line;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "task/%d/status", tid);
	fd = openat(t->plan->proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return false;
	buf[n] = '\0';
	line = strstr(buf, "\nSeccomp:\t");
	return line && line[10] == '0';
}

static enum owner_outcome check_seccomp(struct tracer *t, pid_t tid)
{
	for (unsigned long i = 0; i < SECCOMP_FILTERS_MAX; i++) {
		long len = tracer_step(t, "PTRACE_SECCOMP_GET_FILTER",
				ptrace(PTRACE_SECCOMP_GET_FILTER, tid, i, t->filter));

		if (len < 0) {
			/*
			 * ENOENT: past the last. EINVAL: the thread has none, or the kernel
			 * is built without CONFIG_CHECKPOINT_RESTORE: then /proc decides.
			 */
			if ((errno == ENOENT && i) || (errno == EINVAL && !t->plan->has_seccomp) ||
			    (errno == EACCES && has_no_seccomp(t, tid)))
				return OUTCOME_DONE;
			return tracer_fail(t, OUTCOME_SECCOMP_UNREAD);
		}
		if (!filter_lets_all(t, (size_t)len))
			return tracer_fail(t, OUTCOME_SECCOMP);
	}
	errno = E2BIG;
	return tracer_fail(t, OUTCOME_SECCOMP_UNREAD);
}

/* The fds are looked at as late as can be: their owner may close and open at any time. */
static bool files_are_same(const struct tracer *t, pid_t tid)
{
	for (size_t i = 0; i < t->shared->n; i++) {
		const struct owner_call *c = &t->shared->calls[i];

		if (i && c[-1].fd == c->fd && c[-1].held_fd == c->held_fd)
			continue;
		if (syscall(SYS_kcmp, getpid(), tid, KCMP_FILE, c->held_fd, c->fd) != 0)
			return false;
	}
	return true;
}

/* Everything that can be found wrong while nothing has been touched yet. */
enum owner_outcome tracer_examine(struct tracer *t, pid_t tid)
{
	if (tracer_step(t, "read registers", arch_read_context(tid, &t->context)) < 0)
		return tracer_fail(t, OUTCOME_REGISTERS);
	if (arch_syscall_nr(&t->context) >= 0) {
		if (!owner_idle_syscall(arch_syscall_nr(&t->context)))
			return tracer_fail(t, OUTCOME_BUSY);
	} else if (in_rseq(tid)) {
		return tracer_fail(t, OUTCOME_RSEQ);
	}
	if (arch_build_frame(&t->context, &t->plan->gadgets, &t->frame) < 0)
		return tracer_fail(t, OUTCOME_REGISTERS);
	if (!stack_is_known(t) || !stack_is_whole(t, tid))
		return tracer_fail(t, OUTCOME_STACK);
	if (tracer_step(t, "process_vm_readv code", arch_verify_gadgets(tid, &t->plan->gadgets)) < 0)
		return tracer_fail(t, OUTCOME_CODE);
	if (is_dispatched(tid))
		return tracer_fail(t, OUTCOME_DISPATCH);
	if (!files_are_same(t, tid))
		return tracer_fail(t, OUTCOME_FD);
	return check_seccomp(t, tid);
}
