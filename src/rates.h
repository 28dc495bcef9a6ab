/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What happened between two samples of a VM, by the second. Pure: samples come from sample.h,
 * texts are made by json_rates.c, rates_table.c and openmetrics.c.
 *
 * Not known is NAN, for integers UNKNOWN.
 */
#ifndef RATES_H
#define RATES_H

#include "sample.h"

struct worker_rate {
	char device[16];		/* "net0"; "": which device it serves is not known */
	int64_t id, tid;
	char comm[64];
	double cpu_percent, user_percent, system_percent;	/* 100: one CPU */
	double wait_percent;		/* of the time: it could have run, but waited for a CPU */
	double voluntary_per_s, involuntary_per_s;	/* context switches */
	double ns_per_entry;		/* CPU time for each ring entry of the queues it serves */
	int64_t spinning;		/* 0, 1: see rates_is_spinning() */
};

enum packets_source { PACKETS_UNKNOWN, PACKETS_TAP, PACKETS_RING };

struct queue_rate {
	unsigned int index;
	char name[16];
	int64_t busyloop_usecs, worker_id, worker_tid;
	int64_t size, pending;		/* at the end */
	double entries_per_s;		/* that vhost returned to the guest */
	double packets_per_s;
	enum packets_source packets_source;
};

struct device_rate {
	char id[16];
	enum device_kind kind;
	char *tap;
	double zerocopy_percent;	/* of the packets that its tx sent lately */
	struct queue_rate *queues;
	size_t n_queues;
	struct error *errors;
	size_t n_errors;
};

/* rx: what the VM sent. */
struct tap_rate {
	char ifname[16];
	int64_t ifindex, netns;
	double rx_packets_per_s, tx_packets_per_s, rx_bytes_per_s, tx_bytes_per_s;
	double rx_dropped_per_s, tx_dropped_per_s;
	struct error *errors;
	size_t n_errors;
};

struct vm_rate {
	pid_t pid;
	char *name;
	double cpu_percent, user_percent, system_percent;	/* of its process */
	double worker_cpu_percent;	/* of the workers below, together */
	/* of the taps below, together */
	double rx_packets_per_s, tx_packets_per_s, rx_bytes_per_s, tx_bytes_per_s, dropped_per_s;
	struct device_rate *devices;
	size_t n_devices;
	struct worker_rate *workers;
	size_t n_workers;
	struct tap_rate *taps;
	size_t n_taps;
	struct error *errors;
	size_t n_errors;
};

struct rates {
	char kernel[65];
	const char *source;
	double time;			/* seconds since 1970, at the end */
	double seconds;			/* between the samples */
	struct vm_rate *vms;
	size_t n_vms;
	struct error *errors;
	size_t n_errors;
};

/* VMs that are in both; what is in one only has no rates. */
void rates_make(const struct stat_sample *from, const struct stat_sample *to, struct rates *r);
void rates_free(struct rates *r);

/*
 * A worker busy-polls for nothing when a queue of it has a busy-loop timeout, it used half a CPU
 * or more, and 20 us of it or more for each ring entry. To move a packet takes about one.
 * UNKNOWN when one of these is.
 */
int64_t rates_is_spinning(int64_t busyloop_usecs, double cpu_percent, double ns_per_entry);

#endif
