// SPDX-License-Identifier: GPL-2.0-or-later
#include "workers_thread.h"

#include <string.h>

#include "procfs.h"
#include "util.h"

#define ROUNDS 12
#define SETTLE_MS 3
#define QUEUES_TRIED 8		/* before giving up on finding one that is set up */

static const char *const operation = "find the worker's thread";

/* How much a thread has run. Two equal ones, sleeping both times: it did not run in between. */
struct activity {
	bool known;
	char state;
	char schedstat[96];	/* ns on a CPU, ns waiting for one, times it was switched in */
};

static void read_activity(struct session *s, const struct kthread *t, struct activity *a)
{
	_cleanup_proc_text_ struct proc_text text = { 0 };
	struct proc_stat st;
	char path[48];

	*a = (struct activity){ 0 };
	snprintf(path, sizeof(path), "task/%d/schedstat", (int)t->tid);
	if (proc_read(s->ref.proc_fd, path, sizeof(a->schedstat) - 1, &text) < 0)
		return;
	memcpy(a->schedstat, text.data, text.len);
	snprintf(path, sizeof(path), "task/%d/stat", (int)t->tid);
	if (proc_read_stat(s->ref.proc_fd, path, &st) < 0 || st.start_time != t->start_time)
		return;
	a->state = st.state;
	a->known = true;
}

static bool slept(const struct activity *a, const struct activity *b)
{
	return a->known && b->known && a->state == 'S' && b->state == 'S' &&
	       !strcmp(a->schedstat, b->schedstat);
}

struct suspect {
	struct kthread thread;
	struct activity before;
	bool quiet;		/* it slept for a while before the call already */
};

struct suspects {
	struct suspect *items;
	size_t n;
};

static int list_suspects(struct session *s, struct suspects *list, struct error *e)
{
	struct kthreads threads;

	if (session_threads(s, &threads, e) < 0)
		return -1;
	for (size_t i = 0; i < threads.n; i++)
		ARRAY_ADD(list->items, list->n)->thread = threads.items[i];
	free(threads.items);
	return 0;
}

/*
 * Asleep by its state alone, a thread can still be on its way off the CPU, where it would take
 * up work without being switched in: so it has to have slept for a while.
 */
static void look_before(struct session *s, struct suspects *list)
{
	for (size_t i = 0; i < list->n; i++)
		read_activity(s, &list->items[i].thread, &list->items[i].before);
	sleep_ms(SETTLE_MS);
	for (size_t i = 0; i < list->n; i++) {
		struct activity now;

		read_activity(s, &list->items[i].thread, &now);
		list->items[i].quiet = slept(&list->items[i].before, &now);
	}
}

static void rule_out(struct session *s, struct suspects *list)
{
	size_t n = 0;

	sleep_ms(SETTLE_MS);
	for (size_t i = 0; i < list->n; i++) {
		struct activity now;

		read_activity(s, &list->items[i].thread, &now);
		if (!list->items[i].quiet || !slept(&list->items[i].before, &now))
			list->items[n++] = list->items[i];
	}
	list->n = n;
}

/* A queue that goes from its worker to a helper, and back. */
struct loan {
	unsigned int queue;
	uint32_t id, helper_id;
	struct suspect *helper;
};

/* Lend the queue to the helper and take it back: a flush of its worker, then of the helper. */
static int lend(struct session *s, const struct loan *loan, struct error *e)
{
	const struct move there = { loan->queue, loan->id, loan->helper_id };
	struct vhost_ops after = { 0 };
	int ret;

	ops_add(&after, s, VHOST_WORKER_ATTACH, loan->queue, loan->id, false);
	ret = make_moves(s, &there, 1, &after, e);
	if (ret > 0 || (ret == 0 && ops_check(&after, e) < 0))
		ret = unmake_moves(s, &there, 1, e);
	free(after.items);
	return ret;
}

/*
 * The kernel flushes only when the queue is set up. Then the helper, which does nothing else,
 * has run when it gave the queue back.
 */
