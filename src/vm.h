/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A VM process held so that no other process can be taken for it. */
#ifndef VM_H
#define VM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "error.h"

/*
 * A pid number can come to mean another process; a pidfd and a directory fd of
 * /proc/PID cannot. The start time ties both to what an earlier scan saw.
 */
struct vm_ref {
	pid_t pid;
	int pidfd;
	int proc_fd;		/* /proc/PID */
	uint64_t start_time;
};

#define VM_REF_INIT ((struct vm_ref){ .pidfd = -1, .proc_fd = -1 })

/*
 * Hold the process @pid that started at @start_time (0: whatever it is now).
 * STATUS_NOT_FOUND when it is gone or the pid is another process's by now.
 */
int vm_hold(struct vm_ref *ref, pid_t pid, uint64_t start_time, struct error *e);

/* Whether it still runs: to be asked before each act. */
int vm_recheck(const struct vm_ref *ref, struct error *e);

/* Has the process that started at @start_time ended? False as well when there is no telling. */
bool vm_has_ended(pid_t pid, uint64_t start_time);

void vm_release(struct vm_ref *ref);

#endif
