// SPDX-License-Identifier: GPL-2.0-or-later
#include "ethnl.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "nlmsg.h"
#include "state.h"
#include "util.h"

static const char get_operation[] = "read rx-frames", set_operation[] = "set rx-frames";

/* One request and what became of it. */
struct talk {
	union {
		char buf[512];
		struct nlmsghdr head;
	} request;
	int errnum;
	char message[128];	/* the kernel's own words, from its extended ACK */
	/* Called for each answer that is none of the above. */
	void (*take)(const struct nlmsghdr *answer, void *into);
	void *into;
};

static struct nlmsghdr *start(struct talk *t, uint16_t family, uint8_t command)
{
	struct nlmsghdr *head = mnl_nlmsg_put_header(t->request.buf);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(head, sizeof(*genl));

	head->nlmsg_type = family;
	head->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	head->nlmsg_seq = 1;	/* one socket's requests come one after another */
	genl->cmd = command;
	genl->version = 1;
	return head;
}

/* An error's attributes come after the request that it repeats, or its head alone. */
static void take_error(struct talk *t, const struct nlmsghdr *head)
{
	const struct nlmsgerr *error = mnl_nlmsg_get_payload(head);
	size_t offset = sizeof(*error);
	const struct nlattr *attr;

	if (mnl_nlmsg_get_payload_len(head) < sizeof(*error)) {
		t->errnum = EBADMSG;
		return;
	}
	t->errnum = error->error <= 0 && error->error > -4096 ? -error->error : EBADMSG;
	if (!(head->nlmsg_flags & NLM_F_CAPPED))
		offset += mnl_nlmsg_get_payload_len(&error->msg);
	if (!(head->nlmsg_flags & NLM_F_ACK_TLVS) || mnl_nlmsg_get_payload_len(head) < offset)
		return;
	mnl_attr_for_each(attr, head, offset)
		if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG &&
		    mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) == 0)
			snprintf(t->message, sizeof(t->message), "%s", mnl_attr_get_str(attr));
}

/* Until the ACK. 0, or -1 and t->errnum. */
static int talk(int fd, struct talk *t)
{
	static const int most = 32768;
	_cleanup_free_ char *buf = xcalloc(1, (size_t)most);
	bool acked = false;

	if (send(fd, t->request.buf, t->request.head.nlmsg_len, 0) < 0) {
		t->errnum = errno;
		return -1;
	}
	while (!acked) {
		int left = (int)recv(fd, buf, (size_t)most, 0);

		if (left < 0 && errno == EINTR)
			continue;
		if (left < 0) {
			t->errnum = errno == EAGAIN ? ETIMEDOUT : errno;
			return -1;
		}
		for (const struct nlmsghdr *head = (void *)buf; nlmsg_is_whole(head, left);
		     head = mnl_nlmsg_next(head, &left)) {
			if (head->nlmsg_type != NLMSG_ERROR) {
				if (t->take)
					t->take(head, t->into);
				continue;
			}
			take_error(t, head);
			acked = true;
		}
	}
	return t->errnum ? -1 : 0;
}

/* The u32 or u16 of type @wanted in a generic netlink answer. */
static const struct nlattr *find(const struct nlmsghdr *head, uint16_t wanted)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, head, sizeof(struct genlmsghdr))
		if (mnl_attr_get_type(attr) == wanted)
			return attr;
	return NULL;
}

static void take_family(const struct nlmsghdr *answer, void *into)
{
	const struct nlattr *attr = find(answer, CTRL_ATTR_FAMILY_ID);

	if (attr && mnl_attr_validate(attr, MNL_TYPE_U16) == 0)
		*(uint16_t *)into = mnl_attr_get_u16(attr);
}

static void take_rx_frames(const struct nlmsghdr *answer, void *into)
{
	const struct nlattr *attr = find(answer, ETHTOOL_A_COALESCE_RX_MAX_FRAMES);

	if (attr && mnl_attr_validate(attr, MNL_TYPE_U32) == 0)
		*(int64_t *)into = mnl_attr_get_u32(attr);
}

