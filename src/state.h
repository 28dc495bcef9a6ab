/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was seen, as plain structs: the model between those who ask the kernel
 * and those who print. Nothing here asks or prints.
 *
 * Not known is never 0: integers use UNKNOWN, strings and arrays NULL. Both are
 * null in JSON and "-" in a table.
 */
#ifndef STATE_H
#define STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "error.h"

#define UNKNOWN INT64_MIN

enum device_kind { DEVICE_NET, DEVICE_SCSI, DEVICE_VSOCK, DEVICE_VDPA, DEVICE_KINDS };

/* How a worker runs: as a "vhost task", a thread of the VM's own (6.4+), or as a kernel thread. */
enum worker_mode { WORKER_MODE_UNKNOWN, WORKER_MODE_TASK, WORKER_MODE_KTHREAD };

/* How it is known which tap a vhost-net device drives. */
enum tap_source {
	TAP_SOURCE_NONE, TAP_SOURCE_SNAPSHOT, TAP_SOURCE_CMDLINE, TAP_SOURCE_SOLE, TAP_SOURCE_ELIMINATION,
};

/* A queue's ring as the kernel has it. Only the snapshot tells; not known as a whole, or all of it. */
struct ring {
	bool known;
	bool set_up;			/* the VMM gave it a ring, an eventfd or a size */
	unsigned int size;		/* entries */
	uint16_t avail_idx;		/* of the guest's ring, as vhost last read it */
	uint16_t last_avail_idx;	/* vhost has taken what is before it */
	uint16_t last_used_idx;		/* vhost has returned what is before it */
	bool backend, kick, call;
	char tap[16];			/* interface behind its backend; "" if none */
};

/* What is yes, no or not known, in an int64_t as the numbers are. */
#define KNOWN(yes) ((int64_t)!!(yes))

struct queue {
	unsigned int index;
	char name[16];			/* "rx", "tx", "ctl", "event", "req0"; "" if it has none */
	int64_t busyloop_usecs;		/* kernel's unit: 1.024 us; UNKNOWN where it has no meaning */
	int64_t worker_id;		/* per device, 0 is the default worker */
	int64_t worker_tid;
	struct ring ring;
};

/* A thread that serves queues, as the scheduler sees it. */
struct worker {
	int64_t id;			/* UNKNOWN in a VM's list of threads */
	int64_t tid;
	char comm[64];			/* as the kernel has it: may hold any byte but NUL */
	enum worker_mode mode;
	char *cpus;			/* "0-3,8" */
	char policy[16];		/* "other", "fifo", "rr", "batch", "idle", "deadline"; "" unknown */
	int64_t nice;
	char *cgroup;			/* path in the unified (or first) hierarchy */
	int64_t cpu_ns;
	unsigned int *queues;		/* indices served; NULL: not known; none of them: idle */
	size_t n_queues;
	bool attachments_known;
	unsigned int attachments;	/* queues served, as the kernel counts them (6.5+) */
};

/* Zero-copy transmission of a vhost-net device. Only the snapshot tells. */
struct zerocopy {
	bool known;
	bool enabled;			/* its tx ring was set up for it */
	int64_t module;			/* vhost_net's experimental_zcopytx: 0 or 1 */
	unsigned int packets, forced_copies;	/* sent since a count to 1024 began anew */
	unsigned int in_flight;
};

/* What the kernel's own structures add on a device. Only the snapshot tells. */
struct device_inside {
	bool known;
	int64_t owner_pid;		/* whose mm took ownership */
	int64_t fork_owner;		/* 0 or 1; UNKNOWN before it was there */
	bool acked_known;
	uint64_t acked_features;	/* what the guest's driver and the VMM took of the features */
	char *wwpn;			/* scsi, once its endpoint is set */
	int64_t cid;			/* vsock */
	int64_t tap_ifindex, tap_netns, tap_fd;
	struct zerocopy zerocopy;
};

struct device {
	char id[16];			/* "net0": kind and ordinal by fd number */
	enum device_kind kind;
	int fd;				/* in the VM's process */
	char *path;			/* what the fd's link says; any bytes */
	bool features_known;
	uint64_t features;		/* VHOST_GET_FEATURES: what the device offers */
	bool backend_features_known;
	uint64_t backend_features;
	enum worker_mode worker_mode;
	char *tap;			/* interface name */
	enum tap_source tap_source;
	pid_t *holders;			/* other processes that hold the same open file */
	size_t n_holders;
	struct queue *queues;
	size_t n_queues;
	bool queues_known;
	unsigned int vmm_queues;	/* the VMM has the first so many of them; 0: not told */
	struct worker *workers;
	size_t n_workers;
	bool workers_known;
	struct device_inside inside;
	struct error *errors;
	size_t n_errors;
};

/* What the kernel's own structures add on a tap. Only the snapshot tells. */
struct tap_inside {
	bool known;
	int64_t rx_batched;		/* rx-frames as tun has it; UNKNOWN for a macvtap */
};

