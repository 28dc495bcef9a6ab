/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a monitor tells. */
#ifndef MONITOR_EVENT_H
#define MONITOR_EVENT_H

#include <stdbool.h>

#include "state.h"

enum event_type {
	EVENT_VM_ADDED, EVENT_VM_REMOVED,
	EVENT_DEVICE_ADDED, EVENT_DEVICE_REMOVED,
	EVENT_TAP_ADDED, EVENT_TAP_REMOVED, EVENT_TAP_CHANGED,
	EVENT_RESYNC,		/* notifications were lost: all was read anew */
	EVENT_UNWATCHED,	/* a namespace of which there will be no notifications */
	EVENT_TYPES,
};

/* A key of a tap that changed, as JSON has it. */
struct event_change {
	const char *key;
	bool is_text;
	int64_t before, after;
	const char *before_text, *after_text;
};

#define EVENT_MOST_CHANGES 8

struct event {
	enum event_type type;
	double time;		/* seconds since 1970 */
	bool initial;		/* it was there when the monitor began */
	pid_t pid;		/* 0: of no VM */
	const char *name;
	const struct device *devices;	/* those concerned */
	size_t n_devices;
	const struct tap *taps;
	size_t n_taps;
	struct event_change changes[EVENT_MOST_CHANGES];
	size_t n_changes;
	const char *reason;
};

/* "vm_added" */
const char *event_name(enum event_type type);

/* What differs between two states of a tap, into e->changes. */
void event_compare_taps(struct event *e, const struct tap *before, const struct tap *after);

/* One line for people, to be freed. */
char *event_text(const struct event *e, bool utf8);

#endif
