// SPDX-License-Identifier: GPL-2.0-or-later
/* Which entries concern what, how they are merged, and the fewest moves to a list of workers. */
#include "unit.h"

#include <string.h>

#include "policy_deal.h"
#include "policy_match.h"
#include "util.h"

struct world {
	struct vm vm;
	struct policy policy;
	struct device_wants *wants;
	struct sentences warnings, missing;
	struct error e;
	int ret;
};

static void add_device(struct vm *vm, const char *id, enum device_kind kind, const char *tap)
{
	struct device *d = ARRAY_ADD(vm->devices, vm->n_devices);

	d->kind = kind;
	d->tap = tap ? xstrdup(tap) : NULL;
	snprintf(d->id, sizeof(d->id), "%s", id);
}

/* web1: net0 and net1 on tap0, net2 on an unknown one, scsi0, vsock0. @vms: the entries. */
static void match(struct world *w, const char *vms)
{
	char *text = xasprintf("{\"schema\":1,\"vms\":[%s]}", vms);

	*w = (struct world){ .vm = { .pid = 1, .name = xstrdup("web1"),
				     .uuid = xstrdup("01234567-89ab-cdef-0123-456789abcdef") } };
	add_device(&w->vm, "net0", DEVICE_NET, "tap0");
	add_device(&w->vm, "net1", DEVICE_NET, "tap0");
	add_device(&w->vm, "net2", DEVICE_NET, NULL);
	add_device(&w->vm, "scsi0", DEVICE_SCSI, NULL);
	add_device(&w->vm, "vsock0", DEVICE_VSOCK, NULL);
	if (policy_parse("f", text, strlen(text), &w->policy, &w->e) < 0)
		fail_msg("%s: %s", w->e.operation, w->e.message);
	w->ret = policy_match(&w->policy, &w->vm, &w->wants, &w->warnings, &w->missing, &w->e);
	free(text);
}

/* Once the VM's devices are others. */
static void match_again(struct world *w)
{
	free(w->wants);
	w->ret = policy_match(&w->policy, &w->vm, &w->wants, &w->warnings, &w->missing, &w->e);
}

static void end(struct world *w)
{
	free(w->wants);
	sentences_free(&w->warnings);
	sentences_free(&w->missing);
	policy_free(&w->policy);
	vm_free(&w->vm);
}

/* An entry for VMs of @name with one for devices. */
#define ENTRY(name, match, settings) \
	"{\"match\":{\"name\":\"" name "\"},\"devices\":[{\"match\":{" match "}," settings "}]}"
#define ANY_VM(match, settings) "{\"match\":{},\"devices\":[{\"match\":{" match "}," settings "}]}"

static void test_devices(void **state)
{
	struct world w;

	(void)state;
	match(&w, ENTRY("web*", "\"tap\":\"tap?\"", "\"busyloop_usecs\":{\"rx\":5}") ","
	      ENTRY("web[12]", "\"kind\":\"scsi\"", "\"workers\":2,\"cpus\":\"1\"") ","
	      ENTRY("db*", "", "\"busyloop_usecs\":9") ","
	      ENTRY("WEB1", "", "\"busyloop_usecs\":9"));
	assert_int_equal(w.ret, 0);
	assert_int_equal(w.missing.n, 0);
	assert_int_equal(w.wants[0].busyloop[0].value, 5);
	assert_null(w.wants[0].busyloop[1].from);
	assert_int_equal(w.wants[1].busyloop[0].value, 5);
	assert_null(w.wants[2].busyloop[0].from);
	assert_non_null(w.wants[3].workers.from);
	assert_non_null(w.wants[3].cpus.from);
	assert_null(w.wants[4].cpus.from);
	end(&w);
}

