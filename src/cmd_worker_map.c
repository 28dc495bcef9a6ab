// SPDX-License-Identifier: GPL-2.0-or-later
/* "worker attach", "free", "spread", "pin": what changes who serves what, and where. */
#include "affinity.h"
#include "cmd_worker.h"
#include "util.h"

static int attach(struct context *ctx, struct worker_command *w, struct error *e)
{
	uint64_t id;

	if (parse_uint(ctx->argv[1], UINT32_MAX, &id) < 0)
		return error_set(e, STATUS_USAGE, 0, NULL,
				 "'%s' is no worker id; give one as 'vhostctl worker list' shows "
				 "it", ctx->argv[1]);
	if (worker_command_start(w, ctx, true, e) < 0)
		return -1;
	return workers_attach(&w->job, w->queues, (uint32_t)id, e);
}

static int run_attach(struct context *ctx, struct error *e)
{
	struct worker_command w = { .log.n = 0 };

	return worker_command_end(&w, ctx, attach(ctx, &w, e), e);
}

const struct command cmd_worker_attach = {
	.name = "attach",
	.operands = "TARGET ID",
	.summary = "let worker ID serve the queues of TARGET",
	.min_operands = 2,
	.max_operands = 2,
	.changes = true,
	.whole = true,
	.run = run_attach,
};

struct free_options {
	bool idle;
};

static const struct option_spec free_table[] = {
	{ "idle", 0, OPTION_FLAG, NULL, "all that serve no queue, except the default worker",
	  offsetof(struct free_options, idle), 0 },
	{ NULL, 0, OPTION_FLAG, NULL, NULL, 0, 0 },
};

static int free_some(struct context *ctx, struct worker_command *w, struct error *e)
{
	const struct free_options *o = ctx->options;
	struct ranges ids;
	int ret;

	if (o->idle == (ctx->argc > 1))
		return error_set(e, STATUS_USAGE, 0, "worker free", "give ids of workers, or --idle");
	if (worker_ids(ctx->argv + 1, ctx->argc - 1, &ids, e) < 0)
		return -1;
	ret = worker_command_start(w, ctx, false, e);
	if (ret == 0)
		ret = o->idle ? workers_free_idle(&w->job, e) : workers_free(&w->job, &ids, e);
	ranges_free(&ids);
	return ret;
}

static int run_free(struct context *ctx, struct error *e)
{
	struct worker_command w = { .log.n = 0 };

	return worker_command_end(&w, ctx, free_some(ctx, &w, e), e);
}

const struct command cmd_worker_free = {
	.name = "free",
	.operands = "TARGET [ID...]",
	.summary = "free workers that serve no queue",
	.details = "Of several, each that can be freed is; those that were refused are told, with the\n"
		   "reason.",
	.min_operands = 1,
	.max_operands = -1,
	.changes = true,
	.whole = true,
	.options = free_table,
	.options_size = sizeof(struct free_options),
	.run = run_free,
};

struct spread_options {
	const char *workers, *queues;
};

static const struct option_spec spread_table[] = {
	{ "workers", 0, OPTION_STRING, "N", "over N workers (default: one per request queue)",
	  offsetof(struct spread_options, workers), 0 },
	{ "queues", 0, OPTION_STRING, "QUEUES", "these are the request queues in use",
	  offsetof(struct spread_options, queues), 0 },
	{ NULL, 0, OPTION_FLAG, NULL, NULL, 0, 0 },
};

static int spread(struct context *ctx, struct worker_command *w, struct error *e)
{
	const struct spread_options *o = ctx->options;
	struct ranges queues = { 0 };
	unsigned int count = 0;
	int ret = worker_count(o->workers, "--workers", &count, e);

	if (ret == 0)
		ret = worker_command_start(w, ctx, false, e);
	if (ret == 0 && o->queues)
		ret = worker_queues(w, o->queues, &queues, e);
	if (ret == 0)
		ret = workers_spread(&w->job, count, &queues, e);
	ranges_free(&queues);
	return ret;
}

static int run_spread(struct context *ctx, struct error *e)
{
	struct worker_command w = { .log.n = 0 };

	return worker_command_end(&w, ctx, spread(ctx, &w, e), e);
}

const struct command cmd_worker_spread = {
	.name = "spread",
	.operands = "TARGET",
	.summary = "deal the request queues of a vhost-scsi device out over workers",
	.details = "An end state: workers are made, reused and freed as it takes, and a second run changes\n"
		   "nothing. Control and event queue stay with the default worker. With --workers 1 all\n"
		   "queues are the default worker's.",
	.min_operands = 1,
	.max_operands = 1,
	.changes = true,
	.whole = true,
	.options = spread_table,
	.options_size = sizeof(struct spread_options),
	.run = run_spread,
};

static int pin(struct context *ctx, struct worker_command *w, struct error *e)
{
	struct ranges ids, cpus = { 0 };
	int ret;

	if (worker_ids(ctx->argv + 1, ctx->argc - 2, &ids, e) < 0)
		return -1;
	ret = affinity_parse(ctx->argv[ctx->argc - 1], &cpus, e);
	if (ret == 0)
		ret = worker_command_start(w, ctx, false, e);
	if (ret == 0)
		ret = workers_pin(&w->job, &ids, &cpus, e);
	ranges_free(&ids);
	ranges_free(&cpus);
	return ret;
}

static int run_pin(struct context *ctx, struct error *e)
{
	struct worker_command w = { .log.n = 0 };

	return worker_command_end(&w, ctx, pin(ctx, &w, e), e);
}

const struct command cmd_worker_pin = {
	.name = "pin",
	.operands = "TARGET ID... CPULIST",
	.summary = "let the threads of workers run on these cpus only",
	.min_operands = 3,
	.max_operands = -1,
	.changes = true,
	.whole = true,
	.run = run_pin,
};
