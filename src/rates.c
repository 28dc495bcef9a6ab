// SPDX-License-Identifier: GPL-2.0-or-later
#include "rates.h"

#include <linux/virtio_net.h>
#include <math.h>
#include <string.h>

#include "util.h"

#define SPINNING_CPU_PERCENT 50
#define SPINNING_NS_PER_ENTRY 20000

/* What the two samples have of one VM. */
struct pair {
	const struct vm *vm, *vm_from;
	const struct vm_count *from, *to;
	int64_t ticks_per_s;
};

static double per_second(int64_t from, int64_t to, int64_t ns)
{
	if (from == UNKNOWN || to == UNKNOWN || to < from || ns <= 0)
		return NAN;
	return (double)(to - from) * 1e9 / (double)ns;
}

static double percent_of_ticks(const struct pair *p, int64_t from, int64_t to, int64_t ns)
{
	return per_second(from, to, ns) * 100 / (double)p->ticks_per_s;
}

int64_t rates_is_spinning(int64_t busyloop_usecs, double cpu_percent, double ns_per_entry)
{
	if (busyloop_usecs == 0 || cpu_percent < SPINNING_CPU_PERCENT)
		return 0;
	if (busyloop_usecs == UNKNOWN || isnan(cpu_percent) || isnan(ns_per_entry))
		return UNKNOWN;
	return ns_per_entry >= SPINNING_NS_PER_ENTRY;
}

static const struct ring_total *ring_of(const struct vm_count *c, int fd, unsigned int index)
{
	for (size_t i = 0; i < c->n_rings; i++)
		if (c->rings[i].fd == fd && c->rings[i].index == index)
			return &c->rings[i].total;
	return NULL;
}

/* ---- taps ---- */

/* By namespace and index: a name can pass to another interface. */
static const struct tap *same_tap(const struct vm *vm, const struct tap *t)
{
	for (size_t i = 0; i < vm->n_taps && t->ifindex != UNKNOWN && t->netns != UNKNOWN; i++)
		if (vm->taps[i].ifindex == t->ifindex && vm->taps[i].netns == t->netns)
			return &vm->taps[i];
	return NULL;
}

static int64_t tap_ns(const struct pair *p, const struct tap *from, const struct tap *to)
{
	int64_t a = p->from->tap_at_ns[from - p->vm_from->taps], b = p->to->tap_at_ns[to - p->vm->taps];

	return a == UNKNOWN || b == UNKNOWN ? 0 : b - a;
}

static void make_tap(const struct pair *p, const struct tap *to, struct tap_rate *r)
{
	const struct tap *from = same_tap(p->vm_from, to);
	struct tap none;
	int64_t ns = from ? tap_ns(p, from, to) : 0;

	tap_init(&none);
	if (!from)
		from = &none;
	memcpy(r->ifname, to->ifname, sizeof(r->ifname));
	r->ifindex = to->ifindex;
	r->netns = to->netns;
	r->rx_packets_per_s = per_second(from->rx_packets, to->rx_packets, ns);
	r->tx_packets_per_s = per_second(from->tx_packets, to->tx_packets, ns);
	r->rx_bytes_per_s = per_second(from->rx_bytes, to->rx_bytes, ns);
	r->tx_bytes_per_s = per_second(from->tx_bytes, to->tx_bytes, ns);
	r->rx_dropped_per_s = per_second(from->rx_dropped, to->rx_dropped, ns);
	r->tx_dropped_per_s = per_second(from->tx_dropped, to->tx_dropped, ns);
	errors_add(&r->errors, &r->n_errors, to->errors, to->n_errors);
}

/* ---- queues ---- */

static bool drives(const struct vm *vm, const struct device *d, const struct tap *t)
{
	if (d->kind != DEVICE_NET || !d->tap)
		return false;
	if (d->inside.known && d->inside.tap_ifindex != UNKNOWN)
		return d->inside.tap_ifindex == t->ifindex && d->inside.tap_netns == t->netns;
	for (size_t i = 0; i < vm->n_taps; i++)
		if (&vm->taps[i] != t && !strcmp(vm->taps[i].ifname, t->ifname))
			return false;
	return !strcmp(d->tap, t->ifname);
}

static const struct tap *tap_of(const struct vm *vm, const struct device *d)
{
	for (size_t i = 0; i < vm->n_taps; i++)
		if (drives(vm, d, &vm->taps[i]))
			return &vm->taps[i];
	return NULL;
}

