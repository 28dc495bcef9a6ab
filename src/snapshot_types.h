/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF program and the user side of the kernel snapshot tell each other: where members
 * lie in the running kernel, what to look for, and the records that come back.
 *
 * Fields called id_* are kernel addresses. They say that two records speak of the same
 * thing, and never leave snapshot_merge.c.
 */
#ifndef SNAPSHOT_TYPES_H
#define SNAPSHOT_TYPES_H

#include <linux/types.h>

/*
 * X(field, module whose types have it, type, member path, bytes of the member, needed)
 * bytes 0: the offset only. needed: without it nothing of that module can be read; the others
 * are absent in some of the kernels (6.1 has no struct vhost_worker, 6.4 no ids, ...).
 */
#define SNAP_OFFSETS(X) \
	X(file_inode, "vmlinux", "file", "f_inode", 8, 1) \
	X(file_private, "vmlinux", "file", "private_data", 8, 1) \
	X(inode_rdev, "vmlinux", "inode", "i_rdev", 4, 1) \
	X(task_pid, "vmlinux", "task_struct", "pid", 4, 1) \
	X(task_tgid, "vmlinux", "task_struct", "tgid", 4, 1) \
	X(task_comm, "vmlinux", "task_struct", "comm", 16, 1) \
	X(mm_owner, "vmlinux", "mm_struct", "owner", 8, 0) \
	X(vhost_task_task, "vmlinux", "vhost_task", "task", 8, 0) \
	X(xarray_head, "vmlinux", "xarray", "xa_head", 8, 0) \
	X(xa_node_shift, "vmlinux", "xa_node", "shift", 1, 0) \
	X(xa_node_slots, "vmlinux", "xa_node", "slots", 0, 0) \
	X(socket_file, "vmlinux", "socket", "file", 8, 1) \
	X(net_device_name, "vmlinux", "net_device", "name", 16, 1) \
	X(net_device_ifindex, "vmlinux", "net_device", "ifindex", 4, 1) \
	X(net_device_net, "vmlinux", "net_device", "nd_net.net", 8, 1) \
	X(net_inum, "vmlinux", "net", "ns.inum", 4, 1) \
	X(dev_mm, "vhost", "vhost_dev", "mm", 8, 1) \
	X(dev_vqs, "vhost", "vhost_dev", "vqs", 8, 1) \
	X(dev_nvqs, "vhost", "vhost_dev", "nvqs", 4, 1) \
	X(dev_worker, "vhost", "vhost_dev", "worker", 0, 0) \
	X(dev_worker_xa, "vhost", "vhost_dev", "worker_xa", 0, 0) \
	X(dev_fork_owner, "vhost", "vhost_dev", "fork_owner", 1, 0) \
	X(vq_dev, "vhost", "vhost_virtqueue", "dev", 8, 1) \
	X(vq_num, "vhost", "vhost_virtqueue", "num", 4, 1) \
	X(vq_desc, "vhost", "vhost_virtqueue", "desc", 8, 1) \
	X(vq_kick, "vhost", "vhost_virtqueue", "kick", 8, 1) \
	X(vq_call, "vhost", "vhost_virtqueue", "call_ctx.ctx", 8, 1) \
	X(vq_last_avail, "vhost", "vhost_virtqueue", "last_avail_idx", 2, 1) \
	X(vq_avail, "vhost", "vhost_virtqueue", "avail_idx", 2, 1) \
	X(vq_last_used, "vhost", "vhost_virtqueue", "last_used_idx", 2, 1) \
	X(vq_private, "vhost", "vhost_virtqueue", "private_data", 8, 1) \
	X(vq_features, "vhost", "vhost_virtqueue", "acked_features", 8, 1) \
	X(vq_busyloop, "vhost", "vhost_virtqueue", "busyloop_timeout", 4, 1) \
	X(vq_worker, "vhost", "vhost_virtqueue", "worker", 8, 0) \
	X(worker_vtsk, "vhost", "vhost_worker", "vtsk", 8, 0) \
	X(worker_kthread, "vhost", "vhost_worker", "kthread_task", 8, 0) \
	X(worker_dev, "vhost", "vhost_worker", "dev", 8, 0) \
	X(worker_id, "vhost", "vhost_worker", "id", 4, 0) \
	X(worker_attached, "vhost", "vhost_worker", "attachment_cnt", 4, 0) \
	X(net_dev, "vhost_net", "vhost_net", "dev", 0, 1) \
	X(net_tx_packets, "vhost_net", "vhost_net", "tx_packets", 4, 0) \
	X(net_tx_zcopy_err, "vhost_net", "vhost_net", "tx_zcopy_err", 4, 0) \
	X(nvq_vq, "vhost_net", "vhost_net_virtqueue", "vq", 0, 1) \
	X(nvq_upend, "vhost_net", "vhost_net_virtqueue", "upend_idx", 4, 0) \
	X(nvq_done, "vhost_net", "vhost_net_virtqueue", "done_idx", 4, 0) \
	X(nvq_ubufs, "vhost_net", "vhost_net_virtqueue", "ubufs", 8, 0) \
	X(scsi_dev, "vhost_scsi", "vhost_scsi", "dev", 0, 1) \
	X(scsi_tpg, "vhost_scsi", "vhost_scsi", "vs_tpg", 8, 0) \
	X(scsi_wwpn, "vhost_scsi", "vhost_scsi", "vs_vhost_wwpn", 224, 0) \
	X(vsock_dev, "vhost_vsock", "vhost_vsock", "dev", 0, 1) \
	X(vsock_cid, "vhost_vsock", "vhost_vsock", "guest_cid", 4, 0) \
	X(tfile_socket, "tun", "tun_file", "socket", 0, 1) \
	X(tfile_tun, "tun", "tun_file", "tun", 8, 1) \
	X(tfile_detached, "tun", "tun_file", "detached", 8, 1) \
	X(tun_dev, "tun", "tun_struct", "dev", 8, 1) \
	X(tun_numqueues, "tun", "tun_struct", "numqueues", 4, 0) \
	X(tun_numdisabled, "tun", "tun_struct", "numdisabled", 4, 0) \
	X(tun_rx_batched, "tun", "tun_struct", "rx_batched", 4, 0) \
	X(tapq_sock, "tap", "tap_queue", "sock", 0, 1) \
	X(tapq_tap, "tap", "tap_queue", "tap", 8, 1) \
	X(tapq_enabled, "tap", "tap_queue", "enabled", 1, 1) \
	X(tap_dev, "tap", "tap_dev", "dev", 8, 1) \
	X(tap_numvtaps, "tap", "tap_dev", "numvtaps", 4, 0) \
	X(tap_numqueues, "tap", "tap_dev", "numqueues", 4, 0)

