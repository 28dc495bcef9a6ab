// SPDX-License-Identifier: GPL-2.0-or-later
#include "monitor_event.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "escape.h"
#include "util.h"

const char *event_name(enum event_type type)
{
	static const char *const names[EVENT_TYPES] = {
		[EVENT_VM_ADDED] = "vm_added", [EVENT_VM_REMOVED] = "vm_removed",
		[EVENT_DEVICE_ADDED] = "device_added", [EVENT_DEVICE_REMOVED] = "device_removed",
		[EVENT_TAP_ADDED] = "tap_added", [EVENT_TAP_REMOVED] = "tap_removed",
		[EVENT_TAP_CHANGED] = "tap_changed", [EVENT_RESYNC] = "resync",
		[EVENT_UNWATCHED] = "unwatched",
	};

	return names[type];
}

static void add_int(struct event *e, const char *key, int64_t before, int64_t after)
{
	if (before != after)
		e->changes[e->n_changes++] = (struct event_change){
			.key = key, .before = before, .after = after };
}

static void add_text(struct event *e, const char *key, const char *before, const char *after)
{
	if (before && !*before)
		before = NULL;
	if (after && !*after)
		after = NULL;
	if (before == after || (before && after && !strcmp(before, after)))
		return;
	e->changes[e->n_changes++] = (struct event_change){
		.key = key, .is_text = true, .before_text = before, .after_text = after };
}

void event_compare_taps(struct event *e, const struct tap *before, const struct tap *after)
{
	add_text(e, "ifname", before->ifname, after->ifname);
	add_int(e, "ifindex", before->ifindex, after->ifindex);
	add_int(e, "netns", before->netns, after->netns);
	add_int(e, "rx_frames", before->rx_frames, after->rx_frames);
	add_int(e, "mtu", before->mtu, after->mtu);
	add_text(e, "master", before->master, after->master);
	add_text(e, "operstate", before->operstate, after->operstate);
	add_text(e, "alias", before->alias, after->alias);
}

static void write_value(FILE *f, bool is_text, int64_t number, const char *text)
{
	if (is_text)
		fprintf(f, "%s", text ? text : "-");
	else if (number == UNKNOWN)
		fprintf(f, "-");
	else
		fprintf(f, "%" PRId64, number);
}

static void write_event(FILE *f, const struct event *e)
{
	time_t at = (time_t)e->time;
	char clock[32];
	struct tm tm;

	if (!localtime_r(&at, &tm) || !strftime(clock, sizeof(clock), "%H:%M:%S", &tm))
		clock[0] = '\0';
	fprintf(f, "%s %s", clock, event_name(e->type));
	if (e->pid)
		fprintf(f, " %s (pid %d)", e->name ? e->name : "-", (int)e->pid);
	for (size_t i = 0; i < e->n_devices; i++)
		fprintf(f, " %s", e->devices[i].id);
	for (size_t i = 0; i < e->n_taps; i++)
		fprintf(f, " %s", *e->taps[i].ifname ? e->taps[i].ifname : "-");
	for (size_t i = 0; i < e->n_changes; i++) {
		const struct event_change *c = &e->changes[i];

		fprintf(f, "%s %s ", i ? "," : ":", c->key);
		write_value(f, c->is_text, c->before, c->before_text);
		fprintf(f, " to ");
		write_value(f, c->is_text, c->after, c->after_text);
	}
	if (e->reason)
		fprintf(f, ": %s", e->reason);
}

char *event_text(const struct event *e, bool utf8)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_free_ char *safe = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	write_event(f, e);
	if (fclose(f))
		return NULL;
	safe = escape_text(text, utf8);
	return xasprintf("%s\n", safe);
}
