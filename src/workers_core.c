// SPDX-License-Identifier: GPL-2.0-or-later
#include "workers_core.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "inspect.h"
#include "source.h"
#include "target.h"
#include "util.h"

#define NEW_TRIES 5		/* a signal that waits for the main thread spoils a creation */
#define RETRY_MS 5
#define END_TRIES 100		/* an ended thread leaves /proc a moment after its call returned */
#define END_MS 2

int error_append(struct error *e, enum status status, const char *fmt, ...)
{
	size_t len = strlen(e->message);
	va_list ap;

	e->status = status;
	va_start(ap, fmt);
	vsnprintf(e->message + len, sizeof(e->message) - len, fmt, ap);
	va_end(ap);
	return -1;
}

void add_note(struct worker_job *job, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	*ARRAY_ADD(job->notes, job->n_notes) = xstrdup(text);
}

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

/* From the kernel's own structures, which stops nobody and tells threads and idle workers too. */
static bool read_snapshot(struct session *s, const struct selection *sel)
{
	struct vm *vm = s->job->vm;
	struct error ignored = ERROR_INIT;
	struct snapshot snap;
	bool ok;

	if (snapshot_take(vm->pid, &snap, &ignored) < 0)
		return false;
	ok = snapshot_can_serve(&snap, vm) && source_merge(&snap, vm, false, &ignored) == 0 &&
	     inspect_features(vm, sel, &ignored) == 0;
	snapshot_free(&snap);
	return ok && s->job->device->queues_known && s->job->device->n_queues;
}

int session_read_map(struct session *s, enum map_source source, struct error *e)
{
	struct selected item = { .vm = s->job->vm, .device = s->job->device };
	struct selection sel = { &item, 1 };
	const struct device *d = s->job->device;

	if (source == MAP_ANY && read_snapshot(s, &sel))
		return 0;
	if (inspect_vm(s->job->vm, &sel, s->job->log, e) < 0)
		return -1;
	if (d->queues_known && d->n_queues)
		return 0;
	if (d->n_errors)
		*e = d->errors[d->n_errors - 1];
	else
		error_set(e, STATUS_UNSUPPORTED, 0, "read the workers",
			  "the device has no workers; has it an owner yet?");
	return -1;
}

void ops_add(struct ops *ops, const struct session *s, enum vhost_verb verb, unsigned int index,
	     uint32_t value, bool essential)
{
	*ARRAY_ADD(ops->items, ops->n) = (struct vhost_op){
		.device = s->job->device,
		.verb = verb,
		.index = index,
		.value = value,
		.essential = essential,
	};
}

int ops_run(struct session *s, enum owner_thread rule, struct ops *ops, struct error *e)
{
	return ops->n ? vhost_run(&s->ref, rule, ops->items, ops->n, s->job->log, e) : 0;
}

int ops_check(const struct ops *ops, struct error *e)
{
	for (size_t i = 0; i < ops->n; i++)
		if (ops->items[i].errnum)
			return vhost_explain(&ops->items[i], e);
	return 0;
}

void created_free(struct created *made)
{
	free(made->ids);
	free(made->threads);
	*made = (struct created){ 0 };
}

static bool has_thread(const struct kthreads *list, const struct kthread *t)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->items[i].tid == t->tid && list->items[i].start_time == t->start_time)
			return true;
	return false;
}

/* Those of @now that were not there @before, in order; only of name vhost-@owner unless 0. */
static struct kthreads born(const struct kthreads *before, const struct kthreads *now, pid_t owner)
{
	struct kthreads list = { 0 };

	for (size_t i = 0; i < now->n; i++)
		if (!has_thread(before, &now->items[i]) && (!owner || now->items[i].owner_tid == owner))
			*ARRAY_ADD(list.items, list.n) = now->items[i];
	return list;
}

/*
 * Which threads are the workers that were made? The vhost tasks born around the calls, when
 * there are as many: in order, since the calls were made one after the other. Another device
 * that was opened in this moment makes it one too many. If its thread has another's name
 * (vhost-N, N being the TID that made it) it is told apart; else nothing is known.
 */
static void find_threads(struct session *s, const struct kthreads *before, struct created *made)
{
	const pid_t owners[] = { 0, s->job->vm->pid };
	struct kthreads now;

	if (threads_list_tasks(s->ref.proc_fd, &now) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(owners) && !made->threads; i++) {
		struct kthreads new_ones = born(before, &now, owners[i]);

		if (new_ones.n == made->n)
			made->threads = new_ones.items;
		else
			free(new_ones.items);
	}
	free(now.items);
}

