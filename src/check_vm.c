// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <string.h>

#include "aside.h"
#include "check_list.h"
#include "freezer.h"
#include "procfs.h"
#include "util.h"
#include "vm.h"

static void check_traced(const char *status, size_t len, struct check_list *list)
{
	int64_t tracer = proc_field_number(status, len, "TracerPid", 10);
	_cleanup_proc_text_ struct proc_text comm = { 0 };
	char path[48];

	if (tracer <= 0) {
		check_add(list, "not_traced", tracer == 0 ? CHECK_OK : CHECK_UNKNOWN, "%s",
			  tracer == 0 ? "by nobody" : "status does not tell");
		return;
	}
	snprintf(path, sizeof(path), "/proc/%lld/comm", (long long)tracer);
	if (!proc_read(AT_FDCWD, path, 256, &comm))
		comm.data[strcspn(comm.data, "\n")] = '\0';
	check_add(list, "not_traced", CHECK_NO, "process %lld (%s) traces it", (long long)tracer,
		  comm.data ? comm.data : "gone");
}

static void check_state(const char *status, size_t len, struct check_list *list)
{
	size_t n = 0;
	const char *state = proc_field(status, len, "State", &n);

	if (!n)
		check_add(list, "not_stopped", CHECK_UNKNOWN, "status does not tell");
	else if (*state == 'T')
		check_add(list, "not_stopped", CHECK_NO,
			  "stopped; busy-loop timeouts can be read and set, workers not changed");
	else if (*state == 't')
		check_add(list, "not_stopped", CHECK_NO, "stopped by its tracer");
	else
		check_add(list, "not_stopped", CHECK_OK, "state %.*s", (int)n, state);
}

static void check_seccomp(const char *status, size_t len, struct check_list *list)
{
	int64_t mode = proc_field_number(status, len, "Seccomp", 10);
	int64_t filters = proc_field_number(status, len, "Seccomp_filters", 10);

	if (mode == 0)
		check_add(list, "seccomp", CHECK_OK, "no filter");
	else if (mode == 1)
		check_add(list, "seccomp", CHECK_NO, "strict: any ioctl would kill it");
	else if (mode == 2 && filters != UNKNOWN)
		check_add(list, "seccomp", CHECK_UNKNOWN,
			  "%lld filters; each call is held against them before it is made",
			  (long long)filters);
	else if (mode == 2)
		check_add(list, "seccomp", CHECK_UNKNOWN,
			  "filters; each call is held against them before it is made");
	else
		check_add(list, "seccomp", CHECK_UNKNOWN, "status does not tell");
}

/* "x86_Thread_features:\tshstk wrss"; kernels before 6.6 have no such line, and no shadow stack. */
static void check_shadow_stack(const char *status, size_t len, struct check_list *list)
{
	_cleanup_free_ char *features = proc_field_string(status, len, "x86_Thread_features");

	if (features && strstr(features, "shstk"))
		check_add(list, "shadow_stack", CHECK_NO,
			  "in use: no call can be made in this process");
	else
		check_add(list, "shadow_stack", CHECK_OK, "none");
}

void check_status_text(const char *status, size_t len, struct check_list *list)
{
	check_traced(status, len, list);
	check_state(status, len, list);
	check_seccomp(status, len, list);
	check_shadow_stack(status, len, list);
}

static void check_frozen(int proc_fd, struct check_list *list)
{
	_cleanup_free_ char *words = NULL;
	enum freezer_state state = freezer_look(proc_fd, &words);

	check_add(list, "not_frozen", state == FREEZER_UNKNOWN ? CHECK_UNKNOWN : state == FREEZER_RUNS, "%s",
		  words);
}

static void check_may_trace(const struct vm_ref *ref, struct check_list *list)
{
	_cleanup_proc_text_ struct proc_text byte = { 0 };

	/*
	 * The same right as tracing: PTRACE_MODE_ATTACH. Opening it touches nothing; it is read at address 0,
	 * where hardly any process has memory: EIO.
	 */
	if (!aside_read(ref->proc_fd, "mem", 1, &byte) || errno == EIO)
		check_add(list, "may_trace", CHECK_OK, "yes");
	else
		check_add(list, "may_trace", errno == EACCES || errno == EPERM ? CHECK_NO : CHECK_UNKNOWN,
			  "%s", errno == ETIMEDOUT ? aside_late : strerror(errno));
}

int check_vm(struct check *c, const struct vm *vm, struct error *e)
{
	_cleanup_proc_text_ struct proc_text status = { 0 };
	struct check_vm *entry;
	struct vm_ref ref;

	if (vm_hold(&ref, vm->pid, vm->start_time, e))
		return -1;
	entry = ARRAY_ADD(c->vms, c->n_vms);
	entry->pid = vm->pid;
	entry->name = vm->name ? xstrdup(vm->name) : NULL;
	check_may_trace(&ref, &entry->list);
	if (!proc_read(ref.proc_fd, "status", 1 << 16, &status))
		check_status_text(status.data, status.len, &entry->list);
	check_frozen(ref.proc_fd, &entry->list);
	vm_release(&ref);
	return 0;
}
