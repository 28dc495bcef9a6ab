/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A child that may be killed at any time without harm, and is when it is late. */
#ifndef OWNER_CHILD_H
#define OWNER_CHILD_H

#include <sys/types.h>

/*
 * 0 when it ended by the deadline, -1 when it was killed. One that does not even die then is left
 * behind: it waits for memory of a VM that does not give it, and ends with that VM.
 */
int owner_child_wait(pid_t child, int deadline_ms);

#endif
