// SPDX-License-Identifier: GPL-2.0-or-later
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "inspect.h"
#include "spread.h"
#include "util.h"
#include "workers_core.h"

static const char *const operation = "spread the request queues";

/* Request queues that the VMM has set up, where the kernel's own structures told. */
static void add_set_up(const struct device *d, struct ranges *requests)
{
	for (size_t i = VHOST_SCSI_FIRST_REQUEST; i < d->n_queues; i++)
		if (d->queues[i].ring.known && d->queues[i].ring.set_up)
			ranges_add(requests, d->queues[i].index, d->queues[i].index);
}

/*
 * The kernel has as many queues as its module parameter says, however few the VMM uses,
 * and no call tells which those are. What the command line says is so before the guest has
 * set a queue up, too.
 */
int session_find_requests(struct session *s, struct ranges *requests, struct error *e)
{
	inspect_vmm_queues(s->ref.proc_fd, s->job->vm);
	if (s->job->device->vmm_queues)
		ranges_add(requests, VHOST_SCSI_FIRST_REQUEST, s->job->device->vmm_queues - 1);
	else
		add_set_up(s->job->device, requests);
	if (requests->n)
		return 0;
	return error_set(e, STATUS_FAILED, 0, operation,
			 "which of the kernel's queues the VM uses is not known: its command line has no "
			 "num_queues= for this device, and the kernel snapshot shows none that is set up or "
			 "is not available; name them with --queues, such as 2-5 for a device with four");
}

static int check_requests(const struct session *s, const struct ranges *requests,
			  unsigned int count, struct error *e)
{
	uint32_t last = requests->n ? requests->items[requests->n - 1].last : 0;

	if (!requests->n || requests->items[0].first < VHOST_SCSI_FIRST_REQUEST)
		return error_set(e, STATUS_USAGE, 0, operation,
				 "queues 0 and 1 (ctl, event) stay with the default worker; name "
				 "request queues");
	if (last >= s->job->device->n_queues)
		return error_set(e, STATUS_NOT_FOUND, 0, operation,
				 "the device has no queue %u; its last one is %zu",
				 last, s->job->device->n_queues - 1);
	if (count > ranges_count(requests))
		return error_set(e, STATUS_USAGE, 0, operation,
				 "%u workers are more than the device's request queues, which "
				 "are %llu", count,
				 (unsigned long long)ranges_count(requests));
	return 0;
}

/* Ids for the numbers that stand for workers which did not exist yet. */
static struct move *resolve(const struct spread *plan, const struct created *made)
{
	struct move *moves = xcalloc(plan->n_moves, sizeof(*moves));

	for (size_t i = 0; i < plan->n_moves; i++) {
		const struct spread_move *m = &plan->moves[i];

		assert(m->to >= 0 || made->ids);
		moves[i] = (struct move){ m->queue, m->from,
					  m->to < 0 ? made->ids[-1 - m->to] : (uint32_t)m->to };
	}
	return moves;
}

static int64_t tid_of(const struct session *s, const struct created *made, int64_t to)
{
	if (to >= 0)
		return session_tid(s, to);
	return made->threads ? made->threads[-1 - to].tid : UNKNOWN;
}

static void note_plan(struct session *s, const struct spread *plan)
{
	for (size_t i = 0; i < plan->n_new; i++)
		note_worker_change(s, UNKNOWN, UNKNOWN, UNKNOWN);
	for (size_t i = 0; i < plan->n_moves; i++) {
		int64_t to = plan->moves[i].to;

		note_queue_change(s, plan->moves[i].queue, plan->moves[i].from, to < 0 ? UNKNOWN : to,
				  tid_of(s, &(struct created){ 0 }, to));
	}
	for (size_t i = 0; i < plan->n_unneeded; i++)
		note_worker_change(s, plan->unneeded[i], UNKNOWN, session_tid(s, plan->unneeded[i]));
}

/* Somebody put a queue there meanwhile: then it is needed after all. */
static void note_kept(struct session *s, const struct vhost_op *op, const struct error *why)
{
	if (!op->done)
		sentences_add(&s->job->notes, "worker %u was not freed: %s; 'vhostctl worker free --idle' "
			      "does that", op->value, why->message);
	else
		sentences_add(&s->job->notes, "worker %u was not freed: %s", op->value,
			      op->errnum == EBUSY ? "it got a queue meanwhile" : strerror(op->errnum));
}

/* @why: why frees that were not done were not. */
static void note_done(struct session *s, const struct spread *plan, const struct created *made,
		      const struct vhost_ops *frees, const struct error *why)
{
	for (size_t i = 0; i < made->n; i++)
		note_worker_change(s, UNKNOWN, made->ids[i], tid_of(s, made, -1 - (int64_t)i));
	for (size_t i = 0; i < plan->n_moves; i++) {
		int64_t to = plan->moves[i].to;

		note_queue_change(s, plan->moves[i].queue, plan->moves[i].from,
				  to < 0 ? made->ids[-1 - to] : to, tid_of(s, made, to));
	}
	for (size_t i = 0; i < frees->n; i++) {
		const struct vhost_op *op = &frees->items[i];

		if (op->done && !op->errnum)
			note_worker_change(s, op->value, UNKNOWN, session_tid(s, op->value));
		else if (op->errnum != ENODEV)
			note_kept(s, op, why);
	}
}

static int carry_out(struct session *s, const struct spread *plan, struct error *e)
{
	struct error why = ERROR_INIT;
	struct created made = { 0 };
	struct vhost_ops frees = { 0 };
	struct move *moves;
	int ret;

	if (plan->n_new && create_workers(s, NULL, plan->n_new, &made, e) < 0)
		return -1;
	moves = resolve(plan, &made);
	for (size_t i = 0; i < plan->n_unneeded; i++)
		ops_add(&frees, s, VHOST_WORKER_FREE, 0, plan->unneeded[i], false);
	ret = plan->n_moves ? make_moves(s, moves, plan->n_moves, &frees, &why) : 0;
	if (ret >= 0)
		note_done(s, plan, &made, &frees, &why);
	else
		uncreate_workers(s, &made, &why);
	if (ret < 0)
		*e = why;
	free(moves);
	free(frees.items);
	created_free(&made);
	return ret < 0 ? -1 : 0;
}

static int spread(struct session *s, unsigned int count, struct ranges *requests, struct error *e)
{
	struct spread plan;
	int ret = 0;

	if (session_read_map(s, e) < 0 || session_check_calls(s, e) < 0 ||
	    (!requests->n && session_find_requests(s, requests, e) < 0) ||
	    check_requests(s, requests, count, e) < 0)
		return -1;
	spread_plan(s->job->device->queues, s->job->device->n_queues, requests,
		    count ? count : (unsigned int)ranges_count(requests), &plan);
	if (s->job->dry_run && plan.n_new)
		ret = session_check_mode(s, e);
	if (s->job->dry_run && ret == 0)
		note_plan(s, &plan);
	else if (ret == 0)
		ret = carry_out(s, &plan, e);
	spread_free(&plan);
	return ret;
}

int workers_spread(struct worker_job *job, unsigned int count, const struct ranges *requests,
		   struct error *e)
{
	struct ranges known = { 0 };
	struct session s;
	int ret = session_start(&s, job, e);

	if (ret < 0)
		return -1;
	ranges_add_all(&known, requests);
	ret = spread(&s, count, &known, e);
	ranges_free(&known);
	session_end(&s);
	return ret;
}
