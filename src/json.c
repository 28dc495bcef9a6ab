// SPDX-License-Identifier: GPL-2.0-or-later
#include "json.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "feature_name.h"
#include "json_parts.h"

/* 64-bit masks are strings: a number above 2^63 would come out negative. */
static void put_mask(json_t *object, const char *key, bool known, uint64_t mask)
{
	char hex[24];

	snprintf(hex, sizeof(hex), "0x%" PRIx64, mask);
	put_string(object, key, known ? hex : NULL);
}

static void append_bit(json_t *names, unsigned int bit, const char *name)
{
	char number[16];

	snprintf(number, sizeof(number), "BIT_%u", bit);
	json_array_append_new(names, json_string(name ? name : number));
}

static json_t *feature_names_json(enum device_kind kind, uint64_t features)
{
	json_t *names = json_array();

	for (unsigned int bit = 0; bit < 64; bit++)
		if (features >> bit & 1)
			append_bit(names, bit, feature_name(kind, bit));
	return names;
}

static json_t *backend_feature_names_json(const struct device *d)
{
	json_t *names = json_array();

	for (unsigned int bit = 0; bit < 64; bit++)
		if (d->backend_features >> bit & 1)
			append_bit(names, bit, backend_feature_name(bit));
	return names;
}

static void put_ring(json_t *o, const struct ring *r)
{
	put_int(o, "size", r->known ? (int64_t)r->size : UNKNOWN);
	put_bool(o, "set_up", r->known, r->set_up);
	put_int(o, "avail_idx", r->known ? r->avail_idx : UNKNOWN);
	put_int(o, "last_avail_idx", r->known ? r->last_avail_idx : UNKNOWN);
	put_int(o, "last_used_idx", r->known ? r->last_used_idx : UNKNOWN);
	put_int(o, "pending", ring_pending(r));
	put_bool(o, "backend", r->known, r->backend);
	put_bool(o, "kick", r->known, r->kick);
	put_bool(o, "call", r->known, r->call);
	put_nonempty(o, "tap", r->tap);
}

static json_t *queue_json(const struct queue *q)
{
	json_t *o = json_object();

	put_int(o, "index", q->index);
	put_nonempty(o, "name", q->name);
	put_int(o, "busyloop_usecs", q->busyloop_usecs);
	put_int(o, "worker_id", q->worker_id);
	put_int(o, "worker_tid", q->worker_tid);
	put_ring(o, &q->ring);
	return o;
}

static json_t *worker_json(const struct vm *vm, const struct worker *w)
{
	json_t *o = json_object();

	put_int(o, "id", w->id);
	put_int(o, "tid", w->tid);
	put_nonempty(o, "comm", w->comm);
	put_string(o, "mode", worker_mode_name(w->mode));
	put_string(o, "cpus", w->cpus);
	put_nonempty(o, "policy", w->policy);
	put_int(o, "nice", w->nice);
	put_string(o, "cgroup", w->cgroup);
	put_int(o, "cpu_ns", w->cpu_ns);
	put(o, "queues", w->queues ? JSON_LIST(i, w->n_queues, json_integer(w->queues[i])) : json_null());
	put_string(o, "remark", worker_remark(vm, w));
	put_int(o, "attachments", w->attachments_known ? (int64_t)w->attachments : UNKNOWN);
	return o;
}

static json_t *zerocopy_json(const struct zerocopy *z)
{
	json_t *o = json_object();

	put(o, "enabled", json_boolean(z->enabled));
	put_flag(o, "module", z->module);
	put_int(o, "packets", z->packets);
	put_int(o, "forced_copies", z->forced_copies);
	put_int(o, "in_flight", z->in_flight);
	return o;
}

static void put_inside(json_t *o, const struct device *d)
{
	const struct device_inside *in = &d->inside;

	put_int(o, "owner_pid", in->known ? in->owner_pid : UNKNOWN);
	put_bool(o, "fork_owner", in->known && in->fork_owner != UNKNOWN, in->fork_owner > 0);
	put_mask(o, "acked_features", in->acked_known, in->acked_features);
	put(o, "acked_feature_names", in->acked_known ? feature_names_json(d->kind, in->acked_features)
						      : json_null());
	put_string(o, "wwpn", in->wwpn);
	put_int(o, "cid", in->known ? in->cid : UNKNOWN);
	put_int(o, "tap_ifindex", in->known ? in->tap_ifindex : UNKNOWN);
	put_int(o, "tap_netns", in->known ? in->tap_netns : UNKNOWN);
	put_int(o, "tap_fd", in->known ? in->tap_fd : UNKNOWN);
	put(o, "zerocopy", in->zerocopy.known ? zerocopy_json(&in->zerocopy) : json_null());
}

