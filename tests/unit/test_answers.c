// SPDX-License-Identifier: GPL-2.0-or-later
/* What a VM can have the kernel answer to questions that lie in its own memory. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "busyloop.h"
#include "inspect.h"
#include "util.h"
#include "vhost.h"

/*
 * In place of the real one (the linker's --wrap): of the device with fd 3 queue 0 is not there, and others are;
 * what is asked of the one with fd 5 is refused.
 */
int __wrap_vhost_run(const struct vm_ref *vm, enum owner_thread rule, struct vhost_op *ops, size_t n,
		     struct owner_log *log, struct error *e);

static unsigned int runs;

int __wrap_vhost_run(const struct vm_ref *vm, enum owner_thread rule, struct vhost_op *ops, size_t n,
		     struct owner_log *log, struct error *e)
{
	bool ended = false;

	(void)vm;
	(void)rule;
	(void)log;
	(void)e;
	assert_in_range(++runs, 1, 100);
	for (size_t i = 0; i < n && !ended; i++) {
		struct vhost_op *op = &ops[i];
		bool hostile = op->device->fd == 3;

		op->begun = op->done = true;
		op->errnum = (hostile ? op->index == 0 : op->index >= 130) ? ENOBUFS : 0;
		if (op->device->fd == 5)
			op->errnum = EPERM;
		if (op->verb != VHOST_BUSYLOOP_SET)
			op->value = 0;
		ended = op->essential && op->errnum;
	}
	return 0;
}

static void add_scsi(struct vm *vm, int fd)
{
	struct device *d = ARRAY_ADD(vm->devices, vm->n_devices);

	d->kind = DEVICE_SCSI;
	d->fd = fd;
	snprintf(d->id, sizeof(d->id), "scsi%zu", vm->n_devices - 1);
}

/* Ours is a process that can be held. */
static struct vm *vm_of_two(struct state *s)
{
	struct vm *vm = ARRAY_ADD(s->vms, s->n_vms);

	runs = 0;
	vm->pid = getpid();
	add_scsi(vm, 3);
	add_scsi(vm, 4);
	return vm;
}

static void test_inspect_takes_no_queue_after_a_gap(void **unused)
{
	struct state s = { 0 };
	struct vm *vm = vm_of_two(&s);
	struct selected whole = { .vm = vm };
	const struct selection sel = { &whole, 1 };
	struct error e = ERROR_INIT;

	(void)unused;
	inspect_vm(vm, &sel, NULL, &e);
	assert_int_equal(vm->devices[0].n_queues, 0);
	assert_int_equal(vm->devices[1].n_queues, 130);
	for (size_t i = 0; i < 130; i++)
		assert_int_equal(vm->devices[1].queues[i].index, i);
	state_free(&s);
}

static void test_inspect_tells_of_a_refusal_once(void **unused)
{
	struct state s = { 0 };
	struct vm *vm = vm_of_two(&s);
	struct selected whole = { .vm = vm };
	const struct selection sel = { &whole, 1 };
	struct error e = ERROR_INIT;

	(void)unused;
	vm->devices[0].fd = 5;
	inspect_vm(vm, &sel, NULL, &e);
	/* That its features could not be read, and one more. */
	assert_int_equal(vm->devices[0].n_errors, 2);
	assert_int_equal(vm->devices[0].errors[1].errnum, EPERM);
	state_free(&s);
}

static void set(bool dry_run)
{
	struct state s = { 0 };
	struct vm *vm = vm_of_two(&s);
	struct selected both[] = { { .vm = vm, .device = &vm->devices[0] },
				   { .vm = vm, .device = &vm->devices[1] } };
	const struct selection sel = { both, ARRAY_SIZE(both) };
	struct changes c = { 0 };
	struct error e = ERROR_INIT;

	assert_int_equal(busyloop_set(vm, &sel, 0, dry_run, &c, NULL, &e), 0);
	assert_int_equal(vm->devices[0].n_queues, 0);
	assert_int_equal(vm->devices[1].n_queues, 130);
	assert_int_equal(c.n, 0);
	changes_free(&c);
	state_free(&s);
}

static void test_busyloop_takes_no_queue_after_a_gap(void **unused)
{
	(void)unused;
	set(true);
	set(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inspect_takes_no_queue_after_a_gap),
		cmocka_unit_test(test_inspect_tells_of_a_refusal_once),
		cmocka_unit_test(test_busyloop_takes_no_queue_after_a_gap),
	};

	return cmocka_run_group_tests_name("answers", tests, NULL, NULL);
}
