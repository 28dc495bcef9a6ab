// SPDX-License-Identifier: GPL-2.0-or-later
#include "device.h"

#include <fcntl.h>
#include <linux/vhost.h>
#include <string.h>
#include <sys/ioctl.h>

#include "borrow.h"
#include "procfs.h"
#include "util.h"

/* include/uapi/linux/major.h */
#define MISC_MAJOR 10

static const struct device_class classes[] = {
	{ "vhost-net", true, ROLE_VHOST, DEVICE_NET },
	{ "vhost-scsi", true, ROLE_VHOST, DEVICE_SCSI },
	{ "vhost-vsock", true, ROLE_VHOST, DEVICE_VSOCK },
	{ "vhost-vdpa", false, ROLE_VHOST, DEVICE_VDPA },
	{ "tun", true, ROLE_TUN, 0 },
	{ "macvtap", false, ROLE_MACVTAP, 0 },
	{ "ipvtap", false, ROLE_MACVTAP, 0 },
};

static const struct device_class *class_named(const char *name, size_t len, bool misc)
{
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (classes[i].misc == misc && strlen(classes[i].name) == len &&
		    !memcmp(classes[i].name, name, len))
			return &classes[i];
	return NULL;
}

/* Lines of both files are "<blanks>NUMBER NAME". */
static void add_numbers(const char *buf, size_t len, bool misc, struct device_numbers *numbers)
{
	const char *line;
	size_t pos = 0, n;

	while ((line = proc_next_line(buf, len, &pos, &n))) {
		const char *end = line + n, *name;
		const struct device_class *class;
		uint64_t number;

		/* Block devices have majors of their own, and come last. */
		if (!misc && n >= 5 && !memcmp(line, "Block", 5))
			break;
		while (line < end && *line == ' ')
			line++;
		name = memchr(line, ' ', (size_t)(end - line));
		if (!name || !proc_number(line, (size_t)(name - line), UINT32_MAX, &number))
			continue;
		name++;
		class = class_named(name, (size_t)(end - name), misc);
		if (!class || numbers->n == ARRAY_SIZE(numbers->items))
			continue;
		numbers->items[numbers->n].class = class;
		numbers->items[numbers->n].major = misc ? MISC_MAJOR : (unsigned int)number;
		numbers->items[numbers->n++].minor = misc ? (unsigned int)number : 0;
	}
}

void device_numbers_parse(const char *misc, size_t misc_len, const char *devices,
			  size_t devices_len, struct device_numbers *numbers)
{
	numbers->n = 0;
	add_numbers(misc, misc_len, true, numbers);
	add_numbers(devices, devices_len, false, numbers);
}

/* /proc rather than /sys/class/misc: two reads for all, and containers often hide /sys. */
int device_numbers_read(struct device_numbers *numbers, struct error *e)
{
	_cleanup_proc_text_ struct proc_text misc = { 0 };
	_cleanup_proc_text_ struct proc_text devices = { 0 };

	if (proc_read(AT_FDCWD, "/proc/misc", 1 << 16, &misc))
		return error_errno(e, errno, "read /proc/misc", NULL);
	if (proc_read(AT_FDCWD, "/proc/devices", 1 << 16, &devices))
		return error_errno(e, errno, "read /proc/devices", NULL);
	device_numbers_parse(misc.data, misc.len, devices.data, devices.len, numbers);
	return 0;
}

const struct device_class *device_class_of(const struct device_numbers *numbers,
					   unsigned int major, unsigned int minor)
{
	for (size_t i = 0; i < numbers->n; i++)
		if (numbers->items[i].major == major &&
		    (!numbers->items[i].class->misc || numbers->items[i].minor == minor))
			return numbers->items[i].class;
	return NULL;
}

const struct device_class *device_class_of_kind(enum device_kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (classes[i].role == ROLE_VHOST && classes[i].kind == kind)
			return &classes[i];
	return NULL;
}

/* A duplicate of @fd and what it is; *class is NULL, and there is none, when it is nothing of ours. */
static int borrow(const struct vm_ref *ref, int fd, const struct device_class **class, int *own,
		  struct error *e)
{
	struct device_numbers numbers;

	return device_numbers_read(&numbers, e) ? -1 : borrow_file(ref, fd, &numbers, class, own, e);
}

static int other_file(struct error *e, const struct vm_ref *ref, int fd, const char *what)
{
	return error_set(e, STATUS_NOT_FOUND, 0, "borrow the VM's file",
			 "fd %d of process %d is no %s any more", fd, (int)ref->pid, what);
}

int device_borrow(const struct vm_ref *ref, const struct device *d, struct error *e)
{
	const struct device_class *class;
	_cleanup_close_ int fd = -1;

	if (borrow(ref, d->fd, &class, &fd, e))
		return -1;
	if (!class || class->role != ROLE_VHOST || class->kind != d->kind)
		return other_file(e, ref, d->fd, device_class_of_kind(d->kind)->name);
	return STEAL_FD(fd);
}

int device_borrow_fd(const struct vm_ref *ref, int vm_fd, enum device_role role, struct error *e)
{
	const struct device_class *class;
	_cleanup_close_ int fd = -1;

	if (borrow(ref, vm_fd, &class, &fd, e))
		return -1;
	if (!class || class->role != role)
		return other_file(e, ref, vm_fd, role == ROLE_VHOST ? "vhost device" : "tap");
	return STEAL_FD(fd);
}

/*
 * How a device or kernel says that it lacks an ioctl: ENOTTY; or EPERM, since what no
 * device knows goes on to the calls that only the owner may make; or ENOBUFS, since
 * those read a queue's index out of the argument first.
 */
static bool absent(int errnum)
{
	return errnum == ENOTTY || errnum == EOPNOTSUPP || errnum == EPERM || errnum == ENOBUFS;
}

int device_read_features(int fd, struct device *d, struct error *e)
{
	uint64_t mask;

	if (ioctl(fd, VHOST_GET_FEATURES, &mask))
		return error_errno(e, errno, "VHOST_GET_FEATURES", NULL);
	d->features = mask;
	d->features_known = true;
	if (d->kind != DEVICE_SCSI) {
		if (!ioctl(fd, VHOST_GET_BACKEND_FEATURES, &mask)) {
			d->backend_features = mask;
			d->backend_features_known = true;
		} else if (!absent(errno)) {
			return error_errno(e, errno, "VHOST_GET_BACKEND_FEATURES", NULL);
		}
	}
	/*
	 * Nothing further: any call that drivers/vhost/net.c or vsock.c passes on to
	 * vhost_dev_ioctl() ends in a flush of the workers, the refused ones too. That disturbs the
	 * VM, and waits for ever, with the device locked, while the VM is stopped. So not
	 * VHOST_GET_FORK_FROM_OWNER: the scan sees by the threads how workers run.
	 */
	return 0;
}
