// SPDX-License-Identifier: GPL-2.0-or-later
/* Steps on the workers of one device: make, place, move queues, free. */
#include <errno.h>
#include <string.h>

#include "policy_pins.h"
#include "target.h"
#include "util.h"

static const char *const operation = "set the workers";

void worker_plan_free(struct worker_plan *wp)
{
	spread_free(&wp->spread);
	created_free(&wp->made);
	free(wp->moves);
	for (size_t i = 0; i < wp->n_pins; i++) {
		ranges_free(&wp->pins[i].cpus);
		ranges_free(&wp->pins[i].before);
	}
	free(wp->pins);
	sentences_free(&wp->job.notes);
	*wp = (struct worker_plan){ .made.n = 0 };
}

static struct worker_plan *plan_of(const struct step *step)
{
	return &step->vm->workers[step->device];
}

static int start(struct session *s, const struct step *step, struct error *e)
{
	return session_start(s, &plan_of(step)->job, e);
}

/* What the worker calls append behind a failure, and here is all there is. */
static int undone(struct error *e)
{
	if (e->status != STATUS_ROLLBACK)
		return 0;
	memmove(e->message, e->message + 2, strlen(e->message + 2) + 1);
	return -1;
}

/* ---- make ---- */

static int act_create(struct policy_run *run, struct step *step, struct error *e)
{
	struct worker_plan *wp = plan_of(step);
	struct session s;
	int ret;

	if (start(&s, step, e) < 0)
		return -1;
	ret = run->dry_run ? 0 : create_workers(&s, NULL, wp->spread.n_new, &wp->made, e);
	for (size_t i = 0; ret == 0 && i < wp->spread.n_new; i++)
		note_worker_change(&s, UNKNOWN, run->dry_run ? UNKNOWN : wp->made.ids[i],
				   wp->made.threads ? wp->made.threads[i].tid : UNKNOWN);
	session_end(&s);
	return ret;
}

static int undo_create(struct policy_run *run, struct step *step, struct error *e)
{
	struct session s;

	(void)run;
	if (start(&s, step, e) < 0)
		return -1;
	uncreate_workers(&s, &plan_of(step)->made, e);
	session_end(&s);
	return undone(e);
}

static const struct step_type step_create = { act_create, undo_create, true };

/* ---- move queues ---- */

static int64_t resolve(const struct worker_plan *wp, int64_t to)
{
	if (to >= 0)
		return to;
	return (size_t)(-1 - to) < wp->made.n ? (int64_t)wp->made.ids[-1 - to] : UNKNOWN;
}

static int64_t new_thread(const struct worker_plan *wp, int64_t to)
{
	return to < 0 && wp->made.threads ? wp->made.threads[-1 - to].tid : UNKNOWN;
}

static int act_moves(struct policy_run *run, struct step *step, struct error *e)
{
	struct worker_plan *wp = plan_of(step);
	const struct spread *plan = &wp->spread;
	struct session s;
	int ret = 0;

	if (start(&s, step, e) < 0)
		return -1;
	if (!run->dry_run) {
		wp->moves = xcalloc(plan->n_moves, sizeof(*wp->moves));
		for (size_t i = 0; i < plan->n_moves; i++)
			wp->moves[i] = (struct move){ plan->moves[i].queue, plan->moves[i].from,
						      (uint32_t)resolve(wp, plan->moves[i].to) };
		ret = make_moves(&s, wp->moves, plan->n_moves, NULL, e);
	}
	for (size_t i = 0; ret == 0 && i < plan->n_moves; i++)
		note_queue_change(&s, plan->moves[i].queue, plan->moves[i].from,
				  resolve(wp, plan->moves[i].to), new_thread(wp, plan->moves[i].to));
	session_end(&s);
	return ret;
}

static int undo_moves(struct policy_run *run, struct step *step, struct error *e)
{
	struct worker_plan *wp = plan_of(step);
	struct session s;

	(void)run;
	if (start(&s, step, e) < 0)
		return -1;
	unmake_moves(&s, wp->moves, wp->spread.n_moves, e);
	session_end(&s);
	return undone(e);
}

