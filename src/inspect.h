/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fill in what a scan cannot see: features (asked plainly, nobody stops), then
 * queues and their workers, which only the owner may ask.
 */
#ifndef INSPECT_H
#define INSPECT_H

#include "owner.h"
#include "state.h"
#include "target.h"

/*
 * Everything that ioctls tell of those devices of one VM that @sel names, in one stop unless a device
 * has very many queues. What fails for one device is noted in that device's errors. -1 with @e when
 * nothing behind the owner check could be read; what was read before stays.
 */
int inspect_vm(struct vm *vm, const struct selection *sel, struct owner_log *log, struct error *e);

/* Of the same devices only what may be asked plainly, which stops nobody: features, worker mode. */
int inspect_features(struct vm *vm, const struct selection *sel, struct error *e);

/* Of vhost-scsi devices how many queues the VMM has, if QEMU's command line (in @proc_fd) tells. */
void inspect_vmm_queues(int proc_fd, struct vm *vm);

#endif
