// SPDX-License-Identifier: GPL-2.0-or-later
/* Expected values for QEMU are what QEMU 7.2's "info name" and "info uuid" answered. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "cmdline.h"
#include "util.h"
#include "vmname.h"

#define Q "/usr/bin/qemu-system-x86_64\0"
#define UUID "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeef"

struct spelling {
	const char *cmdline;
	size_t len;
	const char *name, *uuid;
};
#define S(text, n, u) { text, sizeof(text), n, u }

static const struct spelling spellings[] = {
	/* QEMU */
	S(Q "-name\0vm1", "vm1", NULL),
	S(Q "--name\0vm1", "vm1", NULL),
	S(Q "-name=vm1", NULL, NULL),	/* "invalid option" */
	S(Q "-name\0guest=vm1,debug-threads=on", "vm1", NULL),
	S(Q "-name\0guest=vm1,process=p,debug-threads=on", "vm1", NULL),
	S(Q "-name\0debug-threads=on,guest=c,guest=d", "d", NULL),
	S(Q "-name\0process=p", NULL, NULL),
	S(Q "-name\0vm1,debug-threads=on", "vm1", NULL),
	S(Q "-name\0vm1,process=x", "vm1", NULL),
	S(Q "-name\0x,,y,process=f", "x,y", NULL),
	S(Q "-name\0,,a", ",a", NULL),
	S(Q "-name\0a,,,debug-threads=on", "a,", NULL),
	S(Q "-name\0a,", "a", NULL),
	S(Q "-name\0guest=a=b", "a=b", NULL),
	S(Q "-name\0guest=a,,guest=b", "a,guest=b", NULL),
	S(Q "-name\0guest=", NULL, NULL),
	S(Q "-name\0", NULL, NULL),
	S(Q "-name", NULL, NULL),
	S(Q "-name\0a,guest=b", "b", NULL),
	S(Q "-name\0a\0-name\0debug-threads=on", "a", NULL),
	S(Q "-name\0a\0-name\0b", "b", NULL),
	S(Q "-name\0{\"guest\":\"x\"}", "{\"guest\":\"x\"}", NULL),
	S(Q "-name\0web/front end \x1b[31m\n\xff", "web/front end \x1b[31m\n\xff", NULL),
	S(Q "-uuid\0AAAAAAAA-bbbb-CCCC-dddd-eeeeeeeeeeef", NULL, UUID),
	S(Q "-uuid\0" "11111111-bbbb-cccc-dddd-eeeeeeeeeeef\0--uuid\0" UUID, NULL, UUID),
	S(Q "-uuid\0aaaaaaaabbbbccccddddeeeeeeeeeeef", NULL, NULL),
	S(Q "-append\0-name x -uuid " UUID, NULL, NULL),
	S(Q "-append\0-name\0x\0-name\0y", "y", NULL),
	S(Q "-append\0-name\0-S\0-name\0y", "y", NULL),
	S(Q "-S\0-name\0y\0-append\0-name", "y", NULL),
	S(Q "disk.img\0-name\0y", "y", NULL),
	S(Q "-kernel\0-uuid\0-uuid\0" UUID, NULL, UUID),
	S("kvm\0-id\0" "100\0-name\0pve,debug-threads=on\0-daemonize\0-smbios\0type=1,uuid=" UUID,
	  "pve", UUID),
	S(Q "-uuid\0" "11111111-bbbb-cccc-dddd-eeeeeeeeeeef\0-smbios\0uuid=" UUID ",type=1", NULL, UUID),
	S(Q "-smbios\0type=1,uuid=11111111-bbbb-cccc-dddd-eeeeeeeeeeef\0-uuid\0" UUID, NULL, UUID),
	S(Q "-smbios\0type=2,serial=x\0-smbios\0type=1,manufacturer=y", NULL, NULL),
	S("qemu-kvm\0-name\0guest=a", "a", NULL),
	S("/opt/vmm/launcher\0-machine\0q35\0-append\0-name\0--name\0guest=b", "b", NULL),
	/* others */
	S("lkvm\0run\0--name\0k1\0-n\0mode=tap", "k1", NULL),
	S("lkvm\0run\0--name=k2", "k2", NULL),
	S("lkvm\0run\0-n\0mode=tap", NULL, NULL),
	S("lkvm\0run\0-p\0--name\0-k\0bzImage", NULL, NULL),
	S("lkvm\0run\0--name\0a,b", "a,b", NULL),
	S("lkvm\0run\0--name\0k\0--\0--name\0z", "k", NULL),
	S("crosvm\0run\0--name\0c1\0--params\0--name", "c1", NULL),
	S("crosvm\0run\0--name=c1", "c1", NULL),
	S("vmm\0--name\0fixture", "fixture", NULL),
	S("vmm\0-name\0guest=fixture,debug-threads=on", "fixture", NULL),
	S("vmm\0--name", NULL, NULL),
	S("vmm\0--names\0x\0--name\0y", "y", NULL),
	/* nothing to go by */
	S("--name", NULL, NULL),
	S("", NULL, NULL),
	S("\0\0\0-name\0x", "x", NULL),
	{ "", 0, NULL, NULL },
};

