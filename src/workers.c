// SPDX-License-Identifier: GPL-2.0-or-later
#include "workers.h"

#include <errno.h>

#include "affinity.h"
#include "util.h"
#include "workers_core.h"

/* One GET for each queue: its worker now, and whether there is such a queue. */
static int add_gets(struct session *s, const struct ranges *queues, struct vhost_ops *ops, struct error *e)
{
	if (queues->n && queues->items[queues->n - 1].last >= VHOST_SCSI_QUEUES_MAX)
		return error_set(e, STATUS_NOT_FOUND, ENOBUFS, "read the queue's worker",
				 "the device has no queue %u", queues->items[queues->n - 1].last);
	/* The last one first: it tells whether the others are there. */
	for (size_t i = queues->n; i > 0; i--)
		for (int64_t q = queues->items[i - 1].last; q >= (int64_t)queues->items[i - 1].first; q--)
			ops_add(ops, s, VHOST_WORKER_GET, (unsigned int)q, 0, true);
	return 0;
}

static int64_t thread_of(const struct created *made, size_t i)
{
	return made->threads ? made->threads[i].tid : UNKNOWN;
}

static int place(const struct created *made, const struct ranges *cpus, struct error *e)
{
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
static struct move *deal(const struct vhost_ops *gets, const struct created *made)
{
	struct move *moves = xcalloc(gets->n, sizeof(*moves));

	for (size_t i = 0; i < gets->n; i++) {
		const struct vhost_op *get = &gets->items[gets->n - 1 - i];

		moves[i] = (struct move){ get->index, get->value, made->ids[i % made->n] };
	}
	return moves;
}

static int create(struct session *s, unsigned int count, const struct ranges *cpus, struct vhost_ops *gets,
		  struct error *e)
{
	struct created made;
	struct move *moves;
	int ret;

	if (create_workers(s, gets, count, &made, e) < 0)
		return -1;
	moves = deal(gets, &made);
	ret = place(&made, cpus, e);
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
		sentences_add(&s->job->notes, "which threads the new workers are is not known: another "
			      "vhost thread came to be in the same moment");
	free(moves);
	created_free(&made);
	return ret;
}

static int plan_create(struct session *s, unsigned int count, struct vhost_ops *gets, struct error *e)
{
	int ret = session_read_map(s, e);

	if (ret == 0)
		ret = session_check_calls(s, e);
	if (ret == 0)
		ret = session_check_mode(s, e);
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
	struct vhost_ops gets = { 0 };
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
static int attach(struct session *s, struct vhost_ops *gets, uint32_t id, struct error *e)
{
	struct move *moves = xcalloc(gets->n, sizeof(*moves));
	size_t n = 0;
	int ret;

	ret = ops_run(s, OWNER_THREAD_ANY, gets, e);
	if (ret == 0)
		ret = ops_check(gets, e);
	if (ret == 0 && session_look(s) && !session_worker(s, id))
		ret = session_refuse(s, VHOST_WORKER_ATTACH, id, ENODEV, e);
	for (size_t i = gets->n; ret == 0 && i > 0; i--)
		if (gets->items[i - 1].value != id)
			moves[n++] = (struct move){ gets->items[i - 1].index, gets->items[i - 1].value, id };
	if (ret == 0 && n && !s->job->dry_run)
		ret = make_moves(s, moves, n, NULL, e);
	for (size_t i = 0; ret == 0 && i < n; i++)
		note_queue_change(s, moves[i].queue, moves[i].from, id, session_tid(s, id));
	free(moves);
	return ret;
}

int workers_attach(struct worker_job *job, const struct ranges *queues, uint32_t id,
		   struct error *e)
{
	struct vhost_ops gets = { 0 };
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
