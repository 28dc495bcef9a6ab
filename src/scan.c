// SPDX-License-Identifier: GPL-2.0-or-later
#include "scan.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "device.h"
#include "procdir.h"
#include "procfs.h"
#include "sharing.h"
#include "tapmap.h"
#include "threads.h"
#include "util.h"
#include "vmfile.h"
#include "vmname.h"

static const char look_operation[] = "look into processes";

struct scan {
	int proc_fd;
	struct device_numbers numbers;
	struct state *state;
	size_t n_denied;
	size_t n_failed;	/* for another reason, the first of which is this: */
	int failure;
};

void scan_kernel(struct state *s)
{
	struct utsname uts;

	uname(&uts);
	snprintf(s->kernel, sizeof(s->kernel), "%s", uts.release);
}

static int scan_start(struct scan *sc, struct state *s, struct error *e)
{
	*sc = (struct scan){ .proc_fd = -1, .state = s };
	scan_kernel(s);
	if (device_numbers_read(&sc->numbers, e))
		return -1;
	sc->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return sc->proc_fd < 0 ? error_errno(e, errno, "open /proc", NULL) : 0;
}

/*
 * Was it the file's own file system that said no? A FUSE mount answers nobody but the user who made
 * it, not even root. What a link says takes the same right as following it, and asks no file system.
 * False: errno is the process's refusal.
 */
static bool may_follow(int fd_dir, const char *name)
{
	char first;

	return readlinkat(fd_dir, name, &first, 1) >= 0 || (errno != EACCES && errno != EPERM);
}

/*
 * The inner loop of a whole-host scan: one statx() per fd and nothing else. It follows the
 * link to the open file itself, and with DONT_SYNC asks no server, so that a dead NFS
 * mount does not hold it up. What that file's file system has against it is no matter; that the
 * process may not, or cannot, be looked into is: -1 and errno.
 */
static int find_files(const struct scan *sc, int fd_dir, struct vm_files *files)
{
	struct procdir dir;
	const char *name;
	int fd;

	procdir_start(&dir, fd_dir);
	while ((name = procdir_next(&dir, &fd))) {
		const struct device_class *class;
		struct statx sx;

		if (statx(fd_dir, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &sx)) {
			if (proc_is_shortage(errno) ||
			    ((errno == EACCES || errno == EPERM) && !may_follow(fd_dir, name)))
				return -1;
			continue;
		}
		if (!S_ISCHR(sx.stx_mode))
			continue;
		class = device_class_of(&sc->numbers, sx.stx_rdev_major, sx.stx_rdev_minor);
		if (class)
			vm_files_add(files, fd, class, sx.stx_rdev_major, sx.stx_rdev_minor);
	}
	return errno ? -1 : 0;
}

static bool is_kthread(const struct scan *sc, const char *pid_name)
{
	struct proc_stat st;
	char path[32];

	snprintf(path, sizeof(path), "%s/stat", pid_name);
	return !proc_read_stat(sc->proc_fd, path, &st) && (st.flags & PROC_PF_KTHREAD);
}

/* What looking at one process came to. */
enum looked { LOOKED_NOTHING, LOOKED_VM, LOOKED_GONE, LOOKED_DENIED, LOOKED_FAILED };

/* A process that ends takes its directory along (ENOENT), and what is open of it is dead (ESRCH). */
static enum looked look_failed(void)
{
	if (errno == EACCES || errno == EPERM)
		return LOOKED_DENIED;
	return errno == ENOENT || errno == ESRCH ? LOOKED_GONE : LOOKED_FAILED;
}

/* Whether a process with such files is a VM. LOOKED_FAILED and the like when that cannot be told. */
static enum looked look_closer(int fd_dir, const struct vm_files *files, struct vm *vm, bool named)
{
	int runs_guest = 1;

	if (vm_read(fd_dir, files, vm))
		return look_failed();
	if (!named && !vm->n_devices)
		runs_guest = vm_runs_guest(fd_dir);
	if (runs_guest < 0)
		return look_failed();
	return runs_guest && (vm->n_devices || vm->n_taps) ? LOOKED_VM : LOOKED_NOTHING;
}

/* errno tells why when it is LOOKED_FAILED. */
static enum looked look_at(const struct scan *sc, const char *pid_name, pid_t pid, bool named)
{
	struct vm_files files = { 0 };
	struct vm vm = { .pid = pid };
	_cleanup_close_ int fd_dir = -1;
	enum looked result = LOOKED_NOTHING;
	char path[32];
	int saved;

