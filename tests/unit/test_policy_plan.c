// SPDX-License-Identifier: GPL-2.0-or-later
/* What becomes of a plan when one of its VMs ends before anything was done. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inspect.h"
#include "policy_plan.h"
#include "source.h"
#include "target.h"
#include "util.h"

/* In place of the real ones (the linker's --wrap): two VMs, of which one has ended when it is asked. */
int __wrap_target_find(const char *const *texts, size_t n, struct state *s, struct selection *sel,
		       struct error *e);
int __wrap_source_take(enum source want, struct state *s, const struct selection *sel, struct snapshot *snap,
		       struct error *e);
int __wrap_inspect_vm(struct vm *vm, const struct selection *sel, struct owner_log *log, struct error *e);

static pid_t ended;
static bool refuses;		/* the other one */

static void add_vm(struct state *s, pid_t pid)
{
	struct vm *vm = ARRAY_ADD(s->vms, s->n_vms);
	struct device *d = ARRAY_ADD(vm->devices, vm->n_devices);

	vm->pid = pid;	/* start_time 0: whatever process it is */
	d->kind = DEVICE_NET;
	snprintf(d->id, sizeof(d->id), "net0");
}

int __wrap_target_find(const char *const *texts, size_t n, struct state *s, struct selection *sel,
		       struct error *e)
{
	(void)texts;
	(void)e;
	assert_int_equal(n, 0);
	add_vm(s, ended);
	add_vm(s, getpid());
	for (size_t i = 0; i < s->n_vms; i++)
		*ARRAY_ADD(sel->items, sel->n) = (struct selected){ .vm = &s->vms[i] };
	return 0;
}

int __wrap_source_take(enum source want, struct state *s, const struct selection *sel, struct snapshot *snap,
		       struct error *e)
{
	(void)want;
	(void)s;
	(void)sel;
	(void)e;
	*snap = (struct snapshot){ 0 };
	return 0;
}

int __wrap_inspect_vm(struct vm *vm, const struct selection *sel, struct owner_log *log, struct error *e)
{
	struct device *d = &vm->devices[0];

	(void)sel;
	(void)log;
	if (vm->pid == ended)
		return error_set(e, STATUS_NOT_FOUND, ESRCH, "test", "the VM is gone");
	if (refuses)
		return error_set(e, STATUS_FAILED, EBUSY, "test", "it is busy");
	d->queues_known = true;
	device_add_queue(d, 0)->busyloop_usecs = 7;
	device_add_queue(d, 1)->busyloop_usecs = 7;
	return 0;
}

/* One VM that has ended keeps nobody from the others. */
static void test_of_many_one_ends(void **state)
{
	static const char text[] = "{\"schema\":1,\"vms\":[{\"match\":{},\"devices\":"
				   "[{\"match\":{},\"busyloop_usecs\":{\"rx\":7,\"tx\":50},\"optional\":true}]}]}";
	struct policy p = { 0 };
	struct policy_run run = { .policy = &p, .dry_run = true };
	struct error e = ERROR_INIT;

	(void)state;
	assert_int_equal(policy_parse("f", text, strlen(text), &p, &e), 0);
	assert_int_equal(policy_look(&run, &e), 0);
	assert_int_equal(run.notes.n, 1);
	assert_non_null(strstr(run.notes.items[0], ": it ended meanwhile"));
	assert_int_equal(policy_act(&run, &e), 0);
	assert_int_equal(run.changes.n, 1);
	assert_int_equal(run.changes.items[0].pid, getpid());
	assert_non_null(strstr(run.changes.items[0].target, "/net0/tx"));
	policy_run_free(&run);
	/* One that is there and cannot be read is another matter. */
	refuses = true;
	assert_int_equal(policy_look(&run, &e), -1);
	assert_int_equal(e.status, STATUS_FAILED);
	policy_run_free(&run);
	policy_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_many_one_ends),
	};

	ended = fork();
	if (!ended)
		_exit(0);
	waitpid(ended, NULL, 0);
	return cmocka_run_group_tests_name("policy plan", tests, NULL, NULL);
}
