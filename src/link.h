/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Network interfaces as rtnetlink tells of them. */
#ifndef LINK_H
#define LINK_H

#include <stdbool.h>

#include "error.h"
#include "netns.h"
#include "state.h"

/* What identifies an interface within its namespace. */
struct link {
	int ifindex;
	char ifname[16];
	char kind[16];		/* "tun", "macvtap"; "" for hardware */
	unsigned char mac[6];	/* zeros for one without, such as a layer 3 tun */
};

/*
 * The interface of that index or, when @ifindex is 0, of that name. @facts, unless NULL, gets
 * what rtnetlink tells of a tap; strings in it are replaced. ENODEV when there is none.
 */
int link_read(const struct netns *ns, int ifindex, const char *ifname, struct link *link,
	      struct tap *facts, struct error *e);

bool link_is_tun(const struct link *link);
/* A macvtap or ipvtap: a tap that is another interface's child, without a tun's settings. */
bool link_is_macvtap(const struct link *link);

#endif
