// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmdline.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"

/* QEMU's options that take no argument (7.2, and those that older and newer ones have). */
static const char *const qemu_flags[] = {
	"S", "alt-grab", "async-teardown", "audio-help", "ctrl-grab", "curses", "daemonize",
	"enable-fips", "enable-kvm", "enable-sync-profile", "full-screen", "h", "help",
	"localtime", "mem-prealloc", "no-acpi", "no-fd-bootchk", "no-frame", "no-hpet", "no-kvm",
	"no-kvm-irqchip", "no-kvm-pit", "no-kvm-pit-reinjection", "no-quit", "no-reboot",
	"no-shutdown", "no-user-config", "nodefaults", "nodefconfig", "nographic", "old-param",
	"one-insn-per-tb", "only-migratable", "portrait", "preconfig", "rtc-td-hack", "s", "sdl",
	"semihosting", "singlestep", "snapshot", "tdf", "usb", "version", "win2k-hack",
	"xen-attach", "xen-domid-restrict",
};

/* Long options with one dash that no other VMM has. */
static const char *const qemu_marks[] = {
	"-M", "-accel", "-blockdev", "-chardev", "-device", "-enable-kvm", "-machine", "-netdev",
	"-nodefaults", "-nographic", "-smp",
};

static bool in_list(const char *const *list, size_t n, const char *s)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i], s))
			return true;
	return false;
}

const char *cmdline_next(const char *data, size_t len, size_t *pos)
{
	const char *arg;

	if (*pos >= len)
		return NULL;
	arg = data + *pos;
	*pos += strlen(arg) + 1;
	return arg;
}

enum vmm cmdline_vmm(const char *data, size_t len)
{
	static const char *const kvmtool[] = { "lkvm", "lkvm-static", "kvmtool", "vm" };
	static const char *const kvm[] = { "kvm", "kvm-spice" };
	size_t pos = 0;
	const char *arg = cmdline_next(data, len, &pos), *base;

	if (!arg)
		return VMM_OTHER;
	base = strrchr(arg, '/');
	base = base ? base + 1 : arg;
	if (!strncmp(base, "qemu", 4) || in_list(kvm, ARRAY_SIZE(kvm), base))
		return VMM_QEMU;
	if (!strcmp(base, "crosvm"))
		return VMM_CROSVM;
	if (in_list(kvmtool, ARRAY_SIZE(kvmtool), base))
		return VMM_KVMTOOL;
	/* A QEMU by any other name. */
	while ((arg = cmdline_next(data, len, &pos)))
		if (in_list(qemu_marks, ARRAY_SIZE(qemu_marks), arg))
			return VMM_QEMU;
	return VMM_OTHER;
}

bool cmdline_next_option(const char *data, size_t len, size_t *pos, const char **name,
			 const char **value)
{
	const char *arg;

	if (*pos == 0)
		cmdline_next(data, len, pos);
	while ((arg = cmdline_next(data, len, pos))) {
		/* An argument without a dash is a disk image. */
		if (arg[0] != '-' || !arg[1])
			continue;
		*name = arg + (arg[1] == '-' ? 2 : 1);
		*value = NULL;
		if (!in_list(qemu_flags, ARRAY_SIZE(qemu_flags), *name))
			*value = cmdline_next(data, len, pos);
		return true;
	}
	return false;
}

struct keyvals keyvals_start(const char *text, const char *implied_key, bool json_allowed)
{
	bool json = json_allowed && text[0] == '{';

	return (struct keyvals){ .p = text + json, .implied = implied_key, .json = json };
}

/* A value up to its comma; moves past the comma. */
static char *take_value(const char **p)
{
	const char *s = *p, *end = s;
	char *value, *out;

	while (*end && (*end != ',' || end[1] == ','))
		end += *end == ',' ? 2 : 1;
	value = out = xcalloc((size_t)(end - s) + 1, 1);
	for (; s < end; s++) {
		*out++ = *s;
		s += *s == ',';
	}
	*p = end + (*end == ',');
	return value;
}

static bool next_plain(struct keyvals *kv, char **key, char **value)
{
	size_t len = strcspn(kv->p, "=,");
	const char *implied = kv->implied;

	if (!*kv->p)
		return false;
	kv->implied = NULL;
	if (kv->p[len] == '=') {
		*key = xstrndup(kv->p, len);
		kv->p += len + 1;
		*value = take_value(&kv->p);
	} else if (implied) {
		*key = xstrdup(implied);
		*value = take_value(&kv->p);
	} else {
		*key = take_value(&kv->p);
		*value = xstrdup("on");
	}
	return true;
}

