/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is looked up in a process before one of its threads is stopped. */
#ifndef OWNER_PLAN_H
#define OWNER_PLAN_H

#include "owner_trace.h"

/*
 * Code to borrow and stacks to lay a frame in, from /proc/PID/maps and mem (not from
 * the files mapped: its mount namespace may hold others). Frees with owner_plan_free().
 */
int owner_plan_read(int proc_fd, struct owner_plan *plan, struct error *e);
void owner_plan_free(struct owner_plan *plan);

/* Refuse, with words, a process in a state where a stop would do harm or no good. */
int owner_plan_check(int proc_fd, pid_t pid, enum owner_thread rule, struct error *e);

#endif
