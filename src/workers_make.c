// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "util.h"
#include "workers_core.h"

#define NEW_TRIES 5		/* a signal that waits for the main thread spoils a creation */
#define RETRY_MS 5
#define END_TRIES 100		/* an ended thread leaves /proc a moment after its call returned */
#define END_MS 2

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
 * (vhost-N, N being the TID that made it) it is told apart.
 */
static void tell_by_birth(struct session *s, const struct kthreads *before, struct created *made)
{
	const pid_t owners[] = { 0, s->job->vm->pid };
	struct error ignored = ERROR_INIT;
	struct kthreads now;

	if (session_threads(s, &now, &ignored) < 0)
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

/* All of them, or none. */
static void tell_by_snapshot(struct session *s, struct created *made)
{
	_cleanup_free_ struct kthread *threads = xcalloc(made->n, sizeof(*threads));

	if (!session_look(s))
		return;
	for (size_t i = 0; i < made->n; i++)
		if (!session_thread(s, made->ids[i], &threads[i]))
			return;
	made->threads = STEAL_PTR(threads);
}

/* Ids out of the answers; the first refusal goes to @e. */
static int take_ids(const struct vhost_ops *ops, struct created *made, struct error *e)
{
	int ret = ops_check(ops, e);

	for (size_t i = 0; i < ops->n; i++) {
		const struct vhost_op *op = &ops->items[i];

		if (op->verb != VHOST_WORKER_NEW)
			continue;
		if (op->done && !op->errnum)
			*ARRAY_ADD(made->ids, made->n) = op->value;
		made->unsure |= op->begun && !op->done;
	}
	return ret;
}

/* The thread had a signal waiting (until 6.14 the kernel calls that ENOMEM), or memory was short. */
static bool may_pass(const struct error *e)
{
	return e->errnum == EINTR || e->errnum == ENOMEM || e->errnum == EAGAIN;
}

/* One stop: @first and as many workers as are missing. */
static int create_missing(struct session *s, struct vhost_ops *first, size_t n, struct created *made,
			  struct error *e)
{
	struct error second = ERROR_INIT;
	struct vhost_ops ops = { 0 };
	size_t n_first = first ? first->n : 0;
	int ret;

	for (size_t i = 0; i < n_first; i++)
		*ARRAY_ADD(ops.items, ops.n) = first->items[i];
	for (size_t i = made->n; i < n; i++)
		ops_add(&ops, s, VHOST_WORKER_NEW, 0, 0, true);
	ret = ops_run(s, OWNER_THREAD_MAIN, &ops, e);
	for (size_t i = 0; i < n_first; i++)
		first->items[i] = ops.items[i];
	if (ret == 0) {
		ret = take_ids(&ops, made, e);
	} else {
		take_ids(&ops, made, &second);
		e->errnum = 0;	/* never again from the start: it may have been made */
	}
	free(ops.items);
	return ret;
}

static int try_create(struct session *s, struct vhost_ops *first, size_t n, struct created *made,
		      struct error *e)
{
	for (int tries = 1;; tries++) {
		struct error why = ERROR_INIT;

		if (create_missing(s, tries == 1 ? first : NULL, n, made, &why) == 0)
			return 0;
		if (!may_pass(&why) || tries == NEW_TRIES) {
			*e = why;
			return -1;
		}
		sleep_ms(RETRY_MS);
	}
}

int create_workers(struct session *s, struct vhost_ops *first, size_t n, struct created *made,
		   struct error *e)
{
	struct kthreads before;
	int ret;

	*made = (struct created){ 0 };
	if (session_threads(s, &before, e) < 0)
		return -1;
	ret = try_create(s, first, n, made, e);
	if (ret == 0) {
		tell_by_birth(s, &before, made);
		if (!made->threads)
			tell_by_snapshot(s, made);
	} else {
		if (made->unsure && !session_is_gone(s))
			error_append(e, STATUS_ROLLBACK, "; a worker that serves nothing may be left: "
				     "'vhostctl worker free --idle' clears it");
		uncreate_workers(s, made, e);
		created_free(made);
	}
	free(before.items);
	return ret;
}

int free_created(struct session *s, const struct created *made, struct error *e)
{
	struct vhost_ops ops = { 0 };
	int ret;

	for (size_t i = 0; i < made->n; i++)
		ops_add(&ops, s, VHOST_WORKER_FREE, 0, made->ids[i], false);
	ret = ops_run(s, OWNER_THREAD_HELPER, &ops, e);
	/* One that somebody else has freed is as it should be. */
	for (size_t i = 0; ret == 0 && i < ops.n; i++)
		if (ops.items[i].errnum && ops.items[i].errnum != ENODEV)
			ret = vhost_explain(&ops.items[i], e);
	free(ops.items);
	return ret;
}

int uncreate_workers(struct session *s, const struct created *made, struct error *e)
{
	struct error second = ERROR_INIT;

	owner_be_patient();
	if (made->n && !session_is_gone(s) && free_created(s, made, &second) < 0)
		error_append(e, STATUS_ROLLBACK, "; freeing the %zu worker(s) made for it failed too: %s",
			     made->n, second.message);
	return -1;
}

/* How many of @before have ended; *tid is one of them. -1: cannot be told. */
static int64_t count_ended(struct session *s, const struct kthreads *before, int64_t *tid)
{
	struct error ignored = ERROR_INIT;
	struct kthreads now;
	int64_t n = 0;

	if (session_threads(s, &now, &ignored) < 0)
		return -1;
	for (size_t i = 0; i < before->n; i++)
		if (!has_thread(&now, &before->items[i])) {
			*tid = before->items[i].tid;
			n++;
		}
	free(now.items);
	return n;
}

int64_t wait_for_ends(struct session *s, const struct kthreads *before, size_t n)
{
	int64_t tid = UNKNOWN, found = 0;

	for (int tries = 0; n && tries < END_TRIES; tries++) {
		found = count_ended(s, before, &tid);
		if (found < 0 || found >= (int64_t)n)
			break;
		sleep_ms(END_MS);
	}
	if (n != 1 || found != 1)
		return UNKNOWN;
	/* Another device's may have ended first: then there are two in a moment. */
	sleep_ms(END_MS);
	return count_ended(s, before, &tid) == 1 ? tid : UNKNOWN;
}
