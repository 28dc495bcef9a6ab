// SPDX-License-Identifier: GPL-2.0-or-later
#include "ring_meter.h"

#include <stdbool.h>

#include "state.h"

/* How far behind the CPU time of a running thread may be: it is counted at ticks, 100 a second at least. */
#define CPU_TIME_LAG_NS 10000000

/* The longest that one worker can have worked on this ring between the looks. */
static int64_t work_ns(const struct ring_look *a, const struct ring_look *b)
{
	int64_t wall = b->at_ns - a->at_ns;
	bool same = a->worker_tid != UNKNOWN && a->worker_tid == b->worker_tid &&
		    a->worker_cpu_ns != UNKNOWN && b->worker_cpu_ns != UNKNOWN;
	int64_t cpu = same ? b->worker_cpu_ns - a->worker_cpu_ns + CPU_TIME_LAG_NS : wall;

	return cpu < wall ? cpu : wall;
}

void ring_meter_look(struct ring_meter *m, const struct ring_look *look)
{
	if (m->total.at_ns != UNKNOWN && m->last.id == look->id) {
		uint16_t moved = (uint16_t)(look->used_idx - m->last.used_idx);

		m->total.doubts += work_ns(&m->last, look) >= RING_CERTAIN_NS;
		m->total.entries += moved;
		/* More than there was time for: the index was set anew, as a guest's reboot does. */
		m->total.breaks += moved > (look->at_ns - m->last.at_ns) / RING_NS_PER_ENTRY;
	} else if (m->total.at_ns != UNKNOWN) {
		m->total.breaks++;
	}
	m->last = *look;
	m->total.at_ns = look->at_ns;
}

int64_t ring_entries(const struct ring_total *from, const struct ring_total *to, int64_t least, int64_t most)
{
	int64_t n = (int64_t)(to->entries - from->entries);

	if (from->at_ns == UNKNOWN || to->at_ns == UNKNOWN || from->breaks != to->breaks)
		return -1;
	if (from->doubts == to->doubts)
		return n;
	/* Of all that it can be, one must be possible. */
	if (most < 0)
		return -1;
	while (n < least)
		n += 65536;
	return n <= most && n + 65536 > most ? n : -1;
}
