// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The only requests that can be issued in a VM's context. Asked at the one place
 * that injects, so that no caller's mistake can reach a running VM with, say,
 * VHOST_RESET_OWNER. Anything added here must be harmless to a VM under load.
 */
#include "owner_allow.h"

#include <linux/vhost.h>

#include "util.h"

static const struct {
	unsigned int request, size;
} allowed[] = {
	{ VHOST_GET_VRING_BUSYLOOP_TIMEOUT, sizeof(struct vhost_vring_state) },
	{ VHOST_SET_VRING_BUSYLOOP_TIMEOUT, sizeof(struct vhost_vring_state) },
	{ VHOST_GET_VRING_WORKER, sizeof(struct vhost_vring_worker) },
	{ VHOST_ATTACH_VRING_WORKER, sizeof(struct vhost_vring_worker) },
	{ VHOST_NEW_WORKER, sizeof(struct vhost_worker_state) },
	{ VHOST_FREE_WORKER, sizeof(struct vhost_worker_state) },
};

bool owner_allows(unsigned int request, unsigned int size)
{
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++)
		if (allowed[i].request == request)
			return allowed[i].size == size;
	return false;
}
