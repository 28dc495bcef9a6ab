// SPDX-License-Identifier: GPL-2.0-or-later
#include "target.h"

#include <string.h>
#include <strings.h>

#include "procfs.h"
#include "scan.h"
#include "util.h"

/* A growing line of words for messages; it says so when there are more than fit. */
struct words {
	char text[360];
	size_t len;
	bool full;
};

static void add_word(struct words *w, const char *word)
{
	static const char more[] = " ...";
	int room = (int)(sizeof(w->text) - sizeof(more) - w->len);
	int len;

	if (w->full)
		return;
	len = snprintf(w->text + w->len, (size_t)room, "%s%s", w->len ? " " : "", word);
	if (len < room) {
		w->len += (size_t)len;
		return;
	}
	memcpy(w->text + w->len, more, sizeof(more));
	w->full = true;
}

static int usage(struct error *e, const char *text, const char *why)
{
	error_set(e, STATUS_USAGE, 0, NULL, "%s; a target is VM, VM/DEVICE or VM/DEVICE/QUEUE", why);
	return error_target(e, "%s", text);
}

/* The pid that a target's VM is, if it is a number as a pid is written; else 0. */
static pid_t target_pid(const char *text, size_t len)
{
	uint64_t pid;

	return *text != '0' && proc_number(text, len, INT32_MAX, &pid) ? (pid_t)pid : 0;
}

static struct vm *vm_with_pid(const struct state *s, pid_t pid)
{
	for (size_t i = 0; i < s->n_vms; i++)
		if (s->vms[i].pid == pid)
			return &s->vms[i];
	return NULL;
}

static bool vm_is_called(const struct vm *vm, const char *text, size_t len)
{
	return (vm->name && strlen(vm->name) == len && !memcmp(vm->name, text, len)) ||
	       (vm->uuid && strlen(vm->uuid) == len && !strncasecmp(vm->uuid, text, len));
}

static int ambiguous(struct error *e, const struct state *s, const char *text, size_t len)
{
	struct words pids = { .len = 0 };
	char pid[16];

	for (size_t i = 0; i < s->n_vms; i++) {
		if (!vm_is_called(&s->vms[i], text, len))
			continue;
		snprintf(pid, sizeof(pid), "%d", (int)s->vms[i].pid);
		add_word(&pids, pid);
	}
	error_set(e, STATUS_NOT_FOUND, 0, NULL, "several VMs go by this name; give a pid, one of: %s",
		  pids.text);
	return error_target(e, "%.*s", (int)len, text);
}

static int no_vm(struct error *e, const struct state *s, const char *text)
{
	pid_t denied = scan_denied(s) ? scan_find_denied(text) : 0;
	struct words names = { .len = 0 };

	if (denied) {
		error_set(e, STATUS_DENIED, EACCES, "find the VM",
			  "process %d, which goes by this name, could not be read; it takes root with "
			  "CAP_SYS_PTRACE", (int)denied);
		return error_target(e, "%s", text);
	}
	for (size_t i = 0; i < s->n_vms; i++) {
		_cleanup_free_ char *name = target_name(&s->vms[i], NULL, NULL);

		add_word(&names, name);
	}
	error_set(e, STATUS_NOT_FOUND, 0, NULL, "no such VM; %s%s%s",
		  s->n_vms ? "there are: " : "none was found", names.text,
		  scan_denied(s) ? "; some processes could not be read" : "");
	return error_target(e, "%s", text);
}

/* The VM that the first @len bytes name. NULL without an error when they name none. */
static struct vm *vm_named(const struct state *s, const char *text, size_t len, struct error *e)
{
	struct vm *found = vm_with_pid(s, target_pid(text, len));

	if (found)
		return found;
	for (size_t i = 0; i < s->n_vms; i++) {
		if (!vm_is_called(&s->vms[i], text, len))
			continue;
		if (found) {
			ambiguous(e, s, text, len);
			return NULL;
		}
		found = &s->vms[i];
	}
	return found;
}

/* The VM of the longest beginning of @text that names one; *rest is what follows its slash. */
static struct vm *find_vm(const struct state *s, const char *text, const char **rest,
			  struct error *e)
{
	size_t len = strlen(text);

	for (;;) {
		struct vm *vm = vm_named(s, text, len, e);

		if (vm)
			*rest = text[len] ? text + len + 1 : NULL;
		if (vm || e->status)
			return vm;
		while (len && text[len - 1] != '/')
			len--;
		/* An empty name is no VM's. */
		if (len < 2)
			break;
		len--;
	}
	no_vm(e, s, text);
	return NULL;
}