static const struct step_type step_moves = { act_moves, undo_moves, true };

/* ---- free ---- */

static void note_free(struct policy_run *run, struct session *s, const struct vhost_op *op)
{
	_cleanup_free_ char *name = target_name(s->job->vm, s->job->device, NULL);

	if (!op->errnum)
		note_worker_change(s, op->value, UNKNOWN, UNKNOWN);
	else if (op->errnum != ENODEV)
		/* Somebody put a queue there meanwhile: then it is needed after all. */
		sentences_add(&run->notes, "%s: worker %u was not freed: %s", name, op->value,
			      op->errnum == EBUSY ? "it got a queue meanwhile" : strerror(op->errnum));
}

/* All that was wanted is so already: a worker that stays is no failure. */
static int act_free(struct policy_run *run, struct step *step, struct error *e)
{
	_cleanup_free_ char *name = target_name(step->vm->vm, &step->vm->vm->devices[step->device], NULL);
	const struct spread *plan = &plan_of(step)->spread;
	struct vhost_ops ops = { 0 };
	struct session s;

	if (start(&s, step, e) < 0)
		return -1;
	for (size_t i = 0; i < plan->n_unneeded; i++)
		if (run->dry_run)
			note_worker_change(&s, plan->unneeded[i], UNKNOWN, UNKNOWN);
		else
			ops_add(&ops, &s, VHOST_WORKER_FREE, 0, plan->unneeded[i], false);
	if (ops_run(&s, OWNER_THREAD_HELPER, &ops, e) < 0)
		sentences_add(&run->notes, "%s: workers without a queue were not freed: %s", name,
			      e->message);
	/* Some of them may have been, all the same. */
	for (size_t i = 0; i < ops.n; i++)
		if (ops.items[i].done)
			note_free(run, &s, &ops.items[i]);
	free(ops.items);
	session_end(&s);
	*e = ERROR_INIT;
	return 0;
}

static const struct step_type step_free = { act_free, NULL, true };

/* ---- plan ---- */

/* Which worker serves which queue has to be known. */
static int check_map(struct policy_run *run, const struct device *d, struct error *e)
{
	struct vhost_op op = { .device = d, .verb = VHOST_WORKER_GET, .errnum = ENOTTY };

	if (d->queues_known && d->n_queues && d->queues[0].worker_id != UNKNOWN)
		return 0;
	if (d->n_errors)
		*e = d->errors[d->n_errors - 1];
	else if (d->workers_known && d->n_workers)
		vhost_explain(&op, e);
	else {
		run->not_yet = true;
		error_set(e, STATUS_UNSUPPORTED, 0, operation, "it has no workers; has it an owner yet?");
	}
	return error_target(e, "%s", d->id);
}

static int plan_counted(struct policy_run *run, struct session *s, const struct policy_device *from,
			struct spread *plan, struct error *e)
{
	struct ranges requests = { 0 };
	const struct device *d = s->job->device;
	unsigned int count = from->workers == WORKERS_COUNT ? from->count : 0;
	int ret = 0;

	if (session_find_requests(s, &requests, e) < 0) {
		run->not_yet = true;
		return error_set(e, STATUS_FAILED, 0, operation,
				 "which of the kernel's queues the VM uses is not known: its command line "
				 "has no num_queues= for this device, and none is seen to be set up; list "
				 "queues for each worker instead");
	}
	if (requests.items[requests.n - 1].last >= d->n_queues)
		ret = error_set(e, STATUS_NOT_FOUND, 0, operation, "the device has no queue %u",
				requests.items[requests.n - 1].last);
	else if (count > ranges_count(&requests))
		ret = error_set(e, STATUS_USAGE, 0, from->where,
				"%u workers are more than the device's request queues, which are %u", count,
				(unsigned int)ranges_count(&requests));
	else
		spread_plan(d->queues, d->n_queues, &requests,
			    count ? count : (unsigned int)ranges_count(&requests), plan);
	ranges_free(&requests);
	return ret;
}

