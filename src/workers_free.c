// SPDX-License-Identifier: GPL-2.0-or-later
#include "workers.h"

#include <errno.h>

#include "util.h"
#include "workers_core.h"

#define IDS_MAX 4096	/* of workers, in one run */

static bool was_freed(const struct vhost_op *op)
{
	return op->done && !op->errnum;
}

/* What was freed, each with its thread if that is known from before, or there was but one. */
static void note_frees(struct session *s, const struct kthreads *before, const struct vhost_ops *frees)
{
	int64_t ended;
	size_t n = 0;

	for (size_t i = 0; i < frees->n; i++)
		n += was_freed(&frees->items[i]);
	ended = wait_for_ends(s, before, n);
	for (size_t i = 0; i < frees->n; i++) {
		uint32_t id = frees->items[i].value;
		int64_t tid = session_tid(s, id);

		if (was_freed(&frees->items[i]))
			note_worker_change(s, id, UNKNOWN, tid == UNKNOWN ? ended : tid);
	}
}

static int run_frees(struct session *s, struct vhost_ops *frees, struct error *e)
{
	struct kthreads before;
	int ret = session_threads(s, &before, e);

	if (ret < 0)
		return -1;
	ret = ops_run(s, OWNER_THREAD_HELPER, frees, e);
	note_frees(s, &before, frees);
	free(before.items);
	return ret;
}

/* What the kernel would say, as far as that is known; -1 with @e: all would be refused. */
static int plan_frees(struct session *s, struct vhost_ops *frees, struct error *e)
{
	if (session_read_map(s, e) < 0 || session_check_calls(s, e) < 0)
		return -1;
	for (size_t i = 0; i < frees->n; i++) {
		struct vhost_op *op = &frees->items[i];
		const struct worker *w = session_worker(s, op->value);

		op->done = true;
		if (w && w->n_queues)
			op->errnum = EBUSY;
		else if (s->told && !w)
			op->errnum = ENODEV;
		else
			note_worker_change(s, op->value, UNKNOWN, session_tid(s, op->value));
	}
	if (!s->told)
		sentences_add(&s->job->notes, "without a kernel snapshot, whether a worker that serves no "
			      "queue exists is found out by freeing it");
	return 0;
}

/* In words, why the kernel refused @ids, of which @op is one. */
static char *words(const struct vhost_op *op, const struct ranges *ids)
{
	_cleanup_free_ char *list = ranges_text(ids);
	struct error e;

	if (ranges_count(ids) > 1 && op->errnum == EBUSY)
		return xasprintf("workers %s are attached to queues; attach those to other workers first",
				 list);
	if (ranges_count(ids) > 1 && op->errnum == ENODEV)
		return xasprintf("the device has no workers %s; 'vhostctl worker list' shows those it has",
				 list);
	vhost_explain(op, &e);
	return xstrdup(e.message);
}

/* Into @e why @first and all those after it that the kernel answered the same were refused. */
static void explain_alike(const struct vhost_ops *frees, size_t first, struct error *e)
{
	const struct vhost_op *op = &frees->items[first];
	_cleanup_free_ char *why = NULL;
	struct ranges ids = { 0 };

	for (size_t i = first; i < frees->n; i++)
		if (frees->items[i].errnum == op->errnum)
			ranges_add(&ids, frees->items[i].value, frees->items[i].value);
	why = words(op, &ids);
	ranges_free(&ids);
	if (e->status) {
		error_append(e, e->status, "; %s", why);
		return;
	}
	vhost_explain(op, e);
	error_set(e, e->status, op->errnum, "free the worker", "%s", why);
}

static bool is_first_of_kind(const struct vhost_ops *frees, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (frees->items[i].errnum == frees->items[at].errnum)
			return false;
	return frees->items[at].errnum != 0;
}

/* Each is a thing by itself: what one was refused for is said of that one, others are freed. */
static int check_frees(struct session *s, const struct vhost_ops *frees, struct error *e)
{
	struct changes *c = s->job->changes;

	for (size_t i = 0; i < frees->n; i++) {
		if (frees->items[i].errnum)
			vhost_explain(&frees->items[i], ARRAY_ADD(c->errors, c->n_errors));
		if (is_first_of_kind(frees, i))
			explain_alike(frees, i, e);
	}
	return e->status ? -1 : 0;
}

