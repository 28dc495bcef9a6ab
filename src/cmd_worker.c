// SPDX-License-Identifier: GPL-2.0-or-later
#include "affinity.h"
#include "cmd_worker.h"
#include "cut.h"
#include "inspect.h"
#include "output.h"
#include "source.h"
#include "util.h"
#include "vhost.h"

int worker_command_start(struct worker_command *w, struct context *ctx, bool with_queues,
			 struct error *e)
{
	const struct selected *item;

	*w = (struct worker_command){ .log.n = 0 };
	if (target_find((const char *const *)ctx->argv, 1, &w->state, &w->selection, e) < 0)
		return -1;
	item = &w->selection.items[0];
	if (!item->device || w->selection.n > 1)
		error_set(e, STATUS_USAGE, 0, NULL,
			  "name one device, as VM/DEVICE; workers belong to a device");
	else if (with_queues != (item->queues.n > 0))
		error_set(e, STATUS_USAGE, 0, NULL, with_queues
			  ? "name the queues, as VM/DEVICE/QUEUES" : "name a device, without queues");
	if (e->status)
		return error_target(e, "%s", ctx->argv[0]);
	w->queues = &item->queues;
	w->job = (struct worker_job){ .vm = item->vm, .device = item->device, .dry_run = ctx->dry_run,
				      .log = &w->log, .changes = &w->changes };
	return 0;
}

int worker_command_end(struct worker_command *w, struct context *ctx, int ret, struct error *e)
{
	const struct sentences *notes = &w->job.notes;
	struct error second = ERROR_INIT;

	if (w->job.vm)
		output_log(ctx, w->job.vm, &w->log);
	if (ret < 0 && w->job.vm) {
		_cleanup_free_ char *name = target_name(w->job.vm, w->job.device, NULL);

		e->target[0] = '\0';
		error_target(e, "%s", name);
	} else if (ret < 0) {
		error_target(e, "%s", ctx->argv[0]);
	}
	if (ret == 0) {
		ret = output_changes(ctx, w->state.kernel, &w->changes, notes->items, notes->n, e);
	} else if (w->changes.n) {
		/* What was changed is told even if the rest failed; @e is that, whatever becomes of this. */
		if (!w->changes.n_errors)
			*ARRAY_ADD(w->changes.errors, w->changes.n_errors) = *e;
		output_changes(ctx, w->state.kernel, &w->changes, notes->items, notes->n, &second);
	}
	sentences_free(&w->job.notes);
	changes_free(&w->changes);
	selection_free(&w->selection);
	state_free(&w->state);
	return ret;
}

int worker_ids(char *const *texts, int n, struct ranges *ids, struct error *e)
{
	*ids = (struct ranges){ 0 };
	for (int i = 0; i < n; i++) {
		struct ranges some;

		if (ranges_parse(texts[i], &some, e) < 0) {
			ranges_free(ids);
			return error_set(e, STATUS_USAGE, 0, NULL,
					 "'%s' is no worker id; give one as 'vhostctl worker "
					 "list' shows it", texts[i]);
		}
		ranges_add_all(ids, &some);
		ranges_free(&some);
	}
	return 0;
}

/* Queue names depend on the device, so they are read as a part of a target; two VMs can have one name. */
int worker_queues(struct worker_command *w, const char *text, struct ranges *queues,
		  struct error *e)
{
	const struct selected whole = { .vm = w->job.vm, .device = w->job.device };
	_cleanup_free_ char *device = target_fixed(&whole);
	_cleanup_free_ char *target = xasprintf("%s/%s", device, text);
	struct selection sel = { 0 };
	int ret = target_resolve(&w->state, target, &sel, e);

	*queues = (struct ranges){ 0 };
	if (ret == 0)
		ranges_add_all(queues, &sel.items[0].queues);
	selection_free(&sel);
	return ret;
}

/* Idle workers and threads as the kernel's own structures tell, or less, as its calls do. */
static int read_workers(struct context *ctx, struct state *s, const struct selection *sel,
			struct error *e)
{
	struct vm *vm = sel->items[0].vm;
	struct owner_log log = { 0 };
	struct error why = ERROR_INIT;
	int ret = source_read(SOURCE_AUTO, s, sel, false, &why, e);

