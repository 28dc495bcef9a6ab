// SPDX-License-Identifier: GPL-2.0-or-later
/* JSON text -> policy. jansson checks syntax, depth and duplicate keys; here is what the keys mean. */
#include <string.h>

#include "ethnl.h"
#include "json_read.h"
#include "policy.h"
#include "procfs.h"
#include "util.h"
#include "vhost.h"
#include "vmname.h"

/* For people: JSON has no other place for words. */
static int read_comment(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	(void)into;
	return json_is_string(v) ? 0 : json_wrong_type(r, at, "a string", v);
}

/* ---- values ---- */

static int read_rx_usecs(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	return json_read_number(r, at, v, 0, UINT32_MAX, &d->busyloop[0]);
}

static int read_tx_usecs(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	return json_read_number(r, at, v, 0, UINT32_MAX, &d->busyloop[1]);
}

static const struct json_field busyloop_fields[] = {
	{ "rx", read_rx_usecs, false },
	{ "tx", read_tx_usecs, false },
	{ NULL, NULL, false },
};

static int read_busyloop(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	if (json_is_object(v) && !json_object_size(v))
		return json_fail(r, at, "it has to have rx, tx or both");
	if (json_is_object(v))
		return json_read_object(r, at, v, busyloop_fields, into);
	if (!json_is_integer(v))
		return json_wrong_type(r, at, "a whole number, or an object with rx and tx", v);
	if (read_rx_usecs(r, at, v, into) < 0)
		return -1;
	d->busyloop[1] = d->busyloop[0];
	return 0;
}

static int read_rx_frames(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	return json_read_number(r, at, v, 0, TAP_RX_FRAMES_MAX, &d->rx_frames);
}

/* Whether this host has those cpus is asked when the policy is used. */
static int read_cpu_list(struct json_reader *r, const struct json_at *at, const json_t *v, char **into)
{
	struct error bad = ERROR_INIT;
	struct ranges cpus;

	if (json_read_string(r, at, v, "a list of cpus such as \"2-5,8\"", into) < 0)
		return -1;
	if (ranges_parse(*into, &cpus, &bad) < 0)
		return json_fail(r, at, "'%.64s' is no list of cpus; give one such as \"2-5,8\"", *into);
	ranges_free(&cpus);
	return 0;
}

static int read_cpus(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	return read_cpu_list(r, at, v, &d->cpus);
}

/* "ctl", "event", "req0", "2" or "2-5" of a vhost-scsi device: drivers/vhost/scsi.c. */
static bool parse_queue(const char *word, uint32_t *first, uint32_t *last)
{
	size_t len = strcspn(word, "-");
	uint64_t a, b;

	*first = *last = !strcmp(word, "event");
	if (!strcmp(word, "ctl") || !strcmp(word, "event"))
		return true;
	if (!strncmp(word, "req", 3)) {
		if (!proc_number(word + 3, strlen(word + 3), VHOST_SCSI_WORKERS_MAX - 1, &a))
			return false;
		*first = *last = (uint32_t)a + VHOST_SCSI_FIRST_REQUEST;
		return true;
	}
	if (!proc_number(word, len, VHOST_SCSI_QUEUES_MAX - 1, &a))
		return false;
	b = a;
	if (word[len] && !proc_number(word + len + 1, strlen(word + len + 1), VHOST_SCSI_QUEUES_MAX - 1, &b))
		return false;
	*first = (uint32_t)a;
	*last = (uint32_t)b;
	return b >= a;
}

static int read_queues(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	struct policy_worker *w = into;
	_cleanup_free_ char *text = NULL;
	uint32_t first, last;
	char *p, *word;

	if (json_read_string(r, at, v, "a list of queues such as \"req0,4-5\"", &text) < 0)
		return -1;
	for (p = text; (word = strsep(&p, ","));) {
		if (!parse_queue(word, &first, &last))
			return json_fail(r, at, "'%.40s' is no queue; it is ctl, event, req0, an index up to "
				    "%d, or a range such as 2-5", word, VHOST_SCSI_QUEUES_MAX - 1);
		ranges_add(&w->queues, first, last);
	}
	return 0;
}

