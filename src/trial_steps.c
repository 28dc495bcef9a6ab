// SPDX-License-Identifier: GPL-2.0-or-later
/* What the steps share, and busy-loop timeouts. */
#include "trial_steps.h"

#include <string.h>

#include "busyloop.h"
#include "util.h"

int trial_find(const struct trial *t, char *const *texts, size_t n, struct state *state,
	       struct selection *sel, struct error *e)
{
	if (target_find((const char *const *)texts, n, state, sel, e)) {
		/* It is by our own texts, not as it was asked for. */
		e->target[0] = '\0';
		return -1;
	}
	for (size_t i = 0; i < sel->n; i++)
		if (sel->items[i].vm->start_time != t->start_time)
			return error_set(e, STATUS_NOT_FOUND, ESRCH, NULL, "the VM is gone");
	return 0;
}

void trial_keep_kind(struct selection *sel, enum device_kind kind)
{
	struct selection kept = { 0 };

	for (size_t i = 0; i < sel->n; i++) {
		struct selected *item = &sel->items[i];

		if (item->device && item->device->kind == kind) {
			*ARRAY_ADD(kept.items, kept.n) = *item;
			item->queues = (struct ranges){ 0 };
		}
		for (size_t d = 0; !item->device && d < item->vm->n_devices; d++)
			if (item->vm->devices[d].kind == kind)
				*ARRAY_ADD(kept.items, kept.n) = (struct selected){
					.vm = item->vm, .device = &item->vm->devices[d] };
	}
	selection_free(sel);
	*sel = kept;
}

bool trial_is_due(const struct trial_undo *u)
{
	return u->set && !u->lost;
}

void trial_add_undo(struct trial *t, enum trial_kind kind, int fd, unsigned int queue, uint32_t value)
{
	*ARRAY_ADD(t->undos, t->n_undos) = (struct trial_undo){
		.kind = kind, .fd = fd, .queue = queue, .value = value };
}

void trial_note_set(struct trial *t, enum trial_kind kind, int fd, unsigned int queue, uint32_t before)
{
	size_t i = 0;

	while (i < t->n_undos &&
	       (t->undos[i].kind != kind || t->undos[i].fd != fd || t->undos[i].queue != queue))
		i++;
	if (i == t->n_undos)
		trial_add_undo(t, kind, fd, queue, before);
	t->undos[i].value = before;
	t->undos[i].set = true;
}

const struct queue *trial_queue_of(const struct selected *item, const struct change *c)
{
	for (size_t i = 0; i < item->device->n_queues; i++) {
		_cleanup_free_ char *name = target_name(item->vm, item->device, &item->device->queues[i]);

		if (!strcmp(name, c->target))
			return &item->device->queues[i];
	}
	return NULL;
}

void trial_note_change(struct trial *t, const struct selected *item, enum trial_kind kind,
		       const struct change *c)
{
	const struct queue *q = trial_queue_of(item, c);

	if (!q || c->before == UNKNOWN)
		return;
	trial_note_device(t, item->vm, item->device->fd);
	trial_note_set(t, kind, item->device->fd, q->index, (uint32_t)c->before);
}

void trial_note_all_set(struct trial *t, enum trial_kind kind, int fd)
{
	for (size_t i = 0; i < t->n_undos; i++)
		t->undos[i].set |= t->undos[i].kind == kind && (fd < 0 || t->undos[i].fd == fd);
}

void trial_forget_made(struct trial *t, int fd)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_made; i++)
		if (t->made[i].fd != fd)
			t->made[n++] = t->made[i];
	t->n_made = n;
}

static void note_busyloop(struct trial *t, const struct selection *sel, size_t from)
{
	for (size_t k = from; k < t->changes.n; k++)
		for (size_t i = 0; i < sel->n; i++)
			trial_note_change(t, &sel->items[i], TRIAL_BUSYLOOP, &t->changes.items[k]);
}

static int set_busyloop(struct trial *t, char *const *texts, size_t n, uint32_t usecs, bool dry_run,
			struct changes *c, struct error *e)
{
	struct selection sel = { 0 };
	struct state state = { 0 };
	size_t from = c->n;
	int ret = trial_find(t, texts, n, &state, &sel, e);

	if (ret == 0)
		trial_keep_kind(&sel, DEVICE_NET);
	if (ret == 0 && !sel.n)
		ret = error_set(e, STATUS_UNSUPPORTED, 0, NULL,
				"it has no vhost-net device, and busy polling is vhost-net's alone");
	if (ret == 0)
		ret = busyloop_set(sel.items[0].vm, &sel, usecs, dry_run, c, &t->log, e);
	if (ret == 0 && !dry_run && c == &t->changes)
		note_busyloop(t, &sel, from);
	for (size_t i = 0; ret == 0 && dry_run && i < sel.n; i++) {
		const struct device *d = sel.items[i].device;

		for (size_t q = 0; q < d->n_queues; q++)
			if (target_has_queue(&sel.items[i], d->queues[q].index) &&
			    d->queues[q].busyloop_usecs != usecs)
				trial_add_undo(t, TRIAL_BUSYLOOP, d->fd, d->queues[q].index,
					       (uint32_t)d->queues[q].busyloop_usecs);
	}
	selection_free(&sel);
	state_free(&state);
	return ret;
}

int trial_plan_busyloop(struct trial *t, const struct trial_setting *s, struct error *e)
{
	return set_busyloop(t, t->fixed, t->n_fixed, s->value, true, &t->changes, e);
}

int trial_set_busyloop(struct trial *t, const struct trial_setting *s, struct error *e)
{
	int ret = set_busyloop(t, t->fixed, t->n_fixed, s->value, false, &t->changes, e);

	if (ret < 0 && e->status == STATUS_ROLLBACK)
		trial_note_all_set(t, TRIAL_BUSYLOOP, -1);
	return ret;
}

/* All queues that had the value of undo @first. */
static int put_back_value(struct trial *t, size_t first, struct error *e)
{
	struct changes ignored = { 0 };
	char **texts = NULL;
	size_t n = 0;
	int ret;

	for (size_t i = first; i < t->n_undos; i++) {
		const struct trial_undo *u = &t->undos[i];

		if (u->kind == TRIAL_BUSYLOOP && trial_is_due(u) && u->value == t->undos[first].value)
			*ARRAY_ADD(texts, n) = xasprintf("%d/fd%d/%u", (int)t->pid, u->fd, u->queue);
	}
	ret = set_busyloop(t, texts, n, t->undos[first].value, false, &ignored, e);
	for (size_t i = first; ret == 0 && i < t->n_undos; i++)
		if (t->undos[i].kind == TRIAL_BUSYLOOP && t->undos[i].value == t->undos[first].value)
			t->undos[i].set &= t->undos[i].lost;
	for (size_t i = 0; i < n; i++)
		free(texts[i]);
	free(texts);
	changes_free(&ignored);
	return ret;
}

int trial_put_back_busyloop(struct trial *t, struct error *e)
{
	int ret = 0;

	for (size_t i = 0; i < t->n_undos; i++)
		if (t->undos[i].kind == TRIAL_BUSYLOOP && trial_is_due(&t->undos[i]) &&
		    put_back_value(t, i, e))
			ret = -1;
	return ret;
}
