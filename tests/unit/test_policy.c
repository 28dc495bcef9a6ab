// SPDX-License-Identifier: GPL-2.0-or-later
/* Policies as text: what is taken, what is refused and with which words, and there and back again. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "policy.h"
#include "util.h"

static struct policy take(const char *text)
{
	struct policy p = { 0 };
	struct error e = ERROR_INIT;

	if (policy_parse("f", text, strlen(text), &p, &e) < 0)
		fail_msg("refused: %s: %s: %s", e.target, e.operation, e.message);
	return p;
}

static void refused(const char *text, const char *where, const char *why)
{
	struct policy p = { 0 };
	struct error e = ERROR_INIT;

	if (policy_parse("f", text, strlen(text), &p, &e) == 0)
		fail_msg("taken: %s", text);
	assert_int_equal(e.status, STATUS_USAGE);
	assert_string_equal(e.target, "f");
	assert_string_equal(e.operation, where);
	if (!strstr(e.message, why))
		fail_msg("'%s' does not say '%s'", e.message, why);
	policy_free(&p);
}

#define VM(match, devices) "{\"schema\":1,\"vms\":[{\"match\":{" match "},\"devices\":[" devices "]}]}"
#define DEVICE(settings) VM("\"name\":\"a\"", "{\"match\":{}," settings "}")
#define D0 "$.vms[0].devices[0]"

static void test_values(void **state)
{
	struct policy p = take(VM("\"uuid\":\"01234567-89ab-cdef-0123-456789abcdef\"",
		"{\"match\":{\"kind\":\"net\",\"tap\":\"tap0\"},\"busyloop_usecs\":{\"rx\":50},\"rx_frames\":64},"
		"{\"match\":{\"kind\":\"scsi\",\"id\":\"scsi?\"},\"workers\":\"per-queue\",\"cpus\":\"2-5\"},"
		"{\"match\":{},\"busyloop_usecs\":20000,\"force\":true,\"optional\":true,\"workers\":3},"
		"{\"match\":{},\"workers\":[{\"queues\":\"ctl,req1,9-12\",\"cpus\":\"1\"},{\"queues\":\"event\"}]},"
		"{\"match\":{},\"workers\":[]}"));
	const struct policy_device *d;

	(void)state;
	assert_int_equal(p.n_vms, 1);
	assert_null(p.vms[0].name);
	assert_string_equal(p.vms[0].uuid, "01234567-89ab-cdef-0123-456789abcdef");
	assert_string_equal(p.vms[0].where, "f: $.vms[0]");
	assert_int_equal(p.vms[0].n_devices, 5);
	d = p.vms[0].devices;
	assert_int_equal(d[0].kind, DEVICE_NET);
	assert_string_equal(d[0].tap, "tap0");
	assert_int_equal(d[0].busyloop[0], 50);
	assert_int_equal(d[0].busyloop[1], UNKNOWN);
	assert_int_equal(d[0].rx_frames, 64);
	assert_int_equal(d[0].workers, WORKERS_UNSAID);
	assert_int_equal(d[1].workers, WORKERS_PER_QUEUE);
	assert_string_equal(d[1].cpus, "2-5");
	assert_string_equal(d[1].where, "f: $.vms[0].devices[1]");
	assert_int_equal(d[2].kind, POLICY_ANY_KIND);
	assert_int_equal(d[2].busyloop[0], 20000);
	assert_int_equal(d[2].busyloop[1], 20000);
	assert_true(d[2].optional);
	assert_int_equal(d[2].workers, WORKERS_COUNT);
	assert_int_equal(d[2].count, 3);
	assert_int_equal(d[3].n_list, 2);
	assert_int_equal(ranges_count(&d[3].list[0].queues), 6);
	assert_true(ranges_contain(&d[3].list[0].queues, 0));
	assert_true(ranges_contain(&d[3].list[0].queues, 3));
	assert_string_equal(d[3].list[0].cpus, "1");
	assert_true(ranges_contain(&d[3].list[1].queues, 1));
	assert_int_equal(d[4].workers, WORKERS_LISTED);
	assert_int_equal(d[4].n_list, 0);
	policy_free(&p);
}

static void test_keys(void **state)
{
	(void)state;
	refused("[]", "$", "it has to be an object, not an array");
	refused("{\"vms\":[]}", "$", "the key 'schema' is missing");
	refused("{\"schema\":2,\"vms\":[]}", "$.schema", "schema 1, not 2");
	refused("{\"schema\":1}", "$", "the key 'vms' is missing");
	refused("{\"schema\":1,\"vms\":[],\"vm\":1}", "$.vm", "there is no such key; there are: schema, vms");
	refused("{\"schema\":1,\"vms\":[],\"a \\\"b\":1}", "$[\"a \"b\"]", "there is no such key");
	refused("{\"schema\":1,\"vms\":{}}", "$.vms", "an array, not an object");
	refused("{\"schema\":1,\"vms\":[{}]}", "$.vms[0]", "the key 'match' is missing");
	refused("{\"schema\":1,\"vms\":[{\"match\":{}}]}", "$.vms[0]", "the key 'devices' is missing");
	refused(VM("\"nam\":1", ""), "$.vms[0].match.nam", "there are: name, uuid");
	refused(VM("\"name\":1", ""), "$.vms[0].match.name", "the name of a VM, not a number");
	refused(VM("\"name\":\"\"", ""), "$.vms[0].match.name", "it is empty");
	refused(VM("\"uuid\":\"1234\"", ""), "$.vms[0].match.uuid", "'1234' is no uuid");
	refused(VM("\"uuid\":\"0123456789ab-cdef-0123-456789abcdef-\"", ""), "$.vms[0].match.uuid", "is no uuid");
	refused(VM("", "{}"), D0, "the key 'match' is missing");
	refused(VM("", "{\"match\":{\"kind\":\"vnet\"}}"), D0 ".match.kind", "net, scsi, vsock or vdpa");
	refused(VM("", "{\"match\":{\"kind\":null}}"), D0 ".match.kind", "a string, not null");
	refused(VM("", "{\"match\":{},\"busyloop\":1}"), D0 ".busyloop", "no such key");
}

static void test_ranges(void **state)
{
	(void)state;
	refused(DEVICE("\"busyloop_usecs\":-1"), D0 ".busyloop_usecs", "-1 is out of range");
	refused(DEVICE("\"busyloop_usecs\":4294967296"), D0 ".busyloop_usecs", "out of range");
	refused(DEVICE("\"busyloop_usecs\":1.5"), D0 ".busyloop_usecs", "not a fraction");
	refused(DEVICE("\"busyloop_usecs\":{\"tx\":true}"), D0 ".busyloop_usecs.tx", "not true");
	refused(DEVICE("\"busyloop_usecs\":{\"xx\":1}"), D0 ".busyloop_usecs.xx", "there are: rx, tx");
	refused(DEVICE("\"busyloop_usecs\":{}"), D0 ".busyloop_usecs", "rx, tx or both");
	refused(DEVICE("\"busyloop_usecs\":10001"), D0 ".busyloop_usecs", "\"force\": true");
	refused(DEVICE("\"rx_frames\":65"), D0 ".rx_frames", "0 to 64");
	refused(DEVICE("\"workers\":0"), D0 ".workers", "1 to 1024");
	refused(DEVICE("\"workers\":\"per_queue\""), D0 ".workers", "the only word is \"per-queue\"");
	refused(DEVICE("\"workers\":[2]"), D0 ".workers[0]", "an object, not a number");
	refused(DEVICE("\"workers\":[{}]"), D0 ".workers[0]", "'queues' is missing");
	refused(DEVICE("\"workers\":[{\"queues\":\"2\"},{\"queues\":\"req0\"}]"), D0 ".workers[1]",
		"queue 2 is another worker's already");
	refused(DEVICE("\"workers\":[{\"queues\":\"5-3\"}]"), D0 ".workers[0].queues", "'5-3' is no queue");
	refused(DEVICE("\"workers\":[{\"queues\":\"1026\"}]"), D0 ".workers[0].queues", "is no queue");
	refused(DEVICE("\"workers\":[{\"queues\":\"req1024\"}]"), D0 ".workers[0].queues", "is no queue");
	refused(DEVICE("\"workers\":[{\"queues\":\"1,,2\"}]"), D0 ".workers[0].queues", "'' is no queue");
	refused(DEVICE("\"cpus\":\"a\""), D0 ".cpus", "is no list of cpus");
	refused(DEVICE("\"cpus\":2"), D0 ".cpus", "not a number");
	refused(DEVICE("\"force\":1"), D0 ".force", "true or false");
}

static void test_kinds_have_their_settings(void **state)
{
	(void)state;
	refused(VM("", "{\"match\":{\"kind\":\"scsi\"},\"busyloop_usecs\":1}"), D0 ".busyloop_usecs",
		"vhost-scsi does not busy-loop");
	refused(VM("", "{\"match\":{\"kind\":\"vsock\"},\"rx_frames\":1}"), D0 ".rx_frames", "has no tap");
	refused(VM("", "{\"match\":{\"kind\":\"net\"},\"workers\":1}"), D0 ".workers", "no worker calls");
	refused(VM("", "{\"match\":{\"kind\":\"vdpa\"},\"cpus\":\"1\"}"), D0 ".cpus", "no workers to place");
}

static void test_syntax(void **state)
{
	char *deep = xcalloc(1, 20001);

	(void)state;
	refused("{\"schema\":1,\n\"vms\":[}", "line 2, column 8", "near '}'");
	refused("{\"schema\":1,\"schema\":1,\"vms\":[]}", "line 1, column 20", "duplicate object key");
	refused(DEVICE("\"rx_frames\":NaN"), "line 1, column 79", "'NaN'");
	refused("{\"schema\":\"\xff\"}", "line 1, column 11", "unable to decode byte 0xff");
	refused("{\"schema\":1,\"vms\":[]} x", "line 1, column 23", "end of file expected");
	refused("{\"schema\":1e400}", "line 1, column 15", "real number overflow");
	refused("{\"schema\":\"\\u0000\"}", "line 1, column 18", "\\u0000 is not allowed");
	memset(deep, '[', 10000);
	memset(deep + 10000, ']', 10000);
	refused(deep, "line 1, column 2049", "maximum parsing depth");
	free(deep);
}

static void test_text_is_read_again(void **state)
{
	static const char text[] =
		"{\"schema\":1,\"vms\":[{\"match\":{\"name\":\"a\\u00e9\\\\*\",\"uuid\":\"01234567-89ab-cdef-0123-456789abcdef\"},"
		"\"devices\":["
		"{\"match\":{\"kind\":\"net\",\"id\":\"net0\",\"tap\":\"t*\"},\"busyloop_usecs\":{\"rx\":50},\"rx_frames\":64},"
		"{\"match\":{},\"busyloop_usecs\":{\"rx\":1,\"tx\":20000},\"optional\":true,\"force\":true},"
		"{\"match\":{\"kind\":\"scsi\"},\"workers\":\"per-queue\",\"cpus\":\"2-5\"},"
		"{\"match\":{\"kind\":\"scsi\"},\"workers\":3},"
		"{\"match\":{\"kind\":\"scsi\"},\"workers\":[{\"queues\":\"2,4-5\",\"cpus\":\"1\"},{\"queues\":\"3\"}]},"
		"{\"match\":{\"kind\":\"scsi\"},\"workers\":[]}]}]}\n";
	struct policy p = take(text);
	char *again = policy_text(&p, false);

	(void)state;
	for (char *c = again; *c; c++)	/* hexadecimal digits in either case */
		if (!strncmp(c, "\\u00E9", 6))
			c[4] = 'e';
	assert_string_equal(again, text);
	free(again);
	policy_free(&p);
}

