/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Would this seccomp filter let that system call through? Evaluated before the
 * call is made, because the answer of a real filter may be to kill the VM.
 * Pure functions; the instruction set is what seccomp_check_filter() of
 * kernel/seccomp.c accepts.
 */
#ifndef SECCOMP_H
#define SECCOMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sock_filter;
struct seccomp_data;

/*
 * The filter's verdict (SECCOMP_RET_*). A program that the kernel would not have
 * accepted counts as SECCOMP_RET_KILL_PROCESS.
 */
uint32_t seccomp_run(const struct sock_filter *prog, size_t len, const struct seccomp_data *data);

/* ALLOW and LOG let the call through unchanged; every other verdict is a refusal here. */
bool seccomp_lets_through(uint32_t verdict);

#endif