static void test_uuid(void **state)
{
	struct world w;

	(void)state;
	match(&w, "{\"match\":{\"uuid\":\"01234567-89AB-CDEF-0123-456789abcdef\"},\"devices\":["
	      "{\"match\":{\"id\":\"net0\"},\"rx_frames\":1}]},"
	      "{\"match\":{\"uuid\":\"11234567-89AB-CDEF-0123-456789abcdef\"},\"devices\":["
	      "{\"match\":{\"id\":\"net0\"},\"busyloop_usecs\":1}]}");
	assert_int_equal(w.wants[0].rx_frames.value, 1);
	assert_null(w.wants[0].busyloop[0].from);
	end(&w);
}

static void test_missing(void **state)
{
	struct world w;

	(void)state;
	match(&w, ENTRY("web1", "\"id\":\"net3\"", "\"rx_frames\":1") ","
	      ENTRY("web1", "\"id\":\"net4\"", "\"rx_frames\":1,\"optional\":true") ","
	      ENTRY("db", "\"id\":\"net5\"", "\"rx_frames\":1"));
	assert_int_equal(w.ret, 0);
	assert_int_equal(w.missing.n, 1);
	assert_string_equal(w.missing.items[0], "a device that f: $.vms[0].devices[0] matches");
	end(&w);
}

static void test_settings_of_other_kinds(void **state)
{
	struct world w;

	(void)state;
	match(&w, ENTRY("web1", "\"id\":\"*0\"", "\"rx_frames\":1,\"workers\":1"));
	assert_int_equal(w.ret, 0);
	assert_non_null(w.wants[0].rx_frames.from);
	assert_null(w.wants[3].rx_frames.from);
	assert_null(w.wants[0].workers.from);
	end(&w);
	match(&w, ENTRY("web1", "\"id\":\"vsock0\"", "\"rx_frames\":1"));
	assert_int_equal(w.ret, -1);
	assert_int_equal(w.e.status, STATUS_UNSUPPORTED);
	assert_string_equal(w.e.operation, "f: $.vms[0].devices[0]");
	end(&w);
	match(&w, ENTRY("web1", "\"id\":\"vsock0\"", "\"rx_frames\":1,\"optional\":true"));
	assert_int_equal(w.ret, 0);
	end(&w);
}

static void conflict(const char *vms, size_t warnings, int64_t holds)
{
	struct world w;

	match(&w, vms);
	assert_int_equal(w.ret, 0);
	if (w.warnings.n != warnings)
		fail_msg("%zu warnings of %s: %s", w.warnings.n, vms, w.warnings.n ? w.warnings.items[0] : "");
	assert_int_equal(w.wants[0].busyloop[0].value, holds);
	end(&w);
}

static void test_conflicts(void **state)
{
	(void)state;
	/* the same again */
	conflict(ENTRY("web1", "\"id\":\"net0\"", "\"busyloop_usecs\":1") ","
		 ENTRY("web1", "\"id\":\"net0\"", "\"busyloop_usecs\":1"), 0, 1);
	/* rx, and tx */
	conflict(ENTRY("web1", "\"id\":\"net0\"", "\"busyloop_usecs\":1") ","
		 ENTRY("web1", "\"id\":\"net0\"", "\"busyloop_usecs\":2"), 2, 2);
	/* narrower in the VM, in the device, in both */
	conflict(ANY_VM("\"id\":\"net0\"", "\"busyloop_usecs\":1") ","
		 ENTRY("web*", "\"id\":\"net0\"", "\"busyloop_usecs\":2"), 0, 2);
	conflict(ENTRY("web1", "\"kind\":\"net\"", "\"busyloop_usecs\":1") ","
		 ENTRY("web1", "\"tap\":\"tap?\"", "\"busyloop_usecs\":2"), 0, 2);
	conflict(ENTRY("web*", "", "\"busyloop_usecs\":1") ","
		 ENTRY("web1", "\"kind\":\"net\"", "\"busyloop_usecs\":2"), 0, 2);
	/* wider, and narrower in one but wider in the other */
	conflict(ENTRY("web1", "\"id\":\"net0\"", "\"busyloop_usecs\":{\"rx\":1}") ","
		 ANY_VM("\"kind\":\"net\"", "\"busyloop_usecs\":{\"rx\":2}"), 1, 2);
	conflict(ENTRY("web1", "\"kind\":\"net\"", "\"busyloop_usecs\":{\"rx\":1}") ","
		 ENTRY("web*", "\"id\":\"net0\"", "\"busyloop_usecs\":{\"rx\":2}"), 1, 2);
}

