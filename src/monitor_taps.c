// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "monitor.h"
#include "procfs.h"
#include "util.h"

/* What is over within this time is not told; the messages that make up one change come in less. */
#define LASTING_NS 150000000
/* An interface comes before its VM is known. */
#define STRANGER_NS 20000000000
#define STRANGER_FOUND_NS 5000000000
#define MOST_STRANGERS 4096

void monitor_free_tap(struct watched_tap *t)
{
	tap_free(&t->now);
	tap_free(&t->told);
}

static void replace(char **text, const char *by)
{
	char *copy = by && *by ? xstrdup(by) : NULL;

	free(*text);
	*text = copy;
}

static void copy_tap(struct tap *to, const struct tap *from)
{
	tap_free(to);
	*to = *from;
	to->path = NULL;
	to->fds = NULL;
	to->n_fds = 0;
	for (size_t i = 0; i < from->n_fds; i++)
		*ARRAY_ADD(to->fds, to->n_fds) = from->fds[i];
	to->master = from->master ? xstrdup(from->master) : NULL;
	to->alias = from->alias ? xstrdup(from->alias) : NULL;
	to->errors = NULL;
	to->n_errors = 0;
}

void monitor_told_tap(struct watched_tap *t)
{
	t->added = false;
	t->dirty_at = 0;
	copy_tap(&t->told, &t->now);
}

void monitor_tell_tap(const struct monitor *m, enum event_type type, const struct watched_vm *vm,
		      const struct tap *t, const char *reason)
{
	struct event event = monitor_event(m, type, vm);

	event.taps = t;
	event.n_taps = 1;
	event.reason = reason;
	m->tell(&event, m->arg);
}

static void doubt(struct watched_tap *t, int64_t now_ns)
{
	if (!t->dirty_at)
		t->dirty_at = now_ns;
}

/* ---- notifications ---- */

static void take_link(struct watched_tap *t, const struct netwatch_news *news)
{
	memcpy(t->now.ifname, news->ifname, sizeof(t->now.ifname));
	memcpy(t->now.operstate, news->operstate, sizeof(t->now.operstate));
	t->now.mtu = news->mtu;
	replace(&t->now.alias, news->alias);
	/* The name of a new master is asked for when it has lasted. */
	t->master_index = news->master_index;
	t->lost = false;
}

static void add_stranger(struct monitor *m, const struct netwatch_news *news, int64_t now_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_strangers; i++) {
		const struct stranger *s = &m->strangers[i];

		if (now_ns - s->at_ns < STRANGER_NS &&
		    (s->news.id != news->id || s->news.ifindex != news->ifindex))
			m->strangers[n++] = *s;
	}
	m->n_strangers = n;
	if (news->kind == NEWS_LINK && n < MOST_STRANGERS)
		*ARRAY_ADD(m->strangers, m->n_strangers) = (struct stranger){ *news, now_ns };
}

bool monitor_has_stranger(const struct monitor *m, int64_t now_ns)
{
	for (size_t i = 0; i < m->n_strangers; i++)
		if (now_ns - m->strangers[i].at_ns > STRANGER_FOUND_NS)
			return true;
	return false;
}

static void drop_stranger(struct monitor *m, int id, int64_t ifindex)
{
	for (size_t i = 0; i < m->n_strangers; i++)
		if (m->strangers[i].news.id == id && m->strangers[i].news.ifindex == ifindex)
			m->strangers[i--] = m->strangers[--m->n_strangers];
}

static struct watched_tap *tap_at(const struct watched_vm *vm, int id, int64_t ifindex)
{
	for (size_t i = 0; i < vm->n_taps; i++)
		if (vm->taps[i].id == id && vm->taps[i].now.ifindex == ifindex &&
		    vm->taps[i].now.netns != UNKNOWN)
			return &vm->taps[i];
	return NULL;
}

