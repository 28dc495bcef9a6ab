// SPDX-License-Identifier: GPL-2.0-or-later
/* "check": what this host, kernel and user can do; and whether a VM can be acted on. */
#include "check.h"
#include "command.h"
#include "output.h"
#include "target.h"

static int check_vms(struct check *c, const char *const *targets, size_t n, struct error *e)
{
	struct state s = { 0 };
	struct selection sel = { 0 };
	int rc = n ? target_find(targets, n, &s, &sel, e) : 0;

	for (size_t i = 0; i < sel.n && rc == 0; i++)
		rc = check_vm(c, sel.items[i].vm, e);
	selection_free(&sel);
	state_free(&s);
	return rc;
}

static int run_check(struct context *ctx, struct error *e)
{
	struct check c = { .n_vms = 0 };
	int rc;

	check_host(&c);
	rc = check_vms(&c, (const char *const *)ctx->argv, (size_t)ctx->argc, e);
	if (rc == 0)
		rc = output_check(ctx, &c, e);
	check_free(&c);
	return rc;
}

const struct command cmd_check = {
	.name = "check",
	.operands = "[VM]",
	.summary = "tell what this host, kernel and user can do, and why not",
	.details = "With a VM, also what stands in the way of acting on it.\n"
		   "The exit status is 0 whatever is found; each check says ok or why not.",
	.max_operands = 1,
	.run = run_check,
};