static struct vm sample(void)
{
	struct vm vm = { .pid = 7, .name = xstrdup("a[1]") };
	struct device *d = ARRAY_ADD(vm.devices, vm.n_devices);
	struct tap *t;

	*d = (struct device){ .id = "net0", .kind = DEVICE_NET, .tap = xstrdup("tap0"), .queues_known = true };
	for (unsigned int i = 0; i < 2; i++)
		*ARRAY_ADD(d->queues, d->n_queues) =
			(struct queue){ .index = i, .busyloop_usecs = i ? 20000 : 5, .worker_id = 0 };
	*ARRAY_ADD(d->workers, d->n_workers) = (struct worker){ .id = 0, .tid = 9, .cpus = xstrdup("0-3") };
	d = ARRAY_ADD(vm.devices, vm.n_devices);
	*d = (struct device){ .id = "scsi0", .kind = DEVICE_SCSI, .queues_known = true };
	for (unsigned int i = 0; i < 6; i++)
		*ARRAY_ADD(d->queues, d->n_queues) =
			(struct queue){ .index = i, .busyloop_usecs = UNKNOWN, .worker_id = i < 2 ? 0 : i % 2 + 4 };
	*ARRAY_ADD(d->workers, d->n_workers) = (struct worker){ .id = 5, .tid = 10, .cpus = xstrdup("1") };
	t = ARRAY_ADD(vm.taps, vm.n_taps);
	tap_init(t);
	memcpy(t->ifname, "tap0", 5);
	t->rx_frames = 16;
	return vm;
}

