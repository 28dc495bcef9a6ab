// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A trial of rx-frames. The setting is the interface's, so it is put back by that, namespace and index,
 * and not by a file, which can be closed and come to be another tap's while a persistent tap stays.
 */
#include <errno.h>
#include <string.h>

#include "coalesce.h"
#include "source.h"
#include "trial_steps.h"
#include "util.h"

/* Which tap a device drives may be known to the snapshot only. */
static int find_pairs(struct state *state, struct selection *sel, struct error *e)
{
	struct error ignored = ERROR_INIT;
	bool lacking = false;

	for (size_t i = 0; i < sel->n; i++)
		lacking |= sel->items[i].device && !tap_of_device(sel->items[i].vm, sel->items[i].device);
	return lacking && source_read(SOURCE_AUTO, state, sel, false, &ignored, e) < 0 ? -1 : 0;
}

static bool is_meant(const struct selection *sel, const struct tap *t)
{
	for (size_t i = 0; i < sel->n; i++)
		if (!sel->items[i].device || tap_of_device(sel->items[i].vm, sel->items[i].device) == t)
			return !t->macvtap && t->n_fds;
	return false;
}

static struct trial_undo *undo_of(const struct trial *t, const struct tap_visit *v)
{
	for (size_t i = 0; i < t->n_undos; i++)
		if (t->undos[i].kind == TRIAL_RX_FRAMES && t->undos[i].netns == v->ns.inode &&
		    t->undos[i].ifindex == v->link.ifindex)
			return &t->undos[i];
	return NULL;
}

/* With what is needed to find the interface again. */
static void note_undo(struct trial *t, const struct tap *tap, struct tap_visit *v, uint32_t before)
{
	struct trial_undo *u;
	size_t i = 0;

	trial_add_undo(t, TRIAL_RX_FRAMES, tap->fds[0], 0, before);
	u = &t->undos[t->n_undos - 1];
	memcpy(u->ifname, v->link.ifname, sizeof(u->ifname));
	memcpy(u->mac, v->link.mac, sizeof(u->mac));
	u->netns = v->ns.inode;
	u->ifindex = v->link.ifindex;
	u->persist = v->facts.persist;
	while (i < t->n_spaces && t->spaces[i].inode != v->ns.inode)
		i++;
	if (i < t->n_spaces)
		return;
	*ARRAY_ADD(t->spaces, t->n_spaces) = v->ns;
	v->ns = NETNS_INIT;
}

struct job {
	struct coalesce c;
	struct trial *t;		/* of set_planned() */
	const struct trial_undo *undo;	/* of set_if_moved() */
};

/* What was not planned for could not be put back. */
static int set_planned(struct tap_visit *v, void *arg, struct error *e)
{
	struct job *j = arg;
	int64_t now;

	if (!j->c.dry_run && !undo_of(j->t, v)) {
		if (ethnl_get_rx_frames(&v->ethnl, &now, e))
			return -1;
		if (now != j->c.frames)
			return error_set(e, STATUS_FAILED, 0, NULL,
					 "its taps or what they had changed meanwhile; try again");
	}
	return coalesce_set(v, &j->c, e);
}

/* Of a tap that was found, what is put back is what it was just before, not what was planned with. */
static void note_set(struct trial *t, const struct tap *tap, const struct tap_visit *v, uint32_t before)
{
	struct trial_undo *u = undo_of(t, v);

	if (!u) {
		trial_note_all_set(t, TRIAL_RX_FRAMES, tap->fds[0]);
		return;
	}
	u->set = true;
	u->value = before;
}

static int set_tap(struct trial *t, const struct vm_ref *ref, const struct vm *vm, const struct tap *tap,
		   struct job *j, struct error *e)
{
	_cleanup_free_ char *name = target_name(vm, NULL, NULL);
	struct tap_visit v = TAP_VISIT_INIT;
	int ret = tap_visit(ref, tap, &v, set_planned, j, e);

	if (j->c.sent)
		note_set(t, tap, &v, (uint32_t)j->c.before);
	if (ret == 0 && j->c.before != j->c.after)
		*ARRAY_ADD(t->changes.items, t->changes.n) = (struct change){
			.target = xasprintf("%s/%s", name, v.link.ifname), .pid = vm->pid,
			.setting = "rx_frames", .before = j->c.before, .after = j->c.after,
			.applied = !j->c.dry_run };
	if (ret == 0 && j->c.dry_run && j->c.before != j->c.frames)
		note_undo(t, tap, &v, (uint32_t)j->c.before);
	tap_visit_end(&v);
	return ret;
}

