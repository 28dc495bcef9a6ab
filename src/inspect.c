// SPDX-License-Identifier: GPL-2.0-or-later
#include "inspect.h"

#include <errno.h>
#include <string.h>

#include "cut.h"
#include "device.h"
#include "idle.h"
#include "procfs.h"
#include "spread.h"
#include "util.h"
#include "vhost.h"
#include "vmfile.h"

static void note_error(struct device *d, const struct error *e)
{
	*ARRAY_ADD(d->errors, d->n_errors) = *e;
}

/* A device that refuses one question refuses the next ones as well, and as many as it has queues. */
static void note_refusal(struct device *d, const struct error *e)
{
	const struct error *last = d->n_errors ? &d->errors[d->n_errors - 1] : NULL;

	if (!last || strcmp(last->operation, e->operation) != 0 || strcmp(last->message, e->message) != 0)
		note_error(d, e);
}

/* Kinds with a fixed number of queues have one worker, id 0: no kernel lets them have more. */
static void add_fixed_queues(struct device *d)
{
	unsigned int n = vhost_queue_count(d->kind);

	for (unsigned int i = 0; i < n; i++)
		device_add_queue(d, i)->worker_id = 0;
	d->queues_known = n > 0;
}

/*
 * How many queues a vhost-scsi has is a parameter of its module and no call tells it: it is
 * asked for as many as the stop has room for, then for more while there are more. @last: no
 * other device follows, so the first refusal may end the stop.
 */
static void add_worker_ops(struct vhost_ops *ops, const struct device *d, bool last)
{
	size_t from = d->n_queues;
	size_t room = OWNER_BATCH - ops->n % OWNER_BATCH;

	for (size_t i = from; i < from + room && i < VHOST_SCSI_QUEUES_MAX; i++)
		vhost_add(ops, d, VHOST_WORKER_GET, (unsigned int)i, 0)->essential = last;
}

/*
 * Queues have no gaps. But questions lie in the VM's memory, and what they are asked of is the VM's
 * file: one that is hostile can have a queue refused and the next one answered.
 */
static void take_worker(struct device *d, const struct vhost_op *op)
{
	if (op->index > d->n_queues)
		return;
	if (op->index == d->n_queues)
		device_add_queue(d, op->index);
	d->queues[op->index].worker_id = op->value;
	d->queues_known = true;
}

/* A kernel without worker calls (before 6.5): one worker serves all queues, however many. */
static void take_sole_worker(struct device *d)
{
	struct worker *w = ARRAY_ADD(d->workers, d->n_workers);

	w->id = 0;
	w->tid = w->nice = w->cpu_ns = UNKNOWN;
	d->workers_known = true;
}

/* One answer into the model. ENOBUFS ends a device's queues. */
static void take_answer(struct vm *vm, const struct vhost_op *op)
{
	struct device *d = &vm->devices[op->device - vm->devices];
	struct error e;

	if (!op->done || op->errnum == ENOBUFS)
		return;
	if (op->verb == VHOST_WORKER_GET && op->errnum == ENOTTY) {
		if (!d->n_workers)
			take_sole_worker(d);
	} else if (op->errnum) {
		vhost_explain(op, &e);
		note_refusal(d, &e);
	} else if (op->verb == VHOST_BUSYLOOP_GET) {
		d->queues[op->index].busyloop_usecs = op->value;
	} else {
		take_worker(d, op);
	}
}

static int run_ops(const struct vm_ref *ref, struct vm *vm, struct vhost_ops *ops,
		   struct owner_log *log, struct error *e)
{
	int ret = vhost_run(ref, OWNER_THREAD_ANY, ops->items, ops->n, log, e);

	for (size_t i = 0; i < ops->n; i++)
		take_answer(vm, &ops->items[i]);
	return ret;
}

/* Did the last question about @d's queues still find one, with all before it? */
static bool has_more_queues(const struct device *d, const struct vhost_ops *ops)
{
	const struct vhost_op *last = NULL;

	for (size_t i = 0; i < ops->n; i++)
		if (ops->items[i].device == d && ops->items[i].verb == VHOST_WORKER_GET)
			last = &ops->items[i];
	return last && last->done && !last->errnum && last->index < d->n_queues &&
	       last->index + 1 < VHOST_SCSI_QUEUES_MAX;
}

/* Of all devices named that have workers to ask for; after @asked, of those with more to tell. */
static void add_all_worker_ops(const struct vm *vm, const struct selection *sel, struct vhost_ops *ops,
			       const struct vhost_ops *asked)
{
	const struct device *last = NULL;

	for (int add = 0; add < 2; add++) {
		for (size_t i = 0; i < vm->n_devices; i++) {
			const struct device *d = &vm->devices[i];

			if (d->kind != DEVICE_SCSI || !selection_has_device(sel, vm, d) ||
			    (asked && !has_more_queues(d, asked)))
				continue;
			if (add)
				add_worker_ops(ops, d, d == last);
			else
				last = d;
		}
	}
}

