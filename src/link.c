// SPDX-License-Identifier: GPL-2.0-or-later
#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <string.h>

#include "util.h"

static const char operation[] = "read the interface";

/* What one answer gives: the library's object, and the attributes that it has no functions for. */
struct answer {
	struct rtnl_link *link;
	char kind[16];
	int64_t multi_queue, vnet_hdr, persist, numqueues, numdisabled;
};

static int64_t get_u8(struct nlattr *const *attrs, int type)
{
	return attrs[type] ? nla_get_u8(attrs[type]) : UNKNOWN;
}

static int64_t get_u32(struct nlattr *const *attrs, int type)
{
	return attrs[type] ? nla_get_u32(attrs[type]) : UNKNOWN;
}

static void take_tun(struct answer *a, struct nlattr *data)
{
	static struct nla_policy policy[IFLA_TUN_MAX + 1] = {
		[IFLA_TUN_VNET_HDR] = { .type = NLA_U8 }, [IFLA_TUN_PERSIST] = { .type = NLA_U8 },
		[IFLA_TUN_MULTI_QUEUE] = { .type = NLA_U8 }, [IFLA_TUN_NUM_QUEUES] = { .type = NLA_U32 },
		[IFLA_TUN_NUM_DISABLED_QUEUES] = { .type = NLA_U32 },
	};
	struct nlattr *tun[IFLA_TUN_MAX + 1];

	if (nla_parse_nested(tun, IFLA_TUN_MAX, data, policy) < 0)
		return;
	a->multi_queue = get_u8(tun, IFLA_TUN_MULTI_QUEUE);
	a->vnet_hdr = get_u8(tun, IFLA_TUN_VNET_HDR);
	a->persist = get_u8(tun, IFLA_TUN_PERSIST);
	a->numqueues = get_u32(tun, IFLA_TUN_NUM_QUEUES);
	a->numdisabled = get_u32(tun, IFLA_TUN_NUM_DISABLED_QUEUES);
}

static void take_info(struct answer *a, struct nlattr *linkinfo)
{
	static struct nla_policy policy[IFLA_INFO_MAX + 1] = {
		[IFLA_INFO_KIND] = { .type = NLA_STRING }, [IFLA_INFO_DATA] = { .type = NLA_NESTED },
	};
	struct nlattr *info[IFLA_INFO_MAX + 1];

	if (nla_parse_nested(info, IFLA_INFO_MAX, linkinfo, policy) < 0 || !info[IFLA_INFO_KIND])
		return;
	nla_strlcpy(a->kind, info[IFLA_INFO_KIND], sizeof(a->kind));
	if (info[IFLA_INFO_DATA] && !strcmp(a->kind, "tun"))
		take_tun(a, info[IFLA_INFO_DATA]);
}

static void take_object(struct nl_object *object, void *into)
{
	struct answer *a = into;

	if (a->link)
		return;
	nl_object_get(object);
	a->link = (struct rtnl_link *)object;
}

static int take_message(struct nl_msg *msg, void *into)
{
	struct nlattr *info = nlmsg_find_attr(nlmsg_hdr(msg), sizeof(struct ifinfomsg), IFLA_LINKINFO);

	if (info)
		take_info(into, info);
	return nl_msg_parse(msg, take_object, into) < 0 ? NL_SKIP : NL_OK;
}

/*
 * The library's socket closes its file at its end, so it gets a duplicate. Without ACK there is
 * one datagram to each request, the answer or the error.
 */
static struct nl_sock *library_socket(int fd)
{
	struct nl_sock *sk = nl_socket_alloc();
	int own = sk ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;

	if (own >= 0 && nl_socket_set_fd(sk, NETLINK_ROUTE, own) == 0) {
		nl_socket_disable_auto_ack(sk);
		return sk;
	}
	if (own >= 0)
		close(own);
	nl_socket_free(sk);
	return NULL;
}

/* 0, or the library's number of an error. */
static int ask(int fd, int ifindex, const char *ifname, struct answer *a)
{
	struct nl_sock *sk = library_socket(fd);
	struct nl_msg *msg = NULL;
	int err = sk ? rtnl_link_build_get_request(ifindex, ifname, &msg) : -NLE_NOMEM;

	if (!err)
		err = nl_socket_modify_cb(sk, NL_CB_VALID, NL_CB_CUSTOM, take_message, a);
	if (!err)
		err = nl_send_auto(sk, msg);
	if (err >= 0)
		err = nl_recvmsgs_default(sk);
	if (err >= 0)
		err = a->link ? 0 : -NLE_OBJ_NOTFOUND;
	nlmsg_free(msg);
	nl_socket_free(sk);
	return err;
}

