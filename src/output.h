/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way out for every command: a whole document on ctx->out in the format
 * asked for, or an error. A text is complete in memory before its first byte
 * is written, and a write that fails (full disk, closed pipe) is an error.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "check.h"
#include "command.h"
#include "owner.h"
#include "policy.h"
#include "state.h"
#include "stopper.h"

int output_state(struct context *ctx, const struct state *s, struct error *e);

/* @notes: sentences for the reader ("scsi0 stores the value and ignores it"), may be NULL. */
int output_changes(struct context *ctx, const char *kernel, const struct changes *c,
		   char *const *notes, size_t n_notes, struct error *e);

int output_check(struct context *ctx, const struct check *c, struct error *e);

int output_policy(struct context *ctx, const struct policy *p, struct error *e);

/* With -v, on ctx->err: each system call that touched @vm, with times. */
void output_log(struct context *ctx, const struct vm *vm, const struct owner_log *log);
/* The same as a sampler's tell, whose arg is the struct context. */
void output_asked(const struct vm *vm, const struct owner_log *log, void *context);

/* With -v, on ctx->err: why s->source is not the snapshot, if @why says so. */
void output_source(struct context *ctx, const struct state *s, const struct error *why);

/* All errors in @s, on ctx->err: for formats that have no place for them. */
void output_errors(struct context *ctx, const struct state *s);

/*
 * One document of many: @text, which is freed; NULL is one that could not be made. *closed: the
 * reader has closed the pipe, which is the end of such a stream and no error; or it does not read,
 * and a signal told us to end.
 */
int output_stream(struct context *ctx, char *text, struct stopper *stopper, bool *closed, struct error *e);

/* "vhostctl: @text" on ctx->err, one line whatever bytes it holds. */
void output_remark(struct context *ctx, const char *text);

/* Plain text such as help; not silenced by -q. */
int output_text(struct context *ctx, const char *text, struct error *e);
/* The same of a stream of open_memstream(), which is closed, and whose *text is freed. */
int output_memstream(struct context *ctx, FILE *f, char **text, struct error *e);

#endif
