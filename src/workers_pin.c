// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>

#include "affinity.h"
#include "util.h"
#include "workers_thread.h"

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

static int not_known(const struct session *s, uint32_t id, struct error *e)
{
	const struct device *d = s->job->device;
	bool kthread = d->kind == DEVICE_SCSI && d->worker_mode == WORKER_MODE_KTHREAD && d->queues_known;
	_cleanup_free_ char *why = kthread ? xstrdup("no second worker can be made beside a kernel thread")
					   : xasprintf("this kernel has no worker calls for vhost-%s",
						       device_kind_name(d->kind));

	return error_set(e, STATUS_UNSUPPORTED, 0, operation,
			 "which of the VM's %zu vhost threads is worker %u is not known, since "
			 "the kernel snapshot is not available ('vhostctl check' says why) and "
			 "%s; 'vhostctl list' shows the threads, and 'taskset -p' sets the cpus "
			 "of one", s->job->vm->n_threads, id, why);
}

static int find_thread(struct session *s, struct pin *p, struct error *e)
{
	const struct device *d = s->job->device;

	p->known = session_thread(s, p->id, &p->thread);
	if (p->known)
		return 0;
	if (d->workers_known && !session_worker(s, p->id))
		return error_set(e, STATUS_NOT_FOUND, ENODEV, operation,
				 s->told ? "the device has no worker %u; 'vhostctl worker list' shows "
					   "those it has"
					 : "no queue is served by a worker %u; 'vhostctl worker list' "
					   "shows which are", p->id);
	if (s->told)
		return error_set(e, STATUS_NOT_FOUND, ESRCH, operation,
				 "the thread of worker %u is not in our /proc", p->id);
	if (d->kind != DEVICE_SCSI || !d->workers_known || d->worker_mode == WORKER_MODE_KTHREAD)
		return not_known(s, p->id, e);
	/* Finding it takes changes to the device. */
	if (s->job->dry_run)
		return 0;
	p->known = find_worker_thread(s, p->id, &p->thread, e) == 0;
	return p->known ? 0 : -1;
}

/* Its own cgroup's, which need not be that of the VM's main thread. */
static int check_cpuset(const struct pin *p, const struct ranges *cpus, struct error *e)
{
	_cleanup_close_ int fd = -1;
	char path[48];

	if (!p->known)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d", (int)p->thread.tid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? 0 : affinity_check_cpuset(fd, cpus, e);
}

/* Reads the map; a kernel without worker calls has one that is not known. */
static int read_map(struct session *s, struct error *e)
{
	struct error why = ERROR_INIT;

	if (session_read_map(s, &why) == 0 || why.errnum == ENOTTY)
		return 0;
	*e = why;
	return -1;
}

static int put_back(struct pins *pins, struct error *e)
{
	for (size_t i = 0; i < pins->n; i++) {
		const struct pin *p = &pins->items[i];
		struct error second = ERROR_INIT;

		/* With a thread that has ended its cpus are gone. */
		if (p->set && affinity_set(p->thread.tid, p->thread.start_time, &p->before, &second) < 0 &&
		    second.errnum != ESRCH)
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
				 p->before.n ? ranges_text(&p->before) : NULL, ranges_text(cpus));
	}
}

static int pin(struct session *s, struct pins *pins, const struct ranges *cpus, struct error *e)
{
	struct error ignored = ERROR_INIT;

	if (read_map(s, e) < 0)
		return -1;
	for (size_t i = 0; i < pins->n; i++)
		if (find_thread(s, &pins->items[i], e) < 0 ||
		    check_cpuset(&pins->items[i], cpus, e) < 0)
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

	if (ranges_count(ids) > VHOST_SCSI_QUEUES_MAX)
		return error_set(e, STATUS_USAGE, 0, operation, "that is more than %d workers",
				 VHOST_SCSI_QUEUES_MAX);
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