static int find_family(int fd, uint16_t *family, struct talk *t)
{
	struct nlmsghdr *head = start(t, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	int failed;

	*family = 0;
	t->take = take_family;
	t->into = family;
	mnl_attr_put_strz(head, CTRL_ATTR_FAMILY_NAME, ETHTOOL_GENL_NAME);
	failed = talk(fd, t);
	t->take = NULL;
	t->into = NULL;
	if (!failed && !*family)
		t->errnum = ENOENT;
	return t->errnum ? -1 : 0;
}

/* No ethtool family (before 5.6), no such message in it, or no netlink; also of a device without. */
static bool is_absent(int errnum)
{
	return errnum == EOPNOTSUPP || errnum == ENOENT || errnum == EPROTONOSUPPORT;
}

static int explain(const struct talk *t, const char *operation, struct error *e)
{
	switch (t->errnum) {
	case EPERM:
		return error_errno(e, EPERM, operation, "it takes CAP_NET_ADMIN in its network namespace");
	case EOPNOTSUPP:
		return error_set(e, STATUS_UNSUPPORTED, EOPNOTSUPP, operation,
				 "the interface has no rx-frames coalescing%s%s", t->message[0] ? ": " : "",
				 t->message);
	case ENODEV:
		return error_set(e, STATUS_NOT_FOUND, ENODEV, operation, "the interface is gone");
	default:
		return error_set(e, error_status(t->errnum), t->errnum, operation, "%s%s%s",
				 strerror(t->errnum), t->message[0] ? ": " : "", t->message);
	}
}

/* One of the groups that a family has: its name and its number. */
static void take_group(const struct nlattr *nest, uint32_t *group)
{
	const struct nlattr *attr;
	const char *name = "";
	uint32_t id = 0;

	mnl_attr_for_each_nested(attr, nest) {
		if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_NAME &&
		    mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) == 0)
			name = mnl_attr_get_str(attr);
		else if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_ID &&
			 mnl_attr_validate(attr, MNL_TYPE_U32) == 0)
			id = mnl_attr_get_u32(attr);
	}
	if (!strcmp(name, ETHTOOL_MCGRP_MONITOR_NAME))
		*group = id;
}

static void take_groups(const struct nlmsghdr *answer, void *into)
{
	const struct nlattr *groups = find(answer, CTRL_ATTR_MCAST_GROUPS), *attr;

	if (!groups)
		return;
	mnl_attr_for_each_nested(attr, groups) {
		take_group(attr, into);
	}
}

int ethnl_monitor_group(const struct netns *ns, uint32_t *group, struct error *e)
{
	struct talk t = { .take = take_groups, .into = group };
	struct nlmsghdr *head = start(&t, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);

	*group = 0;
	mnl_attr_put_strz(head, CTRL_ATTR_FAMILY_NAME, ETHTOOL_GENL_NAME);
	if (!talk(ns->generic, &t) || is_absent(t.errnum))
		return 0;
	return explain(&t, "find the notifications of ethtool", e);
}

static int netlink(const struct ethnl *dev, uint8_t command, const uint32_t *value, struct talk *t,
		   int64_t *answer)
{
	int fd = dev->ns->generic;
	struct nlmsghdr *head;
	struct nlattr *nest;
	uint16_t family;

	if (find_family(fd, &family, t))
		return -1;
	head = start(t, family, command);
	nest = mnl_attr_nest_start(head, ETHTOOL_A_COALESCE_HEADER);
	mnl_attr_put_u32(head, ETHTOOL_A_HEADER_DEV_INDEX, (uint32_t)dev->ifindex);
	mnl_attr_nest_end(head, nest);
	if (value)
		mnl_attr_put_u32(head, ETHTOOL_A_COALESCE_RX_MAX_FRAMES, *value);
	if (answer) {
		t->take = take_rx_frames;
		t->into = answer;
	}
	return talk(fd, t);
}

/* By name, which the ioctl wants: one that changes meanwhile is seen by who verifies the identity. */
static int by_ioctl(const struct ethnl *dev, uint32_t command, struct ethtool_coalesce *c)
{
	struct ifreq ifr = { .ifr_ifindex = dev->ifindex };

	if (ioctl(dev->ns->generic, SIOCGIFNAME, &ifr))
		return -1;
	c->cmd = command;
	ifr.ifr_data = (void *)c;
	return ioctl(dev->ns->generic, SIOCETHTOOL, &ifr);
}

int ethnl_get_rx_frames(struct ethnl *dev, int64_t *frames, struct error *e)
{
	struct ethtool_coalesce c = { 0 };
	struct talk t = { .errnum = 0 };

	*frames = UNKNOWN;
	dev->by_ioctl = false;
	if (!netlink(dev, ETHTOOL_MSG_COALESCE_GET, NULL, &t, frames))
		return 0;
	if (!is_absent(t.errnum))
		return explain(&t, get_operation, e);
	if (!by_ioctl(dev, ETHTOOL_GCOALESCE, &c)) {
		*frames = c.rx_max_coalesced_frames;
		dev->by_ioctl = true;
		return 0;
	}
	if (errno == EOPNOTSUPP)
		return 0;
	t.errnum = errno;
	return explain(&t, get_operation, e);
}

int ethnl_set_rx_frames(struct ethnl *dev, uint32_t frames, struct error *e)
{
	struct ethtool_coalesce c = { 0 };
	struct talk t = { .errnum = 0 };

	dev->by_ioctl = false;
	if (!netlink(dev, ETHTOOL_MSG_COALESCE_SET, &frames, &t, NULL))
		return 0;
	if (!is_absent(t.errnum))
		return explain(&t, set_operation, e);
	/* The ioctl sets all there is, so it is given back what it has. */
	if (!by_ioctl(dev, ETHTOOL_GCOALESCE, &c)) {
		c.rx_max_coalesced_frames = frames;
		if (!by_ioctl(dev, ETHTOOL_SCOALESCE, &c)) {
			dev->by_ioctl = true;
			return 0;
		}
	}
	t.errnum = errno;
	return explain(&t, set_operation, e);
}