/* What vhost_dev.worker is: nothing (6.5+), a thread (6.1), a pointer to or all of a vhost_worker. */
enum { SNAP_WORKER_NONE, SNAP_WORKER_TASK, SNAP_WORKER_POINTER, SNAP_WORKER_EMBEDDED };

#define SNAP_ABSENT (-1)

struct snap_layout {
#define SNAP_FIELD(name, module, type, path, bytes, needed) __s32 name;
	SNAP_OFFSETS(SNAP_FIELD)
#undef SNAP_FIELD
	__s32 dev_worker_kind;	/* SNAP_WORKER_* */
	__s32 xa_node_n_slots;
};

enum { SNAP_NET, SNAP_SCSI, SNAP_VSOCK, SNAP_TUN, SNAP_MACVTAP, SNAP_KINDS };

/* A class of character devices. The number is as the kernel has it: major << 20 | minor. */
struct snap_class {
	__u32 rdev, mask;	/* of a whole major: mask without the minor's bits */
	__u32 kind;
};
#define SNAP_CLASSES 8

/*
 * What one file may send at once has to fit the 32 KB buffer of a BPF iterator: devices with more
 * queues or workers are read a page at a time.
 */
#define SNAP_PAGE 128
#define SNAP_QUEUES 4096		/* no driver has more than 1026; a stale count is any number */
#define SNAP_WORKER_IDS 4096	/* ids looked at: the lowest free one is given first */

enum { SNAP_REC_DEVICE = 1, SNAP_REC_QUEUE, SNAP_REC_WORKER, SNAP_REC_TAP };

enum {
	/* of a device */
	SNAP_OWNED = 1 << 0,
	SNAP_ENDPOINT = 1 << 1,		/* scsi: wwpn is set */
	/* of a queue */
	SNAP_RING = 1 << 2,
	SNAP_KICK = 1 << 3,
	SNAP_CALL = 1 << 4,
	SNAP_BACKEND = 1 << 5,
	SNAP_STALE = 1 << 6,		/* freed while it was read: nothing in it counts */
	SNAP_ZEROCOPY = 1 << 7,
	/* of a tap's file */
	SNAP_DETACHED = 1 << 8,
	/* of a worker */
	SNAP_KTHREAD = 1 << 9,
};

struct snap_record {
	__u32 type, size;
};

/* An interface, as a tap's file or the queue that drives it shows it. */
struct snap_netdev {
	__u64 id_file;		/* of the tap's open file; 0: none */
	__u32 ifindex, netns;
	char name[16];
};

struct snap_device {
	struct snap_record r;
	__u32 kind, pid;
	__s32 fd;
	__u32 flags;
	__u32 from;		/* first queue and worker id of this page */
	__u32 n_queues;
	__u32 n_worker_ids;	/* ids are below this; 0: no worker */
	__s32 owner_pid;	/* 0: not known */
	__s32 fork_owner;	/* SNAP_ABSENT: this kernel has none */
	__u32 cid;
	__u32 tx_packets, tx_zcopy_err;
	__u64 id_file, id_dev;
	__u64 features;
	char wwpn[224];
};

struct snap_queue {
	struct snap_record r;
	__u32 index, flags;
	__u32 num, busyloop;
	__u16 avail_idx, last_avail_idx, last_used_idx, pad;
	__s32 worker_id, worker_tid;	/* SNAP_ABSENT: not known */
	__s32 upend_idx, done_idx;
	struct snap_netdev tap;
};

struct snap_worker {
	struct snap_record r;
	__u32 id, flags;
	__s32 tid, attached;
	char comm[16];
};

struct snap_tap {
	struct snap_record r;
	__u32 kind, pid;
	__s32 fd;
	__u32 flags;
	__s32 n_attached, n_detached, rx_batched;
	__u32 pad;
	struct snap_netdev dev;
};

#endif
