// SPDX-License-Identifier: GPL-2.0-or-later
/* Real processes that share real open files; that the files are pipes is all the same to kcmp. */
#include "unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sharing.h"
#include "util.h"

static int pipes[4];	/* four different open files */

static pid_t holder(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static struct vm *add_vm(struct state *s, pid_t pid, bool has_worker)
{
	struct vm *vm = ARRAY_ADD(s->vms, s->n_vms);

	vm->pid = pid;
	if (has_worker)
		ARRAY_ADD(vm->threads, vm->n_threads);
	return vm;
}

static void add_fd(struct vm *vm, int fd)
{
	struct device *d = ARRAY_ADD(vm->devices, vm->n_devices);

	d->fd = fd;
	d->path = xstrdup("/dev/vhost-net");
}

static int setup(void **state)
{
	static pid_t pids[2];

	if (pipe(pipes) || pipe(pipes + 2))
		return -1;
	pids[0] = holder();
	pids[1] = holder();
	*state = pids;
	return 0;
}

static int teardown(void **state)
{
	pid_t *pids = *state;

	for (int i = 0; i < 2; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	for (int i = 0; i < 4; i++)
		close(pipes[i]);
	return 0;
}

/* The owner (the one with a worker) stays; one that merely holds its file goes. */
static void owner_shows(void **state)
{
	pid_t *pids = *state;
	struct state s = { 0 };
	struct vm *vm;

	add_fd(add_vm(&s, pids[0], false), pipes[0]);
	vm = add_vm(&s, pids[1], true);
	add_fd(vm, pipes[0]);
	add_fd(vm, pipes[1]);
	sharing_resolve(&s);
	assert_int_equal(s.n_errors, 0);
	assert_int_equal(s.n_vms, 1);
	assert_int_equal(s.vms[0].pid, pids[1]);
	assert_int_equal(s.vms[0].devices[0].n_holders, 1);
	assert_int_equal(s.vms[0].devices[0].holders[0], pids[0]);
	assert_int_equal(s.vms[0].devices[1].n_holders, 0);
	state_free(&s);
}

/* Nobody has a worker: nobody is dropped. */
static void no_owner_shows(void **state)
{
	pid_t *pids = *state;
	struct state s = { 0 };

	add_fd(add_vm(&s, pids[0], false), pipes[0]);
	add_fd(add_vm(&s, pids[1], false), pipes[0]);
	sharing_resolve(&s);
	assert_int_equal(s.n_vms, 2);
	assert_int_equal(s.vms[0].devices[0].holders[0], pids[1]);
	assert_int_equal(s.vms[1].devices[0].holders[0], pids[0]);
	state_free(&s);
}

/* One that has something of its own besides is a VM. */
static void own_device_besides(void **state)
{
	pid_t *pids = *state;
	struct state s = { 0 };
	struct vm *vm = add_vm(&s, pids[0], false);

	add_fd(vm, pipes[0]);
	add_fd(vm, pipes[2]);
	add_fd(add_vm(&s, pids[1], true), pipes[0]);
	sharing_resolve(&s);
	assert_int_equal(s.n_vms, 2);
	assert_int_equal(s.vms[0].n_devices, 2);
	state_free(&s);
}

/* dup() of an fd is no second device. */
static void duplicates(void **state)
{
	pid_t self = getpid();
	struct state s = { 0 };
	int copy = dup(pipes[1]), other = dup(pipes[1]);
	struct vm *vm = add_vm(&s, self, true);

	(void)state;
	for (int i = 0; i < 4; i++)
		add_fd(vm, pipes[i]);
	add_fd(vm, copy);
	add_fd(vm, other);
	sharing_resolve(&s);
	assert_int_equal(s.n_vms, 1);
	assert_int_equal(s.vms[0].n_devices, 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(s.vms[0].devices[i].fd, pipes[i]);
		assert_int_equal(s.vms[0].devices[i].n_holders, 0);
	}
	state_free(&s);
	close(copy);
	close(other);
}

/* Processes and fds that are gone compare as different from all. */
static void vanished(void **state)
{
	pid_t *pids = *state, gone = holder();
	struct state s = { 0 };

	kill(gone, SIGKILL);
	waitpid(gone, NULL, 0);
	for (int i = 0; i < 20; i++) {
		add_fd(add_vm(&s, i & 1 ? gone : pids[0], false), i % 3 ? 1000 + i : pipes[i % 4]);
		add_fd(&s.vms[i], pipes[1]);
	}
	sharing_resolve(&s);
	assert_int_equal(s.n_vms, 20);
	assert_int_equal(s.n_errors, 0);
	state_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owner_shows),	      cmocka_unit_test(no_owner_shows),
		cmocka_unit_test(own_device_besides), cmocka_unit_test(duplicates),
		cmocka_unit_test(vanished),
	};

	return cmocka_run_group_tests_name("sharing", tests, setup, teardown);
}
