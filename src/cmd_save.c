// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "command.h"
#include "cut.h"
#include "inspect.h"
#include "output.h"
#include "policy.h"
#include "scan.h"
#include "source.h"
#include "taps.h"
#include "target.h"
#include "util.h"

struct options {
	bool all;
};

static const struct option_spec option_table[] = {
	{ "all", 'a', OPTION_FLAG, NULL, "every VM of this host", offsetof(struct options, all), 0 },
	{ NULL, 0, OPTION_FLAG, NULL, NULL, 0, 0 },
};

/*
 * What cannot be read would be missing from the policy, so here it is a failure; but not a
 * setting that a device does not have.
 */
static int check_part(const char *part, const struct error *errors, size_t n, struct error *e)
{
	for (size_t i = 0; i < n; i++)
		if (errors[i].status != STATUS_UNSUPPORTED) {
			*e = errors[i];
			return error_target(e, "%s", part);
		}
	return 0;
}

static int first_error(const struct vm *vm, struct error *e)
{
	for (size_t i = 0; i < vm->n_devices; i++)
		if (check_part(vm->devices[i].id, vm->devices[i].errors, vm->devices[i].n_errors, e))
			return -1;
	for (size_t i = 0; i < vm->n_taps; i++)
		if (check_part(vm->taps[i].ifname, vm->taps[i].errors, vm->taps[i].n_errors, e))
			return -1;
	return 0;
}

static int read_vm(struct context *ctx, struct vm *vm, const struct snapshot *snap, struct error *e)
{
	struct selected item = { .vm = vm };
	const struct selection sel = { &item, 1 };
	struct error on_tap = ERROR_INIT; /* stands with the tap too */
	int ret;

	if (snap) {
		ret = source_merge(snap, vm, false, e);
	} else {
		struct owner_log log = { 0 };

		ret = inspect_vm(vm, &sel, &log, e);
		output_log(ctx, vm, &log);
	}
	taps_read(vm, &on_tap);
	if (ret == 0)
		ret = first_error(vm, e);
	return ret < 0 ? target_error(e, vm) : 0;
}

static bool has_namesake(const struct state *s, const struct vm *vm)
{
	for (size_t i = 0; i < s->n_vms; i++)
		if (&s->vms[i] != vm && vm->name && s->vms[i].name && !strcmp(s->vms[i].name, vm->name))
			return true;
	return false;
}

/* One that was named twice, as it can be by name and pid, is one entry of the policy. */
static void drop_repeated(struct selection *sel)
{
	size_t n = 0;

	for (size_t i = 0; i < sel->n; i++) {
		if (selection_begins_vm(sel, i))
			sel->items[n++] = sel->items[i];
		else
			ranges_free(&sel->items[i].queues);
	}
	sel->n = n;
}

/* A policy has no place for what could not be looked into, and would pass for one of all. */
static void tell_denied(struct context *ctx, const struct state *s)
{
	_cleanup_free_ char *text = NULL;

	if (ctx->argc || !scan_denied(s) || ctx->verbosity < 0)
		return;
	text = xasprintf("save: %s", scan_denied(s)->message);
	output_remark(ctx, text);
}

/* Targets given as pids have only those scanned, and others may share a name with them. */
static int find(struct context *ctx, struct state *s, struct selection *sel, struct error *e)
{
	struct state all = { 0 };
	struct selection none = { 0 };
	int ret = target_find(NULL, 0, &all, &none, e);

	selection_free(&none);
	for (int i = 0; i < ctx->argc && ret == 0; i++)
		ret = target_resolve(&all, ctx->argv[i], sel, e);
	if (ret < 0) { /* says better why */
		selection_free(sel);
		state_free(&all);
		return target_find((const char *const *)ctx->argv, (size_t)ctx->argc, s, sel, e);
	}
	/* A policy of some of them would pass for one of all. */
	if (!ctx->argc && scan_check(&all, e)) {
		state_free(&all);
		return -1;
	}
	for (size_t i = 0; !ctx->argc && i < all.n_vms; i++)
		*ARRAY_ADD(sel->items, sel->n) = (struct selected){ .vm = &all.vms[i] };
	*s = all;
	return 0;
}

static int check_whole(const struct selection *sel, struct error *e)
{
	for (size_t i = 0; i < sel->n; i++)
		if (sel->items[i].device) {
			error_set(e, STATUS_USAGE, 0, "save", "it takes whole VMs, not devices");
			error_target(e, "%s", sel->items[i].device->id);
			return target_error(e, sel->items[i].vm);
		}
	return 0;
}

static int save(struct context *ctx, struct state *s, struct selection *sel, struct policy *p,
		struct error *e)
{
	struct error why = ERROR_INIT;
	struct snapshot snap;
	int taken, ret;

	if (find(ctx, s, sel, e) < 0)
		return -1;
	ret = check_whole(sel, e);
	if (ret < 0)
		return -1;
	drop_repeated(sel);
	tell_denied(ctx, s);
	taken = source_take(SOURCE_AUTO, s, sel, &snap, &why);
	output_source(ctx, s, &why);
	for (size_t i = 0; i < sel->n && ret == 0; i++) {
		struct vm *vm = sel->items[i].vm;

		ret = read_vm(ctx, vm, taken > 0 ? &snap : NULL, e);
		if (ret == 0)
			ret = policy_save(vm, has_namesake(s, vm), p, e);
	}
	if (taken > 0)
		snapshot_free(&snap);
	return ret < 0 ? -1 : output_policy(ctx, p, e);
}

static int run(struct context *ctx, struct error *e)
{
	const struct options *o = ctx->options;
	struct state s = { 0 };
	struct selection sel = { 0 };
	struct policy p = { 0 };
	int ret;

	if (o->all != (ctx->argc == 0))
		return error_set(e, STATUS_USAGE, 0, "save", "name a VM, or --all for every VM of this host");
	if (ctx->format == FORMAT_TABLE)
		return error_set(e, STATUS_USAGE, 0, "save", "a policy is JSON; there is no table of it");
	ret = save(ctx, &s, &sel, &p, e);
	policy_free(&p);
	selection_free(&sel);
	state_free(&s);
	return ret;
}

const struct command cmd_save = {
	.name = "save",
	.operands = "[VM...]",
	.summary = "the settings of VMs as a policy for apply",
	.max_operands = -1,
	.options = option_table,
	.options_size = sizeof(struct options),
	.run = run,
};
