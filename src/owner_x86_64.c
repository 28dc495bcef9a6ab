// SPDX-License-Identifier: GPL-2.0-or-later
#include "owner_arch.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "util.h"

#ifndef __x86_64__
#error "the owner context knows x86-64 only"
#endif

#define USER_CS 0x33
#define USER_SS 0x2b

#define FLAG_TF 0x100u
#define FLAG_DF 0x400u
#define FLAG_AC 0x40000u

/* arch/x86/include/uapi/asm/sigcontext.h and ucontext.h; the headers clash with glibc's. */
#define FP_MAGIC1 0x46505853u
#define FP_MAGIC2 0x46505845u
#define UC_FP_XSTATE_FLAG 1u
#define UC_SIGCONTEXT_SS_FLAG 2u
#define UC_STRICT_RESTORE_SS_FLAG 4u

#define RED_ZONE 128

/* Offsets within an XSAVE area (standard format). */
#define XSAVE_SW_RESERVED 464	/* ptrace puts XCR0 here, a signal frame its own header */
#define XSAVE_BV 512
#define XSAVE_MIN 576

#define XFEATURE_FP_SSE 3ull
#define XFEATURE_PKRU (1ull << 9)
#define XFEATURE_AMX_DATA (1ull << 18)

/* What the kernel's sigreturn reads: struct rt_sigframe of arch/x86. */
struct sigframe {
	uint64_t return_address;
	uint64_t uc_flags, uc_link;
	uint64_t ss_sp;
	uint32_t ss_flags, ss_pad;
	uint64_t ss_size;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
	uint64_t di, si, bp, bx, dx, ax, cx, sp, ip, flags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
	uint64_t sigmask;
	unsigned char siginfo[128];
};
_Static_assert(sizeof(struct sigframe) == 440, "struct rt_sigframe is 440 bytes");

/* struct _fpx_sw_bytes */
struct fp_header {
	uint32_t magic1, extended_size;
	uint64_t xfeatures;
	uint32_t xstate_size, padding[7];
};
_Static_assert(sizeof(struct fp_header) == 48, "struct _fpx_sw_bytes is 48 bytes");

static const unsigned char syscall_ret[] = { 0x0f, 0x05, 0xc3 };
static const unsigned char sigreturn_long[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
static const unsigned char sigreturn_short[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };

bool arch_find_gadgets(const unsigned char *text, size_t len, uint64_t base,
		       struct arch_gadgets *g)
{
	const unsigned char *p;

	if (!g->syscall) {
		p = memmem(text, len, syscall_ret, sizeof(syscall_ret));
		if (p)
			g->syscall = base + (uint64_t)(p - text);
	}
	if (!g->sigreturn) {
		g->sigreturn_len = sizeof(sigreturn_long);
		p = memmem(text, len, sigreturn_long, sizeof(sigreturn_long));
		if (!p) {
			g->sigreturn_len = sizeof(sigreturn_short);
			p = memmem(text, len, sigreturn_short, sizeof(sigreturn_short));
		}
		if (p)
			g->sigreturn = base + (uint64_t)(p - text);
	}
	return g->syscall && g->sigreturn;
}

int arch_verify_gadgets(pid_t tid, const struct arch_gadgets *g)
{
	unsigned char a[sizeof(syscall_ret)], b[sizeof(sigreturn_long)];
	struct iovec local[2] = { { a, sizeof(a) }, { b, g->sigreturn_len } };
	struct iovec remote[2] = { { (void *)g->syscall, sizeof(a) }, /* NOLINT: their address */
				   { (void *)g->sigreturn, g->sigreturn_len } };
	const unsigned char *want =
		g->sigreturn_len == sizeof(sigreturn_long) ? sigreturn_long : sigreturn_short;
	ssize_t n = process_vm_readv(tid, local, 2, remote, 2, 0);

	if (n < 0)
		return -1;
	if ((size_t)n != sizeof(a) + g->sigreturn_len || memcmp(a, syscall_ret, sizeof(a)) ||
	    memcmp(b, want, g->sigreturn_len)) {
		errno = EFAULT;
		return -1;
	}
	return 0;
}

int arch_read_context(pid_t tid, struct arch_context *c)
{
	struct iovec iov = { c->xstate, sizeof(c->xstate) };

	if (ptrace(PTRACE_GETREGS, tid, 0, &c->regs) < 0 ||
	    ptrace(PTRACE_GETSIGMASK, tid, sizeof(c->sigmask), &c->sigmask) < 0 ||
	    ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &iov) < 0)
		return -1;
	c->xstate_len = iov.iov_len;
	if (c->regs.cs != USER_CS || c->regs.ss != USER_SS || c->xstate_len < XSAVE_MIN) {
		errno = EINVAL;
		return -1;
	}
	return 0;
}

