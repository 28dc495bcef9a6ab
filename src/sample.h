/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts of VMs at one moment: of threads, rings and taps. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include "ring_meter.h"
#include "state.h"

/* A number UNKNOWN is one that could not be read. */
struct thread_count {
	int64_t tid;
	uint64_t start_time;		/* ticks since boot: with the tid, which thread it is */
	char comm[64];
	int64_t at_ns;			/* CLOCK_MONOTONIC */
	int64_t cpu_ns, wait_ns;
	int64_t user_ticks, system_ticks;
	int64_t voluntary, involuntary;	/* context switches */
};

struct ring_count {
	int fd;				/* of the device */
	unsigned int index;
	struct ring_total total;
};

/* Beside each VM of the sample's state. */
struct vm_count {
	struct thread_count process;	/* all threads of it together */
	struct thread_count *threads;	/* vhost's */
	size_t n_threads;
	struct ring_count *rings;
	size_t n_rings;
	int64_t *tap_at_ns;		/* when each of the VM's taps was read; UNKNOWN: not */
};

struct stat_sample {
	int64_t at_ns;
	double time;			/* seconds since 1970 */
	int64_t ticks_per_s;
	struct state state;
	struct vm_count *counts;	/* as many as state.n_vms */
};

void sample_free(struct stat_sample *s);

#endif