static void test_save(void **state)
{
	struct vm vm = sample();
	struct policy p = { 0 };
	struct error e = ERROR_INIT;
	char *text;

	(void)state;
	assert_int_equal(policy_save(&vm, false, &p, &e), 0);
	text = policy_text(&p, false);
	assert_string_equal(text, "{\"schema\":1,\"vms\":[{\"match\":{\"name\":\"a\\\\[1]\"},\"devices\":["
		"{\"match\":{\"kind\":\"net\",\"id\":\"net0\"},\"busyloop_usecs\":{\"rx\":5,\"tx\":20000},\"rx_frames\":16,"
		"\"cpus\":\"0-3\",\"force\":true},"
		"{\"match\":{\"kind\":\"scsi\",\"id\":\"scsi0\"},\"workers\":[{\"queues\":\"2,4\"},"
		"{\"queues\":\"3,5\",\"cpus\":\"1\"}]}]}]}\n");
	free(text);
	policy_free(&p);
	/* Nothing else tells it from another of its name. */
	assert_int_equal(policy_save(&vm, true, &p, &e), -1);
	assert_int_equal(e.status, STATUS_UNSUPPORTED);
	policy_free(&p);
	vm.uuid = xstrdup("01234567-89ab-cdef-0123-456789abcdef");
	assert_int_equal(policy_save(&vm, true, &p, &e), 0);
	assert_string_equal(p.vms[0].uuid, vm.uuid);
	policy_free(&p);
	/* Bytes that JSON cannot say. */
	vm.name[0] = '\xff';
	assert_int_equal(policy_save(&vm, false, &p, &e), 0);
	assert_null(p.vms[0].name);
	policy_free(&p);
	free(vm.uuid);
	vm.uuid = NULL;
	assert_int_equal(policy_save(&vm, false, &p, &e), -1);
	policy_free(&p);
	vm_free(&vm);
}

