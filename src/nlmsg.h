/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NLMSG_H
#define NLMSG_H

#include <linux/netlink.h>
#include <stdbool.h>

/*
 * Is all of this message in the @left bytes there are? mnl_nlmsg_ok() takes a length past INT_MAX
 * for a negative one: with that a loop over messages would never get to its end.
 */
static inline bool nlmsg_is_whole(const struct nlmsghdr *head, int left)
{
	return left >= (int)sizeof(*head) && head->nlmsg_len >= sizeof(*head) &&
	       head->nlmsg_len <= (unsigned int)left;
}

#endif
