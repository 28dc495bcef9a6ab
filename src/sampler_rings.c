// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler_rings.h"

#include <fcntl.h>
#include <string.h>

#include "procfs.h"
#include "util.h"

/* More than this part of its time, and a worker may move many entries between two slow looks. */
#define BUSY_PART 20

/* In /proc/TID the times are those of all threads that TID is one of. */
void thread_count_read(pid_t tid, bool process, struct thread_count *t)
{
	_cleanup_proc_text_ struct proc_text schedstat = { 0 };
	_cleanup_proc_text_ struct proc_text status = { 0 };
	_cleanup_close_ int fd = -1;
	struct proc_stat st;
	char path[48];

	*t = (struct thread_count){ .tid = tid, .at_ns = clock_ns(), .cpu_ns = UNKNOWN, .wait_ns = UNKNOWN,
				    .user_ticks = UNKNOWN, .system_ticks = UNKNOWN, .voluntary = UNKNOWN,
				    .involuntary = UNKNOWN };
	if (process)
		snprintf(path, sizeof(path), "/proc/%d", (int)tid);
	else
		snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)tid, (int)tid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || proc_read_stat(fd, "stat", &st))
		return;
	t->start_time = st.start_time;
	memcpy(t->comm, st.comm, sizeof(t->comm));
	t->user_ticks = (int64_t)st.user_ticks;
	t->system_ticks = (int64_t)st.system_ticks;
	if (!proc_read(fd, "schedstat", 4096, &schedstat))
		proc_parse_schedstat(schedstat.data, schedstat.len, &t->cpu_ns, &t->wait_ns);
	if (!proc_read(fd, "status", 1 << 16, &status)) {
		t->voluntary = proc_field_number(status.data, status.len, "voluntary_ctxt_switches", 10);
		t->involuntary = proc_field_number(status.data, status.len, "nonvoluntary_ctxt_switches", 10);
	}
}

static struct sampled_cpu *cpu_of(struct sampler *s, pid_t tid)
{
	struct sampled_cpu *c;

	for (size_t i = 0; i < s->n_cpus; i++)
		if (s->cpus[i].tid == tid)
			return &s->cpus[i];
	c = ARRAY_ADD(s->cpus, s->n_cpus);
	*c = (struct sampled_cpu){ .tid = tid, .cpu_ns = UNKNOWN };
	return c;
}

/* Once for each thread and look. */
static int64_t read_cpu(struct sampler *s, int64_t tid, int64_t at_ns)
{
	_cleanup_proc_text_ struct proc_text text = { 0 };
	struct sampled_cpu *c;
	int64_t run, wait;
	char path[48];

	if (tid == SNAP_ABSENT)
		return UNKNOWN;
	c = cpu_of(s, (pid_t)tid);
	if (c->cpu_ns != UNKNOWN && c->at_ns == at_ns)
		return c->cpu_ns;
	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)tid);
	if (proc_read(AT_FDCWD, path, 4096, &text) || proc_parse_schedstat(text.data, text.len, &run, &wait))
		run = UNKNOWN;
	s->busy |= run == UNKNOWN || c->cpu_ns == UNKNOWN ||
		   (run - c->cpu_ns) * BUSY_PART > at_ns - c->at_ns;
	c->cpu_ns = run;
	c->at_ns = at_ns;
	return run;
}

static struct sampled_ring *ring_at(struct sampler *s, pid_t pid, int fd, unsigned int index)
{
	struct sampled_ring *r;

	for (size_t i = 0; i < s->n_rings; i++)
		if (s->rings[i].pid == pid && s->rings[i].fd == fd && s->rings[i].index == index)
			return &s->rings[i];
	r = ARRAY_ADD(s->rings, s->n_rings);
	*r = (struct sampled_ring){ .pid = pid, .fd = fd, .index = index, .meter = RING_METER_INIT };
	return r;
}

static void feed_device(struct sampler *s, const struct snapshot_device *sd, int64_t at_ns)
{
	for (size_t i = 0; i < sd->n_queues; i++) {
		const struct snap_queue *q = &sd->queues[i];
		struct sampled_ring *r;
		struct ring_look look = {
			.id = sd->d.id_dev, .used_idx = q->last_used_idx, .at_ns = at_ns,
			.worker_tid = UNKNOWN,
		};

		if (q->flags & SNAP_STALE || !(q->flags & SNAP_RING))
			continue;
		look.worker_cpu_ns = read_cpu(s, q->worker_tid, at_ns);
		if (q->worker_tid != SNAP_ABSENT)
			look.worker_tid = q->worker_tid;
		r = ring_at(s, (pid_t)sd->d.pid, sd->d.fd, q->index);
		r->seen = true;
		ring_meter_look(&r->meter, &look);
	}
}

void sampler_feed(struct sampler *s, const struct snapshot *snap, int64_t at_ns)
{
	for (size_t i = 0; i < snap->n_devices; i++)
		feed_device(s, &snap->devices[i], at_ns);
}

void sampler_count_rings(const struct sampler *s, pid_t pid, struct vm_count *c)
{
	for (size_t i = 0; i < s->n_rings; i++)
		if (s->rings[i].pid == pid)
			*ARRAY_ADD(c->rings, c->n_rings) = (struct ring_count){
				.fd = s->rings[i].fd, .index = s->rings[i].index,
				.total = s->rings[i].meter.total };
}

void sampler_prune(struct sampler *s)
{
	int64_t newest = 0;
	size_t n = 0;

	for (size_t i = 0; i < s->n_rings; i++)
		if (s->rings[i].seen) {
			s->rings[n] = s->rings[i];
			s->rings[n++].seen = false;
		}
	s->n_rings = n;
	for (size_t i = 0; i < s->n_cpus; i++)
		if (s->cpus[i].at_ns > newest)
			newest = s->cpus[i].at_ns;
	n = 0;
	/* A thread that was not read for ten seconds serves nothing here any more. */
	for (size_t i = 0; i < s->n_cpus; i++)
		if (s->cpus[i].at_ns > newest - 10000000000)
			s->cpus[n++] = s->cpus[i];
	s->n_cpus = n;
}
