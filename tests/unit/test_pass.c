// SPDX-License-Identifier: GPL-2.0-or-later
/* Files over a socket: all arrive, or an errno does and none stays behind. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pass.h"
#include "unit.h"

static int pair[2];

static int set_up(void **state)
{
	(void)state;
	return pass_pair(pair);
}

static int tear_down(void **state)
{
	(void)state;
	close(pair[0]);
	return close(pair[1]);
}

static int lowest_free(void)
{
	int fd = dup(pair[0]);

	close(fd);
	return fd;
}

static void both_arrive(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(pass_files(pair[0], 0, pair, 2), 0);
	assert_int_equal(receive_files(pair[1], fds, 2), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
		close(fds[i]);
	}
}

static void an_errno_arrives(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(pass_files(pair[0], EACCES, NULL, 0), 0);
	assert_int_equal(receive_files(pair[1], &fd, 1), EACCES);
}

static void nobody_sends(void **state)
{
	int fd;

	(void)state;
	fcntl(pair[1], F_SETFL, O_NONBLOCK);
	assert_int_equal(receive_files(pair[1], &fd, 1), EAGAIN);
}

/* A child that was killed before it had anything to send: nobody waits for it. */
static void sender_is_gone(void **state)
{
	int own[2], fd;
	pid_t child;

	(void)state;
	assert_int_equal(pass_pair(own), 0);
	child = fork();
	if (child == 0) {
		raise(SIGKILL);
		_exit(1);
	}
	close(own[1]);
	alarm(10);
	assert_int_equal(receive_files(own[0], &fd, 1), ECHILD);
	alarm(0);
	waitpid(child, NULL, 0);
	close(own[0]);
}

/* The kernel hands out as many as the table has room for and drops the others. */
static void no_room(void **state)
{
	struct rlimit old, few;
	int fds[2], first = lowest_free(), ret;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &old);
	for (int room = 0; room < 2; room++) {
		assert_int_equal(pass_files(pair[0], 0, pair, 2), 0);
		few = old;
		few.rlim_cur = (rlim_t)(first + room);
		setrlimit(RLIMIT_NOFILE, &few);
		ret = receive_files(pair[1], fds, 2);
		setrlimit(RLIMIT_NOFILE, &old);
		assert_int_equal(ret, EMFILE);
		assert_int_equal(lowest_free(), first);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(both_arrive, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_errno_arrives, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nobody_sends, set_up, tear_down),
		cmocka_unit_test(sender_is_gone),
		cmocka_unit_test_setup_teardown(no_room, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
