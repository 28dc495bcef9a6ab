/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Netlink in another network namespace, without going there. */
#ifndef NETNS_H
#define NETNS_H

#include <stdint.h>

#include "error.h"

/* Two sockets that live in one network namespace and hear nobody but the kernel. */
struct netns {
	int64_t inode;		/* identifies the namespace */
	int route, generic;	/* NETLINK_ROUTE, NETLINK_GENERIC; ioctls on interfaces work on both */
};

#define NETNS_INIT ((struct netns){ .inode = 0, .route = -1, .generic = -1 })

/*
 * Open the namespace of @fd. A child process enters it, with no more capabilities than that
 * takes, opens the sockets and hands them over; where it is our own namespace, no child is needed.
 */
int netns_open(struct netns *ns, int fd, struct error *e);
void netns_close(struct netns *ns);

/* Inode of the namespace that @fd is; -1 when it is none. */
int64_t netns_inode(int fd);

/* An fd of a namespace by NAME (of ip-netns) or pid, a name before a pid as ip(8) has it. */
int netns_find(const char *name, struct error *e);
/* An fd of our own. */
int netns_own(struct error *e);

#endif
