// SPDX-License-Identifier: GPL-2.0-or-later
/* Notifications into words, and events into JSON and text. */
#include <libmnl/libmnl.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <stdio.h>

#include "json_event.h"
#include "netwatch_parse.h"
#include "samples.h"
#include "unit.h"

static union {
	char buf[4096];
	struct nlmsghdr head;
} m;

static struct nlmsghdr *link_message(uint16_t type, uint8_t family)
{
	struct nlmsghdr *head;
	struct ifinfomsg *info;
	struct nlattr *nest;

	memset(&m, 0, sizeof(m));
	head = mnl_nlmsg_put_header(m.buf);
	info = mnl_nlmsg_put_extra_header(head, sizeof(*info));
	head->nlmsg_type = type;
	info->ifi_family = family;
	info->ifi_index = 7;
	mnl_attr_put_strz(head, IFLA_IFNAME, "tap0");
	mnl_attr_put(head, IFLA_ADDRESS, 6, "\x02\0\0\0\0\x09");
	mnl_attr_put_u32(head, IFLA_MTU, 1400);
	mnl_attr_put_u8(head, IFLA_OPERSTATE, 6);
	mnl_attr_put_u32(head, IFLA_MASTER, 3);
	mnl_attr_put_strz(head, IFLA_IFALIAS, HOSTILE);
	nest = mnl_attr_nest_start(head, IFLA_LINKINFO);
	mnl_attr_put_strz(head, IFLA_INFO_KIND, "tun");
	mnl_attr_nest_end(head, nest);
	return head;
}

static void test_link(void **state)
{
	struct netwatch_news news = { .id = 4 };

	(void)state;
	assert_true(netwatch_parse_route(link_message(RTM_NEWLINK, AF_UNSPEC), &news));
	assert_int_equal(news.kind, NEWS_LINK);
	assert_int_equal(news.id, 4);
	assert_int_equal(news.ifindex, 7);
	assert_int_equal(news.mtu, 1400);
	assert_int_equal(news.master_index, 3);
	assert_int_equal(news.rx_frames, UNKNOWN);
	assert_int_equal(news.mac[5], 9);
	assert_true(news.is_tap);
	assert_string_equal(news.ifname, "tap0");
	assert_string_equal(news.operstate, "up");
	assert_string_equal(news.alias, HOSTILE);
	assert_true(netwatch_parse_route(link_message(RTM_DELLINK, AF_UNSPEC), &news));
	assert_int_equal(news.kind, NEWS_GONE);
}

static void test_what_is_of_no_interest(void **state)
{
	struct netwatch_news news = { .id = NETWATCH_OURS };
	struct nlmsghdr *head;

	(void)state;
	assert_false(netwatch_parse_route(link_message(RTM_NEWLINK, AF_BRIDGE), &news));
	assert_false(netwatch_parse_route(link_message(RTM_NEWADDR, AF_UNSPEC), &news));
	head = link_message(RTM_NEWLINK, AF_UNSPEC);
	head->nlmsg_len = NLMSG_HDRLEN + 4;
	assert_false(netwatch_parse_route(head, &news));
	head->nlmsg_len = NLMSG_HDRLEN;
	assert_false(netwatch_parse_ethtool(head, &news));
}

/* Values of the wrong size are not taken. */
static void test_malformed(void **state)
{
	struct netwatch_news news = { .id = NETWATCH_OURS };
	struct nlmsghdr *head = mnl_nlmsg_put_header(m.buf);
	struct ifinfomsg *info = mnl_nlmsg_put_extra_header(head, sizeof(*info));

	(void)state;
	head->nlmsg_type = RTM_NEWLINK;
	info->ifi_index = 7;
	mnl_attr_put_u8(head, IFLA_MTU, 1);
	mnl_attr_put_u8(head, IFLA_OPERSTATE, 99);
	mnl_attr_put(head, IFLA_IFNAME, 4, "tap0");
	mnl_attr_put(head, IFLA_ADDRESS, 20, "01234567890123456789");
	assert_true(netwatch_parse_route(head, &news));
	assert_int_equal(news.mtu, UNKNOWN);
	assert_string_equal(news.operstate, "");
	assert_string_equal(news.ifname, "");
	assert_int_equal(news.mac[0], 0);
	assert_false(news.is_tap);
}

static struct nlmsghdr *nsid_message(uint16_t type, uint32_t id)
{
	struct nlmsghdr *head = mnl_nlmsg_put_header(m.buf);

	mnl_nlmsg_put_extra_header(head, sizeof(struct rtgenmsg));
	head->nlmsg_type = type;
	mnl_attr_put_u32(head, NETNSA_NSID, id);
	return head;
}

