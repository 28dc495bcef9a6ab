// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vm.h"

static pid_t child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void hold_and_lose(void **state)
{
	struct error e = ERROR_INIT;
	struct vm_ref ref;
	pid_t pid = child();

	(void)state;
	assert_int_equal(vm_hold(&ref, pid, 0, &e), 0);
	assert_true(ref.pid == pid && ref.start_time > 0);
	assert_int_equal(vm_recheck(&ref, &e), 0);
	kill(pid, SIGKILL);
	/* a zombie is gone as well */
	waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
	assert_int_equal(vm_recheck(&ref, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	waitpid(pid, NULL, 0);
	assert_int_equal(vm_recheck(&ref, &e), -1);
	vm_release(&ref);
	assert_int_equal(ref.pidfd, -1);
	assert_int_equal(vm_hold(&ref, pid, 0, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	assert_int_equal(ref.proc_fd, -1);
	assert_true(vm_has_ended(pid, 0));
}

/* The number is right but the process is not the one that was seen. */
static void other_start_time(void **state)
{
	struct error e = ERROR_INIT;
	struct vm_ref ref;
	pid_t pid = child();
	uint64_t start_time;

	(void)state;
	assert_int_equal(vm_hold(&ref, pid, 0, &e), 0);
	start_time = ref.start_time;
	vm_release(&ref);
	assert_int_equal(vm_hold(&ref, pid, start_time, &e), 0);
	vm_release(&ref);
	assert_int_equal(vm_hold(&ref, pid, start_time + 1, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	assert_non_null(strstr(e.message, "another one by now"));
	assert_true(vm_has_ended(pid, start_time + 1));
	assert_false(vm_has_ended(pid, start_time));
	end(pid);
}

static pid_t thread_tid;

static void *thread(void *arg)
{
	thread_tid = gettid();
	pthread_barrier_wait(arg);
	pthread_barrier_wait(arg);
	return NULL;
}

static void no_process(void **state)
{
	struct error e = ERROR_INIT;
	pthread_barrier_t barrier;
	struct vm_ref ref;
	pthread_t t;

	(void)state;
	assert_int_equal(vm_hold(&ref, 0, 0, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	assert_int_equal(vm_hold(&ref, -1, 0, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	pthread_barrier_init(&barrier, NULL, 2);
	assert_int_equal(pthread_create(&t, NULL, thread, &barrier), 0);
	pthread_barrier_wait(&barrier);
	assert_int_equal(vm_hold(&ref, thread_tid, 0, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	pthread_barrier_wait(&barrier);
	pthread_join(t, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hold_and_lose),
		cmocka_unit_test(other_start_time),
		cmocka_unit_test(no_process),
	};

	return cmocka_run_group_tests_name("vm", tests, NULL, NULL);
}
