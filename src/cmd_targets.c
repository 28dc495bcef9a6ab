// SPDX-License-Identifier: GPL-2.0-or-later
/* --dump-targets: what a shell offers while a target is being typed. No thread is stopped for it. */
#include "command.h"
#include "complete.h"
#include "output.h"
#include "scan.h"
#include "source.h"
#include "util.h"

/* Of devices other than net and vsock, only the kernel tells which queues and workers there are. */
static bool ask_kernel(struct state *s, const struct completions *found)
{
	struct selected one = { .vm = found->vm };
	struct selection sel = { .items = &one, .n = 1 };
	struct error ignored = ERROR_INIT;

	if (!found->vm || !found->device || found->device->kind == DEVICE_NET ||
	    found->device->kind == DEVICE_VSOCK ||
	    source_read(SOURCE_AUTO, s, &sel, false, &ignored, &ignored) != 1)
		return false;
	source_hide_unused(s, &sel);
	return true;
}

static int print(struct context *ctx, const struct completions *found, struct error *e)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return error_errno(e, errno, "print", NULL);
	for (size_t i = 0; i < found->n; i++)
		fprintf(f, "%s\t%s\n", completion_kind_name(found->items[i].kind), found->items[i].text);
	return output_memstream(ctx, f, &text, e);
}

int targets_dump(struct context *ctx, struct error *e)
{
	struct completions found = { 0 };
	struct state s = { 0 };
	int rc = scan_host(&s, e);

	if (rc == 0) {
		complete_target(&s, ctx->dump_targets, ctx->utf8, &found);
		if (ask_kernel(&s, &found)) {
			completions_free(&found);
			complete_target(&s, ctx->dump_targets, ctx->utf8, &found);
		}
		rc = print(ctx, &found, e);
	}
	completions_free(&found);
	state_free(&s);
	return rc;
}