static bool device_is_called(const struct device *d, const char *text)
{
	char fd[16];

	snprintf(fd, sizeof(fd), "fd%d", d->fd);
	return !strcmp(d->id, text) || !strcmp(fd, text);
}

static void add_tap_names(struct words *w, const struct vm *vm)
{
	for (size_t i = 0; i < vm->n_taps; i++)
		if (vm->taps[i].ifname[0])
			add_word(w, vm->taps[i].ifname);
}

static int no_device(struct error *e, const struct vm *vm, const char *text)
{
	_cleanup_free_ char *vm_text = target_name(vm, NULL, NULL);
	struct words have = { .len = 0 };

	for (size_t i = 0; i < vm->n_taps; i++)
		if (!strcmp(vm->taps[i].ifname, text)) {
			error_set(e, STATUS_NOT_FOUND, 0, NULL,
				  "no vhost-net device of %s is known to drive tap %s; give net0, net1 ...",
				  vm_text, text);
			return error_target(e, "%s/%s", vm_text, text);
		}
	for (size_t i = 0; i < vm->n_devices; i++)
		add_word(&have, vm->devices[i].id);
	add_tap_names(&have, vm);
	error_set(e, STATUS_NOT_FOUND, 0, NULL, "no device %s in %s; it has %s", text, vm_text,
		  have.len ? have.text : "no vhost device");
	return error_target(e, "%s/%s", vm_text, text);
}

/* What the queues of a kind are called, for messages. */
static const char *queue_names(enum device_kind kind)
{
	static const char *const names[DEVICE_KINDS] = {
		[DEVICE_NET] = "0 1 (rx tx)",
		[DEVICE_SCSI] = "0 1 2 ... (ctl event req0 ...)",
		[DEVICE_VSOCK] = "0 1 (rx tx)",
		[DEVICE_VDPA] = "0 1 2 ...",
	};

	return names[kind];
}

static int no_queue(struct error *e, const struct vm *vm, const struct device *d, const char *queue)
{
	_cleanup_free_ char *text = target_name(vm, d, NULL);

	error_set(e, STATUS_NOT_FOUND, 0, NULL, "no queue %s in %s; it has %s", queue, text,
		  queue_names(d->kind));
	return error_target(e, "%s/%s", text, queue);
}

/* Index of the queue called @name. The names are state.h's; "reqN" is counted, not searched. */
static bool queue_named(enum device_kind kind, const char *name, uint32_t *index)
{
	char known[16];
	uint64_t n;

	for (*index = 0; *index < 2; (*index)++) {
		queue_name(kind, *index, known);
		if (known[0] && !strcmp(known, name))
			return true;
	}
	if (kind != DEVICE_SCSI || strncmp(name, "req", 3) ||
	    !proc_number(name + 3, strlen(name + 3), UINT32_MAX - 2, &n))
		return false;
	*index = (uint32_t)n + 2;
	return true;
}

static bool is_queue_name(const char *word)
{
	static const char *const words[] = { "rx", "tx", "ctl", "event" };
	size_t digits;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(word, words[i]))
			return true;
	digits = strncmp(word, "req", 3) ? 0 : strspn(word + 3, "0123456789");
	return digits && !word[3 + digits];
}

static int add_queue(const struct vm *vm, const struct device *d, const char *word,
		     struct ranges *queues, struct error *e)
{
	_cleanup_free_ char *text = NULL;
	struct ranges some;
	uint32_t index;

	if (is_queue_name(word)) {
		if (!queue_named(d->kind, word, &index))
			return no_queue(e, vm, d, word);
		ranges_add(queues, index, index);
		return 0;
	}
	if (ranges_parse(word, &some, e)) {
		text = target_name(vm, d, NULL);
		error_set(e, STATUS_USAGE, 0, NULL,
			  "'%s' is no queue; give an index, a name, or a list like 0-3,7", word);
		return error_target(e, "%s/%s", text, word);
	}
	for (size_t i = 0; i < some.n; i++)
		ranges_add(queues, some.items[i].first, some.items[i].last);
	ranges_free(&some);
	return 0;
}

/* vhost-net and vhost-vsock have two queues, always. */
static int check_two_queues(const struct vm *vm, const struct device *d, const struct ranges *queues,
			    struct error *e)
{
	char index[16];
	uint32_t last = queues->n ? queues->items[queues->n - 1].last : 0;