	snprintf(path, sizeof(path), "%s/fd", pid_name);
	fd_dir = openat(sc->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd_dir < 0)
		return look_failed();
	if (find_files(sc, fd_dir, &files))
		result = look_failed();
	else if (files.n)
		result = look_closer(fd_dir, &files, &vm, named);
	saved = errno;
	vm_files_free(&files);
	if (result == LOOKED_VM)
		*ARRAY_ADD(sc->state->vms, sc->state->n_vms) = vm;
	else
		vm_free(&vm);
	errno = saved;
	return result;
}

/* Linux with a mode per device (VHOST_SET_FORK_FROM_OWNER): a VM may have both kinds of worker. */
static bool modes_may_be_mixed(void)
{
	return !access("/sys/module/vhost/parameters/fork_from_owner_default", F_OK);
}

/* Before 6.4, and where the host asks for it, workers are threads of the kernel's own. */
static void find_kthreads(const struct scan *sc)
{
	struct kthreads list = { 0 };
	bool mixed = modes_may_be_mixed(), read = false;

	for (size_t i = 0; i < sc->state->n_vms; i++) {
		struct vm *vm = &sc->state->vms[i];

		if (!vm->n_devices || (vm->n_threads && !mixed))
			continue;
		if (!read)
			threads_find_kthreads(sc->proc_fd, &list);
		read = true;
		threads_match_kthreads(sc->proc_fd, &list, vm);
	}
	free(list.items);
}

static void name_devices(struct vm *vm)
{
	unsigned int next[DEVICE_KINDS] = { 0 };

	for (size_t i = 0; i < vm->n_devices; i++) {
		struct device *d = &vm->devices[i];

		snprintf(d->id, sizeof(d->id), "%s%u", device_kind_name(d->kind), next[d->kind]++);
	}
}

/*
 * All threads of one mode, and no fewer than devices: then each device has that mode. The
 * kernel can be asked too, but not without disturbing the VM (see device_read_features()).
 */
static void infer_worker_mode(struct vm *vm)
{
	for (size_t i = 1; i < vm->n_threads; i++)
		if (vm->threads[i].mode != vm->threads[0].mode)
			return;
	if (!vm->n_threads || vm->n_threads < vm->n_devices)
		return;
	for (size_t i = 0; i < vm->n_devices; i++)
		if (vm->devices[i].kind != DEVICE_VDPA)
			vm->devices[i].worker_mode = vm->threads[0].mode;
}

static const char *processes(size_t n)
{
	return n == 1 ? "process could" : "processes could";
}

static void add_errors(const struct scan *sc)
{
	struct state *s = sc->state;

	if (sc->n_denied)
		error_set(ARRAY_ADD(s->errors, s->n_errors), STATUS_DENIED, EACCES, look_operation,
			  "%zu %s not be read; it takes root with CAP_SYS_PTRACE", sc->n_denied,
			  processes(sc->n_denied));
	if (sc->n_failed)
		error_set(ARRAY_ADD(s->errors, s->n_errors), STATUS_FAILED, sc->failure, look_operation,
			  "%zu %s not be looked into: %s", sc->n_failed, processes(sc->n_failed),
			  strerror(sc->failure));
}

static void scan_finish(struct scan *sc)
{
	find_kthreads(sc);
	sharing_resolve(sc->state);
	for (size_t i = 0; i < sc->state->n_vms; i++) {
		name_devices(&sc->state->vms[i]);
		infer_worker_mode(&sc->state->vms[i]);
		tapmap_pair(sc->proc_fd, &sc->state->vms[i]);
	}
	add_errors(sc);
	close(sc->proc_fd);
}

static void look_at_listed(struct scan *sc, const char *pid_name, pid_t pid)
{
	switch (look_at(sc, pid_name, pid, false)) {
	case LOOKED_DENIED:
		sc->n_denied += !is_kthread(sc, pid_name);
		break;
	case LOOKED_FAILED:
		if (!sc->n_failed++)
			sc->failure = errno;
		break;
	default:
		break;
	}
}

int scan_host(struct state *s, struct error *e)
{
	struct procdir dir;
	struct scan sc;
	const char *name;
	int pid, failed;

	if (scan_start(&sc, s, e))
		return -1;
	procdir_start(&dir, sc.proc_fd);
	while ((name = procdir_next(&dir, &pid)))
		look_at_listed(&sc, name, pid);
	failed = errno;
	scan_finish(&sc);
	return failed ? error_errno(e, failed, "list /proc", NULL) : 0;
}

int scan_some(const pid_t *pids, size_t n, struct state *s, struct error *e)
{
	struct scan sc;

	if (scan_start(&sc, s, e))
		return -1;
	for (size_t i = 0; i < n; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d", (int)pids[i]);
		look_at_listed(&sc, name, pids[i]);
	}
	scan_finish(&sc);
	return 0;
}

