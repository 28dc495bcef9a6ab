// SPDX-License-Identifier: GPL-2.0-or-later
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "procfs.h"
#include "spread.h"
#include "util.h"
#include "vmfile.h"
#include "workers_core.h"

#define FIRST_REQUEST 2		/* after control and event: drivers/vhost/scsi.c, VHOST_SCSI_VQ_IO */

static const char *const operation = "spread the request queues";

static bool is_sole_scsi(const struct vm *vm)
{
	size_t n = 0;

	for (size_t i = 0; i < vm->n_devices; i++)
		n += vm->devices[i].kind == DEVICE_SCSI;
	return n == 1;
}

/* Request queues that the VMM has set up, where the kernel's own structures told. */
static void add_set_up(const struct device *d, struct ranges *requests)
{
	for (size_t i = FIRST_REQUEST; i < d->n_queues; i++)
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
	_cleanup_proc_text_ struct proc_text text = { 0 };
	unsigned int n = 0;

	if (vm_read_cmdline(s->ref.proc_fd, &text) == 0)
		n = spread_cmdline_queues(text.data, text.len, s->job->device->fd, is_sole_scsi(s->job->vm));
	if (n)
		ranges_add(requests, FIRST_REQUEST, FIRST_REQUEST + n - 1);
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

	if (!requests->n || requests->items[0].first < FIRST_REQUEST)
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

static void note_plan(struct session *s, const struct spread *plan)
{
	for (size_t i = 0; i < plan->n_new; i++)
		note_worker_change(s, UNKNOWN, UNKNOWN, UNKNOWN);
	for (size_t i = 0; i < plan->n_moves; i++)
		note_queue_change(s, plan->moves[i].queue, plan->moves[i].from,
				  plan->moves[i].to < 0 ? UNKNOWN : plan->moves[i].to, UNKNOWN);
	for (size_t i = 0; i < plan->n_unneeded; i++)
		note_worker_change(s, plan->unneeded[i], UNKNOWN, UNKNOWN);
}

static int64_t new_thread(const struct created *made, int64_t to)
{
	return to < 0 && made->threads ? made->threads[-1 - to].tid : UNKNOWN;
}

static void note_done(struct session *s, const struct spread *plan, const struct created *made,
		      const struct ops *frees)
{
	for (size_t i = 0; i < made->n; i++)
		note_worker_change(s, UNKNOWN, made->ids[i], new_thread(made, -1 - (int64_t)i));
	for (size_t i = 0; i < plan->n_moves; i++) {
		int64_t to = plan->moves[i].to;

		note_queue_change(s, plan->moves[i].queue, plan->moves[i].from,
				  to < 0 ? made->ids[-1 - to] : to, new_thread(made, to));
	}
	for (size_t i = 0; i < frees->n; i++) {
		const struct vhost_op *op = &frees->items[i];

		if (op->done && !op->errnum)
			note_worker_change(s, op->value, UNKNOWN, UNKNOWN);
		else if (op->errnum != ENODEV)
			/* Somebody put a queue there meanwhile: then it is needed after all. */
			add_note(s->job, "worker %u was not freed: %s", op->value,
				 op->errnum == EBUSY ? "it got a queue meanwhile" : strerror(op->errnum));
	}
}

static int carry_out(struct session *s, const struct spread *plan, struct error *e)
{
	struct created made = { 0 };
	struct ops frees = { 0 };
	struct move *moves;
	int ret;

	if (plan->n_new && create_workers(s, NULL, plan->n_new, &made, e) < 0)
		return -1;
	moves = resolve(plan, &made);
	for (size_t i = 0; i < plan->n_unneeded; i++)
		ops_add(&frees, s, VHOST_WORKER_FREE, 0, plan->unneeded[i], false);
	ret = plan->n_moves ? make_moves(s, moves, plan->n_moves, &frees, e) : 0;
	if (ret == 0)
		note_done(s, plan, &made, &frees);
	else
		uncreate_workers(s, &made, e);
	free(moves);
	free(frees.items);
	created_free(&made);
	return ret;
}

static int check_calls(struct session *s, struct error *e)
{
	struct ops ops = { 0 };
	int ret;

	ops_add(&ops, s, VHOST_WORKER_GET, 0, 0, true);
	ret = ops_run(s, OWNER_THREAD_ANY, &ops, e);
	if (ret == 0)
		ret = ops_check(&ops, e);
	free(ops.items);
	return ret;
}

static int spread(struct session *s, unsigned int count, struct ranges *requests, struct error *e)
{
	struct spread plan;
	int ret = 0;

	/* The snapshot first: whether the kernel has the calls, the first of them tells. */
	if (session_read_map(s, MAP_ANY, e) < 0 ||
	    (!requests->n && session_find_requests(s, requests, e) < 0))
		return -1;
	if (s->job->dry_run && check_calls(s, e) < 0)
		return -1;
	if (check_requests(s, requests, count, e) < 0)
		return -1;
	spread_plan(s->job->device->queues, s->job->device->n_queues, requests,
		    count ? count : (unsigned int)ranges_count(requests), &plan);
	if (s->job->dry_run)
		note_plan(s, &plan);
	else
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
	for (size_t i = 0; i < requests->n; i++)
		ranges_add(&known, requests->items[i].first, requests->items[i].last);
	ret = spread(&s, count, &known, e);
	ranges_free(&known);
	session_end(&s);
	return ret;
}
