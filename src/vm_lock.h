/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One policy is applied to a VM at a time: a lock that ends with the process that holds it. */
#ifndef VM_LOCK_H
#define VM_LOCK_H

#include "state.h"
#include "stopper.h"

struct vm_lock {
	int fd;
	char *path;
};

#define VM_LOCK_INIT ((struct vm_lock){ .fd = -1 })

/*
 * Take the lock of @vm. While another process has it wait up to @secs seconds, then say which
 * one that is. 1: there is no place for locks that this user may write to; @e says why.
 */
int vm_lock(struct vm_lock *lock, const struct vm *vm, unsigned int secs, struct stopper *stopper,
	    struct error *e);
void vm_unlock(struct vm_lock *lock);

#endif
