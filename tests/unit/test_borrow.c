// SPDX-License-Identifier: GPL-2.0-or-later
/* A file that the VM's own file system does not let go of must not hold us, nor a lock that it holds for it. */
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../fixture/fuse_server.h"
#include "aside.h"
#include "borrow.h"
#include "util.h"

#define PATIENCE_SECS 20	/* then a borrow hangs */

struct vm_of_test {
	pid_t server, holder;
	int fd;			/* of the holder */
	pid_t locked;		/* cmdline waits for its mmap_lock */
};

static void *fault(void *page)
{
	return fuse_read_mapped(page) == 1 ? page : NULL;
}

/* One thread reads with the lock held, another wants to write: who comes then to read waits for both. */
static void keep_locked(int fd)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	pthread_t reader;

	pthread_create(&reader, NULL, fault, page);
	sleep_ms(300);
	mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pause();
	_exit(0);
}

/* The holder tells its pid and the file's number, or -1; and the pid of a second one. */
static void hold(int to)
{
	int said[3] = { getpid(), open(FUSE_SERVED, O_RDONLY | O_CLOEXEC), 0 };

	said[2] = fork();
	if (said[2] == 0)
		keep_locked(said[1]);
	sleep_ms(600);
	if (write(to, said, sizeof(said)) == sizeof(said))
		pause();
	_exit(0);
}

/* It tells of its file neither what it is like nor what is in it, and does not let it be closed. */
static void run_server(int to)
{
	struct fuse_server server = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fuse_mount(&server))
		_exit(1);
	if (fork() == 0) {
		close(server.fd);
		hold(to);
	}
	close(to);
	fuse_serve(&server);
	_exit(0);
}

static int setup(void **state)
{
	static struct vm_of_test vm;
	int pair[2], said[3] = { 0, -1, 0 };

	if (pipe2(pair, O_CLOEXEC))
		return -1;
	vm.server = fork();
	if (vm.server == 0)
		run_server(pair[1]);
	close(pair[1]);
	if (read(pair[0], said, sizeof(said)) != sizeof(said))
		said[1] = -1;
	close(pair[0]);
	vm.holder = said[0];
	vm.fd = said[1];
	vm.locked = said[2];
	if (vm.fd < 0) {
		kill(vm.server, SIGKILL);
		waitpid(vm.server, NULL, 0);
		vm.server = 0;
	}
	*state = &vm;
	return 0;
}

/* The server first: with it the file system ends, and nobody waits for it any more. */
static int teardown(void **state)
{
	const struct vm_of_test *vm = *state;

	if (vm->server) {
		kill(vm->server, SIGKILL);
		waitpid(vm->server, NULL, 0);
	}
	if (vm->holder)
		kill(vm->holder, SIGKILL);
	if (vm->locked)
		kill(vm->locked, SIGKILL);
	return 0;
}

static void test_a_file_that_cannot_be_closed(void **state)
{
	const struct vm_of_test *vm = *state;
	const struct device_class *class;
	struct device_numbers numbers;
	struct error e = ERROR_INIT;
	struct vm_ref ref;
	int own, refused = 0;

	if (vm->fd < 0)
		skip(); /* it takes root and FUSE */
	alarm(PATIENCE_SECS);
	assert_int_equal(device_numbers_read(&numbers, &e), 0);
	assert_int_equal(vm_hold(&ref, vm->holder, 0, &e), 0);
	/* Where the kernel waits for the answer (before 6.2), some are told for what they are and the rest refused. */
	for (int i = 0; i < 20; i++) {
		int ret = borrow_file(&ref, vm->fd, &numbers, &class, &own, &e);

		assert_null(class);
		assert_int_equal(own, -1);
		refused += ret < 0;
		assert_true(ret == 0 || (i >= 8 && e.errnum == ETIMEDOUT));
		assert_true(!refused || ret < 0);
	}
	/* Others are none the worse for it. */
	vm_release(&ref);
	assert_int_equal(vm_hold(&ref, getpid(), 0, &e), 0);
	own = fcntl(STDIN_FILENO, F_DUPFD, 100);
	assert_int_equal(borrow_file(&ref, own, &numbers, &class, &own, &e), 0);
	assert_null(class);
	vm_release(&ref);
	alarm(0);
}

