// SPDX-License-Identifier: GPL-2.0-or-later
/* Which VMs there are for the policy, what is wanted of them, and how they are now. */
#include <string.h>

#include "inspect.h"
#include "policy_plan.h"
#include "scan.h"
#include "source.h"
#include "target.h"
#include "util.h"

void policy_run_free(struct policy_run *run)
{
	for (size_t i = 0; i < run->n_steps; i++) {
		free(run->steps[i].sets);
		if (run->steps[i].tap)
			tap_free(run->steps[i].tap);
		free(run->steps[i].tap);
	}
	free(run->steps);
	for (size_t i = 0; i < run->n_vms; i++) {
		struct vm_plan *vp = &run->vms[i];

		for (size_t k = 0; vp->workers && k < vp->vm->n_devices; k++)
			worker_plan_free(&vp->workers[k]);
		free(vp->workers);
		free(vp->wants);
		free(vp->log);
		tap_visit_end(&vp->visit);
		vm_unlock(&vp->lock);
	}
	free(run->vms);
	state_free(&run->state);
	changes_free(&run->changes);
	sentences_free(&run->notes);
	sentences_free(&run->put_back);
	sentences_free(&run->left);
	*run = (struct policy_run){ .policy = run->policy, .dry_run = run->dry_run, .only = run->only,
				    .lock_secs = run->lock_secs, .stopper = run->stopper };
}

struct step *plan_add(struct policy_run *run, const struct step_type *type, struct vm_plan *vm,
		      size_t device)
{
	struct step *s = ARRAY_ADD(run->steps, run->n_steps);

	s->type = type;
	s->vm = vm;
	s->device = device;
	return s;
}

bool plan_forget_ended(struct policy_run *run, struct vm_plan *vp)
{
	_cleanup_free_ char *name = NULL;

	if (!vm_has_ended(vp->vm->pid, vp->vm->start_time))
		return false;
	if (vp->gone)
		return true;
	vp->gone = true;
	name = target_name(vp->vm, NULL, NULL);
	sentences_add(&run->notes, "%s: it ended meanwhile", name);
	return true;
}

static void add_vm(struct policy_run *run, struct vm *vm)
{
	*ARRAY_ADD(run->vms, run->n_vms) = (struct vm_plan){ .vm = vm, .lock = VM_LOCK_INIT,
							     .visit = TAP_VISIT_INIT };
}

static bool is_ambiguous(const struct policy_run *run)
{
	size_t n = 0;

	for (size_t i = 0; i < run->state.n_vms; i++)
		n += run->state.vms[i].name && !strcmp(run->state.vms[i].name, run->only);
	return n > 1;
}

/* The one VM. It is not there yet, or the policy does not concern it. */
static int find_one(struct policy_run *run, struct error *e)
{
	struct selection sel = { 0 };
	int ret = target_find(&run->only, 1, &run->state, &sel, e);

	if (ret < 0)
		run->not_yet = e->status == STATUS_NOT_FOUND && !is_ambiguous(run);
	else if (sel.n != 1 || sel.items[0].device)
		ret = error_set(e, STATUS_USAGE, 0, "--vm", "it takes a whole VM, not a device of one");
	else if (policy_matches(run->policy, sel.items[0].vm))
		add_vm(run, sel.items[0].vm);
	else
		sentences_add(&run->notes, "%s: no entry of the policy matches it", run->only);
	selection_free(&sel);
	return ret < 0 ? error_target(e, "%s", run->only) : 0;
}

/* Whole or not at all: those that could not be looked into, or whose name is not known, may be meant, too. */
static int check_all_known(const struct state *s, struct error *e)
{
	const struct vm *unnamed = scan_unnamed(s);

	if (!unnamed)
		return scan_check(s, e);
	return error_set(e, STATUS_FAILED, 0, "find the VMs",
			 "the command line of process %d could not be read, which has its name; --vm picks "
			 "another VM", (int)unnamed->pid);
}

/* scan_host() lists them by pid, and so they are locked: two runs cannot each wait for the other. */
static int find_all(struct policy_run *run, struct error *e)
{
	struct selection sel = { 0 };
	int ret = target_find(NULL, 0, &run->state, &sel, e);

	if (ret == 0)
		ret = check_all_known(&run->state, e);
	for (size_t i = 0; ret == 0 && i < sel.n; i++)
		if (policy_matches(run->policy, sel.items[i].vm))
			add_vm(run, sel.items[i].vm);
	selection_free(&sel);
	if (ret == 0 && scan_denied(&run->state))
		sentences_add(&run->notes, "%s", scan_denied(&run->state)->message);
	return ret;
}

static int lock_all(struct policy_run *run, struct error *e)
{
	bool told = false;

	for (size_t i = 0; i < run->n_vms; i++) {
		struct vm_plan *vp = &run->vms[i];
		int ret = vm_lock(&vp->lock, vp->vm, run->lock_secs, run->stopper, e);

		if (ret < 0)
			return target_error(e, vp->vm);
		if (ret > 0 && !told)
			sentences_add(&run->notes, "another apply on the same VM is not locked out: %s",
				      e->message);
		told |= ret > 0;
	}
	*e = ERROR_INIT;
	return 0;
}

