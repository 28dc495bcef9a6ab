// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler.h"

#include <time.h>

#include "cut.h"
#include "inspect.h"
#include "sampler_rings.h"
#include "target.h"
#include "util.h"

/* Between looks while a worker is busy: half of what RING_CERTAIN_NS allows; and while none is. */
#define FAST_LOOK_NS 8000000
#define SLOW_LOOK_NS 100000000
/* Looks take no more than this part of a CPU. */
#define LOOK_PART 20
#define MOST_SPACES 64

/* ---- targets ---- */

static int fix_targets(struct sampler *s, const char *text, struct error *e)
{
	struct selection sel = { 0 };
	struct state state = { 0 };
	int ret = target_find(&text, 1, &state, &sel, e);

	for (size_t i = 0; ret == 0 && i < sel.n; i++) {
		*ARRAY_ADD(s->texts, s->n_texts) = target_fixed(&sel.items[i]);
		s->start_time = sel.items[i].vm->start_time;
	}
	selection_free(&sel);
	state_free(&state);
	return ret;
}

int sampler_open(struct sampler *s, const char *text, enum source want, struct error *e)
{
	*s = (struct sampler){ .want = want };
	if (text && fix_targets(s, text, e))
		return -1;
	if (want == SOURCE_OWNER || snapshot_open(&s->snapshot, &s->why) == 0)
		return 0;
	if (want == SOURCE_AUTO)
		return 0;
	*e = s->why;
	return -1;
}

void sampler_close(struct sampler *s)
{
	for (size_t i = 0; i < s->n_texts; i++)
		free(s->texts[i]);
	free(s->texts);
	snapshot_close(s->snapshot);
	state_free(&s->told);
	free(s->pids);
	free(s->rings);
	free(s->cpus);
	for (size_t i = 0; i < s->n_spaces; i++)
		tap_visit_end(&s->spaces[i].visit);
	free(s->spaces);
	*s = (struct sampler){ 0 };
}

void sampler_forget(struct sampler *s)
{
	state_free(&s->told);
	s->asked = false;
}

/* ---- what the owner tells, once ---- */

static int ask_owners(struct sampler *s, struct error *e)
{
	struct selection sel = { 0 };

	if (target_find((const char *const *)s->texts, s->n_texts, &s->told, &sel, e)) {
		state_free(&s->told);
		return -1;
	}
	for (size_t i = 0; i < sel.n; i++) {
		struct vm *vm = sel.items[i].vm;
		struct owner_log log = { 0 };
		struct error own = ERROR_INIT;

		if (!selection_begins_vm(&sel, i))
			continue;
		if (inspect_vm(vm, &sel, &log, &own))
			*ARRAY_ADD(vm->errors, vm->n_errors) = own;
		if (s->tell)
			s->tell(vm, &log, s->arg);
	}
	selection_free(&sel);
	s->asked = true;
	return 0;
}

static void copy_told_device(const struct device *from, struct device *to)
{
	errors_add(&to->errors, &to->n_errors, from->errors, from->n_errors);
	to->queues_known = from->queues_known;
	for (size_t i = 0; i < from->n_queues; i++)
		*ARRAY_ADD(to->queues, to->n_queues) = from->queues[i];
}

static void copy_told(const struct sampler *s, struct vm *vm)
{
	for (size_t i = 0; i < s->told.n_vms; i++) {
		const struct vm *from = &s->told.vms[i];

		if (from->pid != vm->pid || from->start_time != vm->start_time)
			continue;
		errors_add(&vm->errors, &vm->n_errors, from->errors, from->n_errors);
		for (size_t k = 0; k < from->n_devices; k++)
			for (size_t d = 0; d < vm->n_devices; d++)
				if (vm->devices[d].fd == from->devices[k].fd &&
				    vm->devices[d].kind == from->devices[k].kind)
					copy_told_device(&from->devices[k], &vm->devices[d]);
	}
}

/* ---- a sample ---- */

static void read_snapshot(struct sampler *s, struct vm *vm)
{
	struct error e = ERROR_INIT;
	struct snapshot snap;

	if (snapshot_again(s->snapshot, vm->pid, &snap, &e)) {
		errors_add(&vm->errors, &vm->n_errors, &e, 1);
		return;
	}
	sampler_feed(s, &snap, clock_ns());
	if (source_merge(&snap, vm, false, &e))
		errors_add(&vm->errors, &vm->n_errors, &e, 1);
	snapshot_free(&snap);
}

/* Threads that are known to serve a device that was not asked for. */
static void drop_threads(const struct selection *sel, struct vm *vm)
{
	size_t n = 0;

	for (size_t i = 0; i < vm->n_threads; i++) {
		bool other = false;

		for (size_t d = 0; d < vm->n_devices; d++)
			for (size_t k = 0; k < vm->devices[d].n_workers; k++)
				other |= vm->devices[d].workers[k].tid == vm->threads[i].tid &&
					 !selection_has_device(sel, vm, &vm->devices[d]);
		if (!other) {
			vm->threads[n++] = vm->threads[i];
			continue;
		}
		worker_free(&vm->threads[i]);
	}
	vm->n_threads = n;
}

static struct tap_visit *visit_for(struct sampler *s, const struct tap *t)
{
	size_t i = 0;

	while (i < s->n_spaces && t->netns != UNKNOWN && s->spaces[i].visit.ns.inode != t->netns &&
	       i + 1 < MOST_SPACES)
		i++;
	if (i == s->n_spaces)
		ARRAY_ADD(s->spaces, s->n_spaces)->visit = TAP_VISIT_INIT;
	s->spaces[i].used = true;
	return &s->spaces[i].visit;
}

