// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is taken by its number can be any file by then, also one of a file system that a hostile VM
 * serves by itself. To close such a one is to ask its server, who need not answer, and then nothing
 * ends the wait. So it is a child that takes it, with a table of descriptors of its own, and hands it on
 * if it is a device of ours. If it is not, it is the child that waits.
 */
#include "borrow.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "aside.h"
#include "child.h"
#include "pass.h"
#include "util.h"

static const char operation[] = "borrow the VM's file";

/* Children that may wait at one time for files of one VM. */
#define MOST_WAITING 8
#define TAKE_SECS 5		/* microseconds, but the machine may be busy */

struct taking {
	int pidfd, fd, to;
	const struct device_numbers *numbers;
	const struct device_class *class;	/* once it is on its way */
	int errnum;
	bool taken;		/* and may be one to be stuck with */
};

/* pidfd_getfd() can wait for a lock that the process has for ever: then the kernel ends the child. */
static int take_file(struct taking *t)
{
	timer_t timer;
	int fd;

	if (child_end_after(TAKE_SECS, &timer)) {
		t->errnum = errno;
		return -1;
	}
	t->errnum = ETIMEDOUT;
	fd = pidfd_getfd(t->pidfd, t->fd, 0);
	t->errnum = fd < 0 ? errno : 0;
	timer_delete(timer);
	return fd;
}

/* The child: it shares our memory, and we stand still until it ends. */
static int take(void *arg)
{
	struct taking *t = arg;
	const struct device_class *class;
	struct statx sx;
	int fd = take_file(t);

	if (fd < 0)
		return 0;
	t->taken = true;
	/* Without DONT_SYNC this would ask a server, too. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &sx)) {
		t->errnum = errno;
		return 0;
	}
	class = S_ISCHR(sx.stx_mode) ? device_class_of(t->numbers, sx.stx_rdev_major, sx.stx_rdev_minor)
				     : NULL;
	if (class && pass_files(t->to, 0, &fd, 1))
		t->errnum = errno;
	else
		t->class = class;
	return 0;
}

/*
 * A child that shares memory costs no copy of ours, of which a snapshot can make much. It ends without a
 * signal: nobody else waits for it.
 */
static pid_t run_child(struct taking *t)
{
	static char stack[65536] __attribute__((aligned(16)));
	sigset_t all, old;
	pid_t child;
	int errnum;

	/* In the child a handler of ours would run in our memory. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	child = clone(take, stack + sizeof(stack), CLONE_VM | CLONE_VFORK, t);
	errnum = errno;
	sigprocmask(SIG_SETMASK, &old, NULL);
	errno = errnum;
	return child;
}

static struct waiting {
	pid_t child, vm;
} *waiting;
static size_t n_waiting;

/* Those that @vm has us wait for; the ones that have ended are no more. */
static size_t count_waiting(pid_t vm)
{
	size_t n = 0, of_vm = 0;

	for (size_t i = 0; i < n_waiting; i++) {
		if (waitpid(waiting[i].child, NULL, WNOHANG | __WALL) != 0)
			continue;
		of_vm += waiting[i].vm == vm;
		waiting[n++] = waiting[i];
	}
	n_waiting = n;
	return of_vm;
}

static void wait_for(pid_t child, pid_t vm, const struct taking *t)
{
	/* A device of ours, which is held by its message, or none: it ends at once. */
	if (t->class || !t->taken)
		while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
			;
	else
		*ARRAY_ADD(waiting, n_waiting) = (struct waiting){ child, vm };
}

static int explain(const struct vm_ref *ref, int fd, int errnum, struct error *e)
{
	switch (errnum) {
	case EPERM:
	case EACCES:
		return error_errno(e, errnum, operation, "run as root, or with CAP_SYS_PTRACE");
	case EBADF:
		return error_set(e, STATUS_NOT_FOUND, errnum, operation, "process %d has closed fd %d",
				 (int)ref->pid, fd);
	case ESRCH:
		return error_set(e, STATUS_NOT_FOUND, errnum, operation, "process %d is gone", (int)ref->pid);
	case ETIMEDOUT:
		return error_errno(e, errnum, operation, aside_late);
	default:
		return error_errno(e, errnum, operation, NULL);
	}
}

int borrow_file(const struct vm_ref *ref, int fd, const struct device_numbers *numbers,
		const struct device_class **class, int *own, struct error *e)
{
	struct taking t = { .pidfd = ref->pidfd, .fd = fd, .numbers = numbers };
	_cleanup_close_ int from = -1;
	_cleanup_close_ int to = -1;
	int pair[2], errnum;
	pid_t child;

	*class = NULL;
	*own = -1;
	if (count_waiting(ref->pid) >= MOST_WAITING)
		return error_set(e, STATUS_FAILED, ETIMEDOUT, operation,
				 "process %d has put files in place of its devices that do not let "
				 "themselves be closed; is the server of their file system alive?",
				 (int)ref->pid);
	if (!aside_answers(ref->proc_fd))
		return explain(ref, fd, errno, e);
	if (pass_pair(pair))
		return error_errno(e, errno, operation, NULL);
	from = pair[0];
	to = pair[1];
	t.to = to;
	child = run_child(&t);
	if (child < 0)
		return error_errno(e, errno, operation, NULL);
	wait_for(child, ref->pid, &t);
	if (t.errnum)
		return explain(ref, fd, t.errnum, e);
	if (!t.class)
		return 0;
	errnum = receive_files(from, own, 1);
	if (errnum)
		return error_errno(e, errnum, operation, NULL);
	*class = t.class;
	return 0;
}
