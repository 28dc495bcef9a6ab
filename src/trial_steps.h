/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of trial.c: to check, set and put back each kind of setting. */
#ifndef TRIAL_STEPS_H
#define TRIAL_STEPS_H

#include "trial.h"
#include "vm.h"

int trial_plan_busyloop(struct trial *t, const struct trial_setting *s, struct error *e);
int trial_set_busyloop(struct trial *t, const struct trial_setting *s, struct error *e);
int trial_put_back_busyloop(struct trial *t, struct error *e);

int trial_plan_frames(struct trial *t, const struct trial_setting *s, struct error *e);
int trial_set_frames(struct trial *t, const struct trial_setting *s, struct error *e);
int trial_put_back_frames(struct trial *t, struct error *e);

int trial_plan_workers(struct trial *t, const struct trial_setting *s, struct error *e);
int trial_set_workers(struct trial *t, const struct trial_setting *s, struct error *e);
int trial_put_back_workers(struct trial *t, struct error *e);

/* Is it still that device; has it ended, and its settings with it; or is there no telling? */
enum trial_verdict { TRIAL_SAME, TRIAL_CLOSED, TRIAL_UNTOLD };
void trial_note_device(struct trial *t, const struct vm *vm, int fd);
enum trial_verdict trial_judge(const struct vm *vm, const struct trial_device *note);

/* All that there are undos of. */
int trial_note_devices(struct trial *t, struct error *e);
/*
 * 0: all are the same; 1: one is not, and @e says so; -1: there was no looking. With @is_set it is about
 * those that were set: undos of what has ended are dropped, and what cannot be told is marked lost.
 */
int trial_check_devices(struct trial *t, bool is_set, struct error *e);

/* What @texts name in the VM of the trial, which must still be that one. */
int trial_find(const struct trial *t, char *const *texts, size_t n, struct state *state,
	       struct selection *sel, struct error *e);

/* Leave the devices of @kind, each by itself; those of a VM that was named as a whole, too. */
void trial_keep_kind(struct selection *sel, enum device_kind kind);

/* It was set, and its device is still the one it was set of: there is something to be put back. */
bool trial_is_due(const struct trial_undo *u);
void trial_add_undo(struct trial *t, enum trial_kind kind, int fd, unsigned int queue, uint32_t value);
/* It was set, and was @before just then: that is put back, which need not be what was planned with. */
void trial_note_set(struct trial *t, enum trial_kind kind, int fd, unsigned int queue, uint32_t before);
/* The queue of @item's device that a change is of; NULL: none. */
const struct queue *trial_queue_of(const struct selected *item, const struct change *c);
/*
 * The same of a change, if it is of one of @item's queues; one that was not planned for can be of a
 * device that is not noted yet.
 */
void trial_note_change(struct trial *t, const struct selected *item, enum trial_kind kind,
		       const struct change *c);
/* Of that @fd, or -1: of all, any may have been set, with what was planned to be put back. */
void trial_note_all_set(struct trial *t, enum trial_kind kind, int fd);
/* The workers that were made for that device are gone, or left alone. */
void trial_forget_made(struct trial *t, int fd);

#endif
