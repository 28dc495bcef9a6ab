// SPDX-License-Identifier: GPL-2.0-or-later
#include "escape.h"

#include <string.h>

#include "util.h"

size_t utf8_decode(const char *s, uint32_t *code)
{
	/* Smallest code point that needs so many bytes: a shorter one is overlong. */
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *b = (const unsigned char *)s;
	size_t len;

	if (b[0] < 0x80) {
		*code = b[0];
		return 1;
	}
	if (b[0] < 0xc0 || b[0] > 0xf7)
		return 0;
	len = b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : 4;
	*code = b[0] & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		if ((b[i] & 0xc0) != 0x80) /* also the terminating NUL */
			return 0;
		*code = *code << 6 | (b[i] & 0x3f);
	}
	if (*code < least[len] || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return len;
}

int utf8_fit(const char *text, int columns)
{
	const char *at = text;
	uint32_t code;

	for (int i = 0; i < columns && *at; i++)
		at += utf8_decode(at, &code);
	return (int)(at - text);
}

bool utf8_valid(const char *s)
{
	uint32_t code;

	while (*s) {
		size_t len = utf8_decode(s, &code);

		if (!len)
			return false;
		s += len;
	}
	return true;
}

/* Characters that a reader cannot see, or that reorder what he sees (Unicode: Cc, Cf, Zl, Zp). */
static bool is_deceptive(uint32_t c)
{
	static const struct { uint32_t first, last; } ranges[] = {
		{ 0x00, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x061c, 0x061c },
		{ 0x180e, 0x180e }, { 0x200b, 0x200f }, { 0x2028, 0x202e },
		{ 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
		{ 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

static char *put_escaped(char *out, unsigned char byte)
{
	static const char hex[] = "0123456789abcdef";
	static const char plain[] = "\n\t\r\\", letters[] = "ntr\\";
	const char *at = byte ? strchr(plain, byte) : NULL;

	*out++ = '\\';
	if (at) {
		*out++ = letters[at - plain];
		return out;
	}
	*out++ = 'x';
	*out++ = hex[byte >> 4];
	*out++ = hex[byte & 15];
	return out;
}

char *escape_text(const char *s, bool utf8)
{
	char *text = xcalloc(strlen(s) * 4 + 1, 1), *out = text;

	while (*s) {
		uint32_t code = 0;
		size_t len = utf8_decode(s, &code);
		bool safe = len && code != '\\' && !is_deceptive(code) && (utf8 || code < 0x80);

		for (size_t i = 0; i < (len ? len : 1); i++, s++) {
			if (safe)
				*out++ = *s;
			else
				out = put_escaped(out, (unsigned char)*s);
		}
	}
	return text;
}

static char *valid_text(const char *s, bool show)
{
	static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
	char *text = xcalloc(strlen(s) * 3 + 1, 1), *out = text;

	while (*s) {
		uint32_t code = 0;
		size_t len = utf8_decode(s, &code);
		bool fit = len && !(show && code != '\n' && is_deceptive(code));

		memcpy(out, fit ? s : replacement, fit ? len : 3);
		out += fit ? len : 3;
		s += len ? len : 1;
	}
	return text;
}

char *escape_utf8(const char *s)
{
	return valid_text(s, false);
}

char *escape_label(const char *s)
{
	return valid_text(s, true);
}