static void drop_vm(struct policy_run *run, size_t i, const char *why)
{
	_cleanup_free_ char *name = target_name(run->vms[i].vm, NULL, NULL);

	sentences_add(&run->notes, "%s: %s", name, why);
	vm_unlock(&run->vms[i].lock);
	memmove(&run->vms[i], &run->vms[i + 1], (run->n_vms - i - 1) * sizeof(*run->vms));
	run->n_vms--;
}

/* The kernel's own structures, if they can be read; else every VM is asked as far as needed. */
static int take_snapshot(struct policy_run *run, struct error *e)
{
	struct selection sel = { 0 };
	struct snapshot snap;
	int ret = 0;

	for (size_t i = 0; i < run->n_vms; i++)
		*ARRAY_ADD(sel.items, sel.n) = (struct selected){ .vm = run->vms[i].vm };
	run->snapshot = source_take(SOURCE_AUTO, &run->state, &sel, &snap, &run->no_snapshot) > 0;
	selection_free(&sel);
	for (size_t i = 0; run->snapshot && ret == 0 && i < run->n_vms;) {
		if (source_merge(&snap, run->vms[i].vm, false, e) == 0)
			i++;
		else if (e->status == STATUS_NOT_FOUND && !run->only)
			drop_vm(run, i, "it ended meanwhile");
		else
			ret = target_error(e, run->vms[i].vm);
	}
	if (run->snapshot)
		snapshot_free(&snap);
	return ret;
}

static int lacking(struct policy_run *run, const struct vm *vm, const struct sentences *missing,
		   struct error *e)
{
	_cleanup_free_ char *name = target_name(vm, NULL, NULL);

	if (run->only) {
		run->not_yet = true;
		error_set(e, STATUS_NOT_FOUND, 0, "find its devices",
			  "it lacks %s; \"optional\": true there, if that is as it should be",
			  missing->items[0]);
		return error_target(e, "%s", name);
	}
	for (size_t i = 0; i < missing->n; i++)
		sentences_add(&run->notes, "%s: it lacks %s", name, missing->items[i]);
	return 0;
}

static int match_vm(struct policy_run *run, struct vm_plan *vp, struct error *e)
{
	struct sentences missing = { 0 };
	int ret = policy_match(run->policy, vp->vm, &vp->wants, &run->notes, &missing, e);

	if (ret == 0 && missing.n)
		ret = lacking(run, vp->vm, &missing, e);
	sentences_free(&missing);
	return ret;
}

/*
 * Without a snapshot: workers must be known before anything is planned. The values of busy-loops
 * are read in the stop that sets them, and beforehand only if none follows.
 */
static int ask_vm(struct policy_run *run, struct vm_plan *vp, struct error *e)
{
	struct selection sel = { 0 };
	int ret = 0;

	for (size_t i = 0; i < vp->vm->n_devices; i++) {
		const struct device_wants *w = &vp->wants[i];
		bool busyloop = w->busyloop[0].from || w->busyloop[1].from;

		if (w->workers.from || w->cpus.from || (run->dry_run && busyloop))
			*ARRAY_ADD(sel.items, sel.n) = (struct selected){ .vm = vp->vm, .device = w->device };
	}
	if (sel.n)
		ret = inspect_vm(vp->vm, &sel, vp->log, e);
	selection_free(&sel);
	return ret;
}

static int plan_vm(struct policy_run *run, struct vm_plan *vp, struct error *e)
{
	vp->log = xcalloc(1, sizeof(*vp->log));
	vp->workers = xcalloc(vp->vm->n_devices, sizeof(*vp->workers));
	if (!run->snapshot && ask_vm(run, vp, e) < 0)
		return -1;
	/* What the kernel is likeliest to refuse comes first: the less there is to undo. */
	if (plan_workers(run, vp, e) < 0)
		return -1;
	plan_busyloop(run, vp);
	return plan_rx_frames(run, vp, e);
}

/* One of many that ends meanwhile is no reason not to do the others. */
static int plan_all(struct policy_run *run, struct error *e)
{
	for (size_t i = 0; i < run->n_vms; i++) {
		struct vm_plan *vp = &run->vms[i];

		if (match_vm(run, vp, e) == 0 && plan_vm(run, vp, e) == 0)
			continue;
		if (run->only || !plan_forget_ended(run, vp))
			return target_error(e, vp->vm);
		*e = ERROR_INIT;
	}
	/* Freeing cannot be undone: when all else is done. */
	for (size_t i = 0; i < run->n_vms; i++)
		if (!run->vms[i].gone)
			plan_worker_frees(run, &run->vms[i]);
	return 0;
}

/* Entries may be there for VMs that do not run now, so this is no failure. */
static void note_unmatched(struct policy_run *run)
{
	for (size_t i = 0; !run->only && i < run->policy->n_vms; i++) {
		const struct policy one = { &run->policy->vms[i], 1 };
		bool found = false;

		for (size_t k = 0; k < run->n_vms; k++)
			found |= policy_matches(&one, run->vms[k].vm);
		if (!found)
			sentences_add(&run->notes, "no VM matches %s", run->policy->vms[i].where);
	}
}

int policy_look(struct policy_run *run, struct error *e)
{
	run->not_yet = false;
	/* Each VM takes a few while it is worked on. */
	allow_descriptors();
	if ((run->only ? find_one(run, e) : find_all(run, e)) < 0)
		return -1;
	if (!run->dry_run && lock_all(run, e) < 0)
		return -1;
	if (take_snapshot(run, e) < 0)
		return -1;
	note_unmatched(run);
	return plan_all(run, e);
}
