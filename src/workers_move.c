// SPDX-License-Identifier: GPL-2.0-or-later
#include "util.h"
#include "workers_core.h"

int unmake_moves(struct session *s, const struct move *moves, size_t n, struct error *e)
{
	struct error second = ERROR_INIT;
	struct vhost_ops ops = { 0 };
	int ret;

	if (!n || session_is_gone(s))
		return -1;
	owner_be_patient();
	for (size_t i = n; i > 0; i--)
		ops_add(&ops, s, VHOST_WORKER_ATTACH, moves[i - 1].queue, moves[i - 1].from, false);
	ret = ops_run(s, OWNER_THREAD_HELPER, &ops, &second);
	if (ret == 0)
		ret = ops_check(&ops, &second);
	if (ret < 0) {
		_cleanup_free_ char *left = vhost_left(ops.items, ops.n);

		error_append(e, STATUS_ROLLBACK, "; putting back failed too: %s; left with the new worker: "
			     "%s", second.message, left);
	}
	free(ops.items);
	return -1;
}

/*
 * Something failed among @moves. Where the answer to a call is missing, only a look tells what
 * it did. Those that were moved are put back.
 */
static int put_back(struct session *s, const struct move *moves, size_t n, struct error *e)
{
	struct error second = ERROR_INIT;
	struct vhost_ops ops = { 0 };
	struct move *moved = NULL;
	size_t n_moved = 0;

	if (session_is_gone(s))
		return -1;
	owner_be_patient();
	for (size_t i = 0; i < n; i++)
		ops_add(&ops, s, VHOST_WORKER_GET, moves[i].queue, 0, false);
	if (ops_run(s, OWNER_THREAD_ANY, &ops, &second) < 0) {
		error_append(e, STATUS_ROLLBACK, "; which queues were moved could not be read: %s; look with "
			     "'vhostctl worker list'", second.message);
	} else {
		for (size_t i = 0; i < n; i++)
			if (!ops.items[i].errnum && ops.items[i].value == moves[i].to)
				*ARRAY_ADD(moved, n_moved) = moves[i];
		unmake_moves(s, moved, n_moved, e);
	}
	free(moved);
	free(ops.items);
	return -1;
}

static int check_moves(const struct vhost_ops *ops, const struct move *moves, size_t n, struct error *e)
{
	for (size_t i = 0; i < n; i++) {
		const struct vhost_op *attach = &ops->items[2 * i], *get = &ops->items[2 * i + 1];

		if (attach->errnum)
			return vhost_explain(attach, e);
		if (get->errnum)
			return vhost_explain(get, e);
		if (get->value != moves[i].to)
			return error_set(e, STATUS_FAILED, 0, "attach the queue to the worker",
					 "queue %u reads back as worker %u's, not %u's; "
					 "something else changes workers at the same time",
					 moves[i].queue, get->value, moves[i].to);
	}
	return 0;
}

static bool any_begun(const struct vhost_ops *ops)
{
	for (size_t i = 0; i < ops->n; i++)
		if (ops->items[i].begun)
			return true;
	return false;
}

static bool all_done(const struct vhost_op *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!items[i].done)
			return false;
	return true;
}

int make_moves(struct session *s, const struct move *moves, size_t n, struct vhost_ops *after,
	       struct error *e)
{
	struct vhost_ops ops = { 0 };
	int ret, ran;
	bool whole;

	for (size_t i = 0; i < n; i++) {
		ops_add(&ops, s, VHOST_WORKER_ATTACH, moves[i].queue, moves[i].to, true);
		ops_add(&ops, s, VHOST_WORKER_GET, moves[i].queue, 0, true);
	}
	for (size_t i = 0; after && i < after->n; i++)
		*ARRAY_ADD(ops.items, ops.n) = after->items[i];
	ran = ops_run(s, OWNER_THREAD_HELPER, &ops, e);
	ret = ran;
	whole = all_done(ops.items + 2 * n, ops.n - 2 * n);
	/* What failed after the last of them was read back does not undo them. */
	if (ran == 0 || (n && all_done(ops.items, 2 * n)))
		ret = check_moves(&ops, moves, n, e);
	if (ret < 0 && any_begun(&ops))
		put_back(s, moves, n, e);
	for (size_t i = 0; after && i < after->n; i++)
		after->items[i] = ops.items[2 * n + i];
	free(ops.items);
	return ret == 0 && !whole ? 1 : ret;
}
