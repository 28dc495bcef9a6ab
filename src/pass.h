/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files from a child to us, over a socket (SCM_RIGHTS, unix(7)). */
#ifndef PASS_H
#define PASS_H

#include <stddef.h>

#define PASS_MAX 2		/* files in one message */

/*
 * The two ends, close-on-exec. Of a kind that tells who receives when the other end is gone: a child that
 * was killed sends nothing, and a datagram socket would have us wait for it for ever.
 */
int pass_pair(int pair[2]);

/*
 * Send @errnum and, when that is 0, the @n files @fds. -1: errno says why not. Each of one message is
 * smaller than any bound on messages.
 */
int pass_files(int to, int errnum, const int *fds, size_t n);

/* Receive @n files, close-on-exec. 0; or the errno that was sent, or ours; ECHILD when nothing came. */
int receive_files(int from, int *fds, size_t n);

#endif
