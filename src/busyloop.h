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

#endif
