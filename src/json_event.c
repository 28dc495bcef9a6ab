// SPDX-License-Identifier: GPL-2.0-or-later
#include "json_event.h"

#include "json_parts.h"

static json_t *device_json(const struct device *d)
{
	json_t *o = json_object();

	put_string(o, "id", d->id);
	put_string(o, "kind", device_kind_name(d->kind));
	put_int(o, "fd", d->fd);
	return o;
}

static json_t *tap_json(const struct tap *t)
{
	json_t *o = json_object(), *fds = json_array();

	for (size_t i = 0; i < t->n_fds; i++)
		json_array_append_new(fds, json_integer(t->fds[i]));
	put_nonempty(o, "ifname", t->ifname);
	put_int(o, "ifindex", t->ifindex);
	put_int(o, "netns", t->netns);
	put(o, "fds", fds);
	put_int(o, "rx_frames", t->rx_frames);
	put_int(o, "mtu", t->mtu);
	put_string(o, "master", t->master);
	put_nonempty(o, "operstate", t->operstate);
	put_string(o, "alias", t->alias);
	return o;
}

static json_t *change_json(const struct event_change *c)
{
	json_t *o = json_object();

	put_string(o, "key", c->key);
	if (c->is_text) {
		put_string(o, "before", c->before_text);
		put_string(o, "after", c->after_text);
	} else {
		put_int(o, "before", c->before);
		put_int(o, "after", c->after);
	}
	return o;
}

char *json_event(const struct event *e)
{
	json_t *o = json_document(""), *devices = json_array(), *taps = json_array();
	json_t *changes = json_array();

	for (size_t i = 0; i < e->n_devices; i++)
		json_array_append_new(devices, device_json(&e->devices[i]));
	for (size_t i = 0; i < e->n_taps; i++)
		json_array_append_new(taps, tap_json(&e->taps[i]));
	for (size_t i = 0; i < e->n_changes; i++)
		json_array_append_new(changes, change_json(&e->changes[i]));
	json_object_del(o, "kernel");
	put_real(o, "time", e->time, 3);
	put_string(o, "event", event_name(e->type));
	put(o, "initial", json_boolean(e->initial));
	put_int(o, "pid", e->pid ? e->pid : UNKNOWN);
	put_string(o, "name", e->name);
	put(o, "devices", devices);
	put(o, "taps", taps);
	put(o, "changes", changes);
	put_string(o, "reason", e->reason);
	return json_text(o, false);
}
