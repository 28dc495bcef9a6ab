// SPDX-License-Identifier: GPL-2.0-or-later
#include "output.h"

#include <string.h>

#include "json.h"
#include "table.h"
#include "util.h"

static int write_all(FILE *f, const char *text, struct error *e)
{
	errno = 0;
	if (fputs(text, f) == EOF || fflush(f) == EOF)
		return error_errno(e, errno ? errno : EIO, "write standard output", NULL);
	return 0;
}

int output_text(struct context *ctx, const char *text, struct error *e)
{
	return write_all(ctx->out, text, e);
}

static struct table_style style(const struct context *ctx)
{
	return (struct table_style){ .utf8 = ctx->utf8, .width = ctx->width };
}

/* @text is freed; NULL is a document that could not be made. */
static int write_document(struct context *ctx, char *text, struct error *e)
{
	int rc = 0;

	if (!text)
		return error_errno(e, ENOMEM, "make the document", NULL);
	if (!ctx->quiet)
		rc = write_all(ctx->out, text, e);
	free(text);
	return rc;
}

int output_state(struct context *ctx, const struct state *s, struct error *e)
{
	struct table_style t = style(ctx);

	return write_document(ctx, ctx->format == FORMAT_TABLE
			      ? table_state(s, &t)
			      : json_state(s, ctx->format == FORMAT_PRETTY), e);
}

int output_changes(struct context *ctx, const char *kernel, const struct changes *c,
		   char *const *notes, size_t n_notes, struct error *e)
{
	struct table_style t = style(ctx);

	return write_document(ctx, ctx->format == FORMAT_TABLE
			      ? table_changes(c, notes, n_notes, &t)
			      : json_changes(kernel, c, notes, n_notes,
					     ctx->format == FORMAT_PRETTY), e);
}
