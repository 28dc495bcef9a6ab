// SPDX-License-Identifier: GPL-2.0-or-later
/* From the records of a snapshot to the model. Kernel addresses end here: they are compared, no more. */
#include "snapshot.h"

#include <fcntl.h>
#include <string.h>

#include "threads.h"
#include "tapmap.h"
#include "util.h"

/* drivers/vhost/net.c counts zero-copy buffers modulo UIO_MAXIOV. */
#define ZEROCOPY_RING 1024

/* What a snapshot calls the kinds of devices; SNAP_KINDS: it has none of them. */
static const __u32 kinds[DEVICE_KINDS] = { SNAP_NET, SNAP_SCSI, SNAP_VSOCK, SNAP_KINDS };

static const struct snapshot_device *find_device(const struct snapshot *s, const struct vm *vm,
						 const struct device *d)
{
	for (size_t i = 0; i < s->n_devices; i++) {
		const struct snap_device *have = &s->devices[i].d;

		if (have->pid == (__u32)vm->pid && have->fd == d->fd && have->kind == kinds[d->kind])
			return &s->devices[i];
	}
	return NULL;
}

static const struct snap_tap *find_tap(const struct snapshot *s, const struct vm *vm, int fd)
{
	for (size_t i = 0; i < s->n_taps; i++)
		if (s->taps[i].pid == (__u32)vm->pid && s->taps[i].fd == fd)
			return &s->taps[i];
	return NULL;
}

static void copy_ifname(char name[16], const struct snap_netdev *n)
{
	memcpy(name, n->name, sizeof(n->name));
	name[sizeof(n->name) - 1] = '\0';
}

/* "" and 0 are what a structure that was freed meanwhile reads as. */
static bool netdev_known(const struct snap_netdev *n)
{
	return n->name[0] && n->ifindex && n->netns;
}

static bool same_netdev(const struct snap_netdev *a, const struct snap_netdev *b)
{
	return a->ifindex == b->ifindex && a->netns == b->netns;
}

/* ---- queues ---- */

static void fill_queue(struct device *d, struct queue *q, const struct snap_queue *r)
{
	q->index = r->index;
	queue_name(d->kind, q->index, q->name);
	q->busyloop_usecs = r->busyloop;
	q->worker_id = r->worker_id == SNAP_ABSENT ? UNKNOWN : r->worker_id;
	q->worker_tid = r->worker_tid == SNAP_ABSENT ? UNKNOWN : r->worker_tid;
	q->ring = (struct ring){
		.known = true,
		/* A queue that was reset has one entry (drivers/vhost/vhost.c: vhost_vq_reset). */
		.set_up = r->flags & (SNAP_RING | SNAP_KICK | SNAP_CALL) || r->num > 1,
		.size = r->num,
		.avail_idx = r->avail_idx,
		.last_avail_idx = r->last_avail_idx,
		.last_used_idx = r->last_used_idx,
		.backend = r->flags & SNAP_BACKEND,
		.kick = r->flags & SNAP_KICK,
		.call = r->flags & SNAP_CALL,
	};
	if (netdev_known(&r->tap))
		copy_ifname(q->ring.tap, &r->tap);
}

/*
 * All queues, or none: a device that was closed meanwhile has gaps, or queues that are not its own. And one
 * that gets its owner, or gives back a worker, has for a moment queues without a worker beside others.
 */
static bool queues_whole(const struct snapshot_device *sd)
{
	if (sd->n_queues != sd->d.n_queues)
		return false;
	for (size_t i = 0; i < sd->n_queues; i++)
		if (sd->queues[i].index != i || sd->queues[i].flags & SNAP_STALE ||
		    (sd->queues[i].worker_id == SNAP_ABSENT) != (sd->queues[0].worker_id == SNAP_ABSENT))
			return false;
	return true;
}

static void fill_queues(struct device *d, const struct snapshot_device *sd)
{
	device_forget_queues(d);
	for (size_t i = 0; i < sd->n_queues; i++)
		fill_queue(d, ARRAY_ADD(d->queues, d->n_queues), &sd->queues[i]);
	d->queues_known = true;
}

/* ---- workers ---- */

