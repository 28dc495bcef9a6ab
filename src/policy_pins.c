// SPDX-License-Identifier: GPL-2.0-or-later
#include "policy_pins.h"

#include <errno.h>

#include "affinity.h"
#include "util.h"

static const char *const operation = "set the worker's cpus";

/* The cpus that are wanted for worker @id; NULL: none are. */
static const char *wanted(const struct device_wants *w, const int64_t *ids, int64_t id)
{
	const struct policy_device *list = w->workers.from;

	for (size_t i = 0; list && i < list->n_list; i++)
		if (ids[i] == id && list->list[i].cpus)
			return list->list[i].cpus;
	return w->cpus.from ? w->cpus.from->cpus : NULL;
}

/* Of a thread that the model knows and that is where it should be. */
static bool is_there(const struct worker *worker, const struct ranges *cpus)
{
	struct error ignored = ERROR_INIT;
	struct ranges now = { 0 };
	bool there;

	if (!worker || worker->tid == UNKNOWN || !worker->cpus ||
	    ranges_parse(worker->cpus, &now, &ignored) < 0)
		return false;
	there = ranges_equal(&now, cpus);
	ranges_free(&now);
	return there;
}

/* Finding the thread of a worker that the model does not know has its own conditions. */
static int check_findable(struct session *s, const struct worker_pin *pin, struct error *e)
{
	struct worker_job *job = s->job, saved = *job;
	struct changes scratch = { 0 };
	struct ranges id = { 0 };
	int ret;

	ranges_add(&id, (uint32_t)pin->id, (uint32_t)pin->id);
	job->dry_run = true;
	job->changes = &scratch;
	ret = workers_pin(job, &id, &pin->cpus, e);
	job->dry_run = saved.dry_run;
	job->changes = saved.changes;
	changes_free(&scratch);
	ranges_free(&id);
	return ret;
}

static int add_pin(struct session *s, struct worker_plan *wp, int64_t id, const char *text, struct error *e)
{
	const struct worker *worker = id < 0 ? NULL : device_worker(s->job->device, id);
	struct worker_pin pin = { .id = id, .tid = worker ? worker->tid : UNKNOWN };

	if (affinity_parse(text, &pin.cpus, e) < 0)
		return -1;
	if (is_there(worker, &pin.cpus)) {
		ranges_free(&pin.cpus);
		return 0;
	}
	if (pin.tid != UNKNOWN && !thread_start_time(pin.tid, &pin.start_time))
		pin.tid = UNKNOWN;
	*ARRAY_ADD(wp->pins, wp->n_pins) = pin;
	if (affinity_check_cpuset(s->ref.proc_fd, &pin.cpus, e) < 0)
		return -1;
	return id >= 0 && pin.tid == UNKNOWN ? check_findable(s, &pin, e) : 0;
}

static bool is_first(const struct device *d, const struct spread *plan, size_t q, int64_t id)
{
	for (size_t i = 0; i < q; i++)
		if (deal_end(plan, &d->queues[i]) == id)
			return false;
	return true;
}

int plan_pins(struct session *s, const struct device_wants *w, struct worker_plan *wp, const int64_t *ids,
	      struct error *e)
{
	const struct device *d = s->job->device;

	/* Without worker calls and without a snapshot there is the one worker, of queues unknown. */
	if (!d->n_queues && wanted(w, ids, 0))
		return add_pin(s, wp, 0, wanted(w, ids, 0), e);
	for (size_t i = 0; i < d->n_queues; i++) {
		int64_t id = deal_end(&wp->spread, &d->queues[i]);
		const char *text = wanted(w, ids, id);

		if (id != UNKNOWN && text && is_first(d, &wp->spread, i, id) &&
		    add_pin(s, wp, id, text, e) < 0)
			return -1;
	}
	return 0;
}

static int take_new_thread(const struct worker_plan *wp, struct worker_pin *pin, struct error *e)
{
	size_t i = (size_t)(-1 - pin->id);

	if (!wp->made.threads)
		return error_set(e, STATUS_FAILED, 0, operation,
				 "another vhost thread came to be in the same moment, and which is whose "
				 "cannot be told; try again");
	pin->tid = wp->made.threads[i].tid;
	pin->start_time = wp->made.threads[i].start_time;
	return 0;
}

