// SPDX-License-Identifier: GPL-2.0-or-later
/* Traffic that a disturbed VM would drop: a ping each 200 ms, a QMP question each 100 ms. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "killer.h"

#define PING_EVERY_US 200000
#define QMP_EVERY_US 100000

struct load load;
static _Atomic bool hold;
static int ping_sock, qmp_sock;
static uint16_t first_seq, next_seq;
static _Atomic bool seen[65536];	/* a duplicate is no second answer */

void load_stop_sending(bool stop)
{
	atomic_store(&hold, stop);
}

/* Only while nothing is under way. */
void load_reset(void)
{
	load.sent = load.received = load.asked = load.answered = 0;
	load.worst_answer_us = 0;
	first_seq = next_seq;
	memset((void *)seen, 0, sizeof(seen));
}

static uint16_t checksum(const void *p, size_t n)
{
	const uint16_t *w = p;
	uint32_t sum = 0;

	for (; n > 1; n -= 2)
		sum += *w++;
	sum = (sum >> 16) + (sum & 0xffff);
	return ~(sum + (sum >> 16));
}

static void send_ping(void)
{
	struct icmphdr h = { .type = ICMP_ECHO, .un.echo = { htons(getpid()), htons(next_seq) } };

	h.checksum = checksum(&h, sizeof(h));
	next_seq++;
	/* A host that cannot send (ENOBUFS, no neighbour) has lost a ping as well. */
	atomic_fetch_add(&load.sent, 1);
	if (send(ping_sock, &h, sizeof(h), 0) < 0 && errno == EBADF)
		die("ping: %s", strerror(errno));
}

static void receive_ping(void)
{
	char buf[256];
	ssize_t n = recv(ping_sock, buf, sizeof(buf), 0);
	const struct iphdr *ip = (void *)buf;
	const struct icmphdr *h;

	if (n < (ssize_t)sizeof(*ip) || n < ip->ihl * 4 + (ssize_t)sizeof(*h))
		return;
	h = (void *)(buf + ip->ihl * 4);
	if (h->type != ICMP_ECHOREPLY || h->un.echo.id != htons(getpid()))
		return;
	if ((uint16_t)(ntohs(h->un.echo.sequence) - first_seq) >= (uint16_t)(next_seq - first_seq))
		return;
	if (!atomic_exchange(&seen[ntohs(h->un.echo.sequence)], true))
		atomic_fetch_add(&load.received, 1);
}

static void *ping_run(void *unused)
{
	int64_t next = now_us();

	for (;;) {
		struct pollfd p = { .fd = ping_sock, .events = POLLIN };
		int64_t left = next - now_us();

		if (left <= 0) {
			if (!hold)
				send_ping();
			next += PING_EVERY_US;
			continue;
		}
		if (poll(&p, 1, left / 1000 + 1) > 0)
			receive_ping();
	}
	return unused;
}

static void start(void *(*run)(void *))
{
	pthread_t t;
	int rc = pthread_create(&t, NULL, run, NULL);

	if (rc)
		die("pthread_create: %s", strerror(rc));
}

void load_ping(const char *host)
{
	struct sockaddr_in a = { .sin_family = AF_INET };

	if (inet_pton(AF_INET, host, &a.sin_addr) != 1)
		die("not an IPv4 address: %s", host);
	ping_sock = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
	if (ping_sock < 0 || connect(ping_sock, (struct sockaddr *)&a, sizeof(a)))
		die("raw socket: %s", strerror(errno));
	start(ping_run);
}

/* Replies are lines; events come between them. */
static bool qmp_reply(char *buf, size_t size)
{
	static char pending[65536];
	static size_t used;

	for (;;) {
		char *nl = memchr(pending, '\n', used);
		ssize_t n;

		if (nl) {
			snprintf(buf, size, "%.*s", (int)(nl - pending), pending);
			used -= nl + 1 - pending;
			memmove(pending, nl + 1, used);
			if (strstr(buf, "\"event\""))
				continue;
			return true;
		}
		n = recv(qmp_sock, pending + used, sizeof(pending) - used, 0);
		if (n <= 0)
			return false;
		used += n;
	}
}

static bool qmp_ask(const char *command, char *buf, size_t size)
{
	return send(qmp_sock, command, strlen(command), MSG_NOSIGNAL) > 0 && qmp_reply(buf, size);
}

static void *qmp_run(void *unused)
{
	char buf[4096];

	for (;;) {
		int64_t start_us = now_us(), took;

		atomic_fetch_add(&load.asked, 1);
		if (!qmp_ask("{\"execute\":\"query-status\"}\n", buf, sizeof(buf)))
			return unused;
		if (strstr(buf, "\"running\": true"))
			atomic_fetch_add(&load.answered, 1);
		took = now_us() - start_us;
		if (took > load.worst_answer_us)
			load.worst_answer_us = took;
		do
			usleep(QMP_EVERY_US);
		while (hold);
	}
}

void load_qmp(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char buf[4096];

	if (strlen(path) >= sizeof(a.sun_path))
		die("path too long: %s", path);
	strcpy(a.sun_path, path);
	qmp_sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (qmp_sock < 0 || connect(qmp_sock, (struct sockaddr *)&a, sizeof(a)))
		die("%s: %s", path, strerror(errno));
	if (!qmp_reply(buf, sizeof(buf)) || !qmp_ask("{\"execute\":\"qmp_capabilities\"}\n", buf, sizeof(buf)))
		die("%s: does not speak QMP", path);
	start(qmp_run);
}
