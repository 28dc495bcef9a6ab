/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the beginning of a target can become, for a shell's completion. Only names that a terminal can
 * show as they are and that mean one VM are offered; any other VM goes by its pid.
 */
#ifndef COMPLETE_H
#define COMPLETE_H

#include <stdbool.h>

#include "state.h"

enum completion_kind {
	COMPLETION_VM, COMPLETION_PID, COMPLETION_DEVICE, COMPLETION_TAP, COMPLETION_QUEUE,
	COMPLETION_WORKER, COMPLETION_IDLE,
};

struct completion {
	enum completion_kind kind;
	char *text;		/* the whole target; of a worker, its id */
};

struct completions {
	struct completion *items;
	size_t n;
	struct vm *vm;			/* the one that is left; NULL: several, or none */
	const struct device *device;	/* whose queues or workers were asked for; NULL: none */
};

/*
 * One level at a time: VMs, and once a single one is left its devices and taps too; then queues. Of the
 * device that @typed names, also the workers as far as @s knows them. Without @utf8, plain ASCII only.
 */
void complete_target(struct state *s, const char *typed, bool utf8, struct completions *found);

const char *completion_kind_name(enum completion_kind kind);
void completions_free(struct completions *c);

#endif
