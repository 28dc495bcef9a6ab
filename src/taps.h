/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a VM's file of a tap to the interface, wherever it is. The kernel tells name and network
 * namespace of the interface behind the file, and both can change at any time; what stays is
 * namespace and index together. So the file is asked before and after, and what was done in
 * between counts only if both answers are one and fit the interface found. Else it is done again.
 */
#ifndef TAPS_H
#define TAPS_H

#include "ethnl.h"
#include "link.h"
#include "netns.h"
#include "state.h"
#include "vm.h"

/* An interface that was found. */
struct tap_visit {
	struct netns ns;
	struct link link;
	struct ethnl ethnl;
	struct tap facts;
};

#define TAP_VISIT_INIT ((struct tap_visit){ .ns = NETNS_INIT })

/* What to do there. It may be called again, and fail with ENODEV when the interface went away. */
typedef int (*tap_act)(struct tap_visit *v, void *arg, struct error *e);

/*
 * Find the interface behind @t of the VM and @act there. v->ns of an earlier visit is used again
 * where it fits; tap_visit_end() closes it. No file of the VM is held while anything else is done.
 */
int tap_visit(const struct vm_ref *ref, const struct tap *t, struct tap_visit *v, tap_act act,
	      void *arg, struct error *e);
/* The same to an interface by name, in the namespace @netns_fd. */
int tap_visit_named(int netns_fd, const char *ifname, struct tap_visit *v, tap_act act, void *arg,
		    struct error *e);
/* The same to the tap of that index in the namespace v->ns. */
int tap_visit_index(struct tap_visit *v, int ifindex, tap_act act, void *arg, struct error *e);
void tap_visit_end(struct tap_visit *v);

/* An error of what follows says that no file is one of the tap any more: they are closed, or of others. */
bool tap_is_gone(const struct error *e);

/* Where the interface behind @t is now: name, address, namespace with an fd of it, to be closed. */
struct tap_place {
	char ifname[16];
	unsigned char mac[6];
	int64_t netns;
	int netns_fd;
};
/* e->errnum is ENODEV when there is none any more. */
int tap_where(const struct vm_ref *ref, const struct tap *t, struct tap_place *p, struct error *e);

/* An act: rx-frames into v->facts; unknown where there is no coalescing. */
int tap_get_rx_frames(struct tap_visit *v, void *unused, struct error *e);

/* What the visit found, into @t, which keeps path and files. */
void tap_take_facts(struct tap *t, struct tap_visit *v);

/*
 * Put together the files that are one interface, and apart those that only have a name in
 * common. What cannot be asked stays as it is.
 */
void taps_regroup(const struct vm_ref *ref, struct vm *vm);

/*
 * The tap that @d is known to drive, once the taps are told apart: by its file, or by a name that one
 * of them has only. Else NULL. Nothing is asked.
 */
struct tap *tap_of_device(struct vm *vm, const struct device *d);

/* Everything about the taps of @vm. What fails is an error of the tap; -1 with the first one. */
int taps_read(struct vm *vm, struct error *e);

#endif
