/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes that a VM's process chose (names, paths, thread names) made fit to
 * print. The model keeps them as they are; each way out uses one of these.
 */
#ifndef ESCAPE_H
#define ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * For a terminal or a log, on one line: "\n", "\t", "\r", "\\" and "\xHH" for
 * control bytes, bytes that are no UTF-8, C1 controls, and the characters that
 * are invisible or reorder a line. Without @utf8 every byte above 0x7e too: in
 * an 8-bit terminal the second half of a UTF-8 letter can be a C1 control.
 */
char *escape_text(const char *s, bool utf8);

/* For JSON: valid UTF-8, each byte that is none replaced by U+FFFD. */
char *escape_utf8(const char *s);
/*
 * For a format that has no escapes for them: what escape_text() would escape is replaced by U+FFFD, too,
 * but for "\n" and "\\", for which it has.
 */
char *escape_label(const char *s);

/* Length of the UTF-8 character at @s (1-4) and its code point; 0 if it is none. */
size_t utf8_decode(const char *s, uint32_t *code);
/* How many bytes the first @columns characters of the escaped @text are, or all if there are no more. */
int utf8_fit(const char *text, int columns);
/* Whether JSON can say it: all of it is UTF-8, as strict as utf8_decode() is. */
bool utf8_valid(const char *s);

#endif
