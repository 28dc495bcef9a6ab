// SPDX-License-Identifier: GPL-2.0-or-later
/* Steps on vhost-net devices: busy-loop timeouts of a VM in one stop or a few, and rx-frames of a tap. */
#include <errno.h>

#include "coalesce.h"
#include "policy_plan.h"
#include "target.h"
#include "util.h"

static void note(struct policy_run *run, const struct vm_plan *vp, char *target, const char *setting,
		 int64_t before, int64_t after)
{
	if (before == after) {
		free(target);
		return;
	}
	*ARRAY_ADD(run->changes.items, run->changes.n) = (struct change){
		.target = target, .pid = vp->vm->pid, .setting = setting, .before = before, .after = after,
		.applied = !run->dry_run,
	};
}

/* ---- busy-loop ---- */

static int64_t timeout_now(const struct device *d, unsigned int index)
{
	return d->queues_known && index < d->n_queues ? d->queues[index].busyloop_usecs : UNKNOWN;
}

static void note_sets(struct policy_run *run, const struct step *step)
{
	for (size_t i = 0; i < step->n_sets; i++) {
		const struct busyloop_want *set = &step->sets[i];
		struct queue q = { .index = set->index };
		int64_t before = run->dry_run ? timeout_now(set->device, set->index) : set->before;

		queue_name(set->device->kind, set->index, q.name);
		note(run, step->vm, target_name(step->vm->vm, set->device, &q), "busyloop_usecs", before,
		     set->usecs);
	}
}

static int act_busyloop(struct policy_run *run, struct step *step, struct error *e)
{
	if (!run->dry_run &&
	    busyloop_set_each(step->vm->vm, step->sets, step->n_sets, step->vm->log, e) < 0)
		return -1;
	note_sets(run, step);
	return 0;
}

static int undo_busyloop(struct policy_run *run, struct step *step, struct error *e)
{
	_cleanup_free_ struct busyloop_want *back = xcalloc(step->n_sets, sizeof(*back));
	size_t n = 0;

	(void)run;
	for (size_t i = step->n_sets; i > 0; i--) {
		const struct busyloop_want *set = &step->sets[i - 1];

		if (set->before != set->usecs)
			back[n++] = (struct busyloop_want){ set->device, set->index, set->before, 0 };
	}
	return n ? busyloop_set_each(step->vm->vm, back, n, step->vm->log, e) : 0;
}

static const struct step_type step_busyloop = { act_busyloop, undo_busyloop, false };

void plan_busyloop(struct policy_run *run, struct vm_plan *vp)
{
	struct step *step = NULL;

	for (size_t i = 0; i < vp->vm->n_devices; i++) {
		const struct device_wants *w = &vp->wants[i];

		for (unsigned int q = 0; q < ARRAY_SIZE(w->busyloop); q++) {
			const struct want *want = &w->busyloop[q];

			if (!want->from || timeout_now(w->device, q) == want->value)
				continue;
			if (!step)
				step = plan_add(run, &step_busyloop, vp, 0);
			*ARRAY_ADD(step->sets, step->n_sets) =
				(struct busyloop_want){ w->device, q, (uint32_t)want->value, 0 };
		}
	}
}

/* ---- rx-frames ---- */

static int visit(struct step *step, uint32_t frames, struct coalesce *c, struct error *e)
{
	struct vm_ref ref = VM_REF_INIT;
	int ret;

	*c = (struct coalesce){ .frames = frames, .expected = NULL };
	if (vm_hold(&ref, step->vm->vm->pid, step->vm->vm->start_time, e) < 0)
		return -1;
	ret = tap_visit(&ref, step->tap, &step->vm->visit, coalesce_set, c, e);
	vm_release(&ref);
	return ret;
}

/* It was sent, but the answer is missing. */
static void take_back(struct step *step, const struct coalesce *c, struct error *e)
{
	struct error why = ERROR_INIT;
	struct coalesce back;

	if (visit(step, (uint32_t)c->before, &back, &why) < 0 && why.errnum != ENODEV)
		error_append(e, STATUS_ROLLBACK, "; rx-frames may be %u already, and was %lld: %s", c->frames,
			     (long long)c->before, why.message);
}

