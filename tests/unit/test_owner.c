// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The owner context on processes of our own, any kernel: a vhost request on a pipe
 * gives ENOTTY, by the real ioctl made in the other process.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/vhost.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "owner.h"
#include "procfs.h"
#include "util.h"

#define PAGE_SIZE 4096

struct subject {
	pid_t pid;
	int proc_fd;
	int in[2], out[2];	/* it copies bytes from in to out */
};

static void install(const struct sock_filter *filter, unsigned short len)
{
	struct sock_fprog prog = { len, (struct sock_filter *)filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(3);
}

/* Kills at system call @nr, lets all others through. */
static void forbid(unsigned int nr)
{
	const struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(filter, ARRAY_SIZE(filter));
}

static void forbid_ioctl(void)
{
	forbid(SYS_ioctl);
}

static void forbid_sigreturn(void)
{
	forbid(SYS_rt_sigreturn);
}

static void forbid_something_else(void)
{
	forbid(SYS_swapon);
}

static void strict(void)
{
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
}

static void spin(void)
{
	for (;;)
		__asm__ volatile("pause");
}

/* Busy for longer than a new setting waits. */
static void spin_a_while(void)
{
	time_t end = time(NULL) + 7;

	while (time(NULL) < end)
		__asm__ volatile("pause");
}

/* Waits in ppoll with a mask of its own, or in read where only that is allowed. */
static void live(const struct subject *s, bool only_read)
{
	sigset_t mask;
	char c;

	sigfillset(&mask);
	for (;;) {
		struct pollfd p = { .fd = s->in[0], .events = POLLIN };

		if (!only_read && ppoll(&p, 1, NULL, &mask) != 1)
			_exit(4);
		if (read(s->in[0], &c, 1) != 1 || write(s->out[1], &c, 1) != 1)
			_exit(5);
	}
}

static struct subject start(void (*prepare)(void))
{
	struct subject s;
	char path[32];

	assert_int_equal(pipe(s.in) | pipe(s.out), 0);
	s.pid = fork();
	if (s.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (prepare)
			prepare();
		live(&s, prepare == strict);
	}
	snprintf(path, sizeof(path), "/proc/%d", s.pid);
	s.proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(s.proc_fd >= 0);
	usleep(50000);
	return s;
}

/* The subject still does its work: nothing was lost, nothing stopped. */
static void assert_alive(const struct subject *s)
{
	struct pollfd p = { .fd = s->out[0], .events = POLLIN };
	char c = 'x';

	assert_int_equal(write(s->in[1], &c, 1), 1);
	assert_int_equal(poll(&p, 1, 5000), 1);
	assert_int_equal(read(s->out[0], &c, 1), 1);
	assert_int_equal(c, 'x');
}

/* Let go, a thread has to run the few steps back into its call or its stop. */
static void assert_becomes(const struct subject *s, char state)
{
	struct proc_stat st = { 0 };

	for (int tries = 0; tries < 100 && st.state != state; tries++) {
		assert_int_equal(proc_read_stat(s->proc_fd, "stat", &st), 0);
		usleep(1000);
	}
	assert_int_equal(st.state, state);
}

static void end(struct subject *s)
{
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	close(s->proc_fd);
	for (int i = 0; i < 2; i++) {
		close(s->in[i]);
		close(s->out[i]);
	}
}

static struct owner_call get_call(const struct subject *s)
{
	return (struct owner_call){ .fd = s->in[0],
				    .held_fd = s->in[0],
				    .request = VHOST_GET_VRING_BUSYLOOP_TIMEOUT,
				    .size = sizeof(struct vhost_vring_state) };
}

static struct owner_log log_;

/* Run one call; the status of the refusal, or STATUS_OK when the kernel was asked. */
static enum status run(const struct subject *s, enum owner_thread rule, struct owner_call *c,
		       struct error *e)
{
	*e = ERROR_INIT;
	memset(&log_, 0, sizeof(log_));
	return owner_run(s->pid, s->proc_fd, rule, c, 1, &log_, e) < 0 ? e->status : STATUS_OK;
}

static void asks_the_kernel(void **state)
{
	struct subject s = start(NULL);
	struct error e;

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct owner_call c = get_call(&s);

		assert_int_equal(run(&s, OWNER_THREAD_MAIN, &c, &e), STATUS_OK);
		assert_true(c.done);
		assert_int_equal(c.result, -ENOTTY);
		assert_int_equal(log_.tid, s.pid);
		assert_int_equal(log_.stops, 1);
		if (i % 20 == 0)
			assert_alive(&s);
	}
	assert_alive(&s);
	assert_becomes(&s, 'S');
	end(&s);
}

