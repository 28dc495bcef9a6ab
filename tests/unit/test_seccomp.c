// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The seccomp evaluator against the kernel's own verdict, for random filters:
 * each is installed in a child which then makes a system call.
 */
#include "unit.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seccomp.h"
#include "util.h"

#define LEN_MAX 24
#define ROUNDS 1500

/* What the child saw, in memory it shares with us. */
static struct {
	volatile long result;
	volatile bool installed, returned;
} *seen;

static uint32_t random_k(void)
{
	/* Often a value that is in the data, so that jumps go both ways. */
	static const uint32_t likely[] = { SYS_getppid, AUDIT_ARCH_X86_64, 1, 2, 3, 31, 32, 0xffffffff };

	return rand() % 3 ? likely[(size_t)rand() % ARRAY_SIZE(likely)] : (uint32_t)rand();
}

static struct sock_filter random_alu(void)
{
	static const uint16_t ops[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND,
					BPF_OR,	 BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG };
	uint16_t op = ops[(size_t)rand() % ARRAY_SIZE(ops)];
	bool x = rand() % 2 && op != BPF_NEG;
	uint32_t k = random_k();

	/* The kernel's checker refuses constants that it would have to define. */
	if (op == BPF_LSH || op == BPF_RSH)
		k %= 32;
	if (op == BPF_DIV && !k)
		k = 1;
	return (struct sock_filter){ (uint16_t)(BPF_ALU | op | (x ? BPF_X : BPF_K)), 0, 0, k };
}

/* Every word is written first: the checker refuses to read memory that may be unset. */
static struct sock_filter random_load(void)
{
	uint32_t word = (uint32_t)rand() % BPF_MEMWORDS;

	switch (rand() % 6) {
	case 0:
		return (struct sock_filter)BPF_STMT(BPF_LD | BPF_MEM, word);
	case 1:
		return (struct sock_filter)BPF_STMT(BPF_LDX | BPF_MEM, word);
	case 2:
		return (struct sock_filter)BPF_STMT(BPF_LDX | BPF_IMM, random_k());
	case 3:
		return (struct sock_filter)BPF_STMT((rand() % 2 ? BPF_LD : BPF_LDX) | BPF_W | BPF_LEN, 0);
	case 4:
		return (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, random_k());
	default:
		return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4 * ((uint32_t)rand() % 16));
	}
}

static struct sock_filter random_jump(size_t left)
{
	static const uint16_t ops[] = { BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET };
	uint16_t code = (uint16_t)(BPF_JMP | ops[rand() % 4] | (rand() % 2 ? BPF_X : BPF_K));

	if (rand() % 8 == 0)
		return (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)((size_t)rand() % left));
	return (struct sock_filter){ code, (uint8_t)((size_t)rand() % left),
				     (uint8_t)((size_t)rand() % left), random_k() };
}

static struct sock_filter random_return(void)
{
	switch (rand() % 5) {
	case 0:
		return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	case 1:
		return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_LOG);
	case 2:
		return (struct sock_filter)BPF_STMT(BPF_RET | BPF_A, 0);
	default:
		return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						    SECCOMP_RET_ERRNO | (1 + (uint32_t)rand() % 4000));
	}
}

static size_t random_filter(struct sock_filter *f)
{
	size_t n = 0, len = (size_t)BPF_MEMWORDS + 4 + (size_t)rand() % LEN_MAX;

	for (uint32_t word = 0; word < BPF_MEMWORDS; word++)
		f[n++] = (struct sock_filter)BPF_STMT(BPF_ST, word);
	while (n < len - 1) {
		switch (rand() % 6) {
		case 0:
			f[n] = random_alu();
			break;
		case 1:
			f[n] = random_jump(len - 1 - n);
			break;
		case 2:
			f[n] = (struct sock_filter)BPF_STMT(rand() % 2 ? BPF_ST : BPF_STX,
							    (uint32_t)rand() % BPF_MEMWORDS);
			break;
		case 3:
			f[n] = (struct sock_filter)BPF_STMT(BPF_MISC | (rand() % 2 ? BPF_TAX : BPF_TXA), 0);
			break;
		case 4:
			f[n] = rand() % 6 ? random_load() : random_return();
			break;
		default:
			f[n] = random_load();
		}
		n++;
	}
	f[n++] = random_return();
	return n;
}

