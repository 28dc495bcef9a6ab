// SPDX-License-Identifier: GPL-2.0-or-later
#include "vm.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/pidfd.h>

#include "procfs.h"
#include "util.h"

static int gone(struct error *e, pid_t pid)
{
	return error_set(e, STATUS_NOT_FOUND, ESRCH, "hold the VM", "process %d is gone", (int)pid);
}

static int check_start_time(const struct vm_ref *ref, struct error *e)
{
	struct proc_stat st;

	if (proc_read_stat(ref->proc_fd, "stat", &st)) {
		if (errno == ESRCH || errno == ENOENT)
			return gone(e, ref->pid);
		return error_errno(e, errno, "read /proc/PID/stat", NULL);
	}
	if (st.start_time != ref->start_time && ref->start_time)
		return error_set(e, STATUS_NOT_FOUND, ESRCH, "hold the VM",
				 "process %d is another one by now; list again", (int)ref->pid);
	if (st.state == 'Z' || st.state == 'X')
		return gone(e, ref->pid);
	return 0;
}

int vm_recheck(const struct vm_ref *ref, struct error *e)
{
	struct pollfd p = { .fd = ref->pidfd, .events = POLLIN };
	int n = poll(&p, 1, 0);

	/* A pidfd becomes readable when its process ends. */
	if (n > 0)
		return gone(e, ref->pid);
	if (n < 0 && errno != EINTR)
		return error_errno(e, errno, "poll pidfd", NULL);
	return check_start_time(ref, e);
}

int vm_hold(struct vm_ref *ref, pid_t pid, uint64_t start_time, struct error *e)
{
	struct proc_stat st;
	char path[32];

	*ref = VM_REF_INIT;
	ref->pid = pid;
	ref->start_time = start_time;
	/*
	 * The pidfd first: if the process of the right start time is there afterwards and
	 * the pidfd's process still lives, they are one and the same.
	 */
	ref->pidfd = pidfd_open(pid, 0);
	if (ref->pidfd < 0) {
		/* EINVAL: a thread's id, or no number of a process at all. */
		if (errno == ESRCH || errno == EINVAL)
			return error_set(e, STATUS_NOT_FOUND, errno, "hold the VM",
					 "there is no process %d", (int)pid);
		return error_errno(e, errno, "pidfd_open", NULL);
	}
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	ref->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ref->proc_fd < 0) {
		if (errno == ENOENT)
			gone(e, pid);
		else
			error_errno(e, errno, "open /proc/PID", NULL);
		goto fail;
	}
	if (vm_recheck(ref, e))
		goto fail;
	if (!start_time) {
		if (proc_read_stat(ref->proc_fd, "stat", &st)) {
			gone(e, pid);
			goto fail;
		}
		ref->start_time = st.start_time;
	}
	return 0;
fail:
	vm_release(ref);
	return -1;
}

bool vm_has_ended(pid_t pid, uint64_t start_time)
{
	struct error why = ERROR_INIT;
	struct vm_ref ref;
	bool ended = vm_hold(&ref, pid, start_time, &why) < 0 && why.status == STATUS_NOT_FOUND;

	vm_release(&ref);
	return ended;
}

void vm_release(struct vm_ref *ref)
{
	if (ref->pidfd >= 0)
		close(ref->pidfd);
	if (ref->proc_fd >= 0)
		close(ref->proc_fd);
	*ref = VM_REF_INIT;
}
