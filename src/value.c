// SPDX-License-Identifier: GPL-2.0-or-later
#include "value.h"

#include <stdlib.h>
#include <string.h>

#include "procfs.h"
#include "util.h"

static const struct {
	const char *name;
	unsigned int usecs;	/* in one of it: a power of ten */
} units[] = { { "", 1 }, { "us", 1 }, { "ms", 1000 }, { "s", 1000000 } };

static int usage(struct error *e, const char *text, const char *why)
{
	return error_set(e, STATUS_USAGE, 0, NULL,
			 "'%s' %s; give microseconds: 50, 50us, 1ms, or 0 or off", text, why);
}

/* Digits after the point: @rest is what one unit is in microseconds. False if some are left over. */
static bool fraction(const char *digits, size_t n, uint64_t rest, uint64_t *usecs)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t digit = (uint64_t)(digits[i] - '0');

		if (rest < 10 && digit)
			return false;
		rest /= 10;
		*usecs += digit * rest;
	}
	return true;
}

int value_parse_usecs(const char *text, uint32_t *usecs, struct error *e)
{
	size_t whole = strspn(text, "0123456789"), decimals = 0, i;
	const char *unit = text + whole, *point = NULL;
	uint64_t v;

	if (!strcmp(text, "off")) {
		*usecs = 0;
		return 0;
	}
	if (text[0] == '-' && text[1] >= '0' && text[1] <= '9')
		return usage(e, text, "is negative");
	if (!whole)
		return usage(e, text, "is no time");
	if (*unit == '.') {
		point = unit + 1;
		decimals = strspn(point, "0123456789");
		unit = point + decimals;
		if (!decimals)
			return usage(e, text, "is no time");
	}
	for (i = 0; i < ARRAY_SIZE(units) && strcmp(unit, units[i].name); i++)
		;
	if (i == ARRAY_SIZE(units))
		return usage(e, text, *unit ? "has a unit that is none of us, ms, s"
						   : "is no time");
	if (!proc_number(text, whole, UINT32_MAX, &v))
		return usage(e, text, "is too large");
	v *= units[i].usecs;
	if (!fraction(point, decimals, units[i].usecs, &v))
		return usage(e, text, "is finer than a microsecond");
	if (v > UINT32_MAX)
		return usage(e, text, "is too large");
	*usecs = (uint32_t)v;
	return 0;
}

int value_check_usecs(uint32_t usecs, struct error *e)
{
	if (usecs <= VALUE_USECS_LIMIT)
		return 0;
	return error_set(e, STATUS_USAGE, 0, "set the busy-loop timeout",
			 "%u us is more than 10 ms and would burn a whole CPU (10 to 100 us is what people "
			 "use); --force if you mean it", usecs);
}

int value_parse_interval(const char *text, int64_t *ns, struct error *e)
{
	size_t len = strlen(text);
	bool bare = len && text[len - 1] >= '0' && text[len - 1] <= '9';
	_cleanup_free_ char *with_unit = xasprintf("%s%s", text, bare ? "s" : "");
	uint32_t usecs;

	if (value_parse_usecs(with_unit, &usecs, e) || usecs < 10000)
		return error_set(e, STATUS_USAGE, 0, NULL,
				 "'%s' is no time from 10 ms to 4,294 s; give seconds: 1, 0.5, 500ms", text);
	*ns = usecs * 1000LL;
	return 0;
}

void ranges_add(struct ranges *r, uint32_t first, uint32_t last)
{
	size_t at = 0, end;

	/* [at, end) are those that the new range overlaps or touches: one takes their place. */
	while (at < r->n && (uint64_t)r->items[at].last + 1 < first)
		at++;
	for (end = at; end < r->n && r->items[end].first <= (uint64_t)last + 1; end++) {
		if (r->items[end].first < first)
			first = r->items[end].first;
		if (r->items[end].last > last)
			last = r->items[end].last;
	}
	if (end == at) {
		ARRAY_ADD(r->items, r->n);
		end = r->n - 1;
		memmove(&r->items[at + 1], &r->items[at], (end - at) * sizeof(*r->items));
	} else {
		memmove(&r->items[at + 1], &r->items[end], (r->n - end) * sizeof(*r->items));
		r->n -= end - at - 1;
	}
	r->items[at] = (struct range){ first, last };
}

static int bad_list(struct error *e, const char *text)
{
	return error_set(e, STATUS_USAGE, 0, NULL,
			 "'%s' is no list of numbers; give one like 0-3,7", text);
}

int ranges_parse(const char *text, struct ranges *r, struct error *e)
{
	/* A list is typed by a person or a script for a device or host of thousands at most. */
	enum { MOST = 4096 };
	const char *p = text;

	*r = (struct ranges){ 0 };
	do {
		size_t len = strspn(p, "0123456789");
		uint64_t first, last;

		if (!proc_number(p, len, UINT32_MAX, &first))
			goto bad;
		p += len;
		last = first;
		if (*p == '-') {
			len = strspn(++p, "0123456789");
			if (!proc_number(p, len, UINT32_MAX, &last) || last < first)
				goto bad;
			p += len;
		}
		ranges_add(r, (uint32_t)first, (uint32_t)last);
	} while (*p++ == ',' && r->n < MOST);
	if (!p[-1])
		return 0;
bad:
	ranges_free(r);
	return bad_list(e, text);
}

bool ranges_contain(const struct ranges *r, uint32_t number)
{
	for (size_t i = 0; i < r->n; i++)
		if (number >= r->items[i].first && number <= r->items[i].last)
			return true;
	return false;
}

void ranges_add_all(struct ranges *r, const struct ranges *more)
{
	for (size_t i = 0; i < more->n; i++)
		ranges_add(r, more->items[i].first, more->items[i].last);
}

bool ranges_equal(const struct ranges *a, const struct ranges *b)
{
	return a->n == b->n && (!a->n || !memcmp(a->items, b->items, a->n * sizeof(*a->items)));
}

uint64_t ranges_count(const struct ranges *r)
{
	uint64_t count = 0;

	for (size_t i = 0; i < r->n; i++)
		count += (uint64_t)r->items[i].last - r->items[i].first + 1;
	return count;
}

void ranges_free(struct ranges *r)
{
	free(r->items);
	*r = (struct ranges){ 0 };
}

char *ranges_text(const struct ranges *ranges)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < ranges->n; i++) {
		const struct range *r = &ranges->items[i];
		char *longer = r->first == r->last
			? xasprintf("%s%s%u", text, i ? "," : "", r->first)
			: xasprintf("%s%s%u-%u", text, i ? "," : "", r->first, r->last);

		free(text);
		text = longer;
	}
	return text;
}
