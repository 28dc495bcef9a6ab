// SPDX-License-Identifier: GPL-2.0-or-later
/* Names and units as https://openmetrics.io has them: base units, _total for counters, # EOF at the end. */
#include "openmetrics.h"

#include <inttypes.h>
#include <string.h>

#include "escape.h"
#include "util.h"

/* One VM of the sample. */
struct place {
	FILE *f;
	const struct vm *vm;
	const struct vm_count *count;
	const struct ring_bases *rings;
	int64_t ticks_per_s;
	const char *name;	/* of the series that is written */
};

struct family {
	const char *name, *type, *unit, *help;
	void (*write)(const struct place *p);
};

static void put_label(FILE *f, const char *key, const char *value)
{
	_cleanup_free_ char *valid = escape_label(value);

	fprintf(f, "%s=\"", key);
	for (const char *c = valid; *c; c++) {
		if (*c == '\n')
			fputs("\\n", f);
		else if (*c == '"' || *c == '\\')
			fprintf(f, "\\%c", *c);
		else
			fputc(*c, f);
	}
	fputc('"', f);
}

static void put_number_label(FILE *f, const char *key, int64_t value)
{
	char text[24] = "";

	if (value != UNKNOWN)
		snprintf(text, sizeof(text), "%" PRId64, value);
	fputc(',', f);
	put_label(f, key, text);
}

/* The name and the labels that all have; to be followed by more labels and finish(). */
static void begin(const struct place *p)
{
	fprintf(p->f, "%s{", p->name);
	put_label(p->f, "vm", p->vm->name ? p->vm->name : "");
	put_number_label(p->f, "pid", p->vm->pid);
}

static void more(const struct place *p, const char *key, const char *value)
{
	fputc(',', p->f);
	put_label(p->f, key, value);
}

static void finish(const struct place *p, double value)
{
	fprintf(p->f, "} %.15g\n", value);
}

/* ---- threads ---- */

static void vm_cpu(const struct place *p)
{
	const int64_t ticks[] = { p->count->process.user_ticks, p->count->process.system_ticks };

	for (int i = 0; i < 2; i++) {
		if (ticks[i] == UNKNOWN)
			continue;
		begin(p);
		more(p, "mode", i ? "system" : "user");
		finish(p, (double)ticks[i] / (double)p->ticks_per_s);
	}
}

/* The device that the thread serves and its id there, where that is known. */
static void thread_labels(const struct place *p, const struct thread_count *t)
{
	const char *device = "";
	int64_t id = UNKNOWN;

	for (size_t i = 0; i < p->vm->n_devices; i++)
		for (size_t k = 0; k < p->vm->devices[i].n_workers; k++)
			if (p->vm->devices[i].workers[k].tid == t->tid) {
				device = p->vm->devices[i].id;
				id = p->vm->devices[i].workers[k].id;
			}
	begin(p);
	more(p, "device", device);
	put_number_label(p->f, "worker", id);
	put_number_label(p->f, "tid", t->tid);
}

static void worker_cpu(const struct place *p)
{
	for (size_t i = 0; i < p->count->n_threads; i++)
		if (p->count->threads[i].cpu_ns != UNKNOWN) {
			thread_labels(p, &p->count->threads[i]);
			finish(p, (double)p->count->threads[i].cpu_ns / 1e9);
		}
}

static void worker_wait(const struct place *p)
{
	for (size_t i = 0; i < p->count->n_threads; i++)
		if (p->count->threads[i].wait_ns != UNKNOWN) {
			thread_labels(p, &p->count->threads[i]);
			finish(p, (double)p->count->threads[i].wait_ns / 1e9);
		}
}

static void worker_switches(const struct place *p)
{
	for (size_t i = 0; i < p->count->n_threads; i++) {
		const struct thread_count *t = &p->count->threads[i];
		const int64_t values[] = { t->voluntary, t->involuntary };

		for (int k = 0; k < 2; k++) {
			if (values[k] == UNKNOWN)
				continue;
			thread_labels(p, t);
			more(p, "type", k ? "involuntary" : "voluntary");
			finish(p, (double)values[k]);
		}
	}
}

/* ---- queues ---- */

static void each_queue(const struct place *p, double (*value)(const struct queue *q))
{
	for (size_t i = 0; i < p->vm->n_devices; i++) {
		const struct device *d = &p->vm->devices[i];

		for (size_t k = 0; k < d->n_queues; k++) {
			double v = value(&d->queues[k]);

			if (v < 0)
				continue;
			begin(p);
			more(p, "device", d->id);
			put_number_label(p->f, "queue", d->queues[k].index);
			finish(p, v);
		}
	}
}

static double pending(const struct queue *q)
{
	return q->ring.known ? (double)ring_pending(&q->ring) : -1;
}

static double size(const struct queue *q)
{
	return q->ring.known ? (double)q->ring.size : -1;
}

