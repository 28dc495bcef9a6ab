// SPDX-License-Identifier: GPL-2.0-or-later
#include "state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

void worker_free(struct worker *w)
{
	free(w->cpus);
	free(w->cgroup);
	free(w->queues);
}

void device_forget_workers(struct device *d)
{
	for (size_t i = 0; i < d->n_workers; i++)
		worker_free(&d->workers[i]);
	free(d->workers);
	d->workers = NULL;
	d->n_workers = 0;
	d->workers_known = false;
}

void device_forget_queues(struct device *d)
{
	free(d->queues);
	d->queues = NULL;
	d->n_queues = 0;
	d->queues_known = false;
}

void device_free(struct device *d)
{
	free(d->path);
	free(d->tap);
	free(d->inside.wwpn);
	free(d->holders);
	device_forget_queues(d);
	device_forget_workers(d);
	free(d->errors);
}

void tap_init(struct tap *t)
{
	memset(t, 0, sizeof(*t));
	t->ifindex = t->netns = t->rx_frames = t->rx_frames_max = t->vhost = t->mtu = UNKNOWN;
	t->multi_queue = t->vnet_hdr = t->persist = t->numqueues = t->numdisabled = UNKNOWN;
	t->rx_packets = t->tx_packets = t->rx_dropped = t->tx_dropped = UNKNOWN;
	t->rx_bytes = t->tx_bytes = UNKNOWN;
}

void tap_init_as(struct tap *t, const struct tap *same)
{
	tap_init(t);
	memcpy(t->ifname, same->ifname, sizeof(t->ifname));
	t->macvtap = same->macvtap;
	t->ifindex = same->ifindex;
	t->netns = same->netns;
}

void tap_free(struct tap *t)
{
	free(t->path);
	free(t->fds);
	free(t->master);
	free(t->alias);
	free(t->errors);
}

void vm_free(struct vm *vm)
{
	free(vm->name);
	free(vm->uuid);
	free(vm->cgroup);
	for (size_t i = 0; i < vm->n_devices; i++)
		device_free(&vm->devices[i]);
	free(vm->devices);
	for (size_t i = 0; i < vm->n_taps; i++)
		tap_free(&vm->taps[i]);
	free(vm->taps);
	free(vm->idle_tuns);
	for (size_t i = 0; i < vm->n_threads; i++)
		worker_free(&vm->threads[i]);
	free(vm->threads);
	free(vm->errors);
	memset(vm, 0, sizeof(*vm));
}

void state_free(struct state *s)
{
	for (size_t i = 0; i < s->n_vms; i++)
		vm_free(&s->vms[i]);
	free(s->vms);
	for (size_t i = 0; i < s->n_taps; i++)
		tap_free(&s->taps[i]);
	free(s->taps);
	free(s->errors);
	memset(s, 0, sizeof(*s));
}

void changes_free(struct changes *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->items[i].target);
		free(c->items[i].before_text);
		free(c->items[i].after_text);
	}
	free(c->items);
	free(c->errors);
	memset(c, 0, sizeof(*c));
}

struct device *device_with_fd(const struct vm *vm, int fd)
{
	for (size_t i = 0; i < vm->n_devices; i++)
		if (vm->devices[i].fd == fd)
			return &vm->devices[i];
	return NULL;
}

struct tap *tap_with_fd(const struct vm *vm, int fd)
{
	for (size_t i = 0; i < vm->n_taps; i++)
		for (size_t k = 0; k < vm->taps[i].n_fds; k++)
			if (vm->taps[i].fds[k] == fd)
				return &vm->taps[i];
	return NULL;
}

struct worker *device_worker(const struct device *d, int64_t id)
{
	for (size_t i = 0; i < d->n_workers; i++)
		if (d->workers[i].id == id)
			return &d->workers[i];
	return NULL;
}

struct worker *vm_thread(const struct vm *vm, int64_t tid)
{
	for (size_t i = 0; i < vm->n_threads; i++)
		if (vm->threads[i].tid == tid)
			return &vm->threads[i];
	return NULL;
}

struct queue *device_add_queue(struct device *d, unsigned int index)
{
	struct queue *q = ARRAY_ADD(d->queues, d->n_queues);

	q->index = index;
	queue_name(d->kind, index, q->name);
	q->busyloop_usecs = q->worker_id = q->worker_tid = UNKNOWN;
	return q;
}

void errors_add(struct error **into, size_t *n, const struct error *errors, size_t count)
{
	for (size_t i = 0; i < count; i++)
		*ARRAY_ADD(*into, *n) = errors[i];
}

void worker_copy_thread(struct worker *w, const struct worker *thread)
{
	w->tid = thread->tid;
	memcpy(w->comm, thread->comm, sizeof(w->comm));
	w->cpus = thread->cpus ? xstrdup(thread->cpus) : NULL;
	memcpy(w->policy, thread->policy, sizeof(w->policy));
	w->nice = thread->nice;
	w->cgroup = thread->cgroup ? xstrdup(thread->cgroup) : NULL;
	w->cpu_ns = thread->cpu_ns;
}

const char *device_kind_name(enum device_kind kind)
{
	static const char *const names[DEVICE_KINDS] = { "net", "scsi", "vsock", "vdpa" };

	return names[kind];
}

const char *worker_mode_name(enum worker_mode mode)
{
	static const char *const names[] = { NULL, "task", "kthread" };

	return names[mode];
}

const char *worker_remark(const struct vm *vm, const struct worker *w)
{
	if (vm->cgroup && w->cgroup && strcmp(vm->cgroup, w->cgroup) != 0)
		return "in another cgroup than the VM's main thread";
	return NULL;
}

const char *tap_source_name(enum tap_source source)
{
	static const char *const names[] = { NULL, "snapshot", "cmdline", "sole", "elimination" };

	return names[source];
}

int64_t ring_pending(const struct ring *r)
{
	return r->known ? (uint16_t)(r->avail_idx - r->last_avail_idx) : UNKNOWN;
}

void queue_name(enum device_kind kind, unsigned int index, char name[16])
{
	name[0] = '\0';
	switch (kind) {
	case DEVICE_NET:
	case DEVICE_VSOCK:
		/* drivers/vhost: VHOST_NET_VQ_RX, VSOCK_VQ_RX are 0, ..._TX 1 */
		if (index < 2)
			snprintf(name, 16, "%s", index ? "tx" : "rx");
		break;
	case DEVICE_SCSI:
		/* drivers/vhost/scsi.c: VHOST_SCSI_VQ_CTL 0, _EVT 1, _IO 2 and up */
		if (index < 2)
			snprintf(name, 16, "%s", index ? "event" : "ctl");
		else
			snprintf(name, 16, "req%u", index - 2);
		break;
	default:
		break;
	}
}
