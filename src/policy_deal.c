// SPDX-License-Identifier: GPL-2.0-or-later
#include "policy_deal.h"

#include "util.h"

#define NOBODY INT64_MIN

static bool is_taken(const int64_t *ids, size_t n, int64_t id)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

static size_t overlap(const struct queue *queues, size_t n, const struct ranges *group, int64_t id)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += queues[i].worker_id == id && ranges_contain(group, queues[i].index);
	return count;
}

/* Of the workers that serve some of @group, the one that serves most and is not taken. */
static int64_t best(const struct queue *queues, size_t n, const struct ranges *group, const int64_t *taken,
		    size_t n_taken)
{
	int64_t id = NOBODY;
	size_t most = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t candidate = queues[i].worker_id;
		size_t count;

		if (candidate <= 0 || !ranges_contain(group, queues[i].index) ||
		    is_taken(taken, n_taken, candidate))
			continue;
		count = overlap(queues, n, group, candidate);
		if (count > most) {
			most = count;
			id = candidate;
		}
	}
	return id;
}

static int64_t wanted(const struct policy_worker *list, size_t n_list, const int64_t *ids, unsigned int queue)
{
	for (size_t i = 0; i < n_list; i++)
		if (ranges_contain(&list[i].queues, queue))
			return ids[i];
	return 0;
}

void deal_listed(const struct queue *queues, size_t n, const struct policy_worker *list, size_t n_list,
		 struct spread *plan, int64_t *ids)
{
	*plan = (struct spread){ 0 };
	for (size_t i = 0; i < n_list; i++) {
		ids[i] = best(queues, n, &list[i].queues, ids, i);
		if (ids[i] == NOBODY)
			ids[i] = -1 - (int64_t)plan->n_new++;
	}
	for (size_t i = 0; i < n; i++) {
		const struct queue *q = &queues[i];
		int64_t to = wanted(list, n_list, ids, q->index);
		bool known = q->worker_id == 0 || is_taken(ids, n_list, q->worker_id);

		if (to != q->worker_id)
			*ARRAY_ADD(plan->moves, plan->n_moves) =
				(struct spread_move){ q->index, (uint32_t)q->worker_id, to };
		for (size_t k = 0; k < plan->n_unneeded; k++)
			known |= plan->unneeded[k] == q->worker_id;
		if (!known)
			*ARRAY_ADD(plan->unneeded, plan->n_unneeded) = (uint32_t)q->worker_id;
	}
}

static int64_t replaced(int64_t id, const uint32_t *idle, size_t n)
{
	if (id >= 0)
		return id;
	return (size_t)(-1 - id) < n ? (int64_t)idle[-1 - id] : id + (int64_t)n;
}

size_t deal_reuse(struct spread *plan, int64_t *ids, size_t n_ids, const uint32_t *idle, size_t n_idle)
{
	size_t n = n_idle < plan->n_new ? n_idle : plan->n_new;

	for (size_t i = 0; i < plan->n_moves; i++)
		plan->moves[i].to = replaced(plan->moves[i].to, idle, n);
	for (size_t i = 0; ids && i < n_ids; i++)
		ids[i] = replaced(ids[i], idle, n);
	plan->n_new -= n;
	return n;
}

int64_t deal_end(const struct spread *plan, const struct queue *q)
{
	for (size_t i = 0; i < plan->n_moves; i++)
		if (plan->moves[i].queue == q->index)
			return plan->moves[i].to;
	return q->worker_id;
}
