// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Walks the open files of the host (or of one process) and writes a record of each vhost device,
 * its queues and workers, and each tap. It reads only, takes no lock, and is told by user space
 * where every member lies. So each pointer may be stale by the time it is followed: a
 * read that fails gives 0, and what points back must point back.
 */
#include "snapshot_types.h"

#include <stdbool.h>
#include <bpf/bpf_helpers.h>

struct bpf_iter_meta {
	struct seq_file *seq;
};

/* linux/bpf.h of the kernel: what an iter/task_file program is given. */
struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd __attribute__((aligned(8)));
	struct file *file __attribute__((aligned(8)));
};

const volatile struct snap_layout at = {};
const volatile struct snap_class classes[SNAP_CLASSES] = {};

volatile __u32 page_from = 0;	/* set between passes */

/* Records are made here: the stack of a BPF program is 512 bytes, callbacks included. */
static struct snap_device device;
static struct snap_queue queue;
static struct snap_worker worker;
static struct snap_tap tap;
static volatile __u64 now_file, now_task;

#define HAS(member) (at.member != SNAP_ABSENT)

static __always_inline __u64 read_u64(__u64 base, __s32 offset)
{
	__u64 v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), (void *)(base + offset));
	return v;
}

static __always_inline __u32 read_u32(__u64 base, __s32 offset)
{
	__u32 v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), (void *)(base + offset));
	return v;
}

static __always_inline __u16 read_u16(__u64 base, __s32 offset)
{
	__u16 v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), (void *)(base + offset));
	return v;
}

static __always_inline __u8 read_u8(__u64 base, __s32 offset)
{
	__u8 v = 0;

	bpf_probe_read_kernel(&v, sizeof(v), (void *)(base + offset));
	return v;
}

/* SNAP_KINDS when @file is of no class that is looked for. */
static __always_inline __u32 kind_of(__u64 file)
{
	__u64 inode = read_u64(file, at.file_inode);
	__u32 rdev = inode ? read_u32(inode, at.inode_rdev) : 0;

	if (!rdev)
		return SNAP_KINDS;
#pragma unroll
	for (int i = 0; i < SNAP_CLASSES; i++)
		if (classes[i].rdev && (rdev & classes[i].mask) == classes[i].rdev)
			return classes[i].kind;
	return SNAP_KINDS;
}

static __always_inline void read_netdev(__u64 dev, struct snap_netdev *n)
{
	__u64 net = read_u64(dev, at.net_device_net);

	n->ifindex = read_u32(dev, at.net_device_ifindex);
	n->netns = net ? read_u32(net, at.net_inum) : 0;
	bpf_probe_read_kernel_str(n->name, sizeof(n->name), (void *)(dev + at.net_device_name));
}

static __always_inline void no_netdev(struct snap_netdev *n)
{
	__builtin_memset(n, 0, sizeof(*n));
}

/* The net_device of a tap's open file; 0 if it has none. */
static __always_inline __u64 netdev_of_tun(__u64 tfile)
{
	/* A disabled queue's tun pointer stays set, but detached says more. */
	__u64 tun = read_u64(tfile, at.tfile_tun);

	if (!tun)
		tun = read_u64(tfile, at.tfile_detached);
	return tun ? read_u64(tun, at.tun_dev) : 0;
}

static __always_inline __u64 netdev_of_macvtap(__u64 q)
{
	__u64 t = read_u64(q, at.tapq_tap);

	return t ? read_u64(t, at.tap_dev) : 0;
}

/*
 * The backend of a vhost-net queue is a socket: of a tap if its file is a tap's, and if the socket is
 * the one inside of what that file stands for.
 */
static __always_inline void read_backend(__u64 sock, struct snap_netdev *n)
{
	__u64 file = read_u64(sock, at.socket_file), private, dev = 0;
	__u32 kind = file ? kind_of(file) : SNAP_KINDS;

	private = file ? read_u64(file, at.file_private) : 0;
	if (!private)
		return;
	if (kind == SNAP_TUN && HAS(tfile_socket) && private + at.tfile_socket == sock)
		dev = netdev_of_tun(private);
	else if (kind == SNAP_MACVTAP && HAS(tapq_sock) && private + at.tapq_sock == sock)
		dev = netdev_of_macvtap(private);
	if (!dev)
		return;
	n->id_file = file;
	read_netdev(dev, n);
}

