// SPDX-License-Identifier: GPL-2.0-or-later
#include "vmfile.h"

#include <fcntl.h>
#include <string.h>

#include "aside.h"
#include "cmdline.h"
#include "procdir.h"
#include "procfs.h"
#include "threads.h"
#include "util.h"
#include "vmname.h"

enum {
	MOST_FILES = 8192,		/* of one VM: a device is a queue pair, a tap fd a queue */
	MOST_CMDLINE = 1 << 20,		/* bytes; libvirt's longest are some 20 kB */
};

void vm_files_add(struct vm_files *files, int fd, const struct device_class *class,
		  unsigned int major, unsigned int minor)
{
	if (files->n == MOST_FILES) {
		files->truncated = true;
		return;
	}
	*ARRAY_ADD(files->items, files->n) = (struct vm_file){ fd, class, major, minor };
}

void vm_files_free(struct vm_files *files)
{
	free(files->items);
	*files = (struct vm_files){ 0 };
}

int vm_read_cmdline(int pid_fd, struct proc_text *text)
{
	return aside_read(pid_fd, "cmdline", MOST_CMDLINE, text);
}

static void add_device(struct vm *vm, const struct vm_file *file, char *path)
{
	struct device *d = ARRAY_ADD(vm->devices, vm->n_devices);

	d->kind = file->class->kind;
	d->fd = file->fd;
	d->path = path;
}

/*
 * Name and index of the interface of a macvtap, whose fdinfo does not tell. By device
 * number: /dev/tapN can be renamed. Only those of our own network namespace have one here.
 */
static void name_macvtap(struct tap *t, const struct vm_file *file)
{
	_cleanup_free_ char *link = NULL;
	_cleanup_proc_text_ struct proc_text index = { 0 };
	char path[96], *slash, *ifname;
	uint64_t v;

	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u", file->major, file->minor);
	link = proc_readlink(AT_FDCWD, path);
	/* .../net/IFNAME/tapN (older: .../net/IFNAME/macvtap/tapN) */
	slash = link ? strstr(link, "/net/") : NULL;
	if (!slash)
		return;
	ifname = slash + strlen("/net/");
	slash = strchr(ifname, '/');
	if (!slash || (size_t)(slash - ifname) >= sizeof(t->ifname))
		return;
	*slash = '\0';
	memcpy(t->ifname, ifname, strlen(ifname) + 1);
	snprintf(path, sizeof(path), "/sys/class/net/%s/ifindex", t->ifname);
	if (!proc_read(AT_FDCWD, path, 64, &index) && index.len &&
	    proc_number(index.data, index.len - 1, INT32_MAX, &v))
		t->ifindex = (int64_t)v;
}

static struct tap *new_tap(struct vm *vm, bool macvtap, char *path)
{
	struct tap *t = ARRAY_ADD(vm->taps, vm->n_taps);

	tap_init(t);
	t->macvtap = macvtap;
	t->path = path;
	return t;
}

/* Two interfaces of one name, in two namespaces, show as one here: fdinfo has the name only. */
static void add_tun(struct vm *vm, const struct vm_file *file, const char *ifname, char *path)
{
	struct tap *t = NULL;

	for (size_t i = 0; i < vm->n_taps && !t; i++)
		if (!vm->taps[i].macvtap && !strcmp(vm->taps[i].ifname, ifname))
			t = &vm->taps[i];
	if (t) {
		free(path);
	} else {
		t = new_tap(vm, false, path);
		snprintf(t->ifname, sizeof(t->ifname), "%s", ifname);
	}
	*ARRAY_ADD(t->fds, t->n_fds) = file->fd;
}

/* A queue that the VM has disabled, or a file that no interface was made of yet. */
static void add_idle_tun(struct vm *vm, const struct vm_file *file, char *path)
{
	*ARRAY_ADD(vm->idle_tuns, vm->n_idle_tuns) = file->fd;
	free(path);
}

/* The device number is the interface's. taps_of[i]: to which tap files[i] went; SIZE_MAX: to none. */
static void add_macvtap(struct vm *vm, const struct vm_files *files, size_t i, size_t *taps_of,
			char *path)
{
	const struct vm_file *file = &files->items[i];
	struct tap *t = NULL;

	taps_of[i] = vm->n_taps;
	for (size_t j = 0; j < i && !t; j++)
		if (files->items[j].class->role == ROLE_MACVTAP && taps_of[j] < vm->n_taps &&
		    files->items[j].major == file->major && files->items[j].minor == file->minor) {
			taps_of[i] = taps_of[j];
			t = &vm->taps[taps_of[j]];
		}
	if (t) {
		free(path);
	} else {
		t = new_tap(vm, true, path);
		name_macvtap(t, file);
	}
	*ARRAY_ADD(t->fds, t->n_fds) = file->fd;
}

/* Not what a process that ends, or is not ours to read, leaves unknown. */
static void note_unread(struct vm *vm, const char *operation)
{
	const struct error *last = vm->n_errors ? &vm->errors[vm->n_errors - 1] : NULL;

	if (errno == ENOENT || errno == ESRCH || errno == EACCES || errno == EPERM)
		return;
	/* Once is enough for all of its files. */
	if (last && last->errnum == errno && !strcmp(last->operation, operation))
		return;
	error_errno(ARRAY_ADD(vm->errors, vm->n_errors), errno, operation,
		    errno == ETIMEDOUT ? aside_late : NULL);
}

/*
 * An O_PATH fd has the same device number but is no open device. 0: not to be counted, as one
 * that was closed meanwhile; -1 and errno when it could not be read.
 */