/* Ids out of the answers; the first refusal goes to @e. */
static int take_ids(const struct ops *ops, struct created *made, struct error *e)
{
	int ret = ops_check(ops, e);

	for (size_t i = 0; i < ops->n; i++)
		if (ops->items[i].verb == VHOST_WORKER_NEW && ops->items[i].done && !ops->items[i].errnum)
			*ARRAY_ADD(made->ids, made->n) = ops->items[i].value;
	return ret;
}

/* The thread had a signal waiting (until 6.14 the kernel calls that ENOMEM), or memory was short. */
static bool may_pass(const struct error *e)
{
	return e->errnum == EINTR || e->errnum == ENOMEM || e->errnum == EAGAIN;
}

/* A worker may have been made by a call whose answer got lost. */
static void warn_of_leftover(struct session *s, const struct kthreads *before,
			     const struct created *made, struct error *e)
{
	struct kthreads now, new_ones;

	if (threads_list_tasks(s->ref.proc_fd, &now) < 0)
		return;
	new_ones = born(before, &now, 0);
	if (new_ones.n > made->n)
		error_append(e, e->status, "; a worker that serves nothing may be left: 'vhostctl worker "
			     "free --idle' clears it");
	free(new_ones.items);
	free(now.items);
}

static int try_create(struct session *s, struct ops *first, size_t n, struct created *made,
		      struct error *e)
{
	for (int tries = 0;; tries++) {
		struct ops ops = { 0 };
		int ret;

		for (size_t i = 0; first && tries == 0 && i < first->n; i++)
			*ARRAY_ADD(ops.items, ops.n) = first->items[i];
		while (ops.n < n - made->n + (first && tries == 0 ? first->n : 0))
			ops_add(&ops, s, VHOST_WORKER_NEW, 0, 0, true);
		ret = ops_run(s, OWNER_THREAD_MAIN, &ops, e);
		if (first && tries == 0 && ops.n)
			memcpy(first->items, ops.items, first->n * sizeof(*first->items));
		if (ret == 0) {
			ret = take_ids(&ops, made, e);
		} else {
			struct error ignored = ERROR_INIT;

			take_ids(&ops, made, &ignored);
			e->errnum = 0;	/* never again from the start: it may have been made */
		}
		free(ops.items);
		if (ret == 0 || !may_pass(e) || tries + 1 == NEW_TRIES)
			return ret;
		sleep_ms(RETRY_MS);
	}
}

int create_workers(struct session *s, struct ops *first, size_t n, struct created *made,
		   struct error *e)
{
	struct kthreads before;
	int ret;

	*made = (struct created){ 0 };
	if (threads_list_tasks(s->ref.proc_fd, &before) < 0)
		return error_errno(e, errno, "look at the VM's threads", NULL);
	ret = try_create(s, first, n, made, e);
	if (ret == 0) {
		find_threads(s, &before, made);
	} else {
		warn_of_leftover(s, &before, made, e);
		uncreate_workers(s, made, e);
		created_free(made);
	}
	free(before.items);
	return ret;
}

/* Is there still a VM in which something could be put back? */
static bool is_gone(struct session *s)
{
	struct error ignored = ERROR_INIT;

	return vm_recheck(&s->ref, &ignored) < 0;
}

int free_created(struct session *s, const struct created *made, struct error *e)
{
	struct ops ops = { 0 };
	int ret;

	for (size_t i = 0; i < made->n; i++)
		ops_add(&ops, s, VHOST_WORKER_FREE, 0, made->ids[i], false);
	ret = ops_run(s, OWNER_THREAD_HELPER, &ops, e);
	if (ret == 0)
		ret = ops_check(&ops, e);
	free(ops.items);
	return ret;
}

int uncreate_workers(struct session *s, const struct created *made, struct error *e)
{
	struct error second = ERROR_INIT;

	if (made->n && !is_gone(s) && free_created(s, made, &second) < 0)
		error_append(e, STATUS_ROLLBACK, "; freeing the %zu worker(s) made for it failed too: %s",
			     made->n, second.message);
	return -1;
}

