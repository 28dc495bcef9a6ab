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

/* From where the entries of each ring are counted, for a counter that goes on for long. */
struct ring_base {
	pid_t pid;
	uint64_t start_time;
	struct ring_count from;
	bool seen;		/* in the sample that came last */
	bool fresh;		/* counted from that sample on: there is nothing to tell yet */
};

struct ring_bases {
	struct ring_base *items;
	size_t n;
};

/*
 * Take in the rings of @s: new ones begin there, as do those of which it is not known how far they
 * have come.
 */
void ring_bases_update(struct ring_bases *b, const struct stat_sample *s);
/* Entries of ring @now of @vm; -1 if that is not known. */
int64_t ring_bases_entries(const struct ring_bases *b, const struct vm *vm, const struct ring_count *now);
void ring_bases_free(struct ring_bases *b);

#endif
