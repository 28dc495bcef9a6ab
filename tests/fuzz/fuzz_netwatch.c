// SPDX-License-Identifier: GPL-2.0-or-later
/* Notifications of netlink. The first byte chooses which socket they came from. */
#include <libmnl/libmnl.h>

#include "fuzz.h"
#include "netwatch_parse.h"
#include "state.h"

static void check(const struct netwatch_news *news)
{
	CHECK(memchr(news->ifname, '\0', sizeof(news->ifname)));
	CHECK(memchr(news->operstate, '\0', sizeof(news->operstate)));
	CHECK(memchr(news->alias, '\0', sizeof(news->alias)));
	CHECK(news->mtu == UNKNOWN || (news->mtu >= 0 && news->mtu <= UINT32_MAX));
	CHECK(news->kind != NEWS_COALESCE || (news->rx_frames >= 0 && news->rx_frames <= UINT32_MAX));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	uint8_t which = take_byte(&in);
	_cleanup_free_ char *buf = NULL;
	size_t len;
	int left;

	buf = take_rest(&in, &len);
	left = (int)len;
	for (const struct nlmsghdr *head = (void *)buf; netwatch_is_whole(head, left);
	     head = mnl_nlmsg_next(head, &left)) {
		struct netwatch_news news = { .id = which & 2 ? 3 : NETWATCH_OURS };

		if (which & 1 ? netwatch_parse_route(head, &news) : netwatch_parse_ethtool(head, &news))
			check(&news);
	}
	return 0;
}