/* What jansson refuses to say must not be left out: a match without it means every VM. */
static void test_save_no_utf8(void **state)
{
	static const char *const names[] = { "\xed\xa0\x80", "\xc1\x80", "\xf4\x90\x80\x80", "\xf7\xbf\xbf\xbf",
					     "\xe0\x80\xaf", "ok\xe2\x82" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct vm vm = { .pid = 1, .name = xstrdup(names[i]) };
		struct policy p = { 0 };
		struct error e = ERROR_INIT;

		assert_int_equal(policy_save(&vm, false, &p, &e), -1);
		assert_int_equal(e.status, STATUS_UNSUPPORTED);
		assert_non_null(strstr(e.message, "no UTF-8"));
		p.vms[0].name = xstrdup(names[i]);
		assert_null(policy_text(&p, false));
		policy_free(&p);
		vm_free(&vm);
	}
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", dir, name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	free(path);
}

static void test_directory(void **state)
{
	char dir[] = "/tmp/test_policy.XXXXXX";
	struct policy p = { 0 };
	struct error e = ERROR_INIT;
	char *d;

	(void)state;
	assert_non_null(mkdtemp(dir));
	d = xasprintf("%s/policy.d", dir);
	assert_int_equal(policy_read_dir(dir, &p, &e), -1);
	assert_int_equal(e.status, STATUS_USAGE);
	assert_int_equal(mkdir(d, 0700), 0);
	assert_int_equal(policy_read_dir(dir, &p, &e), -1);
	write_file(d, "b.json", VM("\"name\":\"b\"", ""));
	write_file(d, "a.json", VM("\"name\":\"a\"", ""));
	write_file(d, ".c.json", "x");
	write_file(d, "c.txt", "x");
	assert_int_equal(policy_read_dir(dir, &p, &e), 0);
	assert_int_equal(p.n_vms, 2);
	assert_string_equal(p.vms[0].name, "a");
	assert_string_equal(p.vms[1].name, "b");
	policy_free(&p);
	write_file(dir, "policy.json", VM("\"name\":\"first\"", ""));
	assert_int_equal(policy_read_dir(dir, &p, &e), 0);
	assert_int_equal(p.n_vms, 3);
	assert_string_equal(p.vms[0].name, "first");
	policy_free(&p);
	write_file(d, "z.json", "");
	assert_int_equal(policy_read_dir(dir, &p, &e), -1);
	assert_string_equal(e.message, "it is empty");
	policy_free(&p);
	free(d);
	d = xasprintf("rm -r %s", dir);
	assert_int_equal(system(d), 0); /* NOLINT(cert-env33-c): a name of our own making */
	free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),	   cmocka_unit_test(test_keys),
		cmocka_unit_test(test_ranges),	   cmocka_unit_test(test_kinds_have_their_settings),
		cmocka_unit_test(test_syntax),	   cmocka_unit_test(test_text_is_read_again),
		cmocka_unit_test(test_save),	   cmocka_unit_test(test_save_no_utf8),
		cmocka_unit_test(test_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