	if (ret)
		return ret < 0 ? -1 : inspect_features(vm, sel, e);
	output_source(ctx, s, &why);
	ret = inspect_vm(vm, sel, &log, e);
	output_log(ctx, vm, &log);
	return ret;
}

static int list(struct context *ctx, struct state *s, struct selection *sel, struct error *e)
{
	if (target_find((const char *const *)ctx->argv, 1, s, sel, e) < 0)
		return -1;
	if (read_workers(ctx, s, sel, e) < 0)
		return e->target[0] ? target_error(e, sel->items[0].vm)
				    : error_target(e, "%s", ctx->argv[0]);
	for (size_t i = 0; i < sel->n; i++)
		if (target_check_queues(&sel->items[i], e) < 0)
			return -1;
	source_hide_unused(s, sel);
	state_cut(s, sel);
	return output_state(ctx, s, e);
}

static int run_list(struct context *ctx, struct error *e)
{
	struct state s = { 0 };
	struct selection sel = { 0 };
	int ret = list(ctx, &s, &sel, e);

	selection_free(&sel);
	state_free(&s);
	return ret;
}

struct create_options {
	const char *count, *cpus, *attach;
};

static const struct option_spec create_table[] = {
	{ "count", 0, OPTION_STRING, "N", "make N workers (default 1)",
	  offsetof(struct create_options, count), 0 },
	{ "cpus", 0, OPTION_STRING, "LIST", "let them run on these cpus only, such as 0-3,8",
	  offsetof(struct create_options, cpus), 0 },
	{ "attach", 0, OPTION_STRING, "QUEUES", "give them these queues, dealt out evenly",
	  offsetof(struct create_options, attach), 0 },
	{ NULL, 0, OPTION_FLAG, NULL, NULL, 0, 0 },
};

int worker_count(const char *text, const char *option, unsigned int *count, struct error *e)
{
	uint64_t n;

	if (!text)
		return 0;
	if (parse_uint(text, VHOST_SCSI_WORKERS_MAX, &n) < 0 || n == 0)
		return error_set(e, STATUS_USAGE, 0, NULL, "%s takes a number from 1 to %d, not '%s'", option,
				 VHOST_SCSI_WORKERS_MAX, text);
	*count = (unsigned int)n;
	return 0;
}

static int create(struct context *ctx, struct worker_command *w, struct error *e)
{
	const struct create_options *o = ctx->options;
	struct ranges cpus = { 0 }, queues = { 0 };
	unsigned int count = 1;
	int ret = worker_count(o->count, "--count", &count, e);

	if (ret == 0 && o->cpus)
		ret = affinity_parse(o->cpus, &cpus, e);
	if (ret == 0)
		ret = worker_command_start(w, ctx, false, e);
	if (ret == 0 && o->attach)
		ret = worker_queues(w, o->attach, &queues, e);
	if (ret == 0)
		ret = workers_create(&w->job, count, &cpus, &queues, e);
	ranges_free(&cpus);
	ranges_free(&queues);
	return ret;
}

static int run_create(struct context *ctx, struct error *e)
{
	struct worker_command w = { .log.n = 0 };

	return worker_command_end(&w, ctx, create(ctx, &w, e), e);
}

static const struct command cmd_list_workers = {
	.name = "list",
	.operands = "TARGET",
	.summary = "workers, their threads, and the queues each serves",
	.min_operands = 1,
	.max_operands = 1,
	.run = run_list,
};

static const struct command cmd_create = {
	.name = "create",
	.operands = "TARGET",
	.summary = "make new workers for a vhost-scsi device",
	.details = "They are made by the VM's main thread, of which they inherit cgroup, limits, scheduling\n"
		   "and cpus, as if the VMM had made them.",
	.min_operands = 1,
	.max_operands = 1,
	.changes = true,
	.whole = true,
	.options = create_table,
	.options_size = sizeof(struct create_options),
	.run = run_create,
};

static const struct command *const subcommands[] = {
	&cmd_list_workers, &cmd_create,	     &cmd_worker_attach, &cmd_worker_free,
	&cmd_worker_spread, &cmd_worker_pin, NULL,
};

const struct command cmd_worker = {
	.name = "worker",
	.summary = "workers of vhost-scsi devices, and the threads behind all",
	.sub = subcommands,
};
