// SPDX-License-Identifier: GPL-2.0-or-later
/* Busy-loop timeouts and rx-frames. */
#include "trial_steps.h"

#include <string.h>

#include "busyloop.h"
#include "coalesce.h"
#include "cut.h"
#include "source.h"
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

void trial_add_undo(struct trial *t, enum trial_kind kind, int fd, unsigned int queue, uint32_t value)
{
	*ARRAY_ADD(t->undos, t->n_undos) = (struct trial_undo){
		.kind = kind, .fd = fd, .queue = queue, .value = value };
}

void trial_mark(struct trial *t, enum trial_kind kind, bool set)
{
	for (size_t i = 0; i < t->n_undos; i++)
		if (t->undos[i].kind == kind)
			t->undos[i].set = set;
}

/* ---- busy-loop ---- */

static int set_busyloop(struct trial *t, char *const *texts, size_t n, uint32_t usecs, bool dry_run,
			struct changes *c, struct error *e)
{
	struct selection sel = { 0 };
	struct state state = { 0 };
	int ret = trial_find(t, texts, n, &state, &sel, e);

	if (ret == 0)
		trial_keep_kind(&sel, DEVICE_NET);
	if (ret == 0 && !sel.n)
		ret = error_set(e, STATUS_UNSUPPORTED, 0, NULL,
				"it has no vhost-net device, and busy polling is vhost-net's alone");
	if (ret == 0)
		ret = busyloop_set(sel.items[0].vm, &sel, usecs, dry_run, c, &t->log, e);
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

	if (ret == 0 || e->status == STATUS_ROLLBACK)
		trial_mark(t, TRIAL_BUSYLOOP, true);
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

		if (u->kind == TRIAL_BUSYLOOP && u->set && u->value == t->undos[first].value)
			*ARRAY_ADD(texts, n) = xasprintf("%d/fd%d/%u", (int)t->pid, u->fd, u->queue);
	}
	ret = set_busyloop(t, texts, n, t->undos[first].value, false, &ignored, e);
	for (size_t i = first; ret == 0 && i < t->n_undos; i++)
		if (t->undos[i].kind == TRIAL_BUSYLOOP && t->undos[i].value == t->undos[first].value)
			t->undos[i].set = false;
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
		if (t->undos[i].kind == TRIAL_BUSYLOOP && t->undos[i].set && put_back_value(t, i, e))
			ret = -1;
	return ret;
}

/* ---- rx-frames ---- */

/* Which tap a device drives may be known to the snapshot only. */
static int find_pairs(struct state *state, struct selection *sel, struct error *e)
{
	struct snapshot snap;
	bool lacking = false;
	int ret;

	for (size_t i = 0; i < sel->n; i++)
		lacking |= sel->items[i].device && !sel->items[i].device->tap;
	if (!lacking)
		return 0;
	ret = source_take(SOURCE_AUTO, state, sel, &snap, e);
	if (ret == 1) {
		ret = source_merge(&snap, sel->items[0].vm, false, e);
		snapshot_free(&snap);
	}
	return ret;
}

static bool is_meant(const struct selection *sel, const struct tap *t)
{
	for (size_t i = 0; i < sel->n; i++)
		if (!sel->items[i].device ||
		    (sel->items[i].device->tap && !strcmp(sel->items[i].device->tap, t->ifname)))
			return !t->macvtap && t->n_fds;
	return false;
}

static int set_tap(const struct vm_ref *ref, const struct vm *vm, const struct tap *tap, struct coalesce *c,
		   struct changes *changes, struct error *e)
{
	struct tap_visit v = TAP_VISIT_INIT;
	_cleanup_free_ char *name = target_name(vm, NULL, NULL);
	int ret = tap_visit(ref, tap, &v, coalesce_set, c, e);

	if (ret == 0 && changes && c->before != c->after)
		*ARRAY_ADD(changes->items, changes->n) = (struct change){
			.target = xasprintf("%s/%s", name, v.link.ifname), .pid = vm->pid,
			.setting = "rx_frames", .before = c->before, .after = c->after,
			.applied = !c->dry_run };
	tap_visit_end(&v);
	return ret;
}

/* All taps that the target means. With @dry_run, what there is to put back is noted. */
static int set_frames(struct trial *t, uint32_t frames, bool dry_run, struct error *e)
{
	struct vm_ref ref = VM_REF_INIT;
	struct selection sel = { 0 };
	struct state state = { 0 };
	size_t n = 0;
	int ret = trial_find(t, t->fixed, t->n_fixed, &state, &sel, e);

	if (ret == 0)
		ret = find_pairs(&state, &sel, e);
	if (ret == 0)
		ret = vm_hold(&ref, t->pid, t->start_time, e);
	for (size_t i = 0; ret == 0 && i < sel.items[0].vm->n_taps; i++) {
		struct tap *tap = &sel.items[0].vm->taps[i];
		struct coalesce c = { .frames = frames, .dry_run = dry_run };

		if (!is_meant(&sel, tap))
			continue;
		n++;
		ret = set_tap(&ref, sel.items[0].vm, tap, &c, &t->changes, e);
		if (ret == 0 && dry_run && c.before != frames)
			trial_add_undo(t, TRIAL_RX_FRAMES, tap->fds[0], 0, (uint32_t)c.before);
		for (size_t k = 0; c.sent && k < t->n_undos; k++)
			t->undos[k].set |= t->undos[k].kind == TRIAL_RX_FRAMES &&
					   t->undos[k].fd == tap->fds[0];
	}
	if (ret == 0 && !n)
		ret = error_set(e, STATUS_UNSUPPORTED, 0, NULL,
				"no tap is known that it drives and that could have rx-frames");
	vm_release(&ref);
	selection_free(&sel);
	state_free(&state);
	return ret;
}

int trial_plan_frames(struct trial *t, const struct trial_setting *s, struct error *e)
{
	return set_frames(t, s->value, true, e);
}

int trial_set_frames(struct trial *t, const struct trial_setting *s, struct error *e)
{
	return set_frames(t, s->value, false, e);
}

static const struct tap *tap_with_fd(const struct vm *vm, int fd)
{
	for (size_t i = 0; i < vm->n_taps; i++)
		for (size_t k = 0; k < vm->taps[i].n_fds; k++)
			if (vm->taps[i].fds[k] == fd)
				return &vm->taps[i];
	return NULL;
}

static int put_back_tap(const struct trial *t, struct trial_undo *u, struct error *e)
{
	_cleanup_free_ char *text = xasprintf("%d", (int)t->pid);
	struct coalesce c = { .frames = u->value };
	struct vm_ref ref = VM_REF_INIT;
	struct selection sel = { 0 };
	struct state state = { 0 };
	const struct tap *tap;
	int ret = trial_find(t, &text, 1, &state, &sel, e);

	if (ret == 0)
		ret = vm_hold(&ref, t->pid, t->start_time, e);
	tap = ret == 0 ? tap_with_fd(sel.items[0].vm, u->fd) : NULL;
	/* A tap that the VM has closed took its setting with it. */
	if (tap)
		ret = set_tap(&ref, sel.items[0].vm, tap, &c, NULL, e);
	u->set = ret != 0;
	vm_release(&ref);
	selection_free(&sel);
	state_free(&state);
	return ret;
}

int trial_put_back_frames(struct trial *t, struct error *e)
{
	int ret = 0;

	for (size_t i = 0; i < t->n_undos; i++)
		if (t->undos[i].kind == TRIAL_RX_FRAMES && t->undos[i].set &&
		    put_back_tap(t, &t->undos[i], e))
			ret = -1;
	return ret;
}
