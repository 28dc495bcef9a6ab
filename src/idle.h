/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Workers that serve no queue, such as a killed run can leave. */
#ifndef IDLE_H
#define IDLE_H

#include "state.h"

/*
 * No call lists a device's idle workers, but they are threads like the others: those of the
 * VM's threads that no device's queues account for. They are added, with id and TID unknown, to
 * the VM's vhost-scsi device (the only kind that can have more than one), if there is but one.
 */
void idle_find(struct vm *vm);

#endif
