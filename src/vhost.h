/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vhost operations on the devices of a running VM. The kernel lets only the owner of a
 * device make them (vhost_dev_check_owner()), so they run in the VM's own context: all of
 * one call in as few stops as owner.h allows.
 *
 * They are not tried on a borrowed fd first, harmless as that looks: drivers/vhost/net.c and
 * vsock.c answer a refusal by the owner check with a flush of the workers, under the
 * device's mutex. On a stopped VM that never ends.
 */
#ifndef VHOST_H
#define VHOST_H

#include <stdbool.h>
#include <stdint.h>

#include "owner.h"
#include "state.h"
#include "vm.h"

enum vhost_verb {
	VHOST_BUSYLOOP_GET,
	VHOST_BUSYLOOP_SET,
	VHOST_WORKER_GET,
	VHOST_WORKER_NEW,	/* from OWNER_THREAD_MAIN: the worker inherits from its maker */
	VHOST_WORKER_FREE,	/* these two from OWNER_THREAD_HELPER: they block */
	VHOST_WORKER_ATTACH,
};

struct vhost_op {
	const struct device *device;
	enum vhost_verb verb;
	unsigned int index;	/* of the queue; NEW and FREE have none */
	uint32_t value;		/* usecs (of 1.024 us) or worker id: in for SET, ATTACH, FREE, else out */
	bool essential;		/* when it fails, the operations after it are not done */
	bool begun;		/* it may have happened, even if no answer came back */
	bool done;		/* the kernel was asked, and answered */
	int errnum;		/* when done: 0, or what the kernel said */
};

struct vhost_ops {
	struct vhost_op *items;
	size_t n;
};

/* One more; it is valid until the next. */
struct vhost_op *vhost_add(struct vhost_ops *ops, const struct device *d, enum vhost_verb verb,
			   unsigned int index, uint32_t value);

/*
 * Run @ops in order, all of one VM. 0 when each was asked (look at errnum of each), up to an
 * essential one that failed; -1 with @e when they could not be: those with done set were asked all
 * the same. @log may be NULL.
 */
int vhost_run(const struct vm_ref *vm, enum owner_thread rule, struct vhost_op *ops, size_t n,
	      struct owner_log *log, struct error *e);

/* Says in words what the kernel answered to @op (errnum is not 0). Returns -1. */
int vhost_explain(const struct vhost_op *op, struct error *e);

/* drivers/vhost/scsi.c: its module parameter max_io_vqs allows 1024 request queues ... */
#define VHOST_SCSI_QUEUES_MAX 1026
/* ... which come after control and event queue (VHOST_SCSI_VQ_IO). */
#define VHOST_SCSI_FIRST_REQUEST 2
/* One worker for each request queue is the most that can be of use. */
#define VHOST_SCSI_WORKERS_MAX (VHOST_SCSI_QUEUES_MAX - VHOST_SCSI_FIRST_REQUEST)

/* Does the kernel use a busy-loop timeout on this kind, or only store it? */
bool vhost_uses_busyloop(enum device_kind kind);

/* Queues of a device of @kind, fixed in its driver; 0: the module or the VMM chose. */
unsigned int vhost_queue_count(enum device_kind kind);

/*
 * The queues of those of @ops that were not done or were refused, "net0/rx net0/tx scsi0/2-129", as they can
 * be typed; to be freed.
 */
char *vhost_left(const struct vhost_op *ops, size_t n);

#endif
