/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From an explicit list of workers to the fewest moves that make it so. Pure. */
#ifndef POLICY_DEAL_H
#define POLICY_DEAL_H

#include "policy.h"
#include "spread.h"

/*
 * ids[i] is the worker that serves list[i]: one that serves most of its queues now, or a new one as
 * in struct spread_move. Queues that no element names are the default worker's (0).
 */
void deal_listed(const struct queue *queues, size_t n, const struct policy_worker *list, size_t n_list,
		 struct spread *plan, int64_t *ids);

/*
 * Let idle workers stand in for new ones, the first ones first, in the plan and, if not NULL,
 * in @ids. Returns how many did.
 */
size_t deal_reuse(struct spread *plan, int64_t *ids, size_t n_ids, const uint32_t *idle, size_t n_idle);

/* The worker of queue @q once @plan is carried out. */
int64_t deal_end(const struct spread *plan, const struct queue *q);

#endif
