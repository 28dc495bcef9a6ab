// SPDX-License-Identifier: GPL-2.0-or-later
#include "spread.h"

#include <string.h>

#include "cmdline.h"
#include "procfs.h"
#include "util.h"

/* A worker of the end state, and how many queues it serves on the way there. */
struct slot {
	int64_t id;
	size_t has, keeps, quota;
};

static struct slot *find_slot(struct slot *slots, size_t n, int64_t id)
{
	for (size_t i = 0; i < n; i++)
		if (slots[i].id == id)
			return &slots[i];
	return NULL;
}

/* Those that serve most come first: they get the larger shares, so that less is moved. */
static bool comes_before(const struct slot *a, const struct slot *b)
{
	return a->has > b->has || (a->has == b->has && a->id < b->id);
}

static void sort_slots(struct slot *slots, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && comes_before(&slots[k], &slots[k - 1]); k--) {
			struct slot s = slots[k];

			slots[k] = slots[k - 1];
			slots[k - 1] = s;
		}
}

/* All workers but the default one that serve a request queue now. */
static struct slot *present_slots(const struct queue *queues, size_t n, const struct ranges *requests,
				  size_t *n_slots)
{
	struct slot *slots = NULL;

	*n_slots = 0;
	for (size_t i = 0; i < n; i++) {
		struct slot *s = find_slot(slots, *n_slots, queues[i].worker_id);

		if (queues[i].worker_id == 0 || !ranges_contain(requests, queues[i].index))
			continue;
		if (!s) {
			s = ARRAY_ADD(slots, *n_slots);
			s->id = queues[i].worker_id;
		}
		s->has++;
	}
	sort_slots(slots, *n_slots);
	return slots;
}

static void add_move(struct spread *plan, const struct queue *q, int64_t to)
{
	if (q->worker_id != to)
		*ARRAY_ADD(plan->moves, plan->n_moves) =
			(struct spread_move){ q->index, (uint32_t)q->worker_id, to };
}

static void deal(const struct queue *queues, size_t n, const struct ranges *requests,
		 struct slot *slots, size_t count, struct spread *plan)
{
	_cleanup_free_ bool *kept = xcalloc(n, sizeof(*kept));
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		struct slot *s = find_slot(slots, count, queues[i].worker_id);

		if (s && s->keeps < s->quota && ranges_contain(requests, queues[i].index)) {
			s->keeps++;
			kept[i] = true;
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (!ranges_contain(requests, queues[i].index)) {
			add_move(plan, &queues[i], 0);
		} else if (!kept[i]) {
			while (slots[at].keeps == slots[at].quota)
				at++;
			slots[at].keeps++;
			add_move(plan, &queues[i], slots[at].id);
		}
	}
}

/* Workers that serve queues now, the default one aside, and none in the end state. */
static void find_unneeded(const struct queue *queues, size_t n, struct slot *slots, size_t count,
			  struct spread *plan)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t id = (uint32_t)queues[i].worker_id;
		bool known = id == 0 || find_slot(slots, count, id);

		for (size_t k = 0; k < plan->n_unneeded; k++)
			known |= plan->unneeded[k] == id;
		if (!known)
			*ARRAY_ADD(plan->unneeded, plan->n_unneeded) = id;
	}
}

void spread_plan(const struct queue *queues, size_t n, const struct ranges *requests,
		 unsigned int count, struct spread *plan)
{
	size_t total = ranges_count(requests), have;
	struct slot *slots = present_slots(queues, n, requests, &have);

	*plan = (struct spread){ 0 };
	if (count == 1) {
		free(slots);
		have = 0;
		slots = NULL;
		*ARRAY_ADD(slots, have) = (struct slot){ .id = 0 };
	}
	while (have < count)
		*ARRAY_ADD(slots, have) = (struct slot){ .id = -1 - (int64_t)plan->n_new++ };
	for (size_t i = 0; i < count; i++)
		slots[i].quota = total / count + (i < total % count);
	deal(queues, n, requests, slots, count, plan);
	find_unneeded(queues, n, slots, count, plan);
	free(slots);
}

void spread_free(struct spread *plan)
{
	free(plan->moves);
	free(plan->unneeded);
	*plan = (struct spread){ 0 };
}

struct scsi_option {
	bool is_scsi;
	int64_t queues, fd;	/* -1: not given */
};

static int64_t number(const char *text)
{
	uint64_t n;

	return proc_number(text, strlen(text), INT32_MAX, &n) ? (int64_t)n : -1;
}

static struct scsi_option parse_device(const char *value)
{
	struct keyvals kv = keyvals_start(value, "driver", true);
	struct scsi_option o = { .queues = -1, .fd = -1 };
	char *key, *val;

	while (keyvals_next(&kv, &key, &val)) {
		/* vhost-scsi-pci and its kin, -ccw; vhost-user-scsi is another thing. */
		if (!strcmp(key, "driver"))
			o.is_scsi = !strncmp(val, "vhost-scsi", 10);
		else if (!strcmp(key, "num_queues"))
			o.queues = number(val);
		else if (!strcmp(key, "vhostfd"))
			o.fd = number(val);
		free(key);
		free(val);
	}
	return o;
}

unsigned int spread_cmdline_queues(const char *cmdline, size_t len, int fd, bool sole)
{
	const char *option, *value;
	int64_t by_fd = -1, any = -1;
	size_t pos = 0, n = 0;

	if (cmdline_vmm(cmdline, len) != VMM_QEMU)
		return 0;
	while (cmdline_next_option(cmdline, len, &pos, &option, &value)) {
		struct scsi_option o;

		if (!value)
			continue;
		/* These can change what -device says, from afar. */
		if (!strcmp(option, "set") || !strcmp(option, "readconfig") ||
		    (!strcmp(option, "global") && strstr(value, "scsi")))
			return 0;
		if (strcmp(option, "device") != 0)
			continue;
		o = parse_device(value);
		if (!o.is_scsi)
			continue;
		n++;
		any = o.fd < 0 || o.fd == fd ? o.queues : -1;
		if (o.fd == fd)
			by_fd = o.queues;
	}
	if (by_fd > 0)
		return (unsigned int)by_fd;
	return n == 1 && sole && any > 0 ? (unsigned int)any : 0;
}
