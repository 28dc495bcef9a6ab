// SPDX-License-Identifier: GPL-2.0-or-later
/* "list": the VMs of this host, without stopping or borrowing anything. */
#include "command.h"
#include "cut.h"
#include "output.h"
#include "target.h"
#include "util.h"

static int only_vms(const struct selection *sel, struct error *e)
{
	for (size_t i = 0; i < sel->n; i++)
		if (sel->items[i].device)
			return error_set(e, STATUS_USAGE, 0, NULL,
					 "list takes whole VMs; 'vhostctl show' takes devices and queues");
	return 0;
}

static int run_list(struct context *ctx, struct error *e)
{
	struct state s = { 0 };
	struct selection sel = { 0 };
	int rc = target_find((const char *const *)ctx->argv, (size_t)ctx->argc, &s, &sel, e);

	if (rc == 0)
		rc = only_vms(&sel, e);
	if (rc == 0) {
		state_cut(&s, &sel);
		rc = output_state(ctx, &s, e);
	}
	selection_free(&sel);
	state_free(&s);
	return rc;
}

const struct command cmd_list = {
	.name = "list",
	.operands = "[VM...]",
	.summary = "list VMs with their vhost devices, taps and workers",
	.details = "No thread of a VM is stopped, and no right to trace it is needed.\n"
		   "A VM is a pid, a guest name or a uuid. Without one, all are listed.",
	.max_operands = -1,
	.run = run_list,
};
