// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes the steps of a plan, and undoes them when one fails. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "policy_plan.h"
#include "target.h"
#include "util.h"

/* "0", "none", or the text of those that are one. */
static char *value(const char *text, int64_t number)
{
	if (text)
		return xstrdup(text);
	return number == UNKNOWN ? xstrdup("none") : xasprintf("%" PRId64, number);
}

static void report(struct policy_run *run, const struct step *step, const struct error *why)
{
	for (size_t i = step->first_change + step->n_changes; i > step->first_change; i--) {
		const struct change *c = &run->changes.items[i - 1];
		_cleanup_free_ char *before = value(c->before_text, c->before);
		_cleanup_free_ char *after = value(c->after_text, c->after);

		if (!why)
			sentences_add(&run->put_back, "%s: %s: put back from %s to %s", c->target, c->setting,
				      after, before);
		else
			sentences_add(&run->left,
				      "%s: %s: it was %s, may be %s, and could not be put back: %s",
				      c->target, c->setting, before, after, why->message);
	}
}

static void undo_step(struct policy_run *run, struct step *step)
{
	struct error why = ERROR_INIT;

	if (!step->done || !step->type->undo || step->vm->gone)
		return;
	if (step->type->undo(run, step, &why) == 0)
		report(run, step, NULL);
	else if (!plan_forget_ended(run, step->vm))
		report(run, step, &why);
}

static int undo_all(struct policy_run *run, struct error *e)
{
	bool whole = e->status != STATUS_ROLLBACK;

	owner_be_patient();
	for (size_t i = run->n_steps; i > 0; i--)
		undo_step(run, &run->steps[i - 1]);
	/* Whatever it was: amid the steps a failure is one, told apart from those of checks before them. */
	if (!run->left.n && whole)
		return error_append(e, STATUS_FAILED, "; everything is as it was");
	return error_append(e, STATUS_ROLLBACK, "; %zu setting(s) could not be put back",
			    run->left.n + !whole);
}

static int ended_by_signal(const struct policy_run *run, struct error *e)
{
	return error_set(e, STATUS_FAILED, EINTR, "apply", "ended by %s amid its steps",
			 strsignal(run->stopper->got));
}

static int do_step(struct policy_run *run, struct step *step, struct error *e)
{
	int ret;

	if (step->vm->gone)
		return 0;
	step->first_change = run->changes.n;
	ret = step->type->act(run, step, e);
	step->n_changes = run->changes.n - step->first_change;
	step->done = ret == 0;
	if (ret == 0)
		return 0;
	if (!run->only && plan_forget_ended(run, step->vm)) {
		*e = ERROR_INIT;
		return 0;
	}
	if (step->type->of_device)
		error_target(e, "%s", step->vm->vm->devices[step->device].id);
	return target_error(e, step->vm->vm);
}

/* What was changed in a VM that is no more is no change to tell of. */
static void drop_gone(struct policy_run *run)
{
	size_t n = 0;

	for (size_t i = 0; i < run->changes.n; i++) {
		struct change *c = &run->changes.items[i];
		bool gone = false;

		for (size_t k = 0; k < run->n_vms; k++)
			gone |= run->vms[k].gone && run->vms[k].vm->pid == c->pid;
		if (gone) {
			struct changes one = { .items = xcalloc(1, sizeof(*c)), .n = 1 };

			one.items[0] = *c;
			changes_free(&one);
		} else {
			run->changes.items[n++] = *c;
		}
	}
	run->changes.n = n;
}

int policy_act(struct policy_run *run, struct error *e)
{
	for (size_t i = 0; i < run->n_steps; i++) {
		if (run->stopper && stopper_came(run->stopper)) {
			ended_by_signal(run, e);
			return undo_all(run, e);
		}
		if (do_step(run, &run->steps[i], e) < 0)
			return undo_all(run, e);
	}
	drop_gone(run);
	return 0;
}