long arch_syscall_nr(const struct arch_context *c)
{
	return (long)c->regs.orig_rax;
}

uint64_t arch_sp(const struct arch_context *c)
{
	return c->regs.rsp;
}

uint64_t arch_tls(const struct arch_context *c)
{
	return c->regs.fs_base;
}

/* Where the XSAVE area of feature i ends, in the standard format; 0: no such feature. */
static size_t xsave_end[63];

void arch_prepare(void)
{
	unsigned int bytes, offset, flags, unused;

	if (__get_cpuid_max(0, NULL) < 0xd)
		return;
	for (unsigned int i = 2; i < ARRAY_SIZE(xsave_end); i++) {
		__cpuid_count(0xd, i, bytes, offset, flags, unused);
		xsave_end[i] = bytes ? (size_t)offset + bytes : 0;
	}
}

/*
 * Bytes of user XSAVE state for the features in @features. Not the regset's size:
 * that counts features the process never asked for (AMX), and sigreturn silently
 * restores no more than FP and SSE when the size is not one it would have written.
 */
static size_t xsave_size(uint64_t features)
{
	size_t size = XSAVE_MIN;

	for (unsigned int i = 2; i < ARRAY_SIZE(xsave_end); i++)
		if (features & (1ull << i) && xsave_end[i] > size)
			size = xsave_end[i];
	return size;
}

static uint64_t u64_at(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* The extended state as sigreturn wants it, at @fp within the frame. */
static void put_fpstate(const struct arch_context *c, unsigned char *fp, uint64_t features,
			size_t size)
{
	uint64_t xcr0 = u64_at(c->xstate + XSAVE_SW_RESERVED);
	uint64_t bv = u64_at(c->xstate + XSAVE_BV);
	struct fp_header header = { .magic1 = FP_MAGIC1,
				    .extended_size = (uint32_t)size + 4,
				    .xfeatures = features,
				    .xstate_size = (uint32_t)size };
	const uint32_t magic2 = FP_MAGIC2;

	/* A clear bit means "initial", which for PKRU is not what the kernel starts from. */
	bv = (bv | XFEATURE_FP_SSE | (xcr0 & XFEATURE_PKRU)) & features;
	memcpy(fp, c->xstate, size < c->xstate_len ? size : c->xstate_len);
	memcpy(fp + XSAVE_SW_RESERVED, &header, sizeof(header));
	memcpy(fp + XSAVE_BV, &bv, sizeof(bv));
	memcpy(fp + size, &magic2, sizeof(magic2));
}

#define FUTEX_COMMAND 0x7fu
#define FUTEX_WAIT_BITSET_OP 9u	/* takes an absolute timeout, so that doing it again is right */

/* ERESTARTSYS 512, ERESTARTNOINTR 513, ERESTARTNOHAND 514, ERESTART_RESTARTBLOCK 516 */
static bool restarts_plainly(long rax)
{
	return rax == -512 || rax == -513 || rax == -514;
}

/*
 * What the kernel would have done on the way out of an interrupted system call,
 * done in the frame, since a sigreturn carries no restart.
 */
static void put_restart(const struct user_regs_struct *r, struct sigframe *s)
{
	long rax = (long)r->rax;

	if ((long)r->orig_rax < 0)
		return;
	if (restarts_plainly(rax) ||
	    (rax == -516 && r->orig_rax == SYS_futex &&
	     (r->rsi & FUTEX_COMMAND) == FUTEX_WAIT_BITSET_OP)) {
		s->ax = r->orig_rax;
		s->ip = r->rip - 2;
	} else if (rax == -516) {
		s->ax = (uint64_t)-EINTR;
	}
}

static void put_sigframe(const struct arch_context *c, const struct arch_gadgets *g,
			 uint64_t fpstate, struct sigframe *s)
{
	const struct user_regs_struct *r = &c->regs;

	*s = (struct sigframe){
		.return_address = g->sigreturn,
		.uc_flags = UC_FP_XSTATE_FLAG | UC_SIGCONTEXT_SS_FLAG | UC_STRICT_RESTORE_SS_FLAG,
		/* Invalid on purpose: sigreturn then leaves the alternate stack as it is. */
		.ss_flags = 0x5a,
		.r8 = r->r8, .r9 = r->r9, .r10 = r->r10, .r11 = r->r11,
		.r12 = r->r12, .r13 = r->r13, .r14 = r->r14, .r15 = r->r15,
		.di = r->rdi, .si = r->rsi, .bp = r->rbp, .bx = r->rbx,
		.dx = r->rdx, .ax = r->rax, .cx = r->rcx, .sp = r->rsp,
		.ip = r->rip, .flags = r->eflags,
		.cs = (uint16_t)r->cs, .ss = (uint16_t)r->ss,
		.fpstate = fpstate,
		.sigmask = c->sigmask,
	};
	put_restart(r, s);
}

int arch_build_frame(const struct arch_context *c, const struct arch_gadgets *g,
		     struct arch_frame *f)
{
	uint64_t features = u64_at(c->xstate + XSAVE_SW_RESERVED);
	uint64_t fp;
	struct sigframe s;
	size_t size;

	if (!(u64_at(c->xstate + XSAVE_BV) & XFEATURE_AMX_DATA))
		features &= ~XFEATURE_AMX_DATA;
	size = xsave_size(features);
	f->arg = (c->regs.rsp - RED_ZONE - ARCH_ARG_MAX) & ~63ull;
	fp = (f->arg - (size + 4)) & ~63ull;
	/* As at a handler's first instruction: 16-byte aligned but for the return address. */
	f->addr = ((fp - sizeof(s)) & ~15ull) - 8;
	f->len = f->arg + ARCH_ARG_MAX - f->addr;
	if (f->len > sizeof(f->bytes) || size > c->xstate_len) {
		errno = EOVERFLOW;
		return -1;
	}
	memset(f->bytes, 0, f->len);
	put_sigframe(c, g, fp, &s);
	memcpy(f->bytes, &s, sizeof(s));
	put_fpstate(c, f->bytes + (fp - f->addr), features, size);
	return 0;
}

int arch_set_call(pid_t tid, const struct arch_context *c, const struct arch_gadgets *g,
		  const struct arch_frame *f, int fd, unsigned int request)
{
	struct user_regs_struct r = c->regs;

	r.orig_rax = (unsigned long long)-1;	/* nothing to restart on the way out */
	r.rip = g->syscall;
	r.rsp = f->addr;
	r.rax = SYS_ioctl;
	r.rdi = (unsigned int)fd;
	r.rsi = request;
	r.rdx = f->arg;
	r.eflags &= ~(unsigned long long)(FLAG_TF | FLAG_DF | FLAG_AC);
	return ptrace(PTRACE_SETREGS, tid, 0, &r) < 0 ? -1 : 0;
}

int arch_call_result(pid_t tid, const struct arch_gadgets *g, const struct arch_frame *f,
		     long *rc)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, tid, 0, &r) < 0)
		return -1;
	if (r.rip != g->syscall + 2 || r.rsp != f->addr || r.orig_rax != SYS_ioctl) {
		errno = EPROTO;
		return -1;
	}
	*rc = (long)r.rax;
	return 0;
}

