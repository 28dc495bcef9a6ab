/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes samples of VMs, and looks at their rings in between, as often as their indices could go
 * round. With the kernel snapshot no thread is stopped. Without it, the owner's context is asked
 * once for what does not change; of rings nothing is known then.
 */
#ifndef SAMPLER_H
#define SAMPLER_H

#include "owner.h"
#include "sample.h"
#include "snapshot.h"
#include "source.h"
#include "stopper.h"
#include "taps.h"

struct sampled_ring {
	pid_t pid;
	int fd;
	unsigned int index;
	bool seen;		/* since the last sample began */
	struct ring_meter meter;
};

/* Sockets in a network namespace, which they keep from ending: for as long as each sample has a tap there. */
struct sampled_space {
	struct tap_visit visit;
	bool used;		/* by this sample */
};

struct sampled_cpu {
	pid_t tid;
	int64_t cpu_ns, at_ns;
};

struct sampler {
	char **texts;		/* targets, by pid and fd; none: every VM */
	size_t n_texts;
	uint64_t start_time;	/* of the VM that the targets are of */
	enum source want;
	struct snapshot_session *snapshot;	/* NULL: the owner's context */
	struct error why;	/* there is none */
	struct state told;	/* by the owners */
	bool asked;
	/* May be set once it is open: called for each VM that was asked, with what touched it. */
	void (*tell)(const struct vm *vm, const struct owner_log *log, void *arg);
	void *arg;
	pid_t *pids;		/* to look at */
	size_t n_pids;
	struct sampled_ring *rings;
	size_t n_rings;
	struct sampled_cpu *cpus;
	size_t n_cpus;
	bool busy;		/* a worker was, between the last two looks */
	int64_t look_cost_ns;
	struct sampled_space *spaces;
	size_t n_spaces;
};

/* @text: a TARGET; NULL: every VM of this host. To be closed in any case. */
int sampler_open(struct sampler *s, const char *text, enum source want, struct error *e);
void sampler_close(struct sampler *s);

/* STATUS_NOT_FOUND when a VM that was named is gone. A part that cannot be read has its own error. */
int sampler_take(struct sampler *s, struct stat_sample *out, struct error *e);

/* Settings have changed: without a snapshot, the owner is asked again for the next sample. */
void sampler_forget(struct sampler *s);

/* Looks at rings until the clock says @until_ns, or a signal came: stopper->got. */
int sampler_wait(struct sampler *s, int64_t until_ns, struct stopper *stopper);

#endif