static void skip_blanks(const char **p)
{
	*p += strspn(*p, " \t\r\n");
}

/* \uXXXX as UTF-8; surrogates are left to the printers as what they are: bad UTF-8. */
static char *put_unicode(char *out, unsigned int c)
{
	if (c < 0x80) {
		*out++ = (char)c;
	} else if (c < 0x800) {
		*out++ = (char)(0xc0 | c >> 6);
		*out++ = (char)(0x80 | (c & 0x3f));
	} else {
		*out++ = (char)(0xe0 | c >> 12);
		*out++ = (char)(0x80 | (c >> 6 & 0x3f));
		*out++ = (char)(0x80 | (c & 0x3f));
	}
	return out;
}

/* One escape after its backslash. NULL if it is none, and for \u0000, which no C string holds. */
static char *take_escape(const char **p, char *out)
{
	static const char from[] = "\"'\\/bfnrt", to[] = "\"'\\/\b\f\n\r\t";
	const char *at = **p ? strchr(from, **p) : NULL;
	char hex[5] = "", *end;
	unsigned long c;

	if (at) {
		*out++ = to[at - from];
		(*p)++;
		return out;
	}
	if (**p != 'u')
		return NULL;
	memcpy(hex, *p + 1, strnlen(*p + 1, 4));
	if (strspn(hex, "0123456789abcdefABCDEF") != 4)
		return NULL;
	c = strtoul(hex, &end, 16);
	*p += 5;
	return c ? put_unicode(out, (unsigned int)c) : NULL;
}

/* A quoted string; QEMU takes single quotes too. NULL if there is none or it has no end. */
static char *take_string(const char **p)
{
	_cleanup_free_ char *s = NULL;
	char quote = **p, *out;
	const char *end;

	if (quote != '"' && quote != '\'')
		return NULL;
	for (end = *p + 1; *end && *end != quote; end++)
		if (*end == '\\' && !*++end)
			return NULL;
	if (!*end)
		return NULL;
	/* No escape is shorter than what it stands for. */
	out = s = xcalloc((size_t)(end - *p), 1);
	for ((*p)++; *p < end;) {
		if (**p != '\\') {
			*out++ = *(*p)++;
			continue;
		}
		(*p)++;
		out = take_escape(p, out);
		if (!out)
			return NULL;
	}
	(*p)++;
	return STEAL_PTR(s);
}

/* A number, word, list or object, as its text: up to the comma or brace that ends it. */
static char *take_raw(const char **p)
{
	const char *start = *p;
	size_t depth = 0;

	for (; **p; (*p)++) {
		if (**p == '"' || **p == '\'') {
			_cleanup_free_ char *skipped = take_string(p);

			if (!skipped)
				return NULL;
			(*p)--;
		} else if (**p == '{' || **p == '[') {
			depth++;
		} else if (**p == '}' || **p == ']') {
			if (depth-- == 0)
				break;
		} else if (**p == ',' && depth == 0) {
			break;
		}
	}
	return **p && *p > start ? xstrndup(start, (size_t)(*p - start)) : NULL;
}

static bool next_json(struct keyvals *kv, char **key, char **value)
{
	_cleanup_free_ char *k = NULL, *v = NULL;

	skip_blanks(&kv->p);
	k = take_string(&kv->p);
	if (!k)
		return false;
	skip_blanks(&kv->p);
	if (*kv->p++ != ':')
		return kv->p = "", false;
	skip_blanks(&kv->p);
	v = *kv->p == '"' || *kv->p == '\'' ? take_string(&kv->p) : take_raw(&kv->p);
	skip_blanks(&kv->p);
	if (!v || (*kv->p != ',' && *kv->p != '}'))
		return kv->p = "", false;
	kv->p += *kv->p == ',' ? 1 : strlen(kv->p);
	*key = STEAL_PTR(k);
	*value = STEAL_PTR(v);
	return true;
}

bool keyvals_next(struct keyvals *kv, char **key, char **value)
{
	return kv->json ? next_json(kv, key, value) : next_plain(kv, key, value);
}
