// SPDX-License-Identifier: GPL-2.0-or-later
/* "list": the VMs of this host, without stopping or borrowing anything. */
#include <string.h>

#include "command.h"
#include "output.h"
#include "target.h"
#include "util.h"

static bool selects(const struct selection *sel, const struct vm *vm)
{
	for (size_t i = 0; i < sel->n; i++)
		if (sel->items[i].vm == vm)
			return true;
	return false;
}

/* Leave only the VMs in @sel, which points nowhere afterwards. */
static void keep_selected(struct state *s, const struct selection *sel)
{
	bool *keep = xcalloc(s->n_vms, sizeof(*keep));
	size_t n = 0;

	for (size_t i = 0; i < s->n_vms; i++)
		keep[i] = selects(sel, &s->vms[i]);
	for (size_t i = 0; i < s->n_vms; i++) {
		if (keep[i])
			s->vms[n++] = s->vms[i];
		else
			vm_free(&s->vms[i]);
	}
	s->n_vms = n;
	free(keep);
}

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
		keep_selected(&s, &sel);
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
