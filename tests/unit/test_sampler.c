// SPDX-License-Identifier: GPL-2.0-or-later
/* Whom a sampler without a kernel snapshot asks, and how often. */
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "inspect.h"
#include "sampler_rings.h"
#include "target.h"
#include "util.h"

/* In place of the real ones (the linker's --wrap): two VMs, or both devices of one; and who was asked. */
int __wrap_target_find(const char *const *texts, size_t n, struct state *s, struct selection *sel,
		       struct error *e);
int __wrap_inspect_vm(struct vm *vm, const struct selection *sel, struct owner_log *log, struct error *e);

static unsigned int asked, told;

static struct vm *add_vm(struct state *s, pid_t pid)
{
	struct vm *vm = ARRAY_ADD(s->vms, s->n_vms);

	vm->pid = pid;
	vm->start_time = 1;
	for (int i = 0; i < 2; i++) {
		struct device *d = ARRAY_ADD(vm->devices, vm->n_devices);

		d->fd = 3 + i;
		snprintf(d->id, sizeof(d->id), "net%d", i);
	}
	return vm;
}

int __wrap_target_find(const char *const *texts, size_t n, struct state *s, struct selection *sel,
		       struct error *e)
{
	struct vm *vm = add_vm(s, getpid());

	(void)texts;
	(void)e;
	for (size_t i = 0; n && i < vm->n_devices; i++)
		*ARRAY_ADD(sel->items, sel->n) = (struct selected){ .vm = vm, .device = &vm->devices[i] };
	if (n)
		return 0;
	add_vm(s, getppid());
	for (size_t i = 0; i < s->n_vms; i++)
		*ARRAY_ADD(sel->items, sel->n) = (struct selected){ .vm = &s->vms[i] };
	return 0;
}

int __wrap_inspect_vm(struct vm *vm, const struct selection *sel, struct owner_log *log, struct error *e)
{
	(void)sel;
	(void)e;
	asked++;
	log->tid = vm->pid;
	vm->devices[0].queues_known = true;
	ARRAY_ADD(vm->devices[0].queues, vm->devices[0].n_queues)->busyloop_usecs = 33;
	return 0;
}

static void tell(const struct vm *vm, const struct owner_log *log, void *arg)
{
	assert_ptr_equal(arg, &told);
	assert_int_equal(log->tid, vm->pid);
	told++;
}

static void start(struct sampler *s, const char *text)
{
	struct error e = ERROR_INIT;

	asked = told = 0;
	assert_int_equal(sampler_open(s, text, SOURCE_OWNER, &e), 0);
	s->tell = tell;
	s->arg = &told;
}

/* Each sample has what the owner told, whenever it was asked. */
static void take(struct sampler *s, size_t vms)
{
	struct error e = ERROR_INIT;
	struct stat_sample sample;

	assert_int_equal(sampler_take(s, &sample, &e), 0);
	assert_int_equal(sample.state.n_vms, vms);
	for (size_t i = 0; i < vms; i++) {
		assert_int_equal(sample.state.vms[i].devices[0].n_queues, 1);
		assert_int_equal(sample.state.vms[i].devices[0].queues[0].busyloop_usecs, 33);
	}
	sample_free(&sample);
}

static void test_one_is_asked_once(void **unused)
{
	struct sampler s;

	(void)unused;
	start(&s, "vm1/tap0");
	take(&s, 1);
	take(&s, 1);
	assert_int_equal(asked, 1);
	assert_int_equal(told, 1);
	sampler_close(&s);
}

static void test_it_is_asked_again_when_settings_have_changed(void **unused)
{
	struct sampler s;

	(void)unused;
	start(&s, "vm1/tap0");
	take(&s, 1);
	sampler_forget(&s);
	take(&s, 1);
	assert_int_equal(asked, 2);
	assert_int_equal(told, 2);
	sampler_close(&s);
}

static void test_of_all_each_is_asked_and_told(void **unused)
{
	struct sampler s;

	(void)unused;
	start(&s, NULL);
	take(&s, 2);
	assert_int_equal(asked, 2);
	assert_int_equal(told, 2);
	sampler_close(&s);
}

static int ready[2], end[2];	/* pipes */

/* Tells its number, and does nothing until it is told to end. */
static void *idle_thread(void *unused)
{
	pid_t tid = gettid();
	char byte;

	(void)unused;
	assert_int_equal(write(ready[1], &tid, sizeof(tid)), sizeof(tid));
	assert_int_equal(read(end[0], &byte, 1), 1);
	return NULL;
}

/* A worker is a thread of the VM's process: what the others use is not its time. */
static void test_the_time_of_a_thread_is_its_own(void **unused)
{
	struct thread_count process = { .user_ticks = 0 }, thread;
	pthread_t idle;
	pid_t tid;

	(void)unused;
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(end), 0);
	assert_int_equal(pthread_create(&idle, NULL, idle_thread, NULL), 0);
	assert_int_equal(read(ready[0], &tid, sizeof(tid)), sizeof(tid));
	while (process.user_ticks + process.system_ticks < 5)
		thread_count_read(getpid(), true, &process);
	thread_count_read(tid, false, &thread);
	assert_true(thread.start_time > 0);
	assert_true(thread.user_ticks + thread.system_ticks < 2);
	assert_true(thread.cpu_ns >= 0 && thread.cpu_ns < 20000000);
	assert_int_equal(write(end[1], "", 1), 1);
	assert_int_equal(pthread_join(idle, NULL), 0);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(end[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_is_asked_once),
		cmocka_unit_test(test_it_is_asked_again_when_settings_have_changed),
		cmocka_unit_test(test_of_all_each_is_asked_and_told),
		cmocka_unit_test(test_the_time_of_a_thread_is_its_own),
	};

	return cmocka_run_group_tests_name("sampler", tests, NULL, NULL);
}
