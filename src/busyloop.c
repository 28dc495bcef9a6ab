// SPDX-License-Identifier: GPL-2.0-or-later
#include "busyloop.h"

#include <errno.h>

#include "cut.h"
#include "util.h"

static struct queue *add_queue(struct device *d, unsigned int index)
{
	d->queues_known = true;
	return device_add_queue(d, index);
}

/*
 * Answers into the model. The first ENOBUFS of a device is where its queues end, whatever a hostile VM,
 * in whose memory the questions lie, has the kernel answer to those after it.
 */
static int take_values(struct vm *vm, const struct vhost_ops *ops, struct error *e)
{
	for (size_t i = 0; i < ops->n; i++) {
		const struct vhost_op *op = &ops->items[i];
		struct device *d = &vm->devices[op->device - vm->devices];

		if ((op->errnum == ENOBUFS && !vhost_queue_count(d->kind)) || op->index != d->n_queues)
			continue;
		if (op->errnum) {
			vhost_explain(op, e);
			return error_target(e, "%s", d->id);
		}
		add_queue(d, op->index)->busyloop_usecs = op->value;
	}
	return 0;
}

static int hold_and_run(const struct vm *vm, struct vhost_ops *ops, struct owner_log *log,
			struct error *e)
{
	struct vm_ref ref = VM_REF_INIT;
	int ret;

	if (vm_hold(&ref, vm->pid, vm->start_time, e) < 0)
		return -1;
	ret = vhost_run(&ref, OWNER_THREAD_ANY, ops->items, ops->n, log, e);
	vm_release(&ref);
	return ret;
}

/*
 * Where the driver does not fix the number of queues, a stop's worth of them is asked for at
 * a time, while there are more.
 */
static int get_round(struct vm *vm, const struct selection *sel, unsigned int from,
		     struct owner_log *log, bool *more, struct error *e)
{
	struct vhost_ops ops = { 0 };
	int ret = 0;

	for (size_t i = 0; i < vm->n_devices; i++) {
		const struct device *d = &vm->devices[i];
		unsigned int fixed = vhost_queue_count(d->kind);
		unsigned int to = fixed ? fixed : from + OWNER_BATCH;

		if (!selection_has_device(sel, vm, d) || d->n_queues != from)
			continue;
		for (unsigned int q = from; q < to; q++)
			vhost_add(&ops, d, VHOST_BUSYLOOP_GET, q, 0);
	}
	*more = ops.n > 0;
	if (ops.n)
		ret = hold_and_run(vm, &ops, log, e);
	if (ret == 0)
		ret = take_values(vm, &ops, e);
	free(ops.items);
	return ret;
}

int busyloop_get(struct vm *vm, const struct selection *sel, struct owner_log *log,
		 struct error *e)
{
	bool more = true;

	for (unsigned int from = 0; more && from < VHOST_SCSI_QUEUES_MAX; from += OWNER_BATCH)
		if (get_round(vm, sel, from, log, &more, e) < 0)
			return -1;
	return 0;
}

/* Which queues there are: known beforehand, or asked for. */
static int find_queues(struct vm *vm, const struct selection *sel, bool dry_run,
		       struct owner_log *log, struct error *e)
{
	bool ask = dry_run;

	for (size_t i = 0; i < vm->n_devices; i++)
		if (selection_has_device(sel, vm, &vm->devices[i]) && !vhost_queue_count(vm->devices[i].kind))
			ask = true;
	if (ask)
		return busyloop_get(vm, sel, log, e);
	for (size_t i = 0; i < vm->n_devices; i++) {
		struct device *d = &vm->devices[i];

		if (!selection_has_device(sel, vm, d))
			continue;
		for (unsigned int q = 0; q < vhost_queue_count(d->kind); q++)
			add_queue(d, q);
	}
	return 0;
}

/* Before, set, after: next to each other, in one stop if they are no more than it carries. */
static void add_triple(struct vhost_ops *ops, const struct device *d, unsigned int index, uint32_t usecs)
{
	vhost_add(ops, d, VHOST_BUSYLOOP_GET, index, 0);
	vhost_add(ops, d, VHOST_BUSYLOOP_SET, index, usecs);
	vhost_add(ops, d, VHOST_BUSYLOOP_GET, index, 0);
}

static void add_sets(struct vhost_ops *ops, const struct selection *sel, const struct vm *vm,
		     const struct device *d, uint32_t usecs)
{
	for (size_t i = 0; i < d->n_queues; i++) {
		unsigned int index = d->queues[i].index;

		if (selection_has_queue(sel, vm, d, index))
			add_triple(ops, d, index, usecs);
	}
}

/* Or may have been: setting what is set already does no harm. */
static bool set_was_made(const struct vhost_op *triple)
{
	const struct vhost_op *before = &triple[0], *set = &triple[1];

	return before->done && !before->errnum && (set->done ? !set->errnum : set->begun);
}

/*
 * Put back what was set before something failed, last first. @e keeps the failure. A VM that has ended
 * took its settings along: nothing is left.
 */
static int put_back(const struct vm *vm, const struct vhost_ops *done, struct owner_log *log,
		    struct error *e)
{
	struct error second = ERROR_INIT;
	struct vhost_ops ops = { 0 };
	int ret = 0;

