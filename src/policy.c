// SPDX-License-Identifier: GPL-2.0-or-later
#include "policy.h"

#include <stdlib.h>

#include "util.h"

void policy_device_init(struct policy_device *d)
{
	*d = (struct policy_device){ .kind = POLICY_ANY_KIND, .busyloop = { UNKNOWN, UNKNOWN },
				     .rx_frames = UNKNOWN };
}

static void device_entry_free(struct policy_device *d)
{
	free(d->where);
	free(d->id);
	free(d->tap);
	free(d->cpus);
	for (size_t i = 0; i < d->n_list; i++) {
		ranges_free(&d->list[i].queues);
		free(d->list[i].cpus);
	}
	free(d->list);
}

void policy_free(struct policy *p)
{
	for (size_t i = 0; i < p->n_vms; i++) {
		struct policy_vm *vm = &p->vms[i];

		for (size_t k = 0; k < vm->n_devices; k++)
			device_entry_free(&vm->devices[k]);
		free(vm->devices);
		free(vm->where);
		free(vm->name);
		free(vm->uuid);
	}
	free(p->vms);
	*p = (struct policy){ 0 };
}