static void batches(void **state)
{
	struct subject s = start(NULL);
	struct owner_call calls[OWNER_BATCH + 1];
	struct error e = ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		calls[i] = get_call(&s);
	memset(&log_, 0, sizeof(log_));
	assert_int_equal(owner_run(s.pid, s.proc_fd, OWNER_THREAD_ANY, calls, OWNER_BATCH, &log_, &e), 0);
	assert_int_equal(log_.stops, 1);
	memset(&log_, 0, sizeof(log_));
	assert_int_equal(owner_run(s.pid, s.proc_fd, OWNER_THREAD_ANY, calls, OWNER_BATCH + 1, &log_, &e),
			 0);
	assert_int_equal(log_.stops, 2);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		assert_true(calls[i].done && calls[i].result == -ENOTTY);
	assert_alive(&s);
	end(&s);
}

/* After an essential call that failed no other is made, in this stop or a further one. */
static void ends_at_an_essential_call(void **state)
{
	struct subject s = start(NULL);
	struct owner_call calls[OWNER_BATCH + 2];
	struct error e = ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		calls[i] = get_call(&s);
	calls[3].essential = true;
	memset(&log_, 0, sizeof(log_));
	assert_int_equal(owner_run(s.pid, s.proc_fd, OWNER_THREAD_HELPER, calls, ARRAY_SIZE(calls), &log_, &e),
			 0);
	assert_int_equal(log_.stops, 1);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		assert_int_equal(calls[i].done, i <= 3);
	assert_alive(&s);
	end(&s);
}

/* Address space that passes for a C library and has nothing in it; such costs next to nothing. */
static void map_emptiness(void)
{
	const size_t len = 32ull << 40;
	int fd = memfd_create("/libc.so.6", 0);

	if (fd < 0 || ftruncate(fd, (off_t)len) ||
	    mmap(NULL, len, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_NORESERVE, fd, 0) == MAP_FAILED)
		_exit(3);
}

/* To ask of each of its pages whether it is in memory would take a minute and more. */
static void finds_code_in_an_empty_space(void **state)
{
	struct subject s = start(map_emptiness);
	struct owner_call c = get_call(&s);
	time_t started = time(NULL);
	struct error e;

	(void)state;
	assert_int_equal(run(&s, OWNER_THREAD_ANY, &c, &e), STATUS_OK);
	assert_true(c.done && c.result == -ENOTTY);
	assert_true(time(NULL) - started < 5);
	assert_alive(&s);
	end(&s);
}

static void refuses_other_requests(void **state)
{
	static const struct { unsigned int request, size; } bad[] = {
		{ VHOST_RESET_OWNER, 0 },
		{ VHOST_SET_OWNER, 0 },
		{ VHOST_SET_FEATURES, 8 },
		{ VHOST_SET_VRING_NUM, sizeof(struct vhost_vring_state) },
		{ VHOST_SET_VRING_BASE, sizeof(struct vhost_vring_state) },
		{ VHOST_NET_SET_BACKEND, sizeof(struct vhost_vring_file) },
		{ VHOST_GET_VRING_BUSYLOOP_TIMEOUT, 4 },
		{ 0, 0 },
	};
	struct subject s = start(NULL);
	struct error e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct owner_call c = get_call(&s);

		c.request = bad[i].request;
		c.size = bad[i].size;
		assert_int_equal(run(&s, OWNER_THREAD_ANY, &c, &e), STATUS_FAILED);
		assert_false(c.done);
		assert_int_equal(log_.stops, 0);
	}
	assert_alive(&s);
	end(&s);
}

