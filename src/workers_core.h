/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps that the worker commands are made of, each with its way back. */
#ifndef WORKERS_CORE_H
#define WORKERS_CORE_H

#include "threads.h"
#include "vhost.h"
#include "vm.h"
#include "workers.h"

/* A job while its VM is held. */
struct session {
	struct worker_job *job;
	struct vm_ref ref;
	bool told;	/* the kernel's own structures told all workers of the device, and their threads */
};

/* ---- workers_core.c: what there is, and what is said of it ---- */

/* Refuses, in words, devices that have no worker calls in any kernel. */
int session_start(struct session *s, struct worker_job *job, struct error *e);
void session_end(struct session *s);

/* Which worker serves which queue now, into the job's device: from the snapshot, or by calls. */
int session_read_map(struct session *s, struct error *e);
/* The same from the snapshot only, which stops nobody: s->told. */
bool session_look(struct session *s);
/* Does the kernel have worker calls? By a call only if what is known does not tell. */
int session_check_calls(struct session *s, struct error *e);
/* Refuse as the kernel would, where new workers cannot be had. */
int session_check_mode(const struct session *s, struct error *e);

/* NULL: there is no such worker, or it is not known. */
const struct worker *session_worker(const struct session *s, int64_t id);
int64_t session_tid(const struct session *s, int64_t id);
/* Its thread, as long as it is one. */
bool session_thread(const struct session *s, int64_t id, struct kthread *thread);
/* The VM's vhost tasks now. */
int session_threads(struct session *s, struct kthreads *list, struct error *e);

/* As if the kernel had answered @errnum. Returns -1. */
int session_refuse(const struct session *s, enum vhost_verb verb, uint32_t value, int errnum,
		   struct error *e);

/*
 * Which request queues of the vhost-scsi device the VM uses, by its command line or as the map
 * shows them set up. -1 when neither tells.
 */
int session_find_requests(struct session *s, struct ranges *requests, struct error *e);

void ops_add(struct vhost_ops *ops, const struct session *s, enum vhost_verb verb, unsigned int index,
	     uint32_t value, bool essential);
int ops_run(struct session *s, enum owner_thread rule, struct vhost_ops *ops, struct error *e);
/* The first operation that the kernel refused, explained; 0 if there is none. */
int ops_check(const struct vhost_ops *ops, struct error *e);

/* What changed, or with a dry run would. */
void note_queue_change(struct session *s, unsigned int queue, int64_t before, int64_t after,
		       int64_t tid);
void note_worker_change(struct session *s, int64_t before, int64_t after, int64_t tid);
void note_cpus_change(struct session *s, int64_t id, int64_t tid, char *before, char *after);

/* ---- workers_make.c: workers come and go ---- */

/* Workers made in this session. Their threads, if they could be told from others. */
struct created {
	uint32_t *ids;
	size_t n;
	struct kthread *threads;	/* NULL: not known */
	bool unsure;			/* one more may have been made, by a call whose answer got lost */
};

/*
 * Make @n workers from the VM's main thread, after the operations of @first (may be NULL; they
 * share the stop, and are essential). On failure those already made are freed again.
 */
int create_workers(struct session *s, struct vhost_ops *first, size_t n, struct created *made,
		   struct error *e);
/* Undo: @e keeps the failure, and becomes STATUS_ROLLBACK when this fails too. Returns -1. */
int uncreate_workers(struct session *s, const struct created *made, struct error *e);
/* They have served their purpose. */
int free_created(struct session *s, const struct created *made, struct error *e);
void created_free(struct created *made);

/*
 * Wait a moment until @n threads of @before have ended. With one worker freed and one thread
 * ended that was the worker's, and returned; else UNKNOWN.
 */
int64_t wait_for_ends(struct session *s, const struct kthreads *before, size_t n);

/* ---- workers_move.c: queues from worker to worker ---- */

/* Queue @queue from worker @from to worker @to. */
struct move {
	unsigned int queue;
	uint32_t from, to;
};

/*
 * Make them all and read them back, or put back what was moved (-1). Operations of @after (may be
 * NULL) follow in the same stop when every move was made; look at their errnum. 1: every move was
 * made, but not all of @after was asked, for what is in @e.
 */
int make_moves(struct session *s, const struct move *moves, size_t n, struct vhost_ops *after,
	       struct error *e);
/* Undo moves that were all made: as uncreate_workers(). */
int unmake_moves(struct session *s, const struct move *moves, size_t n, struct error *e);

/* Is there still a VM in which something could be put back? */
bool session_is_gone(struct session *s);

#endif
