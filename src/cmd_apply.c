// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd_policy.h"
#include "output.h"
#include "util.h"

#define LOCK_SECS 10

struct options {
	const char *vm, *wait;
};

static const struct option_spec option_table[] = {
	{ "vm", 0, OPTION_STRING, "VM", "apply it to this VM only, which must have what its entries name",
	  offsetof(struct options, vm), 0 },
	{ "wait", 'w', OPTION_STRING, "SECS", "with --vm: wait for the VM and its devices so many seconds",
	  offsetof(struct options, wait), 0 },
	{ NULL, 0, OPTION_FLAG, NULL, NULL, 0, 0 },
};

const char policy_command_details[] =
	"FILE is a policy as vhostctl-policy(5) describes it, or - for standard input; default:\n"
	POLICY_DIR "/policy.json and " POLICY_DIR "/policy.d/*.json.";

int policy_command_read(const struct context *ctx, struct policy *p, struct error *e)
{
	return ctx->argc ? policy_read(ctx->argv[0], p, e) : policy_read_dir(POLICY_DIR, p, e);
}

void policy_command_log(struct context *ctx, const struct policy_run *run)
{
	if (run->n_vms)
		output_source(ctx, &run->state, &run->no_snapshot);
	for (size_t i = 0; i < run->n_vms; i++)
		if (run->vms[i].log)
			output_log(ctx, run->vms[i].vm, run->vms[i].log);
}

static void tell(struct context *ctx, const struct sentences *s)
{
	for (size_t i = 0; i < s->n; i++)
		output_remark(ctx, s->items[i]);
}

static int read_wait(const struct context *ctx, uint64_t *secs, struct error *e)
{
	const struct options *o = ctx->options;

	*secs = 0;
	if (!o->wait)
		return 0;
	if (!o->vm)
		return error_set(e, STATUS_USAGE, 0, "--wait", "it takes --vm: which VM to wait for");
	if (parse_uint(o->wait, 86400, secs) < 0)
		return error_set(e, STATUS_USAGE, 0, "--wait",
				 "it takes a number of seconds up to 86400, not '%s'", o->wait);
	return 0;
}

static int apply(struct context *ctx, struct policy_run *run, struct error *e)
{
	const struct options *o = ctx->options;
	uint64_t secs;

	if (read_wait(ctx, &secs, e) < 0)
		return -1;
	run->only = o->vm;
	run->lock_secs = secs > LOCK_SECS ? (unsigned int)secs : LOCK_SECS;
	if ((o->wait ? policy_wait(run, (unsigned int)secs, e) : policy_look(run, e)) < 0)
		return -1;
	return policy_act(run, e);
}

static int run_apply(struct context *ctx, struct error *e)
{
	struct stopper stopper;
	struct policy p = { 0 };
	struct policy_run run = { .policy = &p, .dry_run = ctx->dry_run, .stopper = &stopper };
	int ret = policy_command_read(ctx, &p, e);

	if (ret == 0) {
		stopper_hold(&stopper);
		ret = apply(ctx, &run, e);
		policy_command_log(ctx, &run);
		stopper_release(&stopper);
	}
	if (ret == 0) {
		ret = output_changes(ctx, run.state.kernel, &run.changes, run.notes.items, run.notes.n, e);
	} else {
		tell(ctx, &run.put_back);
		tell(ctx, &run.left);
	}
	policy_run_free(&run);
	policy_free(&p);
	return ret;
}

const struct command cmd_apply = {
	.name = "apply",
	.operands = "[FILE]",
	.summary = "make a policy true, whole or not at all",
	.details = policy_command_details,
	.max_operands = 1,
	.changes = true,
	.options = option_table,
	.options_size = sizeof(struct options),
	.run = run_apply,
};
