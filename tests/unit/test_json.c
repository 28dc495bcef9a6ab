// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Without arguments: TAP. With --print: every sample document, pretty and
 * compact, one after the other, for the schema test.
 */
#include <inttypes.h>
#include <jansson.h>

#include "json.h"
#include "samples.h"
#include "unit.h"

static char note[] = "scsi0 stores the value and ignores it \xff";
static char *const notes[] = { note };

/* Parse what was printed; it must be one line of pure, printable ASCII when compact. */
static json_t *parse(char *text)
{
	json_error_t error;
	json_t *o = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	size_t len = strlen(text);

	if (!o)
		fail_msg("%s in %s", error.text, text);
	assert_int_equal(text[len - 1], '\n');
	for (size_t i = 0; i + 1 < len; i++)
		if (text[i] < ' ' || text[i] > '~')
			fail_msg("byte 0x%02x at %zu", (unsigned char)text[i], i);
	free(text);
	return o;
}

static json_t *parse_sample(struct state s)
{
	json_t *o = parse(json_state(&s, false));

	state_free(&s);
	return o;
}

static json_t *first(json_t *o, const char *key)
{
	json_t *item = json_array_get(json_object_get(o, key), 0);

	assert_non_null(item);
	return item;
}

static int64_t integer(json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);

	if (!json_is_integer(v))
		fail_msg("%s is no integer", key);
	return json_integer_value(v);
}

static void assert_text(json_t *o, const char *key, const char *expected)
{
	json_t *v = json_object_get(o, key);

	if (!json_is_string(v))
		fail_msg("%s is no string", key);
	assert_string_equal(json_string_value(v), expected);
}

static void assert_null_key(json_t *o, const char *key)
{
	if (!json_is_null(json_object_get(o, key)))
		fail_msg("%s is not null", key);
}

static void test_full(void **state)
{
	json_t *o = parse_sample(sample_full()), *vm = first(o, "vms"), *dev = first(vm, "devices");
	json_t *queue = first(dev, "queues"), *worker = first(dev, "workers");
	json_t *tap = first(vm, "taps");

	(void)state;
	assert_int_equal(integer(o, "schema"), 1);
	assert_text(o, "source", "owner");
	assert_int_equal(integer(vm, "pid"), 188);
	assert_text(vm, "name", "vm1");
	assert_text(dev, "features", "0x1033d008000");
	assert_text(dev, "backend_features", "0x2");
	assert_text(dev, "tap_source", "cmdline");
	assert_text(dev, "worker_mode", "task");
	assert_int_equal(integer(queue, "busyloop_usecs"), 33);
	assert_int_equal(integer(queue, "worker_tid"), 191);
	assert_text(queue, "name", "rx");
	assert_null_key(queue, "size");
	assert_int_equal(json_array_size(json_object_get(worker, "queues")), 2);
	assert_int_equal(integer(worker, "cpu_ns"), 1234567890123);
	assert_int_equal(integer(tap, "rx_packets"), INT64_MAX);
	assert_null_key(first(vm, "worker_threads"), "id");
	assert_null_key(first(vm, "worker_threads"), "queues");
	json_decref(o);
}

static void assert_names(json_t *device, const char *key, const char *expected)
{
	json_t *name;
	char all[512] = "";
	size_t i;

	json_array_foreach(json_object_get(device, key), i, name)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s ", json_string_value(name));
	assert_string_equal(all, expected);
}

static void test_feature_names(void **state)
{
	json_t *o = parse_sample(sample_full()), *vm = first(o, "vms");
	json_t *scsi = json_array_get(json_object_get(vm, "devices"), 1);

	(void)state;
	assert_names(first(vm, "devices"), "backend_feature_names", "VHOST_BACKEND_F_IOTLB_MSG_V2 ");
	assert_names(first(vm, "devices"), "feature_names",
		     "VIRTIO_NET_F_MRG_RXBUF VIRTIO_F_NOTIFY_ON_EMPTY VHOST_F_LOG_ALL "
		     "VHOST_NET_F_VIRTIO_NET_HDR VIRTIO_RING_F_INDIRECT_DESC "
		     "VIRTIO_RING_F_EVENT_IDX VIRTIO_F_VERSION_1 VIRTIO_F_ACCESS_PLATFORM "
		     "VIRTIO_F_RING_RESET ");
	assert_text(scsi, "features", "0xffffffffffffffff");
	assert_int_equal(json_array_size(json_object_get(scsi, "feature_names")), 64);
	json_decref(o);
}

