// SPDX-License-Identifier: GPL-2.0-or-later
#include "command.h"
#include "cut.h"
#include "inspect.h"
#include "output.h"
#include "taps.h"
#include "target.h"
#include "util.h"

struct options {
	bool all, dot;
};

static const struct option_spec option_table[] = {
	{ "all", 'a', OPTION_FLAG, NULL, "every VM of this host", offsetof(struct options, all), 0 },
	{ "dot", 0, OPTION_FLAG, NULL, "print a graph for Graphviz, as in 'show --dot vm1 | dot -Tsvg'",
	  offsetof(struct options, dot), 0 },
	{ NULL, 0, OPTION_FLAG, NULL, NULL, 0, 0 },
};

/* VMs may come and go: one that fails is a row with an error, not the end of the others. */
static int inspect(struct context *ctx, struct state *s, const struct selection *sel,
		   struct error *first)
{
	int ret = 0;

	for (size_t i = 0; i < sel->n; i++) {
		struct vm *vm = sel->items[i].vm;
		struct owner_log log = { 0 };
		struct error e = ERROR_INIT;
		bool seen = false;

		for (size_t k = 0; k < i; k++)
			seen |= sel->items[k].vm == vm;
		if (seen)
			continue;
		taps_read(vm, &e); /* what fails is on the tap's row */
		if (inspect_vm(vm, sel, &log, &e) < 0) {
			*ARRAY_ADD(vm->errors, vm->n_errors) = e;
			error_target(&e, "%s", vm->name ? vm->name : "");
			if (ret == 0)
				*first = e;
			ret = -1;
		}
		output_log(ctx, vm, &log);
	}
	s->source = "owner";
	return ret;
}

/* A queue that was named must exist, which for some kinds only asking tells. */
static int check_queues(const struct selection *sel, struct error *e)
{
	for (size_t i = 0; i < sel->n; i++)
		if (sel->items[i].device && sel->items[i].device->queues_known &&
		    target_check_queues(&sel->items[i], e) < 0)
			return -1;
	return 0;
}

static int show(struct context *ctx, const struct options *o, struct state *s,
		struct selection *sel, struct error *e)
{
	int ret;

	if (target_find((const char *const *)ctx->argv, (size_t)ctx->argc, s, sel, e) < 0)
		return -1;
	ret = inspect(ctx, s, sel, e);
	if (ret == 0 && check_queues(sel, e) < 0)
		return -1;
	state_cut(s, sel);
	/* What could be read is worth having; the status still tells that a named VM was not read. */
	if (output_state(ctx, s, e) < 0)
		return -1;
	return o->all ? 0 : ret;
}

static int run(struct context *ctx, struct error *e)
{
	const struct options *o = ctx->options;
	struct state s = { 0 };
	struct selection sel = { 0 };
	int ret;

	if (o->all != (ctx->argc == 0))
		return error_set(e, STATUS_USAGE, 0, "show",
				 "name a TARGET, or --all for every VM of this host");
	if (o->dot)
		ctx->format = FORMAT_DOT;
	ret = show(ctx, o, &s, &sel, e);
	selection_free(&sel);
	state_free(&s);
	return ret;
}

const struct command cmd_show = {
	.name = "show",
	.operands = "[TARGET...]",
	.summary = "full state of VMs, devices or queues",
	.details = "Values behind the kernel's owner check are read by one thread of the VM, stopped for\n"
		   "tens of microseconds.",
	.max_operands = -1,
	.options = option_table,
	.options_size = sizeof(struct options),
	.run = run,
};
