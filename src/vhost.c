// SPDX-License-Identifier: GPL-2.0-or-later
#include "vhost.h"

#include <errno.h>
#include <linux/vhost.h>
#include <string.h>

#include "device.h"
#include "util.h"
#include "value.h"

/* An argument is the queue's index and a value, or the value alone. */
struct vring_arg {
	uint32_t index, value;
};
_Static_assert(sizeof(struct vring_arg) == sizeof(struct vhost_vring_state), "same layout");
_Static_assert(sizeof(struct vring_arg) == sizeof(struct vhost_vring_worker), "same layout");
_Static_assert(sizeof(uint32_t) == sizeof(struct vhost_worker_state), "same layout");
_Static_assert(sizeof(struct vring_arg) <= OWNER_ARG_MAX, "fits in a call");

enum { INDEXED = sizeof(struct vring_arg), VALUE_ONLY = sizeof(uint32_t) };

static const struct {
	unsigned int request, size;
	const char *operation;
} verbs[] = {
	[VHOST_BUSYLOOP_GET] = { VHOST_GET_VRING_BUSYLOOP_TIMEOUT, INDEXED, "read the busy-loop timeout" },
	[VHOST_BUSYLOOP_SET] = { VHOST_SET_VRING_BUSYLOOP_TIMEOUT, INDEXED, "set the busy-loop timeout" },
	[VHOST_WORKER_GET] = { VHOST_GET_VRING_WORKER, INDEXED, "read the queue's worker" },
	[VHOST_WORKER_NEW] = { VHOST_NEW_WORKER, VALUE_ONLY, "create a worker" },
	[VHOST_WORKER_FREE] = { VHOST_FREE_WORKER, VALUE_ONLY, "free the worker" },
	[VHOST_WORKER_ATTACH] = { VHOST_ATTACH_VRING_WORKER, INDEXED, "attach the queue to the worker" },
};

static unsigned int put_arg(const struct vhost_op *op, void *to)
{
	struct vring_arg arg = { op->index, op->value };

	memcpy(to, verbs[op->verb].size == INDEXED ? &arg.index : &arg.value, verbs[op->verb].size);
	return verbs[op->verb].size;
}

static void take_arg(struct vhost_op *op, const void *from)
{
	const char *value = from;

	if (verbs[op->verb].size == INDEXED)
		value += offsetof(struct vring_arg, value);
	memcpy(&op->value, value, sizeof(op->value));
}

struct vhost_op *vhost_add(struct vhost_ops *ops, const struct device *d, enum vhost_verb verb,
			   unsigned int index, uint32_t value)
{
	struct vhost_op *op = ARRAY_ADD(ops->items, ops->n);

	*op = (struct vhost_op){ .device = d, .verb = verb, .index = index, .value = value };
	return op;
}

/* Duplicates of the devices' fds, held while the calls run and no longer. */
struct borrowed {
	const struct device *device;
	int fd;
};

static void give_back(struct borrowed *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		close(b[i].fd);
	free(b);
}

static struct borrowed *find_borrowed(struct borrowed *b, size_t n, const struct device *d)
{
	for (size_t i = 0; i < n; i++)
		if (b[i].device == d)
			return &b[i];
	return NULL;
}

/* Borrow @op's device if it is not yet. */
static int borrow_for(const struct vm_ref *vm, const struct vhost_op *op, struct borrowed **list,
		      size_t *n, struct error *e)
{
	struct borrowed *b;
	int fd;

	if (find_borrowed(*list, *n, op->device))
		return 0;
	fd = device_borrow(vm, op->device, e);
	if (fd < 0)
		return error_target(e, "%s", op->device->id);
	b = ARRAY_ADD(*list, *n);
	b->device = op->device;
	b->fd = fd;
	return 0;
}

static int run_in_owner(const struct vm_ref *vm, enum owner_thread rule, struct vhost_op *ops,
			size_t n, struct borrowed *b, size_t n_b, struct owner_log *log,
			struct error *e)
{
	_cleanup_free_ struct owner_call *calls = xcalloc(n, sizeof(*calls));
	int ret;

	for (size_t i = 0; i < n; i++) {
		struct owner_call *c = &calls[i];

		c->fd = ops[i].device->fd;
		c->held_fd = find_borrowed(b, n_b, ops[i].device)->fd;
		c->request = verbs[ops[i].verb].request;
		c->size = put_arg(&ops[i], c->arg);
		c->essential = ops[i].essential;
	}
	ret = owner_run(vm->pid, vm->proc_fd, rule, calls, n, log, e);
	for (size_t i = 0; i < n; i++) {
		const struct owner_call *c = &calls[i];

		ops[i].begun = c->begun;
		ops[i].done = c->done;
		ops[i].errnum = c->done && c->result < 0 ? (int)-c->result : 0;
		if (c->done)
			take_arg(&ops[i], c->arg);
	}
	return ret;
}

int vhost_run(const struct vm_ref *vm, enum owner_thread rule, struct vhost_op *ops, size_t n,
	      struct owner_log *log, struct error *e)
{
	struct borrowed *list = NULL;
	size_t n_list = 0;
	int ret = vm_recheck(vm, e);

