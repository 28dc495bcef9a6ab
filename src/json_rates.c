// SPDX-License-Identifier: GPL-2.0-or-later
#include "json_rates.h"

#include "json_parts.h"

static void put_rate(json_t *o, const char *key, double value)
{
	put_real(o, key, value, 2);
}

static json_t *queue_json(const struct queue_rate *q)
{
	static const char *const sources[] = { NULL, "tap", "ring" };
	json_t *o = json_object();

	put_int(o, "index", q->index);
	put_nonempty(o, "name", q->name);
	put_int(o, "busyloop_usecs", q->busyloop_usecs);
	put_int(o, "worker_id", q->worker_id);
	put_int(o, "worker_tid", q->worker_tid);
	put_int(o, "size", q->size);
	put_int(o, "pending", q->pending);
	put_rate(o, "entries_per_s", q->entries_per_s);
	put_rate(o, "packets_per_s", q->packets_per_s);
	put_string(o, "packets_source", sources[q->packets_source]);
	return o;
}

static json_t *device_json(const struct device_rate *d)
{
	json_t *o = json_object();

	put_string(o, "id", d->id);
	put_string(o, "kind", device_kind_name(d->kind));
	put_string(o, "tap", d->tap);
	put_rate(o, "zerocopy_percent", d->zerocopy_percent);
	put(o, "queues", JSON_LIST(i, d->n_queues, queue_json(&d->queues[i])));
	put(o, "errors", json_errors(d->errors, d->n_errors));
	return o;
}

static json_t *worker_json(const struct worker_rate *w)
{
	json_t *o = json_object();

	put_nonempty(o, "device", w->device);
	put_int(o, "id", w->id);
	put_int(o, "tid", w->tid);
	put_nonempty(o, "comm", w->comm);
	put_rate(o, "cpu_percent", w->cpu_percent);
	put_rate(o, "user_percent", w->user_percent);
	put_rate(o, "system_percent", w->system_percent);
	put_rate(o, "wait_percent", w->wait_percent);
	put_rate(o, "voluntary_switches_per_s", w->voluntary_per_s);
	put_rate(o, "involuntary_switches_per_s", w->involuntary_per_s);
	put_rate(o, "ns_per_entry", w->ns_per_entry);
	put_flag(o, "spinning", w->spinning);
	return o;
}

static json_t *tap_json(const struct tap_rate *t)
{
	json_t *o = json_object();

	put_nonempty(o, "ifname", t->ifname);
	put_int(o, "ifindex", t->ifindex);
	put_int(o, "netns", t->netns);
	put_rate(o, "rx_packets_per_s", t->rx_packets_per_s);
	put_rate(o, "tx_packets_per_s", t->tx_packets_per_s);
	put_rate(o, "rx_bytes_per_s", t->rx_bytes_per_s);
	put_rate(o, "tx_bytes_per_s", t->tx_bytes_per_s);
	put_rate(o, "rx_dropped_per_s", t->rx_dropped_per_s);
	put_rate(o, "tx_dropped_per_s", t->tx_dropped_per_s);
	put(o, "errors", json_errors(t->errors, t->n_errors));
	return o;
}

static json_t *total_json(const struct vm_rate *r)
{
	json_t *o = json_object();

	put_rate(o, "cpu_percent", r->cpu_percent);
	put_rate(o, "user_percent", r->user_percent);
	put_rate(o, "system_percent", r->system_percent);
	put_rate(o, "worker_cpu_percent", r->worker_cpu_percent);
	put_rate(o, "rx_packets_per_s", r->rx_packets_per_s);
	put_rate(o, "tx_packets_per_s", r->tx_packets_per_s);
	put_rate(o, "rx_bytes_per_s", r->rx_bytes_per_s);
	put_rate(o, "tx_bytes_per_s", r->tx_bytes_per_s);
	put_rate(o, "dropped_per_s", r->dropped_per_s);
	return o;
}

static json_t *vm_json(const struct vm_rate *r)
{
	json_t *o = json_object();

	put_int(o, "pid", r->pid);
	put_string(o, "name", r->name);
	put(o, "total", total_json(r));
	put(o, "devices", JSON_LIST(i, r->n_devices, device_json(&r->devices[i])));
	put(o, "workers", JSON_LIST(i, r->n_workers, worker_json(&r->workers[i])));
	put(o, "taps", JSON_LIST(i, r->n_taps, tap_json(&r->taps[i])));
	put(o, "errors", json_errors(r->errors, r->n_errors));
	return o;
}

char *json_rates(const struct rates *r, bool pretty)
{
	json_t *o = json_document(r->kernel);

	put_string(o, "source", r->source);
	put_real(o, "time", r->time, 3);
	put_real(o, "seconds", r->seconds, 4);
	put(o, "vms", JSON_LIST(i, r->n_vms, vm_json(&r->vms[i])));
	put(o, "errors", json_errors(r->errors, r->n_errors));
	return json_finish(o, pretty);
}