static int act_rx_frames(struct policy_run *run, struct step *step, struct error *e)
{
	_cleanup_free_ char *vm = target_name(step->vm->vm, NULL, NULL);
	struct coalesce c = { .before = step->tap->rx_frames, .after = step->frames };

	if (!run->dry_run && visit(step, step->frames, &c, e) < 0) {
		if (c.sent)
			take_back(step, &c, e);
		return error_target(e, "%s", step->tap->ifname);
	}
	step->frames_before = c.before;
	note(run, step->vm, xasprintf("%s/%s", vm, step->tap->ifname), "rx_frames", c.before, c.after);
	return 0;
}

static int undo_rx_frames(struct policy_run *run, struct step *step, struct error *e)
{
	struct coalesce c;

	(void)run;
	if (visit(step, (uint32_t)step->frames_before, &c, e) == 0)
		return 0;
	/* With the interface its setting is gone. */
	return e->errnum == ENODEV ? 0 : -1;
}

static const struct step_type step_rx_frames = { act_rx_frames, undo_rx_frames, false };

static int check_tap(struct policy_run *run, const struct device *d, const struct tap *t, struct error *e)
{
	if (!t) {
		/* The guest's driver may have to start it first. */
		run->not_yet = true;
		error_set(e, STATUS_NOT_FOUND, 0, "set rx-frames",
			  "which tap it drives is not known%s", run->snapshot ? "" :
			  "; with the kernel snapshot it would be ('vhostctl check' says why there is none)");
		return error_target(e, "%s", d->id);
	}
	if (t->n_errors)
		*e = t->errors[0];
	else if (t->rx_frames == UNKNOWN)
		error_set(e, STATUS_UNSUPPORTED, 0, "set rx-frames",
			  "this interface has no rx-frames coalescing");
	else
		return 0;
	return error_target(e, "%s", t->ifname);
}

/* What was not known when the policy was matched: is it the tap of a device before, for another value? */
static int check_others(const struct vm_plan *vp, size_t i, const struct tap *t, struct error *e)
{
	for (size_t k = 0; k < i; k++)
		if (tap_of_device(vp->vm, vp->wants[k].device) == t &&
		    policy_frames_differ(&vp->wants[i], &vp->wants[k], e) < 0)
			return -1;
	return 0;
}

static bool is_planned(const struct policy_run *run, const struct vm_plan *vp, const struct tap *t)
{
	for (size_t i = 0; i < run->n_steps; i++) {
		const struct tap *planned = run->steps[i].vm == vp ? run->steps[i].tap : NULL;

		if (planned && planned->n_fds && t->n_fds && planned->fds[0] == t->fds[0])
			return true;
	}
	return false;
}

/*
 * What it takes to find it again. A snapshot that is taken when workers are made is merged into the VM, the
 * taps of which it can move.
 */
static struct tap *copy_tap(const struct tap *t)
{
	struct tap *copy = xcalloc(1, sizeof(*copy));

	tap_init_as(copy, t);
	copy->rx_frames = t->rx_frames;
	for (size_t i = 0; i < t->n_fds; i++)
		*ARRAY_ADD(copy->fds, copy->n_fds) = t->fds[i];
	return copy;
}

static bool wants_frames(const struct vm_plan *vp)
{
	for (size_t i = 0; i < vp->vm->n_devices; i++)
		if (vp->wants[i].rx_frames.from)
			return true;
	return false;
}

int plan_rx_frames(struct policy_run *run, struct vm_plan *vp, struct error *e)
{
	struct error on_tap = ERROR_INIT; /* stands with the tap too */

	if (!wants_frames(vp))
		return 0;
	taps_read(vp->vm, &on_tap);
	for (size_t i = 0; i < vp->vm->n_devices; i++) {
		const struct want *want = &vp->wants[i].rx_frames;
		struct tap *t = want->from ? tap_of_device(vp->vm, vp->wants[i].device) : NULL;
		struct step *step;

		if (!want->from)
			continue;
		if (check_tap(run, vp->wants[i].device, t, e) < 0 || check_others(vp, i, t, e) < 0)
			return -1;
		if (t->rx_frames == want->value || is_planned(run, vp, t))
			continue;
		step = plan_add(run, &step_rx_frames, vp, i);
		step->tap = copy_tap(t);
		step->frames = (uint32_t)want->value;
	}
	return 0;
}
