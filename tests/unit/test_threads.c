// SPDX-License-Identifier: GPL-2.0-or-later
/* Kernel threads and whose they are, in a directory that stands for /proc. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "threads.h"
#include "util.h"

enum { VM_PID = 100, OTHER_PID = 200, WORKER = 300 };

static char root[] = "/tmp/threads.XXXXXX";

static void make_dir(int proc, const char *path)
{
	assert_int_equal(mkdirat(proc, path, 0755), 0);
}

static void add_kthread(int proc, pid_t tid, pid_t owner, unsigned int start_time)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "%d", tid);
	make_dir(proc, path);
	snprintf(path, sizeof(path), "%d/stat", tid);
	fd = openat(proc, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_true(dprintf(fd, "%d (vhost-%d) S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 %u 0 0 0 0 0 0 0 "
			    "0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", tid, owner, start_time) > 0);
	close(fd);
}

static int set_up(void **state)
{
	static int proc;

	if (!mkdtemp(root))
		return -1;
	proc = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_dir(proc, "100");
	make_dir(proc, "100/task");
	make_dir(proc, "100/task/100");
	make_dir(proc, "200");
	make_dir(proc, "200/task");
	make_dir(proc, "200/task/200");
	add_kthread(proc, WORKER, VM_PID, 1000);
	add_kthread(proc, WORKER + 1, VM_PID, 1000);
	add_kthread(proc, WORKER + 2, OTHER_PID, 1000);
	/* Of a process that had this pid before. */
	add_kthread(proc, WORKER + 3, VM_PID, 10);
	*state = &proc;
	return 0;
}

static int tear_down(void **state)
{
	_cleanup_free_ char *command = xasprintf("rm -r %s", root);

	close(*(int *)*state);
	return system(command);
}

static void each_once(void **state)
{
	int proc = *(int *)*state;
	struct vm vm = { .pid = VM_PID, .start_time = 500 };
	struct kthreads list;

	threads_find_kthreads(proc, &list);
	assert_int_equal(list.n, 4);
	for (int scans = 0; scans < 2; scans++) {
		threads_match_kthreads(proc, &list, &vm);
		assert_int_equal(vm.n_threads, 2);
		assert_true(vm_thread(&vm, WORKER) && vm_thread(&vm, WORKER + 1));
		assert_int_equal(vm.threads[0].mode, WORKER_MODE_KTHREAD);
	}
	free(list.items);
	vm_free(&vm);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(each_once, set_up, tear_down) };

	return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
