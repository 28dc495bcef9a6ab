// SPDX-License-Identifier: GPL-2.0-or-later
#include "workers_core.h"

#include <errno.h>
#include <string.h>

#include "inspect.h"
#include "source.h"
#include "target.h"
#include "util.h"

static int check_kind(const struct device *d, struct error *e)
{
	static const char *const why[DEVICE_KINDS] = {
		[DEVICE_NET] = "vhost-net has no worker calls in any kernel so far; each queue pair of a NIC "
			       "is a device with a worker of its own already, so give the VM "
			       "more queue pairs",
		[DEVICE_VSOCK] = "vhost-vsock has no worker calls in any kernel so far; its two queues share "
				 "one worker",
		[DEVICE_VDPA] = "vhost-vdpa has no workers; its queues are served by the device itself",
	};

	if (!why[d->kind])
		return 0;
	return error_set(e, STATUS_UNSUPPORTED, 0, "change workers", "%s", why[d->kind]);
}

int session_start(struct session *s, struct worker_job *job, struct error *e)
{
	*s = (struct session){ .job = job, .ref = VM_REF_INIT };
	if (check_kind(job->device, e) < 0)
		return -1;
	return vm_hold(&s->ref, job->vm->pid, job->vm->start_time, e);
}

void session_end(struct session *s)
{
	vm_release(&s->ref);
}

bool session_is_gone(struct session *s)
{
	struct error ignored = ERROR_INIT;

	return vm_recheck(&s->ref, &ignored) < 0;
}

static struct selection selection_of(const struct session *s, struct selected *item)
{
	*item = (struct selected){ .vm = s->job->vm, .device = s->job->device };
	return (struct selection){ item, 1 };
}

bool session_look(struct session *s)
{
	struct worker_job *job = s->job;
	struct error ignored = ERROR_INIT;
	struct selected item;
	struct selection sel = selection_of(s, &item);
	struct snapshot snap;

	s->told = false;
	if (snapshot_take(job->vm->pid, &snap, &ignored) < 0)
		return false;
	if (snapshot_can_serve(&snap, job->vm) && source_merge(&snap, job->vm, false, &ignored) == 0 &&
	    inspect_features(job->vm, &sel, &ignored) == 0)
		s->told = job->device->queues_known && job->device->n_queues &&
			  job->device->queues[0].worker_id != UNKNOWN && job->device->workers_known;
	snapshot_free(&snap);
	return s->told;
}

/* Calls begin with the first queue, and what a snapshot told without telling all would be told twice. */
static void forget_map(struct vm *vm)
{
	for (size_t i = 0; i < vm->n_devices; i++) {
		struct device *d = &vm->devices[i];

		device_forget_queues(d);
		device_forget_workers(d);
		free(d->errors);
		d->errors = NULL;
		d->n_errors = 0;
	}
}

int session_read_map(struct session *s, struct error *e)
{
	const struct device *d = s->job->device;
	struct selected item;
	struct selection sel = selection_of(s, &item);

	if (session_look(s))
		return 0;
	forget_map(s->job->vm);
	if (inspect_vm(s->job->vm, &sel, s->job->log, e) < 0)
		return -1;
	if (d->queues_known && d->n_queues)
		return 0;
	if (d->n_errors)
		*e = d->errors[d->n_errors - 1];
	else if (d->workers_known)
		/* One for all queues, which could not be asked for. */
		session_refuse(s, VHOST_WORKER_GET, 0, ENOTTY, e);
	else
		error_set(e, STATUS_UNSUPPORTED, 0, "read the workers",
			  "the device has no workers; has it an owner yet?");
	return -1;
}

