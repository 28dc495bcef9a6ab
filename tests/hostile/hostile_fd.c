// SPDX-License-Identifier: GPL-2.0-or-later
/* Files: too many, gone, others than they were; interfaces; namespaces. */
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void run_fds(void)
{
	int event = eventfd(0, 0);

	for (int i = 0; i < 100000; i++)
		need(dup(event), "dup");
	vhost_open();
	ready(getpid());
	rest();
}

void run_vhosts(void)
{
	int fd = vhost_open();

	for (int i = 1; i < 20000; i++)
		need(dup(fd), "dup");
	ready(getpid());
	rest();
}

static void churn(void)
{
	for (;;) {
		int fd;

		close(vhost_fd);
		nap_us(rnd(300));
		fd = vhost_open();
		if (fd != vhost_fd) {
			dup2(fd, vhost_fd);
			close(fd);
		}
		nap_us(rnd(300));
	}
}

void run_churn(void)
{
	vhost_fd = vhost_open();
	start_thread(churn);
	start_thread(rest);
	ready(getpid());
	rest();
}

/* The number stays, what it means does not. A real device among them must not be taken for the first. */
static void swap(void)
{
	int others[] = { vhost_open(), open("/dev/null", O_RDWR), open("/dev/vhost-vsock", O_RDWR), tap_open(""),
			 open("/dev/net/tun", O_RDWR) };

	for (;;) {
		int fd = others[rnd(sizeof(others) / sizeof(others[0]))];

		if (fd >= 0)
			dup2(fd, vhost_fd);
		nap_us(rnd(500));
	}
}

void run_swap(void)
{
	vhost_fd = vhost_open();
	start_thread(swap);
	start_thread(rest);
	ready(getpid());
	rest();
}

static void rename_taps(void)
{
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	char name[IFNAMSIZ] = "hostile0";
	int fd = tap_open(name);

	for (unsigned int i = 0;; i++) {
		struct ifreq ifr = { 0 };

		if (rnd(4) == 0) {
			close(fd);
			nap_us(rnd(200));
			snprintf(name, sizeof(name), "hostile%u", rnd(3));
			fd = tap_open(name);
			continue;
		}
		snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
		snprintf(ifr.ifr_newname, sizeof(ifr.ifr_newname), "hostile%u", rnd(3));
		if (ioctl(s, SIOCSIFNAME, &ifr) == 0)
			memcpy(name, ifr.ifr_newname, sizeof(name));
		nap_us(rnd(500));
	}
}

void run_taps(void)
{
	vhost_fd = vhost_open();
	start_thread(rename_taps);
	ready(getpid());
	rest();
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	need(fd, path);
	need(write(fd, text, strlen(text)), path);
	close(fd);
}

/* A tap of the same name as another VM's, where that is another interface; no /proc to be seen there. */
void run_namespaces(void)
{
	pid_t pid;

	need(unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET), "unshare");
	write_text("/proc/self/setgroups", "deny");
	write_text("/proc/self/uid_map", "0 0 1");
	write_text("/proc/self/gid_map", "0 0 1");
	pid = fork();
	need(pid, "fork");
	if (pid) {
		ready(pid);
		waitpid(pid, NULL, 0);
		exit(1);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	vhost_open();
	tap_open("tap0");
	need(mount("none", "/proc", "tmpfs", 0, NULL), "mount");
	start_thread(rest);
	rest();
}
