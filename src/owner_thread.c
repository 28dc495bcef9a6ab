// SPDX-License-Identifier: GPL-2.0-or-later
#include "owner_thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "aside.h"
#include "procfs.h"
#include "state.h"
#include "util.h"

#define STATUS_MAX 65536
#define RANK_OTHER_KIND 100	/* added where the rule would rather have another thread */

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441	/* Linux 5.11 */
#endif

static const char operation[] = "look at the VM's threads";

/*
 * Calls in which a thread only waits, in the order in which they are borrowed.
 * Those of the last group may end with EINTR after any ptrace stop (signal(7): also a read from inotify, and
 * what is under a socket's timeout), as they would after a debugger's; the others are restarted by the kernel
 * unseen.
 */
static const struct {
	long nr;
	int rank;
} idle_syscalls[] = {
	{ SYS_ppoll, 0 },	    { SYS_poll, 0 },
	{ SYS_pselect6, 0 },	    { SYS_select, 0 },
	{ SYS_futex, 1 },	    { SYS_nanosleep, 2 },
	{ SYS_clock_nanosleep, 2 }, { SYS_read, 3 },
	{ SYS_accept, 3 },	    { SYS_accept4, 3 },
	{ SYS_recvfrom, 3 },	    { SYS_recvmsg, 3 },
	{ SYS_epoll_wait, 3 },	    { SYS_epoll_pwait, 3 },
	{ SYS_epoll_pwait2, 3 },    { SYS_rt_sigtimedwait, 3 },
	{ SYS_io_uring_enter, 3 },
};

static int syscall_rank(long nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(idle_syscalls); i++)
		if (idle_syscalls[i].nr == nr)
			return idle_syscalls[i].rank;
	return -1;
}

bool owner_idle_syscall(long nr)
{
	return syscall_rank(nr) >= 0;
}

/*
 * A vCPU's thread has run in the guest, or has a name that says so: "CPU 3/KVM" is QEMU's
 * (debug-threads=on, as libvirt has it), "fc_vcpu 3" Firecracker's, "vcpu3" Cloud Hypervisor's,
 * "crosvm_vcpu3" crosvm's.
 */
static bool is_vcpu(const struct proc_stat *st)
{
	return st->guest_ticks > 0 || !strncmp(st->comm, "CPU ", 4) || strcasestr(st->comm, "vcpu");
}

/* The call that @tid waits in, from its syscall file; -1: it runs, or is in user code. */
static long waiting_in(int proc_fd, pid_t tid)
{
	_cleanup_proc_text_ struct proc_text text = { 0 };
	char path[32];
	uint64_t nr;
	size_t len;

	snprintf(path, sizeof(path), "task/%d/syscall", tid);
	if (aside_read(proc_fd, path, 512, &text) < 0)
		return -1;
	len = strcspn(text.data, " \n");
	return proc_number(text.data, len, 4096, &nr) ? (long)nr : -1;
}

/* -1: not to be borrowed; ETIMEDOUT when that could not be seen, which then goes for all of them. */
static int thread_rank(int proc_fd, pid_t pid, pid_t tid, enum owner_thread rule)
{
	struct proc_stat st;
	char path[48];
	int rank;

	snprintf(path, sizeof(path), "task/%d/stat", tid);
	errno = 0;
	/*
	 * Flags first: of a vhost or io_uring worker the syscall file shows registers
	 * that were never its own.
	 */
	if (proc_read_stat(proc_fd, path, &st) < 0 ||
	    st.flags & (PROC_PF_KTHREAD | PROC_PF_USER_WORKER | PROC_PF_IO_WORKER |
			PROC_PF_EXITING) ||
	    (st.state != 'S' && st.state != 'T') || is_vcpu(&st))
		return -1;
	rank = syscall_rank(waiting_in(proc_fd, tid));
	if (rank >= 0 && rule == OWNER_THREAD_HELPER && tid == pid)
		rank += RANK_OTHER_KIND;
	return rank;
}

/* Keep @found sorted and short. */
static int insert(struct owner_candidate *found, int n, struct owner_candidate c)
{
	int at = n;

	while (at > 0 && found[at - 1].rank > c.rank)
		at--;
	if (at == OWNER_THREADS_MAX)
		return n;
	if (n == OWNER_THREADS_MAX)
		n--;
	memmove(&found[at + 1], &found[at], (size_t)(n - at) * sizeof(*found));
	found[at] = c;
	return n + 1;
}

static bool enough(const struct owner_candidate *found, int n)
{
	return n == OWNER_THREADS_MAX && found[n - 1].rank == 0;
}

int owner_threads(int proc_fd, pid_t pid, enum owner_thread rule, struct owner_candidate *found,
		  struct error *e)
{
	int fd = openat(proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int n = 0;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return error_errno(e, errno, operation, NULL);
	}
	while (!enough(found, n) && (entry = readdir(dir))) {
		uint64_t tid;
		int rank;

		if (!proc_number(entry->d_name, strlen(entry->d_name), INT32_MAX, &tid) ||
		    (rule == OWNER_THREAD_MAIN && (pid_t)tid != pid))
			continue;
		rank = thread_rank(proc_fd, pid, (pid_t)tid, rule);
		if (rank < 0 && errno == ETIMEDOUT)
			return error_errno(e, ETIMEDOUT, operation, aside_late);
		if (rank >= 0)
			n = insert(found, n, (struct owner_candidate){ (pid_t)tid, rank });
	}
	return n;
}

/* A number in the thread's status file; UNKNOWN when it cannot be read. */
static int64_t status_number(int proc_fd, pid_t tid, const char *name)
{
	_cleanup_proc_text_ struct proc_text text = { 0 };
	char path[48];

	snprintf(path, sizeof(path), "task/%d/status", tid);
	if (proc_read(proc_fd, path, STATUS_MAX, &text) < 0)
		return UNKNOWN;
	return proc_field_number(text.data, text.len, name, 10);
}

bool owner_thread_has_seccomp(int proc_fd, pid_t tid)
{
	return status_number(proc_fd, tid, "Seccomp") != 0;
}

bool owner_tracer_passes(int64_t tracer)
{
	struct proc_stat other, self;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)tracer);
	return proc_read_stat(AT_FDCWD, path, &other) < 0 ||
	       (proc_read_stat(AT_FDCWD, "/proc/self/stat", &self) == 0 && !strcmp(other.comm, self.comm));
}

int64_t owner_thread_tracer(int proc_fd, pid_t tid)
{
	return status_number(proc_fd, tid, "TracerPid");
}