/* The thread as /proc shows it, from the VM's list or, if it is not there, added to it. */
static const struct worker *find_thread(struct vm *vm, int64_t tid, enum worker_mode mode)
{
	struct worker w = { .id = UNKNOWN, .mode = mode };
	_cleanup_close_ int fd = -1;
	char path[32];

	if (vm_thread(vm, tid))
		return vm_thread(vm, tid);
	snprintf(path, sizeof(path), "/proc/%lld", (long long)tid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || threads_read_one(fd, &w))
		return NULL;
	if (strncmp(w.comm, "vhost-", 6)) {
		worker_free(&w);
		return NULL;
	}
	*ARRAY_ADD(vm->threads, vm->n_threads) = w;
	return &vm->threads[vm->n_threads - 1];
}

static void fill_worker(struct vm *vm, struct device *d, const struct snap_worker *r)
{
	struct worker *w = ARRAY_ADD(d->workers, d->n_workers);
	const struct worker *thread;

	w->id = r->id;
	w->mode = r->flags & SNAP_KTHREAD ? WORKER_MODE_KTHREAD : WORKER_MODE_TASK;
	w->tid = w->nice = w->cpu_ns = UNKNOWN;
	w->attachments_known = r->attached != SNAP_ABSENT;
	w->attachments = w->attachments_known ? (unsigned int)r->attached : 0;
	thread = r->tid == SNAP_ABSENT ? NULL : find_thread(vm, r->tid, w->mode);
	if (thread)
		worker_copy_thread(w, thread);
	for (size_t i = 0; i < d->n_queues; i++)
		if (d->queues[i].worker_id == w->id)
			*ARRAY_ADD(w->queues, w->n_queues) = d->queues[i].index;
	if (!w->queues)
		w->queues = xcalloc(1, sizeof(*w->queues)); /* none, which is not unknown */
}

/* A thread that /proc does not show (any more) is none that a queue could be said to have. */
static void settle_queue_threads(struct device *d)
{
	for (size_t i = 0; i < d->n_queues; i++) {
		struct queue *q = &d->queues[i];
		bool known = false;

		for (size_t k = 0; k < d->n_workers && !known; k++)
			known = d->workers[k].id == q->worker_id && d->workers[k].tid == q->worker_tid;
		if (!known)
			q->worker_tid = UNKNOWN;
	}
}

static void fill_workers(struct vm *vm, struct device *d, const struct snapshot_device *sd)
{
	device_forget_workers(d);
	d->workers_known = sd->d.n_worker_ids <= SNAP_WORKER_IDS;
	for (size_t i = 0; d->workers_known && i < sd->n_workers; i++)
		fill_worker(vm, d, &sd->workers[i]);
	settle_queue_threads(d);
	if (sd->d.fork_owner != SNAP_ABSENT)
		d->worker_mode = sd->d.fork_owner ? WORKER_MODE_TASK : WORKER_MODE_KTHREAD;
	else if (d->n_workers)
		d->worker_mode = d->workers[0].mode;
}

/* ---- the device itself ---- */

static void fill_zerocopy(struct zerocopy *z, const struct snapshot_device *sd)
{
	const struct snap_queue *tx = sd->n_queues > 1 ? &sd->queues[1] : NULL;

	if (!tx || tx->upend_idx == SNAP_ABSENT || tx->done_idx == SNAP_ABSENT)
		return;
	z->known = true;
	z->enabled = tx->flags & SNAP_ZEROCOPY;
	z->packets = sd->d.tx_packets;
	z->forced_copies = sd->d.tx_zcopy_err;
	/* Where packets are copied, the kernel counts batches of them in done_idx. */
	z->in_flight = z->enabled ? (unsigned int)(tx->upend_idx - tx->done_idx) % ZEROCOPY_RING : 0;
}

static void fill_inside(struct device *d, const struct snapshot *s, const struct snapshot_device *sd)
{
	struct device_inside *in = &d->inside;

	free(in->wwpn);
	*in = (struct device_inside){
		.known = true,
		.owner_pid = sd->d.owner_pid > 0 ? sd->d.owner_pid : UNKNOWN,
		.fork_owner = sd->d.fork_owner == SNAP_ABSENT ? UNKNOWN : sd->d.fork_owner,
		.acked_known = sd->d.flags & SNAP_OWNED,
		.acked_features = sd->d.features,
		.wwpn = sd->d.flags & SNAP_ENDPOINT && sd->d.wwpn[0] ? xstrdup(sd->d.wwpn) : NULL,
		.cid = d->kind == DEVICE_VSOCK && sd->d.cid ? sd->d.cid : UNKNOWN,
		.tap_ifindex = UNKNOWN, .tap_netns = UNKNOWN, .tap_fd = UNKNOWN,
	};
	if (d->kind == DEVICE_NET)
		fill_zerocopy(&in->zerocopy, sd);
	in->zerocopy.module = s->zcopytx;
}

