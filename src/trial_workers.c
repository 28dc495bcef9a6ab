// SPDX-License-Identifier: GPL-2.0-or-later
/* A trial of workers: queues go back to the workers that they had, and those made for it are freed. */
#include <string.h>

#include "trial_steps.h"
#include "util.h"
#include "workers.h"

static struct worker_job job_for(struct trial *t, const struct selected *item, struct changes *changes)
{
	return (struct worker_job){ .vm = item->vm, .device = item->device, .log = &t->log,
				    .changes = changes };
}

/* The scsi devices that the target means. */
static int find(struct trial *t, struct state *state, struct selection *sel, struct error *e)
{
	if (trial_find(t, t->fixed, t->n_fixed, state, sel, e))
		return -1;
	for (size_t i = 0; i < sel->n; i++)
		if (sel->items[i].queues.n)
			return error_set(e, STATUS_USAGE, 0, NULL,
					 "workers are a device's; name it without a queue");
	trial_keep_kind(sel, DEVICE_SCSI);
	if (sel->n)
		return 0;
	return error_set(e, STATUS_UNSUPPORTED, 0, NULL,
			 "it has no vhost-scsi device, and only those can have more than one worker");
}

/* A worker that ended would not come back as it was: its cpus, its priority, its cgroup. */
static int plan_device(struct trial *t, const struct selected *item, size_t from, struct error *e)
{
	for (size_t i = from; i < t->changes.n; i++) {
		const struct change *c = &t->changes.items[i];
		const struct queue *q;

		if (!strcmp(c->setting, "worker") && c->after == UNKNOWN && c->before != UNKNOWN)
			return error_set(e, STATUS_UNSUPPORTED, 0, NULL,
					 "so few workers would end worker %lld, which cannot be put back as "
					 "it is; try as many as there are, or more", (long long)c->before);
		if (strcmp(c->setting, "worker_id"))
			continue;
		q = trial_queue_of(item, c);
		if (!q || c->before == UNKNOWN)
			return error_set(e, STATUS_FAILED, 0, NULL,
					 "its queues changed meanwhile; try again");
		trial_add_undo(t, TRIAL_WORKERS, item->device->fd, q->index, (uint32_t)c->before);
	}
	return 0;
}

static void note_made(struct trial *t, const struct selected *item, size_t from)
{
	for (size_t i = from; i < t->changes.n; i++) {
		const struct change *c = &t->changes.items[i];

		if (!strcmp(c->setting, "worker_id"))
			trial_note_change(t, item, TRIAL_WORKERS, c);
		if (strcmp(c->setting, "worker") || c->before != UNKNOWN || c->after == UNKNOWN)
			continue;
		*ARRAY_ADD(t->made, t->n_made) =
			(struct trial_worker){ item->device->fd, (uint32_t)c->after };
	}
}

static int spread(struct trial *t, uint32_t count, bool dry_run, struct error *e)
{
	const struct ranges none = { 0 };
	struct selection sel = { 0 };
	struct state state = { 0 };
	int ret = find(t, &state, &sel, e);

	for (size_t i = 0; ret == 0 && i < sel.n; i++) {
		struct worker_job job = job_for(t, &sel.items[i], &t->changes);
		size_t from = t->changes.n;

		job.dry_run = dry_run;
		ret = workers_spread(&job, count, &none, e);
		if (ret == 0 && dry_run)
			ret = plan_device(t, &sel.items[i], from, e);
		else if (ret == 0 || e->status == STATUS_ROLLBACK)
			note_made(t, &sel.items[i], from);
		if (ret < 0 && !dry_run && e->status == STATUS_ROLLBACK)
			trial_note_all_set(t, TRIAL_WORKERS, sel.items[i].device->fd);
		sentences_free(&job.notes);
	}
	selection_free(&sel);
	state_free(&state);
	return ret;
}

int trial_plan_workers(struct trial *t, const struct trial_setting *s, struct error *e)
{
	return spread(t, s->value, true, e);
}

int trial_set_workers(struct trial *t, const struct trial_setting *s, struct error *e)
{
	return spread(t, s->value, false, e);
}

/* The queues of undo @first's device that had its worker. */
static int attach_back(struct trial *t, size_t first, const struct selected *item, struct error *e)
{
	const struct trial_undo *u = &t->undos[first];
	struct changes ignored = { 0 };
	struct worker_job job = job_for(t, item, &ignored);
	struct ranges queues = { 0 };
	int ret;

	for (size_t i = first; i < t->n_undos; i++)
		if (t->undos[i].kind == TRIAL_WORKERS && t->undos[i].fd == u->fd &&
		    t->undos[i].value == u->value && trial_is_due(&t->undos[i]))
			ranges_add(&queues, t->undos[i].queue, t->undos[i].queue);
	ret = workers_attach(&job, &queues, u->value, e);
	for (size_t i = first; ret == 0 && i < t->n_undos; i++)
		if (t->undos[i].kind == TRIAL_WORKERS && ranges_contain(&queues, t->undos[i].queue) &&
		    t->undos[i].fd == item->device->fd)
			t->undos[i].set = false;
	ranges_free(&queues);
	changes_free(&ignored);
	sentences_free(&job.notes);
	return ret;
}

static int free_made(struct trial *t, const struct selected *item, struct error *e)
{
	struct changes ignored = { 0 };
	struct worker_job job = job_for(t, item, &ignored);
	struct ranges ids = { 0 };
	int ret;

	for (size_t i = 0; i < t->n_made; i++)
		if (t->made[i].fd == item->device->fd)
			ranges_add(&ids, t->made[i].id, t->made[i].id);
	ret = ids.n ? workers_free(&job, &ids, e) : 0;
	if (ret == 0)
		trial_forget_made(t, item->device->fd);
	ranges_free(&ids);
	changes_free(&ignored);
	sentences_free(&job.notes);
	return ret;
}

/* Each job takes the device as a scan leaves it. */
static int on_device(struct trial *t, int fd, size_t undo, bool attach, struct error *e)
{
	_cleanup_free_ char *text = xasprintf("%d/fd%d", (int)t->pid, fd);
	struct selection sel = { 0 };
	struct state state = { 0 };
	int ret = trial_find(t, &text, 1, &state, &sel, e);

	if (ret == 0)
		ret = attach ? attach_back(t, undo, &sel.items[0], e) : free_made(t, &sel.items[0], e);
	selection_free(&sel);
	state_free(&state);
	return ret;
}

int trial_put_back_workers(struct trial *t, struct error *e)
{
	int ret = 0;

	for (size_t i = 0; i < t->n_undos; i++)
		if (t->undos[i].kind == TRIAL_WORKERS && trial_is_due(&t->undos[i]) &&
		    on_device(t, t->undos[i].fd, i, true, e))
			ret = -1;
	while (ret == 0 && t->n_made)
		ret = on_device(t, t->made[0].fd, 0, false, e);
	return ret;
}
