/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the worker commands: from a TARGET to a job on one device, and its end. */
#ifndef CMD_WORKER_H
#define CMD_WORKER_H

#include "command.h"
#include "target.h"
#include "workers.h"

struct worker_command {
	struct state state;
	struct selection selection;
	struct changes changes;
	struct owner_log log;
	struct worker_job job;
	const struct ranges *queues;	/* that the target names */
};

/* The one device that the first operand names; @with_queues: whether it must name queues, or none. */
int worker_command_start(struct worker_command *w, struct context *ctx, bool with_queues,
			 struct error *e);
/* Prints what changed (@ret 0), or gives @e the target's name. Frees all. */
int worker_command_end(struct worker_command *w, struct context *ctx, int ret, struct error *e);

/* Ids of workers as operands: "1", "2-4". */
int worker_ids(char *const *texts, int n, struct ranges *ids, struct error *e);

/* Queues of the device, as in a target: "req0,5-7". */
int worker_queues(struct worker_command *w, const char *text, struct ranges *queues,
		  struct error *e);

/* The argument of @option, if it was given, into @count. */
int worker_count(const char *text, const char *option, unsigned int *count, struct error *e);

extern const struct command cmd_worker_attach;
extern const struct command cmd_worker_free;
extern const struct command cmd_worker_spread;
extern const struct command cmd_worker_pin;

#endif
