// SPDX-License-Identifier: GPL-2.0-or-later
#include "netwatch.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "ethnl.h"
#include "netwatch_parse.h"
#include "nlmsg.h"
#include "util.h"

static const char operation[] = "watch network interfaces";

/* Room for about a thousand notifications, memory that is used only while they wait. */
#define RECEIVE_BYTES (1 << 20)

static int join(int fd, unsigned int group)
{
	return setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group));
}

static int prepare(int fd)
{
	int bytes = RECEIVE_BYTES, on = 1;

	/* More than the host's limit takes CAP_NET_ADMIN; less room only means to lose some earlier. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)))
		return -1;
	/* Takes CAP_NET_BROADCAST. Without it there are those of our own namespace. */
	if (setsockopt(fd, SOL_NETLINK, NETLINK_LISTEN_ALL_NSID, &on, sizeof(on)) && errno != EPERM)
		return -1;
	return 0;
}

int netwatch_open(struct netwatch *w, struct error *e)
{
	_cleanup_close_ int own = netns_own(e);
	uint32_t coalesce = 0;

	*w = (struct netwatch){ .ns = NETNS_INIT, .ask = NETNS_INIT };
	if (own < 0 || netns_open(&w->ns, own, e) || netns_open(&w->ask, own, e) ||
	    /* A kernel without ethtool netlink (before 5.6) tells of no coalescing. */
	    ethnl_monitor_group(&w->ask, &coalesce, e)) {
		netwatch_close(w);
		return -1;
	}
	if (prepare(w->ns.route) || prepare(w->ns.generic) || join(w->ns.route, RTNLGRP_LINK) ||
	    join(w->ns.route, RTNLGRP_NSID) || (coalesce && join(w->ns.generic, coalesce))) {
		error_errno(e, errno, operation, NULL);
		netwatch_close(w);
		return -1;
	}
	return 0;
}

void netwatch_close(struct netwatch *w)
{
	netns_close(&w->ns);
	netns_close(&w->ask);
	free(w->known);
	*w = (struct netwatch){ .ns = NETNS_INIT, .ask = NETNS_INIT };
}

/* ---- ids of namespaces ---- */

/* A request about the namespace @fd: RTM_GETNSID, or RTM_NEWNSID for any free id. */
static int ask_id(const struct netwatch *w, int fd, uint16_t type, int *id)
{
	union {
		char buf[1024];
		struct nlmsghdr head;
	} m;
	struct nlmsghdr *head = mnl_nlmsg_put_header(m.buf);
	struct rtgenmsg *gen = mnl_nlmsg_put_extra_header(head, sizeof(*gen));
	const struct nlattr *attr;
	ssize_t n;

	head->nlmsg_type = type;
	head->nlmsg_flags = NLM_F_REQUEST | (type == RTM_NEWNSID ? NLM_F_ACK : 0);
	gen->rtgen_family = AF_UNSPEC;
	mnl_attr_put_u32(head, NETNSA_FD, (uint32_t)fd);
	if (type == RTM_NEWNSID)
		mnl_attr_put_u32(head, NETNSA_NSID, (uint32_t)NETNSA_NSID_NOT_ASSIGNED);
	if (send(w->ask.route, m.buf, head->nlmsg_len, 0) < 0)
		return -1;
	do {
		n = recv(w->ask.route, m.buf, sizeof(m.buf), 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0 || !nlmsg_is_whole(&m.head, (int)n))
		return -1;
	if (m.head.nlmsg_type == NLMSG_ERROR) {
		errno = -((const struct nlmsgerr *)mnl_nlmsg_get_payload(&m.head))->error;
		return errno ? -1 : 0;
	}
	mnl_attr_for_each(attr, &m.head, sizeof(struct rtgenmsg))
		if (mnl_attr_get_type(attr) == NETNSA_NSID && mnl_attr_validate(attr, MNL_TYPE_U32) == 0)
			*id = (int)mnl_attr_get_u32(attr);
	return 0;
}

static int find_id(const struct netwatch *w, int fd, int *id, struct error *e)
{
	*id = NETNSA_NSID_NOT_ASSIGNED;
	if (ask_id(w, fd, RTM_GETNSID, id))
		return error_errno(e, errno, operation, NULL);
	if (*id != NETNSA_NSID_NOT_ASSIGNED)
		return 0;
	/* EEXIST: somebody else was faster. */
	if (ask_id(w, fd, RTM_NEWNSID, id) && errno != EEXIST)
		return error_errno(e, errno, operation,
				   errno == EPERM ? "it takes CAP_NET_ADMIN in ours" : NULL);
	if (ask_id(w, fd, RTM_GETNSID, id))
		return error_errno(e, errno, operation, NULL);
	return 0;
}

int netwatch_add(struct netwatch *w, int fd, int *id, struct error *e)
{
	int64_t inode = netns_inode(fd);

	*id = NETWATCH_OURS;
	if (inode == w->ns.inode)
		return 0;
	for (size_t i = 0; i < w->n_known; i++)
		if (w->known[i].inode == inode) {
			*id = w->known[i].id;
			return 0;
		}
	if (find_id(w, fd, id, e)) {
		*id = NETWATCH_NONE;
		return -1;
	}
	w->known = xrealloc_array(w->known, w->n_known, sizeof(*w->known));
	w->known[w->n_known].inode = inode;
	w->known[w->n_known++].id = *id;
	return 0;
}

static void forget(struct netwatch *w, int id)
{
	for (size_t i = 0; i < w->n_known; i++)
		if (w->known[i].id == id)
			w->known[i--] = w->known[--w->n_known];
}

/* ---- notifications ---- */

static int id_of(struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c))
		if (c->cmsg_level == SOL_NETLINK && c->cmsg_type == NETLINK_LISTEN_ALL_NSID) {
			int id;

			memcpy(&id, CMSG_DATA(c), sizeof(id));
			return id;
		}
	return NETWATCH_OURS;
}

static int read_socket(struct netwatch *w, bool route, netwatch_tell tell, void *arg, bool *lost)
{
	char buf[32768] __attribute__((aligned(8)));
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(64)];
	} control;

	for (;;) {
		struct iovec iov = { buf, sizeof(buf) };
		struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
				      .msg_controllen = sizeof(control) };
		int left = (int)recvmsg(route ? w->ns.route : w->ns.generic, &msg, MSG_DONTWAIT);
		int id;

		if (left < 0 && errno == EINTR)
			continue;
		if (left < 0 && errno == ENOBUFS) {
			*lost = true;
			continue;
		}
		if (left < 0)
			return errno == EAGAIN ? 0 : -1;
		id = id_of(&msg);
		for (const struct nlmsghdr *head = (void *)buf; nlmsg_is_whole(head, left);
		     head = mnl_nlmsg_next(head, &left)) {
			struct netwatch_news news = { .id = id };

			if (!(route ? netwatch_parse_route(head, &news)
				    : netwatch_parse_ethtool(head, &news)))
				continue;
			tell(&news, arg);
			if (news.kind == NEWS_NAMESPACE_GONE)
				forget(w, news.id);
		}
	}
}

int netwatch_read(struct netwatch *w, netwatch_tell tell, void *arg, bool *lost, struct error *e)
{
	*lost = false;
	if (read_socket(w, true, tell, arg, lost) || read_socket(w, false, tell, arg, lost))
		return error_errno(e, errno, operation, NULL);
	/* That a namespace ended may be among what was lost, and its id another one's by now. */
	if (*lost)
		w->n_known = 0;
	return 0;
}