static int not_found(struct error *e, pid_t pid, enum looked looked)
{
	switch (looked) {
	case LOOKED_DENIED:
		return error_set(e, STATUS_DENIED, EACCES, look_operation,
				 "process %d could not be read; it takes root with CAP_SYS_PTRACE",
				 (int)pid);
	case LOOKED_FAILED:
		return error_set(e, STATUS_FAILED, errno, look_operation,
				 "process %d could not be looked into: %s", (int)pid, strerror(errno));
	case LOOKED_GONE:
		return error_set(e, STATUS_NOT_FOUND, ESRCH, NULL, "there is no process %d", (int)pid);
	default:
		return error_set(e, STATUS_NOT_FOUND, 0, NULL,
				 "process %d holds no vhost device and no tap", (int)pid);
	}
}

/* /proc/TID answers for a thread as well, although it is not listed. */
static int check_is_process(const struct scan *sc, pid_t pid, struct error *e)
{
	_cleanup_proc_text_ struct proc_text status = { 0 };
	int64_t tgid = UNKNOWN;
	char path[32];

	snprintf(path, sizeof(path), "%d/status", (int)pid);
	if (!proc_read(sc->proc_fd, path, 1 << 16, &status))
		tgid = proc_field_number(status.data, status.len, "Tgid", 10);
	if (tgid == pid)
		return 0;
	if (tgid == UNKNOWN)
		return not_found(e, pid, look_failed());
	return error_set(e, STATUS_NOT_FOUND, 0, NULL, "%d is a thread of process %lld", (int)pid,
			 (long long)tgid);
}

static int scan_process(pid_t pid, bool named, struct state *s, struct error *e)
{
	enum looked looked;
	struct scan sc;
	char name[16];
	int failure;

	if (scan_start(&sc, s, e))
		return -1;
	if (check_is_process(&sc, pid, e)) {
		close(sc.proc_fd);
		return -1;
	}
	snprintf(name, sizeof(name), "%d", (int)pid);
	looked = look_at(&sc, name, pid, named);
	failure = errno;
	scan_finish(&sc);
	errno = failure;
	return looked == LOOKED_VM ? 0 : not_found(e, pid, looked);
}

int scan_pid(pid_t pid, struct state *s, struct error *e)
{
	return scan_process(pid, true, s, e);
}

int scan_vm(pid_t pid, struct state *s, struct error *e)
{
	return scan_process(pid, false, s, e);
}

static const struct error *look_error(const struct state *s, enum status status)
{
	for (size_t i = 0; i < s->n_errors; i++)
		if (s->errors[i].status == status && !strcmp(s->errors[i].operation, look_operation))
			return &s->errors[i];
	return NULL;
}

const struct error *scan_denied(const struct state *s)
{
	return look_error(s, STATUS_DENIED);
}

const struct error *scan_failed(const struct state *s)
{
	return look_error(s, STATUS_FAILED);
}

int scan_check(const struct state *s, struct error *e)
{
	const struct error *failed = scan_failed(s);

	if (failed)
		*e = *failed;
	return failed ? -1 : 0;
}

const struct vm *scan_unnamed(const struct state *s)
{
	for (size_t i = 0; i < s->n_vms; i++)
		if (s->vms[i].name_unread)
			return &s->vms[i];
	return NULL;
}

static bool begins_with(const char *text, const char *name, bool any_case)
{
	size_t len = name ? strlen(name) : 0;

	return len && (any_case ? !strncasecmp(text, name, len) : !strncmp(text, name, len)) &&
	       (text[len] == '\0' || text[len] == '/');
}

static bool goes_by(int pid_fd, const char *text)
{
	_cleanup_proc_text_ struct proc_text cmdline = { 0 };
	_cleanup_free_ char *name = NULL;
	_cleanup_free_ char *uuid = NULL;

	if (vm_read_cmdline(pid_fd, &cmdline))
		return false;
	vmname_parse(cmdline.data, cmdline.len, &name, &uuid);
	return begins_with(text, name, false) || begins_with(text, uuid, true);
}

static bool may_look_into(int pid_fd)
{
	_cleanup_close_ int fd_dir = openat(pid_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *link = NULL;

	/* Listing the fds takes their owner's uid, following one the right to trace. */
	if (fd_dir < 0)
		return errno != EACCES && errno != EPERM;
	link = proc_readlink(pid_fd, "ns/net");
	return link || (errno != EACCES && errno != EPERM);
}

pid_t scan_find_denied(const char *text)
{
	_cleanup_close_ int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct procdir dir;
	const char *name;
	int pid;

	if (proc_fd < 0)
		return 0;
	procdir_start(&dir, proc_fd);
	while ((name = procdir_next(&dir, &pid))) {
		_cleanup_close_ int pid_fd = openat(proc_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (pid_fd >= 0 && goes_by(pid_fd, text) && !may_look_into(pid_fd))
			return pid;
	}
	return 0;
}
