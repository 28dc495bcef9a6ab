// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The seccomp evaluator against the kernel's own verdict: a filter made of the input is installed by a process
 * that then makes one getppid(), with arguments that mean nothing to it but may to the filter.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"
#include "seccomp.h"

#ifndef __x86_64__
#error "the call below is x86-64's"
#endif

#define MOST 64

/* What the process that has the filter tells; it shares our memory, and nothing else of us. */
static struct {
	struct sock_fprog prog;
	uint64_t args[6];
	volatile long result;
	volatile int trapped;		/* si_errno of SIGSYS, plus one */
	volatile enum { STARTED, INSTALLED, REFUSED, RETURNED } stage;
} call;

extern const char after_call[];		/* what the filter sees as the instruction pointer */

/* Here nothing may make a system call but the one that is tried: a sanitizer's runtime would. */
#define BARE __attribute__((noinline, no_sanitize("address", "undefined")))

static BARE void rest(void)
{
	for (;;)
		__builtin_ia32_pause();
}

static BARE void on_sigsys(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	call.trapped = info->si_errno + 1;
	rest();
}

static BARE long make_call(void)
{
	register long r10 __asm__("r10") = (long)call.args[3];
	register long r8 __asm__("r8") = (long)call.args[4];
	register long r9 __asm__("r9") = (long)call.args[5];
	long result;

	__asm__ volatile("syscall\n"
			 ".globl after_call\n"
			 "after_call:"
			 : "=a"(result)
			 : "0"((long)SYS_getppid), "D"(call.args[0]), "S"(call.args[1]), "d"(call.args[2]),
			   "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static BARE int with_filter(void *unused)
{
	(void)unused;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &call.prog)) {
		call.stage = REFUSED;
		rest();
	}
	call.stage = INSTALLED;
	call.result = make_call();
	call.stage = RETURNED;
	rest();
	return 0;
}

/* How it ended: 0 or the signal that did it, once the call is over one way or the other. */
static int run(void)
{
	static char stack[1 << 16] __attribute__((aligned(64)));
	int status;
	pid_t pid;

	call.stage = STARTED;
	call.trapped = 0;
	pid = clone(with_filter, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	CHECK(pid > 0);
	for (;;) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
		sched_yield();
		if (call.stage == REFUSED || call.stage == RETURNED || call.trapped)
			break;
	}
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) != pid)
		CHECK(errno == EINTR); /* libFuzzer has a timer */
	return 0;
}

static uint32_t offset(struct input *in)
{
	uint8_t b = take_byte(in);

	return b & 0x80 ? b : b % (sizeof(struct seccomp_data) / 4) * 4;
}

/* A number that a comparison may hit. */
static uint32_t number(struct input *in, const struct seccomp_data *data)
{
	uint8_t b = take_byte(in);
	uint32_t word;

	switch (b & 3) {
	case 0:
		memcpy(&word, (const char *)data + (b >> 2) % 16 * 4, sizeof(word));
		return word;
	case 1:
		return b >> 2;
	case 2:
		return 1u << (b >> 3);
	default:
		return take_u32(in);
	}
}

static uint32_t verdict(struct input *in)
{
	static const uint32_t actions[] = {
		SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_TRAP, SECCOMP_RET_LOG, SECCOMP_RET_TRACE,
		SECCOMP_RET_KILL_THREAD, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_USER_NOTIF,
	};
	uint8_t b = take_byte(in);

	return b & 0x80 ? take_u32(in) : actions[b % 8] | b >> 3;
}

