/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coalescing of one network interface: ethtool netlink, or ioctl where a kernel lacks it. */
#ifndef ETHNL_H
#define ETHNL_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"
#include "netns.h"

/* Of a tun: more is silently made this (tun_set_coalesce() in drivers/net/tun.c). */
#define TAP_RX_FRAMES_MAX 64

/* An interface and how it was last talked to. */
struct ethnl {
	const struct netns *ns;
	int ifindex;
	bool by_ioctl;
};

/* Its rx-frames; UNKNOWN (state.h) where the device has none. e->errnum is ENODEV when it is gone. */
int ethnl_get_rx_frames(struct ethnl *dev, int64_t *frames, struct error *e);

/* The multicast group of its notifications; 0 where the kernel has no ethtool netlink. */
int ethnl_monitor_group(const struct netns *ns, uint32_t *group, struct error *e);

/* Sends rx-frames and nothing else. The driver may clamp the value: read it back. */
int ethnl_set_rx_frames(struct ethnl *dev, uint32_t frames, struct error *e);

#endif
