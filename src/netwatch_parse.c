// SPDX-License-Identifier: GPL-2.0-or-later
#include "netwatch_parse.h"

#include <libmnl/libmnl.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "state.h"
#include "util.h"

/* mnl_nlmsg_ok() takes a length past INT_MAX for a negative one. */
bool netwatch_is_whole(const struct nlmsghdr *head, int left)
{
	return mnl_nlmsg_ok(head, left) && head->nlmsg_len <= (uint32_t)left;
}

static void take_text(const struct nlattr *attr, char *into, size_t size)
{
	if (mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) == 0)
		snprintf(into, size, "%s", mnl_attr_get_str(attr));
}

static void take_u32(const struct nlattr *attr, int64_t *into)
{
	if (mnl_attr_validate(attr, MNL_TYPE_U32) == 0)
		*into = mnl_attr_get_u32(attr);
}

/* As libnl, and so link.c, spells RFC 2863's states. */
static void take_operstate(const struct nlattr *attr, char into[24])
{
	static const char *const names[] = { "unknown", "notpresent", "down", "lowerlayerdown", "testing",
					     "dormant", "up" };
	unsigned int state = mnl_attr_validate(attr, MNL_TYPE_U8) == 0 ? mnl_attr_get_u8(attr) : 255;

	if (state < ARRAY_SIZE(names))
		snprintf(into, 24, "%s", names[state]);
}

static bool is_tap(const struct nlattr *linkinfo)
{
	static const char *const kinds[] = { "tun", "macvtap", "ipvtap" };
	const struct nlattr *attr;
	char kind[16] = "";

	mnl_attr_for_each_nested(attr, linkinfo)
		if (mnl_attr_get_type(attr) == IFLA_INFO_KIND)
			take_text(attr, kind, sizeof(kind));
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kind, kinds[i]))
			return true;
	return false;
}

static void take_link(const struct nlmsghdr *head, struct netwatch_news *news)
{
	const struct nlattr *attr;

	news->master_index = 0;
	mnl_attr_for_each(attr, head, sizeof(struct ifinfomsg)) {
		switch (mnl_attr_get_type(attr)) {
		case IFLA_IFNAME:
			take_text(attr, news->ifname, sizeof(news->ifname));
			break;
		case IFLA_ADDRESS:
			if (mnl_attr_get_payload_len(attr) == sizeof(news->mac))
				memcpy(news->mac, mnl_attr_get_payload(attr), sizeof(news->mac));
			break;
		case IFLA_MTU:
			take_u32(attr, &news->mtu);
			break;
		case IFLA_MASTER:
			take_u32(attr, &news->master_index);
			break;
		case IFLA_OPERSTATE:
			take_operstate(attr, news->operstate);
			break;
		case IFLA_IFALIAS:
			take_text(attr, news->alias, sizeof(news->alias));
			break;
		case IFLA_LINKINFO:
			news->is_tap = is_tap(attr);
			break;
		default:
			break;
		}
	}
}

static bool parse_link(const struct nlmsghdr *head, struct netwatch_news *news)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(head);

	/* AF_BRIDGE: of a port, and without most of what a link has. */
	if (mnl_nlmsg_get_payload_len(head) < sizeof(*info) || info->ifi_family != AF_UNSPEC)
		return false;
	news->kind = head->nlmsg_type == RTM_NEWLINK ? NEWS_LINK : NEWS_GONE;
	news->ifindex = info->ifi_index;
	take_link(head, news);
	return true;
}

static bool parse_nsid(const struct nlmsghdr *head, struct netwatch_news *news)
{
	int64_t id = UNKNOWN;
	const struct nlattr *attr;

	mnl_attr_for_each(attr, head, sizeof(struct rtgenmsg))
		if (mnl_attr_get_type(attr) == NETNSA_NSID)
			take_u32(attr, &id);
	/* Ids are ours only if the message is. */
	if (id == UNKNOWN || news->id != NETWATCH_OURS)
		return false;
	news->kind = NEWS_NAMESPACE_GONE;
	news->id = (int)id;
	return true;
}

static void nothing_known(struct netwatch_news *news)
{
	news->mtu = news->master_index = news->rx_frames = UNKNOWN;
}

bool netwatch_parse_route(const struct nlmsghdr *head, struct netwatch_news *news)
{
	nothing_known(news);
	if (head->nlmsg_type == RTM_NEWLINK || head->nlmsg_type == RTM_DELLINK)
		return parse_link(head, news);
	return head->nlmsg_type == RTM_DELNSID && parse_nsid(head, news);
}

bool netwatch_parse_ethtool(const struct nlmsghdr *head, struct netwatch_news *news)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(head);
	const struct nlattr *attr, *inner;
	int64_t ifindex = UNKNOWN;

	nothing_known(news);
	if (head->nlmsg_type < NLMSG_MIN_TYPE || mnl_nlmsg_get_payload_len(head) < sizeof(*genl) ||
	    genl->cmd != ETHTOOL_MSG_COALESCE_NTF)
		return false;
	mnl_attr_for_each(attr, head, sizeof(*genl)) {
		if (mnl_attr_get_type(attr) == ETHTOOL_A_COALESCE_RX_MAX_FRAMES)
			take_u32(attr, &news->rx_frames);
		if (mnl_attr_get_type(attr) != ETHTOOL_A_COALESCE_HEADER)
			continue;
		mnl_attr_for_each_nested(inner, attr)
			if (mnl_attr_get_type(inner) == ETHTOOL_A_HEADER_DEV_INDEX)
				take_u32(inner, &ifindex);
	}
	news->kind = NEWS_COALESCE;
	news->ifindex = (int)ifindex;
	return ifindex != UNKNOWN && news->rx_frames != UNKNOWN;
}
