// SPDX-License-Identifier: GPL-2.0-or-later
#include "workers.h"

#include <errno.h>
#include <string.h>

#include "affinity.h"
#include "util.h"
#include "workers_core.h"

#define QUEUES_MAX 1026		/* max_io_vqs of vhost_scsi allows 1024, and two more */
#define IDLE_IDS_MAX 4096	/* looked through for workers that serve nothing */

/* One GET for each queue: its worker now, and whether there is such a queue. */
static int add_gets(struct session *s, const struct ranges *queues, struct ops *ops, struct error *e)
{
	if (queues->n && queues->items[queues->n - 1].last >= QUEUES_MAX)
		return error_set(e, STATUS_NOT_FOUND, ENOBUFS, "read the queue's worker",
				 "the device has no queue %u", queues->items[queues->n - 1].last);
	/* The last one first: it tells whether the others are there. */
	for (size_t i = queues->n; i > 0; i--)
		for (int64_t q = queues->items[i - 1].last; q >= (int64_t)queues->items[i - 1].first; q--)
			ops_add(ops, s, VHOST_WORKER_GET, (unsigned int)q, 0, true);
	return 0;
}

/* As the kernel would refuse it (EFAULT). */
static int check_mode(const struct session *s, struct error *e)
{
	struct vhost_op op = { .device = s->job->device, .verb = VHOST_WORKER_NEW, .errnum = EFAULT };

	return s->job->device->worker_mode == WORKER_MODE_KTHREAD ? vhost_explain(&op, e) : 0;
}

static int64_t thread_of(const struct created *made, size_t i)
{
	return made->threads ? made->threads[i].tid : UNKNOWN;
}

static int place(struct session *s, const struct created *made, const struct ranges *cpus,
		 struct error *e)
{
	(void)s;
	if (!cpus->n)
		return 0;
	if (!made->threads)
		return error_set(e, STATUS_FAILED, 0, "set the worker's cpus",
				 "another vhost thread came to be in the same moment, and which "
				 "is whose cannot be told; try again");
	for (size_t i = 0; i < made->n; i++)
		if (affinity_set(made->threads[i].tid, made->threads[i].start_time, cpus, e) < 0)
			return -1;
	return 0;
}

/* Queues of @gets (last first) dealt out to the new workers, first to first. */
static struct move *deal(const struct ops *gets, const struct created *made)
{
	struct move *moves = xcalloc(gets->n, sizeof(*moves));

	for (size_t i = 0; i < gets->n; i++) {
		const struct vhost_op *get = &gets->items[gets->n - 1 - i];

		moves[i] = (struct move){ get->index, get->value, made->ids[i % made->n] };
	}
	return moves;
}

static int create(struct session *s, unsigned int count, const struct ranges *cpus, struct ops *gets,
		  struct error *e)
{
	struct created made;
	struct move *moves;
	int ret;

	if (create_workers(s, gets, count, &made, e) < 0)
		return -1;
	moves = deal(gets, &made);
	ret = place(s, &made, cpus, e);
	if (ret == 0 && gets->n)
		ret = make_moves(s, moves, gets->n, NULL, e);
	if (ret < 0)
		uncreate_workers(s, &made, e);
	for (size_t i = 0; ret == 0 && i < made.n; i++)
		note_worker_change(s, UNKNOWN, made.ids[i], thread_of(&made, i));
	for (size_t i = 0; ret == 0 && made.n && i < gets->n; i++)
		note_queue_change(s, moves[i].queue, moves[i].from, moves[i].to,
				  thread_of(&made, i % made.n));
	if (ret == 0 && !made.threads)
		add_note(s->job, "which threads the new workers are is not known: another vhost thread "
			 "came to be in the same moment");
	free(moves);
	created_free(&made);
	return ret;
}

