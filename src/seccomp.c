// SPDX-License-Identifier: GPL-2.0-or-later
#include "seccomp.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>

#define MALFORMED SECCOMP_RET_KILL_PROCESS

struct machine {
	uint32_t a, x, mem[BPF_MEMWORDS];
	size_t pc, len;
	const unsigned char *data;
};

static bool load(struct machine *m, const struct sock_filter *i)
{
	uint32_t *to = BPF_CLASS(i->code) == BPF_LD ? &m->a : &m->x;

	switch (i->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		if (i->k % 4 || i->k > sizeof(struct seccomp_data) - 4)
			return false;
		memcpy(to, m->data + i->k, sizeof(*to));
		return true;
	case BPF_LD | BPF_W | BPF_LEN:
	case BPF_LDX | BPF_W | BPF_LEN:
		*to = sizeof(struct seccomp_data);
		return true;
	case BPF_LD | BPF_IMM:
	case BPF_LDX | BPF_IMM:
		*to = i->k;
		return true;
	case BPF_LD | BPF_MEM:
	case BPF_LDX | BPF_MEM:
		if (i->k >= BPF_MEMWORDS)
			return false;
		*to = m->mem[i->k];
		return true;
	default:
		return false;
	}
}

static bool store(struct machine *m, const struct sock_filter *i)
{
	if ((i->code != BPF_ST && i->code != BPF_STX) || i->k >= BPF_MEMWORDS)
		return false;
	m->mem[i->k] = i->code == BPF_ST ? m->a : m->x;
	return true;
}

enum alu { ALU_DONE, ALU_BAD, ALU_DIVIDED_BY_ZERO };

static enum alu alu(struct machine *m, const struct sock_filter *i)
{
	uint32_t v = BPF_SRC(i->code) == BPF_X ? m->x : i->k;

	switch (BPF_OP(i->code)) {
	case BPF_ADD:
		m->a += v;
		return ALU_DONE;
	case BPF_SUB:
		m->a -= v;
		return ALU_DONE;
	case BPF_MUL:
		m->a *= v;
		return ALU_DONE;
	case BPF_DIV:
		if (!v)
			return ALU_DIVIDED_BY_ZERO;
		m->a /= v;
		return ALU_DONE;
	case BPF_AND:
		m->a &= v;
		return ALU_DONE;
	case BPF_OR:
		m->a |= v;
		return ALU_DONE;
	case BPF_XOR:
		m->a ^= v;
		return ALU_DONE;
	/* The kernel's 32-bit shifts take the low five bits, as the processor does. */
	case BPF_LSH:
		m->a <<= v & 31;
		return ALU_DONE;
	case BPF_RSH:
		m->a >>= v & 31;
		return ALU_DONE;
	case BPF_NEG:
		m->a = -m->a;
		return ALU_DONE;
	default:
		return ALU_BAD;
	}
}

/* Advances pc; a target past the end is found by the caller's bound. */
static bool jump(struct machine *m, const struct sock_filter *i)
{
	uint32_t v = BPF_SRC(i->code) == BPF_X ? m->x : i->k;
	bool taken;

	switch (BPF_OP(i->code)) {
	case BPF_JA:
		m->pc += i->k;
		return true;
	case BPF_JEQ:
		taken = m->a == v;
		break;
	case BPF_JGT:
		taken = m->a > v;
		break;
	case BPF_JGE:
		taken = m->a >= v;
		break;
	case BPF_JSET:
		taken = m->a & v;
		break;
	default:
		return false;
	}
	m->pc += taken ? i->jt : i->jf;
	return true;
}

static bool misc(struct machine *m, const struct sock_filter *i)
{
	if (BPF_MISCOP(i->code) == BPF_TAX)
		m->x = m->a;
	else if (BPF_MISCOP(i->code) == BPF_TXA)
		m->a = m->x;
	else
		return false;
	return true;
}

uint32_t seccomp_run(const struct sock_filter *prog, size_t len, const struct seccomp_data *data)
{
	struct machine m = { .len = len, .data = (const unsigned char *)data };

	/* Jumps only go forward, so this ends. */
	while (m.pc < m.len) {
		const struct sock_filter *i = &prog[m.pc++];
		enum alu result;
		bool ok;

		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
		case BPF_LDX:
			ok = load(&m, i);
			break;
		case BPF_ST:
		case BPF_STX:
			ok = store(&m, i);
			break;
		case BPF_ALU:
			result = alu(&m, i);
			/* A classic program ends with 0 there: SECCOMP_RET_KILL_THREAD. */
			if (result == ALU_DIVIDED_BY_ZERO)
				return SECCOMP_RET_KILL_THREAD;
			ok = result == ALU_DONE;
			break;
		case BPF_JMP:
			ok = jump(&m, i);
			break;
		case BPF_RET:
			return BPF_RVAL(i->code) == BPF_A ? m.a : i->k;
		default:
			ok = misc(&m, i);
		}
		if (!ok)
			return MALFORMED;
	}
	return MALFORMED;
}

bool seccomp_lets_through(uint32_t verdict)
{
	uint32_t action = verdict & SECCOMP_RET_ACTION_FULL;

	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}