/* Its microseconds are of 1024 ns: busy_clock() in drivers/vhost/net.c. */
static double busyloop(const struct queue *q)
{
	return q->busyloop_usecs == UNKNOWN ? -1 : (double)q->busyloop_usecs * 1.024e-6;
}

static void queue_pending(const struct place *p)
{
	each_queue(p, pending);
}

static void queue_size(const struct place *p)
{
	each_queue(p, size);
}

static void queue_busyloop(const struct place *p)
{
	each_queue(p, busyloop);
}

/* A ring in doubt has no number this time, and begins anew the next: better none than a wrong one. */
static void queue_entries(const struct place *p)
{
	for (size_t i = 0; p->rings && i < p->count->n_rings; i++) {
		const struct ring_count *r = &p->count->rings[i];
		int64_t n = ring_bases_entries(p->rings, p->vm, r);

		for (size_t d = 0; n >= 0 && d < p->vm->n_devices; d++) {
			if (p->vm->devices[d].fd != r->fd)
				continue;
			begin(p);
			more(p, "device", p->vm->devices[d].id);
			put_number_label(p->f, "queue", r->index);
			finish(p, (double)n);
		}
	}
}

/* ---- taps ---- */

static void each_tap(const struct place *p, size_t offset)
{
	for (size_t i = 0; i < p->vm->n_taps; i++) {
		const struct tap *t = &p->vm->taps[i];
		int64_t value;

		memcpy(&value, (const char *)t + offset, sizeof(value));
		if (value == UNKNOWN)
			continue;
		begin(p);
		more(p, "tap", t->ifname);
		put_number_label(p->f, "netns", t->netns);
		finish(p, (double)value);
	}
}

#define TAP_FAMILY(field) \
	static void tap_##field(const struct place *p) \
	{ \
		each_tap(p, offsetof(struct tap, field)); \
	}

TAP_FAMILY(rx_packets)
TAP_FAMILY(tx_packets)
TAP_FAMILY(rx_bytes)
TAP_FAMILY(tx_bytes)
TAP_FAMILY(rx_dropped)
TAP_FAMILY(tx_dropped)

static const struct family families[] = {
	{ "vhostctl_vm_cpu_seconds", "counter", "seconds", "CPU time of the process of the VM.", vm_cpu },
	{ "vhostctl_worker_cpu_seconds", "counter", "seconds", "CPU time of a vhost worker.", worker_cpu },
	{ "vhostctl_worker_wait_seconds", "counter", "seconds",
	  "Time that a vhost worker could have run but waited for a CPU.", worker_wait },
	{ "vhostctl_worker_context_switches", "counter", NULL, "Context switches of a vhost worker.",
	  worker_switches },
	{ "vhostctl_queue_entries", "counter", NULL,
	  "Ring entries that vhost returned to the guest since vhostctl was started.", queue_entries },
	{ "vhostctl_queue_pending_entries", "gauge", NULL,
	  "Ring entries that vhost has seen but not taken.", queue_pending },
	{ "vhostctl_queue_size_entries", "gauge", NULL, "Entries of the ring.", queue_size },
	{ "vhostctl_queue_busyloop_seconds", "gauge", "seconds", "Busy-loop timeout; 0 is off.",
	  queue_busyloop },
	{ "vhostctl_tap_receive_packets", "counter", NULL, "Packets from the VM.", tap_rx_packets },
	{ "vhostctl_tap_transmit_packets", "counter", NULL, "Packets to the VM.", tap_tx_packets },
	{ "vhostctl_tap_receive_bytes", "counter", "bytes", "Bytes from the VM.", tap_rx_bytes },
	{ "vhostctl_tap_transmit_bytes", "counter", "bytes", "Bytes to the VM.", tap_tx_bytes },
	{ "vhostctl_tap_receive_dropped_packets", "counter", NULL, "Packets from the VM that were dropped.",
	  tap_rx_dropped },
	{ "vhostctl_tap_transmit_dropped_packets", "counter", NULL, "Packets to the VM that were dropped.",
	  tap_tx_dropped },
};

static void write_family(FILE *f, const struct family *family, const struct stat_sample *s,
			 const struct ring_bases *rings)
{
	char name[64];

	fprintf(f, "# TYPE %s %s\n", family->name, family->type);
	if (family->unit)
		fprintf(f, "# UNIT %s %s\n", family->name, family->unit);
	fprintf(f, "# HELP %s %s\n", family->name, family->help);
	snprintf(name, sizeof(name), "%s%s", family->name, !strcmp(family->type, "counter") ? "_total" : "");
	for (size_t i = 0; i < s->state.n_vms; i++) {
		const struct vm *vm = &s->state.vms[i];

		family->write(&(struct place){ .f = f, .vm = vm, .count = &s->counts[i], .name = name,
					       .rings = rings, .ticks_per_s = s->ticks_per_s });
	}
}

char *openmetrics(const struct stat_sample *s, const struct ring_bases *rings)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		write_family(f, &families[i], s, rings);
	fputs("# EOF\n", f);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}
