// SPDX-License-Identifier: GPL-2.0-or-later
/* "list": the VMs of this host, without stopping or borrowing anything. */
#include "command.h"
#include "cut.h"
#include "output.h"
#include "source.h"
#include "target.h"
#include "util.h"

static int only_vms(const struct selection *sel, struct error *e)
{
	for (size_t i = 0; i < sel->n; i++) {
		_cleanup_free_ char *name = target_name(sel->items[i].vm, sel->items[i].device, NULL);

		if (!sel->items[i].device)
			continue;
		error_set(e, STATUS_USAGE, 0, NULL,
			  "list takes whole VMs; 'vhostctl show' takes devices and queues");
		return error_target(e, "%s", name);
	}
	return 0;
}

/* Worker threads and taps of devices, where the kernel's own structures tell. Queues are for show. */
static void add_snapshot(struct context *ctx, struct state *s, const struct selection *sel)
{
	struct error why = ERROR_INIT;
	struct snapshot snap;

	if (source_take(SOURCE_AUTO, s, sel, &snap, &why) == 0) {
		s->source = NULL;
		output_source(ctx, s, &why);
		return;
	}
	for (size_t i = 0; i < s->n_vms; i++) {
		struct vm *vm = &s->vms[i];
		struct error e = ERROR_INIT;

		if (source_merge(&snap, vm, false, &e) < 0)
			*ARRAY_ADD(vm->errors, vm->n_errors) = e;
		for (size_t d = 0; d < vm->n_devices; d++) {
			free(vm->devices[d].queues);
			vm->devices[d].queues = NULL;
			vm->devices[d].n_queues = 0;
			vm->devices[d].queues_known = false;
		}
	}
	snapshot_free(&snap);
}

static int run_list(struct context *ctx, struct error *e)
{
	struct state s = { 0 };
	struct selection sel = { 0 };
	int rc = target_find((const char *const *)ctx->argv, (size_t)ctx->argc, &s, &sel, e);

	if (rc == 0)
		rc = only_vms(&sel, e);
	if (rc == 0) {
		add_snapshot(ctx, &s, &sel);
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