/* The thread of a vhost_worker; 0 if it is not known. */
static __always_inline __u64 task_of_worker(__u64 w, __u32 *flags)
{
	__u64 vtsk = HAS(worker_vtsk) ? read_u64(w, at.worker_vtsk) : 0;
	__u64 task;

	if (vtsk)
		return HAS(vhost_task_task) ? read_u64(vtsk, at.vhost_task_task) : 0;
	task = HAS(worker_kthread) ? read_u64(w, at.worker_kthread) : 0;
	if (task)
		*flags |= SNAP_KTHREAD;
	return task;
}

/* Before 6.5 a device has one worker, which serves all its queues. */
static __always_inline __u64 task_of_device(__u64 dev, __u32 *flags)
{
	__u64 w;

	switch (at.dev_worker_kind) {
	case SNAP_WORKER_TASK:
		*flags |= SNAP_KTHREAD;
		return read_u64(dev, at.dev_worker);
	case SNAP_WORKER_POINTER:
		w = read_u64(dev, at.dev_worker);
		return w ? task_of_worker(w, flags) : 0;
	case SNAP_WORKER_EMBEDDED:
		return task_of_worker(dev + at.dev_worker, flags);
	}
	return 0;
}

static __always_inline __s32 tid_of(__u64 task)
{
	__s32 tid = task ? (__s32)read_u32(task, at.task_pid) : 0;

	return tid > 0 ? tid : SNAP_ABSENT;
}

static __always_inline void read_queue_worker(__u64 dev, __u64 vq)
{
	__u32 flags = 0;
	__u64 w, task;

	queue.worker_id = queue.worker_tid = SNAP_ABSENT;
	if (!HAS(vq_worker)) {
		task = task_of_device(dev, &flags);
		if (task) {
			queue.worker_id = 0;
			queue.worker_tid = tid_of(task);
		}
		return;
	}
	w = read_u64(vq, at.vq_worker);
	if (!w || (HAS(worker_dev) && read_u64(w, at.worker_dev) != dev))
		return;
	if (HAS(worker_id))
		queue.worker_id = (__s32)read_u32(w, at.worker_id);
	queue.worker_tid = tid_of(task_of_worker(w, &flags));
}

static __always_inline void read_zerocopy(__u64 vq)
{
	__u64 nvq = vq - at.nvq_vq;

	if (HAS(nvq_ubufs) && read_u64(nvq, at.nvq_ubufs))
		queue.flags |= SNAP_ZEROCOPY;
	queue.upend_idx = HAS(nvq_upend) ? (__s32)read_u32(nvq, at.nvq_upend) : SNAP_ABSENT;
	queue.done_idx = HAS(nvq_done) ? (__s32)read_u32(nvq, at.nvq_done) : SNAP_ABSENT;
}

static __always_inline void read_queue(__u64 dev, __u64 vq)
{
	__u64 private = read_u64(vq, at.vq_private);

	queue.num = read_u32(vq, at.vq_num);
	queue.busyloop = read_u32(vq, at.vq_busyloop);
	queue.avail_idx = read_u16(vq, at.vq_avail);
	queue.last_avail_idx = read_u16(vq, at.vq_last_avail);
	queue.last_used_idx = read_u16(vq, at.vq_last_used);
	if (read_u64(vq, at.vq_desc))
		queue.flags |= SNAP_RING;
	if (read_u64(vq, at.vq_kick))
		queue.flags |= SNAP_KICK;
	if (read_u64(vq, at.vq_call))
		queue.flags |= SNAP_CALL;
	if (private)
		queue.flags |= SNAP_BACKEND;
	queue.upend_idx = queue.done_idx = SNAP_ABSENT;
	if (device.kind == SNAP_NET && HAS(nvq_vq)) {
		read_zerocopy(vq);
		if (private)
			read_backend(private, &queue.tap);
	}
	read_queue_worker(dev, vq);
}

/* Both callbacks of bpf_loop(): 1 ends it. */
static long send_queue(__u32 i, struct seq_file **seq)
{
	__u32 index = device.from + i;
	__u64 dev = device.id_dev, vqs, vq;

	if (index >= device.n_queues)
		return 1;
	queue.r.type = SNAP_REC_QUEUE;
	queue.r.size = sizeof(queue);
	queue.index = index;
	queue.flags = 0;
	no_netdev(&queue.tap);
	vqs = read_u64(dev, at.dev_vqs);
	vq = vqs ? read_u64(vqs, index * 8) : 0;
	if (vq && read_u64(vq, at.vq_dev) == dev)
		read_queue(dev, vq);
	else
		queue.flags = SNAP_STALE;
	bpf_seq_write(*seq, &queue, sizeof(queue));
	return 0;
}

/* include/linux/xarray.h: what is not a pointer has its low bits set, a node 2. */
static __always_inline bool xa_is_node(__u64 entry)
{
	return (entry & 3) == 2 && entry > 4096;
}

