/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notifications of interfaces: links and coalescing, in our network namespace and in all others that
 * have been asked for. One pair of sockets hears them all, by the id that a namespace has in ours:
 * a socket in each would keep a namespace from ending.
 */
#ifndef NETWATCH_H
#define NETWATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "netns.h"

/* In place of an id, which are from 0: our namespace; one that could not be given an id. */
#define NETWATCH_OURS (-1)
#define NETWATCH_NONE (-2)

struct netwatch {
	struct netns ns;	/* sockets that are members of the groups, and used for nothing else */
	struct netns ask;
	struct { int64_t inode; int id; } *known;
	size_t n_known;
};

enum news_kind {
	NEWS_LINK,		/* it came, or has changed; all below is known */
	NEWS_GONE,		/* from this namespace */
	NEWS_COALESCE,		/* rx_frames is known */
	NEWS_NAMESPACE_GONE,	/* with all that is in it */
};

struct netwatch_news {
	enum news_kind kind;
	int id;			/* of the namespace */
	int ifindex;
	bool is_tap;		/* tun, macvtap or ipvtap */
	char ifname[16];
	unsigned char mac[6];
	int64_t mtu, master_index, rx_frames;	/* UNKNOWN: not told */
	char operstate[24];
	char alias[256];
};

typedef void (*netwatch_tell)(const struct netwatch_news *news, void *arg);

int netwatch_open(struct netwatch *w, struct error *e);
void netwatch_close(struct netwatch *w);

/*
 * The id of the namespace @fd, which gets one if it has none: from here on its changes are told.
 * NETWATCH_NONE on failure.
 */
int netwatch_add(struct netwatch *w, int fd, int *id, struct error *e);

/*
 * All that has come, to @tell. *lost: there was more than the sockets have room for, so that
 * anything may have changed.
 */
int netwatch_read(struct netwatch *w, netwatch_tell tell, void *arg, bool *lost, struct error *e);

#endif