static void test_one_tap_has_one_value(void **state)
{
	struct world w;

	(void)state;
	match(&w, ENTRY("web1", "\"kind\":\"net\"", "\"rx_frames\":1") ","
	      ENTRY("web1", "\"id\":\"net1\"", "\"rx_frames\":2"));
	assert_int_equal(w.ret, -1);
	assert_int_equal(w.e.status, STATUS_USAGE);
	end(&w);
}

static void test_what_may_match(void **state)
{
	struct world w;

	(void)state;
	match(&w, ENTRY("web*", "", "\"rx_frames\":1") "," ENTRY("db", "", "\"rx_frames\":1"));
	assert_true(policy_matches(&w.policy, &w.vm));
	assert_true(policy_may_match(&w.policy, "web7"));
	assert_true(policy_may_match(&w.policy, "4711"));
	assert_false(policy_may_match(&w.policy, "eb"));
	free(w.vm.name);
	w.vm.name = NULL;
	assert_false(policy_matches(&w.policy, &w.vm));
	end(&w);
}

/* ---- lists of workers ---- */

struct deal {
	struct queue queues[8];
	struct policy_worker list[4];
	struct spread plan;
	int64_t ids[4];
};

static void deal(struct deal *d, const int *workers, const char *const *groups, size_t n)
{
	struct error e = ERROR_INIT;

	memset(d, 0, sizeof(*d));
	for (unsigned int i = 0; i < 8; i++)
		d->queues[i] = (struct queue){ .index = i, .worker_id = workers[i] };
	for (size_t i = 0; i < n; i++)
		assert_int_equal(ranges_parse(groups[i], &d->list[i].queues, &e), 0);
	deal_listed(d->queues, 8, d->list, n, &d->plan, d->ids);
	for (size_t i = 0; i < n; i++)
		ranges_free(&d->list[i].queues);
}

static void assert_end(const struct deal *d, const int *workers)
{
	for (unsigned int i = 0; i < 8; i++)
		if (deal_end(&d->plan, &d->queues[i]) != workers[i])
			fail_msg("queue %u: %lld", i, (long long)deal_end(&d->plan, &d->queues[i]));
}

static void test_new_workers(void **state)
{
	struct deal d;

	(void)state;
	deal(&d, (int[8]){ 0 }, (const char *const[]){ "2-3", "5" }, 2);
	assert_int_equal(d.plan.n_new, 2);
	assert_int_equal(d.plan.n_moves, 3);
	assert_end(&d, (int[8]){ 0, 0, -1, -1, 0, -2, 0, 0 });
	spread_free(&d.plan);
}

static void test_present_workers(void **state)
{
	struct deal d;

	(void)state;
	/* 7 and 3 are as they should be but for one queue; 4 is not needed. */
	deal(&d, (int[8]){ 0, 0, 7, 7, 3, 4, 0, 0 }, (const char *const[]){ "4-5", "2-3,6" }, 2);
	assert_int_equal(d.plan.n_new, 0);
	assert_int_equal(d.plan.n_moves, 2);
	assert_int_equal(d.plan.n_unneeded, 1);
	assert_int_equal(d.plan.unneeded[0], 4);
	assert_int_equal(d.ids[0], 3);
	assert_int_equal(d.ids[1], 7);
	assert_end(&d, (int[8]){ 0, 0, 7, 7, 3, 3, 7, 0 });
	spread_free(&d.plan);
	/* Nothing to do. */
	deal(&d, (int[8]){ 0, 0, 7, 7, 3, 3, 7, 0 }, (const char *const[]){ "4-5", "2-3,6" }, 2);
	assert_int_equal(d.plan.n_moves + d.plan.n_new + d.plan.n_unneeded, 0);
	spread_free(&d.plan);
	/* An empty list. */
	deal(&d, (int[8]){ 0, 0, 7, 7, 3, 3, 7, 0 }, NULL, 0);
	assert_int_equal(d.plan.n_unneeded, 2);
	assert_end(&d, (int[8]){ 0 });
	spread_free(&d.plan);
}