bool arch_is_at_call(pid_t tid, const struct arch_gadgets *g, const struct arch_frame *f)
{
	struct user_regs_struct r;

	return ptrace(PTRACE_GETREGS, tid, 0, &r) == 0 && r.rsp == f->addr &&
	       (r.rip == g->syscall || r.rip == g->syscall + 2);
}

int arch_restore(pid_t tid, const struct arch_context *c)
{
	return ptrace(PTRACE_SETREGS, tid, 0, &c->regs) < 0 ? -1 : 0;
}

static void seccomp_common(const struct arch_context *c, const struct arch_frame *f, int fd,
			   unsigned int request, struct seccomp_data *d)
{
	*d = (struct seccomp_data){
		.arch = AUDIT_ARCH_X86_64,
		.args = { (unsigned int)fd, request, f->arg, c->regs.r10, c->regs.r8, c->regs.r9 },
	};
}

void arch_seccomp_ioctl(const struct arch_context *c, const struct arch_gadgets *g,
			const struct arch_frame *f, int fd, unsigned int request,
			struct seccomp_data *d)
{
	seccomp_common(c, f, fd, request, d);
	d->nr = SYS_ioctl;
	d->instruction_pointer = g->syscall + 2;
}

void arch_seccomp_sigreturn(const struct arch_context *c, const struct arch_gadgets *g,
			    const struct arch_frame *f, int fd, unsigned int request,
			    struct seccomp_data *d)
{
	seccomp_common(c, f, fd, request, d);
	d->nr = SYS_rt_sigreturn;
	d->instruction_pointer = g->sigreturn + g->sigreturn_len;
}