static void device_missing(struct device *d)
{
	error_set(ARRAY_ADD(d->errors, d->n_errors), STATUS_FAILED, 0, "take a kernel snapshot",
		  "the device was not there, or changed while it was read; try again");
}

static void merge_device(const struct snapshot *s, struct vm *vm, struct device *d)
{
	const struct snapshot_device *sd = find_device(s, vm, d);

	if (!sd || !queues_whole(sd)) {
		device_missing(d);
		return;
	}
	fill_queues(d, sd);
	fill_workers(vm, d, sd);
	fill_inside(d, s, sd);
}

/* ---- taps ---- */

/* The tap behind the backends of @sd; NULL if it has none, or they are of two. */
static const struct snap_netdev *backend_of(const struct snapshot_device *sd)
{
	const struct snap_netdev *found = NULL;

	for (size_t i = 0; i < sd->n_queues; i++) {
		const struct snap_netdev *n = &sd->queues[i].tap;

		if (!netdev_known(n))
			continue;
		if (found && !same_netdev(found, n))
			return NULL;
		found = n;
	}
	return found;
}

static bool is_interface(const struct tap *t, const struct snap_netdev *n)
{
	return t->ifindex == n->ifindex && t->netns == n->netns;
}

static void pair(const struct snapshot *s, const struct vm *vm, struct device *d)
{
	const struct snapshot_device *sd = find_device(s, vm, d);
	const struct snap_netdev *n = sd && d->inside.known ? backend_of(sd) : NULL;

	if (!n)
		return;
	free(d->tap);
	d->tap = xcalloc(1, sizeof(n->name));
	copy_ifname(d->tap, n);
	d->tap_source = TAP_SOURCE_SNAPSHOT;
	d->inside.tap_ifindex = n->ifindex;
	d->inside.tap_netns = n->netns;
	for (size_t i = 0; i < s->n_taps; i++)
		if (s->taps[i].pid == (__u32)vm->pid && s->taps[i].dev.id_file == n->id_file)
			d->inside.tap_fd = s->taps[i].fd;
}

/* Is fd @fd of a tap driven by a device that is known to drive it? */
static bool is_driven(const struct vm *vm, int fd)
{
	for (size_t i = 0; i < vm->n_devices; i++)
		if (vm->devices[i].inside.known && vm->devices[i].inside.tap_fd == fd)
			return true;
	return false;
}

static size_t undriven(const struct vm *vm, const struct tap *t)
{
	size_t n = 0;

	/* A NIC that the command line gives no vhost has none to be left. */
	for (size_t i = 0; t->vhost != 0 && i < t->n_fds; i++)
		n += !is_driven(vm, t->fds[i]);
	return n;
}

/*
 * Queue pairs that the guest has not enabled have no backend. Once others show that the VM pairs
 * its taps with vhost, and all tap queues that are left are of one tap, as many as there are
 * devices left, that is the tap of those.
 */
static void pair_rest(struct vm *vm)
{
	const struct tap *left = NULL;
	size_t n = 0, paired = 0;

	for (size_t i = 0; i < vm->n_devices; i++) {
		n += vm->devices[i].kind == DEVICE_NET && !vm->devices[i].tap;
		paired += vm->devices[i].tap_source == TAP_SOURCE_SNAPSHOT;
	}
	for (size_t i = 0; i < vm->n_taps; i++) {
		if (!undriven(vm, &vm->taps[i]))
			continue;
		if (left)
			return;
		left = &vm->taps[i];
	}
	if (!n || !paired || !left || !left->ifname[0] || undriven(vm, left) != n)
		return;
	for (size_t i = 0; i < vm->n_devices; i++) {
		struct device *d = &vm->devices[i];

		if (d->kind != DEVICE_NET || d->tap || !d->inside.known)
			continue;
		d->tap = xstrdup(left->ifname);
		d->tap_source = TAP_SOURCE_ELIMINATION;
	}
}

