/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbered entries of a directory of /proc: processes, tasks, fds. */
#ifndef PROCDIR_H
#define PROCDIR_H

#include <stddef.h>

/* Plain getdents64 into one buffer: a whole-host scan opens thousands of directories. */
struct procdir {
	int fd;			/* not owned */
	size_t pos, len;
	char buf[16384] __attribute__((aligned(8)));
};

void procdir_start(struct procdir *d, int fd);

/*
 * Name of the next entry that is a number, which goes to *number; it stays valid
 * until the next call. NULL at the end or on failure, errno then telling which (0: end).
 */
const char *procdir_next(struct procdir *d, int *number);

#endif