static int set_each(struct trial *t, const struct vm_ref *ref, const struct selection *sel, uint32_t frames,
		    bool dry_run, struct error *e)
{
	struct vm *vm = sel->items[0].vm;
	size_t n = 0;

	for (size_t i = 0; i < vm->n_taps; i++) {
		struct job j = { .c = { .frames = frames, .dry_run = dry_run }, .t = t };

		if (!is_meant(sel, &vm->taps[i]))
			continue;
		n++;
		if (set_tap(t, ref, vm, &vm->taps[i], &j, e))
			return -1;
	}
	if (n)
		return 0;
	return error_set(e, STATUS_UNSUPPORTED, 0, NULL,
			 "no tap is known that it drives and that could have rx-frames");
}

/* All taps that the target means. With @dry_run, what there is to put back is noted. */
static int set_frames(struct trial *t, uint32_t frames, bool dry_run, struct error *e)
{
	struct vm_ref ref = VM_REF_INIT;
	struct selection sel = { 0 };
	struct state state = { 0 };
	int ret = trial_find(t, t->fixed, t->n_fixed, &state, &sel, e);

	if (ret == 0)
		ret = vm_hold(&ref, t->pid, t->start_time, e);
	if (ret == 0) {
		taps_regroup(&ref, sel.items[0].vm);
		ret = find_pairs(&state, &sel, e);
	}
	if (ret == 0)
		ret = set_each(t, &ref, &sel, frames, dry_run, e);
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

/* 1: there is no such tap in that namespace any more. */
static int put_back_there(const struct trial *t, const struct trial_undo *u, struct error *e)
{
	struct coalesce c = { .frames = u->value };
	struct tap_visit v = TAP_VISIT_INIT;
	size_t i = 0;
	int ret;

	while (t->spaces[i].inode != u->netns)
		i++;
	v.ns = t->spaces[i];
	ret = tap_visit_index(&v, (int)u->ifindex, coalesce_set, &c, e);
	/* It stays open for others. */
	v.ns = NETNS_INIT;
	tap_visit_end(&v);
	return ret && e->errnum == ENODEV ? 1 : ret;
}

/* A move to another namespace leaves index and address. */
static int set_if_moved(struct tap_visit *v, void *arg, struct error *e)
{
	struct job *j = arg;

	if (v->link.ifindex != j->undo->ifindex || v->ns.inode == j->undo->netns ||
	    memcmp(v->link.mac, j->undo->mac, sizeof(v->link.mac)) != 0)
		return error_set(e, STATUS_NOT_FOUND, ENXIO, NULL, "it is another one");
	return coalesce_set(v, &j->c, e);
}

/* 1: no tap of the VM is it. */
static int search(const struct trial_undo *u, const struct vm_ref *ref, const struct vm *vm,
		  struct error *e)
{
	struct error own = ERROR_INIT;
	int ret = 1;

	for (size_t i = 0; ret != 0 && i < vm->n_taps; i++) {
		struct job j = { .c = { .frames = u->value }, .undo = u };
		struct tap_visit v = TAP_VISIT_INIT;

		if (vm->taps[i].macvtap)
			continue;
		if (tap_visit(ref, &vm->taps[i], &v, set_if_moved, &j, &own) == 0) {
			ret = 0;
		} else if (own.status != STATUS_NOT_FOUND) {
			*e = own;
			ret = -1;
		}
		tap_visit_end(&v);
	}
	return ret;
}

/* The same, or the VM is gone. */
static int put_back_moved(const struct trial *t, const struct trial_undo *u, struct error *e)
{
	_cleanup_free_ char *text = xasprintf("%d", (int)t->pid);
	struct vm_ref ref = VM_REF_INIT;
	struct selection sel = { 0 };
	struct state state = { 0 };
	int ret = trial_find(t, &text, 1, &state, &sel, e);

	if (ret == 0)
		ret = vm_hold(&ref, t->pid, t->start_time, e);
	if (ret == 0) {
		taps_regroup(&ref, sel.items[0].vm);
		ret = search(u, &ref, sel.items[0].vm, e);
	} else if (e->status == STATUS_NOT_FOUND) {
		ret = 1;
	}
	vm_release(&ref);
	selection_free(&sel);
	state_free(&state);
	return ret;
}

/* A tap that is not persistent ends with its last file, and its setting with it. */
static int put_back_tap(struct trial *t, struct trial_undo *u, struct error *e)
{
	int ret = put_back_there(t, u, e);

	if (ret == 1)
		ret = put_back_moved(t, u, e);
	if (ret == 1 && u->persist != 0) {
		u->lost = true;
		return error_set(e, STATUS_FAILED, 0, NULL,
				 "tap %s is not where it was: it was deleted, or moved to another network "
				 "namespace, where its rx-frames are to be %u", u->ifname, u->value);
	}
	u->set = ret < 0;
	return ret < 0 ? -1 : 0;
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
