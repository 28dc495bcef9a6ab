// SPDX-License-Identifier: GPL-2.0-or-later
#include "vmname.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cmdline.h"
#include "util.h"

bool vmname_is_uuid(const char *s)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	size_t i;

	for (i = 0; s[i] && form[i]; i++)
		if (form[i] == 'x' ? !isxdigit((unsigned char)s[i]) : s[i] != '-')
			return false;
	return !s[i] && !form[i];
}

/* An empty name is no name. */
static void replace(char **old, char *new)
{
	free(*old);
	*old = new && *new ? new : NULL;
	if (!*old)
		free(new);
}

/*
 * QEMU merges all its -name options: the last guest= of all wins, and one that has
 * only debug-threads=on leaves the name alone. -name takes no JSON: a name that
 * looks like JSON is the name.
 */
static void qemu_name(const char *value, char **name)
{
	struct keyvals kv = keyvals_start(value, "guest", false);
	char *key, *val;

	while (keyvals_next(&kv, &key, &val)) {
		if (!strcmp(key, "guest"))
			replace(name, val);
		else
			free(val);
		free(key);
	}
}

/* -smbios type=1,uuid=X (Proxmox) sets the same uuid as -uuid does; the last one wins. */
static void smbios_uuid(const char *value, char **uuid)
{
	struct keyvals kv = keyvals_start(value, NULL, false);
	_cleanup_free_ char *found = NULL;
	bool type1 = false;
	char *key, *val;

	while (keyvals_next(&kv, &key, &val)) {
		if (!strcmp(key, "type"))
			type1 = !strcmp(val, "1");
		if (!strcmp(key, "uuid") && vmname_is_uuid(val))
			replace(&found, STEAL_PTR(val));
		free(val);
		free(key);
	}
	if (type1 && found)
		replace(uuid, STEAL_PTR(found));
}

static void parse_qemu(const char *cmdline, size_t len, char **name, char **uuid)
{
	const char *option, *value;
	size_t pos = 0;

	while (cmdline_next_option(cmdline, len, &pos, &option, &value)) {
		if (value && !strcmp(option, "name"))
			qemu_name(value, name);
		else if (value && !strcmp(option, "uuid") && vmname_is_uuid(value))
			replace(uuid, xstrdup(value));
		else if (value && !strcmp(option, "smbios"))
			smbios_uuid(value, uuid);
	}
	for (char *c = *uuid; c && *c; c++)
		*c = (char)tolower((unsigned char)*c);
}

/*
 * kvmtool and crosvm take "--name X" and "--name=X" (kvmtool's -n is --network), and
 * VMMs not known by name are taken to do so; "-name X" as QEMU does, too. The guest's
 * kernel command line is the one value that may look like any option.
 */
static void parse_other(const char *cmdline, size_t len, char **name)
{
	size_t pos = 0;
	const char *arg = cmdline_next(cmdline, len, &pos);

	while (arg && (arg = cmdline_next(cmdline, len, &pos)) && strcmp(arg, "--")) {
		if (!strcmp(arg, "-p") || !strcmp(arg, "--params")) {
			arg = cmdline_next(cmdline, len, &pos);
		} else if (!strncmp(arg, "--name=", 7)) {
			replace(name, xstrdup(arg + 7));
		} else if (!strcmp(arg, "--name")) {
			arg = cmdline_next(cmdline, len, &pos);
			replace(name, arg ? xstrdup(arg) : NULL);
		} else if (!strcmp(arg, "-name")) {
			arg = cmdline_next(cmdline, len, &pos);
			if (arg)
				qemu_name(arg, name);
		}
	}
}

void vmname_parse(const char *cmdline, size_t len, char **name, char **uuid)
{
	*name = *uuid = NULL;
	if (cmdline_vmm(cmdline, len) == VMM_QEMU)
		parse_qemu(cmdline, len, name, uuid);
	else
		parse_other(cmdline, len, name);
}
