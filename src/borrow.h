/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A duplicate of another process's file, if it is a device of ours. */
#ifndef BORROW_H
#define BORROW_H

#include "device.h"

/*
 * The file that is @fd in the process of @ref, if it is of a class of @numbers: *class, and *own, to be
 * closed. *class is NULL when it is another file, whatever it is and whoever serves it.
 */
int borrow_file(const struct vm_ref *ref, int fd, const struct device_numbers *numbers,
		const struct device_class **class, int *own, struct error *e);

#endif
