// SPDX-License-Identifier: GPL-2.0-or-later
/* What a system call is about, and how it can fail. */
#include "faults.h"

#include <asm/unistd.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

struct seen {
	struct site sites[SITES_MAX];	/* nth: how many there were */
	size_t n;
};

/* How an argument tells calls of one kind apart. */
enum about { PLAIN, PATH1, PATH2, FILE1, REQUEST1, REQUEST2, FILE1_REQUEST2 };

#define E(...) ((const int[]){ __VA_ARGS__, 0 })

static const struct call {
	long nr;
	const char *name;
	enum about about;
	const int *errnos;
} calls[] = {
	{ __NR_openat, "openat", PATH2, E(EACCES, EMFILE, ENOENT, EINTR) },
	{ __NR_read, "read", FILE1, E(EIO, EINTR) },
	{ __NR_pread64, "pread64", FILE1, E(EIO) },
	{ __NR_write, "write", FILE1, E(ENOSPC, EIO, EPIPE) },
	{ __NR_close, "close", FILE1, E(EIO, EINTR) },
	{ __NR_getdents64, "getdents64", FILE1, E(ENOENT, EINVAL) },
	{ __NR_lseek, "lseek", FILE1, E(ESPIPE) },
	{ __NR_statx, "statx", PATH2, E(EACCES, ENOENT) },
	{ __NR_newfstatat, "newfstatat", PATH2, E(EACCES, ENOENT, ENOMEM) },
	{ __NR_fstat, "fstat", FILE1, E(ENOMEM) },
	{ __NR_access, "access", PATH1, E(EACCES, ENOENT) },
	{ __NR_faccessat, "faccessat", PATH2, E(EACCES, ENOENT) },
	{ __NR_faccessat2, "faccessat2", PATH2, E(EACCES, ENOENT) },
	{ __NR_readlink, "readlink", PATH1, E(EACCES, ENOENT) },
	{ __NR_readlinkat, "readlinkat", PATH2, E(EACCES, ENOENT) },
	{ __NR_mkdir, "mkdir", PATH1, E(EACCES, EROFS, ENOSPC) },
	{ __NR_fchmod, "fchmod", FILE1, E(EPERM, EIO) },
	{ __NR_fchown, "fchown", FILE1, E(EPERM, EIO) },
	{ __NR_ftruncate, "ftruncate", FILE1, E(EPERM, EIO) },
	{ __NR_flock, "flock", FILE1, E(EINTR, ENOLCK, EWOULDBLOCK) },
	{ __NR_rename, "rename", PATH1, E(EACCES, ENOSPC) },
	{ __NR_renameat, "renameat", PATH2, E(EACCES, ENOSPC) },
	{ __NR_unlink, "unlink", PATH1, E(EACCES, ENOENT) },
	{ __NR_unlinkat, "unlinkat", PATH2, E(EACCES, ENOENT) },
	{ __NR_fcntl, "fcntl", REQUEST2, E(EMFILE) },
	{ __NR_dup, "dup", FILE1, E(EMFILE) },
	{ __NR_ioctl, "ioctl", FILE1_REQUEST2, E(EPERM, ENOTTY, EINVAL, EFAULT) },
	{ __NR_mmap, "mmap", PLAIN, E(ENOMEM) },
	{ __NR_mprotect, "mprotect", PLAIN, E(ENOMEM) },
	{ __NR_mremap, "mremap", PLAIN, E(ENOMEM) },
	{ __NR_munmap, "munmap", PLAIN, E(EINVAL) },
	{ __NR_uname, "uname", PLAIN, E(EFAULT) },
	{ __NR_prlimit64, "prlimit64", REQUEST2, E(EPERM) },
	{ __NR_sysinfo, "sysinfo", PLAIN, E(EFAULT) },
	{ __NR_getrandom, "getrandom", PLAIN, E(EINTR, ENOSYS) },
	{ __NR_prctl, "prctl", REQUEST1, E(EINVAL, EPERM) },
	{ __NR_capset, "capset", PLAIN, E(EPERM) },
	{ __NR_capget, "capget", PLAIN, E(EPERM) },
	{ __NR_clone, "clone", PLAIN, E(EAGAIN, ENOMEM) },
	{ __NR_fork, "fork", PLAIN, E(EAGAIN, ENOMEM) },
	{ __NR_wait4, "wait4", PLAIN, E(EINTR, ECHILD) },
	{ __NR_waitid, "waitid", PLAIN, E(EINTR, ECHILD) },
	{ __NR_kill, "kill", PLAIN, E(EPERM, ESRCH) },
	{ __NR_poll, "poll", PLAIN, E(EINTR, ENOMEM) },
	{ __NR_ppoll, "ppoll", PLAIN, E(EINTR, ENOMEM) },
	{ __NR_clock_nanosleep, "clock_nanosleep", PLAIN, E(EINTR) },
	{ __NR_rt_sigaction, "rt_sigaction", REQUEST1, E(EINVAL) },
	{ __NR_rt_sigprocmask, "rt_sigprocmask", REQUEST1, E(EINVAL) },
	{ __NR_rt_sigtimedwait, "rt_sigtimedwait", PLAIN, E(EAGAIN, EINTR) },
	{ __NR_signalfd4, "signalfd4", PLAIN, E(EMFILE, ENOMEM) },
	{ __NR_setitimer, "setitimer", PLAIN, E(EINVAL) },
	{ __NR_timer_create, "timer_create", PLAIN, E(EAGAIN) },
	{ __NR_timer_settime, "timer_settime", PLAIN, E(EINVAL) },
	{ __NR_timer_delete, "timer_delete", PLAIN, E(EINVAL) },
	{ __NR_ptrace, "ptrace", REQUEST1, E(EPERM, ESRCH, EIO) },
	{ __NR_process_vm_readv, "process_vm_readv", PLAIN, E(EPERM, ESRCH, EFAULT) },
	{ __NR_process_vm_writev, "process_vm_writev", PLAIN, E(EPERM, ESRCH, EFAULT) },
	{ __NR_pidfd_open, "pidfd_open", PLAIN, E(ESRCH, EMFILE, ENOSYS) },
	{ __NR_pidfd_getfd, "pidfd_getfd", PLAIN, E(EPERM, EBADF, ESRCH, EMFILE, ENOSYS) },
	{ __NR_pidfd_send_signal, "pidfd_send_signal", PLAIN, E(EPERM, ESRCH) },
	{ __NR_kcmp, "kcmp", PLAIN, E(EPERM, EBADF, ESRCH, ENOSYS) },
	{ __NR_sched_setaffinity, "sched_setaffinity", PLAIN, E(EINVAL, EPERM, ESRCH) },
	{ __NR_sched_getaffinity, "sched_getaffinity", PLAIN, E(ESRCH, EINVAL) },
	{ __NR_setns, "setns", PLAIN, E(EPERM, EINVAL, ENOMEM) },
	{ __NR_unshare, "unshare", PLAIN, E(EPERM, ENOMEM) },
	{ __NR_socket, "socket", REQUEST1, E(EMFILE, EACCES, ENOBUFS, EPROTONOSUPPORT) },
	{ __NR_socketpair, "socketpair", PLAIN, E(EMFILE) },
	{ __NR_bind, "bind", PLAIN, E(EACCES, EADDRINUSE) },
	{ __NR_connect, "connect", PLAIN, E(EACCES, ECONNREFUSED) },
	{ __NR_getsockname, "getsockname", PLAIN, E(ENOBUFS) },
	{ __NR_getsockopt, "getsockopt", PLAIN, E(ENOPROTOOPT) },
	{ __NR_setsockopt, "setsockopt", PLAIN, E(ENOPROTOOPT, ENOMEM) },
	{ __NR_sendto, "sendto", PLAIN, E(ENOBUFS, ECONNREFUSED, EPIPE) },
	{ __NR_sendmsg, "sendmsg", PLAIN, E(ENOBUFS, EPIPE) },
	{ __NR_recvfrom, "recvfrom", PLAIN, E(ENOBUFS, EINTR, EAGAIN) },
	{ __NR_recvmsg, "recvmsg", PLAIN, E(ENOBUFS, EINTR, EAGAIN) },
	{ __NR_dup2, "dup2", PLAIN, E(EMFILE, EBUSY) },
	{ __NR_close_range, "close_range", PLAIN, E(EMFILE, EINVAL) },
	{ __NR_bpf, "bpf", REQUEST1, E(EPERM, ENOMEM, EINVAL) },
	/* These do not fail, or never return. */
	{ __NR_exit_group, "exit_group", PLAIN, NULL },
	{ __NR_exit, "exit", PLAIN, NULL },
	{ __NR_brk, "brk", PLAIN, NULL },	/* has no error: it gives the old break, and mmap() is tried */
	{ __NR_getpid, "getpid", PLAIN, NULL },
	{ __NR_getppid, "getppid", PLAIN, NULL },
	{ __NR_gettid, "gettid", PLAIN, NULL },
	{ __NR_getuid, "getuid", PLAIN, NULL },
	{ __NR_geteuid, "geteuid", PLAIN, NULL },
	{ __NR_set_robust_list, "set_robust_list", PLAIN, NULL },
	{ __NR_futex, "futex", PLAIN, NULL },	/* glibc ends the program on what it does not expect */
	{ __NR_rt_sigreturn, "rt_sigreturn", PLAIN, NULL },
	{ __NR_sched_yield, "sched_yield", PLAIN, NULL },
};

