// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "unit.h"
#include "util.h"

static const struct {
	const char *in, *utf8, *ascii;
} cases[] = {
	{ "", "", "" },
	{ "vm1", "vm1", "vm1" },
	{ "a b\n\t\r\\", "a b\\n\\t\\r\\\\", "a b\\n\\t\\r\\\\" },
	{ "\x1b[2J\x07", "\\x1b[2J\\x07", "\\x1b[2J\\x07" },
	{ "\x7f", "\\x7f", "\\x7f" },
	/* letters of 2, 3 and 4 bytes */
	{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa7", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa7",
	  "\\xc3\\xa9\\xe2\\x82\\xac\\xf0\\x9f\\x90\\xa7" },
	/* CSI as a C1 control, as a character and as a bare byte */
	{ "\xc2\x9b" "2J", "\\xc2\\x9b2J", "\\xc2\\x9b2J" },
	{ "\x9b" "2J", "\\x9b2J", "\\x9b2J" },
	/* bidi override, isolate, zero width space, line separator, soft hyphen, BOM, tag */
	{ "\xe2\x80\xae", "\\xe2\\x80\\xae", "\\xe2\\x80\\xae" },
	{ "\xe2\x81\xa6", "\\xe2\\x81\\xa6", "\\xe2\\x81\\xa6" },
	{ "\xe2\x80\x8b", "\\xe2\\x80\\x8b", "\\xe2\\x80\\x8b" },
	{ "\xe2\x80\xa8", "\\xe2\\x80\\xa8", "\\xe2\\x80\\xa8" },
	{ "\xc2\xad", "\\xc2\\xad", "\\xc2\\xad" },
	{ "\xef\xbb\xbf", "\\xef\\xbb\\xbf", "\\xef\\xbb\\xbf" },
	{ "\xf3\xa0\x80\x81", "\\xf3\\xa0\\x80\\x81", "\\xf3\\xa0\\x80\\x81" },
	/* overlong, surrogate, above U+10FFFF, cut short, stray continuation */
	{ "\xc0\xaf", "\\xc0\\xaf", "\\xc0\\xaf" },
	{ "\xe0\x80\xaf", "\\xe0\\x80\\xaf", "\\xe0\\x80\\xaf" },
	{ "\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80" },
	{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "\\xf4\\x90\\x80\\x80" },
	{ "\xe2\x82", "\\xe2\\x82", "\\xe2\\x82" },
	{ "\x80x", "\\x80x", "\\x80x" },
	{ "\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80", "\\xf8\\x88\\x80\\x80\\x80" },
};

static void test_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *utf8 = escape_text(cases[i].in, true);
		_cleanup_free_ char *ascii = escape_text(cases[i].in, false);

		assert_string_equal(utf8, cases[i].utf8);
		assert_string_equal(ascii, cases[i].ascii);
	}
}

/* Every code point, encoded here by hand, is decoded; surrogates are not characters. */
static void test_every_code_point(void **state)
{
	(void)state;
	for (uint32_t c = 1; c <= 0x10ffff; c++) {
		char s[5] = { 0 };
		uint32_t code = 0;
		size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

		for (size_t i = 0; i < len; i++)
			s[i] = (char)((i ? 0x80 : lead[len]) |
				      (c >> (6 * (len - 1 - i)) & (i ? 0x3f : 0x7f)));
		if (c >= 0xd800 && c <= 0xdfff) {
			assert_int_equal(utf8_decode(s, &code), 0);
			continue;
		}
		assert_int_equal(utf8_decode(s, &code), len);
		assert_int_equal(code, c);
	}
}

/* Whatever two bytes come, the result is valid, and what was valid stays. */
static void test_every_pair_of_bytes(void **state)
{
	(void)state;
	for (unsigned int pair = 0; pair < 0x10000; pair++) {
		char s[3] = { (char)(pair >> 8), (char)pair, 0 };
		_cleanup_free_ char *valid = escape_utf8(s), *again = escape_utf8(valid);
		_cleanup_free_ char *text = escape_text(s, true), *label = escape_label(s);

		assert_string_equal(valid, again);
		if (!strstr(valid, "\xef\xbf\xbd"))
			assert_string_equal(valid, s);
		for (const char *p = text; *p; p++)
			assert_true((unsigned char)*p >= ' ' && *p != 0x7f);
		for (const char *p = label; *p; p++)
			assert_true(*p == '\n' || ((unsigned char)*p >= ' ' && *p != 0x7f));
	}
}

static void test_label(void **state)
{
	_cleanup_free_ char *plain = escape_label("a \xc3\xa9\\\n"), *hostile = escape_label("\x1b[2J\xc2\x9b\xff\r");

	(void)state;
	assert_string_equal(plain, "a \xc3\xa9\\\n");
	assert_string_equal(hostile, "\xef\xbf\xbd[2J\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

static void test_fit(void **state)
{
	(void)state;
	assert_int_equal(utf8_fit("abc", 2), 2);
	assert_int_equal(utf8_fit("abc", 9), 3);
	assert_int_equal(utf8_fit("\xc3\xa9t\xc3\xa9", 1), 2);
	assert_int_equal(utf8_fit("\xc3\xa9t\xc3\xa9", 3), 5);
	assert_int_equal(utf8_fit("", 1), 0);
	assert_int_equal(utf8_fit("a", 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_every_code_point),
		cmocka_unit_test(test_every_pair_of_bytes),
		cmocka_unit_test(test_label),
		cmocka_unit_test(test_fit),
	};

	return cmocka_run_group_tests_name("escape", tests, NULL, NULL);
}
