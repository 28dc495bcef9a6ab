// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * TARGET and values as people type them. Lines: the names of two VMs, a tap's name, then one text, which is
 * taken as a target, a time, a list of numbers and a list of cpus.
 */
#include "affinity.h"
#include "fuzz.h"
#include "target.h"
#include "value.h"

static void add_vm(struct state *s, pid_t pid, char *name, const char *tap)
{
	struct vm *vm = ARRAY_ADD(s->vms, s->n_vms);

	vm->pid = pid;
	vm->name = name && *name ? name : NULL;
	if (!vm->name)
		free(name);
	for (int kind = 0; kind < DEVICE_KINDS; kind++)
		for (int i = 0; i < 2; i++) {
			struct device *d = ARRAY_ADD(vm->devices, vm->n_devices);

			d->kind = (enum device_kind)kind;
			d->fd = 8 + kind * 2 + i;
			snprintf(d->id, sizeof(d->id), "%s%d", device_kind_name(d->kind), i);
			if (kind == DEVICE_NET)
				d->tap = xstrdup(tap);
		}
	tap_init(ARRAY_ADD(vm->taps, vm->n_taps));
	snprintf(vm->taps[0].ifname, sizeof(vm->taps[0].ifname), "%s", tap);
}

static void check_ranges(const struct ranges *r)
{
	for (size_t i = 0; i < r->n; i++) {
		CHECK(r->items[i].first <= r->items[i].last);
		CHECK(!i || r->items[i].first > (uint64_t)r->items[i - 1].last + 1);
		CHECK(ranges_contain(r, r->items[i].last));
	}
}

static void check_error(int ret, const struct error *e)
{
	CHECK(ret == 0 || (ret == -1 && e->status != STATUS_OK && *e->message));
}

static void resolve(struct state *s, const char *text)
{
	struct selection sel = { 0 };
	struct error e = ERROR_INIT;
	int ret = target_resolve(s, text, &sel, &e);

	check_error(ret, &e);
	CHECK(ret || sel.n);
	for (size_t i = 0; i < sel.n; i++) {
		CHECK(sel.items[i].vm);
		check_ranges(&sel.items[i].queues);
		target_has_queue(&sel.items[i], 1);
	}
	/* What names a thing is found again by its name, unless another one goes by it too. */
	if (!ret && sel.n == 1) {
		_cleanup_free_ char *name = target_name(sel.items[0].vm, sel.items[0].device, NULL);
		struct selection again = { 0 };

		if (!target_resolve(s, name, &again, &e) && again.n == 1 && again.items[0].vm == sel.items[0].vm)
			CHECK(again.items[0].device == sel.items[0].device);
		selection_free(&again);
	}
	selection_free(&sel);
}

static void values(const char *text)
{
	struct error e = ERROR_INIT;
	struct ranges r = { 0 };
	uint32_t usecs;

	check_error(value_parse_usecs(text, &usecs, &e), &e);
	e = ERROR_INIT;
	if (ranges_parse(text, &r, &e) == 0) {
		_cleanup_free_ char *again = ranges_text(&r);
		struct ranges same = { 0 };

		check_ranges(&r);
		CHECK(ranges_parse(again, &same, &e) == 0);
		CHECK(ranges_count(&same) == ranges_count(&r));
		ranges_free(&same);
		ranges_free(&r);
	}
	e = ERROR_INIT;
	if (affinity_parse(text, &r, &e) == 0)
		ranges_free(&r);
	else
		check_error(-1, &e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	char *first = take_line(&in), *second = take_line(&in);
	_cleanup_free_ char *tap = take_line(&in);
	_cleanup_free_ char *text = NULL;
	struct state s = { 0 };
	size_t len;

	text = take_rest(&in, &len);
	add_vm(&s, 100, first, tap ? tap : "tap0");
	add_vm(&s, 101, second, tap ? tap : "tap0");
	resolve(&s, text);
	values(text);
	state_free(&s);
	return 0;
}
