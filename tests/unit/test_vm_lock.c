// SPDX-License-Identifier: GPL-2.0-or-later
/* Locks of VMs, and the signals that are held back, with real processes. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util.h"
#include "vm_lock.h"

static struct vm vm = { .pid = 0x7ffffff0, .start_time = 1 };	/* no process has this pid */
static char runtime[] = "/tmp/test_vm_lock.XXXXXX";

/* As root it is /run; else a directory of our own. */
static int setup(void **state)
{
	(void)state;
	return !mkdtemp(runtime) || setenv("XDG_RUNTIME_DIR", runtime, 1);
}

static int teardown(void **state)
{
	char *cmd = xasprintf("rm -r %s", runtime);
	int ret = system(cmd); /* NOLINT(cert-env33-c): a name of our own making */

	(void)state;
	free(cmd);
	return ret;
}

static void take(struct vm_lock *lock, unsigned int secs)
{
	struct stopper s;
	struct error e = ERROR_INIT;
	int ret;

	stopper_hold(&s);
	ret = vm_lock(lock, &vm, secs, &s, &e);
	stopper_release(&s);
	if (ret)
		fail_msg("%d: %s", ret, e.message);
}

static void test_once_and_again(void **state)
{
	struct vm_lock lock;
	char *path;

	(void)state;
	take(&lock, 0);
	path = xstrdup(lock.path);
	assert_int_equal(access(path, F_OK), 0);
	vm_unlock(&lock);
	assert_int_equal(access(path, F_OK), -1);
	take(&lock, 0);
	vm_unlock(&lock);
	free(path);
}

/* Holds the lock until its stdin ends. */
static pid_t holder(int *end)
{
	int ready[2], hold[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(hold), 0);
	pid = fork();
	if (pid == 0) {
		struct vm_lock lock;

		close(hold[1]);
		take(&lock, 0);
		if (write(ready[1], "x", 1) != 1 || read(hold[0], &c, 1) < 0)
			_exit(1);
		vm_unlock(&lock);
		_exit(0);
	}
	close(hold[0]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	*end = hold[1];
	return pid;
}

static void test_another_holds_it(void **state)
{
	struct stopper s;
	struct error e = ERROR_INIT;
	struct vm_lock lock;
	char words[64];
	int end;
	pid_t pid = holder(&end);

	(void)state;
	stopper_hold(&s);
	assert_int_equal(vm_lock(&lock, &vm, 0, &s, &e), -1);
	assert_int_equal(e.status, STATUS_FAILED);
	snprintf(words, sizeof(words), "process %d applies a policy", (int)pid);
	assert_non_null(strstr(e.message, words));
	/* A signal ends the waiting. */
	raise(SIGTERM);
	assert_int_equal(vm_lock(&lock, &vm, 60, &s, &e), -1);
	assert_int_equal(e.errnum, EINTR);
	stopper_release(&s);
	/* It waits until the other is done. */
	close(end);
	take(&lock, 60);
	vm_unlock(&lock);
	waitpid(pid, NULL, 0);
}

static void test_one_that_was_killed(void **state)
{
	struct vm_lock lock;
	int end;
	pid_t pid = holder(&end);

	(void)state;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(end);
	take(&lock, 0);
	vm_unlock(&lock);
}

static void test_ignored_signals_are_no_request(void **state)
{
	struct stopper s;

	(void)state;
	signal(SIGHUP, SIG_IGN);
	stopper_hold(&s);
	raise(SIGHUP);
	assert_false(stopper_came(&s));
	raise(SIGINT);
	assert_true(stopper_came(&s));
	assert_true(stopper_sleep(&s, 100000));
	assert_int_equal(s.got, SIGINT);
	raise(SIGINT);
	stopper_release(&s);
	signal(SIGHUP, SIG_DFL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once_and_again),
		cmocka_unit_test(test_another_holds_it),
		cmocka_unit_test(test_one_that_was_killed),
		cmocka_unit_test(test_ignored_signals_are_no_request),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
