/* SPDX-License-Identifier: GPL-2.0-or-later */
/* On which cpus a thread may run. */
#ifndef AFFINITY_H
#define AFFINITY_H

#include <stdint.h>
#include <sys/types.h>

#include "error.h"
#include "value.h"

/*
 * "0-3,8" into @cpus. STATUS_USAGE when it is no such list, STATUS_NOT_FOUND when this
 * host does not have one of them online. To be freed with ranges_free().
 */
int affinity_parse(const char *text, struct ranges *cpus, struct error *e);

/* STATUS_FAILED when the cpuset of the thread's cgroup, /proc/PID being @proc_fd, lacks one. */
int affinity_check_cpuset(int proc_fd, const struct ranges *cpus, struct error *e);

/* The cpus thread @tid may run on now. */
int affinity_get(pid_t tid, struct ranges *cpus, struct error *e);

/*
 * Make thread @tid, that started at @start_time, run on @cpus only, and read it back. When it
 * is not what was asked for, the old cpus are put back.
 */
int affinity_set(pid_t tid, uint64_t start_time, const struct ranges *cpus, struct error *e);

#endif
