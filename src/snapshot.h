/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel snapshot: the kernel's own vhost and tap structures, read by a BPF iterator over open
 * files, with no thread of any VM stopped. It takes CAP_BPF and CAP_PERFMON, and a kernel
 * with type information. Where it cannot be had, the error says why.
 */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "error.h"
#include "snapshot_types.h"
#include "state.h"

struct snapshot_device {
	struct snap_device d;
	struct snap_queue *queues;
	size_t n_queues;
	struct snap_worker *workers;
	size_t n_workers;
};

struct snapshot {
	bool has[SNAP_KINDS];		/* kinds of files whose types this kernel tells */
	int64_t zcopytx;		/* vhost_net's parameter experimental_zcopytx; UNKNOWN */
	size_t bytes;			/* of all records */
	struct snapshot_device *devices;
	size_t n_devices;
	struct snap_tap *taps;
	size_t n_taps;
};

/* Of the process @pid, or of all processes (0). */
int snapshot_take(pid_t pid, struct snapshot *s, struct error *e);

/* For who takes many: what is loaded into the kernel stays there until the session is closed. */
struct snapshot_session;
int snapshot_open(struct snapshot_session **session, struct error *e);
int snapshot_again(struct snapshot_session *session, pid_t pid, struct snapshot *s, struct error *e);
void snapshot_close(struct snapshot_session *session);

void snapshot_free(struct snapshot *s);

/* Take in what one read() after the other gave. Pure. -1 when it is no stream of records. */
int snapshot_parse(struct snapshot *s, const void *data, size_t len);
/* Up to which queue or worker id @d goes on past its first page; 0: it does not. */
unsigned int snapshot_rest(const struct snapshot_device *d);

/*
 * Fill @vm with what the snapshot has of it: queues, workers with their threads, taps. A device that it does
 * not have gets an error of its own.
 */
void snapshot_merge(const struct snapshot *s, struct vm *vm);

/* Whether all devices of @vm are of kinds that the snapshot has. */
bool snapshot_can_serve(const struct snapshot *s, const struct vm *vm);

#endif