struct tap {
	char ifname[16];		/* IFNAMSIZ; may hold any byte but NUL and '/' */
	char *path;			/* of the fd: /dev/net/tun or /dev/tapN */
	bool macvtap;
	int64_t ifindex;
	int64_t netns;			/* inode of the namespace the interface is in */
	int *fds;			/* one per queue */
	size_t n_fds;
	int64_t rx_frames, rx_frames_max;
	int64_t vhost;			/* 0, 1: does a vhost-net device drive it? */
	int64_t mtu;
	char *master;			/* its bridge or bond */
	char *alias;
	char operstate[24];		/* "up", "unknown" as the kernel has it; "" unknown to us */
	int64_t multi_queue, vnet_hdr, persist;		/* 0, 1: flags of a tun device */
	int64_t numqueues, numdisabled;	/* of a tap with multi_queue; by snapshot, of any */
	int64_t rx_packets, tx_packets, rx_dropped, tx_dropped;	/* rx: from the VM */
	int64_t rx_bytes, tx_bytes;
	struct tap_inside inside;
	struct error *errors;
	size_t n_errors;
};

struct vm {
	pid_t pid;
	uint64_t start_time;		/* field 22 of stat, clock ticks: guards against pid reuse */
	char *name;			/* from the command line; any bytes; NULL: none given */
	char *uuid;
	char comm[64];
	char *cgroup;
	int64_t netns;
	struct device *devices;
	size_t n_devices;
	struct tap *taps;
	size_t n_taps;
	int *idle_tuns;			/* fds of tun files without an interface: disabled queues */
	size_t n_idle_tuns;
	bool locked;			/* it does not let itself be looked into (aside_answers()) */
	bool name_unread;		/* nor its command line: it may have any name, and any uuid */
	struct worker *threads;		/* every vhost worker of the VM, whichever device it serves */
	size_t n_threads;
	struct error *errors;
	size_t n_errors;
};

struct state {
	char kernel[65];		/* uname release */
	const char *source;		/* "snapshot", "owner"; NULL when neither was asked (list) */
	struct vm *vms;
	size_t n_vms;
	struct tap *taps;		/* named by themselves, not by the VM that has them */
	size_t n_taps;
	bool files_unknown;		/* which fds are of one file, within a VM or of two (sharing.h) */
	struct error *errors;		/* what concerns no single VM */
	size_t n_errors;
};

/*
 * What a command changed. @after is what a read-back said.
 * Setting "worker": one came to be (before UNKNOWN) or is gone (after UNKNOWN), by its id.
 */
struct change {
	char *target;			/* "vm1/net0/rx" */
	pid_t pid;			/* 0: not of a VM */
	const char *setting;		/* "busyloop_usecs", "worker", "worker_id", "cpus", "rx_frames" */
	int64_t before, after;
	char *before_text, *after_text;	/* of "cpus", in place of the numbers; else NULL */
	bool concerns_worker;		/* the two below have a meaning */
	int64_t worker_id, worker_tid;
	bool applied;			/* false for --dry-run */
};

struct changes {
	struct change *items;
	size_t n;
	struct error *errors;		/* what was refused beside them, where that does not undo them */
	size_t n_errors;
};

/* Everything unknown. */
void tap_init(struct tap *t);
/* Everything but which interface it is. */
void tap_init_as(struct tap *t, const struct tap *same);

void state_free(struct state *s);
void vm_free(struct vm *vm);
void device_free(struct device *d);
void tap_free(struct tap *t);
/* What a worker, or all of a device's, point to; those of the device are none then, and not known. */
void worker_free(struct worker *w);
void device_forget_workers(struct device *d);
void device_forget_queues(struct device *d);
void changes_free(struct changes *c);

/* NULL: there is none, or it is not known. */
struct device *device_with_fd(const struct vm *vm, int fd);
struct tap *tap_with_fd(const struct vm *vm, int fd);
struct worker *device_worker(const struct device *d, int64_t id);
struct worker *vm_thread(const struct vm *vm, int64_t tid);

/* A queue more, of which no more is known than its name. */
struct queue *device_add_queue(struct device *d, unsigned int index);

/* @count errors more behind the @n of @into. */
void errors_add(struct error **into, size_t *n, const struct error *errors, size_t count);

/* What the scheduler tells of @thread, into @w, which has none of it yet. */
void worker_copy_thread(struct worker *w, const struct worker *thread);

const char *device_kind_name(enum device_kind kind);	/* "net" */
const char *worker_mode_name(enum worker_mode mode);	/* "task"; NULL if unknown */
/* What an operator should know of how @w runs beside its VM; NULL: nothing. */
const char *worker_remark(const struct vm *vm, const struct worker *w);
const char *tap_source_name(enum tap_source source);	/* "cmdline"; NULL if none */

/* Entries that the guest has made available and vhost has seen but not taken; UNKNOWN if so. */
int64_t ring_pending(const struct ring *r);

/* Name of queue @index of a device of @kind into @name; "" where the kind has no names. */
void queue_name(enum device_kind kind, unsigned int index, char name[16]);

#endif
