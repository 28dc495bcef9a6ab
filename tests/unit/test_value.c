// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"
#include "value.h"

static void times(void **state)
{
	static const struct { const char *text; uint32_t usecs; } good[] = {
		{ "0", 0 }, { "off", 0 }, { "50", 50 }, { "50us", 50 }, { "1ms", 1000 },
		{ "1.5ms", 1500 }, { "0.050ms", 50 }, { "0.0500ms", 50 }, { "2s", 2000000 },
		{ "0.000001s", 1 }, { "1.0", 1 }, { "007", 7 }, { "10001", 10001 },
		{ "4294967295", UINT32_MAX }, { "4294.967295s", UINT32_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct error e = ERROR_INIT;
		uint32_t usecs = 99;

		assert_int_equal(value_parse_usecs(good[i].text, &usecs, &e), 0);
		assert_int_equal(usecs, good[i].usecs);
	}
}

static void no_times(void **state)
{
	static const struct { const char *text, *why; } bad[] = {
		{ "", "is no time" }, { "abc", "is no time" }, { "-1", "is negative" },
		{ "-x", "is no time" }, { "+5", "is no time" }, { " 5", "is no time" },
		{ "5 ", "unit" }, { "5ns", "unit" }, { "5usx", "unit" }, { "1.ms", "is no time" },
		{ ".5ms", "is no time" }, { "0x10", "unit" }, { "OFF", "is no time" },
		{ "0.5us", "finer" }, { "1.00005ms", "finer" }, { "0.5", "finer" },
		{ "4294967296", "too large" }, { "4294967295.1ms", "too large" },
		{ "4294.967296s", "too large" }, { "99999999999999999999999", "too large" },
		{ "5s5", "unit" }, { "1e3", "unit" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error e = ERROR_INIT;
		uint32_t usecs;

		assert_int_equal(value_parse_usecs(bad[i].text, &usecs, &e), -1);
		assert_int_equal(e.status, STATUS_USAGE);
		if (!strstr(e.message, bad[i].why))
			fail_msg("%s: %s", bad[i].text, e.message);
	}
}

static void assert_ranges(const char *text, const char *want)
{
	struct error e = ERROR_INIT;
	struct ranges r;
	char got[256] = "";

	if (ranges_parse(text, &r, &e)) {
		assert_int_equal(e.status, STATUS_USAGE);
		assert_null(r.items);
		assert_string_equal("bad", want);
		return;
	}
	for (size_t i = 0; i < r.n; i++)
		sprintf(got + strlen(got), "%s%u-%u", i ? " " : "", r.items[i].first, r.items[i].last);
	assert_string_equal(got, want);
	ranges_free(&r);
}

static void lists(void **state)
{
	(void)state;
	assert_ranges("0", "0-0");
	assert_ranges("0-3,7", "0-3 7-7");
	assert_ranges("7,0-3", "0-3 7-7");
	assert_ranges("3,1,2", "1-3");
	assert_ranges("0,2,4,6,8,1-7", "0-8");
	assert_ranges("9,0,5,5,4-6", "0-0 4-6 9-9");
	assert_ranges("1,3,5,7,9,2-4,11,13,6,15,17", "1-7 9-9 11-11 13-13 15-15 17-17");
	assert_ranges("0-4294967295", "0-4294967295");
	assert_ranges("5,0-4294967295,4294967295", "0-4294967295");
	assert_ranges("", "bad");
	assert_ranges(",", "bad");
	assert_ranges("1,", "bad");
	assert_ranges("1,,2", "bad");
	assert_ranges("3-1", "bad");
	assert_ranges("1-", "bad");
	assert_ranges("-1", "bad");
	assert_ranges("1-2-3", "bad");
	assert_ranges("4294967296", "bad");
	assert_ranges("0-99999999999", "bad");
	assert_ranges("1 2", "bad");
	assert_ranges("all", "bad");
}

static void counting(void **state)
{
	struct error e = ERROR_INIT;
	struct ranges r;

	(void)state;
	assert_int_equal(ranges_parse("0-4294967295", &r, &e), 0);
	assert_true(ranges_count(&r) == 1ull << 32);
	assert_true(ranges_contain(&r, UINT32_MAX) && ranges_contain(&r, 0));
	ranges_free(&r);
	assert_int_equal(ranges_parse("0-3,7", &r, &e), 0);
	assert_true(ranges_count(&r) == 5);
	assert_true(ranges_contain(&r, 3) && !ranges_contain(&r, 4) && ranges_contain(&r, 7));
	ranges_free(&r);
}

static void endless_list(void **state)
{
	char *text = malloc(200001), *p = text;
	struct error e = ERROR_INIT;
	struct ranges r;

	(void)state;
	for (unsigned int i = 0; p < text + 199980; i += 2)
		p += sprintf(p, "%s%u", i ? "," : "", i);
	assert_int_equal(ranges_parse(text, &r, &e), -1);
	assert_int_equal(e.status, STATUS_USAGE);
	free(text);
}

static void limit(void **state)
{
	struct error e = ERROR_INIT;

	(void)state;
	assert_int_equal(value_check_usecs(10000, &e), 0);
	assert_int_equal(value_check_usecs(10001, &e), -1);
	assert_int_equal(e.status, STATUS_USAGE);
	assert_non_null(strstr(e.message, "--force"));
}

static void adding_and_comparing(void **state)
{
	struct error e = ERROR_INIT;
	struct ranges a = { 0 }, b = { 0 }, more;

	(void)state;
	assert_true(ranges_equal(&a, &b));
	assert_int_equal(ranges_parse("0-2,8", &more, &e), 0);
	ranges_add_all(&a, &more);
	assert_true(ranges_equal(&a, &more));
	assert_false(ranges_equal(&a, &b));
	ranges_add_all(&a, &b);
	assert_true(ranges_equal(&a, &more));
	/* However they came to be: what touches is one. */
	ranges_add(&b, 8, 8);
	ranges_add(&b, 2, 2);
	ranges_add(&b, 0, 1);
	assert_true(ranges_equal(&a, &b));
	ranges_add(&b, 9, 9);
	assert_false(ranges_equal(&a, &b));
	ranges_free(&a);
	ranges_free(&b);
	ranges_free(&more);
}

static void test_ranges_text(void **state)
{
	struct error e = ERROR_INIT;
	struct ranges r;

	(void)state;
	assert_int_equal(ranges_parse("8,0-2,1,3", &r, &e), 0);
	_cleanup_free_ char *text = ranges_text(&r);

	assert_string_equal(text, "0-3,8");
	ranges_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times),    cmocka_unit_test(no_times),	    cmocka_unit_test(lists),
		cmocka_unit_test(counting), cmocka_unit_test(endless_list),
		cmocka_unit_test(limit),    cmocka_unit_test(adding_and_comparing), cmocka_unit_test(test_ranges_text),
	};

	return cmocka_run_group_tests_name("value", tests, NULL, NULL);
}