static int read_worker_cpus(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	struct policy_worker *w = into;

	return read_cpu_list(r, at, v, &w->cpus);
}

static const struct json_field worker_fields[] = {
	{ "queues", read_queues, true },
	{ "cpus", read_worker_cpus, false },
	{ NULL, NULL, false },
};

/* A queue has one worker. */
static int check_overlap(struct json_reader *r, const struct json_at *at, const struct policy_device *d)
{
	const struct ranges *last = &d->list[d->n_list - 1].queues;

	for (size_t i = 0; i + 1 < d->n_list; i++)
		for (size_t k = 0; k < last->n; k++)
			for (uint32_t q = last->items[k].first; q <= last->items[k].last; q++)
				if (ranges_contain(&d->list[i].queues, q))
					return json_fail(r, at, "queue %u is another worker's already", q);
	return 0;
}

static int read_worker(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	if (json_read_object(r, at, v, worker_fields, ARRAY_ADD(d->list, d->n_list)) < 0)
		return -1;
	return check_overlap(r, at, d);
}

static int read_worker_list(struct json_reader *r, const struct json_at *at, json_t *v,
			    struct policy_device *d)
{
	d->workers = WORKERS_LISTED;
	if (json_array_size(v) > VHOST_SCSI_WORKERS_MAX)
		return json_fail(r, at, "these are more than %d workers", VHOST_SCSI_WORKERS_MAX);
	return json_read_array(r, at, v, read_worker, d);
}

static int read_workers(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	struct policy_device *d = into;
	int64_t count;

	if (json_is_array(v))
		return read_worker_list(r, at, v, d);
	if (json_is_string(v) && !strcmp(json_string_value(v), "per-queue")) {
		d->workers = WORKERS_PER_QUEUE;
		return 0;
	}
	if (json_is_string(v))
		return json_fail(r, at, "'%.40s' is no number of workers; the only word is \"per-queue\"",
				 json_string_value(v));
	if (!json_is_integer(v))
		return json_wrong_type(r, at, "a number, \"per-queue\" or an array", v);
	if (json_read_number(r, at, v, 1, VHOST_SCSI_WORKERS_MAX, &count) < 0)
		return -1;
	d->workers = WORKERS_COUNT;
	d->count = (unsigned int)count;
	return 0;
}

/* ---- matches ---- */

static int read_kind(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	if (!json_is_string(v))
		return json_wrong_type(r, at, "a string", v);
	for (d->kind = 0; d->kind < DEVICE_KINDS; d->kind++)
		if (!strcmp(json_string_value(v), device_kind_name(d->kind)))
			return 0;
	return json_fail(r, at, "'%.40s' is no kind of device; it is net, scsi, vsock or vdpa",
		    json_string_value(v));
}

static int read_id(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	return json_read_string(r, at, v, "a device such as \"net0\"", &d->id);
}

static int read_tap(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	return json_read_string(r, at, v, "the name of a tap", &d->tap);
}

static const struct json_field device_match_fields[] = {
	{ "kind", read_kind, false },
	{ "id", read_id, false },
	{ "tap", read_tap, false },
	{ NULL, NULL, false },
};

static int read_device_match(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	return json_read_object(r, at, v, device_match_fields, into);
}

static int read_name(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	struct policy_vm *vm = into;

	return json_read_string(r, at, v, "the name of a VM", &vm->name);
}

static int read_uuid(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	struct policy_vm *vm = into;

	if (json_read_string(r, at, v, "a uuid", &vm->uuid) < 0)
		return -1;
	if (vmname_is_uuid(vm->uuid))
		return 0;
	return json_fail(r, at, "'%.64s' is no uuid", vm->uuid);
}

static const struct json_field vm_match_fields[] = {
	{ "name", read_name, false },
	{ "uuid", read_uuid, false },
	{ NULL, NULL, false },
};

static int read_vm_match(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	return json_read_object(r, at, v, vm_match_fields, into);
}