/* Ids of workers are below the result. */
static __always_inline __u32 worker_ids(__u64 dev)
{
	__u64 head;
	__u32 shift;

	if (!HAS(dev_worker_xa))
		return at.dev_worker_kind == SNAP_WORKER_NONE ? 0 : 1;
	head = read_u64(dev + at.dev_worker_xa, at.xarray_head);
	if (!xa_is_node(head))
		return head ? 1 : 0;
	shift = read_u8(head - 2, at.xa_node_shift);
	if (shift > 12)
		return SNAP_WORKER_IDS + 1;
	return (__u32)at.xa_node_n_slots << shift;
}

/* Entry @id of the device's workers: down from the head, three levels at most. */
static __always_inline __u64 worker_by_id(__u64 dev, __u32 id)
{
	__u64 entry = read_u64(dev + at.dev_worker_xa, at.xarray_head);

	if (!xa_is_node(entry))
		return id ? 0 : entry;
#pragma unroll
	for (int level = 0; level < 4; level++) {
		__u64 node = entry - 2;
		__u32 shift;

		if (!xa_is_node(entry))
			break;
		shift = read_u8(node, at.xa_node_shift) & 31;
		entry = read_u64(node, at.xa_node_slots +
				 8 * (__s32)((id >> shift) & (at.xa_node_n_slots - 1)));
	}
	return entry & 3 ? 0 : entry;
}

static long send_worker(__u32 i, struct seq_file **seq)
{
	__u64 dev = device.id_dev, w = 0, task;
	__u32 id = device.from + i;

	if (id >= device.n_worker_ids)
		return 1;
	worker.r.type = SNAP_REC_WORKER;
	worker.r.size = sizeof(worker);
	worker.flags = 0;
	worker.id = id;
	worker.attached = SNAP_ABSENT;
	if (HAS(dev_worker_xa)) {
		w = worker_by_id(dev, id);
		if (!w || read_u64(w, at.worker_dev) != dev)
			return 0;
		task = task_of_worker(w, &worker.flags);
		if (HAS(worker_attached))
			worker.attached = (__s32)read_u32(w, at.worker_attached);
	} else {
		task = task_of_device(dev, &worker.flags);
		if (!task)
			return 0;
	}
	worker.tid = tid_of(task);
	__builtin_memset(worker.comm, 0, sizeof(worker.comm));
	if (task)
		bpf_probe_read_kernel_str(worker.comm, sizeof(worker.comm),
					  (void *)(task + at.task_comm));
	bpf_seq_write(*seq, &worker, sizeof(worker));
	return 0;
}

static __always_inline void read_owner(__u64 dev)
{
	__u64 mm = read_u64(dev, at.dev_mm), owner;

	device.owner_pid = 0;
	if (!mm)
		return;
	device.flags |= SNAP_OWNED;
	owner = HAS(mm_owner) ? read_u64(mm, at.mm_owner) : 0;
	if (owner)
		device.owner_pid = (__s32)read_u32(owner, at.task_tgid);
}

static __always_inline void read_kind(__u64 private)
{
	__builtin_memset(device.wwpn, 0, sizeof(device.wwpn));
	device.cid = device.tx_packets = device.tx_zcopy_err = 0;
	if (device.kind == SNAP_SCSI && HAS(scsi_wwpn) && HAS(scsi_tpg) &&
	    read_u64(private, at.scsi_tpg)) {
		device.flags |= SNAP_ENDPOINT;
		bpf_probe_read_kernel_str(device.wwpn, sizeof(device.wwpn),
					  (void *)(private + at.scsi_wwpn));
	}
	if (device.kind == SNAP_VSOCK && HAS(vsock_cid))
		device.cid = read_u32(private, at.vsock_cid);
	if (device.kind == SNAP_NET && HAS(net_tx_packets) && HAS(net_tx_zcopy_err)) {
		device.tx_packets = read_u32(private, at.net_tx_packets);
		device.tx_zcopy_err = read_u32(private, at.net_tx_zcopy_err);
	}
}

/* The vhost_dev inside of what the file stands for; 0 if this kernel's type is not known. */
static __always_inline __u64 vhost_dev(__u64 private)
{
	if (!HAS(dev_vqs))
		return 0;
	if (device.kind == SNAP_NET && HAS(net_dev))
		return private + at.net_dev;
	if (device.kind == SNAP_SCSI && HAS(scsi_dev))
		return private + at.scsi_dev;
	if (device.kind == SNAP_VSOCK && HAS(vsock_dev))
		return private + at.vsock_dev;
	return 0;
}

