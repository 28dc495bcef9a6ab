/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the members lie that the kernel snapshot reads, by what the running kernel says of its types. */
#ifndef BTF_OFFSETS_H
#define BTF_OFFSETS_H

#include "error.h"
#include "snapshot_types.h"

#define BTF_DIR "/sys/kernel/btf"

/*
 * From @btf_dir/vmlinux and, split on it, @btf_dir/MODULE (or vmlinux itself, for what is built
 * in). Members that the kernel does not have, and all of a module that is not loaded, are SNAP_ABSENT.
 * STATUS_UNSUPPORTED when the types of vhost are not there or are not as expected.
 */
int btf_offsets_read(const char *btf_dir, struct snap_layout *at, struct error *e);

#endif