static json_t *device_json(const struct vm *vm, const struct device *d)
{
	json_t *o = json_object();

	put_device(o, d);
	put_string(o, "path", d->path);
	put(o, "holders", JSON_LIST(i, d->n_holders, json_integer(d->holders[i])));
	put_mask(o, "features", d->features_known, d->features);
	put(o, "feature_names", d->features_known ? feature_names_json(d->kind, d->features)
						   : json_null());
	put_mask(o, "backend_features", d->backend_features_known, d->backend_features);
	put(o, "backend_feature_names", d->backend_features_known ? backend_feature_names_json(d)
								  : json_null());
	put_string(o, "worker_mode", worker_mode_name(d->worker_mode));
	put_string(o, "tap", d->tap);
	put_string(o, "tap_source", tap_source_name(d->tap_source));
	put_inside(o, d);
	put(o, "queues", d->queues_known ? JSON_LIST(i, d->n_queues, queue_json(&d->queues[i]))
					 : json_null());
	put(o, "workers", d->workers_known ? JSON_LIST(i, d->n_workers, worker_json(vm, &d->workers[i]))
					   : json_null());
	put(o, "errors", json_errors(d->errors, d->n_errors));
	return o;
}

static json_t *tap_json(const struct tap *t)
{
	json_t *o = json_object();

	put_tap(o, t);
	put_string(o, "path", t->path);
	put(o, "macvtap", json_boolean(t->macvtap));
	put_int(o, "rx_frames", t->rx_frames);
	put_int(o, "rx_frames_max", t->rx_frames_max);
	put_flag(o, "vhost", t->vhost);
	put_int(o, "mtu", t->mtu);
	put_string(o, "master", t->master);
	put_string(o, "alias", t->alias);
	put_nonempty(o, "operstate", t->operstate);
	put_flag(o, "multi_queue", t->multi_queue);
	put_flag(o, "vnet_hdr", t->vnet_hdr);
	put_flag(o, "persist", t->persist);
	put_int(o, "numqueues", t->numqueues);
	put_int(o, "numdisabled", t->numdisabled);
	put_int(o, "rx_packets", t->rx_packets);
	put_int(o, "tx_packets", t->tx_packets);
	put_int(o, "rx_dropped", t->rx_dropped);
	put_int(o, "tx_dropped", t->tx_dropped);
	put_int(o, "rx_bytes", t->rx_bytes);
	put_int(o, "tx_bytes", t->tx_bytes);
	put_int(o, "rx_batched", t->inside.known ? t->inside.rx_batched : UNKNOWN);
	put(o, "errors", json_errors(t->errors, t->n_errors));
	return o;
}

static json_t *vm_json(const struct vm *vm)
{
	json_t *o = json_object();

	put_int(o, "pid", vm->pid);
	put_string(o, "name", vm->name);
	put_string(o, "uuid", vm->uuid);
	put_nonempty(o, "comm", vm->comm);
	put_string(o, "cgroup", vm->cgroup);
	put_int(o, "netns", vm->netns);
	put(o, "devices", JSON_LIST(i, vm->n_devices, device_json(vm, &vm->devices[i])));
	put(o, "taps", JSON_LIST(i, vm->n_taps, tap_json(&vm->taps[i])));
	put(o, "worker_threads", JSON_LIST(i, vm->n_threads, worker_json(vm, &vm->threads[i])));
	put(o, "errors", json_errors(vm->errors, vm->n_errors));
	return o;
}

char *json_state(const struct state *s, bool pretty)
{
	json_t *o = json_document(s->kernel);

	put_string(o, "source", s->source);
	put(o, "vms", JSON_LIST(i, s->n_vms, vm_json(&s->vms[i])));
	put(o, "taps", JSON_LIST(i, s->n_taps, tap_json(&s->taps[i])));
	put(o, "errors", json_errors(s->errors, s->n_errors));
	return json_finish(o, pretty);
}

char *json_changes(const char *kernel, const struct changes *c, char *const *notes,
		   size_t n_notes, bool pretty)
{
	json_t *o = json_document(kernel);

	put(o, "changes", JSON_LIST(i, c->n, json_change(&c->items[i])));
	put(o, "notes", JSON_LIST(i, n_notes, json_text(notes[i])));
	put(o, "errors", json_errors(c->errors, c->n_errors));
	return json_finish(o, pretty);
}

static json_t *check_item_json(const struct check_item *item)
{
	json_t *o = json_object();

	put_string(o, "name", item->name);
	put(o, "ok", item->ok == CHECK_UNKNOWN ? json_null() : json_boolean(item->ok));
	put_nonempty(o, "reason", item->reason);
	return o;
}

static json_t *checks_json(const struct check_list *list)
{
	return JSON_LIST(i, list->n, check_item_json(&list->items[i]));
}

static json_t *check_vm_json(const struct check_vm *vm)
{
	json_t *o = json_object();

	put_int(o, "pid", vm->pid);
	put_string(o, "name", vm->name);
	put(o, "checks", checks_json(&vm->list));
	return o;
}

char *json_check(const struct check *c, bool pretty)
{
	json_t *o = json_document(c->kernel);

	put(o, "checks", checks_json(&c->host));
	put(o, "vms", JSON_LIST(i, c->n_vms, check_vm_json(&c->vms[i])));
	return json_finish(o, pretty);
}