static void refuses_a_replaced_file(void **state)
{
	struct subject s = start(NULL);
	struct owner_call c = get_call(&s);
	struct error e;

	(void)state;
	c.held_fd = s.out[0];
	assert_int_equal(run(&s, OWNER_THREAD_ANY, &c, &e), STATUS_FAILED);
	assert_false(c.done);
	assert_non_null(strstr(e.message, "closed or replaced"));
	assert_alive(&s);
	end(&s);
}

static void heeds_seccomp(void **state)
{
	void (*const forbids[])(void) = { forbid_ioctl, forbid_sigreturn, strict };
	struct subject s = start(forbid_something_else);
	struct owner_call c = get_call(&s);
	struct error e;

	(void)state;
	assert_int_equal(run(&s, OWNER_THREAD_ANY, &c, &e), STATUS_OK);
	assert_int_equal(c.result, -ENOTTY);
	assert_alive(&s);
	end(&s);
	for (size_t i = 0; i < ARRAY_SIZE(forbids); i++) {
		s = start(forbids[i]);
		c = get_call(&s);
		assert_int_equal(run(&s, OWNER_THREAD_ANY, &c, &e), STATUS_UNSUPPORTED);
		assert_false(c.done);
		assert_non_null(strstr(e.message, "seccomp"));
		assert_alive(&s);
		end(&s);
	}
}

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102	/* Linux 6.13 */
#endif
#define STACK 65536

/* Waits so near to the end of its stack that no frame has room there. */
static void *wait_near_the_guard(void *end)
{
	size_t depth = (size_t)((char *)__builtin_frame_address(0) - (char *)end) - PAGE_SIZE - 2000;
	volatile char *room = __builtin_alloca(depth);

	for (room[0] = 0; room[0] == 0;)
		ppoll(NULL, 0, NULL, NULL);
	return NULL;
}

/* A thread whose stack ends in a guard that is no mapping of its own; what lies behind is another's. */
static void guarded(void)
{
	char *both = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t t;

	if (madvise(both + STACK, PAGE_SIZE, MADV_GUARD_INSTALL))
		_exit(77);
	/* Bound here: to find it, the linker takes more stack than the thread will have left. */
	ppoll(NULL, 0, &(struct timespec){ 0 }, NULL);
	pthread_attr_init(&attr);
	if (pthread_attr_setstack(&attr, both + STACK, STACK) ||
	    pthread_create(&t, &attr, wait_near_the_guard, both + STACK))
		_exit(3);
}

static void keeps_off_a_guard(void **state)
{
	struct subject s = start(guarded);
	struct owner_call c = get_call(&s);
	struct error e;
	int status = 0;

	(void)state;
	if (waitpid(s.pid, &status, WNOHANG) == s.pid && WEXITSTATUS(status) == 77)
		skip(); /* a kernel without such guards */
	for (int i = 0; i < 20; i++) {
		assert_int_equal(run(&s, OWNER_THREAD_HELPER, &c, &e), STATUS_OK);
		assert_int_equal(log_.tid, s.pid);
	}
	assert_alive(&s);
	end(&s);
}

static void names_another_tracer(void **state)
{
	struct subject s = start(NULL);
	struct owner_call c = get_call(&s);
	char name[16];
	struct error e;
	int there[2];
	pid_t tracer;

	(void)state;
	assert_int_equal(pipe(there), 0);
	tracer = fork();
	if (tracer == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "debugger");
		ptrace(PTRACE_SEIZE, s.pid, 0, 0);
		for (close(there[0]), close(there[1]);;)
			pause();
	}
	/* Its end is closed when it is attached. */
	close(there[1]);
	assert_int_equal(read(there[0], name, 1), 0);
	close(there[0]);
	assert_int_equal(run(&s, OWNER_THREAD_ANY, &c, &e), STATUS_DENIED);
	snprintf(name, sizeof(name), "%d", tracer);
	assert_non_null(strstr(e.message, name));
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
	assert_int_equal(run(&s, OWNER_THREAD_ANY, &c, &e), STATUS_OK);
	assert_alive(&s);
	end(&s);
}

