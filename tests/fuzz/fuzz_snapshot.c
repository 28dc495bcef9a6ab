// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of the kernel snapshot, as stale memory may make them. The first byte chooses: a stream as it is, or
 * one whose heads are right, each record a byte of its type and then its bytes.
 */
#include <jansson.h>
#include <linux/sched.h>

#include "fuzz.h"
#include "cut.h"
#include "json.h"
#include "snapshot.h"

#define PID 1

static const size_t sizes[] = {
	[SNAP_REC_DEVICE] = sizeof(struct snap_device), [SNAP_REC_QUEUE] = sizeof(struct snap_queue),
	[SNAP_REC_WORKER] = sizeof(struct snap_worker), [SNAP_REC_TAP] = sizeof(struct snap_tap),
};

/* Small numbers in the fields that tie records together, so that some do. */
static void tie(union { struct snap_record r; struct snap_device d; struct snap_queue q; struct snap_tap t; } *u)
{
	if (u->r.type == SNAP_REC_DEVICE) {
		u->d.pid = PID;
		u->d.kind %= SNAP_KINDS;
		u->d.fd = 8 + (u->d.fd & 7);
		u->d.from &= 1;
		u->d.n_queues &= u->d.n_queues & 1u << 31 ? ~0u : 7;
	} else if (u->r.type == SNAP_REC_TAP) {
		u->t.pid = PID;
		u->t.fd = 3 + (u->t.fd & 3);
	} else if (u->r.type == SNAP_REC_QUEUE) {
		u->q.index &= 7;
	}
}

static char *build(struct input *in, size_t *len)
{
	char *stream = NULL;

	*len = 0;
	while (in->left) {
		uint32_t type = take_byte(in) % 4 + 1;
		char *record;

		stream = xrealloc(stream, *len + sizes[type]);
		record = stream + *len;
		take_bytes(in, record, sizes[type]);
		*(struct snap_record *)(void *)record = (struct snap_record){ type, (uint32_t)sizes[type] };
		tie((void *)record);
		*len += sizes[type];
	}
	return stream ? stream : xcalloc(1, 1);
}

static void fill(struct vm *vm)
{
	vm->pid = PID;
	for (int fd = 8; fd < 16; fd++) {
		struct device *d = ARRAY_ADD(vm->devices, vm->n_devices);

		d->fd = fd;
		d->kind = (enum device_kind)(fd % 3);
		snprintf(d->id, sizeof(d->id), "dev%d", fd);
	}
	for (int fd = 3; fd < 7; fd += 2) {
		struct tap *t = ARRAY_ADD(vm->taps, vm->n_taps);

		tap_init(t);
		snprintf(t->ifname, sizeof(t->ifname), "tap%d", fd);
		*ARRAY_ADD(t->fds, t->n_fds) = fd;
		*ARRAY_ADD(t->fds, t->n_fds) = fd + 1;
	}
}

static void check_device(const struct device *d)
{
	for (size_t i = 0; i < d->n_queues; i++)
		CHECK(d->queues[i].index == i);
	for (size_t i = 0; d->queues_known && i < d->n_workers; i++)
		for (size_t q = 0; q < d->workers[i].n_queues; q++)
			CHECK(d->workers[i].queues[q] < d->n_queues);
	CHECK(!d->tap == (d->tap_source == TAP_SOURCE_NONE));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	uint8_t which = take_byte(&in);
	_cleanup_free_ char *stream = NULL;
	_cleanup_free_ char *text = NULL;
	struct snapshot snap = { .has = { true, true, true, true, true } };
	struct state s = { 0 };
	struct vm *vm = ARRAY_ADD(s.vms, s.n_vms);
	json_t *json;
	size_t len;

	stream = which & 1 ? build(&in, &len) : take_rest(&in, &len);
	CHECK(!snapshot_parse(&snap, stream, len) || !(which & 1));
	for (size_t i = 0; i < snap.n_devices; i++)
		CHECK(snapshot_rest(&snap.devices[i]) <= SNAP_WORKER_IDS);
	fill(vm);
	snapshot_merge(&snap, vm);
	for (size_t i = 0; i < vm->n_devices; i++) {
		check_device(&vm->devices[i]);
		device_hide_unused(&vm->devices[i]);
	}
	text = json_state(&s, false);
	json = text ? json_loads(text, 0, NULL) : NULL;
	CHECK(json);
	json_decref(json);
	snapshot_free(&snap);
	state_free(&s);
	return 0;
}