	for (size_t i = 0; i < n; i++) {
		ops[i].begun = ops[i].done = false;
		ops[i].errnum = 0;
	}
	for (size_t i = 0; i < n && ret == 0; i++)
		ret = borrow_for(vm, &ops[i], &list, &n_list, e);
	if (ret == 0 && n)
		ret = run_in_owner(vm, rule, ops, n, list, n_list, log, e);
	give_back(list, n_list);
	return ret;
}

static bool is_worker_verb(enum vhost_verb verb)
{
	return verb >= VHOST_WORKER_GET;
}

static int explain_enotty(const struct vhost_op *op, struct error *e)
{
	const char *kind = device_kind_name(op->device->kind);

	if (is_worker_verb(op->verb))
		return error_set(e, STATUS_UNSUPPORTED, ENOTTY, verbs[op->verb].operation,
				 "this kernel has no worker calls for vhost-%s; Linux 6.5 and "
				 "later have them for vhost-scsi", kind);
	return error_set(e, STATUS_UNSUPPORTED, ENOTTY, verbs[op->verb].operation,
			 "this kernel does not have that call on vhost-%s", kind);
}

/* No thread could be made. Which of several limits it was, the kernel does not say. */
static int explain_no_thread(const struct vhost_op *op, struct error *e)
{
	return error_set(e, STATUS_FAILED, op->errnum, verbs[op->verb].operation,
			 "the kernel could make no thread (%s): the VM's user may have no more processes "
			 "(RLIMIT_NPROC), its cgroup no more threads (pids.max), or memory is short; raise "
			 "that, for example with 'prlimit --pid PID --nproc=N'", strerror(op->errnum));
}

int vhost_explain(const struct vhost_op *op, struct error *e)
{
	const char *operation = verbs[op->verb].operation;
	const char *kind = device_kind_name(op->device->kind);

	switch (op->errnum) {
	case ENOBUFS:
		return error_set(e, STATUS_NOT_FOUND, ENOBUFS, operation,
				 "the device has no queue %u", op->index);
	case ENOTTY:
		return explain_enotty(op, e);
	case EPERM:
		return error_set(e, STATUS_DENIED, EPERM, operation,
				 "the kernel refuses even the VM's own call: another process owns the "
				 "device (it was passed on); name that one");
	case EINVAL:
		return error_set(e, STATUS_UNSUPPORTED, EINVAL, operation,
				 "the vhost-%s device refuses it: it has no owner yet, or no "
				 "workers", kind);
	default:
		break;
	}
	if (op->verb == VHOST_WORKER_NEW && op->errnum == EFAULT)
		return error_set(e, STATUS_UNSUPPORTED, EFAULT, operation,
				 "the device's worker is a kernel thread, and the kernel makes "
				 "no further ones for it; that is chosen when the VM starts, by "
				 "the module parameter vhost.fork_from_owner_default");
	if (op->verb == VHOST_WORKER_NEW)
		return explain_no_thread(op, e);
	if (is_worker_verb(op->verb) && op->errnum == ENODEV)
		return error_set(e, STATUS_NOT_FOUND, ENODEV, operation,
				 "the device has no worker %u; 'vhostctl worker list' shows those it has",
				 op->value);
	if (op->verb == VHOST_WORKER_FREE && op->errnum == EBUSY)
		return error_set(e, STATUS_FAILED, EBUSY, operation,
				 "worker %u is attached to a queue; attach its queues to another one first",
				 op->value);
	return error_errno(e, op->errnum, operation, NULL);
}

bool vhost_uses_busyloop(enum device_kind kind)
{
	return kind == DEVICE_NET;
}

unsigned int vhost_queue_count(enum device_kind kind)
{
	/* VHOST_NET_VQ_MAX of drivers/vhost/net.c; vqs[2] of drivers/vhost/vsock.c */
	return kind == DEVICE_NET || kind == DEVICE_VSOCK ? 2 : 0;
}

/* Takes @all; a blank comes between. */
static char *add_word(char *all, const char *device, const char *queue)
{
	char *longer = xasprintf("%s%s%s/%s", all, *all ? " " : "", device, queue);

	free(all);
	return longer;
}

/* Each by its name, but of many in a row the numbers: a message is not long. */
static char *add_range(char *all, const struct device *d, const struct range *r)
{
	char name[32];

	if (r->last - r->first >= 2) {
		snprintf(name, sizeof(name), "%u-%u", r->first, r->last);
		return add_word(all, d->id, name);
	}
	for (uint32_t q = r->first; q <= r->last; q++) {
		queue_name(d->kind, q, name);
		if (!name[0])
			snprintf(name, sizeof(name), "%u", q);
		all = add_word(all, d->id, name);
	}
	return all;
}

static bool is_left(const struct vhost_op *op)
{
	return !op->done || op->errnum;
}

char *vhost_left(const struct vhost_op *ops, size_t n)
{
	char *all = xstrdup("");

	for (size_t i = 0; i < n; i++) {
		const struct device *d = ops[i].device;
		struct ranges left = { 0 };
		bool before = false;

		for (size_t k = 0; k < n; k++) {
			before |= k < i && ops[k].device == d;
			if (ops[k].device == d && is_left(&ops[k]))
				ranges_add(&left, ops[k].index, ops[k].index);
		}
		for (size_t k = 0; !before && k < left.n; k++)
			all = add_range(all, d, &left.items[k]);
		ranges_free(&left);
	}
	return all;
}
