// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "check_list.h"
#include "device.h"
#include "procfs.h"
#include "snapshot.h"
#include "util.h"

/* First line of a small file, without its newline; NULL if it cannot be read. */
static char *first_line(const char *path)
{
	struct proc_text text;

	if (proc_read(AT_FDCWD, path, 4096, &text))
		return NULL;
	text.data[strcspn(text.data, "\n")] = '\0';
	return text.data;
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Whether an index of modules (modules.dep, modules.builtin) has MODULE.ko. */
static bool index_has(const char *release, const char *index, const char *module)
{
	_cleanup_proc_text_ struct proc_text text = { 0 };
	_cleanup_free_ char *path = xasprintf("/lib/modules/%s/%s", release, index);
	_cleanup_free_ char *file = xasprintf("/%s.ko", module);

	return !proc_read(AT_FDCWD, path, 1 << 24, &text) && strstr(text.data, file);
}

static void check_module(struct check *c, const struct device_numbers *numbers,
			 const struct device_class *class, const char *name, const char *module)
{
	_cleanup_free_ char *state = xasprintf("/sys/module/%s/initstate", module);

	for (size_t i = 0; i < numbers->n; i++) {
		if (numbers->items[i].class != class)
			continue;
		/* Only what was loaded has a state. */
		check_add(&c->host, name, CHECK_OK, "%s, device number %u:%u",
			  exists(state) ? "loaded" : "built in", numbers->items[i].major,
			  numbers->items[i].minor);
		return;
	}
	if (index_has(c->kernel, "modules.dep", module))
		check_add(&c->host, name, CHECK_NO, "not loaded; modprobe %s", module);
	else
		check_add(&c->host, name, CHECK_NO, "neither in this kernel nor below /lib/modules/%s",
			  c->kernel);
}

static void check_modules(struct check *c)
{
	static const struct {
		const char *name, *module;
	} modules[DEVICE_KINDS] = {
		[DEVICE_NET] = { "vhost_net", "vhost_net" },
		[DEVICE_SCSI] = { "vhost_scsi", "vhost_scsi" },
		[DEVICE_VSOCK] = { "vhost_vsock", "vhost_vsock" },
		[DEVICE_VDPA] = { "vhost_vdpa", "vhost_vdpa" },
	};
	struct device_numbers numbers;
	struct error e = ERROR_INIT;

	if (device_numbers_read(&numbers, &e)) {
		for (int kind = 0; kind < DEVICE_KINDS; kind++)
			check_add(&c->host, modules[kind].name, CHECK_UNKNOWN, "%s: %s", e.operation,
				  e.message);
		return;
	}
	for (int kind = 0; kind < DEVICE_KINDS; kind++)
		check_module(c, &numbers, device_class_of_kind((enum device_kind)kind),
			     modules[kind].name, modules[kind].module);
}

/* A vendor's kernel can have more than its number says; what a VM's device has, its own answer tells. */
static void check_workers(struct check *c)
{
	static const char param[] = "/sys/module/vhost/parameters/fork_from_owner_default";
	_cleanup_free_ char *fork_owner = first_line(param);
	unsigned int release = check_release(c->kernel);

	if (fork_owner)
		check_add(&c->host, "worker_mode", CHECK_OK, "%s is the default (fork_from_owner_default=%s)",
			  *fork_owner == 'Y' ? "task" : "kthread", fork_owner);
	else if (!exists("/sys/module/vhost"))
		check_add(&c->host, "worker_mode", CHECK_UNKNOWN, "vhost is not loaded");
	else if (release)
		check_add(&c->host, "worker_mode", CHECK_OK, "%s, always",
			  release >= 0x604 ? "task" : "kthread");
	else
		check_add(&c->host, "worker_mode", CHECK_UNKNOWN, "the release number cannot be read");
	if (!release)
		check_add(&c->host, "worker_ioctls", CHECK_UNKNOWN, "the release number cannot be read");
	else if (release < 0x605)
		check_add(&c->host, "worker_ioctls", CHECK_NO, "came with 6.5; this is %s", c->kernel);
	else
		check_add(&c->host, "worker_ioctls", CHECK_OK,
			  "vhost-scsi only%s", fork_owner && *fork_owner != 'Y' ?
			  "; not for devices whose workers are kernel threads" : "");
}

static int has_capability(unsigned int capability)
{
	int64_t has = proc_has_capability(capability);

	return has == UNKNOWN ? CHECK_UNKNOWN : has ? CHECK_OK : CHECK_NO;
}

static void check_ptrace(struct check *c)
{
	_cleanup_free_ char *scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
	int capable = has_capability(CAP_SYS_PTRACE);

	check_add(&c->host, "cap_sys_ptrace", capable, "%s",
		  capable == CHECK_OK ? "effective" : capable == CHECK_NO ?
		  "missing: only VMs of this user can be looked at" : "/proc/self/status tells nothing");
	if (scope && *scope == '3')
		check_add(&c->host, "ptrace", CHECK_NO,
			  "yama ptrace_scope is 3: nobody may trace, until the next boot");
	else if (scope && *scope > '0' && capable != CHECK_OK)
		check_add(&c->host, "ptrace", CHECK_NO,
			  "yama ptrace_scope is %s: it takes CAP_SYS_PTRACE", scope);
	else if (capable != CHECK_OK)
		check_add(&c->host, "ptrace", CHECK_OK, "VMs of this user only, without CAP_SYS_PTRACE");
	else
		check_add(&c->host, "ptrace", CHECK_OK, scope ? "yama ptrace_scope is %s" : "no yama",
			  scope);
}

/* System calls that a kernel or a container's filter may not have: tried on ourselves. */
static void check_calls(struct check *c)
{
	_cleanup_close_ int self = pidfd_open(getpid(), 0);
	_cleanup_close_ int copy = -1;

	if (self < 0) {
		check_add(&c->host, "pidfd_getfd", CHECK_NO, "pidfd_open: %s", strerror(errno));
	} else {
		copy = pidfd_getfd(self, self, 0);
		check_add(&c->host, "pidfd_getfd", copy >= 0, "%s",
			  copy >= 0 ? "works" : strerror(errno));
	}
	if (syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, 0, 0) >= 0 || errno == EBADF)
		check_add(&c->host, "kcmp", CHECK_OK, "works");
	else
		check_add(&c->host, "kcmp", CHECK_NO, "%s; files shared between processes are not told",
			  strerror(errno));
}