static int plan_create(struct session *s, unsigned int count, struct ops *gets, struct error *e)
{
	int ret = session_read_map(s, MAP_BY_CALLS, e);

	if (ret == 0)
		ret = check_mode(s, e);
	if (ret == 0)
		ret = ops_run(s, OWNER_THREAD_ANY, gets, e);
	if (ret == 0)
		ret = ops_check(gets, e);
	for (unsigned int i = 0; ret == 0 && i < count; i++)
		note_worker_change(s, UNKNOWN, UNKNOWN, UNKNOWN);
	for (size_t i = gets->n; ret == 0 && i > 0; i--)
		note_queue_change(s, gets->items[i - 1].index, gets->items[i - 1].value, UNKNOWN, UNKNOWN);
	return ret;
}

int workers_create(struct worker_job *job, unsigned int count, const struct ranges *cpus,
		   const struct ranges *queues, struct error *e)
{
	struct ops gets = { 0 };
	struct session s;
	int ret = session_start(&s, job, e);

	if (ret < 0)
		return -1;
	ret = affinity_check_cpuset(s.ref.proc_fd, cpus, e);
	if (ret == 0)
		ret = add_gets(&s, queues, &gets, e);
	if (ret == 0)
		ret = job->dry_run ? plan_create(&s, count, &gets, e) : create(&s, count, cpus, &gets, e);
	free(gets.items);
	session_end(&s);
	return ret;
}

/* Queues that are the worker's already are left alone: even that would make them wait. */
static int attach(struct session *s, struct ops *gets, uint32_t id, struct error *e)
{
	struct move *moves = xcalloc(gets->n, sizeof(*moves));
	size_t n = 0;
	int ret;

	ret = ops_run(s, OWNER_THREAD_ANY, gets, e);
	if (ret == 0)
		ret = ops_check(gets, e);
	for (size_t i = gets->n; ret == 0 && i > 0; i--)
		if (gets->items[i - 1].value != id)
			moves[n++] = (struct move){ gets->items[i - 1].index, gets->items[i - 1].value, id };
	if (ret == 0 && n && !s->job->dry_run)
		ret = make_moves(s, moves, n, NULL, e);
	for (size_t i = 0; ret == 0 && i < n; i++)
		note_queue_change(s, moves[i].queue, moves[i].from, id, UNKNOWN);
	free(moves);
	return ret;
}

int workers_attach(struct worker_job *job, const struct ranges *queues, uint32_t id,
		   struct error *e)
{
	struct ops gets = { 0 };
	struct session s;
	int ret = session_start(&s, job, e);

	if (ret < 0)
		return -1;
	ret = add_gets(&s, queues, &gets, e);
	if (ret == 0)
		ret = attach(&s, &gets, id, e);
	free(gets.items);
	session_end(&s);
	return ret;
}

/* What a FREE was refused for, with what there is to do about it. */
static int explain_free(struct session *s, const struct vhost_op *op, const struct ops *all,
			struct error *e)
{
	size_t freed = 0;

	(void)s;
	vhost_explain(op, e);
	for (size_t i = 0; i < all->n; i++)
		freed += all->items[i].done && !all->items[i].errnum;
	if (freed)
		error_append(e, e->status, "; %zu other(s) were freed before", freed);
	return -1;
}

static int check_frees(struct session *s, const struct ops *ops, struct error *e)
{
	for (size_t i = 0; i < ops->n; i++)
		if (ops->items[i].errnum)
			return explain_free(s, &ops->items[i], ops, e);
	return 0;
}

static void note_frees(struct session *s, const struct kthreads *before, const struct ops *ops)
{
	int64_t *tids = xcalloc(ops->n, sizeof(*tids));
	size_t n = 0;

	for (size_t i = 0; i < ops->n; i++)
		n += ops->items[i].done && !ops->items[i].errnum;
	wait_for_ends(s, before, tids, n);
	for (size_t i = 0; i < ops->n; i++)
		if (ops->items[i].done && !ops->items[i].errnum)
			note_worker_change(s, ops->items[i].value, UNKNOWN, n == 1 ? tids[0] : UNKNOWN);
	free(tids);
}

