/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values as people type them: times with units, lists of numbers. */
#ifndef VALUE_H
#define VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

/* Microseconds; above this a busy-loop timeout wants --force: it burns a CPU for as long. */
#define VALUE_USECS_LIMIT 10000

/*
 * "50", "50us", "1ms", "1.5ms", "2s", "0" or "off" as microseconds. A fraction is
 * taken when it comes to whole microseconds. STATUS_USAGE for anything else.
 */
int value_parse_usecs(const char *text, uint32_t *usecs, struct error *e);

/* STATUS_USAGE if a busy-loop timeout of @usecs is more than who did not say --force can mean. */
int value_check_usecs(uint32_t usecs, struct error *e);

/* A time as value_parse_usecs() takes it, but of seconds if it has no unit; from 10 ms to 4,294 s. */
int value_parse_interval(const char *text, int64_t *ns, struct error *e);

/* Numbers @first to @last, both included. */
struct range {
	uint32_t first, last;
};

/* Kept as ranges, in order and without overlap, so that "0-4294967295" takes no memory. */
struct ranges {
	struct range *items;
	size_t n;
};

/* "0-3,7" into @r, to be freed with ranges_free(). STATUS_USAGE when it is no such list. */
int ranges_parse(const char *text, struct ranges *r, struct error *e);
void ranges_add(struct ranges *r, uint32_t first, uint32_t last);
void ranges_add_all(struct ranges *r, const struct ranges *more);
bool ranges_contain(const struct ranges *r, uint32_t number);
bool ranges_equal(const struct ranges *a, const struct ranges *b);
uint64_t ranges_count(const struct ranges *r);
/* "0-3,7", to be freed. */
char *ranges_text(const struct ranges *ranges);
void ranges_free(struct ranges *r);

#endif