static int read_fdinfo(int pid_fd, const struct vm_file *file, struct vm *vm, char **ifname)
{
	_cleanup_proc_text_ struct proc_text text = { 0 };
	char path[32];
	int64_t flags;

	*ifname = NULL;
	snprintf(path, sizeof(path), "fdinfo/%d", file->fd);
	/* Not aside: a VM can have thousands, and messages for each cost more than all else. */
	if (proc_read(pid_fd, path, 1 << 16, &text)) {
		if (proc_is_shortage(errno) || errno == EACCES || errno == EPERM)
			return -1;
		note_unread(vm, "look at a file of its");
		return 0;
	}
	flags = proc_field_number(text.data, text.len, "flags", 8);
	if (flags == UNKNOWN || (flags & O_PATH))
		return 0;
	*ifname = proc_field_string(text.data, text.len, "iff");
	return 1;
}

static int read_files(int pid_fd, int fd_dir, const struct vm_files *files, struct vm *vm)
{
	_cleanup_free_ size_t *taps_of = xcalloc(files->n, sizeof(*taps_of));

	memset(taps_of, 0xff, files->n * sizeof(*taps_of));
	for (size_t i = 0; i < files->n; i++) {
		const struct vm_file *file = &files->items[i];
		_cleanup_free_ char *ifname = NULL;
		int counts = read_fdinfo(pid_fd, file, vm, &ifname);
		char name[16], *path;

		if (counts < 0)
			return -1;
		if (!counts)
			continue;
		snprintf(name, sizeof(name), "%d", file->fd);
		path = proc_readlink(fd_dir, name);
		if (file->class->role == ROLE_VHOST)
			add_device(vm, file, path);
		else if (file->class->role == ROLE_MACVTAP)
			add_macvtap(vm, files, i, taps_of, path);
		else if (ifname && *ifname)
			add_tun(vm, file, ifname, path);
		else
			add_idle_tun(vm, file, path);
	}
	if (files->truncated)
		error_set(ARRAY_ADD(vm->errors, vm->n_errors), STATUS_FAILED, 0, "list devices",
			  "the process holds more than %d vhost and tap files; the rest is left out",
			  MOST_FILES);
	return 0;
}

/* What cannot be read is not known; but a name for want of a descriptor would make it another VM. */
static int read_identity(int pid_fd, struct vm *vm)
{
	_cleanup_proc_text_ struct proc_text cmdline = { 0 };
	_cleanup_proc_text_ struct proc_text cgroup = { 0 };
	_cleanup_free_ char *netns = proc_readlink(pid_fd, "ns/net");

	vm->netns = netns ? proc_parse_ns(netns) : UNKNOWN;
	if (!proc_read(pid_fd, "cgroup", 1 << 16, &cgroup))
		vm->cgroup = proc_parse_cgroup(cgroup.data, cgroup.len);
	if (vm_read_cmdline(pid_fd, &cmdline)) {
		if (proc_is_shortage(errno))
			return -1;
		note_unread(vm, "read command line");
		vm->name_unread = true;
		return 0;
	}
	vmname_parse(cmdline.data, cmdline.len, &vm->name, &vm->uuid);
	if (cmdline.truncated)
		error_set(ARRAY_ADD(vm->errors, vm->n_errors), STATUS_FAILED, 0, "read command line",
			  "only its first %d bytes were read", MOST_CMDLINE);
	return 0;
}

/*
 * /proc/PID from its fd directory: the same process even if the pid has come to be
 * another one's meanwhile.
 */
static int open_pid(int fd_dir)
{
	return openat(fd_dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int vm_read(int fd_dir, const struct vm_files *files, struct vm *vm)
{
	_cleanup_close_ int pid_fd = open_pid(fd_dir);
	struct proc_stat st;

	if (pid_fd < 0 || proc_read_stat(pid_fd, "stat", &st))
		return -1;
	vm->start_time = st.start_time;
	memcpy(vm->comm, st.comm, sizeof(vm->comm));
	if (read_files(pid_fd, fd_dir, files, vm) || read_identity(pid_fd, vm))
		return -1;
	if (!aside_answers(pid_fd)) {
		vm->locked = true;
		note_unread(vm, "look into it");
	}
	if (vm->n_devices && threads_read_tasks(pid_fd, vm))
		return -1;
	/* It closes its files one by one, so it was seen in part, or not as what it is. */
	if (proc_is_ending(pid_fd)) {
		errno = ESRCH;
		return -1;
	}
	return 0;
}

int vm_runs_guest(int fd_dir)
{
	_cleanup_close_ int pid_fd = open_pid(fd_dir);
	_cleanup_proc_text_ struct proc_text cmdline = { 0 };
	struct procdir dir;
	const char *name;
	int fd;

	if (pid_fd < 0)
		return -1;
	if (vm_read_cmdline(pid_fd, &cmdline)) {
		if (proc_is_shortage(errno))
			return -1;
	} else if (cmdline_vmm(cmdline.data, cmdline.len) != VMM_OTHER) {
		return 1;
	}
	if (lseek(fd_dir, 0, SEEK_SET))
		return -1;
	procdir_start(&dir, fd_dir);
	while ((name = procdir_next(&dir, &fd))) {
		_cleanup_free_ char *link = proc_readlink(fd_dir, name);

		if (link && (!strcmp(link, "anon_inode:kvm-vm") ||
			     !strncmp(link, "anon_inode:kvm-vcpu", strlen("anon_inode:kvm-vcpu"))))
			return 1;
	}
	return 0;
}
