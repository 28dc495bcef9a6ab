// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages of netlink. The first byte chooses who reads them: ethtool's coalescing, rtnetlink's links, or
 * those who hear the notifications of both.
 */
#include "../../src/ethnl.c"
#define explain explain_link
#include "../../src/link.c"
#undef explain
#include "fuzz.h"
#include "netwatch_parse.h"

static void ethtool(void *buf, int left)
{
	struct talk t = { .errnum = 0 };
	int64_t frames = UNKNOWN;
	uint16_t family = 0;

	for (const struct nlmsghdr *head = buf; nlmsg_is_whole(head, left); head = mnl_nlmsg_next(head, &left)) {
		if (head->nlmsg_type == NLMSG_ERROR) {
			take_error(&t, head);
			continue;
		}
		take_family(head, &family);
		take_rx_frames(head, &frames);
	}
	CHECK(frames == UNKNOWN || (frames >= 0 && frames <= UINT32_MAX));
	CHECK(memchr(t.message, '\0', sizeof(t.message)));
}

/* What the library makes of a message is its own business; it gets only such as are links. */
static void route(void *buf, int left)
{
	const struct nlmsghdr *head = buf;
	struct answer a = answer_init();
	struct nlattr *info;

	if (!nlmsg_is_whole(head, left) || head->nlmsg_len < NLMSG_LENGTH(sizeof(struct ifinfomsg)))
		return;
	info = nlmsg_find_attr(buf, sizeof(struct ifinfomsg), IFLA_LINKINFO);
	if (info)
		take_info(&a, info);
	CHECK(memchr(a.kind, '\0', sizeof(a.kind)));
	CHECK(a.numqueues == UNKNOWN || (a.numqueues >= 0 && a.numqueues <= UINT32_MAX));
	CHECK(a.persist == UNKNOWN || (a.persist >= 0 && a.persist <= UINT8_MAX));
}

static void notifications(void *buf, int left)
{
	for (const struct nlmsghdr *head = buf; nlmsg_is_whole(head, left); head = mnl_nlmsg_next(head, &left)) {
		struct netwatch_news news = { .id = NETWATCH_OURS };

		if (netwatch_parse_ethtool(head, &news))
			CHECK(news.rx_frames >= 0 && news.rx_frames <= UINT32_MAX);
		news = (struct netwatch_news){ .id = NETWATCH_OURS };
		if (!netwatch_parse_route(head, &news))
			continue;
		CHECK(memchr(news.ifname, '\0', sizeof(news.ifname)));
		CHECK(memchr(news.alias, '\0', sizeof(news.alias)));
		CHECK(memchr(news.operstate, '\0', sizeof(news.operstate)));
		CHECK(news.mtu == UNKNOWN || news.mtu >= 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	uint8_t which = take_byte(&in);
	_cleanup_free_ char *buf = NULL;
	size_t len;

	buf = take_rest(&in, &len);
	if (which & 2)
		notifications(buf, (int)len);
	else if (which & 1)
		route(buf, (int)len);
	else
		ethtool(buf, (int)len);
	return 0;
}
