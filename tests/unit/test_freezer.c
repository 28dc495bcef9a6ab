// SPDX-License-Identifier: GPL-2.0-or-later
/* A process in a frozen cgroup, of each version that this machine has mounted. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "freezer.h"
#include "owner_plan.h"
#include "unit.h"
#include "util.h"

static int write_to(const char *dir, const char *file, const char *text)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, file);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) > 0 ? 0 : -1;
}

static enum freezer_state look(int proc_fd, const char *says)
{
	char *words;
	enum freezer_state state = freezer_look(proc_fd, &words);

	assert_non_null(strstr(words, says));
	free(words);
	return state;
}

/* A write asks for it; that it is so comes later. */
static void wait_for_state(int proc_fd, enum freezer_state wanted, const char *says)
{
	for (int i = 0; i < 500; i++) {
		_cleanup_free_ char *words = NULL;

		if (freezer_look(proc_fd, &words) == wanted)
			break;
		sleep_ms(10);
	}
	assert_int_equal(look(proc_fd, says), wanted);
}

static void freeze(const char *root, const char *file, const char *frozen, const char *thawed)
{
	_cleanup_free_ char *dir = xasprintf("%s/vhostctl-test-%d", root, (int)getpid());
	struct error e = ERROR_INIT;
	_cleanup_close_ int proc_fd = -1;
	char text[32];
	pid_t child;

	if (access(root, F_OK) || mkdir(dir, 0755))
		skip();
	child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	snprintf(text, sizeof(text), "%d", (int)child);
	assert_int_equal(write_to(dir, "cgroup.procs", text), 0);
	snprintf(text, sizeof(text), "/proc/%d", (int)child);
	proc_fd = open(text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(look(proc_fd, "not frozen"), FREEZER_RUNS);
	assert_int_equal(owner_plan_check(proc_fd, child, OWNER_THREAD_ANY, &e), 0);
	assert_int_equal(write_to(dir, file, frozen), 0);
	wait_for_state(proc_fd, FREEZER_FROZEN, "frozen: calls would wait");
	assert_int_equal(owner_plan_check(proc_fd, child, OWNER_THREAD_ANY, &e), -1);
	assert_int_equal(e.status, STATUS_FAILED);
	assert_string_equal(e.message, "its cgroup is frozen; thaw it first");
	assert_int_equal(write_to(dir, file, thawed), 0);
	wait_for_state(proc_fd, FREEZER_RUNS, "not frozen");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	for (int i = 0; rmdir(dir) && i < 500; i++)
		sleep_ms(10);
	assert_int_equal(access(dir, F_OK), -1);
}

static void version_1(void **state)
{
	(void)state;
	freeze("/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED");
}

static void version_2(void **state)
{
	bool alone = !access("/sys/fs/cgroup/cgroup.controllers", F_OK);

	(void)state;
	freeze(alone ? "/sys/fs/cgroup" : "/sys/fs/cgroup/unified", "cgroup.freeze", "1", "0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_1),
		cmocka_unit_test(version_2),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
