// SPDX-License-Identifier: GPL-2.0-or-later
#include "check.h"

#include <stdarg.h>
#include <string.h>

#include "util.h"

#include "check_list.h"

void check_add(struct check_list *list, const char *name, int ok, const char *fmt, ...)
{
	struct check_item *item = ARRAY_ADD(list->items, list->n);
	va_list ap;

	item->name = name;
	item->ok = ok;
	va_start(ap, fmt);
	vsnprintf(item->reason, sizeof(item->reason), fmt, ap);
	va_end(ap);
}

unsigned int check_release(const char *release)
{
	unsigned int major, minor;

	if (sscanf(release, "%u.%u", &major, &minor) != 2 || major > 0xffff || minor > 0xff)
		return 0;
	return major << 8 | minor;
}

void check_free(struct check *c)
{
	for (size_t i = 0; i < c->n_vms; i++) {
		free(c->vms[i].name);
		free(c->vms[i].list.items);
	}
	free(c->vms);
	free(c->host.items);
	memset(c, 0, sizeof(*c));
}
