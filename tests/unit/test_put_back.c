// SPDX-License-Identifier: GPL-2.0-or-later
/* What has ended has nothing that could be put back, and nothing is left of it. */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "affinity.h"
#include "busyloop.h"
#include "util.h"
#include "workers_core.h"

/* In place of the real ones: the linker's --wrap. */
int __wrap_vhost_run(const struct vm_ref *vm, enum owner_thread rule, struct vhost_op *ops, size_t n,
		     struct owner_log *log, struct error *e);
int __wrap_session_read_map(struct session *s, struct error *e);
bool __wrap_session_thread(const struct session *s, int64_t id, struct kthread *thread);
int __wrap_affinity_get(pid_t tid, struct ranges *cpus, struct error *e);
int __wrap_affinity_set(pid_t tid, uint64_t start_time, const struct ranges *cpus, struct error *e);

static bool ends;		/* the VM, or the thread, amid the change */
static unsigned int sets;

/* The first value is set, and then something fails, each time. */
int __wrap_vhost_run(const struct vm_ref *vm, enum owner_thread rule, struct vhost_op *ops, size_t n,
		     struct owner_log *log, struct error *e)
{
	(void)rule;
	(void)log;
	for (size_t i = 0; i < n && i < 2; i++)
		ops[i].begun = ops[i].done = true;
	if (ends) {
		kill(vm->pid, SIGKILL);
		waitpid(vm->pid, NULL, 0);
	}
	return error_set(e, STATUS_FAILED, 0, "test", "it failed");
}

int __wrap_session_read_map(struct session *s, struct error *e)
{
	(void)s;
	(void)e;
	return 0;
}

bool __wrap_session_thread(const struct session *s, int64_t id, struct kthread *thread)
{
	(void)s;
	*thread = (struct kthread){ .tid = (pid_t)id, .start_time = 1 };
	return true;
}

int __wrap_affinity_get(pid_t tid, struct ranges *cpus, struct error *e)
{
	(void)tid;
	(void)e;
	*cpus = (struct ranges){ 0 };
	ranges_add(cpus, 0, 0);
	return 0;
}

/* The first worker's, then not the second one's, and not those of the first again. */
int __wrap_affinity_set(pid_t tid, uint64_t start_time, const struct ranges *cpus, struct error *e)
{
	(void)tid;
	(void)start_time;
	(void)cpus;
	if (sets++ == 0)
		return 0;
	return error_set(e, STATUS_FAILED, sets == 3 && ends ? ESRCH : EPERM, "test", "it failed");
}

static enum status set_busyloop(bool vm_ends)
{
	struct state s = { 0 };
	struct vm *vm = ARRAY_ADD(s.vms, s.n_vms);
	struct device *d = ARRAY_ADD(vm->devices, vm->n_devices);
	struct selected whole = { .vm = vm, .device = d };
	const struct selection sel = { &whole, 1 };
	struct changes c = { 0 };
	struct error e = ERROR_INIT;

	ends = vm_ends;
	strcpy(d->id, "net0");
	vm->pid = fork();
	if (vm->pid == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(busyloop_set(vm, &sel, 50, false, &c, NULL, &e), -1);
	assert_true((strstr(e.message, "left as set") != NULL) == !vm_ends);
	if (!vm_ends) {
		kill(vm->pid, SIGKILL);
		waitpid(vm->pid, NULL, 0);
	}
	state_free(&s);
	return e.status;
}

static void test_busyloop_of_a_vm(void **unused)
{
	(void)unused;
	assert_int_equal(set_busyloop(false), STATUS_ROLLBACK);
	assert_int_equal(set_busyloop(true), STATUS_FAILED);
}

static enum status pin(bool thread_ends)
{
	struct vm vm = { .pid = getpid() };
	struct device d = { .kind = DEVICE_SCSI };
	struct worker_job job = { .vm = &vm, .device = &d };
	struct ranges ids = { 0 }, cpus = { 0 };
	struct error e = ERROR_INIT;

	ends = thread_ends;
	sets = 0;
	ranges_add(&ids, 1, 2);
	ranges_add(&cpus, 0, 0);
	assert_int_equal(workers_pin(&job, &ids, &cpus, &e), -1);
	assert_int_equal(sets, 3);
	ranges_free(&ids);
	ranges_free(&cpus);
	return e.status;
}

static void test_cpus_of_a_worker(void **unused)
{
	(void)unused;
	assert_int_equal(pin(false), STATUS_ROLLBACK);
	assert_int_equal(pin(true), STATUS_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_busyloop_of_a_vm),
		cmocka_unit_test(test_cpus_of_a_worker),
	};

	return cmocka_run_group_tests_name("put back", tests, NULL, NULL);
}