static bool was_flushed(struct session *s, const struct suspect *helper)
{
	struct activity now;

	read_activity(s, &helper->thread, &now);
	return now.known && strcmp(helper->before.schedstat, now.schedstat) != 0;
}

/* One round with one queue. *flushed: it counts. */
static int narrow_once(struct session *s, const struct loan *loan, struct suspects *list,
		       bool *flushed, struct error *e)
{
	struct suspects own = { loan->helper, 1 };

	/* It has nothing to do, so it is quiet as soon as it has started. */
	loan->helper->quiet = false;
	for (int tries = 0; tries < ROUNDS && !loan->helper->quiet; tries++)
		look_before(s, &own);
	look_before(s, list);
	read_activity(s, &loan->helper->thread, &loan->helper->before);
	if (lend(s, loan, e) < 0)
		return -1;
	*flushed = loan->helper->quiet && was_flushed(s, loan->helper);
	if (*flushed)
		rule_out(s, list);
	return 0;
}

/*
 * Queues of worker @id, of which one may be set up: of request queues the first ones are
 * before others are; control and event queue are when the guest's driver is whole.
 */
static size_t pick_queues(const struct device *d, uint32_t id, unsigned int queues[QUEUES_TRIED])
{
	const size_t first = VHOST_SCSI_FIRST_REQUEST;
	size_t n = 0;

	for (size_t i = first; i < d->n_queues && n < QUEUES_TRIED - first; i++)
		if (d->queues[i].worker_id == id)
			queues[n++] = d->queues[i].index;
	for (size_t i = 0; i < d->n_queues && i < first; i++)
		if (d->queues[i].worker_id == id)
			queues[n++] = d->queues[i].index;
	return n;
}

static int narrow_down(struct session *s, struct loan *loan, struct suspects *list, struct error *e)
{
	unsigned int queues[QUEUES_TRIED];
	size_t n = pick_queues(s->job->device, loan->id, queues);
	bool flushed = false;

	for (size_t i = 0; i < n && !flushed; i++) {
		loan->queue = queues[i];
		if (narrow_once(s, loan, list, &flushed, e) < 0)
			return -1;
	}
	if (!flushed)
		return error_set(e, STATUS_FAILED, 0, operation,
				 "no queue of worker %u is set up yet, or this kernel does not "
				 "count how often a thread runs (schedstat); pin it once the "
				 "guest's driver runs, or give cpus to 'vhostctl worker create'",
				 loan->id);
	for (int round = 0; round < ROUNDS && list->n != 1; round++)
		if (narrow_once(s, loan, list, &flushed, e) < 0)
			return -1;
	if (list->n == 1)
		return 0;
	return error_set(e, STATUS_FAILED, 0, operation,
			 "%zu threads ran whenever worker %u did, so which it is cannot be told while they "
			 "are this busy; try again, or give cpus to 'vhostctl worker create'", list->n,
			 loan->id);
}

int find_worker_thread(struct session *s, uint32_t id, struct kthread *found, struct error *e)
{
	struct suspect helper = { .quiet = false };
	struct suspects list = { 0 };
	struct created made = { 0 };
	int ret;

	if (list_suspects(s, &list, e) < 0)
		return -1;
	ret = create_workers(s, NULL, 1, &made, e);
	if (ret == 0 && !made.threads)
		ret = error_set(e, STATUS_FAILED, 0, operation,
				"other vhost threads came to be in the same moment; try again");
	if (ret == 0) {
		struct loan loan = { .id = id, .helper_id = made.ids[0], .helper = &helper };

		helper.thread = made.threads[0];
		ret = narrow_down(s, &loan, &list, e);
	}
	if (ret == 0)
		*found = list.items[0].thread;
	if (ret < 0)
		uncreate_workers(s, &made, e);
	else
		ret = free_created(s, &made, e);
	free(list.items);
	created_free(&made);
	return ret;
}
