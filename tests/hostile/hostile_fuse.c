// SPDX-License-Identifier: GPL-2.0-or-later
/* A file system that answers everything but reads, and code that is mapped from a file of it. */
#include "hostile.h"

#include <stdint.h>
#include <sys/mman.h>

#include "fuse_server.h"

static struct fuse_server server = { .lets_look = true, .lets_close = true };

static void serve(void)
{
	need(fuse_serve(&server), "fuse");
}

/* A file of it, for reading. */
static int open_served(void)
{
	int fd;

	need(fuse_mount(&server), "mount fuse");
	start_thread(serve);
	fd = open(FUSE_SERVED, O_RDONLY | O_CLOEXEC);
	need(fd, FUSE_SERVED);
	return fd;
}

static void *map(int fd, int prot)
{
	void *at = mmap(NULL, FUSE_SERVED_SIZE, prot, MAP_PRIVATE, fd, 0);

	if (at == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return at;
}

void run_fuse(void)
{
	int fd = open_served();

	map(fd, PROT_READ | PROT_EXEC);
	/* A file that is still open asks us when it is closed, and who ends cannot answer. */
	close(fd);
	vhost_open();
	start_thread(rest);
	ready(getpid());
	rest();
}

static void *page;

static void read_page(void)
{
	need(fuse_read_mapped(page), "read its own memory");
}

/* Who comes after one that waits to write has to wait for both. */
static void want_lock(void)
{
	mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void run_locked(void)
{
	int fd = open_served();

	page = map(fd, PROT_READ);
	close(fd);
	vhost_open();
	start_thread(rest);
	start_thread(read_page);
	nap_us(200000);
	/* Before: what follows may wait for the lock itself. */
	ready(getpid());
	want_lock();
	rest();
}

/* The server is another process, for execve() ends all other threads. */
void run_stuck(void)
{
	static char name[] = "true";
	static char *const argv[] = { name, NULL };

	server.lets_close = false;
	open_served();
	if (fork() == 0) {
		vhost_open();
		ready(getpid());
		execv("/bin/true", argv);
		die("exec: %s", strerror(errno));
	}
	rest();
}
