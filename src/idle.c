// SPDX-License-Identifier: GPL-2.0-or-later
#include "idle.h"

#include "util.h"

/* Workers that the queues of @d tell of; -1: not known. */
static int64_t busy_workers(const struct device *d)
{
	int64_t n = 0;

	/* Its workers are the owner's, and that need not be this process. */
	if (d->n_holders || d->worker_mode == WORKER_MODE_KTHREAD)
		return -1;
	if (d->kind == DEVICE_VDPA)
		return 0;
	if (d->kind != DEVICE_SCSI)
		return 1;
	if (!d->workers_known)
		return -1;
	for (size_t i = 0; i < d->n_workers; i++)
		n += !d->workers[i].queues || d->workers[i].n_queues;
	return n == (int64_t)d->n_workers ? n : -1;
}

static void add_idle(struct device *d)
{
	struct worker *w = ARRAY_ADD(d->workers, d->n_workers);

	w->id = w->tid = w->nice = w->cpu_ns = UNKNOWN;
	w->mode = WORKER_MODE_TASK;
	w->queues = xcalloc(1, sizeof(*w->queues));
}

void idle_find(struct vm *vm)
{
	struct device *scsi = NULL;
	int64_t idle = 0;

	for (size_t i = 0; i < vm->n_threads; i++) {
		if (vm->threads[i].mode != WORKER_MODE_TASK)
			return;
		idle++;
	}
	for (size_t i = 0; i < vm->n_devices; i++) {
		int64_t busy = busy_workers(&vm->devices[i]);

		if (busy < 0 || (vm->devices[i].kind == DEVICE_SCSI && scsi))
			return;
		if (vm->devices[i].kind == DEVICE_SCSI)
			scsi = &vm->devices[i];
		idle -= busy;
	}
	for (; scsi && idle > 0; idle--)
		add_idle(scsi);
}
