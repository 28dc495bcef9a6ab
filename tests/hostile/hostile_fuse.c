// SPDX-License-Identifier: GPL-2.0-or-later
/* A file system that answers everything but reads, and code that is mapped from a file of it. */
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_SIZE (1 << 20)

static int fuse;
static bool lets_close = true;

static void answer_error(const struct fuse_in_header *in, int error, const void *body, size_t size)
{
	char buf[512];
	struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + size), .error = -error,
				       .unique = in->unique };

	memcpy(buf, &out, sizeof(out));
	memcpy(buf + sizeof(out), body, size);
	need(write(fuse, buf, out.len), "fuse: answer");
}

static void answer(const struct fuse_in_header *in, const void *body, size_t size)
{
	answer_error(in, 0, body, size);
}

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){ .ino = node, .size = node == 1 ? 0 : FILE_SIZE, .nlink = 1, .blksize = 4096,
				   .mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0555 };
}

static void serve_one(const struct fuse_in_header *in)
{
	switch (in->opcode) {
	case FUSE_INIT: {
		struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION,
					     .max_write = 4096 };

		answer(in, &out, sizeof(out));
		break;
	}
	case FUSE_LOOKUP: {
		struct fuse_entry_out out = { .nodeid = 2, .attr_valid = 1000, .entry_valid = 1000,
					      .attr = attr_of(2) };

		answer(in, &out, sizeof(out));
		break;
	}
	case FUSE_GETATTR: {
		struct fuse_attr_out out = { .attr_valid = 1000, .attr = attr_of(in->nodeid) };

		answer(in, &out, sizeof(out));
		break;
	}
	case FUSE_OPEN: {
		struct fuse_open_out out = { .fh = 1 };

		answer(in, &out, sizeof(out));
		break;
	}
	case FUSE_FLUSH:
		if (lets_close)
			answer_error(in, ENOSYS, "", 0);
		break;
	case FUSE_READ:		/* this is what never gets one */
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
		break;
	default:
		answer_error(in, ENOSYS, "", 0);
	}
}

static void serve(void)
{
	static char buf[1 << 17];

	for (;;) {
		if (read(fuse, buf, sizeof(buf)) < 0) {
			if (errno == EINTR || errno == ENOENT)
				continue;
			die("fuse: %s", strerror(errno));
		}
		serve_one((const struct fuse_in_header *)(const void *)buf);
	}
}

/* A file of it, for reading. */
static int open_served(void)
{
	char options[64];
	int fd;

	need(unshare(CLONE_NEWNS), "unshare");
	need(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "mount");
	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	need(fuse, "/dev/fuse");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	need(mount("hostile", "/mnt", "fuse", MS_NOSUID | MS_NODEV, options), "mount fuse");
	start_thread(serve);
	fd = open("/mnt/libc.so.6", O_RDONLY | O_CLOEXEC);
	need(fd, "/mnt/libc.so.6");
	return fd;
}

static void *map(int fd, int prot)
{
	void *at = mmap(NULL, FILE_SIZE, prot, MAP_PRIVATE, fd, 0);

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

/* Through mem, the fault does not let go of the lock before it waits. */
static void read_page(void)
{
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	char c;

	need(pread(mem, &c, 1, (off_t)(uintptr_t)page), "read its own memory");
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

	lets_close = false;
	open_served();
	if (fork() == 0) {
		vhost_open();
		ready(getpid());
		execv("/bin/true", argv);
		die("exec: %s", strerror(errno));
	}
	rest();
}
