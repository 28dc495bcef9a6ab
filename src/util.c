// SPDX-License-Identifier: GPL-2.0-or-later
#include "util.h"

#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static void *checked(void *p)
{
	if (!p) {
		/* Nothing is stopped or half done here: the owner context allocates nothing. */
		static const char gone[] = "vhostctl: out of memory\n";

		if (write(STDERR_FILENO, gone, sizeof(gone) - 1) < 0)
			_exit(1);
		_exit(1);
	}
	return p;
}

void *xcalloc(size_t n, size_t size)
{
	return checked(calloc(n ? n : 1, size));
}

void *xrealloc(void *ptr, size_t size)
{
	return checked(realloc(ptr, size));
}

void *xrealloc_array(void *ptr, size_t n, size_t size)
{
	/* Grow when n is 0 or a power of two: amortized doubling without a capacity field. */
	if ((n & (n - 1)) == 0)
		ptr = checked(reallocarray(ptr, n ? n * 2 : 1, size));
	memset((char *)ptr + n * size, 0, size);
	return ptr;
}

char *xstrdup(const char *s)
{
	return checked(strdup(s));
}

char *xstrndup(const char *s, size_t len)
{
	return checked(strndup(s, len));
}

char *xvasprintf(const char *fmt, va_list ap)
{
	char *s;
	int len = vasprintf(&s, fmt, ap);

	return checked(len < 0 ? NULL : s);
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = xvasprintf(fmt, ap);
	va_end(ap);
	return s;
}

int64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

void sleep_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}

void allow_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}
