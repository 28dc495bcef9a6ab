/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kinds of files that make a process a VM, and how to look at one that a VM holds. */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "state.h"
#include "vm.h"

enum device_role { ROLE_VHOST, ROLE_TUN, ROLE_MACVTAP };

/* One kind of character device, known by its number: names and paths can be anything. */
struct device_class {
	const char *name;	/* as /proc/misc or /proc/devices lists it */
	bool misc;		/* a minor of the misc major; else a major of its own */
	enum device_role role;
	enum device_kind kind;	/* of ROLE_VHOST */
};

/* The numbers that this kernel gave to the classes it has. */
struct device_numbers {
	struct {
		const struct device_class *class;
		unsigned int major, minor;
	} items[8];
	size_t n;
};

/* Which classes this kernel has now: a module that is not loaded has no number, nor any user. */
int device_numbers_read(struct device_numbers *numbers, struct error *e);
/* Pure: out of the text of /proc/misc and /proc/devices. */
void device_numbers_parse(const char *misc, size_t misc_len, const char *devices,
			  size_t devices_len, struct device_numbers *numbers);
/* NULL when the number is of no class. */
const struct device_class *device_class_of(const struct device_numbers *numbers,
					   unsigned int major, unsigned int minor);
/* The class of ROLE_VHOST and @kind. */
const struct device_class *device_class_of_kind(enum device_kind kind);

/*
 * A duplicate of the VM's vhost fd, checked to be of the device's class; -1 on
 * failure. It keeps the device alive after the VM's end: close it at once, and
 * never sleep over it.
 */
int device_borrow(const struct vm_ref *ref, const struct device *d, struct error *e);
/* The same for any fd of any class of @role, as for a tap. */
int device_borrow_fd(const struct vm_ref *ref, int fd, enum device_role role, struct error *e);

/* Features and worker mode off a borrowed fd, by ioctls that need no owner. */
int device_read_features(int fd, struct device *d, struct error *e);

#endif