static void fill_tap(struct tap *t, const struct snap_tap *r)
{
	copy_ifname(t->ifname, &r->dev);
	t->ifindex = r->dev.ifindex;
	t->netns = r->dev.netns;
	t->inside = (struct tap_inside){
		.known = true,
		.rx_batched = r->rx_batched == SNAP_ABSENT ? UNKNOWN : r->rx_batched,
	};
	if (r->n_attached != SNAP_ABSENT && r->n_detached != SNAP_ABSENT) {
		t->numqueues = r->n_attached;
		t->numdisabled = r->n_detached;
	}
}

/* The new tap that is this interface, made like the one its fd was in. Moves vm->taps. */
static struct tap *tap_for(struct vm *vm, size_t n_old, size_t like, const struct snap_netdev *n)
{
	struct tap *t;

	for (size_t i = n_old; i < vm->n_taps; i++)
		if (is_interface(&vm->taps[i], n))
			return &vm->taps[i];
	t = ARRAY_ADD(vm->taps, vm->n_taps);
	tap_init(t);
	t->path = vm->taps[like].path ? xstrdup(vm->taps[like].path) : NULL;
	t->macvtap = vm->taps[like].macvtap;
	return t;
}

/*
 * fdinfo has names only, so that two interfaces of one name, in two namespaces, came as one
 * tap: fds that are of another interface than the tap's first move to a tap of their own.
 */
static void split_tap(const struct snapshot *s, struct vm *vm, size_t index, size_t n_old)
{
	size_t kept = 0;

	for (size_t i = 0; i < vm->taps[index].n_fds; i++) {
		struct tap *t = &vm->taps[index];
		const struct snap_tap *r = find_tap(s, vm, t->fds[i]);
		int fd = t->fds[i];

		if (r && !netdev_known(&r->dev))
			r = NULL;
		if (r && !t->inside.known)
			fill_tap(t, r);
		if (!r || is_interface(t, &r->dev)) {
			t->fds[kept++] = fd;
			continue;
		}
		t = tap_for(vm, n_old, index, &r->dev);
		fill_tap(t, r);
		*ARRAY_ADD(t->fds, t->n_fds) = fd;
	}
	vm->taps[index].n_fds = kept;
}

/* How else a tap was found: by a name, which can be that of two interfaces. */
static void identify(const struct vm *vm, struct device *d)
{
	const struct tap *found = NULL;

	if (!d->tap || !d->inside.known || d->inside.tap_ifindex != UNKNOWN)
		return;
	for (size_t i = 0; i < vm->n_taps; i++) {
		if (strcmp(vm->taps[i].ifname, d->tap))
			continue;
		if (found)
			return;
		found = &vm->taps[i];
	}
	if (!found)
		return;
	d->inside.tap_ifindex = found->ifindex;
	d->inside.tap_netns = found->netns;
}

static void merge_taps(const struct snapshot *s, struct vm *vm)
{
	size_t n = vm->n_taps;

	for (size_t i = 0; i < n; i++)
		split_tap(s, vm, i, n);
	for (size_t i = 0; i < vm->n_devices; i++)
		if (vm->devices[i].kind == DEVICE_NET)
			pair(s, vm, &vm->devices[i]);
	/* Two interfaces of one name were taken for the sole one. */
	for (size_t i = 0; vm->n_taps > n && i < vm->n_devices; i++)
		if (vm->devices[i].tap_source == TAP_SOURCE_SOLE) {
			free(vm->devices[i].tap);
			vm->devices[i].tap = NULL;
			vm->devices[i].tap_source = TAP_SOURCE_NONE;
		}
	pair_rest(vm);
	for (size_t i = 0; i < vm->n_devices; i++)
		identify(vm, &vm->devices[i]);
	tapmap_mark_vhost(vm);
}

void snapshot_merge(const struct snapshot *s, struct vm *vm)
{
	for (size_t i = 0; i < vm->n_devices; i++)
		if (vm->devices[i].kind != DEVICE_VDPA)
			merge_device(s, vm, &vm->devices[i]);
	merge_taps(s, vm);
}

bool snapshot_can_serve(const struct snapshot *s, const struct vm *vm)
{
	for (size_t i = 0; i < vm->n_devices; i++)
		if (vm->devices[i].kind != DEVICE_VDPA && !s->has[kinds[vm->devices[i].kind]])
			return false;
	return true;
}