static void test_a_worker_is_taken_once(void **state)
{
	struct deal d;

	(void)state;
	deal(&d, (int[8]){ 0, 0, 1, 1, 1, 1, 0, 0 }, (const char *const[]){ "2", "3-5" }, 2);
	assert_int_equal(d.plan.n_new, 1);
	assert_end(&d, (int[8]){ 0, 0, 1, -1, -1, -1, 0, 0 });
	spread_free(&d.plan);
}

static void test_idle_workers_come_first(void **state)
{
	const uint32_t idle[] = { 9, 8, 7 };
	struct deal d;

	(void)state;
	deal(&d, (int[8]){ 0 }, (const char *const[]){ "2", "3", "4" }, 3);
	assert_int_equal(deal_reuse(&d.plan, d.ids, 3, idle, 1), 1);
	assert_int_equal(d.plan.n_new, 2);
	assert_end(&d, (int[8]){ 0, 0, 9, -1, -2, 0, 0, 0 });
	assert_int_equal(d.ids[0], 9);
	assert_int_equal(d.ids[2], -2);
	assert_int_equal(deal_reuse(&d.plan, d.ids, 3, idle + 1, 2), 2);
	assert_int_equal(d.plan.n_new, 0);
	assert_end(&d, (int[8]){ 0, 0, 9, 8, 7, 0, 0, 0 });
	spread_free(&d.plan);
}

/* Of a tap that is not known nothing can be said yet; one that is known is told by more than its name. */
static void test_unknown_taps(void **state)
{
	struct world w;
	struct device *d;

	(void)state;
	match(&w, ENTRY("web1", "\"id\":\"net0\"", "\"rx_frames\":1") ","
	      ENTRY("web1", "\"id\":\"net1\"", "\"rx_frames\":2") ","
	      ENTRY("web1", "\"id\":\"net2\"", "\"rx_frames\":3"));
	assert_int_equal(w.ret, -1);
	assert_non_null(strstr(w.e.message, "whole interface"));
	d = w.vm.devices;
	free(d[1].tap);
	d[1].tap = NULL;
	match_again(&w);
	assert_int_equal(w.ret, 0);
	free(d[0].tap);
	d[0].tap = NULL;
	match_again(&w);
	assert_int_equal(w.ret, 0);
	for (int i = 0; i < 3; i++) {
		d[i].tap = xstrdup("tap0");
		d[i].inside.known = true;
		d[i].inside.tap_netns = 7;
		d[i].inside.tap_ifindex = 3 + i;
	}
	match_again(&w);
	assert_int_equal(w.ret, 0);
	d[2].inside.tap_ifindex = 4;
	match_again(&w);
	assert_int_equal(w.ret, -1);
	d[2].inside.tap_netns = 8;
	match_again(&w);
	assert_int_equal(w.ret, 0);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_uuid),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_settings_of_other_kinds),
		cmocka_unit_test(test_conflicts),
		cmocka_unit_test(test_one_tap_has_one_value),
		cmocka_unit_test(test_what_may_match),
		cmocka_unit_test(test_new_workers),
		cmocka_unit_test(test_present_workers),
		cmocka_unit_test(test_a_worker_is_taken_once),
		cmocka_unit_test(test_idle_workers_come_first),
		cmocka_unit_test(test_unknown_taps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
