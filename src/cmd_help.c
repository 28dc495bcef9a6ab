// SPDX-License-Identifier: GPL-2.0-or-later
/* "help", --help and --dump-options: all from the command and option tables. */
#include "command.h"
#include "output.h"
#include "util.h"

static void list_commands(FILE *f, const struct command *const *commands, const char *group)
{
	for (; *commands; commands++) {
		char name[64];

		snprintf(name, sizeof(name), "%s%s%s", group, *group ? " " : "", (*commands)->name);
		if ((*commands)->sub)
			list_commands(f, (*commands)->sub, name);
		else
			fprintf(f, "  %-16s %s\n", name, (*commands)->summary);
	}
}

static void program_help(FILE *f, const struct context *ctx)
{
	fputs("usage: vhostctl [OPTION...] COMMAND [ARGUMENT...]\n"
	      "Show and tune the in-kernel vhost devices of running VMs.\n\nCommands:\n", f);
	list_commands(f, ctx->commands, "");
	fputs("\nOptions, before or after the command:\n", f);
	options_help(f, global_options);
	fputs("\nA TARGET is VM, VM/DEVICE or VM/DEVICE/QUEUE. "
	      "'vhostctl help COMMAND' tells more.\n", f);
}

static void command_help(FILE *f, const struct context *ctx, const struct command *cmd)
{
	char path[64];

	command_path(ctx->commands, cmd, path, sizeof(path));
	if (cmd->sub) {
		fprintf(f, "usage: vhostctl %s COMMAND [ARGUMENT...]\n%s\n\nCommands:\n", path,
			cmd->summary);
		list_commands(f, cmd->sub, path);
		return;
	}
	fprintf(f, "usage: vhostctl %s [OPTION...]%s%s\n%s\n", path,
		*cmd->operands ? " " : "", cmd->operands, cmd->summary);
	if (cmd->details)
		fprintf(f, "\n%s\n", cmd->details);
	if (cmd->options || cmd->changes)
		fputs("\nOptions:\n", f);
	options_help(f, cmd->options);
	if (cmd->changes)
		options_help(f, change_options);
	fputs("\nOptions of every command:\n", f);
	options_help(f, global_options);
}

static void dump_commands(FILE *f, const struct command *const *commands, const char *group)
{
	for (; *commands; commands++) {
		const struct command *cmd = *commands;
		char path[64];

		snprintf(path, sizeof(path), "%s%s%s", group, *group ? " " : "", cmd->name);
		if (cmd->sub) {
			dump_commands(f, cmd->sub, path);
			continue;
		}
		fprintf(f, "%s\t-\t%s\n", path, *cmd->operands ? cmd->operands : "-");
		options_dump(f, path, cmd->options);
		if (cmd->changes)
			options_dump(f, path, change_options);
	}
}

int help_print(struct context *ctx, struct error *e)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return error_errno(e, errno, "print", NULL);
	if (ctx->command)
		command_help(f, ctx, ctx->command);
	else
		program_help(f, ctx);
	return output_memstream(ctx, f, &text, e);
}

int help_dump_options(struct context *ctx, struct error *e)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return error_errno(e, errno, "print", NULL);
	options_dump(f, "-", global_options);
	dump_commands(f, ctx->commands, "");
	return output_memstream(ctx, f, &text, e);
}

static int run_help(struct context *ctx, struct error *e)
{
	const struct command *const *level = ctx->commands;
	const struct command *cmd = NULL;
	const char *group = "";

	for (int i = 0; i < ctx->argc; i++) {
		if (!level) {
			error_set(e, STATUS_USAGE, 0, NULL,
				  "it has no commands of its own; try 'vhostctl help %s'", group);
			return error_target(e, "%s", group);
		}
		cmd = command_find(level, ctx->argv[i], group, e);
		if (!cmd)
			return -1;
		group = cmd->name;
		level = cmd->sub;
	}
	ctx->command = cmd;
	return help_print(ctx, e);
}

const struct command cmd_help = {
	.name = "help",
	.operands = "[COMMAND]",
	.summary = "print help on the program or a command",
	.max_operands = 2,
	.run = run_help,
};