/* ---- entries ---- */

static int read_optional(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	return json_read_flag(r, at, v, &d->optional);
}

static int read_force(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	struct policy_device *d = into;

	return json_read_flag(r, at, v, &d->force);
}

static const struct json_field device_fields[] = {
	{ "match", read_device_match, true },	{ "busyloop_usecs", read_busyloop, false },
	{ "rx_frames", read_rx_frames, false }, { "workers", read_workers, false },
	{ "cpus", read_cpus, false },		{ "optional", read_optional, false },
	{ "force", read_force, false },		{ "comment", read_comment, false },
	{ NULL, NULL, false },
};

/* What can be seen to be wrong without any VM. */
static int check_device(struct json_reader *r, const struct json_at *at, const struct policy_device *d)
{
	const struct json_at busyloop = { at, "busyloop_usecs", 0 }, frames = { at, "rx_frames", 0 };
	const struct json_at workers = { at, "workers", 0 }, cpus = { at, "cpus", 0 };
	const char *kind = d->kind == POLICY_ANY_KIND ? "" : device_kind_name(d->kind);
	bool net = !*kind || d->kind == DEVICE_NET, scsi = !*kind || d->kind == DEVICE_SCSI;
	bool sets_busyloop = d->busyloop[0] != UNKNOWN || d->busyloop[1] != UNKNOWN;

	for (int i = 0; i < 2; i++)
		if (d->busyloop[i] > VALUE_USECS_LIMIT && !d->force)
			return json_fail(r, &busyloop, "%lld us is more than 10 ms and would burn a whole "
				    "CPU (10 to 100 is what people use); \"force\": true beside it if you "
				    "mean it",
				    (long long)d->busyloop[i]);
	if (sets_busyloop && !net)
		return json_fail(r, &busyloop, "vhost-%s does not busy-loop; only net does", kind);
	if (d->rx_frames != UNKNOWN && !net)
		return json_fail(r, &frames, "a %s device has no tap; only net has", kind);
	if (d->workers && !scsi)
		return json_fail(r, &workers,
				 "vhost-%s has no worker calls in any kernel so far; only scsi has", kind);
	if (d->cpus && d->kind == DEVICE_VDPA)
		return json_fail(r, &cpus, "vhost-vdpa has no workers to place");
	return 0;
}

static int read_device(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	struct policy_vm *vm = into;
	struct policy_device *d = ARRAY_ADD(vm->devices, vm->n_devices);

	policy_device_init(d);
	d->where = json_where(r, at);
	return json_read_object(r, at, v, device_fields, d) < 0 ? -1 : check_device(r, at, d);
}

static int read_devices(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	return json_read_array(r, at, v, read_device, into);
}

static const struct json_field vm_fields[] = {
	{ "match", read_vm_match, true },
	{ "devices", read_devices, true },
	{ "comment", read_comment, false },
	{ NULL, NULL, false },
};

static int read_vm(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	struct policy *p = into;
	struct policy_vm *vm = ARRAY_ADD(p->vms, p->n_vms);

	vm->where = json_where(r, at);
	return json_read_object(r, at, v, vm_fields, vm);
}

static int read_vms(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	return json_read_array(r, at, v, read_vm, into);
}

static int read_schema(struct json_reader *r, const struct json_at *at, json_t *v, void *into)
{
	int64_t schema;

	(void)into;
	if (!json_is_integer(v))
		return json_wrong_type(r, at, "the number 1", v);
	schema = json_integer_value(v);
	return schema == 1 ? 0 : json_fail(r, at, "this program knows schema 1, not %lld", (long long)schema);
}

static const struct json_field top_fields[] = {
	{ "schema", read_schema, true },
	{ "vms", read_vms, true },
	{ "$schema", read_comment, false },
	{ "comment", read_comment, false },
	{ NULL, NULL, false },
};

int policy_parse(const char *file, const char *text, size_t len, struct policy *p, struct error *e)
{
	return json_read(file, text, len, top_fields, p, e);
}
