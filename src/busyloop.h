/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Busy-loop timeouts of the queues of one VM: read, set, read back, put back. */
#ifndef BUSYLOOP_H
#define BUSYLOOP_H

#include "state.h"
#include "target.h"
#include "vhost.h"

/*
 * The values of all queues of those devices of @vm that @sel names, into the devices' queues.
 */
int busyloop_get(struct vm *vm, const struct selection *sel, struct owner_log *log,
		 struct error *e);

/*
 * Set them all to @usecs and add what changed to @c, @after being a read-back. All or nothing:
 * when one is refused the others are put back; STATUS_ROLLBACK if that fails too.
 * With @dry_run only the reading is done, and @after is what would be.
 */
int busyloop_set(struct vm *vm, const struct selection *sel, uint32_t usecs, bool dry_run,
		 struct changes *c, struct owner_log *log, struct error *e);

/* A value for one queue of a kind with a fixed number of them. */
struct busyloop_want {
	const struct device *device;
	unsigned int index;
	uint32_t usecs;
	uint32_t before;	/* as the kernel had it, once it is set */
};

/* Set each to its own value, read back; all or nothing as above, in as few stops as owner.h allows. */
int busyloop_set_each(struct vm *vm, struct busyloop_want *wants, size_t n, struct owner_log *log,
		      struct error *e);

#endif