static int ask_first(const struct vm_ref *ref, struct vm *vm, const struct selection *sel,
		     struct vhost_ops *ops, struct owner_log *log, struct error *e)
{
	for (size_t i = 0; i < vm->n_devices; i++) {
		struct device *d = &vm->devices[i];

		if (!selection_has_device(sel, vm, d))
			continue;
		add_fixed_queues(d);
		for (size_t q = 0; vhost_uses_busyloop(d->kind) && q < d->n_queues; q++)
			vhost_add(ops, d, VHOST_BUSYLOOP_GET, d->queues[q].index, 0);
	}
	add_all_worker_ops(vm, sel, ops, NULL);
	return run_ops(ref, vm, ops, log, e);
}

static int ask_more(const struct vm_ref *ref, struct vm *vm, const struct selection *sel,
		    struct vhost_ops *asked, struct owner_log *log, struct error *e)
{
	for (;;) {
		struct vhost_ops more = { 0 };
		int ret;

		add_all_worker_ops(vm, sel, &more, asked);
		if (!more.n)
			return 0;
		ret = run_ops(ref, vm, &more, log, e);
		free(asked->items);
		*asked = more;
		if (ret < 0)
			return -1;
	}
}

/* Which queues each worker id serves, as the answers have it. */
static void group_workers(struct device *d)
{
	if (!d->queues_known || (d->n_queues && d->queues[0].worker_id == UNKNOWN))
		return;
	for (size_t i = 0; i < d->n_queues; i++) {
		struct worker *w = device_worker(d, d->queues[i].worker_id);

		if (!w) {
			w = ARRAY_ADD(d->workers, d->n_workers);
			w->id = d->queues[i].worker_id;
			w->tid = w->nice = w->cpu_ns = UNKNOWN;
		}
		*ARRAY_ADD(w->queues, w->n_queues) = d->queues[i].index;
	}
	d->workers_known = true;
}

/*
 * All workers of a VM have the same name, so a thread is known to be a device's only
 * when there is one of each: one device, one worker, one thread.
 */
static void pair_sole_thread(struct vm *vm)
{
	struct device *d = &vm->devices[0];

	if (vm->n_devices != 1 || vm->n_threads != 1 || d->n_workers != 1)
		return;
	worker_copy_thread(&d->workers[0], &vm->threads[0]);
	d->workers[0].mode = vm->threads[0].mode;
	for (size_t i = 0; i < d->n_queues; i++)
		d->queues[i].worker_tid = vm->threads[0].tid;
}

static void read_features(const struct vm_ref *ref, struct device *d)
{
	struct error e = ERROR_INIT;
	_cleanup_close_ int fd = device_borrow(ref, d, &e);

	if (fd < 0 || device_read_features(fd, d, &e) < 0)
		note_error(d, &e);
}

void inspect_vmm_queues(int proc_fd, struct vm *vm)
{
	_cleanup_proc_text_ struct proc_text text = { 0 };
	size_t n_scsi = 0;

	for (size_t i = 0; i < vm->n_devices; i++)
		n_scsi += vm->devices[i].kind == DEVICE_SCSI;
	if (!n_scsi || vm_read_cmdline(proc_fd, &text))
		return;
	for (size_t i = 0; i < vm->n_devices; i++) {
		struct device *d = &vm->devices[i];
		unsigned int requests = d->kind == DEVICE_SCSI
			? spread_cmdline_queues(text.data, text.len, d->fd, n_scsi == 1) : 0;

		d->vmm_queues = requests ? VHOST_SCSI_FIRST_REQUEST + requests : 0;
	}
}

int inspect_features(struct vm *vm, const struct selection *sel, struct error *e)
{
	struct vm_ref ref = VM_REF_INIT;

	if (vm_hold(&ref, vm->pid, vm->start_time, e) < 0)
		return -1;
	for (size_t i = 0; i < vm->n_devices; i++)
		if (selection_has_device(sel, vm, &vm->devices[i]))
			read_features(&ref, &vm->devices[i]);
	vm_release(&ref);
	return 0;
}

int inspect_vm(struct vm *vm, const struct selection *sel, struct owner_log *log, struct error *e)
{
	struct vm_ref ref = VM_REF_INIT;
	struct vhost_ops ops = { 0 };
	int ret = vm_hold(&ref, vm->pid, vm->start_time, e);

	if (ret == 0) {
		inspect_vmm_queues(ref.proc_fd, vm);
		for (size_t i = 0; i < vm->n_devices; i++)
			if (selection_has_device(sel, vm, &vm->devices[i]))
				read_features(&ref, &vm->devices[i]);
		ret = ask_first(&ref, vm, sel, &ops, log, e);
		if (ret == 0)
			ret = ask_more(&ref, vm, sel, &ops, log, e);
		free(ops.items);
		vm_release(&ref);
	}
	for (size_t i = 0; i < vm->n_devices; i++)
		group_workers(&vm->devices[i]);
	if (vm->n_devices)
		pair_sole_thread(vm);
	idle_find(vm);
	return ret;
}
