/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Made-up states for the tests of what prints them. To be freed with state_free(). */
#ifndef SAMPLES_H
#define SAMPLES_H

#include <string.h>

#include "check.h"
#include "state.h"
#include "util.h"

/* Escape sequences, newlines, C1 and bidi controls, DEL, a backslash, quotes, broken UTF-8. */
#define HOSTILE "a\x1b[2J\n\r\t\\\"\x7f\xc2\x9b\xe2\x80\xae\xff\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80z\xc3"

static inline void sample_worker(struct worker *w, int64_t id, int64_t tid, const char *comm)
{
	*w = (struct worker){ .id = id, .tid = tid, .mode = WORKER_MODE_TASK, .nice = 0,
			      .policy = "other", .cpus = xstrdup("0-1"), .cpu_ns = 1234567890123,
			      .cgroup = xstrdup("/machine.slice/vm1.scope") };
	snprintf(w->comm, sizeof(w->comm), "%s", comm);
}

static inline void sample_queue(struct device *d, int64_t busyloop, int64_t id, int64_t tid)
{
	struct queue *q = ARRAY_ADD(d->queues, d->n_queues);

	q->index = (unsigned int)d->n_queues - 1;
	queue_name(d->kind, q->index, q->name);
	q->busyloop_usecs = busyloop;
	q->worker_id = id;
	q->worker_tid = tid;
	d->queues_known = true;
}

static inline struct device *sample_device(struct vm *vm, const char *id, enum device_kind kind,
					   int fd, const char *path)
{
	struct device *d = ARRAY_ADD(vm->devices, vm->n_devices);

	snprintf(d->id, sizeof(d->id), "%s", id);
	d->kind = kind;
	d->fd = fd;
	d->path = path ? xstrdup(path) : NULL;
	return d;
}

static inline void sample_net(struct vm *vm)
{
	struct device *d = sample_device(vm, "net0", DEVICE_NET, 8, "/dev/vhost-net");
	struct worker *w;

	d->features_known = true;
	d->features = 0x1033d008000;
	d->backend_features_known = true;
	d->backend_features = 2;
	d->worker_mode = WORKER_MODE_TASK;
	d->tap = xstrdup("tap0");
	d->tap_source = TAP_SOURCE_CMDLINE;
	*ARRAY_ADD(d->holders, d->n_holders) = 77;
	sample_queue(d, 33, 0, 191);
	sample_queue(d, 50, 0, 191);
	w = ARRAY_ADD(d->workers, d->n_workers);
	sample_worker(w, 0, 191, "vhost-188");
	*ARRAY_ADD(w->queues, w->n_queues) = 0;
	*ARRAY_ADD(w->queues, w->n_queues) = 1;
	d->workers_known = true;
}

/* 130 queues, of which 4 have a worker of their own; the rest are alike. */
static inline void sample_scsi(struct vm *vm)
{
	struct device *d = sample_device(vm, "scsi0", DEVICE_SCSI, 11, "/dev/vhost-scsi");

	d->features_known = true;
	d->features = UINT64_MAX;
	for (int i = 0; i < 130; i++)
		sample_queue(d, UNKNOWN, i < 4 ? i : 0, i < 4 ? 200 + i : 200);
	error_set(ARRAY_ADD(d->errors, d->n_errors), STATUS_DENIED, 1, "read the workers",
		  "Operation not permitted; another tracer holds the VM: pid 4242");
}

static inline void sample_tap(struct vm *vm, const char *ifname)
{
	struct tap *t = ARRAY_ADD(vm->taps, vm->n_taps);

	tap_init(t);
	snprintf(t->ifname, sizeof(t->ifname), "%s", ifname);
	t->path = xstrdup("/dev/net/tun");
	t->ifindex = 3;
	t->netns = 4026531840;
	*ARRAY_ADD(t->fds, t->n_fds) = 3;
	*ARRAY_ADD(t->fds, t->n_fds) = 13;
	t->rx_frames = 0;
	t->rx_frames_max = 64;
	t->mtu = 1500;
	t->vhost = KNOWN(true);
	t->multi_queue = t->vnet_hdr = KNOWN(true);
	t->persist = KNOWN(false);
	t->numqueues = 2;
	t->numdisabled = 0;
	t->alias = xstrdup("uplink of vm1");
	t->master = xstrdup("br0");
	strcpy(t->operstate, "up");
	t->rx_packets = INT64_MAX;
	t->tx_packets = t->rx_dropped = t->tx_dropped = 0;
}

