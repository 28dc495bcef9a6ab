/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A child that may be killed at any time without harm, and is when it is late. */
#ifndef CHILD_H
#define CHILD_H

#include <stddef.h>
#include <sys/types.h>
#include <time.h>

/*
 * 0 when it came to its end (exit status 0) by the deadline; ETIMEDOUT when it was killed; ECHILD when it
 * had ended in another way. One that does not even die when killed is left behind: it waits for memory
 * of a VM that does not give it, and ends with that VM.
 */
int child_wait(pid_t child, int deadline_ms);

/*
 * Have a child run @work, which sees all of our memory as it is now and writes to what child_share()
 * gave; to fail, it ends with another status. As it may be left behind, it is to close our files. 0, or an
 * errno: as child_wait(), or there is no child.
 */
int child_run(void (*work)(void *arg), void *arg, int deadline_ms);

/* In a child: the kernel kills it in @secs seconds, until timer_delete(). -1 and errno. */
int child_end_after(int secs, timer_t *timer);

/* @size zeroed bytes that our children share with us, for munmap(). NULL and errno. */
void *child_share(size_t size);

#endif
