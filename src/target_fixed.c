// SPDX-License-Identifier: GPL-2.0-or-later
#include "target.h"
#include "util.h"

static char *queues_text(const struct ranges *r)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < r->n; i++) {
		char *longer = xasprintf("%s%s%u-%u", text, i ? "," : "/", r->items[i].first,
					 r->items[i].last);

		free(text);
		text = longer;
	}
	return text;
}

char *target_fixed(const struct selected *item)
{
	_cleanup_free_ char *queues = queues_text(&item->queues);

	return item->device ? xasprintf("%d/fd%d%s", (int)item->vm->pid, item->device->fd, queues)
			    : xasprintf("%d", (int)item->vm->pid);
}