static void test_errors(void **state)
{
	json_t *o = parse_sample(sample_full()), *vm = first(o, "vms");
	json_t *scsi = json_array_get(json_object_get(vm, "devices"), 1);

	(void)state;
	assert_text(first(scsi, "errors"), "code", "EPERM");
	assert_text(first(scsi, "errors"), "operation", "read the workers");
	assert_int_equal(json_array_size(json_object_get(first(vm, "devices"), "errors")), 0);
	json_decref(o);
}

static void test_unknown_is_null(void **state)
{
	json_t *o = parse_sample(sample_unknown()), *vm = first(o, "vms");
	json_t *dev = first(vm, "devices"), *net = json_array_get(json_object_get(vm, "devices"), 1);

	(void)state;
	assert_null_key(o, "kernel");
	assert_null_key(o, "source");
	assert_null_key(vm, "name");
	assert_null_key(vm, "comm");
	assert_null_key(vm, "netns");
	assert_null_key(dev, "features");
	assert_null_key(dev, "feature_names");
	assert_null_key(dev, "backend_features");
	assert_null_key(dev, "backend_feature_names");
	assert_null_key(dev, "path");
	assert_null_key(first(dev, "queues"), "busyloop_usecs");
	assert_null_key(first(dev, "queues"), "name");
	assert_null_key(first(dev, "workers"), "tid");
	assert_null_key(first(dev, "workers"), "policy");
	assert_null_key(net, "queues");
	assert_null_key(net, "workers");
	assert_null_key(first(vm, "taps"), "ifname");
	assert_null_key(first(vm, "taps"), "rx_frames");
	json_decref(o);
}

static void test_hostile(void **state)
{
	static const char expected[] = "a\x1b[2J\n\r\t\\\"\x7f\xc2\x9b\xe2\x80\xae"
				       "\xef\xbf\xbd"				/* ff */
				       "\xef\xbf\xbd\xef\xbf\xbd"		/* c0 af, overlong */
				       "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"	/* ed a0 80, surrogate */
				       "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" /* too high */
				       "z\xef\xbf\xbd";				/* cut short */
	json_t *o = parse_sample(sample_hostile()), *vm = first(o, "vms");

	(void)state;
	assert_text(vm, "name", expected);
	assert_text(vm, "cgroup", expected);
	assert_text(first(vm, "devices"), "path", expected);
	assert_text(first(vm, "taps"), "ifname", "\x1b]0;x\x07\n\xef\xbf\xbd");
	assert_null_key(first(o, "errors"), "code"); /* an errno without a name */
	json_decref(o);
}

static void test_pretty_is_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		struct state s = samples[i].make();
		_cleanup_free_ char *pretty = json_state(&s, true);
		json_t *a = json_loads(pretty, 0, NULL), *b = parse(json_state(&s, false));

		assert_true(json_equal(a, b));
		assert_non_null(strstr(pretty, "\n  \"kernel\""));
		json_decref(a);
		json_decref(b);
		state_free(&s);
	}
}