int workers_free(struct worker_job *job, const struct ranges *ids, struct error *e)
{
	struct vhost_ops frees = { 0 };
	struct session s;
	int ret;

	if (ranges_count(ids) > IDS_MAX)
		return error_set(e, STATUS_USAGE, 0, "free the worker", "that is more than %d workers",
				 IDS_MAX);
	if (session_start(&s, job, e) < 0)
		return -1;
	for (size_t i = 0; i < ids->n; i++)
		for (uint64_t id = ids->items[i].first; id <= ids->items[i].last; id++)
			ops_add(&frees, &s, VHOST_WORKER_FREE, 0, (uint32_t)id, false);
	if (job->dry_run) {
		ret = plan_frees(&s, &frees, e);
	} else {
		session_look(&s);
		ret = run_frees(&s, &frees, e);
	}
	if (ret == 0)
		ret = check_frees(&s, &frees, e);
	free(frees.items);
	session_end(&s);
	return ret;
}

/* Refusals that another's doing explains: it got a queue meanwhile, or was freed. */
static int check_idle(const struct vhost_ops *frees, bool *alive, struct error *e)
{
	for (size_t i = 0; i < frees->n; i++) {
		const struct vhost_op *op = &frees->items[i];

		*alive |= !op->errnum || op->errnum == EBUSY;
		if (op->errnum && op->errnum != EBUSY && op->errnum != ENODEV)
			return vhost_explain(op, e);
	}
	return 0;
}

/* Those that the kernel's own structures show without a queue. */
static int free_told(struct session *s, struct error *e)
{
	const struct device *d = s->job->device;
	struct vhost_ops frees = { 0 };
	bool alive = false;
	int ret = session_check_calls(s, e);

	for (size_t i = 0; i < d->n_workers; i++)
		/* The default worker stays: it is what the device falls back to. */
		if (d->workers[i].id != 0 && !d->workers[i].n_queues)
			ops_add(&frees, s, VHOST_WORKER_FREE, 0, (uint32_t)d->workers[i].id, false);
	if (ret == 0 && s->job->dry_run)
		for (size_t i = 0; i < frees.n; i++)
			note_worker_change(s, frees.items[i].value, UNKNOWN,
					   session_tid(s, frees.items[i].value));
	else if (ret == 0 && frees.n)
		ret = run_frees(s, &frees, e);
	if (ret == 0)
		ret = check_idle(&frees, &alive, e);
	free(frees.items);
	return ret;
}

/*
 * At most so many workers can the device have besides the default one: what is left of the
 * VM's vhost threads when each other device has one.
 */
static size_t most_workers(const struct vm *vm, size_t threads)
{
	size_t others = 0;

	for (size_t i = 0; i < vm->n_devices; i++)
		others += vm->devices[i].kind != DEVICE_VDPA;
	return threads > others ? threads - others : 0;
}

/*
 * No call lists idle workers, but each id can be tried: the kernel refuses to free those that
 * serve a queue. It hands out the lowest free id, so that low ones are tried, as many as one stop
 * carries, until all threads are accounted for.
 */
static int scan_ids(struct session *s, struct error *e)
{
	size_t found = 0, most;
	struct kthreads threads;
	bool alive = true;
	int ret = session_threads(s, &threads, e);

	if (ret < 0)
		return -1;
	most = most_workers(s->job->vm, threads.n);
	free(threads.items);
	for (uint32_t from = 1; ret == 0 && (alive || found < most) && from < IDS_MAX; from += OWNER_BATCH) {
		struct vhost_ops frees = { 0 };

		for (uint32_t id = from; id < from + OWNER_BATCH; id++)
			ops_add(&frees, s, VHOST_WORKER_FREE, 0, id, false);
		ret = run_frees(s, &frees, e);
		alive = false;
		if (ret == 0)
			ret = check_idle(&frees, &alive, e);
		for (size_t i = 0; i < frees.n; i++)
			found += was_freed(&frees.items[i]) || frees.items[i].errnum == EBUSY;
		free(frees.items);
	}
	return ret;
}

/* Without a snapshot their number is all that is known beforehand. */
static int plan_scan(struct session *s, struct error *e)
{
	const struct device *d = s->job->device;

	if (session_read_map(s, e) < 0)
		return -1;
	for (size_t i = 0; i < d->n_workers; i++)
		if (d->workers[i].queues && !d->workers[i].n_queues)
			note_worker_change(s, d->workers[i].id, UNKNOWN, d->workers[i].tid);
	return 0;
}

int workers_free_idle(struct worker_job *job, struct error *e)
{
	struct session s;
	int ret;

	if (session_start(&s, job, e) < 0)
		return -1;
	if (session_look(&s))
		ret = free_told(&s, e);
	else
		ret = job->dry_run ? plan_scan(&s, e) : scan_ids(&s, e);
	session_end(&s);
	return ret;
}
