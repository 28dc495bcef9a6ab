/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TARGET: VM, VM/DEVICE or VM/DEVICE/QUEUES, as people type it.
 *
 * VM is a pid, a guest name or a uuid. A number that is the pid of a VM means that VM, even if
 * another one is named so: a guest must not be able to get in the way by its name. Names may hold
 * slashes: of all ways to cut the text the one with the longest VM is taken, and none when another
 * way is a part of another VM.
 * DEVICE is an id ("net0"), an fd ("fd8"), or the name of a tap: all the vhost-net devices
 * known to drive it. An id wins over a tap of the same name.
 * QUEUES is a list of indices, ranges and names: "0-3,7", "rx", "req0".
 */
#ifndef TARGET_H
#define TARGET_H

#include "state.h"
#include "value.h"

struct selected {
	struct vm *vm;
	struct device *device;	/* NULL: the VM and all its devices */
	struct ranges queues;	/* n == 0: all */
};

/* Points into the state it was made of. */
struct selection {
	struct selected *items;
	size_t n;
};

/*
 * Add what @text names in @s to @sel. STATUS_USAGE when it is no target; STATUS_NOT_FOUND when
 * there is no such thing, and the message says what there is, or when it names two VMs;
 * STATUS_DENIED when a process that could not be read goes by this name.
 */
int target_resolve(struct state *s, const char *text, struct selection *sel, struct error *e);

/* Whether @s selects the queue of that index. */
bool target_has_queue(const struct selected *s, unsigned int index);

/*
 * Once the device's queues are known: STATUS_NOT_FOUND if one of those selected does not exist.
 * (Those of net and vsock are known beforehand: target_resolve() refuses them.)
 */
int target_check_queues(const struct selected *s, struct error *e);

/*
 * Scan for the VMs of @n targets and resolve them all: only the processes named, when all VMs are
 * given as pids, else the whole host. No targets: all VMs.
 */
int target_find(const char *const *texts, size_t n, struct state *s, struct selection *sel,
		struct error *e);

/* A tap of a VM as it was named. */
struct target_tap {
	struct tap *tap;	/* NULL: the whole VM was named */
	const char *ifname;	/* the name in the text, if it was one */
	int fd;			/* the file that was named or that the device drives; -1: not known */
};

/*
 * Scan for what @text names, a VM or a tap of one: by its name, a file of it as "fd9", or a device
 * that is known to drive it. Without a file it is only the name that is known, until taps_regroup().
 */
int target_find_tap(const char *text, struct state *s, struct vm **vm, struct target_tap *t, struct error *e);

/*
 * @item by pid, fd and indices: found again with a look at one process, it is no other of that
 * name. Free it.
 */
char *target_fixed(const struct selected *item);

/* "vm1/net0/rx" as one types it (the pid if it has no name); bytes as they are. Free it. */
char *target_name(const struct vm *vm, const struct device *d, const struct queue *q);

/*
 * Errors of lower layers know the device, or nothing: put the VM before it, as one types it.
 * Returns -1.
 */
int target_error(struct error *e, const struct vm *vm);

void selection_free(struct selection *sel);

#endif