int unmake_moves(struct session *s, const struct move *moves, size_t n, struct error *e)
{
	struct error second = ERROR_INIT;
	struct ops ops = { 0 };
	int ret;

	if (!n || is_gone(s))
		return -1;
	for (size_t i = n; i > 0; i--)
		ops_add(&ops, s, VHOST_WORKER_ATTACH, moves[i - 1].queue, moves[i - 1].from, false);
	ret = ops_run(s, OWNER_THREAD_HELPER, &ops, &second);
	if (ret == 0)
		ret = ops_check(&ops, &second);
	free(ops.items);
	if (ret < 0)
		error_append(e, STATUS_ROLLBACK, "; putting back the workers of %zu queue(s) failed too: %s",
			     n, second.message);
	return -1;
}

/*
 * Something failed among @moves. Where the answer to a call is missing, only a look tells what
 * it did. Those that were moved are put back.
 */
static int put_back(struct session *s, const struct move *moves, size_t n, struct error *e)
{
	struct error second = ERROR_INIT;
	struct ops ops = { 0 };
	struct move *moved = NULL;
	size_t n_moved = 0;

	if (is_gone(s))
		return -1;
	for (size_t i = 0; i < n; i++)
		ops_add(&ops, s, VHOST_WORKER_GET, moves[i].queue, 0, false);
	if (ops_run(s, OWNER_THREAD_ANY, &ops, &second) < 0) {
		error_append(e, STATUS_ROLLBACK, "; which queues were moved could not be read: %s; look with "
			     "'vhostctl worker list'", second.message);
	} else {
		for (size_t i = 0; i < n; i++)
			if (!ops.items[i].errnum && ops.items[i].value != moves[i].from)
				*ARRAY_ADD(moved, n_moved) = moves[i];
		unmake_moves(s, moved, n_moved, e);
	}
	free(moved);
	free(ops.items);
	return -1;
}

static int check_moves(const struct ops *ops, const struct move *moves, size_t n, struct error *e)
{
	for (size_t i = 0; i < n; i++) {
		const struct vhost_op *attach = &ops->items[2 * i], *get = &ops->items[2 * i + 1];

		if (attach->errnum)
			return vhost_explain(attach, e);
		if (get->errnum)
			return vhost_explain(get, e);
		if (get->value != moves[i].to)
			return error_set(e, STATUS_FAILED, 0, "attach the queue to the worker",
					 "queue %u reads back as worker %u's, not %u's; "
					 "something else changes workers at the same time",
					 moves[i].queue, get->value, moves[i].to);
	}
	return 0;
}

int make_moves(struct session *s, const struct move *moves, size_t n, struct ops *after,
	       struct error *e)
{
	struct ops ops = { 0 };
	bool refused;
	int ret;

	for (size_t i = 0; i < n; i++) {
		ops_add(&ops, s, VHOST_WORKER_ATTACH, moves[i].queue, moves[i].to, true);
		ops_add(&ops, s, VHOST_WORKER_GET, moves[i].queue, 0, true);
	}
	for (size_t i = 0; after && i < after->n; i++)
		*ARRAY_ADD(ops.items, ops.n) = after->items[i];
	ret = ops_run(s, OWNER_THREAD_HELPER, &ops, e);
	/* A refusal of principle, and no answer: no call was begun. */
	refused = ret < 0 && e->status != STATUS_FAILED && !(ops.n && ops.items[0].done);
	if (ret == 0)
		ret = check_moves(&ops, moves, n, e);
	if (ret < 0 && !refused)
		put_back(s, moves, n, e);
	for (size_t i = 0; after && i < after->n; i++)
		after->items[i] = ops.items[2 * n + i];
	free(ops.items);
	return ret;
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

static size_t missing(const struct kthreads *before, const struct kthreads *now, int64_t *tids,
		      size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < before->n; i++) {
		if (has_thread(now, &before->items[i]))
			continue;
		if (n < most)
			tids[n] = before->items[i].tid;
		n++;
	}
	return n;
}

void wait_for_ends(struct session *s, const struct kthreads *before, int64_t *tids, size_t n)
{
	size_t found = 0;

	for (int tries = 0; n && tries < END_TRIES; tries++) {
		struct kthreads now;

		if (threads_list_tasks(s->ref.proc_fd, &now) < 0)
			break;
		found = missing(before, &now, tids, n);
		free(now.items);
		if (found >= n)
			break;
		sleep_ms(END_MS);
	}
	/* Of several that ended together it is not known which was which worker's. */
	for (size_t i = 0; i < n; i++)
		if (found != n || n != 1)
			tids[i] = UNKNOWN;
}