static __always_inline void send_device(struct seq_file *seq, __u64 private, __u32 fd)
{
	__u64 vqs, vq;

	device.id_dev = vhost_dev(private);
	if (!device.id_dev)
		return;
	device.r.type = SNAP_REC_DEVICE;
	device.r.size = sizeof(device);
	device.pid = read_u32(now_task, at.task_tgid);
	device.fd = (__s32)fd;
	device.flags = 0;
	device.from = page_from;
	device.n_queues = read_u32(device.id_dev, at.dev_nvqs);
	if (device.n_queues > SNAP_QUEUES)
		return;
	device.n_worker_ids = worker_ids(device.id_dev);
	if (device.from && device.from >= device.n_queues && device.from >= device.n_worker_ids)
		return;
	device.fork_owner = HAS(dev_fork_owner) ? read_u8(device.id_dev, at.dev_fork_owner) : SNAP_ABSENT;
	device.id_file = now_file;
	vqs = read_u64(device.id_dev, at.dev_vqs);
	vq = vqs ? read_u64(vqs, 0) : 0;
	device.features = vq ? read_u64(vq, at.vq_features) : 0;
	read_owner(device.id_dev);
	read_kind(private);
	bpf_seq_write(seq, &device, sizeof(device));
	bpf_loop(SNAP_PAGE, send_queue, &seq, 0);
	bpf_loop(SNAP_PAGE, send_worker, &seq, 0);
}

static __always_inline void read_tun(__u64 tfile)
{
	__u64 detached = read_u64(tfile, at.tfile_detached);
	__u64 tun = read_u64(tfile, at.tfile_tun);

	if (detached)
		tap.flags |= SNAP_DETACHED;
	if (!tun)
		tun = detached;
	if (!tun)
		return;
	tap.n_attached = HAS(tun_numqueues) ? (__s32)read_u32(tun, at.tun_numqueues) : SNAP_ABSENT;
	tap.n_detached = HAS(tun_numdisabled) ? (__s32)read_u32(tun, at.tun_numdisabled) : SNAP_ABSENT;
	tap.rx_batched = HAS(tun_rx_batched) ? (__s32)read_u32(tun, at.tun_rx_batched) : SNAP_ABSENT;
}

static __always_inline void read_macvtap(__u64 q)
{
	__u64 t = read_u64(q, at.tapq_tap);

	if (!read_u8(q, at.tapq_enabled))
		tap.flags |= SNAP_DETACHED;
	if (!t || !HAS(tap_numvtaps) || !HAS(tap_numqueues))
		return;
	tap.n_attached = (__s32)read_u32(t, at.tap_numvtaps);
	tap.n_detached = (__s32)read_u32(t, at.tap_numqueues) - tap.n_attached;
}

static __always_inline void send_tap(struct seq_file *seq, __u64 private, __u32 kind, __u32 fd)
{
	__u64 dev = 0;

	tap.r.type = SNAP_REC_TAP;
	tap.r.size = sizeof(tap);
	tap.kind = kind;
	tap.pid = read_u32(now_task, at.task_tgid);
	tap.fd = (__s32)fd;
	tap.flags = 0;
	tap.n_attached = tap.n_detached = tap.rx_batched = SNAP_ABSENT;
	no_netdev(&tap.dev);
	if (kind == SNAP_TUN && HAS(tfile_socket)) {
		dev = netdev_of_tun(private);
		read_tun(private);
	} else if (kind == SNAP_MACVTAP && HAS(tapq_sock)) {
		dev = netdev_of_macvtap(private);
		read_macvtap(private);
	}
	if (!dev)
		return;
	tap.dev.id_file = now_file;
	read_netdev(dev, &tap.dev);
	bpf_seq_write(seq, &tap, sizeof(tap));
}

SEC("iter/task_file")
int walk(struct bpf_iter__task_file *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	__u32 fd = ctx->fd, kind;
	__u64 private;

	if (!task || !file)
		return 0;
	/* By way of memory: what is read back are numbers, which may be calculated with. */
	now_file = (__u64)file;
	now_task = (__u64)task;
	/* A thread can have a table of its own, in which numbers are not those of /proc/PID/fd. */
	if (read_u32(now_task, at.task_pid) != read_u32(now_task, at.task_tgid))
		return 0;
	kind = kind_of(now_file);
	if (kind == SNAP_KINDS)
		return 0;
	/* None: an O_PATH fd, which has the device's number but did not open it. */
	private = read_u64(now_file, at.file_private);
	if (!private)
		return 0;
	if (kind == SNAP_TUN || kind == SNAP_MACVTAP) {
		if (!page_from)
			send_tap(seq, private, kind, fd);
		return 0;
	}
	device.kind = kind;
	send_device(seq, private, fd);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
