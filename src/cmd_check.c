// SPDX-License-Identifier: GPL-2.0-or-later
/* "check": what this host, its kernel and this user can do, and why not where they cannot. */
#include "check.h"
#include "command.h"
#include "output.h"
#include "target.h"

static int check_target(struct check *c, const char *text, struct error *e)
{
	struct state s = { 0 };
	struct selection sel = { 0 };
	int rc = target_find(&text, 1, &s, &sel, e);

	for (size_t i = 0; rc == 0 && i < sel.n; i++) {
		if (sel.items[i].device)
			rc = error_set(e, STATUS_USAGE, 0, NULL,
				       "check takes a whole VM, not a device of one");
		else
			rc = check_vm(c, sel.items[i].vm, e);
	}
	selection_free(&sel);
	state_free(&s);
	return rc ? error_target(e, "%s", text) : 0;
}

static int run_check(struct context *ctx, struct error *e)
{
	struct check c = { 0 };
	int rc = 0;

	check_host(&c);
	if (ctx->argc)
		rc = check_target(&c, ctx->argv[0], e);
	if (rc == 0)
		rc = output_check(ctx, &c, e);
	check_free(&c);
	return rc;
}

const struct command cmd_check = {
	.name = "check",
	.operands = "[VM]",
	.summary = "what this host, kernel and user can do, and what hinders a VM",
	.details = "The status is 0 whatever the answers are: they are in the document.",
	.max_operands = 1,
	.run = run_check,
};
