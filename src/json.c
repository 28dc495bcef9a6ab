// SPDX-License-Identifier: GPL-2.0-or-later
#include "json.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "escape.h"
#include "feature_name.h"
#include "json_text.h"
#include "util.h"

#define SCHEMA 1 /* counts breaking changes only */

/* jansson fails for want of memory only; with this it ends as everything else does then. */
static void *allocate(size_t size)
{
	return xcalloc(1, size);
}

static void put(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static void put_int(json_t *object, const char *key, int64_t value)
{
	put(object, key, value == UNKNOWN ? json_null() : json_integer(value));
}

static void put_string(json_t *object, const char *key, const char *s)
{
	_cleanup_free_ char *valid = s ? escape_utf8(s) : NULL;

	put(object, key, valid ? json_string(valid) : json_null());
}

static void put_bool(json_t *object, const char *key, bool known, bool value)
{
	put(object, key, known ? json_boolean(value) : json_null());
}

/* For the model's flags that can be UNKNOWN. */
static void put_flag(json_t *object, const char *key, int64_t value)
{
	put_bool(object, key, value != UNKNOWN, value != UNKNOWN && value);
}

/* For the model's char arrays, where "" says that it is not known. */
static void put_nonempty(json_t *object, const char *key, const char *s)
{
	put_string(object, key, *s ? s : NULL);
}

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

static json_t *errors_json(const struct error *errors, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *o = json_object();

		put_nonempty(o, "operation", errors[i].operation);
		put_string(o, "code", error_name(errors[i].errnum));
		put_string(o, "message", errors[i].message);
		json_array_append_new(list, o);
	}
	return list;
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

static json_t *indices_json(const unsigned int *indices, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_integer(indices[i]));
	return list;
}

static json_t *workers_json(const struct vm *vm, const struct worker *workers, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct worker *w = &workers[i];
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
		put(o, "queues", w->queues ? indices_json(w->queues, w->n_queues) : json_null());
		put_string(o, "remark", worker_remark(vm, w));
		put_int(o, "attachments", w->attachments_known ? (int64_t)w->attachments : UNKNOWN);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *queues_json(const struct device *d)
{
	json_t *list = json_array();

	for (size_t i = 0; i < d->n_queues; i++)
		json_array_append_new(list, queue_json(&d->queues[i]));
	return list;
}

static json_t *holders_json(const struct device *d)
{
	json_t *list = json_array();

	for (size_t i = 0; i < d->n_holders; i++)
		json_array_append_new(list, json_integer(d->holders[i]));
	return list;
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

	put_string(o, "id", d->id);
	put_string(o, "kind", device_kind_name(d->kind));
	put_int(o, "fd", d->fd);
	put_string(o, "path", d->path);
	put(o, "holders", holders_json(d));
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
	put(o, "queues", d->queues_known ? queues_json(d) : json_null());
	put(o, "workers", d->workers_known ? workers_json(vm, d->workers, d->n_workers) : json_null());
	put(o, "errors", errors_json(d->errors, d->n_errors));
	return o;
}

static json_t *fds_json(const struct tap *t)
{
	json_t *list = json_array();

	for (size_t i = 0; i < t->n_fds; i++)
		json_array_append_new(list, json_integer(t->fds[i]));
	return list;
}

static json_t *tap_json(const struct tap *t)
{
	json_t *o = json_object();

	put_nonempty(o, "ifname", t->ifname);
	put_int(o, "ifindex", t->ifindex);
	put_int(o, "netns", t->netns);
	put(o, "fds", fds_json(t));
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
	put_int(o, "rx_batched", t->inside.known ? t->inside.rx_batched : UNKNOWN);
	put_int(o, "queues_attached", t->inside.known ? t->inside.attached : UNKNOWN);
	put_int(o, "queues_detached", t->inside.known ? t->inside.detached : UNKNOWN);
	put(o, "errors", errors_json(t->errors, t->n_errors));
	return o;
}

static json_t *taps_json(const struct tap *taps, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, tap_json(&taps[i]));
	return list;
}