	owner_be_patient();
	for (size_t i = done->n; i >= 3; i -= 3) {
		const struct vhost_op *triple = &done->items[i - 3];

		if (set_was_made(triple))
			vhost_add(&ops, triple->device, VHOST_BUSYLOOP_SET, triple->index, triple->value);
	}
	if (ops.n)
		ret = hold_and_run(vm, &ops, log, &second);
	for (size_t i = 0; i < ops.n && ret == 0; i++)
		if (ops.items[i].errnum)
			ret = vhost_explain(&ops.items[i], &second);
	if (ret < 0 && !vm_has_ended(vm->pid, vm->start_time)) {
		_cleanup_free_ char *left = vhost_left(ops.items, ops.n);

		error_append(e, STATUS_ROLLBACK, "; putting back failed too: %s; left as set: %s",
			     second.message, left);
	}
	free(ops.items);
	return -1;
}

/* The first thing that went wrong, if any. A value that reads back otherwise is one. */
static int check_sets(const struct vhost_ops *ops, struct error *e)
{
	for (size_t i = 0; i < ops->n; i++) {
		const struct vhost_op *op = &ops->items[i];

		if (op->errnum) {
			vhost_explain(op, e);
			return error_target(e, "%s", op->device->id);
		}
		if (i % 3 == 2 && op->value != op[-1].value) {
			error_set(e, STATUS_FAILED, 0, "set the busy-loop timeout",
				  "it reads back as %u us, not %u; something else sets it too",
				  op->value, op[-1].value);
			return error_target(e, "%s", op->device->id);
		}
	}
	return 0;
}

static void add_change(struct changes *c, const struct vm *vm, const struct device *d,
		       const struct queue *q, int64_t before, int64_t after, bool applied)
{
	if (before == after)
		return;
	*ARRAY_ADD(c->items, c->n) = (struct change){
		.target = target_name(vm, d, q),
		.pid = vm->pid,
		.setting = "busyloop_usecs",
		.before = before,
		.after = after,
		.applied = applied,
	};
}

static void take_changes(struct changes *c, const struct vm *vm, const struct vhost_ops *ops)
{
	for (size_t i = 0; i + 2 < ops->n; i += 3) {
		const struct vhost_op *triple = &ops->items[i];
		const struct device *d = triple->device;

		add_change(c, vm, d, &d->queues[triple->index], triple[0].value, triple[2].value, true);
	}
}

static void plan_changes(struct changes *c, const struct vm *vm, const struct selection *sel,
			 uint32_t usecs)
{
	for (size_t i = 0; i < vm->n_devices; i++) {
		const struct device *d = &vm->devices[i];

		for (size_t k = 0; k < d->n_queues; k++) {
			const struct queue *q = &d->queues[k];

			if (selection_has_queue(sel, vm, d, q->index))
				add_change(c, vm, d, q, q->busyloop_usecs, usecs, false);
		}
	}
}

static int check_queues(const struct selection *sel, const struct vm *vm, struct error *e)
{
	for (size_t i = 0; i < sel->n; i++)
		if (sel->items[i].vm == vm && target_check_queues(&sel->items[i], e) < 0)
			return -1;
	return 0;
}

static int run_sets(const struct vm *vm, struct vhost_ops *ops, struct owner_log *log, struct error *e)
{
	int ret = hold_and_run(vm, ops, log, e);

	if (ret == 0)
		ret = check_sets(ops, e);
	return ret == 0 ? 0 : put_back(vm, ops, log, e);
}

static int set_all(struct vm *vm, const struct selection *sel, uint32_t usecs, struct changes *c,
		   struct owner_log *log, struct error *e)
{
	struct vhost_ops ops = { 0 };
	int ret;

	for (size_t i = 0; i < vm->n_devices; i++)
		if (selection_has_device(sel, vm, &vm->devices[i]))
			add_sets(&ops, sel, vm, &vm->devices[i], usecs);
	ret = run_sets(vm, &ops, log, e);
	if (ret == 0)
		take_changes(c, vm, &ops);
	free(ops.items);
	return ret;
}

int busyloop_set_each(struct vm *vm, struct busyloop_want *wants, size_t n, struct owner_log *log,
		      struct error *e)
{
	struct vhost_ops ops = { 0 };
	int ret;

	for (size_t i = 0; i < n; i++)
		add_triple(&ops, wants[i].device, wants[i].index, wants[i].usecs);
	ret = run_sets(vm, &ops, log, e);
	for (size_t i = 0; i < n && ret == 0; i++)
		wants[i].before = ops.items[3 * i].value;
	free(ops.items);
	return ret;
}

int busyloop_set(struct vm *vm, const struct selection *sel, uint32_t usecs, bool dry_run,
		 struct changes *c, struct owner_log *log, struct error *e)
{
	if (find_queues(vm, sel, dry_run, log, e) < 0 || check_queues(sel, vm, e) < 0)
		return -1;
	if (!dry_run)
		return set_all(vm, sel, usecs, c, log, e);
	plan_changes(c, vm, sel, usecs);
	return 0;
}
