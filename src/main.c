// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command.h"
#include "error.h"
#include "output.h"
#include "stopper.h"
#include "util.h"

static const struct command *const commands[] = {
	&cmd_list,
	&cmd_show,
	&cmd_busyloop,
	&cmd_worker,
	&cmd_coalesce,
	&cmd_save,
	&cmd_apply,
	&cmd_diff,
	&cmd_stat,
	&cmd_trial,
	&cmd_monitor,
	&cmd_check,
	&cmd_help,
	NULL,
};

/*
 * A caller may have closed 0, 1 or 2. The next open() would get that number, and what
 * is meant for stdout would go into a VM's file. Writes to these descriptors fail.
 */
static void reserve_standard_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static int terminal_width(void)
{
	struct winsize ws;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) < 0 || ws.ws_col == 0)
		return 80;
	return ws.ws_col;
}

/* "vhostctl: TARGET: what failed: why; what to do", on one line whatever the parts hold. */
static void print_error(struct context *ctx, const struct error *e)
{
	_cleanup_free_ char *text = xasprintf("%s%s%s%s%s", e->target, e->target[0] ? ": " : "",
					      e->operation, e->operation[0] ? ": " : "",
					      e->message);

	output_remark(ctx, text);
}

static int run(struct context *ctx, struct stopper *held, int argc, char **argv, struct error *e)
{
	if (command_parse(ctx, argc, argv, e) < 0)
		return -1;
	if (ctx->quiet)
		ctx->verbosity = -1;
	if (ctx->format == FORMAT_AUTO)
		ctx->format = ctx->width ? FORMAT_PRETTY : FORMAT_COMPACT;
	if (ctx->help)
		return help_print(ctx, e);
	if (ctx->version)
		return output_text(ctx, "vhostctl " VHOSTCTL_VERSION "\n", e);
	if (ctx->dump_options)
		return help_dump_options(ctx, e);
	if (ctx->dump_targets)
		return targets_dump(ctx, e);
	if (ctx->command->whole)
		stopper_hold(held);
	return ctx->command->run(ctx, e);
}

int main(int argc, char **argv)
{
	/* A document of that size goes out in one write(): where that fails, nothing of it is there. */
	static char out[1 << 20];
	struct context ctx = { .commands = commands, .out = stdout, .err = stderr };
	struct stopper held = STOPPER_INIT;
	struct error e = ERROR_INIT;
	int rc;

	reserve_standard_fds();
	setvbuf(stdout, out, _IOFBF, sizeof(out));
	signal(SIGPIPE, SIG_IGN); /* a reader that went away is a write error, reported as such */
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C"); /* numbers are for programs, in every format */
	ctx.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	ctx.width = isatty(STDOUT_FILENO) ? terminal_width() : 0;

	rc = run(&ctx, &held, argc, argv, &e);
	if (rc == 0 && fclose(stdout) == EOF) /* some file systems report a full disk only here */
		rc = error_errno(&e, errno, "write standard output", NULL);
	if (rc < 0)
		print_error(&ctx, &e);
	free(ctx.options);
	stopper_end(&held);
	return rc < 0 ? (int)e.status : ctx.status;
}
