/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the two halves of the tracer child: what it looks at, and what it does. */
#ifndef OWNER_TRACER_H
#define OWNER_TRACER_H

#include <linux/filter.h>

#include "owner_arch.h"
#include "owner_trace.h"

struct tracer {
	const struct owner_plan *plan;
	struct owner_shared *shared;
	uint64_t stop_asked;
	bool spin;
	struct arch_context context;
	struct arch_frame frame;
	struct sock_filter filter[BPF_MAXINSNS];
};

/* Note a system call that touched the VM, for -v. Passes its result and errno on. */
long tracer_step(struct tracer *t, const char *what, long result);

/* Keep errno for the explanation, pass the outcome on. */
enum owner_outcome tracer_fail(struct tracer *t, enum owner_outcome outcome);

/*
 * Everything that can be found wrong with a stopped thread while nothing of it has been
 * touched. OUTCOME_DONE: t->context and t->frame are ready to be committed.
 */
enum owner_outcome tracer_examine(struct tracer *t, pid_t tid);

#endif
