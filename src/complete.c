// SPDX-License-Identifier: GPL-2.0-or-later
#include "complete.h"

#include <ctype.h>
#include <string.h>

#include "escape.h"
#include "target.h"
#include "util.h"

struct completer {
	struct state *state;
	const char *typed;
	bool utf8;
	struct completions *found;
	struct vm *vm;		/* the one that is left */
	char *head;		/* what was typed of it, with its slash */
	const char *rest;	/* and after it */
};

static bool begins(const char *text, const char *beginning)
{
	return !strncmp(text, beginning, strlen(beginning));
}

/* As escape_text() leaves it; a backslash, which it doubles, is none that a shell cannot quote. */
static bool is_plain(const char *text, bool utf8)
{
	_cleanup_free_ char *safe = escape_text(text, utf8);
	size_t backslashes = 0;

	for (const char *p = text; *p; p++)
		backslashes += *p == '\\';
	return strlen(safe) == strlen(text) + backslashes;
}

/* Takes @text. Some taps are found by two names, some names belong to two taps. */
static void add(struct completer *c, enum completion_kind kind, char *text)
{
	for (size_t i = 0; i < c->found->n; i++) {
		if (c->found->items[i].kind == kind && !strcmp(c->found->items[i].text, text)) {
			free(text);
			return;
		}
	}
	*ARRAY_ADD(c->found->items, c->found->n) = (struct completion){ kind, text };
}

/* Whether @name means @vm and nothing else, wherever it stands on a command line. */
static bool names_only(struct state *s, const struct vm *vm, const char *name)
{
	struct selection sel = { 0 };
	struct error e = ERROR_INIT;
	bool only = *name != '-' && !target_resolve(s, name, &sel, &e) && sel.items[0].vm == vm &&
		    !sel.items[0].device;

	selection_free(&sel);
	return only;
}

static char *spelling(const struct completer *c, const struct vm *vm)
{
	if (vm->name && is_plain(vm->name, c->utf8) && names_only(c->state, vm, vm->name))
		return xstrdup(vm->name);
	return xasprintf("%d", (int)vm->pid);
}

static void add_vms(struct completer *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->state->n_vms; i++) {
		struct vm *vm = &c->state->vms[i];
		_cleanup_free_ char *name = spelling(c, vm);
		_cleanup_free_ char *pid = xasprintf("%d", (int)vm->pid);
		bool by_pid = isdigit((unsigned char)*c->typed) && strcmp(name, pid) && begins(pid, c->typed);

		if (!begins(name, c->typed) && !by_pid)
			continue;
		if (begins(name, c->typed))
			add(c, COMPLETION_VM, xstrdup(name));
		if (by_pid)
			add(c, COMPLETION_PID, xstrdup(pid));
		c->vm = vm;
		n++;
	}
	if (n != 1)
		c->vm = NULL;
	else
		c->head = xasprintf("%s/", c->found->items[0].text);
}

/* "VM/…": the longest beginning that a slash follows and that names a VM. */
static void find_vm(struct completer *c)
{
	for (size_t len = strlen(c->typed); len > 1; len--) {
		_cleanup_free_ char *name = NULL;
		struct selection sel = { 0 };
		struct error e = ERROR_INIT;

		if (c->typed[len - 1] != '/')
			continue;
		name = xasprintf("%.*s", (int)(len - 1), c->typed);
		if (target_resolve(c->state, name, &sel, &e) == 0 && !sel.items[0].device) {
			c->vm = sel.items[0].vm;
			c->rest = c->typed + len;
			free(c->head);
			c->head = xasprintf("%s/", name);
			len = 1;
		}
		selection_free(&sel);
	}
}

static void start(struct completer *c)
{
	c->rest = "";
	add_vms(c);
	find_vm(c);
}

static void add_queue(struct completer *c, const char *head, const char *done, const char *typed,
		      const char *name)
{
	if (begins(name, typed))
		add(c, COMPLETION_QUEUE, xasprintf("%s%s%s", head, done, name));
}

/* Names and numbers of queues, of a list the last one. */
static void add_queues(struct completer *c, const struct device *d, const char *head, const char *typed)
{
	const char *comma = strrchr(typed, ',');
	size_t len = comma ? (size_t)(comma + 1 - typed) : 0;
	_cleanup_free_ char *done = xasprintf("%.*s", (int)len, typed);
	char name[16];

	c->found->device = d;
	/* Every device has the first ones: a vhost-scsi has at least one request queue. */
	for (unsigned int i = 0; !d->n_queues && i < 3; i++) {
		queue_name(d->kind, i, name);
		if (name[0])
			add_queue(c, head, done, typed + len, name);
	}
	for (size_t i = 0; i < d->n_queues; i++) {
		snprintf(name, sizeof(name), "%u", d->queues[i].index);
		if (d->queues[i].name[0])
			snprintf(name, sizeof(name), "%s", d->queues[i].name);
		add_queue(c, head, done, typed + len, name);
	}
}