static void check_btf(struct check *c)
{
	if (exists("/sys/kernel/btf/vhost") || (exists("/sys/kernel/btf/vmlinux") &&
						exists("/sys/module/vhost") &&
						!exists("/sys/module/vhost/initstate")))
		check_add(&c->host, "btf", CHECK_OK, "the kernel's types of vhost are there");
	else if (!exists("/sys/kernel/btf/vmlinux"))
		check_add(&c->host, "btf", CHECK_NO, "this kernel has no type information");
	else
		check_add(&c->host, "btf", CHECK_NO, "no type information of vhost: %s",
			  exists("/sys/module/vhost") ? "its module has none" : "it is not loaded");
}

static void check_lockdown(struct check *c)
{
	static const char path[] = "/sys/kernel/security/lockdown";
	_cleanup_free_ char *line = first_line(path);

	/* "none [integrity] confidentiality"; reading kernel memory through BPF ends with the last. */
	if (line)
		check_add(&c->host, "lockdown", !strstr(line, "[confidentiality]"), "%s", line);
	else if (errno == ENOENT)
		check_add(&c->host, "lockdown", CHECK_UNKNOWN,
			  "no %s: the kernel has no lockdown, or securityfs is not mounted", path);
	else
		check_add(&c->host, "lockdown", CHECK_UNKNOWN, "%s: %s", path, strerror(errno));
}

/* By taking one, of this process: what could forbid it is more than could be looked up. */
static void check_snapshot(struct check *c)
{
	struct error e = ERROR_INIT;
	struct snapshot snap;

	if (snapshot_take(getpid(), &snap, &e)) {
		check_add(&c->host, "snapshot", CHECK_NO, "%s; show and busyloop get stop a thread instead",
			  e.message);
		return;
	}
	check_add(&c->host, "snapshot", CHECK_OK, "works: show, list and busyloop get stop no thread");
	snapshot_free(&snap);
}

void check_host(struct check *c)
{
	struct utsname uts;
	int net_admin;

	uname(&uts);
	snprintf(c->kernel, sizeof(c->kernel), "%s", uts.release);
	check_add(&c->host, "architecture", !strcmp(uts.machine, "x86_64"), "%s%s", uts.machine,
		  strcmp(uts.machine, "x86_64") ? ": ioctls in the owner are made on x86_64 only" : "");
	check_modules(c);
	check_workers(c);
	check_ptrace(c);
	check_calls(c);
	net_admin = has_capability(CAP_NET_ADMIN);
	check_add(&c->host, "cap_net_admin", net_admin, "%s",
		  net_admin == CHECK_OK ? "effective" : net_admin == CHECK_NO ?
		  "missing: rx-frames of taps cannot be set" : "/proc/self/status tells nothing");
	check_btf(c);
	check_lockdown(c);
	check_snapshot(c);
}