static struct sock_filter instruction(struct input *in, const struct seccomp_data *data, size_t left)
{
	static const uint16_t codes[] = {
		BPF_LD | BPF_W | BPF_ABS, BPF_LD | BPF_W | BPF_ABS, BPF_LD | BPF_W | BPF_LEN,
		BPF_LDX | BPF_W | BPF_LEN, BPF_LD | BPF_IMM, BPF_LDX | BPF_IMM, BPF_LD | BPF_MEM,
		BPF_LDX | BPF_MEM, BPF_ST, BPF_STX, BPF_ALU | BPF_ADD | BPF_K, BPF_ALU | BPF_ADD | BPF_X,
		BPF_ALU | BPF_SUB | BPF_K, BPF_ALU | BPF_SUB | BPF_X, BPF_ALU | BPF_MUL | BPF_K,
		BPF_ALU | BPF_MUL | BPF_X, BPF_ALU | BPF_DIV | BPF_K, BPF_ALU | BPF_DIV | BPF_X,
		BPF_ALU | BPF_AND | BPF_K, BPF_ALU | BPF_AND | BPF_X, BPF_ALU | BPF_OR | BPF_K,
		BPF_ALU | BPF_OR | BPF_X, BPF_ALU | BPF_XOR | BPF_K, BPF_ALU | BPF_XOR | BPF_X,
		BPF_ALU | BPF_LSH | BPF_K, BPF_ALU | BPF_LSH | BPF_X, BPF_ALU | BPF_RSH | BPF_K,
		BPF_ALU | BPF_RSH | BPF_X, BPF_ALU | BPF_NEG, BPF_MISC | BPF_TAX, BPF_MISC | BPF_TXA,
		BPF_JMP | BPF_JA, BPF_JMP | BPF_JEQ | BPF_K, BPF_JMP | BPF_JEQ | BPF_X, BPF_JMP | BPF_JGT | BPF_K,
		BPF_JMP | BPF_JGT | BPF_X, BPF_JMP | BPF_JGE | BPF_K, BPF_JMP | BPF_JGE | BPF_X,
		BPF_JMP | BPF_JSET | BPF_K, BPF_JMP | BPF_JSET | BPF_X, BPF_RET | BPF_K, BPF_RET | BPF_A,
	};
	uint8_t which = take_byte(in);
	struct sock_filter i = { .code = codes[which % ARRAY_SIZE(codes)] };

	if (which == 0xff) { /* any at all: mostly refused */
		take_bytes(in, &i, sizeof(i));
		return i;
	}
	switch (BPF_CLASS(i.code)) {
	case BPF_JMP:
		i.jt = (uint8_t)(take_byte(in) % left);
		i.jf = (uint8_t)(take_byte(in) % left);
		i.k = BPF_OP(i.code) == BPF_JA ? i.jt : number(in, data);
		break;
	case BPF_RET:
		i.k = verdict(in);
		break;
	case BPF_ST:
	case BPF_STX:
		i.k = take_byte(in) % BPF_MEMWORDS;
		break;
	default:
		i.k = BPF_MODE(i.code) == BPF_ABS ? offset(in) :
		      BPF_MODE(i.code) == BPF_MEM && BPF_CLASS(i.code) != BPF_ALU ? take_byte(in) % BPF_MEMWORDS :
		      number(in, data);
	}
	return i;
}

/* Whether the call came to what the verdict says. */
static bool agrees(uint32_t ours, int ended_by, pid_t parent)
{
	int value = (int)(ours & SECCOMP_RET_DATA);
	bool returned = !ended_by && call.stage == RETURNED;

	switch (ours & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG:
		return returned && call.result == parent && seccomp_lets_through(ours);
	case SECCOMP_RET_ERRNO:
		return returned && call.result == -(value < 4095 ? value : 4095) && !seccomp_lets_through(ours);
	case SECCOMP_RET_TRACE:
	case SECCOMP_RET_USER_NOTIF:
		return returned && call.result == -ENOSYS && !seccomp_lets_through(ours);
	case SECCOMP_RET_TRAP:
		return !ended_by && call.trapped == value + 1 && !seccomp_lets_through(ours);
	default:
		return ended_by == SIGSYS && !call.trapped && !seccomp_lets_through(ours);
	}
}

static void set_up(void)
{
	static const struct rlimit none;
	struct sigaction sa = { .sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO };

	setrlimit(RLIMIT_CORE, &none);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(sigaction(SIGSYS, &sa, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool ready;
	struct input in = { data, size };
	struct sock_filter filter[MOST];
	struct seccomp_data sd = { .nr = SYS_getppid, .arch = AUDIT_ARCH_X86_64,
				   .instruction_pointer = (uint64_t)(uintptr_t)after_call };
	size_t n = take_byte(&in) % MOST + 1;
	uint32_t ours;
	int ended_by;

	if (!ready)
		set_up();
	ready = true;
	take_bytes(&in, call.args, sizeof(call.args) / 2);
	memcpy(sd.args, call.args, sizeof(sd.args));
	for (size_t i = 0; i + 1 < n; i++)
		filter[i] = instruction(&in, &sd, n - i - 1);
	filter[n - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict(&in));
	call.prog = (struct sock_fprog){ .len = (unsigned short)n, .filter = filter };
	ours = seccomp_run(filter, n, &sd);
	ended_by = run();
	if (call.stage != REFUSED && !agrees(ours, ended_by, getpid())) {
		fprintf(stderr, "fuzz_seccomp: verdict %#x, but signal %d, trap %d, stage %d, result %ld\n", ours,
			ended_by, call.trapped, (int)call.stage, call.result);
		abort();
	}
	return 0;
}
