/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a command is, and what it is given. Each cmd_*.c defines one
 * "const struct command"; main.c lists them.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "error.h"
#include "options.h"

enum format { FORMAT_AUTO, FORMAT_PRETTY, FORMAT_COMPACT, FORMAT_TABLE, FORMAT_DOT };

struct command;

/* Everything a command may depend on: there are no globals. */
struct context {
	const struct command *const *commands;	/* all of them, NULL at the end */
	const struct command *command;		/* the one that runs */
	int format;		/* enum format; never FORMAT_AUTO once a command runs */
	int verbosity;		/* -1 with -q; counts the -v */
	bool quiet, help, version, dump_options, dry_run;
	const char *dump_targets;	/* what a target begins with; NULL: not asked for */
	bool utf8;		/* what reads the text understands UTF-8 */
	int width;		/* columns of the terminal; 0 when stdout is none */
	FILE *out, *err;
	int argc;		/* operands, without the command's name */
	char **argv;
	int status;		/* exit status of a run that did not fail, if not 0 */
	void *options;		/* the command's own struct, zeroed, then filled by its table */
};

struct command {
	const char *name;
	const char *operands;	/* for usage: "TARGET USECS" */
	const char *summary;	/* one line for the list of commands */
	const char *details;	/* paragraphs of its help, or NULL */
	int min_operands, max_operands;		/* max -1: any number */
	bool changes;		/* it changes something: gets --dry-run */
	bool whole;		/* it changes in several steps: a signal that asks to end comes after all */
	const struct option_spec *options;	/* its own, or NULL */
	size_t options_size;	/* of the struct that the table fills */
	const struct command *const *sub;	/* sub-commands, NULL at the end; then no run */
	int (*run)(struct context *ctx, struct error *e);
};

extern const struct command cmd_help;
extern const struct command cmd_list;
extern const struct command cmd_show;
extern const struct command cmd_busyloop;
extern const struct command cmd_worker;
extern const struct command cmd_coalesce;
extern const struct command cmd_save;
extern const struct command cmd_apply;
extern const struct command cmd_diff;
extern const struct command cmd_check;
extern const struct command cmd_stat;
extern const struct command cmd_trial;
extern const struct command cmd_monitor;

/* --source in a table for struct @type, whose member source becomes what source_parse() takes. */
#define OPTION_SOURCE(type)                                                                    \
	{ "source", 0, OPTION_STRING, "SOURCE",                                                \
	  "how to read: snapshot or owner; default: what works", offsetof(type, source), 0 }

/* Options that every command takes, before or after its name. */
extern const struct option_spec global_options[];
/* --dry-run, for commands that change something. */
extern const struct option_spec change_options[];

/*
 * From argv to a context ready to run: global options, the command (a
 * misspelt one is answered with the nearest name), its options and operands.
 * ctx->command stays NULL or a group when only help was asked for.
 */
int command_parse(struct context *ctx, int argc, char **argv, struct error *e);

/* Looks @name up in @commands; NULL with an error that suggests the nearest. */
const struct command *command_find(const struct command *const *commands, const char *name,
				   const char *group, struct error *e);

/* "busyloop set" for the sub-command @cmd. */
void command_path(const struct command *const *commands, const struct command *cmd,
		  char *path, size_t size);

/* Help of ctx->command, or of the program when there is none, on ctx->out. */
int help_print(struct context *ctx, struct error *e);

/* Every command and option, for tests and completion, on ctx->out. */
int help_dump_options(struct context *ctx, struct error *e);

/* What ctx->dump_targets can become, for completion, on ctx->out. */
int targets_dump(struct context *ctx, struct error *e);

#endif