	if ((d->kind != DEVICE_NET && d->kind != DEVICE_VSOCK) || last < 2)
		return 0;
	snprintf(index, sizeof(index), "%u", last);
	return no_queue(e, vm, d, index);
}

static int parse_queues(const struct vm *vm, const struct device *d, const char *text,
			struct ranges *queues, struct error *e)
{
	_cleanup_free_ char *copy = xstrdup(text);
	char *p = copy, *word;

	while ((word = strsep(&p, ","))) {
		if (add_queue(vm, d, word, queues, e) || queues->n > 4096) {
			ranges_free(queues);
			return e->status ? -1 : usage(e, "", "too many queues");
		}
	}
	if (check_two_queues(vm, d, queues, e)) {
		ranges_free(queues);
		return -1;
	}
	return 0;
}

static int add_device(struct selection *sel, struct vm *vm, struct device *d, const char *queues,
		      struct error *e)
{
	struct selected item = { .vm = vm, .device = d };

	if (queues && parse_queues(vm, d, queues, &item.queues, e))
		return -1;
	*ARRAY_ADD(sel->items, sel->n) = item;
	return 0;
}

static int add_devices(struct selection *sel, struct vm *vm, const char *device,
		       const char *queues, struct error *e)
{
	size_t before = sel->n;

	for (size_t i = 0; i < vm->n_devices; i++)
		if (device_is_called(&vm->devices[i], device))
			return add_device(sel, vm, &vm->devices[i], queues, e);
	for (size_t i = 0; i < vm->n_devices; i++)
		if (vm->devices[i].tap && !strcmp(vm->devices[i].tap, device) &&
		    add_device(sel, vm, &vm->devices[i], queues, e))
			return -1;
	return sel->n > before ? 0 : no_device(e, vm, device);
}

int target_resolve(struct state *s, const char *text, struct selection *sel, struct error *e)
{
	_cleanup_free_ char *device = NULL;
	const char *rest;
	struct vm *vm;
	char *queues;

	e->status = STATUS_OK;
	if (!*text || *text == '/')
		return usage(e, text, "the VM is missing");
	vm = find_vm(s, text, &rest, e);
	if (!vm)
		return -1;
	if (!rest) {
		*ARRAY_ADD(sel->items, sel->n) = (struct selected){ .vm = vm };
		return 0;
	}
	device = xstrdup(rest);
	queues = strchr(device, '/');
	if (queues)
		*queues++ = '\0';
	if (!*device)
		return usage(e, text, "the device is missing");
	if (queues && !*queues)
		return usage(e, text, "the queue is missing");
	if (queues && strchr(queues, '/'))
		return usage(e, text, "too many slashes");
	return add_devices(sel, vm, device, queues, e);
}

bool target_has_queue(const struct selected *s, unsigned int index)
{
	return !s->queues.n || ranges_contain(&s->queues, index);
}

int target_check_queues(const struct selected *s, struct error *e)
{
	const struct device *d = s->device;
	char index[16];

	if (!d || !d->queues_known || !s->queues.n ||
	    s->queues.items[s->queues.n - 1].last < d->n_queues)
		return 0;
	snprintf(index, sizeof(index), "%u", s->queues.items[s->queues.n - 1].last);
	if (!d->n_queues)
		return no_queue(e, s->vm, d, index);

	_cleanup_free_ char *text = target_name(s->vm, d, NULL);

	error_set(e, STATUS_NOT_FOUND, 0, NULL, "no queue %s in %s; its last one is %zu", index, text,
		  d->n_queues - 1);
	return error_target(e, "%s/%s", text, index);
}

char *target_name(const struct vm *vm, const struct device *d, const struct queue *q)
{
	_cleanup_free_ char *name = vm->name ? xstrdup(vm->name) : xasprintf("%d", (int)vm->pid);

	if (!d)
		return STEAL_PTR(name);
	if (!q)
		return xasprintf("%s/%s", name, d->id);
	if (q->name[0])
		return xasprintf("%s/%s/%s", name, d->id, q->name);
	return xasprintf("%s/%s/%u", name, d->id, q->index);
}

void selection_free(struct selection *sel)
{
	for (size_t i = 0; i < sel->n; i++)
		ranges_free(&sel->items[i].queues);
	free(sel->items);
	*sel = (struct selection){ 0 };
}

