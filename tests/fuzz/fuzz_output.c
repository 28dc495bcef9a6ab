// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names that a VM chose, on their way out: JSON that is JSON, tables and errors that a terminal can trust.
 * Lines: a name, a comm, a cgroup, a tap, an alias, a path.
 */
#include <jansson.h>
#include <locale.h>

#include "dot.h"
#include "escape.h"
#include "fuzz.h"
#include "json.h"
#include "state.h"
#include "table.h"

/* Nothing but printable ASCII and what ends a line or stands in for an indent. */
static void check_ascii(const char *text)
{
	for (; *text; text++)
		CHECK((*text >= 0x20 && *text < 0x7f) || *text == '\n');
}

/* With UTF-8 no control character of either kind, however it is spelt. */
static void check_utf8(const char *text)
{
	while (*text) {
		uint32_t code;
		size_t len = utf8_decode(text, &code);

		CHECK(len);
		CHECK(code >= 0x20 || code == '\n');
		CHECK(code < 0x7f || code > 0x9f);
		CHECK(code != 0x202e && code != 0x2028);
		text += len;
	}
}

static void check_table(char *text, bool utf8)
{
	CHECK(text);
	if (utf8)
		check_utf8(text);
	else
		check_ascii(text);
	free(text);
}

static void check_json(char *text, bool whole)
{
	json_t *json = text ? json_loads(text, 0, NULL) : NULL;

	CHECK(json || !whole);
	if (text)
		check_ascii(text);
	json_decref(json);
	free(text);
}

static void check_line(const char *line)
{
	_cleanup_free_ char *ascii = escape_text(line, false);
	_cleanup_free_ char *utf8 = escape_text(line, true);
	_cleanup_free_ char *clean = escape_utf8(line);
	uint32_t code;

	check_ascii(ascii);
	CHECK(!strchr(ascii, '\n'));
	check_utf8(utf8);
	CHECK(!strchr(utf8, '\n'));
	for (const char *p = clean; *p; p += utf8_decode(p, &code))
		CHECK(utf8_decode(p, &code));
}

static void put(char *to, size_t size, const char *line)
{
	snprintf(to, size, "%s", line);
}

static void fill(struct state *s, char *lines[6])
{
	struct vm *vm = ARRAY_ADD(s->vms, s->n_vms);
	struct device *d = ARRAY_ADD(vm->devices, vm->n_devices);
	struct tap *t = ARRAY_ADD(vm->taps, vm->n_taps);
	struct worker *w = ARRAY_ADD(vm->threads, vm->n_threads);

	put(s->kernel, sizeof(s->kernel), "6.12");
	vm->pid = 7;
	vm->name = xstrdup(lines[0]);
	put(vm->comm, sizeof(vm->comm), lines[1]);
	vm->cgroup = xstrdup(lines[2]);
	put(d->id, sizeof(d->id), "net0");
	d->path = xstrdup(lines[5]);
	d->tap = xstrdup(lines[3]);
	d->tap_source = TAP_SOURCE_CMDLINE;
	d->inside.known = true;
	d->inside.wwpn = xstrdup(lines[4]);
	*ARRAY_ADD(d->workers, d->n_workers) = (struct worker){ .id = 0, .tid = 9, .cgroup = xstrdup(lines[2]) };
	put(d->workers[0].comm, sizeof(w->comm), lines[1]);
	d->workers_known = true;
	tap_init(t);
	put(t->ifname, sizeof(t->ifname), lines[3]);
	t->alias = xstrdup(lines[4]);
	t->master = xstrdup(lines[3]);
	t->path = xstrdup(lines[5]);
	w->tid = 9;
	put(w->comm, sizeof(w->comm), lines[1]);
	w->cpus = xstrdup(lines[5]);
	error_set(ARRAY_ADD(vm->errors, vm->n_errors), STATUS_FAILED, 5, "read", "%s", lines[0]);
	error_target(&vm->errors[0], "%s", lines[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct state s = { 0 };
	char *lines[6];

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		lines[i] = take_line(&in);
		if (!lines[i])
			lines[i] = xstrdup("");
		check_line(lines[i]);
	}
	fill(&s, lines);
	for (int i = 0; i < 4; i++) {
		struct table_style style = { .utf8 = i & 1, .width = i & 2 ? 80 : 0 };

		/* As main() has it: libsmartcols counts columns by the locale, and hangs on one that does not fit. */
		CHECK(setlocale(LC_ALL, style.utf8 ? "C.UTF-8" : "C"));
		check_table(table_state(&s, &style), style.utf8);
	}
	check_json(json_state(&s, false), true);
	check_json(json_state(&s, true), true);
	check_table(dot_state(&s), true);
	state_free(&s);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		free(lines[i]);
	return 0;
}
