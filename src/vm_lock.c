// SPDX-License-Identifier: GPL-2.0-or-later
#include "vm_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "procfs.h"
#include "util.h"

#define POLL_MS 50

static const char *const operation = "lock the VM";

/* Nobody else may put a link or a file of his in there. */
static int check_dir(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return -1;
	if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	errno = EPERM;
	return -1;
}

static int make_dir(const char *path)
{
	return mkdir(path, 0755) < 0 && errno != EEXIST ? -1 : check_dir(path);
}

/* /run is root's; every other user has a directory of his own. NULL and errno. */
static char *lock_dir(void)
{
	const char *base = geteuid() ? secure_getenv("XDG_RUNTIME_DIR") : "/run";
	_cleanup_free_ char *own = xasprintf("%s/vhostctl", base ? base : "");
	_cleanup_free_ char *dir = xasprintf("%s/lock", own);

	if (!base) {
		errno = ENOENT;
		return NULL;
	}
	return make_dir(own) < 0 || make_dir(dir) < 0 ? NULL : STEAL_PTR(dir);
}

/* The file may have been removed between our open and our lock, and another be there now. */
static bool is_still_there(int fd, const char *path)
{
	struct stat ours, there;

	return fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_ino == there.st_ino &&
	       ours.st_dev == there.st_dev;
}

/* 0: locked. 1: another has it. -1 and errno. */
static int try_lock(struct vm_lock *lock)
{
	for (;;) {
		_cleanup_close_ int fd = open(lock->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (fd < 0)
			return -1;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			return errno == EWOULDBLOCK ? 1 : -1;
		if (!is_still_there(fd, lock->path))
			continue;
		lock->fd = STEAL_FD(fd);
		return 0;
	}
}

static int held(const struct vm_lock *lock, unsigned int secs, struct error *e)
{
	_cleanup_proc_text_ struct proc_text text = { 0 };
	uint64_t pid = 0;

	if (proc_read(AT_FDCWD, lock->path, 32, &text) == 0 &&
	    proc_number(text.data, text.len, INT32_MAX, &pid))
		return error_set(e, STATUS_FAILED, EBUSY, operation,
				 "process %d applies a policy to it, for more than %u s already; try again",
				 (int)pid, secs);
	return error_set(e, STATUS_FAILED, EBUSY, operation,
			 "another process applies a policy to it, for more than %u s already; try again",
			 secs);
}

static int wait_for_lock(struct vm_lock *lock, unsigned int secs, struct stopper *stopper, struct error *e)
{
	int64_t end_ns = clock_ns() + secs * 1000000000LL;
	int ret;

	while ((ret = try_lock(lock)) > 0) {
		if (clock_ns() >= end_ns)
			return held(lock, secs, e);
		if (stopper_sleep(stopper, POLL_MS))
			return error_set(e, STATUS_FAILED, EINTR, operation,
					 "ended by a signal while it waited for another process; nothing was "
					 "changed");
	}
	return ret < 0 ? error_errno(e, errno, operation, NULL) : 0;
}

int vm_lock(struct vm_lock *lock, const struct vm *vm, unsigned int secs, struct stopper *stopper,
	    struct error *e)
{
	_cleanup_free_ char *dir = lock_dir();
	char text[16];
	int len;

	*lock = VM_LOCK_INIT;
	if (!dir) {
		error_errno(e, errno, operation,
			    geteuid() ? "set XDG_RUNTIME_DIR" : "/run/vhostctl is for locks");
		return 1;
	}
	/* A pid alone could be another process's soon. */
	lock->path = xasprintf("%s/%d-%llu", dir, (int)vm->pid, (unsigned long long)vm->start_time);
	if (wait_for_lock(lock, secs, stopper, e) < 0) {
		vm_unlock(lock);
		return -1;
	}
	/* For who has to wait: only a help, so that a full disk does no harm. */
	len = snprintf(text, sizeof(text), "%d", (int)getpid());
	if (ftruncate(lock->fd, 0) < 0 || write(lock->fd, text, (size_t)len) < 0)
		return 0;
	return 0;
}

void vm_unlock(struct vm_lock *lock)
{
	/* While it is locked, so that nobody's but ours is removed. */
	if (lock->fd >= 0) {
		unlink(lock->path);
		close(lock->fd);
	}
	free(lock->path);
	*lock = VM_LOCK_INIT;
}