static void leaves_a_stopped_process_stopped(void **state)
{
	struct subject s = start(NULL);
	struct owner_call c = get_call(&s);
	struct error e;

	(void)state;
	kill(s.pid, SIGSTOP);
	usleep(50000);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(run(&s, OWNER_THREAD_ANY, &c, &e), STATUS_OK);
		assert_int_equal(c.result, -ENOTTY);
		assert_becomes(&s, 'T');
	}
	assert_int_equal(run(&s, OWNER_THREAD_MAIN, &c, &e), STATUS_FAILED);
	assert_non_null(strstr(e.message, "SIGSTOP"));
	kill(s.pid, SIGCONT);
	assert_alive(&s);
	end(&s);
}

static void needs_an_idle_thread(void **state)
{
	struct subject s = start(spin);
	struct owner_call c = get_call(&s);
	struct error e;

	(void)state;
	assert_int_equal(run(&s, OWNER_THREAD_ANY, &c, &e), STATUS_FAILED);
	assert_int_equal(log_.stops, 0);
	assert_non_null(strstr(e.message, "idle"));
	end(&s);
}

/* Last of all: it holds until the program ends. */
static void is_patient_when_told(void **state)
{
	struct subject s = start(spin_a_while);
	struct owner_call c = get_call(&s);
	struct error e;

	(void)state;
	assert_int_equal(run(&s, OWNER_THREAD_ANY, &c, &e), STATUS_FAILED);
	owner_be_patient();
	assert_int_equal(run(&s, OWNER_THREAD_ANY, &c, &e), STATUS_OK);
	assert_int_equal(c.result, -ENOTTY);
	assert_alive(&s);
	end(&s);
}

static void knows_when_it_is_gone(void **state)
{
	struct subject s = start(NULL);
	struct owner_call c = get_call(&s);
	struct error e;

	(void)state;
	kill(s.pid, SIGKILL);
	waitpid(s.pid, NULL, 0);
	assert_int_equal(run(&s, OWNER_THREAD_ANY, &c, &e), STATUS_NOT_FOUND);
	end(&s);
}

static void needs_rights(void **state)
{
	struct subject s;
	struct owner_call c;
	struct error e;
	int status;
	pid_t other;

	(void)state;
	if (geteuid() != 0)
		skip();
	s = start(NULL);
	c = get_call(&s);
	other = fork();
	if (other == 0) {
		if (setgid(65534) || setuid(65534))
			_exit(100);
		_exit(run(&s, OWNER_THREAD_ANY, &c, &e));
	}
	waitpid(other, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), STATUS_DENIED);
	assert_alive(&s);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asks_the_kernel),
		cmocka_unit_test(batches),
		cmocka_unit_test(ends_at_an_essential_call),
		cmocka_unit_test(finds_code_in_an_empty_space),
		cmocka_unit_test(refuses_other_requests),
		cmocka_unit_test(refuses_a_replaced_file),
		cmocka_unit_test(heeds_seccomp),
		cmocka_unit_test(keeps_off_a_guard),
		cmocka_unit_test(names_another_tracer),
		cmocka_unit_test(leaves_a_stopped_process_stopped),
		cmocka_unit_test(needs_an_idle_thread),
		cmocka_unit_test(knows_when_it_is_gone),
		cmocka_unit_test(needs_rights),
		cmocka_unit_test(is_patient_when_told),
	};

	return cmocka_run_group_tests_name("owner", tests, NULL, NULL);
}