static inline struct vm *sample_vm(struct state *s, const char *name)
{
	struct vm *vm = ARRAY_ADD(s->vms, s->n_vms);

	vm->pid = 188;
	vm->name = name ? xstrdup(name) : NULL;
	vm->netns = UNKNOWN;
	return vm;
}

static inline struct state sample_empty(void)
{
	return (struct state){ .kernel = "6.12.95+deb12-amd64" };
}

static inline struct state sample_full(void)
{
	struct state s = { .kernel = "6.12.95+deb12-amd64", .source = "owner" };
	struct vm *vm = sample_vm(&s, "vm1");

	vm->uuid = xstrdup("c7a5fdbd-cdaf-9455-926a-d65c16db1809");
	strcpy(vm->comm, "qemu-system-x86");
	vm->cgroup = xstrdup("/machine.slice/vm1.scope");
	vm->netns = 4026531840;
	sample_net(vm);
	sample_scsi(vm);
	sample_tap(vm, "tap0");
	sample_worker(ARRAY_ADD(vm->threads, vm->n_threads), UNKNOWN, 191, "vhost-188");
	sample_worker(ARRAY_ADD(vm->threads, vm->n_threads), UNKNOWN, 195, "vhost-188");
	return s;
}

/* Everything that can be unknown is. */
static inline struct state sample_unknown(void)
{
	struct state s = { .source = NULL };
	struct vm *vm = sample_vm(&s, NULL);
	struct tap *t = ARRAY_ADD(vm->taps, vm->n_taps);
	struct device *d = sample_device(vm, "vdpa0", DEVICE_VDPA, 5, NULL);
	struct worker *w = ARRAY_ADD(d->workers, d->n_workers);

	w->id = w->tid = w->nice = w->cpu_ns = UNKNOWN;
	d->workers_known = true;
	sample_queue(d, UNKNOWN, UNKNOWN, UNKNOWN);
	sample_device(vm, "net0", DEVICE_NET, 6, NULL);
	tap_init(t);
	tap_init(ARRAY_ADD(s.taps, s.n_taps));
	return s;
}

/* Every string is hostile. */
static inline struct state sample_hostile(void)
{
	struct state s = { .kernel = HOSTILE, .source = "owner" };
	struct vm *vm = sample_vm(&s, HOSTILE);
	struct device *d;
	struct worker *w;

	vm->uuid = xstrdup(HOSTILE);
	snprintf(vm->comm, sizeof(vm->comm), "%s", HOSTILE);
	vm->cgroup = xstrdup(HOSTILE);
	sample_tap(vm, "\x1b]0;x\x07\n\xff");
	snprintf(vm->taps[0].operstate, sizeof(vm->taps[0].operstate), "%s", "\x1b\xff");
	free(vm->taps[0].master);
	vm->taps[0].master = xstrdup(HOSTILE);
	free(vm->taps[0].alias);
	vm->taps[0].alias = xstrdup(HOSTILE);
	d = sample_device(vm, "net0", DEVICE_NET, 8, HOSTILE);
	d->tap = xstrdup(HOSTILE);
	sample_queue(d, 0, 0, 191);
	w = ARRAY_ADD(d->workers, d->n_workers);
	sample_worker(w, 0, 191, HOSTILE);
	free(w->cpus);
	w->cpus = xstrdup(HOSTILE);
	free(w->cgroup);
	w->cgroup = xstrdup(HOSTILE);
	d->workers_known = true;
	sample_worker(ARRAY_ADD(vm->threads, vm->n_threads), UNKNOWN, 195, HOSTILE);
	error_set(ARRAY_ADD(d->errors, d->n_errors), STATUS_FAILED, 0, HOSTILE, "%s", HOSTILE);
	error_set(ARRAY_ADD(vm->errors, vm->n_errors), STATUS_FAILED, 5, HOSTILE, "%s", HOSTILE);
	error_set(ARRAY_ADD(s.errors, s.n_errors), STATUS_FAILED, 100000, HOSTILE, "%s", HOSTILE);
	return s;
}

