// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure.h"

#include <math.h>
#include <string.h>

#include "util.h"

static struct metric *metric_of(struct measure *m, const char *target, const char *name)
{
	struct metric *metric;

	for (size_t i = 0; i < m->n_metrics; i++)
		if (!strcmp(m->metrics[i].name, name) && !strcmp(m->metrics[i].target, target))
			return &m->metrics[i];
	metric = ARRAY_ADD(m->metrics, m->n_metrics);
	metric->target = xstrdup(target);
	metric->name = name;
	return metric;
}

static void add(struct measure *m, enum side side, const char *target, const char *name, double value)
{
	struct series *s = &metric_of(m, target, name)->sides[side];

	if (!isfinite(value))
		return;
	if (!s->n || value < s->min)
		s->min = value;
	if (!s->n || value > s->max)
		s->max = value;
	s->n++;
	s->sum += value;
	s->squares += value * value;
}

static void add_worker(struct measure *m, enum side side, const char *vm, const struct worker_rate *w)
{
	_cleanup_free_ char *target = *w->device && w->id != UNKNOWN
		? xasprintf("%s/%s/worker%lld", vm, w->device, (long long)w->id)
		: xasprintf("%s/thread%lld", vm, (long long)w->tid);

	add(m, side, target, "cpu_percent", w->cpu_percent);
	add(m, side, target, "wait_percent", w->wait_percent);
	add(m, side, target, "switches_per_s", w->voluntary_per_s + w->involuntary_per_s);
	add(m, side, target, "ns_per_entry", w->ns_per_entry);
}

static void add_device(struct measure *m, enum side side, const char *vm, const struct device_rate *d)
{
	for (size_t i = 0; i < d->n_queues; i++) {
		const struct queue_rate *q = &d->queues[i];
		_cleanup_free_ char *target = *q->name ? xasprintf("%s/%s/%s", vm, d->id, q->name)
						       : xasprintf("%s/%s/%u", vm, d->id, q->index);

		add(m, side, target, "entries_per_s", q->entries_per_s);
		if (d->kind == DEVICE_NET)
			add(m, side, target, "packets_per_s", q->packets_per_s);
	}
}

static void add_tap(struct measure *m, enum side side, const char *vm, const struct tap_rate *t)
{
	_cleanup_free_ char *target = xasprintf("%s/%s", vm, t->ifname);

	add(m, side, target, "rx_packets_per_s", t->rx_packets_per_s);
	add(m, side, target, "tx_packets_per_s", t->tx_packets_per_s);
	add(m, side, target, "rx_bytes_per_s", t->rx_bytes_per_s);
	add(m, side, target, "tx_bytes_per_s", t->tx_bytes_per_s);
	add(m, side, target, "dropped_per_s", t->rx_dropped_per_s + t->tx_dropped_per_s);
}

static void add_vm(struct measure *m, enum side side, const struct vm_rate *r)
{
	_cleanup_free_ char *vm = r->name ? xstrdup(r->name) : xasprintf("%d", (int)r->pid);

	add(m, side, vm, "cpu_percent", r->cpu_percent);
	add(m, side, vm, "worker_cpu_percent", r->worker_cpu_percent);
	for (size_t i = 0; i < r->n_taps; i++)
		add_tap(m, side, vm, &r->taps[i]);
	for (size_t i = 0; i < r->n_devices; i++)
		add_device(m, side, vm, &r->devices[i]);
	for (size_t i = 0; i < r->n_workers; i++)
		add_worker(m, side, vm, &r->workers[i]);
}

void measure_add(struct measure *m, enum side side, const struct rates *r)
{
	m->seconds[side] += r->seconds;
	for (size_t i = 0; i < r->n_vms; i++)
		add_vm(m, side, &r->vms[i]);
}

void measure_free(struct measure *m)
{
	for (size_t i = 0; i < m->n_metrics; i++)
		free(m->metrics[i].target);
	free(m->metrics);
	*m = (struct measure){ 0 };
}

double series_mean(const struct series *s)
{
	return s->n ? s->sum / s->n : NAN;
}

/* By Newton's method: the only root that is needed is not worth libm. */
static double square_root(double x)
{
	double root = x > 1 ? x : 1;

	for (int i = 0; x > 0 && i < 200; i++)
		root = (root + x / root) / 2;
	return x > 0 ? root : 0;
}

double series_stddev(const struct series *s)
{
	return s->n < 2 ? NAN : square_root((s->squares - s->sum * s->sum / s->n) / (s->n - 1));
}

double metric_ratio(const struct metric *m)
{
	double before = series_mean(&m->sides[SIDE_BASELINE]);

	return before > 0 ? series_mean(&m->sides[SIDE_TRIAL]) / before : NAN;
}
