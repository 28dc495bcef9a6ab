/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many entries of a ring vhost has returned, from looks at an index that counts modulo 65536.
 * What cannot have been 65536 or more between two looks is certain: no worker moves entries faster
 * than one in RING_NS_PER_ENTRY of its CPU time. Else it is noted as a doubt. Pure.
 */
#ifndef RING_METER_H
#define RING_METER_H

#include <stdint.h>

#define RING_NS_PER_ENTRY 250
#define RING_CERTAIN_NS (65536LL * RING_NS_PER_ENTRY)

struct ring_look {
	uint64_t id;		/* tells this ring from another one that came in its place */
	uint16_t used_idx;
	int64_t at_ns;
	int64_t worker_tid;	/* UNKNOWN; and its CPU time, UNKNOWN */
	int64_t worker_cpu_ns;
};

struct ring_total {
	uint64_t entries;	/* since the first look; may lack multiples of 65536 if in doubt */
	uint64_t doubts;	/* pairs of looks with 65536 or more possible between them */
	uint64_t breaks;	/* the ring was replaced or reset: nothing is known of the time between */
	int64_t at_ns;		/* of the last look; UNKNOWN: there was none */
};

struct ring_meter {
	struct ring_look last;
	struct ring_total total;
};

#define RING_METER_INIT ((struct ring_meter){ .total = { .at_ns = INT64_MIN } })

void ring_meter_look(struct ring_meter *m, const struct ring_look *look);

/*
 * Entries between two totals, which a count of what they carried settles where there was a doubt: @least
 * to @most of them there must have been (@most -1: no such count). -1 if it stays unknown.
 */
int64_t ring_entries(const struct ring_total *from, const struct ring_total *to, int64_t least, int64_t most);

#endif