static pid_t first_pid(const char *text)
{
	return target_pid(text, strcspn(text, "/"));
}

/* Scan the processes that targets give by pid; whether that was all of them. */
static bool scan_pids(const char *const *texts, size_t n, struct state *s, struct error *e)
{
	bool all = n > 0;

	for (size_t i = 0; i < n; i++) {
		pid_t pid = first_pid(texts[i]);

		if (!pid || (!vm_with_pid(s, pid) && scan_pid(pid, s, e)))
			all = false;
	}
	return all;
}

/* For a number that names no VM: why it is no VM's pid either. */
static int explain_pid(const struct state *s, const char *text, struct error *e)
{
	pid_t pid = first_pid(text);
	struct error ignored = ERROR_INIT, why = ERROR_INIT;
	struct state none = { 0 };

	if (!pid || vm_named(s, text, strcspn(text, "/"), &ignored) || ignored.status)
		return -1;
	if (scan_pid(pid, &none, &why))
		*e = why;
	state_free(&none);
	return error_target(e, "%s", text);
}

/* All that the targets can mean: the processes that they give by pid, or the whole host. */
static int scan_for(const char *const *texts, size_t n, struct state *s, struct error *e)
{
	struct error by_pid = ERROR_INIT;

	if (scan_pids(texts, n, s, &by_pid))
		return 0;
	if (by_pid.status == STATUS_DENIED) {
		*e = by_pid;
		return -1;
	}
	/* Numbers can be names as well: one that is no VM's pid is looked for as such. */
	state_free(s);
	if (scan_host(s, e))
		return -1;
	scan_pids(texts, n, s, &by_pid);
	return 0;
}

int target_find(const char *const *texts, size_t n, struct state *s, struct selection *sel,
		struct error *e)
{
	if (scan_for(texts, n, s, e))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (target_resolve(s, texts[i], sel, e))
			return e->status == STATUS_NOT_FOUND ? explain_pid(s, texts[i], e) : -1;
	for (size_t i = 0; !n && i < s->n_vms; i++)
		*ARRAY_ADD(sel->items, sel->n) = (struct selected){ .vm = &s->vms[i] };
	return 0;
}

static bool tap_has_fd(const struct tap *t, const char *text)
{
	char name[16];

	for (size_t i = 0; i < t->n_fds; i++) {
		snprintf(name, sizeof(name), "fd%d", t->fds[i]);
		if (!strcmp(name, text))
			return true;
	}
	return false;
}

/* As for devices, an id wins over an interface of that name. */
static bool find_tap(const struct vm *vm, const char *text, struct tap **tap, const char **ifname)
{
	const char *name = text;

	for (size_t i = 0; i < vm->n_devices; i++)
		if (device_is_called(&vm->devices[i], text) && vm->devices[i].tap)
			name = vm->devices[i].tap;
	*ifname = name == text ? text : NULL;
	for (size_t i = 0; i < vm->n_taps; i++) {
		*tap = &vm->taps[i];
		if (*name && !strcmp((*tap)->ifname, name))
			return true;
		if (name == text && tap_has_fd(*tap, text)) {
			*ifname = NULL;
			return true;
		}
	}
	*tap = NULL;
	return false;
}

static int no_tap(struct error *e, const struct vm *vm, const char *text)
{
	_cleanup_free_ char *vm_text = target_name(vm, NULL, NULL);
	struct words have = { .len = 0 };

	add_tap_names(&have, vm);
	error_set(e, STATUS_NOT_FOUND, 0, NULL, "no tap %s in %s; it has %s", text, vm_text,
		  have.len ? have.text : "none");
	return error_target(e, "%s/%s", vm_text, text);
}

int target_find_tap(const char *text, struct state *s, struct vm **vm, struct tap **tap,
		    const char **ifname, struct error *e)
{
	const char *rest;

	*tap = NULL;
	*ifname = NULL;
	if (!*text || *text == '/')
		return usage(e, text, "the VM is missing");
	if (scan_for(&text, 1, s, e))
		return -1;
	e->status = STATUS_OK;
	*vm = find_vm(s, text, &rest, e);
	if (!*vm)
		return e->status == STATUS_NOT_FOUND ? explain_pid(s, text, e) : -1;
	if (!rest)
		return 0;
	if (!*rest)
		return usage(e, text, "the tap is missing");
	return find_tap(*vm, rest, tap, ifname) ? 0 : no_tap(e, *vm, rest);
}