/* The device that all of @name means; of a tap's, which are all alike, the first. */
static struct device *device_named(const struct vm *vm, const char *name, size_t len)
{
	char fd[16];

	for (size_t i = 0; i < vm->n_devices; i++) {
		struct device *d = &vm->devices[i];

		snprintf(fd, sizeof(fd), "fd%d", d->fd);
		if ((strlen(d->id) == len && !strncmp(d->id, name, len)) ||
		    (strlen(fd) == len && !strncmp(fd, name, len)) ||
		    (d->tap && strlen(d->tap) == len && !strncmp(d->tap, name, len)))
			return d;
	}
	return NULL;
}

/* Another VM's name goes on like this one's devices; the longest name wins. */
static bool means_other_vm(const struct completer *c, const char *text)
{
	struct selection sel = { 0 };
	struct error e = ERROR_INIT;
	bool other = !target_resolve(c->state, text, &sel, &e) && sel.items[0].vm != c->vm;

	selection_free(&sel);
	return other;
}

static bool add_device(struct completer *c, enum completion_kind kind, const char *name)
{
	_cleanup_free_ char *text = xasprintf("%s%s", c->head, name);

	if (!*name || !begins(name, c->rest) || !is_plain(name, c->utf8) || means_other_vm(c, text))
		return false;
	add(c, kind, STEAL_PTR(text));
	return true;
}

static void add_devices(struct completer *c)
{
	const struct device *last = NULL;
	_cleanup_free_ char *head = NULL;
	size_t before = c->found->n, n = 0;

	for (size_t i = 0; i < c->vm->n_devices; i++) {
		const struct device *d = &c->vm->devices[i];

		if (add_device(c, COMPLETION_DEVICE, d->id))
			last = d;
	}
	for (size_t i = 0; i < c->vm->n_taps; i++) {
		const char *name = c->vm->taps[i].ifname;

		if (add_device(c, COMPLETION_TAP, name))
			last = device_named(c->vm, name, strlen(name));
	}
	n = c->found->n - before;
	if (n != 1 || !last)
		return;
	head = xasprintf("%s/", c->found->items[before].text);
	add_queues(c, last, head, "");
}

static void add_workers(struct completer *c)
{
	struct selection sel = { 0 };
	struct error e = ERROR_INIT;
	const struct device *d = NULL;

	if (*c->typed && target_resolve(c->state, c->typed, &sel, &e) == 0)
		d = sel.items[0].device;
	if (d)
		c->found->device = d;
	for (size_t i = 0; d && i < d->n_workers; i++)
		if (d->workers[i].id != UNKNOWN)
			add(c, d->workers[i].queues && !d->workers[i].n_queues ? COMPLETION_IDLE
									       : COMPLETION_WORKER,
			    xasprintf("%lld", (long long)d->workers[i].id));
	/* The default one, which each device has. */
	if (d && !d->workers_known && d->kind != DEVICE_VDPA)
		add(c, COMPLETION_WORKER, xstrdup("0"));
	selection_free(&sel);
}

void complete_target(struct state *s, const char *typed, bool utf8, struct completions *found)
{
	struct completer c = { .state = s, .typed = typed, .utf8 = utf8, .found = found };
	const char *slash;

	/* It would come back in what is offered. */
	if (!is_plain(typed, utf8))
		return;
	start(&c);
	slash = c.vm ? strchr(c.rest, '/') : NULL;
	if (slash) {
		const struct device *d = device_named(c.vm, c.rest, (size_t)(slash - c.rest));
		_cleanup_free_ char *head = xasprintf("%s%.*s/", c.head, (int)(slash - c.rest), c.rest);

		if (d)
			add_queues(&c, d, head, slash + 1);
	} else if (c.vm) {
		add_devices(&c);
	}
	add_workers(&c);
	found->vm = c.vm;
	free(c.head);
}

const char *completion_kind_name(enum completion_kind kind)
{
	static const char *const names[] = {
		[COMPLETION_VM] = "vm", [COMPLETION_PID] = "pid", [COMPLETION_DEVICE] = "device",
		[COMPLETION_TAP] = "tap", [COMPLETION_QUEUE] = "queue", [COMPLETION_WORKER] = "worker",
		[COMPLETION_IDLE] = "idle",
	};

	return names[kind];
}

void completions_free(struct completions *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->items[i].text);
	free(c->items);
	*c = (struct completions){ 0 };
}
