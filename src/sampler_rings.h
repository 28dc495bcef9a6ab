/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of sampler.c: what is counted of threads and rings. */
#ifndef SAMPLER_RINGS_H
#define SAMPLER_RINGS_H

#include "sampler.h"

/* Of thread @tid by itself, or of the @process of that pid; start_time 0 when there is none. */
void thread_count_read(pid_t tid, bool process, struct thread_count *t);

/* One snapshot into the meters of its rings. */
void sampler_feed(struct sampler *s, const struct snapshot *snap, int64_t at_ns);
/* What the meters of a process have come to. */
void sampler_count_rings(const struct sampler *s, pid_t pid, struct vm_count *c);
/* Meters of rings that were not there in the last sample are not needed any more. */
void sampler_prune(struct sampler *s);

#endif
