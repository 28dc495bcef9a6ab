/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UTIL_H
#define UTIL_H

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NONNULL_RESULT __attribute__((returns_nonnull))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(const int *fd)
{
	if (*fd >= 0) {
		int saved = errno;

		close(*fd);
		errno = saved;
	}
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void cleanup_closedir(DIR **d)
{
	if (*d)
		closedir(*d);
}

#define _cleanup_free_ __attribute__((cleanup(cleanup_free)))
#define _cleanup_close_ __attribute__((cleanup(cleanup_close)))
#define _cleanup_fclose_ __attribute__((cleanup(cleanup_fclose)))
#define _cleanup_closedir_ __attribute__((cleanup(cleanup_closedir)))

/* Give away what a _cleanup_ variable holds. */
#define STEAL_PTR(p) ({ __typeof__(p) stolen_ = (p); (p) = NULL; stolen_; })
#define STEAL_FD(fd) ({ int stolen_ = (fd); (fd) = -1; stolen_; })

/*
 * Room for one more element in an array {ptr, n} that grows by doubling.
 * Memory is not a condition worth carrying through every signature of a tool
 * this size: when it is gone the program says so and ends (see util.c).
 */
void *xrealloc_array(void *ptr, size_t n, size_t size) NONNULL_RESULT;
void *xrealloc(void *ptr, size_t size) NONNULL_RESULT;
void *xcalloc(size_t n, size_t size) NONNULL_RESULT;
char *xstrdup(const char *s) NONNULL_RESULT;
char *xstrndup(const char *s, size_t len) NONNULL_RESULT;
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2))) NONNULL_RESULT;
char *xvasprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0))) NONNULL_RESULT;

/* As many open files as may be: the soft limit is a default for programs that use select(). */
void allow_descriptors(void);

int64_t clock_ns(void);		/* CLOCK_MONOTONIC */
/* All of it, whatever signals come. */
void sleep_ms(long ms);

/* Append a zeroed element and return a pointer to it; valid until the next append. */
#define ARRAY_ADD(ptr, n)                                                     \
	({                                                                    \
		(ptr) = xrealloc_array((ptr), (n), sizeof(*(ptr)));           \
		&(ptr)[(n)++];                                                \
	})

#endif
