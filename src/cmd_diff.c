// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd_policy.h"
#include "output.h"
#include "util.h"

struct options {
	const char *vm;
};

static const struct option_spec option_table[] = {
	{ "vm", 0, OPTION_STRING, "VM", "look at this VM only, which must have what its entries name",
	  offsetof(struct options, vm), 0 },
	{ NULL, 0, OPTION_FLAG, NULL, NULL, 0, 0 },
};

static int diff(struct context *ctx, struct policy_run *run, struct error *e)
{
	const struct options *o = ctx->options;

	run->only = o->vm;
	if (policy_look(run, e) < 0 || policy_act(run, e) < 0)
		return -1;
	return output_changes(ctx, run->state.kernel, &run->changes, run->notes.items, run->notes.n, e);
}

static int run_diff(struct context *ctx, struct error *e)
{
	struct policy p = { 0 };
	struct policy_run run = { .policy = &p, .dry_run = true };
	int ret = policy_command_read(ctx, &p, e);

	if (ret == 0) {
		ret = diff(ctx, &run, e);
		policy_command_log(ctx, &run);
	}
	if (ret == 0 && run.changes.n)
		ctx->status = STATUS_FAILED; /* as of diff(1): 1 is no failure but a difference */
	policy_run_free(&run);
	policy_free(&p);
	return ret;
}

const struct command cmd_diff = {
	.name = "diff",
	.operands = "[FILE]",
	.summary = "what apply would change; exit status 1 if anything",
	.details = policy_command_details,
	.max_operands = 1,
	.options = option_table,
	.options_size = sizeof(struct options),
	.run = run_diff,
};
