// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "affinity.h"
#include "procfs.h"
#include "util.h"
#include "workers_thread.h"

#define WORKERS_MAX 1026

static const char *const operation = "set the worker's cpus";

struct pin {
	uint32_t id;
	bool known;		/* the thread */
	struct kthread thread;
	struct ranges before;
	bool set;
};

struct pins {
	struct pin *items;
	size_t n;
};

static void pins_free(struct pins *pins)
{
	for (size_t i = 0; i < pins->n; i++)
		ranges_free(&pins->items[i].before);
	free(pins->items);
}

/* A thread that the model tells, as it is now. */
static bool take_thread(struct pin *p, int64_t tid)
{
	struct proc_stat st;
	char path[48];

	if (tid == UNKNOWN)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	if (proc_read_stat(AT_FDCWD, path, &st) < 0)
		return false;
	p->thread = (struct kthread){ .tid = (pid_t)tid, .start_time = st.start_time };
	p->known = true;
	return true;
}

static const struct worker *find_worker(const struct device *d, uint32_t id)
{
	for (size_t i = 0; i < d->n_workers; i++)
		if (d->workers[i].id == id)
			return &d->workers[i];
	return NULL;
}

/* Without worker calls a device has one worker, so a VM's only thread is its only device's. */
static bool is_only_thread(const struct vm *vm, const struct device *d, uint32_t id)
{
	return id == 0 && vm->n_devices == 1 && vm->n_threads == 1 && !d->workers_known;
}

static int not_known(const struct session *s, uint32_t id, struct error *e)
{
	const struct device *d = s->job->device;
	bool calls = d->kind == DEVICE_SCSI && d->workers_known && d->queues_known;
	_cleanup_free_ char *why = calls ? xstrdup("no second worker can be made beside a kernel thread")
					 : xasprintf("this kernel has no worker calls for vhost-%s",
						     device_kind_name(d->kind));

	return error_set(e, STATUS_UNSUPPORTED, 0, operation,
			 "which of the VM's %zu vhost threads is worker %u is not known, since "
			 "the kernel snapshot is not available ('vhostctl check' says why) and "
			 "%s; 'vhostctl list' shows the threads, and 'taskset -p' sets the cpus "
			 "of one", s->job->vm->n_threads, id,
			 why);
}

static int find_thread(struct session *s, struct pin *p, struct error *e)
{
	const struct device *d = s->job->device;
	const struct worker *w = find_worker(d, p->id);

	if (d->workers_known && !w)
		return error_set(e, STATUS_NOT_FOUND, ENODEV, operation,
				 "no queue is served by a worker %u; 'vhostctl worker list' "
				 "shows which there are",
				 p->id);
	if (w && take_thread(p, w->tid))
		return 0;
	if (is_only_thread(s->job->vm, d, p->id) && take_thread(p, s->job->vm->threads[0].tid))
		return 0;
	if (d->kind != DEVICE_SCSI || !d->workers_known || d->worker_mode == WORKER_MODE_KTHREAD)
		return not_known(s, p->id, e);
	/* Finding it takes changes to the device. */
	if (s->job->dry_run)
		return 0;
	p->known = find_worker_thread(s, p->id, &p->thread, e) == 0;
	return p->known ? 0 : -1;
}

/* Reads the map; a kernel without worker calls has one that is not known. */
static int read_map(struct session *s, struct error *e)
{
	struct error why = ERROR_INIT;

	if (session_read_map(s, MAP_ANY, &why) == 0 || why.errnum == ENOTTY)
		return 0;
	*e = why;
	return -1;
}

static int put_back(struct pins *pins, struct error *e)
{
	for (size_t i = 0; i < pins->n; i++) {
		const struct pin *p = &pins->items[i];
		struct error second = ERROR_INIT;

		if (p->set && affinity_set(p->thread.tid, p->thread.start_time, &p->before, &second) < 0)
			error_append(e, STATUS_ROLLBACK,
				     "; putting back the cpus of worker %u failed too: %s",
				     p->id, second.message);
	}
	return -1;
}

static int set_one(struct pin *p, const struct ranges *cpus, struct error *e)
{
	if (affinity_get(p->thread.tid, &p->before, e) < 0 ||
	    affinity_set(p->thread.tid, p->thread.start_time, cpus, e) < 0)
		return -1;
	p->set = true;
	return 0;
}

static void note_pins(struct session *s, const struct pins *pins, const struct ranges *cpus)
{
	for (size_t i = 0; i < pins->n; i++) {
		const struct pin *p = &pins->items[i];

		note_cpus_change(s, p->id, p->known ? p->thread.tid : UNKNOWN,
				 p->before.n ? affinity_text(&p->before) : NULL, affinity_text(cpus));
	}
}

static int pin(struct session *s, struct pins *pins, const struct ranges *cpus, struct error *e)
{
	struct error ignored = ERROR_INIT;

	if (read_map(s, e) < 0 || affinity_check_cpuset(s->ref.proc_fd, cpus, e) < 0)
		return -1;
	for (size_t i = 0; i < pins->n; i++)
		if (find_thread(s, &pins->items[i], e) < 0)
			return -1;
	for (size_t i = 0; i < pins->n; i++) {
		struct pin *p = &pins->items[i];

		if (s->job->dry_run && p->known)
			affinity_get(p->thread.tid, &p->before, &ignored);
		else if (!s->job->dry_run && set_one(p, cpus, e) < 0)
			return put_back(pins, e);
	}
	note_pins(s, pins, cpus);
	return 0;
}

int workers_pin(struct worker_job *job, const struct ranges *ids, const struct ranges *cpus,
		struct error *e)
{
	struct session s = { .job = job, .ref = VM_REF_INIT };
	struct pins pins = { 0 };
	int ret;

	if (ranges_count(ids) > WORKERS_MAX)
		return error_set(e, STATUS_USAGE, 0, operation, "that is more than %d workers", WORKERS_MAX);
	for (size_t i = 0; i < ids->n; i++)
		for (uint64_t id = ids->items[i].first; id <= ids->items[i].last; id++)
			ARRAY_ADD(pins.items, pins.n)->id = (uint32_t)id;
	ret = vm_hold(&s.ref, job->vm->pid, job->vm->start_time, e);
	if (ret == 0)
		ret = pin(&s, &pins, cpus, e);
	pins_free(&pins);
	session_end(&s);
	return ret;
}