static void test_namespace(void **state)
{
	struct netwatch_news news = { .id = NETWATCH_OURS };

	(void)state;
	assert_true(netwatch_parse_route(nsid_message(RTM_DELNSID, 5), &news));
	assert_int_equal(news.kind, NEWS_NAMESPACE_GONE);
	assert_int_equal(news.id, 5);
	/* a number in another namespace says nothing here */
	news = (struct netwatch_news){ .id = 2 };
	assert_false(netwatch_parse_route(nsid_message(RTM_DELNSID, 5), &news));
	news.id = NETWATCH_OURS;
	assert_false(netwatch_parse_route(nsid_message(RTM_NEWNSID, 5), &news));
}

static struct nlmsghdr *coalesce_message(uint8_t command, bool frames)
{
	struct nlmsghdr *head = mnl_nlmsg_put_header(m.buf);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(head, sizeof(*genl));
	struct nlattr *nest;

	head->nlmsg_type = 21;
	genl->cmd = command;
	nest = mnl_attr_nest_start(head, ETHTOOL_A_COALESCE_HEADER);
	mnl_attr_put_u32(head, ETHTOOL_A_HEADER_DEV_INDEX, 7);
	mnl_attr_put_strz(head, ETHTOOL_A_HEADER_DEV_NAME, "tap0");
	mnl_attr_nest_end(head, nest);
	if (frames)
		mnl_attr_put_u32(head, ETHTOOL_A_COALESCE_RX_MAX_FRAMES, 64);
	return head;
}

static void test_coalesce(void **state)
{
	struct netwatch_news news = { .id = 1 };

	(void)state;
	assert_true(netwatch_parse_ethtool(coalesce_message(ETHTOOL_MSG_COALESCE_NTF, true), &news));
	assert_int_equal(news.kind, NEWS_COALESCE);
	assert_int_equal(news.ifindex, 7);
	assert_int_equal(news.rx_frames, 64);
	assert_false(netwatch_parse_ethtool(coalesce_message(ETHTOOL_MSG_COALESCE_NTF, false), &news));
	assert_false(netwatch_parse_ethtool(coalesce_message(ETHTOOL_MSG_RINGS_NTF, true), &news));
}

/* Two states of one tap; to be freed with state_free(). */
static struct state two_taps(void)
{
	struct state s = sample_full();
	struct vm *vm = &s.vms[0];
	struct tap *t;

	sample_tap(vm, "tap0");
	t = &vm->taps[vm->n_taps - 1];
	t->rx_frames = 64;
	t->netns = 4026532178;
	free(t->master);
	t->master = NULL;
	free(t->alias);
	t->alias = xstrdup(HOSTILE);
	return s;
}

static void test_compare(void **state)
{
	struct state s = two_taps();
	struct event e = { .type = EVENT_TAP_CHANGED };

	(void)state;
	event_compare_taps(&e, &s.vms[0].taps[0], &s.vms[0].taps[0]);
	assert_int_equal(e.n_changes, 0);
	event_compare_taps(&e, &s.vms[0].taps[0], &s.vms[0].taps[1]);
	assert_int_equal(e.n_changes, 4);
	assert_string_equal(e.changes[0].key, "netns");
	assert_string_equal(e.changes[1].key, "rx_frames");
	assert_int_equal(e.changes[1].after, 64);
	assert_string_equal(e.changes[2].key, "master");
	assert_string_equal(e.changes[2].before_text, "br0");
	assert_null(e.changes[2].after_text);
	state_free(&s);
}

static struct event make(const struct state *s, enum event_type type)
{
	const struct vm *vm = &s->vms[0];
	struct event e = { .type = type, .time = 1764504000.5, .pid = vm->pid, .name = vm->name,
			   .devices = vm->devices, .n_devices = vm->n_devices,
			   .taps = vm->taps, .n_taps = vm->n_taps };

	if (type == EVENT_TAP_CHANGED)
		event_compare_taps(&e, &vm->taps[0], &vm->taps[1]);
	if (type == EVENT_RESYNC)
		e = (struct event){ .type = type, .reason = HOSTILE };
	return e;
}

static void test_text(void **state)
{
	struct state s = two_taps();

	(void)state;
	for (int i = 0; i < EVENT_TYPES; i++) {
		struct event e = make(&s, (enum event_type)i);
		_cleanup_free_ char *text = event_text(&e, true);
		size_t len = strlen(text);

		assert_non_null(strstr(text, event_name(e.type)));
		for (size_t k = 0; k + 1 < len; k++)
			assert_true((unsigned char)text[k] >= 0x20 && text[k] != 0x7f);
		assert_int_equal(text[len - 1], '\n');
	}
	state_free(&s);
}

/* For test_schema.sh. */
static int print_all(void)
{
	struct state s = two_taps();

	for (int i = 0; i < EVENT_TYPES; i++) {
		struct event e = make(&s, (enum event_type)i);
		_cleanup_free_ char *text = json_event(&e);

		fputs(text, stdout);
	}
	state_free(&s);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_what_is_of_no_interest),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_namespace),
		cmocka_unit_test(test_coalesce),
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_text),
	};

	if (argc == 2 && strcmp(argv[1], "--print") == 0)
		return print_all();
	return cmocka_run_group_tests_name("monitor", tests, NULL, NULL);
}
