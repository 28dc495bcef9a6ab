/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads of /proc that a hostile process can have us wait in for ever, not even to be killed: it holds the
 * lock that they take (mmap_lock of cmdline and maps) while it waits for a file system that it serves by
 * itself. So a child makes them, one for all of them, and is left behind when it is late.
 */
#ifndef ASIDE_H
#define ASIDE_H

#include "procfs.h"

/* ETIMEDOUT in words. */
extern const char aside_late[];

/*
 * As proc_read() of @path below @pid_fd, a process's directory of /proc; ETIMEDOUT when there is no answer
 * in time, and at once for a while of that process then; EAGAIN when there is no child to be had.
 */
int aside_read(int pid_fd, const char *path, size_t max, struct proc_text *text);

/*
 * Whether the process lets itself be looked into: the lock that execve() holds (exec_update_lock), also
 * while it closes files, is one that kcmp(), pidfd_getfd() and the opening of mem and maps wait for.
 * If not: ETIMEDOUT, or EAGAIN when nobody could be sent to ask.
 */
bool aside_answers(int pid_fd);

/* What the child there is now has taken of a CPU; 0: there is none. */
int64_t aside_cpu_ns(void);

/* Without a child; the next read has one again. */
void aside_end(void);

#endif
