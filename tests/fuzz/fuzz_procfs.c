// SPDX-License-Identifier: GPL-2.0-or-later
/* Parsers of /proc text. The first byte chooses one, the rest is the text. */
#include "fuzz.h"
#include "procfs.h"
#include "state.h"

static void stat_text(const char *text, size_t len)
{
	struct proc_stat st;

	if (proc_parse_stat(text, len, &st))
		return;
	CHECK(st.pid >= 0 && st.ppid >= 0);
	CHECK(memchr(st.comm, '\0', sizeof(st.comm)));
	CHECK(st.nice >= -20 && st.nice <= 20);
}

static void status_text(const char *text, size_t len)
{
	static const char *const names[] = { "Tgid", "CapEff", "Cpus_allowed_list", "iff", "SigBlk", "" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *value = proc_field_string(text, len, names[i]);
		int64_t number = proc_field_number(text, len, names[i], 10);

		CHECK(number == UNKNOWN || number >= 0);
		CHECK(value || number == UNKNOWN);
		number = proc_field_number(text, len, names[i], 16);
		CHECK(number == UNKNOWN || number >= 0);
		CHECK(proc_field_number(text, len, names[i], 8) == UNKNOWN || value);
	}
}

static void maps_text(const char *text, size_t len)
{
	size_t pos = 0, line_len;
	const char *line;

	while ((line = proc_next_line(text, len, &pos, &line_len))) {
		struct proc_map map;

		if (proc_parse_map(line, line_len, &map))
			continue;
		CHECK(map.start < map.end);
		CHECK(map.path >= line && map.path + map.path_len == line + line_len);
	}
}

static void short_texts(const char *text, size_t len)
{
	_cleanup_free_ char *cgroup = proc_parse_cgroup(text, len);
	int64_t ns = proc_parse_ns(text), cpu, wait;
	uint64_t n;

	CHECK(!cgroup || strlen(cgroup) <= len);
	CHECK(ns == UNKNOWN || ns >= 0);
	CHECK(proc_parse_schedstat(text, len, &cpu, &wait) || (cpu >= 0 && wait >= 0));
	if (proc_number(text, len, 4711, &n))
		CHECK(n <= 4711);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const parsers[])(const char *, size_t) = { stat_text, status_text, maps_text, short_texts };
	struct input in = { data, size };
	uint8_t which = take_byte(&in);
	_cleanup_free_ char *text = NULL;
	size_t len;

	text = take_rest(&in, &len);
	parsers[which % ARRAY_SIZE(parsers)](text, len);
	return 0;
}