static const struct call *find_call(long nr)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].nr == nr)
			return &calls[i];
	return NULL;
}

const int *site_errnos(long nr, bool *known)
{
	const struct call *c = find_call(nr);

	*known = c != NULL;
	return c ? c->errnos : NULL;
}

const char *errno_name(int errnum)
{
	return strerrorname_np(errnum);
}

struct seen *seen_new(void)
{
	struct seen *s = calloc(1, sizeof(*s));

	if (!s)
		die("out of memory");
	return s;
}

void seen_free(struct seen *s)
{
	free(s);
}

/* Numbers are pids, fds and the like: each sequence of digits becomes one '#'. */
static void without_numbers(const char *from, char *to, size_t size)
{
	size_t n = 0;

	for (; *from && n + 1 < size; from++) {
		bool digit = *from >= '0' && *from <= '9';

		if (!digit || !n || to[n - 1] != '#')
			to[n++] = digit ? '#' : *from;
	}
	to[n] = '\0';
}

static void path_at(pid_t pid, uint64_t address, char *to, size_t size)
{
	char raw[SITE_TEXT] = "";
	struct iovec local = { raw, sizeof(raw) - 1 }, remote = { (void *)(uintptr_t)address, sizeof(raw) - 1 };

	/* As much as there is: the string may end just before a page that is not there. */
	while (remote.iov_len && process_vm_readv(pid, &local, 1, &remote, 1, 0) < 0)
		remote.iov_len /= 2;
	without_numbers(raw, to, size);
}

