// SPDX-License-Identifier: GPL-2.0-or-later
#include "command.h"
#include "cut.h"
#include "inspect.h"
#include "output.h"
#include "source.h"
#include "taps.h"
#include "target.h"
#include "util.h"

struct options {
	bool all, dot, all_queues;
	const char *source;
};

static const struct option_spec option_table[] = {
	{ "all", 'a', OPTION_FLAG, NULL, "every VM of this host", offsetof(struct options, all), 0 },
	{ "dot", 0, OPTION_FLAG, NULL, "print a graph for Graphviz, as in 'show --dot vm1 | dot -Tsvg'",
	  offsetof(struct options, dot), 0 },
	{ "all-queues", 'A', OPTION_FLAG, NULL, "queues that the VMM has not set up, too",
	  offsetof(struct options, all_queues), 0 },
	OPTION_SOURCE(struct options),
	{ NULL, 0, OPTION_FLAG, NULL, NULL, 0, 0 },
};

static int inspect_one(struct context *ctx, struct vm *vm, const struct selection *sel,
		       const struct snapshot *snap, struct error *e)
{
	struct owner_log log = { 0 };
	struct error on_row; /* of the tap */
	int ret;

	if (snap) {
		ret = source_merge(snap, vm, false, e);
		if (ret == 0)
			ret = inspect_features(vm, sel, e);
	} else {
		ret = inspect_vm(vm, sel, &log, e);
		output_log(ctx, vm, &log);
	}
	taps_read(vm, &on_row);
	return ret;
}

/* VMs may come and go: one that fails is a row with an error, not the end of the others. */
static int inspect(struct context *ctx, const struct selection *sel, const struct snapshot *snap,
		   struct error *first)
{
	int ret = 0;

	for (size_t i = 0; i < sel->n; i++) {
		struct vm *vm = sel->items[i].vm;
		struct error e = ERROR_INIT;

		if (!selection_begins_vm(sel, i) || inspect_one(ctx, vm, sel, snap, &e) == 0)
			continue;
		*ARRAY_ADD(vm->errors, vm->n_errors) = e;
		target_error(&e, vm);
		if (ret == 0)
			*first = e;
		ret = -1;
	}
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
	struct snapshot snap;
	enum source source;
	int taken, ret;

	if (source_parse(o->source, &source, e) < 0 ||
	    target_find((const char *const *)ctx->argv, (size_t)ctx->argc, s, sel, e) < 0)
		return -1;
	taken = source_take(source, s, sel, &snap, e);
	if (taken < 0)
		return -1;
	output_source(ctx, s, e);
	ret = inspect(ctx, sel, taken ? &snap : NULL, e);
	snapshot_free(&snap);
	if (ret == 0 && check_queues(sel, e) < 0)
		return -1;
	if (!o->all_queues)
		source_hide_unused(s, sel);
	state_cut(s, sel);
	/* A graph has no place for errors. A failure has one line, main's. */
	if (o->dot && (o->all || ret == 0))
		output_errors(ctx, s);
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
	.details = "Read from the kernel's own structures where it lets us; no thread is stopped. Else, or\n"
		   "with --source owner, by one thread of the VM, stopped for tens of microseconds; less is\n"
		   "known then. 'vhostctl check' tells which it will be, and why.",
	.max_operands = -1,
	.options = option_table,
	.options_size = sizeof(struct options),
	.run = run,
};
