/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the state of queues is read: by the kernel snapshot where it works, else in the owner's context. */
#ifndef SOURCE_H
#define SOURCE_H

#include "snapshot.h"
#include "state.h"
#include "target.h"

enum source { SOURCE_AUTO, SOURCE_SNAPSHOT, SOURCE_OWNER };

/* "snapshot" or "owner"; NULL is SOURCE_AUTO. */
int source_parse(const char *text, enum source *source, struct error *e);

/*
 * Take a snapshot of the VMs of @sel, and note what it came to in s->source. 1: it is taken and
 * serves them all. 0: the owner's context it is, and @e says why if the snapshot was tried.
 * -1: @want is SOURCE_SNAPSHOT and it cannot be.
 */
int source_take(enum source want, struct state *s, const struct selection *sel,
		struct snapshot *snap, struct error *e);

/* -1 and @e when the snapshot's kinds are not those of all devices of @sel. */
int source_check(const struct snapshot *snap, const struct selection *sel, struct error *e);

/* "owner", or NULL when nothing of @sel has a device that its owner could be asked about. */
const char *source_owner(const struct selection *sel);

/*
 * Fill @vm from the snapshot, after which it is still the process that was scanned. Busy-loop
 * timeouts of kinds that ignore them: only with @ignored_too.
 */
int source_merge(const struct snapshot *snap, struct vm *vm, bool ignored_too, struct error *e);

/*
 * Both at once, of the one VM of @sel. 1: it is read. 0: nothing is, it is to be asked in the owner's
 * context, and @why says why if the snapshot was tried. -1 and @e: @want cannot be had, or the VM or
 * one of the devices has gone.
 */
int source_read(enum source want, struct state *s, const struct selection *sel, bool ignored_too,
		struct error *why, struct error *e);

/* Drop rows of queues that the VMM has not set up, except of devices whose queues @sel names. */
void source_hide_unused(struct state *s, const struct selection *sel);

#endif