int session_check_calls(struct session *s, struct error *e)
{
	const struct device *d = s->job->device;
	struct vhost_ops ops = { 0 };
	int ret;

	/*
	 * The snapshot tells how queues are served on a kernel, too, that has no calls to change it.
	 * A map that it did not give came by such calls; and with them came the count.
	 */
	if (!s->told || (d->n_workers && d->workers[0].attachments_known))
		return 0;
	ops_add(&ops, s, VHOST_WORKER_GET, 0, 0, true);
	ret = ops_run(s, OWNER_THREAD_ANY, &ops, e);
	if (ret == 0)
		ret = ops_check(&ops, e);
	free(ops.items);
	return ret;
}

int session_check_mode(const struct session *s, struct error *e)
{
	if (s->job->device->worker_mode != WORKER_MODE_KTHREAD)
		return 0;
	return session_refuse(s, VHOST_WORKER_NEW, 0, EFAULT, e);
}

const struct worker *session_worker(const struct session *s, int64_t id)
{
	return device_worker(s->job->device, id);
}

int64_t session_tid(const struct session *s, int64_t id)
{
	const struct worker *w = session_worker(s, id);

	return w ? w->tid : UNKNOWN;
}

bool session_thread(const struct session *s, int64_t id, struct kthread *thread)
{
	int64_t tid = session_tid(s, id);

	*thread = (struct kthread){ .tid = (pid_t)tid };
	return tid != UNKNOWN && thread_start_time(tid, &thread->start_time);
}

int session_threads(struct session *s, struct kthreads *list, struct error *e)
{
	if (threads_list_tasks(s->ref.proc_fd, list) < 0)
		return error_errno(e, errno, "look at the VM's threads", NULL);
	return 0;
}

int session_refuse(const struct session *s, enum vhost_verb verb, uint32_t value, int errnum,
		   struct error *e)
{
	const struct vhost_op op = {
		.device = s->job->device, .verb = verb, .value = value, .errnum = errnum,
	};

	return vhost_explain(&op, e);
}

void ops_add(struct vhost_ops *ops, const struct session *s, enum vhost_verb verb, unsigned int index,
	     uint32_t value, bool essential)
{
	vhost_add(ops, s->job->device, verb, index, value)->essential = essential;
}

int ops_run(struct session *s, enum owner_thread rule, struct vhost_ops *ops, struct error *e)
{
	return ops->n ? vhost_run(&s->ref, rule, ops->items, ops->n, s->job->log, e) : 0;
}

int ops_check(const struct vhost_ops *ops, struct error *e)
{
	for (size_t i = 0; i < ops->n; i++)
		if (ops->items[i].errnum)
			return vhost_explain(&ops->items[i], e);
	return 0;
}

static struct change *add_change(struct session *s, const struct queue *q, const char *setting)
{
	struct worker_job *job = s->job;
	struct change *c = ARRAY_ADD(job->changes->items, job->changes->n);

	c->target = target_name(job->vm, job->device, q);
	c->pid = job->vm->pid;
	c->setting = setting;
	c->concerns_worker = true;
	c->applied = !job->dry_run;
	return c;
}

void note_queue_change(struct session *s, unsigned int queue, int64_t before, int64_t after,
		       int64_t tid)
{
	struct queue q = { .index = queue };
	struct change *c;

	if (before == after)
		return;
	queue_name(s->job->device->kind, queue, q.name);
	c = add_change(s, &q, "worker_id");
	c->before = before;
	c->after = c->worker_id = after;
	c->worker_tid = tid;
}

void note_worker_change(struct session *s, int64_t before, int64_t after, int64_t tid)
{
	struct change *c = add_change(s, NULL, "worker");

	c->before = before;
	c->after = after;
	c->worker_id = before == UNKNOWN ? after : before;
	c->worker_tid = tid;
}

void note_cpus_change(struct session *s, int64_t id, int64_t tid, char *before, char *after)
{
	struct change *c;

	if (before && after && !strcmp(before, after)) {
		free(before);
		free(after);
		return;
	}
	c = add_change(s, NULL, "cpus");
	c->before_text = before;
	c->after_text = after;
	c->worker_id = id;
	c->worker_tid = tid;
}
