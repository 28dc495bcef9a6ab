// SPDX-License-Identifier: GPL-2.0-or-later
/* The stream of records of a snapshot, as an array of devices and one of taps. */
#include "snapshot.h"

#include <string.h>

#include "util.h"

void snapshot_free(struct snapshot *s)
{
	for (size_t i = 0; i < s->n_devices; i++) {
		free(s->devices[i].queues);
		free(s->devices[i].workers);
	}
	free(s->devices);
	free(s->taps);
	*s = (struct snapshot){ 0 };
}

unsigned int snapshot_rest(const struct snapshot_device *d)
{
	unsigned int most = d->d.n_queues > d->d.n_worker_ids ? d->d.n_queues : d->d.n_worker_ids;

	if (d->d.n_queues > SNAP_QUEUES)
		return 0;
	/* More ids than are looked at: the workers stay unknown, the queues do not. */
	if (d->d.n_worker_ids > SNAP_WORKER_IDS)
		most = d->d.n_queues;
	return most > SNAP_PAGE ? most : 0;
}

/* Another page is the same device's only if nothing of it was opened anew meanwhile. */
static bool same_device(const struct snap_device *a, const struct snap_device *b)
{
	return a->pid == b->pid && a->fd == b->fd && a->id_file == b->id_file && a->id_dev == b->id_dev;
}

/* Where the records that follow @d go to; NULL when they are of no device that is known. */
static struct snapshot_device *add_device(struct snapshot *s, const struct snap_device *d)
{
	if (!d->from) {
		struct snapshot_device *added = ARRAY_ADD(s->devices, s->n_devices);

		added->d = *d;
		return added;
	}
	for (size_t i = 0; i < s->n_devices; i++)
		if (same_device(&s->devices[i].d, d))
			return &s->devices[i];
	return NULL;
}

static void end_names(struct snap_device *d)
{
	d->wwpn[sizeof(d->wwpn) - 1] = '\0';
}

int snapshot_parse(struct snapshot *s, const void *data, size_t len)
{
	struct snapshot_device *current = NULL;
	const char *p = data;
	union {
		struct snap_record r;
		struct snap_device device;
		struct snap_queue queue;
		struct snap_worker worker;
		struct snap_tap tap;
	} u;
	static const size_t sizes[] = {
		[SNAP_REC_DEVICE] = sizeof(u.device), [SNAP_REC_QUEUE] = sizeof(u.queue),
		[SNAP_REC_WORKER] = sizeof(u.worker), [SNAP_REC_TAP] = sizeof(u.tap),
	};

	while (len) {
		if (len < sizeof(u.r))
			return -1;
		memcpy(&u.r, p, sizeof(u.r));
		if (!u.r.type || u.r.type >= ARRAY_SIZE(sizes) || u.r.size != sizes[u.r.type] ||
		    u.r.size > len)
			return -1;
		memcpy(&u, p, u.r.size);
		p += u.r.size;
		len -= u.r.size;
		if (u.r.type == SNAP_REC_DEVICE) {
			end_names(&u.device);
			current = add_device(s, &u.device);
		} else if (u.r.type == SNAP_REC_TAP) {
			*ARRAY_ADD(s->taps, s->n_taps) = u.tap;
		} else if (u.r.type == SNAP_REC_QUEUE && current) {
			*ARRAY_ADD(current->queues, current->n_queues) = u.queue;
		} else if (current) {
			*ARRAY_ADD(current->workers, current->n_workers) = u.worker;
		}
	}
	return 0;
}
