/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What comes, goes and changes of VMs, as events. Links, coalescing and the end of a process are told
 * by the kernel; new VMs and devices are found by looking: at new processes each interval,
 * at all of them as often as it costs no more than half a hundredth of a CPU.
 *
 * No socket in a namespace is kept while nothing is done there: it would keep the namespace.
 *
 * A change is told when it has lasted a moment, once, by what it has come to.
 */
#ifndef MONITOR_H
#define MONITOR_H

#include "monitor_event.h"
#include "netwatch.h"
#include "stopper.h"
#include "taps.h"

/* A tap of a VM: as it is, and as it was told. */
struct watched_tap {
	struct tap now, told;
	int id;			/* of its namespace, for netwatch */
	int64_t master_index;	/* as last notified; and the one that now.master is the name of */
	int64_t named_master_index;
	bool added;		/* nothing was told of it yet */
	bool lost;		/* no interface of this number is there any more */
	bool recheck;		/* notifications of it may have been lost, or a look failed */
	int64_t dirty_at;	/* when it first differed from what was told; 0: it does not */
};

struct watched_vm {
	struct vm_ref ref;
	char *name;
	struct device *devices;	/* id, kind and fd of each */
	size_t n_devices;
	struct watched_tap *taps;
	size_t n_taps;
	bool seen;		/* in the scan that is being taken in */
};

/* A tap that was told of and is no known VM's, or not yet. */
struct stranger {
	struct netwatch_news news;
	int64_t at_ns;
};

/* A process that may yet become a VM. */
struct young {
	pid_t pid;
	unsigned int looks;
	int64_t next_ns;
};

struct monitor {
	void (*tell)(const struct event *e, void *arg);
	void *arg;
	int64_t interval_ns;
	int close_fd;		/* ends when its reader has gone; -1: none */
	bool initial, closed;
	struct netwatch watch;
	struct watched_vm *vms;
	size_t n_vms;
	struct stranger *strangers;
	size_t n_strangers;
	int *pids;		/* of the last look at /proc, in order */
	size_t n_pids;
	struct young *young;
	size_t n_young;
	int64_t next_look_ns, next_scan_ns, scan_ns, scan_cost_ns;
	int64_t quiet_until_ns;	/* notifications are left to gather */
	struct error failure;	/* without descriptors not all VMs are seen any more */
	struct tap_visit visit;	/* of the work that is being done; closed after it */
};

/* Until a signal comes, or the reader has gone. */
int monitor_run(struct monitor *m, struct stopper *stopper, struct error *e);

/* ---- parts of monitor.c ---- */

/* monitor_vms.c: take in what a scan found. @whole: what it has not found is looked at and may be gone. */
void monitor_take_scan(struct monitor *m, struct state *s, bool whole);
void monitor_remove_vm(struct monitor *m, size_t index, const char *reason);
void monitor_free_vm(struct watched_vm *vm);
/* There is no descriptor left to watch another one. It does not get better by itself, so that is the end. */
void monitor_no_descriptor(struct monitor *m);

/* monitor_taps.c: notifications into taps; and what has lasted, told. */
void monitor_take_news(const struct netwatch_news *news, void *monitor);
void monitor_settle(struct monitor *m, int64_t now_ns);
/* Anything may have changed. */
void monitor_doubt_all(struct monitor *m);
/* A tap is there that is no VM's, and has had the time to be found at one. */
bool monitor_has_stranger(const struct monitor *m, int64_t now_ns);
/* When something is to be told at the latest; INT64_MAX: nothing is. */
int64_t monitor_next_settle(const struct monitor *m);
/* A tap that a scan found, as it is now. */
void monitor_begin_tap(struct monitor *m, struct watched_vm *vm, struct watched_tap *t);
void monitor_free_tap(struct watched_tap *t);
/* It has been told as it is. */
void monitor_told_tap(struct watched_tap *t);
/* An event of a tap of @vm; @reason may be NULL. */
void monitor_tell_tap(const struct monitor *m, enum event_type type, const struct watched_vm *vm,
		      const struct tap *t, const char *reason);

struct event monitor_event(const struct monitor *m, enum event_type type, const struct watched_vm *vm);

#endif