static void take_news_of_tap(struct watched_tap *t, const struct netwatch_news *news, int64_t now_ns)
{
	switch (news->kind) {
	case NEWS_LINK:
		/* One without an MTU is of something else than the state of the link. */
		if (news->mtu == UNKNOWN)
			return;
		take_link(t, news);
		break;
	case NEWS_COALESCE:
		t->now.rx_frames = news->rx_frames;
		break;
	default:
		t->lost = true;
		break;
	}
	doubt(t, now_ns);
}

static void take_end_of_namespace(struct monitor *m, int id, int64_t now_ns)
{
	for (size_t i = 0; i < m->n_vms; i++)
		for (size_t k = 0; k < m->vms[i].n_taps; k++)
			if (m->vms[i].taps[k].id == id) {
				m->vms[i].taps[k].lost = true;
				doubt(&m->vms[i].taps[k], now_ns);
			}
}

void monitor_take_news(const struct netwatch_news *news, void *monitor)
{
	struct monitor *m = monitor;
	int64_t now_ns = clock_ns();
	bool known = false;

	if (news->kind == NEWS_NAMESPACE_GONE) {
		take_end_of_namespace(m, news->id, now_ns);
		return;
	}
	/* Several processes can hold one tap. */
	for (size_t i = 0; i < m->n_vms; i++) {
		struct watched_tap *t = tap_at(&m->vms[i], news->id, news->ifindex);

		if (!t)
			continue;
		known = true;
		take_news_of_tap(t, news, now_ns);
	}
	if (known || !news->is_tap || news->kind == NEWS_COALESCE)
		return;
	add_stranger(m, news, now_ns);
}

void monitor_doubt_all(struct monitor *m)
{
	int64_t now_ns = clock_ns();

	for (size_t i = 0; i < m->n_vms; i++)
		for (size_t k = 0; k < m->vms[i].n_taps; k++) {
			m->vms[i].taps[k].recheck = true;
			doubt(&m->vms[i].taps[k], now_ns);
		}
}

/* ---- where a tap is ---- */

/* All about it, from the kernel. */
static int visit(struct monitor *m, struct watched_vm *vm, struct watched_tap *t, struct error *e)
{
	if (tap_visit(&vm->ref, &t->now, &m->visit, tap_get_rx_frames, NULL, e))
		return -1;
	tap_take_facts(&t->now, &m->visit);
	return 0;
}

/* What is not known of it is looked for again after the next scan. */
static void first_visit(struct monitor *m, struct watched_vm *vm, struct watched_tap *t)
{
	struct error e = ERROR_INIT;

	t->recheck = visit(m, vm, t, &e) != 0;
	if (t->recheck)
		t->now.netns = UNKNOWN;
	else
		drop_stranger(m, t->id, t->now.ifindex);
}

void monitor_begin_tap(struct monitor *m, struct watched_vm *vm, struct watched_tap *t)
{
	struct error e = ERROR_INIT;
	struct tap_place place;

	t->lost = false;
	t->id = NETWATCH_OURS;
	t->master_index = t->named_master_index = UNKNOWN;
	/* A macvtap's file tells of no namespace but ours. First the watch, then the look. */
	if (t->now.macvtap || tap_where(&vm->ref, &t->now, &place, &e)) {
		first_visit(m, vm, t);
		return;
	}
	if (netwatch_add(&m->watch, place.netns_fd, &t->id, &e))
		monitor_tell_tap(m, EVENT_UNWATCHED, vm, &t->now, e.message);
	close(place.netns_fd);
	first_visit(m, vm, t);
}

/* What was told of an interface that is where the tap went: then nobody needs to be asked. */
static const struct netwatch_news *news_of(const struct monitor *m, int id, const struct tap_place *p)
{
	for (size_t i = m->n_strangers; i > 0; i--) {
		const struct netwatch_news *n = &m->strangers[i - 1].news;

		if (n->id == id && n->mtu != UNKNOWN && !strcmp(n->ifname, p->ifname) &&
		    !memcmp(n->mac, p->mac, sizeof(n->mac)))
			return n;
	}
	return NULL;
}

