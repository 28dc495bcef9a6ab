// SPDX-License-Identifier: GPL-2.0-or-later
#include "procdir.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "procfs.h"

void procdir_start(struct procdir *d, int fd)
{
	d->fd = fd;
	d->pos = d->len = 0;
}

const char *procdir_next(struct procdir *d, int *number)
{
	for (;;) {
		const struct dirent64 *entry;
		uint64_t n;

		if (d->pos >= d->len) {
			ssize_t got = getdents64(d->fd, d->buf, sizeof(d->buf));

			if (got <= 0) {
				errno = got ? errno : 0;
				return NULL;
			}
			d->pos = 0;
			d->len = (size_t)got;
		}
		entry = (const struct dirent64 *)(const void *)(d->buf + d->pos);
		d->pos += entry->d_reclen;
		if (proc_number(entry->d_name, strlen(entry->d_name), INT_MAX, &n)) {
			*number = (int)n;
			return entry->d_name;
		}
	}
}
