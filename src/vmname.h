/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a VM calls itself on its command line: its guest name and uuid. */
#ifndef VMNAME_H
#define VMNAME_H

#include <stdbool.h>
#include <stddef.h>

/*
 * *name and *uuid (lower case) out of a command line as /proc/PID/cmdline has it;
 * NULL where none is given. Free both. The name is kept as bytes, whatever they are.
 */
void vmname_parse(const char *cmdline, size_t len, char **name, char **uuid);

/* Whether @s has the form 8-4-4-4-12 of hexadecimal digits. */
bool vmname_is_uuid(const char *s);

#endif
