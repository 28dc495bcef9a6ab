/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by apply and diff: from operands to a policy, and what there is to say at the end. */
#ifndef CMD_POLICY_H
#define CMD_POLICY_H

#include "command.h"
#include "policy_plan.h"

/* What FILE is, for the help. */
extern const char policy_command_details[];

/* The operand's file, standard input, or the default ones. */
int policy_command_read(const struct context *ctx, struct policy *p, struct error *e);

/* With -v, on ctx->err: how each VM was read and what touched it. */
void policy_command_log(struct context *ctx, const struct policy_run *run);

#endif