/* The tap of @d, if all that passes it passes @d; so in both samples. */
static const struct tap *sole_tap(const struct pair *p, const struct device *d)
{
	const struct tap *t = tap_of(p->vm, d);
	size_t n = 0;

	for (size_t i = 0; t && i < p->vm->n_devices; i++)
		n += drives(p->vm, &p->vm->devices[i], t);
	if (n != 1 || t->n_fds != 1 || (t->multi_queue == 1 && t->numqueues != 1))
		return NULL;
	return t;
}

struct band {
	int64_t least, most;
};

/*
 * How many entries of queue @index the packets that the tap counted took, by all its devices. tx takes
 * one for each; dropped ones may be among the packets or not. rx may take several, of 1 KB or
 * more each: no driver gives smaller buffers. The two are not read at the same instant.
 */
static struct band tap_band(const struct tap *from, const struct tap *to, unsigned int index)
{
	int64_t packets = index ? to->rx_packets - from->rx_packets : to->tx_packets - from->tx_packets;
	int64_t more = index ? to->rx_dropped - from->rx_dropped : (to->tx_bytes - from->tx_bytes) / 1024;
	int64_t slack = packets / 20 + 500;

	if (slack > 30000)
		slack = 30000;
	return (struct band){ packets - slack, packets + more + slack };
}

/* A doubt about a ring of a tap with several queues is settled if all of them together have none. */
static int64_t settled_by_tap(const struct pair *p, const struct device *d, unsigned int index,
			      const struct ring_total *from, const struct ring_total *to)
{
	const struct tap *t = tap_of(p->vm, d), *t_from = t ? same_tap(p->vm_from, t) : NULL;
	struct ring_total sum_from = { .at_ns = 0 }, sum_to = { .at_ns = 0 };
	int64_t all, own = (int64_t)(to->entries - from->entries);
	size_t n = 0;
	struct band band;

	if (!t_from || t->rx_packets == UNKNOWN || t_from->rx_packets == UNKNOWN)
		return -1;
	for (size_t i = 0; i < p->vm->n_devices; i++) {
		const struct device *other = &p->vm->devices[i];
		const struct ring_total *a = ring_of(p->from, other->fd, index);
		const struct ring_total *b = ring_of(p->to, other->fd, index);

		if (!drives(p->vm, other, t))
			continue;
		if (!a || !b || a->breaks != b->breaks)
			return -1;
		sum_from.entries += a->entries;
		sum_to.entries += b->entries;
		n++;
	}
	if (n != t->n_fds)
		return -1;
	sum_to.doubts = 1;
	band = tap_band(t_from, t, index);
	all = ring_entries(&sum_from, &sum_to, band.least, band.most);
	if (all < 0 || (n > 1 && all != (int64_t)(sum_to.entries - sum_from.entries)))
		return -1;
	return n > 1 ? own : all;
}

static double entries_per_s(const struct pair *p, const struct device *d, unsigned int index)
{
	const struct ring_total *from = ring_of(p->from, d->fd, index), *to = ring_of(p->to, d->fd, index);
	int64_t n;

	if (!from || !to)
		return NAN;
	n = ring_entries(from, to, 0, -1);
	if (n < 0 && d->kind == DEVICE_NET && index < 2 && from->at_ns != UNKNOWN &&
	    from->breaks == to->breaks)
		n = settled_by_tap(p, d, index, from, to);
	return n < 0 ? NAN : per_second(0, n, to->at_ns - from->at_ns);
}

static bool one_entry_a_packet(const struct device *d, unsigned int index)
{
	return index == 1 || (d->inside.known && d->inside.acked_known &&
			      !(d->inside.acked_features >> VIRTIO_NET_F_MRG_RXBUF & 1));
}

static void make_packets(const struct pair *p, const struct device *d, struct queue_rate *r)
{
	const struct tap *to = sole_tap(p, d), *from = to ? same_tap(p->vm_from, to) : NULL;

	r->packets_per_s = NAN;
	if (d->kind != DEVICE_NET || r->index > 1)
		return;
	if (from && r->index)
		r->packets_per_s = per_second(from->rx_packets, to->rx_packets, tap_ns(p, from, to));
	else if (from)
		r->packets_per_s = per_second(from->tx_packets, to->tx_packets, tap_ns(p, from, to));
	r->packets_source = PACKETS_TAP;
	if (isnan(r->packets_per_s) && one_entry_a_packet(d, r->index)) {
		r->packets_per_s = r->entries_per_s;
		r->packets_source = PACKETS_RING;
	}
	if (isnan(r->packets_per_s))
		r->packets_source = PACKETS_UNKNOWN;
}

