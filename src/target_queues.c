// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "procfs.h"
#include "target_parts.h"
#include "util.h"

/* What the queues of a kind are called, for messages. */
static const char *queue_names(enum device_kind kind)
{
	static const char *const names[DEVICE_KINDS] = {
		[DEVICE_NET] = "0 1 (rx tx)",
		[DEVICE_SCSI] = "0 1 2 ... (ctl event req0 ...)",
		[DEVICE_VSOCK] = "0 1 (rx tx)",
		[DEVICE_VDPA] = "0 1 2 ...",
	};

	return names[kind];
}

static int no_queue(struct error *e, const struct vm *vm, const struct device *d, const char *queue)
{
	_cleanup_free_ char *text = target_name(vm, d, NULL);

	error_set(e, STATUS_NOT_FOUND, 0, NULL, "no queue %s in %s; it has %s", queue, text,
		  queue_names(d->kind));
	return error_target(e, "%s/%s", text, queue);
}

/* Index of the queue called @name. The names are state.h's; "reqN" is counted, not searched. */
static bool queue_named(enum device_kind kind, const char *name, uint32_t *index)
{
	char known[16];
	uint64_t n;

	for (*index = 0; *index < 2; (*index)++) {
		queue_name(kind, *index, known);
		if (known[0] && !strcmp(known, name))
			return true;
	}
	if (kind != DEVICE_SCSI || strncmp(name, "req", 3) ||
	    !proc_number(name + 3, strlen(name + 3), UINT32_MAX - 2, &n))
		return false;
	*index = (uint32_t)n + 2;
	return true;
}

static bool is_queue_name(const char *word)
{
	static const char *const words[] = { "rx", "tx", "ctl", "event" };
	size_t digits;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(word, words[i]))
			return true;
	digits = strncmp(word, "req", 3) ? 0 : strspn(word + 3, "0123456789");
	return digits && !word[3 + digits];
}

static int add_queue(const struct vm *vm, const struct device *d, const char *word,
		     struct ranges *queues, struct error *e)
{
	_cleanup_free_ char *text = NULL;
	struct ranges some;
	uint32_t index;

	if (is_queue_name(word)) {
		if (!queue_named(d->kind, word, &index))
			return no_queue(e, vm, d, word);
		ranges_add(queues, index, index);
		return 0;
	}
	if (ranges_parse(word, &some, e)) {
		text = target_name(vm, d, NULL);
		error_set(e, STATUS_USAGE, 0, NULL,
			  "'%s' is no queue; give an index, a name, or a list like 0-3,7", word);
		return error_target(e, "%s/%s", text, word);
	}
	ranges_add_all(queues, &some);
	ranges_free(&some);
	return 0;
}

/* vhost-net and vhost-vsock have two queues, always. */
static int check_two_queues(const struct vm *vm, const struct device *d, const struct ranges *queues,
			    struct error *e)
{
	char index[16];
	uint32_t last = queues->n ? queues->items[queues->n - 1].last : 0;

	if ((d->kind != DEVICE_NET && d->kind != DEVICE_VSOCK) || last < 2)
		return 0;
	snprintf(index, sizeof(index), "%u", last);
	return no_queue(e, vm, d, index);
}

int target_parse_queues(const struct vm *vm, const struct device *d, const char *text,
			struct ranges *queues, struct error *e)
{
	_cleanup_free_ char *copy = xstrdup(text);
	char *p = copy, *word;

	while ((word = strsep(&p, ","))) {
		if (add_queue(vm, d, word, queues, e) || queues->n > 4096) {
			ranges_free(queues);
			return e->status ? -1 : target_usage(e, "", "too many queues");
		}
	}
	if (check_two_queues(vm, d, queues, e)) {
		ranges_free(queues);
		return -1;
	}
	return 0;
}

bool target_has_queue(const struct selected *s, unsigned int index)
{
	return !s->queues.n || ranges_contain(&s->queues, index);
}

int target_check_queues(const struct selected *s, struct error *e)
{
	const struct device *d = s->device;
	char index[16];

	if (!d || !d->queues_known || !s->queues.n ||
	    s->queues.items[s->queues.n - 1].last < d->n_queues)
		return 0;
	snprintf(index, sizeof(index), "%u", s->queues.items[s->queues.n - 1].last);
	if (!d->n_queues)
		return no_queue(e, s->vm, d, index);

	_cleanup_free_ char *text = target_name(s->vm, d, NULL);

	error_set(e, STATUS_NOT_FOUND, 0, NULL, "no queue %s in %s; its last one is %zu", index, text,
		  d->n_queues - 1);
	return error_target(e, "%s/%s", text, index);
}