static int free_ids(struct session *s, struct ops *frees, struct error *e)
{
	struct kthreads before;
	int ret;

	if (threads_list_tasks(s->ref.proc_fd, &before) < 0)
		return error_errno(e, errno, "look at the VM's threads", NULL);
	ret = ops_run(s, OWNER_THREAD_HELPER, frees, e);
	if (ret == 0)
		ret = check_frees(s, frees, e);
	if (ret == 0)
		note_frees(s, &before, frees);
	free(before.items);
	return ret;
}

/* No call tells whether a worker exists and is idle, other than freeing it. */
static int plan_frees(struct session *s, const struct ops *frees, struct error *e)
{
	int ret = session_read_map(s, MAP_BY_CALLS, e);

	for (size_t i = 0; ret == 0 && i < frees->n; i++)
		note_worker_change(s, frees->items[i].value, UNKNOWN, UNKNOWN);
	if (ret == 0)
		add_note(s->job, "whether the worker exists and serves no queue is found out by freeing it");
	return ret;
}

int workers_free(struct worker_job *job, const struct ranges *ids, struct error *e)
{
	struct ops frees = { 0 };
	struct session s;
	int ret;

	if (ranges_count(ids) > IDLE_IDS_MAX)
		return error_set(e, STATUS_USAGE, 0, "free the worker", "that is more than %d workers",
				 IDLE_IDS_MAX);
	if (session_start(&s, job, e) < 0)
		return -1;
	for (size_t i = 0; i < ids->n; i++)
		for (uint64_t id = ids->items[i].first; id <= ids->items[i].last; id++)
			ops_add(&frees, &s, VHOST_WORKER_FREE, 0, (uint32_t)id, true);
	ret = job->dry_run ? plan_frees(&s, &frees, e) : free_ids(&s, &frees, e);
	free(frees.items);
	session_end(&s);
	return ret;
}

/*
 * Ids from @from on, as many as one stop carries: frees those that exist and serve no queue.
 * The kernel hands out the lowest free id, so that all are soon found. *alive: some existed.
 */
static int free_idle_round(struct session *s, uint32_t from, bool *alive, struct error *e)
{
	struct kthreads before;
	struct ops ops = { 0 };
	int ret = 0;

	if (threads_list_tasks(s->ref.proc_fd, &before) < 0)
		return error_errno(e, errno, "look at the VM's threads", NULL);
	for (uint32_t id = from; id < from + OWNER_BATCH; id++)
		ops_add(&ops, s, VHOST_WORKER_FREE, 0, id, false);
	ret = ops_run(s, OWNER_THREAD_HELPER, &ops, e);
	for (size_t i = 0; i < ops.n && ret == 0; i++) {
		const struct vhost_op *op = &ops.items[i];

		*alive |= !op->errnum || op->errnum == EBUSY;
		if (op->errnum && op->errnum != EBUSY && op->errnum != ENODEV)
			ret = vhost_explain(op, e);
	}
	note_frees(s, &before, &ops);
	free(before.items);
	free(ops.items);
	return ret;
}

static int plan_free_idle(struct session *s, struct error *e)
{
	if (session_read_map(s, MAP_BY_CALLS, e) < 0)
		return -1;
	for (size_t i = 0; i < s->job->device->n_workers; i++) {
		const struct worker *w = &s->job->device->workers[i];

		if (w->queues && !w->n_queues && w->id != 0)
			note_worker_change(s, w->id, UNKNOWN, w->tid);
	}
	return 0;
}

int workers_free_idle(struct worker_job *job, struct error *e)
{
	struct session s;
	bool alive = true;
	int ret = 0;

	if (session_start(&s, job, e) < 0)
		return -1;
	if (job->dry_run)
		ret = plan_free_idle(&s, e);
	/* The default worker stays: it is what the device falls back to. */
	for (uint32_t from = 1; !job->dry_run && ret == 0 && alive && from < IDLE_IDS_MAX;
	     from += OWNER_BATCH) {
		alive = false;
		ret = free_idle_round(&s, from, &alive, e);
	}
	session_end(&s);
	return ret;
}