/* getppid with arguments of our choice, from an instruction whose address is known. */
static long call(uint64_t args[6], uint64_t *ip)
{
	register uint64_t r10 __asm__("r10") = args[3];
	register uint64_t r8 __asm__("r8") = args[4];
	register uint64_t r9 __asm__("r9") = args[5];
	long rc = SYS_getppid;
	uint64_t at;

	__asm__ volatile("lea 1f(%%rip), %1\n\tmov %1, (%2)\n\tsyscall\n1:"
			 : "+a"(rc), "=&r"(at)
			 : "r"(ip), "D"(args[0]), "S"(args[1]), "d"(args[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return rc;
}

static uint64_t call_ip;

/* Runs under the filter: shares its result, then dies without a system call. */
static void child(const struct sock_filter *f, size_t len, uint64_t args[6])
{
	struct sock_fprog prog = { (unsigned short)len, (struct sock_filter *)f };

	/* cmocka would take the signals that end this process for a failed test. */
	signal(SIGILL, SIG_DFL);
	signal(SIGSYS, SIG_DFL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	seen->installed = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == 0;
	seen->result = call(args, &call_ip);
	seen->returned = true;
	__builtin_trap();
}

/* What a verdict makes of a getppid call, as the parent sees it. */
static void compare(uint32_t verdict, int status)
{
	switch (verdict & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG:
		assert_true(seen->returned);
		assert_int_equal(seen->result, getpid());
		break;
	case SECCOMP_RET_ERRNO:
		assert_true(seen->returned);
		/* kernel/seccomp.c caps it at MAX_ERRNO */
		assert_int_equal(seen->result, -(long)((verdict & 0xffff) < 4095 ? verdict & 0xffff : 4095));
		break;
	case SECCOMP_RET_TRACE:
	case SECCOMP_RET_USER_NOTIF:
		assert_true(seen->returned);
		assert_int_equal(seen->result, -ENOSYS);
		break;
	default:
		/* TRAP, the KILLs, and what the kernel does not know: the end */
		assert_false(seen->returned);
		assert_int_equal(WTERMSIG(status), SIGSYS);
	}
}

static void as_the_kernel(void **state)
{
	unsigned int kinds[3] = { 0 };

	(void)state;
	srand(1);
	call((uint64_t[6]){ 0 }, &call_ip);
	for (int round = 0; round < ROUNDS; round++) {
		struct sock_filter f[BPF_MEMWORDS + 4 + LEN_MAX];
		struct seccomp_data d = { .nr = SYS_getppid,
					  .arch = AUDIT_ARCH_X86_64,
					  .instruction_pointer = call_ip };
		uint64_t args[6];
		size_t len = random_filter(f);
		uint32_t verdict;
		int status;
		pid_t pid;

		for (int i = 0; i < 6; i++)
			d.args[i] = args[i] = ((uint64_t)random_k() << 32) | random_k();
		memset((void *)seen, 0, sizeof(*seen));
		pid = fork();
		if (pid == 0)
			child(f, len, args);
		waitpid(pid, &status, 0);
		assert_true(seen->installed);
		verdict = seccomp_run(f, len, &d);
		compare(verdict, status);
		kinds[seen->returned ? seen->result > 0 : 2]++;
	}
	/* The filters were worth something only if all three kinds of end came up. */
	for (int i = 0; i < 3; i++)
		assert_true(kinds[i] > ROUNDS / 50);
}

static void malformed_is_refused(void **state)
{
	static const struct sock_filter bad[][2] = {
		{ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_LD | BPF_MEM, BPF_MEMWORDS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_ST, BPF_MEMWORDS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) },
		{ BPF_STMT(0xffff, 0), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_LD | BPF_IMM, 0), BPF_STMT(BPF_LD | BPF_IMM, 0) },
	};
	struct seccomp_data d = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(seccomp_lets_through(seccomp_run(bad[i], 2, &d)));
	assert_false(seccomp_lets_through(seccomp_run(NULL, 0, &d)));
}

static void only_allow_and_log_pass(void **state)
{
	(void)state;
	assert_true(seccomp_lets_through(SECCOMP_RET_ALLOW));
	assert_true(seccomp_lets_through(SECCOMP_RET_LOG | 7));
	assert_false(seccomp_lets_through(SECCOMP_RET_ERRNO));
	assert_false(seccomp_lets_through(SECCOMP_RET_TRACE));
	assert_false(seccomp_lets_through(SECCOMP_RET_USER_NOTIF));
	assert_false(seccomp_lets_through(SECCOMP_RET_TRAP));
	assert_false(seccomp_lets_through(SECCOMP_RET_KILL_THREAD));
	assert_false(seccomp_lets_through(SECCOMP_RET_KILL_PROCESS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_the_kernel),
		cmocka_unit_test(malformed_is_refused),
		cmocka_unit_test(only_allow_and_log_pass),
	};

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return cmocka_run_group_tests_name("seccomp", tests, NULL, NULL);
}