static int read_cmdline(pid_t pid)
{
	_cleanup_proc_text_ struct proc_text text = { 0 };
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return aside_read(fd, "cmdline", 4096, &text) ? errno : 0;
}

static void test_a_lock_that_is_kept(void **state)
{
	const struct vm_of_test *vm = *state;
	int64_t started = clock_ns();

	if (vm->fd < 0)
		skip();
	alarm(PATIENCE_SECS);
	assert_int_equal(read_cmdline(vm->locked), ETIMEDOUT);
	assert_true(clock_ns() - started > 1000000000);
	started = clock_ns();
	for (int i = 0; i < 100; i++)
		assert_int_equal(read_cmdline(vm->locked), ETIMEDOUT);
	assert_true(clock_ns() - started < 1000000000);
	assert_int_equal(read_cmdline(getpid()), 0);
	assert_int_equal(read_cmdline(vm->holder), 0);
	aside_end();
	alarm(0);
}

static void test_what_is_read_aside(void **state)
{
	_cleanup_proc_text_ struct proc_text own = { 0 }, aside = { 0 };
	_cleanup_close_ int fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int next;

	(void)state;
	aside_end();
	next = dup(fd);
	close(next);
	/* Many messages long, of which nothing changes meanwhile. */
	assert_int_equal(proc_read(fd, "mountinfo", 1 << 20, &own), 0);
	assert_int_equal(aside_read(fd, "mountinfo", 1 << 20, &aside), 0);
	assert_int_equal(aside.len, own.len);
	assert_memory_equal(aside.data, own.data, own.len + 1);
	assert_false(aside.truncated);
	free(STEAL_PTR(aside.data));
	assert_int_equal(aside_read(fd, "mountinfo", 10, &aside), 0);
	assert_int_equal(aside.len, 10);
	assert_true(aside.truncated);
	assert_int_equal(aside_read(fd, "nosuchfile", 10, &(struct proc_text){ 0 }), -1);
	assert_int_equal(errno, ENOENT);
	aside_end();
	aside_end();
	assert_int_equal(dup(fd), next);
	close(next);
}

/* A device comes as a descriptor of ours, and all others that it took are closed. */
static void test_a_device(void **state)
{
	const struct device_class *class;
	struct device_numbers numbers;
	struct error e = ERROR_INIT;
	struct vm_ref ref;
	int tun, next, own;

	(void)state;
	tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	if (tun < 0)
		skip();
	assert_int_equal(device_numbers_read(&numbers, &e), 0);
	assert_int_equal(vm_hold(&ref, getpid(), 0, &e), 0);
	next = dup(tun);
	close(next);
	assert_int_equal(borrow_file(&ref, tun, &numbers, &class, &own, &e), 0);
	assert_int_equal(class->role, ROLE_TUN);
	assert_int_equal(fcntl(own, F_GETFD), FD_CLOEXEC);
	close(own);
	aside_end();
	assert_int_equal(dup(tun), next);
	close(next);
	assert_int_equal(borrow_file(&ref, 1000, &numbers, &class, &own, &e), -1);
	assert_int_equal(e.errnum, EBADF);
	aside_end();
	assert_true(waitpid(-1, NULL, WNOHANG) <= 0); /* but the server there is no child left */
	vm_release(&ref);
	close(tun);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_device),
		cmocka_unit_test(test_what_is_read_aside),
		cmocka_unit_test(test_a_lock_that_is_kept),
		cmocka_unit_test(test_a_file_that_cannot_be_closed),
	};

	return cmocka_run_group_tests_name("borrow", tests, setup, teardown);
}