/* A VM that has ended, or the last tap that has left: its namespace is to end, too. */
static void leave_spaces(struct sampler *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_spaces; i++) {
		struct sampled_space *space = &s->spaces[i];

		if (space->used)
			s->spaces[n++] = (struct sampled_space){ .visit = space->visit };
		else
			tap_visit_end(&space->visit);
	}
	s->n_spaces = n;
}

static void read_taps(struct sampler *s, struct vm *vm, struct vm_count *c)
{
	struct vm_ref ref = VM_REF_INIT;
	struct error e = ERROR_INIT;

	if (vm->n_taps && vm_hold(&ref, vm->pid, vm->start_time, &e)) {
		errors_add(&vm->errors, &vm->n_errors, &e, 1);
	} else if (vm->n_taps && !s->snapshot) {
		taps_regroup(&ref, vm);
	}
	c->tap_at_ns = xcalloc(vm->n_taps + 1, sizeof(*c->tap_at_ns));
	for (size_t i = 0; i < vm->n_taps; i++) {
		struct tap *t = &vm->taps[i];
		struct tap_visit *v = visit_for(s, t);

		c->tap_at_ns[i] = UNKNOWN;
		if (ref.pidfd < 0)
			continue;
		if (tap_visit(&ref, t, v, NULL, NULL, &e)) {
			*ARRAY_ADD(t->errors, t->n_errors) = e;
			continue;
		}
		tap_take_facts(t, v);
		c->tap_at_ns[i] = clock_ns();
	}
	vm_release(&ref);
}

static void count_vm(struct sampler *s, struct vm *vm, struct vm_count *c)
{
	thread_count_read(vm->pid, true, &c->process);
	for (size_t i = 0; i < vm->n_threads; i++)
		thread_count_read((pid_t)vm->threads[i].tid, false, ARRAY_ADD(c->threads, c->n_threads));
	sampler_count_rings(s, vm->pid, c);
	read_taps(s, vm, c);
	*ARRAY_ADD(s->pids, s->n_pids) = vm->pid;
}

static int check_same_vm(const struct sampler *s, const struct selection *sel, struct error *e)
{
	for (size_t i = 0; i < sel->n; i++)
		if (s->n_texts && sel->items[i].vm->start_time != s->start_time)
			return error_set(e, STATUS_NOT_FOUND, ESRCH, NULL, "the VM is gone");
	return 0;
}

static int serves(struct sampler *s, const struct selection *sel, struct error *e)
{
	struct snapshot kinds;

	if (!s->snapshot || !sel->n)
		return 0;
	if (snapshot_again(s->snapshot, sel->items[0].vm->pid, &kinds, e))
		return -1;
	if (source_check(&kinds, sel, &s->why) < 0) {
		snapshot_close(s->snapshot);
		s->snapshot = NULL;
	}
	snapshot_free(&kinds);
	if (s->snapshot || s->want != SOURCE_SNAPSHOT)
		return 0;
	*e = s->why;
	return -1;
}

static int read_state(struct sampler *s, struct state *state, struct error *e)
{
	struct selection sel = { 0 };
	int ret = target_find((const char *const *)s->texts, s->n_texts, state, &sel, e);

	if (ret == 0)
		ret = check_same_vm(s, &sel, e);
	if (ret == 0)
		ret = serves(s, &sel, e);
	if (ret == 0 && !s->snapshot && !s->asked)
		ret = ask_owners(s, e);
	for (size_t i = 0; ret == 0 && i < sel.n; i++) {
		if (!selection_begins_vm(&sel, i))
			continue;
		if (s->snapshot)
			read_snapshot(s, sel.items[i].vm);
		else
			copy_told(s, sel.items[i].vm);
		drop_threads(&sel, sel.items[i].vm);
	}
	if (ret == 0) {
		state->source = s->snapshot ? "snapshot" : source_owner(&sel);
		source_hide_unused(state, &sel);
		state_cut(state, &sel);
	}
	selection_free(&sel);
	return ret;
}

int sampler_take(struct sampler *s, struct stat_sample *out, struct error *e)
{
	struct timespec now;

	*out = (struct stat_sample){ .ticks_per_s = sysconf(_SC_CLK_TCK) };
	if (read_state(s, &out->state, e)) {
		/* It is by our own texts, not as it was asked for. */
		e->target[0] = '\0';
		state_free(&out->state);
		return -1;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	out->at_ns = clock_ns();
	out->time = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	out->counts = xcalloc(out->state.n_vms + 1, sizeof(*out->counts));
	s->n_pids = 0;
	for (size_t i = 0; i < out->state.n_vms; i++)
		count_vm(s, &out->state.vms[i], &out->counts[i]);
	leave_spaces(s);
	sampler_prune(s);
	return 0;
}

/* ---- looks ---- */

/* A VM that cannot be looked at leaves a gap, which its meters see. */
static void look(struct sampler *s)
{
	int64_t start = clock_ns();
	struct error ignored;

	s->busy = false;
	for (size_t i = 0; i < s->n_pids; i++) {
		struct snapshot snap;

		if (snapshot_again(s->snapshot, s->pids[i], &snap, &ignored))
			continue;
		sampler_feed(s, &snap, clock_ns());
		snapshot_free(&snap);
	}
	s->look_cost_ns = clock_ns() - start;
}

int sampler_wait(struct sampler *s, int64_t until_ns, struct stopper *stopper)
{
	while (!stopper->got) {
		int64_t gap = s->busy ? FAST_LOOK_NS : SLOW_LOOK_NS, next;

		if (gap < s->look_cost_ns * LOOK_PART)
			gap = s->look_cost_ns * LOOK_PART;
		next = clock_ns() + gap;
		if (!s->snapshot || next >= until_ns)
			return stopper_wait(stopper, until_ns);
		if (stopper_wait(stopper, next))
			break;
		look(s);
	}
	return stopper->got;
}
