// SPDX-License-Identifier: GPL-2.0-or-later
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/vhost.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const struct mode modes[] = {
	{ "names", "names, of itself, its threads and its tap, that drive a terminal", run_names },
	{ "cmdline", "a command line of 2 MB", run_cmdline },
	{ "rewrite", "a command line that is another one all the time", run_rewrite },
	{ "fds", "100,000 files, one of which is a vhost device", run_fds },
	{ "vhosts", "20,000 fds of one vhost device", run_vhosts },
	{ "threads", "10,000 threads, named as workers of other VMs", run_threads },
	{ "churn", "its vhost device's fd is closed and opened all the time", run_churn },
	{ "swap", "its vhost device's fd becomes another file and another device", run_swap },
	{ "taps", "taps come, go and change their names", run_taps },
	{ "exit", "processes with a device that end after milliseconds", run_exit },
	{ "reuse", "the same, under one pid", run_reuse },
	{ "exec", "becomes another program all the time", run_exec },
	{ "fork", "children with the same files come and go", run_fork },
	{ "vfork", "its main thread waits for a child, not to be interrupted", run_vfork },
	{ "leaderless", "its main thread has ended", run_leaderless },
	{ "signals", "its threads are flooded with signals", run_signals },
	{ "stops", "it is stopped and continued all the time", run_stops },
	{ "traced", "another process traces it", run_traced },
	{ "seccomp", "a filter that kills comes into force, again and again", run_seccomp },
	{ "unmap", "its stack and all of its code but a page are gone", run_unmap },
	{ "flip", "the stacks of its threads cannot be written now and then", run_flip },
	{ "uffd", "reads and writes of its stack wait for it (userfaultfd)", run_uffd },
	{ "namespaces", "it is in user, pid, mount and network namespaces of its own", run_namespaces },
	{ "fuse", "its code is in a file that it serves itself, and it does not", run_fuse },
	{ "locked", "it reads such a file with the lock of its memory held, and wants that lock", run_locked },
	{ "stuck", "it becomes another program, with such a file to be closed", run_stuck },
};

char **saved_argv;
int vhost_fd;

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "hostile: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	_exit(1);
}

void need(long rc, const char *what)
{
	if (rc < 0)
		die("%s: %s", what, strerror(errno));
}

uint32_t rnd(uint32_t below)
{
	static __thread uint32_t state;

	if (!state)
		state = (uint32_t)getpid() * 2654435761u + (uint32_t)time(NULL);
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state % below;
}

void nap_us(long us)
{
	const struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&ts, NULL);
}

void ready(pid_t pid)
{
	if (dprintf(STDOUT_FILENO, "ready %d\n", (int)pid) < 0)
		die("stdout: %s", strerror(errno));
}

int vhost_open(void)
{
	int fd = open("/dev/vhost-net", O_RDWR | O_CLOEXEC);

	need(fd, "/dev/vhost-net");
	need(ioctl(fd, VHOST_SET_OWNER), "VHOST_SET_OWNER");
	return fd;
}

/*
 * A tap of that name that was just closed is there until who looks at it (as vhostctl(8) says in SAFETY) has
 * closed it, too, which takes some milliseconds under emulation.
 */
int tap_open(const char *name)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC), rc;

	need(fd, "/dev/net/tun");
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	for (int tries = 0; (rc = ioctl(fd, TUNSETIFF, &ifr)) && errno == EBUSY && tries < 100; tries++)
		nap_us(10000);
	need(rc, "TUNSETIFF");
	return fd;
}

static void *thread_main(void *run)
{
	((void (*)(void))run)();
	return NULL;
}

void start_thread(void (*run)(void))
{
	pthread_attr_t attr;
	pthread_t t;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 32768);
	err = pthread_create(&t, &attr, thread_main, (void *)run);
	if (err)
		die("thread: %s", strerror(err));
	pthread_attr_destroy(&attr);
}

void rest(void)
{
	for (;;)
		poll(NULL, 0, -1);
}

static void usage(void)
{
	fprintf(stderr, "usage: hostile MODE [NAME-OPTION NAME]...\nPrints \"ready PID\" once it is on; ends with its parent.\n");
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		fprintf(stderr, "  %-12s %s\n", modes[i].name, modes[i].what);
	exit(2);
}

int main(int argc, char **argv)
{
	const struct rlimit files = { 1 << 20, 1 << 20 };

	saved_argv = argv;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_NOFILE, &files);
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name))
			modes[i].run();
	usage();
}
