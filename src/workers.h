/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workers of one device of a VM: create, attach, free, spread, pin. Each of these is
 * done whole or put back; when putting back fails too, the status is STATUS_ROLLBACK.
 */
#ifndef WORKERS_H
#define WORKERS_H

#include "owner.h"
#include "sentences.h"
#include "state.h"
#include "value.h"

struct worker_job {
	struct vm *vm;
	struct device *device;
	bool dry_run;		/* read and check, but change nothing */
	struct owner_log *log;
	struct changes *changes;
	struct sentences notes;	/* for the reader, to be freed */
};

/*
 * @count new workers, which may run on @cpus (none: as the VM's main thread), and to which
 * @queues are dealt out (none: they stay idle).
 */
int workers_create(struct worker_job *job, unsigned int count, const struct ranges *cpus,
		   const struct ranges *queues, struct error *e);

int workers_attach(struct worker_job *job, const struct ranges *queues, uint32_t id,
		   struct error *e);

int workers_free(struct worker_job *job, const struct ranges *ids, struct error *e);

/* All that serve no queue, but the default worker. */
int workers_free_idle(struct worker_job *job, struct error *e);

/*
 * The end state that the request queues are dealt out evenly over @count workers (0: as many as
 * there are request queues) and all other queues are the default worker's. One worker is the
 * default worker; more are others than that. Those that have nothing left to do are freed.
 * @requests: which queues; none: those that QEMU's command line tells of.
 */
int workers_spread(struct worker_job *job, unsigned int count, const struct ranges *requests,
		   struct error *e);

/* Let the threads of workers @ids run on @cpus only. */
int workers_pin(struct worker_job *job, const struct ranges *ids, const struct ranges *cpus,
		struct error *e);

#endif
