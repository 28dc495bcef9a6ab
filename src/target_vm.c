// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>
#include <strings.h>

#include "procfs.h"
#include "scan.h"
#include "target_parts.h"
#include "util.h"

void target_add_word(struct target_words *w, const char *word)
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

int target_usage(struct error *e, const char *text, const char *why)
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
	struct target_words pids = { .len = 0 };
	char pid[16];

	for (size_t i = 0; i < s->n_vms; i++) {
		if (!vm_is_called(&s->vms[i], text, len))
			continue;
		snprintf(pid, sizeof(pid), "%d", (int)s->vms[i].pid);
		target_add_word(&pids, pid);
	}
	error_set(e, STATUS_NOT_FOUND, 0, NULL, "several VMs go by this name; give a pid, one of: %s",
		  pids.text);
	return error_target(e, "%.*s", (int)len, text);
}

static int no_vm(struct error *e, const struct state *s, const char *text)
{
	pid_t denied = scan_denied(s) ? scan_find_denied(text) : 0;
	const struct vm *unnamed = scan_unnamed(s);
	struct target_words names = { .len = 0 };
	char unread[80] = "";

	if (scan_check(s, e))
		return error_target(e, "%s", text);
	if (denied) {
		error_set(e, STATUS_DENIED, EACCES, "find the VM",
			  "process %d, which goes by this name, could not be read; it takes root with "
			  "CAP_SYS_PTRACE", (int)denied);
		return error_target(e, "%s", text);
	}
	for (size_t i = 0; i < s->n_vms; i++) {
		_cleanup_free_ char *name = target_name(&s->vms[i], NULL, NULL);

		target_add_word(&names, name);
	}
	if (unnamed)
		snprintf(unread, sizeof(unread), "; the command line of process %d could not be read",
			 (int)unnamed->pid);
	error_set(e, STATUS_NOT_FOUND, 0, NULL, "no such VM; %s%s%s%s",
		  s->n_vms ? "there are: " : "none was found", names.text,
		  scan_denied(s) ? "; some processes could not be read" : "", unread);
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

/* The length of the name before the last slash of the first @len bytes; 0: there is none. */
static size_t shorter(const char *text, size_t len)
{
	while (len && text[len - 1] != '/')
		len--;
	/* An empty name is no VM's. */
	return len < 2 ? 0 : len - 1;
}

/* A VM may be called like a part of another: by its name it shall not get what is meant for that one. */
static int check_no_other(const struct state *s, const char *text, size_t len, const struct vm *vm,
			  struct error *e)
{
	struct error ignored = ERROR_INIT;
	size_t whole = len;

	while ((len = shorter(text, len))) {
		struct vm *other = vm_named(s, text, len, &ignored);

		if (!other || other == vm || !target_is_in(other, text + len + 1))
			continue;
		error_set(e, STATUS_NOT_FOUND, 0, NULL,
			  "this is a VM's name and also a part of VM %.*s; give a pid, %d%s or %d%s",
			  (int)len, text, (int)vm->pid, text + whole, (int)other->pid, text + len);
		return error_target(e, "%s", text);
	}
	return 0;
}

struct vm *target_find_vm(const struct state *s, const char *text, const char **rest, struct error *e)
{
	for (size_t len = strlen(text); len; len = shorter(text, len)) {
		struct vm *vm = vm_named(s, text, len, e);

		if (!vm && !e->status)
			continue;
		if (!vm || check_no_other(s, text, len, vm, e))
			return NULL;
		*rest = text[len] ? text + len + 1 : NULL;
		return vm;
	}
	no_vm(e, s, text);
	return NULL;
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

		if (pid && (vm_with_pid(s, pid) || !scan_pid(pid, s, e)))
			continue;
		all = false;
		if (pid)
			error_target(e, "%s", texts[i]);
	}
	return all;
}

int target_explain_pid(const struct state *s, const char *text, struct error *e)
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

int target_scan(const char *const *texts, size_t n, struct state *s, struct error *e)
{
	struct error by_pid = ERROR_INIT;

	if (scan_pids(texts, n, s, &by_pid))
		return 0;
	if (by_pid.status == STATUS_DENIED || by_pid.status == STATUS_FAILED) {
		*e = by_pid;
		return -1;
	}
	/* Numbers can be names as well: one that is no VM's pid is looked for as such. */
	state_free(s);
	if (scan_host(s, e))
		return -1;
	/* That there is none cannot be said then. */
	if (!n && !s->n_vms && scan_check(s, e))
		return -1;
	scan_pids(texts, n, s, &by_pid);
	return 0;
}
