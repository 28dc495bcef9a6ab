/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One notification into words. Pure. */
#ifndef NETWATCH_PARSE_H
#define NETWATCH_PARSE_H

#include <linux/netlink.h>

#include "netwatch.h"

/* False for what is of no interest. */
bool netwatch_parse_route(const struct nlmsghdr *head, struct netwatch_news *news);
bool netwatch_parse_ethtool(const struct nlmsghdr *head, struct netwatch_news *news);

#endif