static struct answer answer_init(void)
{
	return (struct answer){ .multi_queue = UNKNOWN, .vnet_hdr = UNKNOWN, .persist = UNKNOWN,
				.numqueues = UNKNOWN, .numdisabled = UNKNOWN };
}

static int explain(int err, struct error *e)
{
	switch (err) {
	case -NLE_NODEV:
	case -NLE_OBJ_NOTFOUND:
		return error_set(e, STATUS_NOT_FOUND, ENODEV, operation, "there is no such interface");
	case -NLE_PERM:
	case -NLE_NOACCESS:
		return error_set(e, STATUS_DENIED, EPERM, operation, "%s", nl_geterror(err));
	default:
		return error_set(e, STATUS_FAILED, 0, operation, "%s", nl_geterror(err));
	}
}

static void take_identity(const struct answer *a, struct link *link)
{
	struct nl_addr *addr = rtnl_link_get_addr(a->link);
	const char *name = rtnl_link_get_name(a->link);

	*link = (struct link){ .ifindex = rtnl_link_get_ifindex(a->link) };
	snprintf(link->ifname, sizeof(link->ifname), "%s", name ? name : "");
	memcpy(link->kind, a->kind, sizeof(link->kind));
	if (addr && nl_addr_get_len(addr) == sizeof(link->mac))
		memcpy(link->mac, nl_addr_get_binary_addr(addr), sizeof(link->mac));
}

static void replace(char **string, const char *by)
{
	free(*string);
	*string = by ? xstrdup(by) : NULL;
}

static int64_t counter(struct rtnl_link *link, rtnl_link_stat_id_t id)
{
	return (int64_t)rtnl_link_get_stat(link, id);
}

static void take_facts(const struct answer *a, struct tap *t)
{
	unsigned int mtu = rtnl_link_get_mtu(a->link);

	t->mtu = mtu ? mtu : UNKNOWN;
	rtnl_link_operstate2str(rtnl_link_get_operstate(a->link), t->operstate, sizeof(t->operstate));
	replace(&t->alias, rtnl_link_get_ifalias(a->link));
	t->multi_queue = a->multi_queue;
	t->vnet_hdr = a->vnet_hdr;
	t->persist = a->persist;
	t->numqueues = a->numqueues;
	t->numdisabled = a->numdisabled;
	t->rx_packets = counter(a->link, RTNL_LINK_RX_PACKETS);
	t->tx_packets = counter(a->link, RTNL_LINK_TX_PACKETS);
	t->rx_dropped = counter(a->link, RTNL_LINK_RX_DROPPED);
	t->tx_dropped = counter(a->link, RTNL_LINK_TX_DROPPED);
	t->rx_bytes = counter(a->link, RTNL_LINK_RX_BYTES);
	t->tx_bytes = counter(a->link, RTNL_LINK_TX_BYTES);
}

/* The bridge or bond may go away between the two answers; then there is none. */
static void take_master(const struct netns *ns, int ifindex, struct tap *t)
{
	struct answer a = answer_init();

	replace(&t->master, NULL);
	if (ifindex && !ask(ns->route, ifindex, NULL, &a))
		replace(&t->master, rtnl_link_get_name(a.link));
	rtnl_link_put(a.link);
}

int link_read(const struct netns *ns, int ifindex, const char *ifname, struct link *link,
	      struct tap *facts, struct error *e)
{
	struct answer a = answer_init();
	int err = ask(ns->route, ifindex, ifindex ? NULL : ifname, &a);

	if (err) {
		rtnl_link_put(a.link);
		return explain(err, e);
	}
	take_identity(&a, link);
	if (facts) {
		take_facts(&a, facts);
		take_master(ns, rtnl_link_get_master(a.link), facts);
	}
	rtnl_link_put(a.link);
	return 0;
}

bool link_is_tun(const struct link *link)
{
	return !strcmp(link->kind, "tun");
}

bool link_is_macvtap(const struct link *link)
{
	return !strcmp(link->kind, "macvtap") || !strcmp(link->kind, "ipvtap");
}
