/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which tap a vhost-net device drives, as far as it can be known without the kernel's help. */
#ifndef TAPMAP_H
#define TAPMAP_H

#include <stddef.h>

#include "state.h"

/* Set device.tap and .tap_source of the VM's vhost-net devices, and tap.vhost, reading its command line. */
void tapmap_pair(int proc_fd, struct vm *vm);

/*
 * The same with the command line given. Known are: the pairs of numbered fds on QEMU's
 * command line (the fds must be a tap and a vhost-net device now); that all tap fds of a VM
 * are one interface; and that QEMU's command line has one NIC on vhost and all others not.
 * Anything else stays unknown. A NIC is named by ifname=, or by the fd of its tap.
 */
void tapmap_pair_cmdline(struct vm *vm, const char *cmdline, size_t len);

/* Set tap.vhost where the devices' taps tell it, once more of those are known. */
void tapmap_mark_vhost(struct vm *vm);

#endif
