// SPDX-License-Identifier: GPL-2.0-or-later
/* Which worker serves which queue, where a snapshot tells only a part of it and calls tell the rest. */
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "inspect.h"
#include "source.h"
#include "util.h"
#include "workers_core.h"

enum { QUEUES = 4 };

/* In place of the real ones: the linker's --wrap. */
int __wrap_snapshot_take(pid_t pid, struct snapshot *snap, struct error *e);
int __wrap_source_merge(const struct snapshot *snap, struct vm *vm, bool ignored_too, struct error *e);
int __wrap_inspect_features(struct vm *vm, const struct selection *sel, struct error *e);
int __wrap_vhost_run(const struct vm_ref *vm, enum owner_thread rule, struct vhost_op *ops, size_t n,
		     struct owner_log *log, struct error *e);

static int64_t told_worker;	/* of each queue, by the snapshot */
static unsigned int asked;

int __wrap_snapshot_take(pid_t pid, struct snapshot *snap, struct error *e)
{
	(void)pid;
	(void)e;
	*snap = (struct snapshot){ .has = { true, true, true } };
	return 0;
}

int __wrap_source_merge(const struct snapshot *snap, struct vm *vm, bool ignored_too, struct error *e)
{
	struct device *d = &vm->devices[0];

	(void)snap;
	(void)ignored_too;
	(void)e;
	for (unsigned int i = 0; i < QUEUES; i++)
		device_add_queue(d, i)->worker_id = told_worker;
	ARRAY_ADD(d->workers, d->n_workers)->id = 0;
	d->queues_known = d->workers_known = true;
	return 0;
}

int __wrap_inspect_features(struct vm *vm, const struct selection *sel, struct error *e)
{
	(void)vm;
	(void)sel;
	(void)e;
	return 0;
}

/* The device has four queues, all of worker 7. */
int __wrap_vhost_run(const struct vm_ref *vm, enum owner_thread rule, struct vhost_op *ops, size_t n,
		     struct owner_log *log, struct error *e)
{
	(void)vm;
	(void)rule;
	(void)log;
	(void)e;
	for (size_t i = 0; i < n; i++) {
		ops[i].begun = ops[i].done = true;
		ops[i].errnum = ops[i].index < QUEUES ? 0 : ENOBUFS;
		ops[i].value = 7;
	}
	asked++;
	return 0;
}

static void read_map(int64_t by_snapshot, int64_t worker)
{
	struct state st = { 0 };
	struct vm *vm = ARRAY_ADD(st.vms, st.n_vms);
	struct device *d = ARRAY_ADD(vm->devices, vm->n_devices);
	struct worker_job job = { .vm = vm, .device = d };
	struct error e = ERROR_INIT;
	struct session s;

	vm->pid = getpid();
	d->kind = DEVICE_SCSI;
	d->fd = -1;
	told_worker = by_snapshot;
	asked = 0;
	assert_int_equal(session_start(&s, &job, &e), 0);
	assert_int_equal(session_read_map(&s, &e), 0);
	assert_int_equal(d->n_queues, QUEUES);
	for (unsigned int i = 0; i < QUEUES; i++) {
		assert_int_equal(d->queues[i].index, i);
		assert_int_equal(d->queues[i].worker_id, worker);
	}
	assert_int_equal(d->n_workers, 1);
	assert_int_equal(d->workers[0].id, worker);
	assert_int_equal(s.told, asked == 0);
	session_end(&s);
	state_free(&st);
}

static void by_snapshot(void **state)
{
	(void)state;
	read_map(0, 0);
	assert_int_equal(asked, 0);
}

/* It was taken before the device had an owner, which it has by now. */
static void by_calls_after_all(void **state)
{
	(void)state;
	read_map(UNKNOWN, 7);
	assert_true(asked > 0);
}

/* To read what is not there any more is no success. */
static void device_is_gone(void **state)
{
	struct state st = { 0 };
	struct vm *vm = ARRAY_ADD(st.vms, st.n_vms);
	struct device *d = ARRAY_ADD(vm->devices, vm->n_devices);
	struct selected item = { .vm = vm, .device = d };
	const struct selection sel = { &item, 1 };
	struct error why = ERROR_INIT, e = ERROR_INIT;

	(void)state;
	vm->pid = getpid();
	strcpy(d->id, "net0");
	assert_int_equal(source_read(SOURCE_AUTO, &st, &sel, true, &why, &e), -1);
	assert_int_equal(e.status, STATUS_FAILED);
	assert_string_equal(e.target, "net0");
	state_free(&st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_snapshot),
		cmocka_unit_test(by_calls_after_all),
		cmocka_unit_test(device_is_gone),
	};

	return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
