/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which thread a worker is, when nobody has told. */
#ifndef WORKERS_THREAD_H
#define WORKERS_THREAD_H

#include "workers_core.h"

/*
 * No call tells a worker's thread, and all have the same name. But a queue that leaves a worker
 * makes the kernel wait until that worker has run (a flush), so a thread that did not run
 * meanwhile is not it. A queue of worker @id is lent to a worker made for this and given back,
 * until one thread is left. -1 with words when the others were too busy to be ruled out.
 */
int find_worker_thread(struct session *s, uint32_t id, struct kthread *found, struct error *e);

#endif
