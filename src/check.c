// SPDX-License-Identifier: GPL-2.0-or-later
#include "check.h"

#include <stdarg.h>
#include <string.h>

#include "check_list.h"
#include "procfs.h"
#include "util.h"

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
	size_t major_len = strspn(release, "0123456789");
	const char *rest = release + major_len + (release[major_len] == '.');
	uint64_t major, minor;

	if (release[major_len] != '.' || !proc_number(release, major_len, 0xffff, &major) ||
	    !proc_number(rest, strspn(rest, "0123456789"), 0xff, &minor))
		return 0;
	return (unsigned int)(major << 8 | minor);
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
