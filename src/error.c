// SPDX-License-Identifier: GPL-2.0-or-later
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What does not fit ends in dots, so that nobody takes it for the whole. */
__attribute__((format(printf, 3, 0)))
static void fill(char *to, size_t size, const char *fmt, va_list ap)
{
	static const char dots[] = "...";

	if (vsnprintf(to, size, fmt, ap) >= (int)size && size >= sizeof(dots))
		memcpy(to + size - sizeof(dots), dots, sizeof(dots));
}

int (error_set)(struct error *e, enum status status, int errnum, const char *operation,
	      const char *fmt, ...)
{
	va_list ap;

	e->status = status;
	e->errnum = errnum;
	e->target[0] = '\0';
	snprintf(e->operation, sizeof(e->operation), "%s", operation ? operation : "");
	va_start(ap, fmt);
	fill(e->message, sizeof(e->message), fmt, ap);
	va_end(ap);
	return -1;
}

int (error_errno)(struct error *e, int errnum, const char *operation, const char *hint)
{
	return error_set(e, error_status(errnum), errnum, operation, "%s%s%s", strerror(errnum),
			 hint ? "; " : "", hint ? hint : "");
}

int (error_append)(struct error *e, enum status status, const char *fmt, ...)
{
	size_t len = strlen(e->message);
	va_list ap;

	e->status = status;
	va_start(ap, fmt);
	fill(e->message + len, sizeof(e->message) - len, fmt, ap);
	va_end(ap);
	return -1;
}

int (error_target)(struct error *e, const char *fmt, ...)
{
	va_list ap;

	if (e->target[0])
		return -1;
	va_start(ap, fmt);
	fill(e->target, sizeof(e->target), fmt, ap);
	va_end(ap);
	return -1;
}

enum status error_status(int errnum)
{
	switch (errnum) {
	case 0:
		return STATUS_OK;
	case EPERM:
	case EACCES:
		return STATUS_DENIED;
	case ENOTTY:
	case EOPNOTSUPP:
	case ENOSYS:
		return STATUS_UNSUPPORTED;
	case ENOENT:
	case ESRCH:
		return STATUS_NOT_FOUND;
	default:
		return STATUS_FAILED;
	}
}

const char *error_name(int errnum)
{
	return errnum > 0 ? strerrorname_np(errnum) : NULL;
}
