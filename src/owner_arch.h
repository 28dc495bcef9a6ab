/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What running a system call in another thread needs to know of one processor
 * architecture: registers, the instructions to find, the signal frame.
 * One implementation per architecture: owner_x86_64.c.
 *
 * The idea, and why it is safe to be killed at any time: the frame built here
 * is a complete signal frame. A thread whose registers were set by
 * arch_set_call() makes the call, returns into rt_sigreturn and finds itself
 * in its own context again, with or without a tracer.
 *
 * Nothing here allocates or prints: a thread of the VM is stopped meanwhile.
 */
#ifndef OWNER_ARCH_H
#define OWNER_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define ARCH_XSTATE_MAX 16384	/* AMX makes it about 11 KiB */
#define ARCH_FRAME_MAX (ARCH_XSTATE_MAX + 2048)
#define ARCH_ARG_MAX 512

/* Addresses of instructions that the VM's own code already has. */
struct arch_gadgets {
	uint64_t syscall;	/* "syscall; ret" */
	uint64_t sigreturn;	/* "mov $__NR_rt_sigreturn, %rax; syscall" */
	unsigned int sigreturn_len;
};

/* What a stopped thread was doing, all of it. */
struct arch_context {
	struct user_regs_struct regs;
	uint64_t sigmask;
	size_t xstate_len;
	unsigned char xstate[ARCH_XSTATE_MAX] __attribute__((aligned(64)));
};

struct arch_frame {
	uint64_t addr;		/* where bytes[] goes in the thread's stack */
	uint64_t arg;		/* where the call's argument goes, within bytes[] */
	size_t len;
	unsigned char bytes[ARCH_FRAME_MAX];
};

/* Once, before anything stops: what is slow to ask the processor (CPUID traps in a guest). */
void arch_prepare(void);

/*
 * Find the gadgets in @len bytes of text that lie at @base in the VM. Keeps what
 * @g already has. True when both are known.
 */
bool arch_find_gadgets(const unsigned char *text, size_t len, uint64_t base,
		       struct arch_gadgets *g);

/* Do the bytes at the gadgets' addresses still read so? -1 with errno if unreadable. */
int arch_verify_gadgets(pid_t tid, const struct arch_gadgets *g);

/* Everything of a thread in a ptrace-stop. 0, or -1 with errno (EINVAL: not a 64-bit thread). */
int arch_read_context(pid_t tid, struct arch_context *c);

long arch_syscall_nr(const struct arch_context *c);	/* -1: it was in user code */
uint64_t arch_sp(const struct arch_context *c);
uint64_t arch_tls(const struct arch_context *c);

/* 0, or -1 with errno (EOVERFLOW: more extended state than there is room for). */
int arch_build_frame(const struct arch_context *c, const struct arch_gadgets *g,
		     struct arch_frame *f);

/*
 * The commit point: from here on the thread makes the call exactly once, whatever
 * becomes of us. 0 or -1 with errno.
 */
int arch_set_call(pid_t tid, const struct arch_context *c, const struct arch_gadgets *g,
		  const struct arch_frame *f, int fd, unsigned int request);

/*
 * At the call's exit stop: its result (>= 0 or -errno) in @rc. 0; -1 with errno, EPROTO
 * when the thread is not where we put it.
 */
int arch_call_result(pid_t tid, const struct arch_gadgets *g, const struct arch_frame *f,
		     long *rc);

/*
 * Is the thread before the call or behind it, and not yet on its way back through the frame? From
 * then on it runs its own code, and registers as first read would throw it back.
 */
bool arch_is_at_call(pid_t tid, const struct arch_gadgets *g, const struct arch_frame *f);

/* Registers as first read, a restart the kernel had in mind included. */
int arch_restore(pid_t tid, const struct arch_context *c);

/* struct seccomp_data of the two calls a thread will make: the ioctl, then the sigreturn. */
struct seccomp_data;
void arch_seccomp_ioctl(const struct arch_context *c, const struct arch_gadgets *g,
			const struct arch_frame *f, int fd, unsigned int request,
			struct seccomp_data *d);
void arch_seccomp_sigreturn(const struct arch_context *c, const struct arch_gadgets *g,
			    const struct arch_frame *f, int fd, unsigned int request,
			    struct seccomp_data *d);

#endif
