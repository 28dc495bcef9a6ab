/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The vhost and tap files of one process, and the VM that they make. */
#ifndef VMFILE_H
#define VMFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "device.h"
#include "state.h"

struct vm_file {
	int fd;
	const struct device_class *class;
	unsigned int major, minor;
};

struct vm_files {
	struct vm_file *items;
	size_t n;
	bool truncated;		/* the process holds more than anyone needs */
};

void vm_files_add(struct vm_files *files, int fd, const struct device_class *class,
		  unsigned int major, unsigned int minor);
void vm_files_free(struct vm_files *files);

/*
 * Fill @vm (its pid is set) from the process whose /proc/PID/fd is @fd_dir and in which
 * @files were found. Device ids and taps of devices are left to who knows the whole.
 * -1 and errno when the process is gone, or we are short of descriptors or memory.
 */
int vm_read(int fd_dir, const struct vm_files *files, struct vm *vm);

/* Whether the process is a virtual machine, whatever devices it has. -1 and errno as vm_read(). */
int vm_runs_guest(int fd_dir);

/* The command line, as much of it as is ever needed. */
struct proc_text;
int vm_read_cmdline(int pid_fd, struct proc_text *text);

#endif