static void assert_text(const char *got, const char *want)
{
	if (want)
		assert_string_equal(got ? got : "(null)", want);
	else
		assert_null(got);
}

static void all_spellings(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
		char *name, *uuid;

		vmname_parse(spellings[i].cmdline, spellings[i].len, &name, &uuid);
		if ((spellings[i].name == NULL) != (name == NULL))
			print_message("# spelling %zu\n", i);
		assert_text(name, spellings[i].name);
		assert_text(uuid, spellings[i].uuid);
		free(name);
		free(uuid);
	}
}

static void cut_anywhere(void **state)
{
	static const char whole[] = Q "-name\0guest=a,,b,process=c\0-uuid\0" UUID;

	(void)state;
	for (size_t len = 0; len < sizeof(whole); len++) {
		char *copy = malloc(len + 1), *name, *uuid;

		memcpy(copy, whole, len);
		copy[len] = '\0';
		vmname_parse(copy, len, &name, &uuid);
		if (len >= sizeof(Q "-name\0guest=a,,b"))
			assert_string_equal(name, "a,b");
		free(name);
		free(uuid);
		free(copy);
	}
}

static void longest_name(void **state)
{
	size_t len = 1 << 20;
	char *cmdline = malloc(len + 1), *name, *uuid;

	(void)state;
	memset(cmdline, 'n', len);
	memcpy(cmdline, Q "-name", sizeof(Q "-name"));
	cmdline[len] = '\0';
	vmname_parse(cmdline, len, &name, &uuid);
	assert_int_equal(strlen(name), len - sizeof(Q "-name"));
	free(name);
	free(cmdline);
}

static void json_pairs(void **state)
{
	static const char text[] = "{ 'type' : \"tap\",\"fds\":\"3:4\",\"n\":{\"a\":[1,\"}\"]},"
				   "\"e\":\"\\u00e9\\n\\\"\",\"last\":true}";
	static const char *const want[] = { "type", "tap", "fds", "3:4", "n", "{\"a\":[1,\"}\"]}",
					    "e", "\xc3\xa9\n\"", "last", "true" };
	struct keyvals kv = keyvals_start(text, "type", true);
	char *key, *value;
	size_t n = 0;

	(void)state;
	for (; keyvals_next(&kv, &key, &value); n += 2) {
		assert_string_equal(key, want[n]);
		assert_string_equal(value, want[n + 1]);
		free(key);
		free(value);
	}
	assert_int_equal(n, ARRAY_SIZE(want));
}

static void json_broken(void **state)
{
	static const char *const bad[] = {
		"{", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":\"", "{\"a\":\"b", "{\"a\":\"b\"",
		"{\"a\":[", "{\"a\":[\"", "{\"a\":1", "{\"a\":\"\\", "{\"a\":\"\\u", "{\"a\":\"\\u12",
		"{\"a\":\"\\u0000\"}", "{\"a\":\"\\x\"}", "{a:1}", "{\"a\" 1}", "{\"a\":}", "{}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct keyvals kv = keyvals_start(bad[i], "type", true);
		char *key, *value;

		assert_false(keyvals_next(&kv, &key, &value));
	}
}

static void uuids(void **state)
{
	(void)state;
	assert_true(vmname_is_uuid(UUID));
	assert_false(vmname_is_uuid(UUID "0"));
	assert_false(vmname_is_uuid("aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeee"));
	assert_false(vmname_is_uuid("aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeeg"));
	assert_false(vmname_is_uuid(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_spellings), cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(longest_name),	 cmocka_unit_test(json_pairs),
		cmocka_unit_test(json_broken),	 cmocka_unit_test(uuids),
	};

	return cmocka_run_group_tests_name("vmname", tests, NULL, NULL);
}
