/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How to come to the end state of `worker spread` with the fewest moves. Pure. */
#ifndef SPREAD_H
#define SPREAD_H

#include "state.h"
#include "value.h"

/* Where a queue goes: a worker that exists, or one that is to be made. */
struct spread_move {
	unsigned int queue;
	uint32_t from;
	int64_t to;		/* id; or -1, -2, ...: the first, second, ... new worker */
};

struct spread {
	size_t n_new;
	struct spread_move *moves;
	size_t n_moves;
	uint32_t *unneeded;	/* workers that serve queues now and will not */
	size_t n_unneeded;
};

/*
 * @count workers for the queues @requests, the default worker (0) for all others. With a
 * count of one, that is the default worker for these too. Workers that serve them already
 * keep what they can.
 */
void spread_plan(const struct queue *queues, size_t n, const struct ranges *requests,
		 unsigned int count, struct spread *plan);
void spread_free(struct spread *plan);

/*
 * How many request queues QEMU's command line gives the vhost-scsi device that has @fd
 * in the process; @sole says that it is the VM's only one. 0: it does not tell for sure.
 */
unsigned int spread_cmdline_queues(const char *cmdline, size_t len, int fd, bool sole);

#endif