static void test_changes(void **state)
{
	struct changes c = sample_changes("vm1/net0/tx");
	json_t *o, *change;

	(void)state;
	error_set(ARRAY_ADD(c.errors, c.n_errors), STATUS_FAILED, EBUSY, "free the worker", "it is in use");
	o = parse(json_changes("6.1.0", &c, notes, 1, false));
	assert_text(first(o, "errors"), "code", "EBUSY");
	change = first(o, "changes");
	assert_text(change, "target", "vm1/net0/tx");
	assert_int_equal(integer(change, "before"), 33);
	assert_int_equal(integer(change, "after"), 50);
	assert_true(json_is_true(json_object_get(change, "applied")));
	change = json_array_get(json_object_get(o, "changes"), 1);
	assert_null_key(change, "before");
	assert_true(json_is_false(json_object_get(change, "applied")));
	assert_string_equal(json_string_value(first(o, "notes")),
			    "scsi0 stores the value and ignores it \xef\xbf\xbd");
	json_decref(o);
	changes_free(&c);
}

static void test_worker_changes(void **state)
{
	struct changes c = sample_worker_changes();
	json_t *o = parse(json_changes("6.12.0", &c, NULL, 0, false)), *list = json_object_get(o, "changes");

	(void)state;
	assert_null_key(json_array_get(list, 0), "before");
	assert_int_equal(integer(json_array_get(list, 0), "after"), 1);
	assert_int_equal(integer(json_array_get(list, 0), "worker_tid"), 250);
	assert_int_equal(integer(json_array_get(list, 1), "worker_id"), 1);
	assert_null_key(json_array_get(list, 1), "worker_tid");
	assert_text(json_array_get(list, 2), "before", "0-1");
	assert_text(json_array_get(list, 2), "after", "1");
	json_decref(o);
	changes_free(&c);
}

static void test_remark(void **state)
{
	struct state s = sample_full();
	struct vm *vm = &s.vms[0];
	json_t *o;

	(void)state;
	free(vm->cgroup);
	vm->cgroup = xstrdup("/machine.slice/vm1.scope");
	free(vm->devices[0].workers[0].cgroup);
	vm->devices[0].workers[0].cgroup = xstrdup("/elsewhere");
	o = parse(json_state(&s, false));
	assert_text(first(first(first(o, "vms"), "devices"), "workers"), "remark",
		    "in another cgroup than the VM's main thread");
	assert_null_key(first(first(o, "vms"), "worker_threads"), "remark");
	json_decref(o);
	state_free(&s);
}

static void test_check(void **state)
{
	struct check c = sample_check();
	json_t *o = parse(json_check(&c, false)), *list = json_object_get(o, "checks");

	(void)state;
	assert_text(json_array_get(list, 0), "name", "vhost_net");
	assert_true(json_is_true(json_object_get(json_array_get(list, 0), "ok")));
	assert_null_key(json_array_get(list, 0), "reason");
	assert_true(json_is_false(json_object_get(json_array_get(list, 1), "ok")));
	assert_null_key(json_array_get(list, 2), "ok");
	assert_int_equal(integer(first(o, "vms"), "pid"), 188);
	assert_text(first(first(o, "vms"), "checks"), "name", "traced");
	assert_null_key(json_array_get(json_object_get(o, "vms"), 1), "name");
	json_decref(o);
	check_free(&c);
}

static void print(char *text)
{
	fputs(text, stdout);
	free(text);
}

static void print_all(void)
{
	struct changes c = sample_changes("vm1/net0/tx"), none = { 0 };
	struct changes workers = sample_worker_changes();
	struct check check = sample_check();

	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		struct state s = samples[i].make();

		print(json_state(&s, false));
		print(json_state(&s, true));
		state_free(&s);
	}
	print(json_changes("6.1.0", &c, notes, 1, false));
	print(json_changes("6.1.0", &c, NULL, 0, true));
	print(json_changes("", &none, NULL, 0, false));
	print(json_changes("", &workers, NULL, 0, false));
	changes_free(&c);
	changes_free(&workers);
	print(json_check(&check, false));
	check_free(&check);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_feature_names),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_unknown_is_null),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_pretty_is_the_same),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_worker_changes),
		cmocka_unit_test(test_remark),
		cmocka_unit_test(test_check),
	};

	if (argc == 2 && strcmp(argv[1], "--print") == 0) {
		print_all();
		return 0;
	}
	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