static int plan_listed(const struct device *d, const struct policy_device *from, struct spread *plan,
		       int64_t *ids, struct error *e)
{
	for (size_t i = 0; i < from->n_list; i++) {
		const struct ranges *r = &from->list[i].queues;

		if (r->items[r->n - 1].last >= d->n_queues)
			return error_set(e, STATUS_NOT_FOUND, 0, from->where,
					 "the device has no queue %u; its last one is %zu",
					 r->items[r->n - 1].last, d->n_queues - 1);
	}
	deal_listed(d->queues, d->n_queues, from->list, from->n_list, plan, ids);
	return 0;
}

/* Workers that serve nothing, such as a killed run leaves. */
static void reuse_idle(struct policy_run *run, const struct session *s, struct spread *plan, int64_t *ids,
		       size_t n_ids)
{
	const struct device *d = s->job->device;
	_cleanup_free_ char *name = target_name(s->job->vm, d, NULL);
	_cleanup_free_ uint32_t *idle = NULL;
	size_t n = 0, unknown = 0;

	for (size_t i = 0; i < d->n_workers; i++) {
		const struct worker *w = &d->workers[i];

		if (!w->queues || w->n_queues || w->id == 0)
			continue;
		if (w->id == UNKNOWN)
			unknown++;
		else
			*ARRAY_ADD(idle, n) = (uint32_t)w->id;
	}
	deal_reuse(plan, ids, n_ids, idle, n);
	if (unknown && plan->n_new)
		sentences_add(&run->notes, "%s: %zu of its workers serve(s) no queue; 'vhostctl worker free "
			      "--idle' clears that", name, unknown);
}

static int plan_map(struct policy_run *run, struct session *s, const struct policy_device *from,
		    struct worker_plan *wp, int64_t *ids, struct error *e)
{
	const struct device *d = s->job->device;
	int ret = check_map(run, d, e);

	if (ret == 0 && from->workers == WORKERS_LISTED)
		ret = plan_listed(d, from, &wp->spread, ids, e);
	else if (ret == 0)
		ret = plan_counted(run, s, from, &wp->spread, e);
	if (ret < 0)
		return -1;
	reuse_idle(run, s, &wp->spread, ids, from->n_list);
	if (wp->spread.n_moves && session_check_calls(s, e) < 0)
		return -1;
	return wp->spread.n_new ? session_check_mode(s, e) : 0;
}

static int plan_device(struct policy_run *run, struct vm_plan *vp, size_t i, struct error *e)
{
	const struct device_wants *w = &vp->wants[i];
	const struct policy_device *from = w->workers.from;
	struct worker_plan *wp = &vp->workers[i];
	struct session s = { .job = &wp->job, .ref = VM_REF_INIT, .told = run->snapshot };
	size_t n_ids = from && from->n_list ? from->n_list : 1;
	_cleanup_free_ int64_t *ids = xcalloc(n_ids, sizeof(*ids));
	int ret;

	wp->job = (struct worker_job){ .vm = vp->vm, .device = w->device, .dry_run = run->dry_run,
				       .log = vp->log, .changes = &run->changes };
	ret = vm_hold(&s.ref, vp->vm->pid, vp->vm->start_time, e);
	if (ret == 0 && from)
		ret = plan_map(run, &s, from, wp, ids, e);
	if (ret == 0)
		ret = plan_pins(&s, w, wp, ids, e);
	session_end(&s);
	if (ret < 0)
		return error_target(e, "%s", w->device->id);
	if (wp->spread.n_new)
		plan_add(run, &step_create, vp, i);
	if (wp->n_pins)
		plan_add(run, &step_pins, vp, i);
	if (wp->spread.n_moves)
		plan_add(run, &step_moves, vp, i);
	return 0;
}

int plan_workers(struct policy_run *run, struct vm_plan *vp, struct error *e)
{
	for (size_t i = 0; i < vp->vm->n_devices; i++)
		if ((vp->wants[i].workers.from || vp->wants[i].cpus.from) && plan_device(run, vp, i, e) < 0)
			return -1;
	return 0;
}

void plan_worker_frees(struct policy_run *run, struct vm_plan *vp)
{
	for (size_t i = 0; i < vp->vm->n_devices; i++)
		if (vp->workers[i].spread.n_unneeded)
			plan_add(run, &step_free, vp, i);
}