/* By the worker command, which finds the thread; what it noted tells which it was. */
static int pin_unknown(struct session *s, struct worker_pin *pin, struct error *e)
{
	struct ranges id = { 0 };
	const struct change *c;
	size_t before = s->job->changes->n;
	int ret;

	ranges_add(&id, (uint32_t)pin->id, (uint32_t)pin->id);
	ret = workers_pin(s->job, &id, &pin->cpus, e);
	ranges_free(&id);
	if (ret < 0 || s->job->dry_run || s->job->changes->n == before)
		return ret;
	c = &s->job->changes->items[before];
	pin->tid = c->worker_tid;
	pin->set = thread_start_time(pin->tid, &pin->start_time) && c->before_text &&
		   ranges_parse(c->before_text, &pin->before, e) == 0;
	return 0;
}

static int pin_known(struct session *s, const struct worker_plan *wp, struct worker_pin *pin, struct error *e)
{
	int64_t id = pin->id < 0 ? (int64_t)wp->made.ids[-1 - pin->id] : pin->id;

	if (affinity_get((pid_t)pin->tid, &pin->before, e) < 0)
		return -1;
	if (!ranges_equal(&pin->before, &pin->cpus)) {
		if (affinity_set((pid_t)pin->tid, pin->start_time, &pin->cpus, e) < 0)
			return -1;
		pin->set = true;
	}
	note_cpus_change(s, id, pin->tid, ranges_text(&pin->before), ranges_text(&pin->cpus));
	return 0;
}

static void note_pin(struct session *s, const struct worker_pin *pin)
{
	const struct worker *worker = pin->id < 0 ? NULL : device_worker(s->job->device, pin->id);

	note_cpus_change(s, pin->id < 0 ? UNKNOWN : pin->id, pin->tid,
			 worker && worker->cpus ? xstrdup(worker->cpus) : NULL, ranges_text(&pin->cpus));
}

static int act_pin(struct session *s, struct worker_plan *wp, struct worker_pin *pin, struct error *e)
{
	if (s->job->dry_run) {
		note_pin(s, pin);
		return 0;
	}
	if (pin->id < 0 && take_new_thread(wp, pin, e) < 0)
		return -1;
	return pin->tid == UNKNOWN ? pin_unknown(s, pin, e) : pin_known(s, wp, pin, e);
}

static int unpin(struct worker_plan *wp, struct error *e)
{
	int ret = 0;

	for (size_t i = wp->n_pins; i > 0; i--) {
		struct worker_pin *pin = &wp->pins[i - 1];
		struct error why = ERROR_INIT;

		/* A worker that was made for it ends with its step; so may another that is gone. */
		if (!pin->set || pin->id < 0 ||
		    affinity_set((pid_t)pin->tid, pin->start_time, &pin->before, &why) == 0 ||
		    why.errnum == ESRCH)
			continue;
		*e = why;
		ret = -1;
	}
	return ret;
}

static int act_pins(struct policy_run *run, struct step *step, struct error *e)
{
	struct worker_plan *wp = &step->vm->workers[step->device];
	struct session s = { .job = &wp->job, .ref = VM_REF_INIT };
	int ret = vm_hold(&s.ref, step->vm->vm->pid, step->vm->vm->start_time, e);

	(void)run;
	for (size_t i = 0; ret == 0 && i < wp->n_pins; i++)
		ret = act_pin(&s, wp, &wp->pins[i], e);
	session_end(&s);
	if (ret < 0) {
		struct error why = ERROR_INIT;

		if (unpin(wp, &why) < 0)
			error_append(e, STATUS_ROLLBACK, "; putting back cpus that were set failed too: %s",
				     why.message);
	}
	return ret;
}

static int undo_pins(struct policy_run *run, struct step *step, struct error *e)
{
	(void)run;
	return unpin(&step->vm->workers[step->device], e);
}

const struct step_type step_pins = { act_pins, undo_pins, true };