static void make_queue(const struct pair *p, const struct device *d, const struct queue *q,
		       struct queue_rate *r)
{
	r->index = q->index;
	memcpy(r->name, q->name, sizeof(r->name));
	r->busyloop_usecs = q->busyloop_usecs;
	r->worker_id = q->worker_id;
	r->worker_tid = q->worker_tid;
	r->size = q->ring.known ? (int64_t)q->ring.size : UNKNOWN;
	r->pending = ring_pending(&q->ring);
	r->entries_per_s = entries_per_s(p, d, q->index);
	make_packets(p, d, r);
}

/* Of the packets since vhost-net last began to count; it does so anew at every 1024. */
static double zerocopy_percent(const struct device *d)
{
	const struct zerocopy *z = &d->inside.zerocopy;

	if (d->kind != DEVICE_NET || !z->known)
		return NAN;
	if (!z->enabled || z->module == 0)
		return 0;
	if (!z->packets || z->forced_copies > z->packets)
		return NAN;
	return 100.0 * (z->packets - z->forced_copies) / z->packets;
}

static void make_device(const struct pair *p, const struct device *d, struct device_rate *r)
{
	memcpy(r->id, d->id, sizeof(r->id));
	r->kind = d->kind;
	r->tap = d->tap ? xstrdup(d->tap) : NULL;
	r->zerocopy_percent = zerocopy_percent(d);
	for (size_t i = 0; i < d->n_queues; i++)
		make_queue(p, d, &d->queues[i], ARRAY_ADD(r->queues, r->n_queues));
	errors_add(&r->errors, &r->n_errors, d->errors, d->n_errors);
}

/* ---- threads ---- */

static const struct thread_count *same_thread(const struct vm_count *c, const struct thread_count *t)
{
	for (size_t i = 0; i < c->n_threads; i++)
		if (c->threads[i].tid == t->tid && c->threads[i].start_time == t->start_time)
			return &c->threads[i];
	return NULL;
}

/* The device that thread @tid serves, and its id there; several devices never share a thread. */
static const struct device *served(const struct vm *vm, int64_t tid, int64_t *id)
{
	for (size_t i = 0; i < vm->n_devices; i++) {
		const struct device *d = &vm->devices[i];

		for (size_t k = 0; k < d->n_workers; k++)
			if (d->workers[k].tid == tid) {
				*id = d->workers[k].id;
				return d;
			}
		for (size_t k = 0; k < d->n_queues; k++)
			if (d->queues[k].worker_tid == tid) {
				*id = d->queues[k].worker_id;
				return d;
			}
	}
	return NULL;
}

static const struct device_rate *device_rate(const struct vm_rate *r, const char *id)
{
	for (size_t i = 0; i < r->n_devices; i++)
		if (!strcmp(r->devices[i].id, id))
			return &r->devices[i];
	return NULL;
}

/* Over all queues that the thread serves; of queues not shown nothing is known. */
static void make_work(const struct device_rate *d, struct worker_rate *w)
{
	double work = 0;
	int64_t busyloop = 0;

	for (size_t i = 0; d && i < d->n_queues; i++) {
		const struct queue_rate *q = &d->queues[i];

		if (q->worker_tid != w->tid)
			continue;
		work += isnan(q->entries_per_s) ? q->packets_per_s : q->entries_per_s;
		if (busyloop == UNKNOWN || q->busyloop_usecs == UNKNOWN)
			busyloop = d->kind == DEVICE_NET ? UNKNOWN : 0;
		else if (q->busyloop_usecs > busyloop)
			busyloop = q->busyloop_usecs;
	}
	if (!d)
		busyloop = UNKNOWN;
	w->ns_per_entry = d && work > 0 ? w->cpu_percent * 1e7 / work : NAN;
	w->spinning = rates_is_spinning(busyloop, w->cpu_percent,
					d && work == 0 ? INFINITY : w->ns_per_entry);
}

static void make_worker(const struct pair *p, const struct vm_rate *vm, const struct thread_count *to,
			struct worker_rate *r)
{
	const struct thread_count *from = same_thread(p->from, to);
	const struct device *d = served(p->vm, to->tid, &r->id);
	int64_t ns = from ? to->at_ns - from->at_ns : 0;

	if (!d)
		r->id = UNKNOWN;
	else
		memcpy(r->device, d->id, sizeof(r->device));
	r->tid = to->tid;
	memcpy(r->comm, to->comm, sizeof(r->comm));
	if (!from)
		from = to; /* it began meanwhile: ns is 0, and nothing known */
	r->cpu_percent = per_second(from->cpu_ns, to->cpu_ns, ns) / 1e7;
	r->wait_percent = per_second(from->wait_ns, to->wait_ns, ns) / 1e7;
	r->user_percent = percent_of_ticks(p, from->user_ticks, to->user_ticks, ns);
	r->system_percent = percent_of_ticks(p, from->system_ticks, to->system_ticks, ns);
	r->voluntary_per_s = per_second(from->voluntary, to->voluntary, ns);
	r->involuntary_per_s = per_second(from->involuntary, to->involuntary, ns);
	make_work(d ? device_rate(vm, d->id) : NULL, r);
}