/*
 * It is no longer where it was. False: there is none any more. What could not be looked at now stays to be
 * found again, after the next scan.
 */
static bool find_again(struct monitor *m, struct watched_vm *vm, struct watched_tap *t)
{
	const struct netwatch_news *news;
	struct error e = ERROR_INIT;
	struct tap_place place;
	int id;

	if (t->now.macvtap) {
		if (visit(m, vm, t, &e))
			return !tap_is_gone(&e);
		t->lost = t->recheck = false;
		return true;
	}
	if (tap_where(&vm->ref, &t->now, &place, &e))
		return !tap_is_gone(&e);
	/* Told once, however often it is looked for. */
	if (netwatch_add(&m->watch, place.netns_fd, &id, &e) && t->id != NETWATCH_NONE)
		monitor_tell_tap(m, EVENT_UNWATCHED, vm, &t->now, e.message);
	close(place.netns_fd);
	news = place.netns != t->now.netns && !t->recheck ? news_of(m, id, &place) : NULL;
	t->id = id;
	if (news) {
		take_link(t, news);
		t->now.ifindex = news->ifindex;
		t->now.netns = place.netns;
	} else if (visit(m, vm, t, &e)) {
		return !tap_is_gone(&e);
	}
	drop_stranger(m, t->id, t->now.ifindex);
	t->lost = t->recheck = false;
	return true;
}

/* ---- what has lasted ---- */

/* Its master is known by number; the name, if it is another one, is asked for. */
static void settle_master(struct monitor *m, struct watched_vm *vm, struct watched_tap *t)
{
	struct error ignored;

	if (t->master_index == UNKNOWN)
		return;
	if (t->master_index == 0)
		replace(&t->now.master, NULL);
	else if ((t->master_index != t->named_master_index || t->now.netns != t->told.netns) &&
		 visit(m, vm, t, &ignored)) {
		t->recheck = true;
		return;
	}
	t->named_master_index = t->master_index;
}

/* False: it is gone. */
static bool settle_tap(struct monitor *m, struct watched_vm *vm, struct watched_tap *t)
{
	struct event event = monitor_event(m, EVENT_TAP_CHANGED, vm);

	t->dirty_at = 0;
	if ((t->lost || t->recheck) && !find_again(m, vm, t)) {
		/* It takes its taps along, and that is one event, when it is over. */
		if (proc_is_ending(vm->ref.proc_fd)) {
			t->recheck = true;
			return true;
		}
		if (!t->added)
			monitor_tell_tap(m, EVENT_TAP_REMOVED, vm, &t->told, NULL);
		return false;
	}
	settle_master(m, vm, t);
	if (t->added) {
		monitor_tell_tap(m, EVENT_TAP_ADDED, vm, &t->now, NULL);
	} else {
		event_compare_taps(&event, &t->told, &t->now);
		event.taps = &t->now;
		event.n_taps = 1;
		if (event.n_changes)
			m->tell(&event, m->arg);
	}
	t->added = false;
	copy_tap(&t->told, &t->now);
	return true;
}

void monitor_settle(struct monitor *m, int64_t now_ns)
{
	for (size_t i = 0; i < m->n_vms; i++) {
		struct watched_vm *vm = &m->vms[i];
		size_t n = 0;

		for (size_t k = 0; k < vm->n_taps; k++) {
			struct watched_tap *t = &vm->taps[k];

			if (t->dirty_at && t->dirty_at + LASTING_NS <= now_ns && !settle_tap(m, vm, t))
				monitor_free_tap(t);
			else
				vm->taps[n++] = *t;
		}
		vm->n_taps = n;
	}
	tap_visit_end(&m->visit);
}

int64_t monitor_next_settle(const struct monitor *m)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < m->n_vms; i++)
		for (size_t k = 0; k < m->vms[i].n_taps; k++)
			if (m->vms[i].taps[k].dirty_at && m->vms[i].taps[k].dirty_at + LASTING_NS < next)
				next = m->vms[i].taps[k].dirty_at + LASTING_NS;
	return next;
}
