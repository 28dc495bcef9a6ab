// SPDX-License-Identifier: GPL-2.0-or-later
#include "busyloop.h"
#include "command.h"
#include "cut.h"
#include "output.h"
#include "sentences.h"
#include "source.h"
#include "target.h"
#include "util.h"
#include "value.h"

struct get_options {
	bool all_queues;
	const char *source;
};

static const struct option_spec get_table[] = {
	{ "all-queues", 'A', OPTION_FLAG, NULL, "queues that the VMM has not set up, too",
	  offsetof(struct get_options, all_queues), 0 },
	OPTION_SOURCE(struct get_options),
	{ NULL, 0, OPTION_FLAG, NULL, NULL, 0, 0 },
};

struct set_options {
	bool force;
};

static const struct option_spec set_table[] = {
	{ "force", 'f', OPTION_FLAG, NULL, "allow more than 10 ms, which burns a whole CPU",
	  offsetof(struct set_options, force), 0 },
	{ NULL, 0, OPTION_FLAG, NULL, NULL, 0, 0 },
};

/* What the reader should know of the devices that were named. */
static void collect_notes(const struct selection *sel, struct sentences *notes)
{
	for (size_t i = 0; i < sel->n; i++) {
		const struct device *d = sel->items[i].device;
		_cleanup_free_ char *name = target_name(sel->items[i].vm, d, NULL);

		if (!vhost_uses_busyloop(d->kind))
			sentences_add(notes, "%s: vhost-%s stores a busy-loop timeout but ignores it", name,
				      device_kind_name(d->kind));
	}
}

/* A VM named as a whole means those of its devices on which the timeout has a meaning. */
static int expand(struct selection *sel, const char *text, struct error *e)
{
	struct vm *vm = sel->items[0].vm;

	if (sel->items[0].device)
		return 0;
	selection_free(sel);
	for (size_t i = 0; i < vm->n_devices; i++)
		if (vhost_uses_busyloop(vm->devices[i].kind))
			*ARRAY_ADD(sel->items, sel->n) =
				(struct selected){ .vm = vm, .device = &vm->devices[i] };
	if (sel->n)
		return 0;
	error_set(e, STATUS_UNSUPPORTED, 0, NULL,
		  "it has no vhost-net device, and busy polling is vhost-net's alone");
	return error_target(e, "%s", text);
}

/* One TARGET: devices of one VM. */
static int find(struct context *ctx, struct state *s, struct selection *sel, struct error *e)
{
	if (target_find((const char *const *)ctx->argv, 1, s, sel, e) < 0)
		return -1;
	return expand(sel, ctx->argv[0], e);
}

/* The values into the devices of @sel, one VM's, from wherever they can be had. */
static int read_values(struct context *ctx, struct state *s, struct selection *sel, struct error *e)
{
	const struct get_options *o = ctx->options;
	struct vm *vm = sel->items[0].vm;
	struct owner_log log = { 0 };
	struct error why = ERROR_INIT;
	enum source source;
	int ret;

	if (source_parse(o->source, &source, e) < 0)
		return -1;
	ret = source_read(source, s, sel, true, &why, e);
	if (ret)
		return ret < 0 ? -1 : 0;
	output_source(ctx, s, &why);
	ret = busyloop_get(vm, sel, &log, e);
	output_log(ctx, vm, &log);
	return ret;
}

static int get(struct context *ctx, struct state *s, struct selection *sel, struct error *e)
{
	const struct get_options *o = ctx->options;
	struct sentences notes = { 0 };
	struct vm *vm;

	if (find(ctx, s, sel, e) < 0)
		return -1;
	vm = sel->items[0].vm;
	if (read_values(ctx, s, sel, e) < 0)
		return target_error(e, vm);
	for (size_t i = 0; i < sel->n; i++)
		if (target_check_queues(&sel->items[i], e) < 0)
			return -1;
	collect_notes(sel, &notes);
	for (size_t i = 0; i < notes.n && ctx->verbosity >= 0; i++)
		output_remark(ctx, notes.items[i]);
	sentences_free(&notes);
	if (!o->all_queues)
		source_hide_unused(s, sel);
	state_cut(s, sel);
	return output_state(ctx, s, e);
}

static int run_get(struct context *ctx, struct error *e)
{
	struct state s = { 0 };
	struct selection sel = { 0 };
	int ret = get(ctx, &s, &sel, e);

	selection_free(&sel);
	state_free(&s);
	return ret;
}

static int check_value(const struct context *ctx, uint32_t *usecs, struct error *e)
{
	const struct set_options *o = ctx->options;

	if (value_parse_usecs(ctx->argv[1], usecs, e) < 0)
		return -1;
	return o->force ? 0 : value_check_usecs(*usecs, e);
}

static int set(struct context *ctx, struct state *s, struct selection *sel, struct changes *c,
	       struct sentences *notes, struct error *e)
{
	struct owner_log log = { 0 };
	uint32_t usecs;
	struct vm *vm;
	int ret;

	if (check_value(ctx, &usecs, e) < 0)
		return error_target(e, "%s", ctx->argv[0]);
	if (find(ctx, s, sel, e) < 0)
		return -1;
	vm = sel->items[0].vm;
	collect_notes(sel, notes);
	ret = busyloop_set(vm, sel, usecs, ctx->dry_run, c, &log, e);
	output_log(ctx, vm, &log);
	if (ret < 0)
		return target_error(e, vm);
	return output_changes(ctx, s->kernel, c, notes->items, notes->n, e);
}

static int run_set(struct context *ctx, struct error *e)
{
	struct state s = { 0 };
	struct selection sel = { 0 };
	struct changes c = { 0 };
	struct sentences notes = { 0 };
	int ret = set(ctx, &s, &sel, &c, &notes, e);

	sentences_free(&notes);
	changes_free(&c);
	selection_free(&sel);
	state_free(&s);
	return ret;
}

static const struct command cmd_get = {
	.name = "get",
	.operands = "TARGET",
	.summary = "read the busy-loop timeout of queues",
	.min_operands = 1,
	.max_operands = 1,
	.options = get_table,
	.options_size = sizeof(struct get_options),
	.run = run_get,
};

static const struct command cmd_set = {
	.name = "set",
	.operands = "TARGET USECS",
	.summary = "set the busy-loop timeout of queues; 0 or off ends polling",
	.min_operands = 2,
	.max_operands = 2,
	.changes = true,
	.whole = true,
	.options = set_table,
	.options_size = sizeof(struct set_options),
	.run = run_set,
};

static const struct command *const subcommands[] = { &cmd_get, &cmd_set, NULL };

const struct command cmd_busyloop = {
	.name = "busyloop",
	.summary = "busy-loop timeout of vhost-net queues",
	.sub = subcommands,
};
