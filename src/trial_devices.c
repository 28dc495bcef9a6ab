// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whether an fd is still the vhost device that was tried. A file must not be held for so long, for it
 * would keep the device alive, so it is told by its default worker, which lives just as long. Only the
 * snapshot knows that one's thread; without it, all of the VM's have to be there still.
 */
#include "source.h"
#include "trial_steps.h"
#include "util.h"

static int64_t default_tid(const struct device *d)
{
	const struct worker *w = device_worker(d, 0);

	return w ? w->tid : UNKNOWN;
}

void trial_note_device(struct trial *t, const struct vm *vm, int fd)
{
	const struct device *d = device_with_fd(vm, fd);
	struct trial_device *note;

	for (size_t i = 0; i < t->n_devices; i++)
		if (t->devices[i].fd == fd)
			return;
	if (!d)
		return;
	note = ARRAY_ADD(t->devices, t->n_devices);
	*note = (struct trial_device){ .fd = fd, .kind = d->kind, .own = default_tid(d) != UNKNOWN };
	if (note->own)
		*ARRAY_ADD(note->tids, note->n_tids) = default_tid(d);
	for (size_t i = 0; !note->own && i < vm->n_threads; i++)
		*ARRAY_ADD(note->tids, note->n_tids) = vm->threads[i].tid;
}

enum trial_verdict trial_judge(const struct vm *vm, const struct trial_device *note)
{
	const struct device *d = device_with_fd(vm, note->fd);
	int64_t tid = d ? default_tid(d) : UNKNOWN;
	bool alive = true;

	if (d && d->kind != note->kind)
		d = NULL;
	for (size_t i = 0; i < note->n_tids; i++)
		alive &= vm_thread(vm, note->tids[i]) != NULL;
	if (!note->n_tids)
		return d ? TRIAL_SAME : TRIAL_CLOSED;
	if (!alive)
		return note->own || !d ? TRIAL_CLOSED : TRIAL_UNTOLD;
	/* Its worker runs on: if not here, it is behind another fd now. */
	return d && (!note->own || tid == UNKNOWN || tid == note->tids[0]) ? TRIAL_SAME : TRIAL_UNTOLD;
}

/* The VM, with the threads of its devices if the snapshot tells them. */
static int look(const struct trial *t, struct state *state, struct selection *sel, struct error *e)
{
	_cleanup_free_ char *text = xasprintf("%d", (int)t->pid);
	struct error ignored = ERROR_INIT;

	if (trial_find(t, &text, 1, state, sel, e))
		return -1;
	return source_read(SOURCE_AUTO, state, sel, false, &ignored, e) < 0 ? -1 : 0;
}

static bool is_of_device(const struct trial_undo *u)
{
	return u->kind != TRIAL_RX_FRAMES;
}

int trial_note_devices(struct trial *t, struct error *e)
{
	struct selection sel = { 0 };
	struct state state = { 0 };
	bool needed = false;
	int ret = 0;

	for (size_t i = 0; i < t->n_undos; i++)
		needed |= is_of_device(&t->undos[i]);
	if (needed)
		ret = look(t, &state, &sel, e);
	for (size_t i = 0; needed && ret == 0 && i < t->n_undos; i++)
		if (is_of_device(&t->undos[i]))
			trial_note_device(t, sel.items[0].vm, t->undos[i].fd);
	selection_free(&sel);
	state_free(&state);
	return ret;
}

/* Of one that is closed the settings are gone; one that cannot be told is left alone. */
static void give_up(struct trial *t, int fd, bool lost)
{
	for (size_t i = 0; i < t->n_undos; i++)
		if (is_of_device(&t->undos[i]) && t->undos[i].fd == fd) {
			t->undos[i].set &= lost;
			t->undos[i].lost = lost;
		}
	trial_forget_made(t, fd);
}

static bool was_set(const struct trial *t, int fd)
{
	bool set = false;

	for (size_t i = 0; i < t->n_undos; i++)
		set |= is_of_device(&t->undos[i]) && t->undos[i].fd == fd && t->undos[i].set;
	for (size_t i = 0; i < t->n_made; i++)
		set |= t->made[i].fd == fd;
	return set;
}

/* 1, and what to say, if it cannot be put back. */
static int drop(struct trial *t, int fd, enum trial_verdict verdict, struct error *e)
{
	if (!was_set(t, fd))
		return 0;
	give_up(t, fd, verdict == TRIAL_UNTOLD);
	if (verdict == TRIAL_CLOSED)
		return 0;
	error_set(e, STATUS_FAILED, 0, NULL,
		  "fd%d may be another device than the one that was set, for the VM has closed one "
		  "meanwhile; it was left alone", fd);
	return 1;
}

int trial_check_devices(struct trial *t, bool is_set, struct error *e)
{
	struct selection sel = { 0 };
	struct state state = { 0 };
	int ret = t->n_devices ? look(t, &state, &sel, e) : 0;
	size_t n = ret ? 0 : t->n_devices;

	for (size_t i = 0; i < n; i++) {
		enum trial_verdict verdict = trial_judge(sel.items[0].vm, &t->devices[i]);

		if (verdict == TRIAL_SAME)
			continue;
		if (is_set) {
			ret |= drop(t, t->devices[i].fd, verdict, e);
			continue;
		}
		error_set(e, STATUS_FAILED, 0, NULL, "its devices changed meanwhile; try again");
		ret = 1;
	}
	selection_free(&sel);
	state_free(&state);
	return ret;
}