static json_t *vm_json(const struct vm *vm)
{
	json_t *o = json_object(), *devices = json_array();

	for (size_t i = 0; i < vm->n_devices; i++)
		json_array_append_new(devices, device_json(vm, &vm->devices[i]));
	put_int(o, "pid", vm->pid);
	put_string(o, "name", vm->name);
	put_string(o, "uuid", vm->uuid);
	put_nonempty(o, "comm", vm->comm);
	put_string(o, "cgroup", vm->cgroup);
	put_int(o, "netns", vm->netns);
	put(o, "devices", devices);
	put(o, "taps", taps_json(vm->taps, vm->n_taps));
	put(o, "worker_threads", workers_json(vm, vm->threads, vm->n_threads));
	put(o, "errors", errors_json(vm->errors, vm->n_errors));
	return o;
}

static json_t *document(const char *kernel)
{
	json_t *o;

	json_set_alloc_funcs(allocate, free);
	o = json_object();
	put_int(o, "schema", SCHEMA);
	put_nonempty(o, "kernel", kernel);
	return o;
}

/* The one byte that is neither printable nor escaped by jansson; it can only be inside a string. */
static char *escape_delete(char *text)
{
	size_t n = 0, len = strlen(text);
	char *out, *at;

	for (const char *p = text; (p = strchr(p, 0x7f)); p++)
		n++;
	at = out = xcalloc(len + n * 5 + 1, 1);
	for (const char *p = text; *p; p++) {
		if (*p == 0x7f)
			at = stpcpy(at, "\\u007f");
		else
			*at++ = *p;
	}
	free(text);
	return out;
}

char *json_text(json_t *document, bool pretty)
{
	size_t flags = JSON_ENSURE_ASCII | (pretty ? JSON_INDENT(2) : JSON_COMPACT);
	char *text = json_dumps(document, flags), *line;

	json_decref(document);
	if (!text)
		return NULL;
	text = escape_delete(text);
	line = xasprintf("%s\n", text);
	free(text);
	return line;
}

char *json_state(const struct state *s, bool pretty)
{
	json_t *o = document(s->kernel), *vms = json_array();

	for (size_t i = 0; i < s->n_vms; i++)
		json_array_append_new(vms, vm_json(&s->vms[i]));
	put_string(o, "source", s->source);
	put(o, "vms", vms);
	put(o, "taps", taps_json(s->taps, s->n_taps));
	put(o, "errors", errors_json(s->errors, s->n_errors));
	return json_text(o, pretty);
}

static json_t *change_json(const struct change *c)
{
	json_t *o = json_object();

	put_string(o, "target", c->target);
	put_int(o, "pid", c->pid ? c->pid : UNKNOWN);
	put_string(o, "setting", c->setting);
	if (c->before_text || c->after_text) {
		put_string(o, "before", c->before_text);
		put_string(o, "after", c->after_text);
	} else {
		put_int(o, "before", c->before);
		put_int(o, "after", c->after);
	}
	if (c->concerns_worker) {
		put_int(o, "worker_id", c->worker_id);
		put_int(o, "worker_tid", c->worker_tid);
	}
	put(o, "applied", json_boolean(c->applied));
	return o;
}

char *json_changes(const char *kernel, const struct changes *c, char *const *notes,
		   size_t n_notes, bool pretty)
{
	json_t *o = document(kernel), *changes = json_array(), *list = json_array();

	for (size_t i = 0; i < c->n; i++)
		json_array_append_new(changes, change_json(&c->items[i]));
	for (size_t i = 0; i < n_notes; i++) {
		_cleanup_free_ char *valid = escape_utf8(notes[i]);

		json_array_append_new(list, json_string(valid));
	}
	put(o, "changes", changes);
	put(o, "notes", list);
	return json_text(o, pretty);
}

static json_t *checks_json(const struct check_list *list)
{
	json_t *checks = json_array();

	for (size_t i = 0; i < list->n; i++) {
		const struct check_item *item = &list->items[i];
		json_t *o = json_object();

		put_string(o, "name", item->name);
		put(o, "ok", item->ok == CHECK_UNKNOWN ? json_null() : json_boolean(item->ok));
		put_nonempty(o, "reason", item->reason);
		json_array_append_new(checks, o);
	}
	return checks;
}

char *json_check(const struct check *c, bool pretty)
{
	json_t *o = document(c->kernel), *vms = json_array();

	for (size_t i = 0; i < c->n_vms; i++) {
		json_t *vm = json_object();

		put_int(vm, "pid", c->vms[i].pid);
		put_string(vm, "name", c->vms[i].name);
		put(vm, "checks", checks_json(&c->vms[i].list));
		json_array_append_new(vms, vm);
	}
	put(o, "checks", checks_json(&c->host));
	put(o, "vms", vms);
	return json_text(o, pretty);
}
