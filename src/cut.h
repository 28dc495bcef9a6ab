/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From all that was scanned to what was asked for. */
#ifndef CUT_H
#define CUT_H

#include <stdbool.h>

#include "target.h"

/* Was this device of @vm named, by itself or with its whole VM? */
bool selection_has_device(const struct selection *sel, const struct vm *vm,
			  const struct device *d);

/* Is item @i the first of its VM, of which devices can be named one by one? */
bool selection_begins_vm(const struct selection *sel, size_t i);

/* Was this queue of a device of @vm named, by itself or with what holds it? */
bool selection_has_queue(const struct selection *sel, const struct vm *vm, const struct device *d,
			 unsigned int index);

/*
 * Drop from @s whatever @sel does not name. The pointers of @sel are void afterwards; it
 * is emptied.
 */
void state_cut(struct state *s, struct selection *sel);

/*
 * Drop the rows of queues that the VMM has not set up or, where that is not known, does not have;
 * but not of those that somebody gave a worker other than the default one.
 */
void device_hide_unused(struct device *d);

#endif
