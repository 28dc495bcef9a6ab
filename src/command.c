// SPDX-License-Identifier: GPL-2.0-or-later
#include "command.h"

#include <string.h>

#include "nearest.h"
#include "util.h"

#define AT(field) offsetof(struct context, field)

const struct option_spec global_options[] = {
	{ "table", 't', OPTION_CHOICE, NULL, "print a table for people instead of JSON",
	  AT(format), FORMAT_TABLE },
	{ "pretty", 0, OPTION_CHOICE, NULL, "indent JSON (the default on a terminal)",
	  AT(format), FORMAT_PRETTY },
	{ "compact", 0, OPTION_CHOICE, NULL, "JSON on one line (the default elsewhere)",
	  AT(format), FORMAT_COMPACT },
	{ "quiet", 'q', OPTION_FLAG, NULL, "print no document; the exit status tells",
	  AT(quiet), 0 },
	{ "verbose", 'v', OPTION_COUNT, NULL, "tell on stderr what is done to a VM",
	  AT(verbosity), 0 },
	{ "help", 'h', OPTION_FLAG, NULL, "print help and exit", AT(help), 0 },
	{ "version", 'V', OPTION_FLAG, NULL, "print the version and exit", AT(version), 0 },
	{ "dump-options", 0, OPTION_FLAG, NULL, "list all commands and options, for scripts",
	  AT(dump_options), 0 },
	{ "dump-targets", 0, OPTION_STRING, "TEXT", "list the targets that begin with TEXT, for scripts",
	  AT(dump_targets), 0 },
	{ NULL, 0, OPTION_FLAG, NULL, NULL, 0, 0 },
};

const struct option_spec change_options[] = {
	{ "dry-run", 'n', OPTION_FLAG, NULL, "check and print, but change nothing",
	  AT(dry_run), 0 },
	{ NULL, 0, OPTION_FLAG, NULL, NULL, 0, 0 },
};

static const char *nearest(const struct command *const *commands, const char *name)
{
	const char *best = NULL;
	size_t least = NEAREST_NONE;

	for (; *commands; commands++)
		best = nearest_of(name, best, (*commands)->name, &least);
	return best;
}

const struct command *command_find(const struct command *const *commands, const char *name,
				   const char *group, struct error *e)
{
	const char *near;

	for (const struct command *const *c = commands; *c; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	near = nearest(commands, name);
	if (near)
		error_set(e, STATUS_USAGE, 0, NULL, "no such command; did you mean '%s%s%s'?", group,
			  *group ? " " : "", near);
	else
		error_set(e, STATUS_USAGE, 0, NULL, "no such command; try 'vhostctl%s%s --help'",
			  *group ? " " : "", group);
	error_target(e, "%s%s%.64s", group, *group ? " " : "", name);
	return NULL;
}

void command_path(const struct command *const *commands, const struct command *cmd,
		  char *path, size_t size)
{
	for (; *commands; commands++) {
		if (*commands == cmd) {
			snprintf(path, size, "%s", cmd->name);
			return;
		}
		for (const struct command *const *s = (*commands)->sub; s && *s; s++) {
			if (*s == cmd) {
				snprintf(path, size, "%s %s", (*commands)->name, cmd->name);
				return;
			}
		}
	}
	path[0] = '\0';
}

/* A usage error below, with the command it concerns and where its help is. */
static int usage_error(const struct context *ctx, struct error *e)
{
	char path[64] = "", message[sizeof(e->message)];

	size_t len = strlen(e->message);

	if (ctx->command)
		command_path(ctx->commands, ctx->command, path, sizeof(path));
	/* One piece of advice is enough. */
	if (!len || e->message[len - 1] != '?') {
		snprintf(message, sizeof(message), "%.*s", (int)(sizeof(message) - 96), e->message);
		snprintf(e->message, sizeof(e->message), "%.*s; try 'vhostctl%s%s --help'",
			 (int)(sizeof(message) - 96), message, *path ? " " : "", path);
	}
	return *path ? error_target(e, "%s", path) : -1;
}

/* Options of one level; moves argc/argv on to what follows them. */
static int parse_level(struct context *ctx, int *argc, char ***argv, struct error *e)
{
	const struct command *cmd = ctx->command;
	bool leading = !cmd || cmd->sub;
	struct option_set sets[3] = { { global_options, ctx } };
	size_t n = 1;
	int first;

	if (!leading && cmd->changes)
		sets[n++] = (struct option_set){ change_options, ctx };
	if (!leading && cmd->options)
		sets[n++] = (struct option_set){ cmd->options, ctx->options };
	first = options_parse(sets, n, *argc, *argv, leading, e);
	if (first < 0)
		return usage_error(ctx, e);
	*argc -= first;
	*argv += first;
	return 0;
}

static int check_operands(const struct context *ctx, struct error *e)
{
	const struct command *cmd = ctx->command;

	if (ctx->argc < cmd->min_operands)
		error_set(e, STATUS_USAGE, 0, NULL, "operands missing, it takes %s",
			  cmd->operands);
	else if (cmd->max_operands >= 0 && ctx->argc > cmd->max_operands)
		error_set(e, STATUS_USAGE, 0, NULL, "one operand too many: '%.64s'",
			  ctx->argv[cmd->max_operands]);
	else
		return 0;
	return usage_error(ctx, e);
}

static int no_command(const struct context *ctx, struct error *e)
{
	error_set(e, STATUS_USAGE, 0, NULL, "no command given");
	return usage_error(ctx, e);
}

/* Options that are commands of their own, whatever stands beside them. */
static bool prints_itself(const struct context *ctx)
{
	return ctx->version || ctx->dump_options || ctx->dump_targets;
}

int command_parse(struct context *ctx, int argc, char **argv, struct error *e)
{
	const struct command *const *level = ctx->commands;
	const char *group = "";

	for (;;) {
		if (parse_level(ctx, &argc, &argv, e) < 0)
			return -1;
		if (ctx->command && !ctx->command->sub)
			break;
		if (prints_itself(ctx) || (ctx->help && argc == 0))
			return 0;
		if (argc == 0)
			return no_command(ctx, e);
		ctx->command = command_find(level, argv[0], group, e);
		if (!ctx->command)
			return -1;
		group = ctx->command->name;
		level = ctx->command->sub;
		if (ctx->command->options_size)
			ctx->options = xcalloc(1, ctx->command->options_size);
	}
	ctx->argc = argc;
	ctx->argv = argv;
	if (ctx->help || prints_itself(ctx))
		return 0;
	return check_operands(ctx, e);
}