/* The full one as the kernel snapshot sees it. */
static inline struct state sample_snapshot(void)
{
	struct state s = sample_full();
	struct device *net = &s.vms[0].devices[0], *scsi = &s.vms[0].devices[1];

	s.source = "snapshot";
	for (size_t i = 0; i < net->n_queues; i++) {
		net->queues[i].ring = (struct ring){ .known = true, .set_up = true, .size = 256,
						     .avail_idx = 3, .last_avail_idx = 65535,
						     .last_used_idx = 65534, .backend = true,
						     .kick = true, .tap = "tap0" };
	}
	for (size_t i = 0; i < scsi->n_queues; i++)
		scsi->queues[i].ring = (struct ring){ .known = true, .set_up = i < 4, .size = i < 4 ? 128 : 1 };
	net->inside = (struct device_inside){
		.known = true, .owner_pid = 188, .fork_owner = 1, .acked_known = true,
		.acked_features = 0x100000000, .cid = UNKNOWN, .tap_ifindex = 3,
		.tap_netns = 4026531840, .tap_fd = 3,
		.zerocopy = { .known = true, .module = 0, .packets = 7, .forced_copies = 1 },
	};
	net->tap_source = TAP_SOURCE_SNAPSHOT;
	net->workers[0].attachments_known = true;
	net->workers[0].attachments = 2;
	scsi->inside = (struct device_inside){
		.known = true, .owner_pid = 99, .fork_owner = UNKNOWN, .cid = 7, .tap_ifindex = UNKNOWN,
		.tap_netns = UNKNOWN, .tap_fd = UNKNOWN, .wwpn = xstrdup(HOSTILE),
	};
	s.vms[0].taps[0].inside = (struct tap_inside){ .known = true, .rx_batched = 64 };
	return s;
}

static const struct sample {
	const char *name;
	struct state (*make)(void);
} samples[] = {
	{ "empty", sample_empty },
	{ "full", sample_full },
	{ "unknown", sample_unknown },
	{ "hostile", sample_hostile },
	{ "snapshot", sample_snapshot },
};

static inline struct changes sample_changes(const char *target)
{
	struct changes c = { 0 };
	struct change *change = ARRAY_ADD(c.items, c.n);

	*change = (struct change){ .target = xstrdup(target), .pid = 188, .before = 33,
				   .setting = "busyloop_usecs", .after = 50, .applied = true };
	change = ARRAY_ADD(c.items, c.n);
	*change = (struct change){ .target = xstrdup("vm1/net0/rx"), .pid = 188, .before = UNKNOWN,
				   .setting = "busyloop_usecs", .after = 50, .applied = false };
	change = ARRAY_ADD(c.items, c.n);
	*change = (struct change){ .target = xstrdup("dev tap0"), .before = 0,
				   .setting = "rx_frames", .after = 64, .applied = true };
	return c;
}

static inline struct changes sample_worker_changes(void)
{
	struct changes c = { 0 };

	*ARRAY_ADD(c.items, c.n) = (struct change){
		.target = xstrdup("vm1/scsi0"), .pid = 188, .setting = "worker", .before = UNKNOWN, .after = 1,
		.concerns_worker = true, .worker_id = 1, .worker_tid = 250, .applied = true };
	*ARRAY_ADD(c.items, c.n) = (struct change){
		.target = xstrdup("vm1/scsi0/req0"), .pid = 188, .setting = "worker_id", .before = 0, .after = 1,
		.concerns_worker = true, .worker_id = 1, .worker_tid = UNKNOWN, .applied = true };
	*ARRAY_ADD(c.items, c.n) = (struct change){
		.target = xstrdup("vm1/scsi0"), .pid = 188, .setting = "cpus", .before_text = xstrdup("0-1"),
		.after_text = xstrdup("1"), .concerns_worker = true, .worker_id = 1, .worker_tid = 250,
		.applied = true };
	return c;
}

static inline void sample_check_item(struct check_list *list, const char *name, int ok,
				     const char *reason)
{
	struct check_item *item = ARRAY_ADD(list->items, list->n);

	item->name = name;
	item->ok = ok;
	snprintf(item->reason, sizeof(item->reason), "%s", reason);
}

/* To be freed with check_free(). */
static inline struct check sample_check(void)
{
	struct check c = { .kernel = "6.12.95+deb12-amd64" };
	struct check_vm *vm;

	sample_check_item(&c.host, "vhost_net", CHECK_OK, "");
	sample_check_item(&c.host, "worker_ioctls", CHECK_NO,
			  "this kernel is 6.1; workers can be made since 6.5, and only the device "
			  "of a VM that runs can tell");
	sample_check_item(&c.host, "ptrace", CHECK_UNKNOWN, HOSTILE);
	vm = ARRAY_ADD(c.vms, c.n_vms);
	vm->pid = 188;
	vm->name = xstrdup(HOSTILE);
	sample_check_item(&vm->list, "traced", CHECK_NO, HOSTILE);
	vm = ARRAY_ADD(c.vms, c.n_vms);
	vm->pid = 189;
	return c;
}

#endif
