/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads that vhost runs for a VM: inside its process (6.4+), or as kernel threads. */
#ifndef THREADS_H
#define THREADS_H

#include "state.h"

/*
 * Add the vhost tasks of the process below @pid_fd (/proc/PID) to vm->threads. Other threads
 * that the kernel runs in a VM (kvm-nx-lpage-re) are told apart by name. -1 and errno when we are
 * short of descriptors or memory.
 */
int threads_read_tasks(int pid_fd, struct vm *vm);

/* A thread that serves vhost: "vhost-N", N being the TID that took ownership or made it. */
struct kthread {
	pid_t tid;
	pid_t owner_tid;
	uint64_t start_time;
};

struct kthreads {
	struct kthread *items;
	size_t n;
};

/*
 * The vhost tasks of the process below @pid_fd, in the order in which they came to be (the
 * kernel keeps its list of threads so). -1 and errno; nothing to free then.
 */
int threads_list_tasks(int pid_fd, struct kthreads *list);

/* All of them on this host, below @proc_fd (/proc). Nothing to free if none. */
void threads_find_kthreads(int proc_fd, struct kthreads *list);

/* Add those of @list that serve @vm, and are not there yet, to vm->threads. */
void threads_match_kthreads(int proc_fd, const struct kthreads *list, struct vm *vm);

/* When the thread of that number started, which tells it from another one later; false: there is none. */
bool thread_start_time(int64_t tid, uint64_t *start_time);

/* Cpus, policy, nice, cgroup and cpu time of the thread below @task_fd again, into @w. */
int threads_read_one(int task_fd, struct worker *w);

#endif
