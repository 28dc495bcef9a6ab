// SPDX-License-Identifier: GPL-2.0-or-later
#include "output.h"

#include <stdio_ext.h>
#include <string.h>

#include "dot.h"
#include "escape.h"
#include "json.h"
#include "table.h"
#include "target.h"
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

int output_memstream(struct context *ctx, FILE *f, char **text, struct error *e)
{
	int failed = ferror(f) | fclose(f);
	int rc = failed ? error_errno(e, ENOMEM, "print", NULL) : output_text(ctx, *text, e);

	free(*text);
	return rc;
}

void output_remark(struct context *ctx, const char *text)
{
	_cleanup_free_ char *safe = escape_text(text, ctx->utf8);

	fprintf(ctx->err, "vhostctl: %s\n", safe);
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

int output_stream(struct context *ctx, char *text, struct stopper *stopper, bool *closed, struct error *e)
{
	int rc = 0;

	*closed = false;
	if (!text || ctx->quiet)
		return write_document(ctx, text, e);
	if (fflush(ctx->out) || stopper_write(stopper, fileno(ctx->out), text, closed)) {
		*closed = errno == EPIPE;
		if (!*closed)
			rc = error_errno(e, errno, "write standard output", NULL);
		/* What nobody reads is not to be written again when the program ends. */
		__fpurge(ctx->out);
	}
	free(text);
	return rc;
}

int output_state(struct context *ctx, const struct state *s, struct error *e)
{
	struct table_style t = style(ctx);

	if (ctx->format == FORMAT_DOT)
		return write_document(ctx, dot_state(s), e);
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

int output_policy(struct context *ctx, const struct policy *p, struct error *e)
{
	return write_document(ctx, policy_text(p, ctx->format == FORMAT_PRETTY), e);
}

void output_log(struct context *ctx, const struct vm *vm, const struct owner_log *log)
{
	_cleanup_free_ char *name = escape_text(vm->name ? vm->name : "-", ctx->utf8);

	if (ctx->verbosity < 1)
		return;
	if (!log->stops) {
		fprintf(ctx->err, "vhostctl: %s (pid %d): no thread was stopped\n", name, vm->pid);
		return;
	}
	fprintf(ctx->err, "vhostctl: %s (pid %d): thread %d stopped %.1f us, in %u stop%s; the last:\n",
		name, vm->pid, log->tid, (double)log->stopped_ns / 1000, log->stops,
		log->stops == 1 ? "" : "s");
	for (size_t i = 0; i < log->n; i++) {
		const struct owner_log_entry *l = &log->entries[i];

		fprintf(ctx->err, "  %10.1f us  %s = %ld%s%s\n", (double)l->ns / 1000, l->what, l->result,
			l->errnum ? " " : "", l->errnum ? error_name(l->errnum) : "");
	}
}

void output_asked(const struct vm *vm, const struct owner_log *log, void *context)
{
	output_log(context, vm, log);
}

int output_check(struct context *ctx, const struct check *c, struct error *e)
{
	struct table_style t = style(ctx);

	return write_document(ctx, ctx->format == FORMAT_TABLE
			      ? table_check(c, &t)
			      : json_check(c, ctx->format == FORMAT_PRETTY), e);
}

void output_source(struct context *ctx, const struct state *s, const struct error *why)
{
	_cleanup_free_ char *reason = escape_text(why->message, ctx->utf8);

	if (ctx->verbosity > 0 && why->status)
		fprintf(ctx->err, "vhostctl: no kernel snapshot: %s; source is %s\n", reason,
			s->source ? s->source : "neither");
}

static void tell_errors(struct context *ctx, const struct vm *vm, const char *part,
			const struct error *errors, size_t n)
{
	_cleanup_free_ char *name = vm ? target_name(vm, NULL, NULL) : xstrdup("");

	for (size_t i = 0; i < n && ctx->verbosity >= 0; i++) {
		_cleanup_free_ char *text = xasprintf("%s%s%s%s%s%s%s", name, *part ? "/" : "", part,
						      *name ? ": " : "", errors[i].operation,
						      *errors[i].operation ? ": " : "", errors[i].message);

		output_remark(ctx, text);
	}
}

void output_errors(struct context *ctx, const struct state *s)
{
	for (size_t i = 0; i < s->n_vms; i++) {
		const struct vm *vm = &s->vms[i];

		for (size_t k = 0; k < vm->n_devices; k++)
			tell_errors(ctx, vm, vm->devices[k].id, vm->devices[k].errors,
				    vm->devices[k].n_errors);
		for (size_t k = 0; k < vm->n_taps; k++)
			tell_errors(ctx, vm, vm->taps[k].ifname, vm->taps[k].errors, vm->taps[k].n_errors);
		tell_errors(ctx, vm, "", vm->errors, vm->n_errors);
	}
	tell_errors(ctx, NULL, "", s->errors, s->n_errors);
}