static void file_at(pid_t pid, uint64_t fd, char *to, size_t size)
{
	char path[64], link[SITE_TEXT] = "?";

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, (int)fd);
	if (readlink(path, link, sizeof(link) - 1) < 0)
		snprintf(link, sizeof(link), "?");
	without_numbers(link, to, size);
}

static void describe(pid_t pid, enum about about, const uint64_t args[6], char *to, size_t size)
{
	size_t n;

	to[0] = '\0';
	switch (about) {
	case PATH1: path_at(pid, args[0], to, size); break;
	case PATH2: path_at(pid, args[1], to, size); break;
	case FILE1: file_at(pid, args[0], to, size); break;
	case REQUEST1: snprintf(to, size, "%#lx", (unsigned long)args[0]); break;
	case REQUEST2: snprintf(to, size, "%#lx", (unsigned long)args[1]); break;
	case FILE1_REQUEST2:
		file_at(pid, args[0], to, size);
		n = strlen(to);
		snprintf(to + n, size - n, " %#lx", (unsigned long)args[1]);
		break;
	default: break;
	}
}

static bool same_place(const struct site *a, const struct site *b)
{
	return a->process == b->process && a->nr == b->nr && !strcmp(a->about, b->about);
}

bool site_equal(const struct site *a, const struct site *b)
{
	return same_place(a, b) && a->nth == b->nth;
}

void site_of_call(struct seen *s, pid_t pid, int process, long nr, const uint64_t args[6], struct site *out)
{
	const struct call *c = find_call(nr);

	*out = (struct site){ .process = process, .nr = nr };
	describe(pid, c ? c->about : PLAIN, args, out->about, sizeof(out->about));
	for (size_t i = 0; i < s->n; i++)
		if (same_place(&s->sites[i], out)) {
			out->nth = ++s->sites[i].nth;
			return;
		}
	if (s->n == SITES_MAX)
		die("more than %d different system calls in one run", SITES_MAX);
	s->sites[s->n] = *out;
	out->nth = s->sites[s->n++].nth = 1;
}

const char *site_name(const struct site *s, char *buf, size_t size)
{
	const struct call *c = find_call(s->nr);

	if (c)
		snprintf(buf, size, "%s(%s) no. %u of process %d", c->name, s->about, s->nth, s->process);
	else
		snprintf(buf, size, "system call %ld, no. %u of process %d", s->nr, s->nth, s->process);
	return buf;
}
