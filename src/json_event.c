// SPDX-License-Identifier: GPL-2.0-or-later
#include "json_event.h"

#include "json_parts.h"

static json_t *device_json(const struct device *d)
{
	json_t *o = json_object();

	put_device(o, d);
	return o;
}

static json_t *tap_json(const struct tap *t)
{
	json_t *o = json_object();

	put_tap(o, t);
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
	json_t *o = json_document(NULL);

	put_real(o, "time", e->time, 3);
	put_string(o, "event", event_name(e->type));
	put(o, "initial", json_boolean(e->initial));
	put_int(o, "pid", e->pid ? e->pid : UNKNOWN);
	put_string(o, "name", e->name);
	put(o, "devices", JSON_LIST(i, e->n_devices, device_json(&e->devices[i])));
	put(o, "taps", JSON_LIST(i, e->n_taps, tap_json(&e->taps[i])));
	put(o, "changes", JSON_LIST(i, e->n_changes, change_json(&e->changes[i])));
	put_string(o, "reason", e->reason);
	return json_finish(o, false);
}