/* ---- the whole ---- */

static void make_totals(struct vm_rate *r)
{
	r->worker_cpu_percent = r->n_workers ? 0 : NAN;
	for (size_t i = 0; i < r->n_workers; i++)
		r->worker_cpu_percent += r->workers[i].cpu_percent;
	if (!r->n_taps)
		r->rx_packets_per_s = r->tx_packets_per_s = r->rx_bytes_per_s = r->tx_bytes_per_s =
			r->dropped_per_s = NAN;
	for (size_t i = 0; i < r->n_taps; i++) {
		const struct tap_rate *t = &r->taps[i];

		r->rx_packets_per_s += t->rx_packets_per_s;
		r->tx_packets_per_s += t->tx_packets_per_s;
		r->rx_bytes_per_s += t->rx_bytes_per_s;
		r->tx_bytes_per_s += t->tx_bytes_per_s;
		r->dropped_per_s += t->rx_dropped_per_s + t->tx_dropped_per_s;
	}
}

static void make_process(const struct pair *p, struct vm_rate *r)
{
	const struct thread_count *from = &p->from->process, *to = &p->to->process;
	int64_t ns = to->at_ns - from->at_ns;

	r->user_percent = percent_of_ticks(p, from->user_ticks, to->user_ticks, ns);
	r->system_percent = percent_of_ticks(p, from->system_ticks, to->system_ticks, ns);
	r->cpu_percent = r->user_percent + r->system_percent;
}

static void make_vm(const struct pair *p, struct vm_rate *r)
{
	r->pid = p->vm->pid;
	r->name = p->vm->name ? xstrdup(p->vm->name) : NULL;
	make_process(p, r);
	for (size_t i = 0; i < p->vm->n_devices; i++)
		make_device(p, &p->vm->devices[i], ARRAY_ADD(r->devices, r->n_devices));
	for (size_t i = 0; i < p->to->n_threads; i++)
		make_worker(p, r, &p->to->threads[i], ARRAY_ADD(r->workers, r->n_workers));
	for (size_t i = 0; i < p->vm->n_taps; i++)
		make_tap(p, &p->vm->taps[i], ARRAY_ADD(r->taps, r->n_taps));
	make_totals(r);
	errors_add(&r->errors, &r->n_errors, p->vm->errors, p->vm->n_errors);
}

static const struct vm *same_vm(const struct stat_sample *s, const struct vm *vm, size_t *index)
{
	for (*index = 0; *index < s->state.n_vms; ++*index)
		if (s->state.vms[*index].pid == vm->pid && s->state.vms[*index].start_time == vm->start_time)
			return &s->state.vms[*index];
	return NULL;
}

void rates_make(const struct stat_sample *from, const struct stat_sample *to, struct rates *r)
{
	*r = (struct rates){ .source = to->state.source, .time = to->time,
			     .seconds = (double)(to->at_ns - from->at_ns) / 1e9 };
	memcpy(r->kernel, to->state.kernel, sizeof(r->kernel));
	for (size_t i = 0; i < to->state.n_vms; i++) {
		size_t k;
		struct pair p = { .vm = &to->state.vms[i], .to = &to->counts[i],
				  .ticks_per_s = to->ticks_per_s };

		p.vm_from = same_vm(from, p.vm, &k);
		if (!p.vm_from)
			continue;
		p.from = &from->counts[k];
		make_vm(&p, ARRAY_ADD(r->vms, r->n_vms));
	}
	errors_add(&r->errors, &r->n_errors, to->state.errors, to->state.n_errors);
}

static void free_vm(struct vm_rate *r)
{
	free(r->name);
	for (size_t i = 0; i < r->n_devices; i++) {
		free(r->devices[i].tap);
		free(r->devices[i].queues);
		free(r->devices[i].errors);
	}
	for (size_t i = 0; i < r->n_taps; i++)
		free(r->taps[i].errors);
	free(r->devices);
	free(r->workers);
	free(r->taps);
	free(r->errors);
}

void rates_free(struct rates *r)
{
	for (size_t i = 0; i < r->n_vms; i++)
		free_vm(&r->vms[i]);
	free(r->vms);
	free(r->errors);
	*r = (struct rates){ 0 };
}
