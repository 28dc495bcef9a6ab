// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complete.h"
#include "util.h"

static struct vm *add_vm(struct state *s, pid_t pid, const char *name)
{
	struct vm *vm = ARRAY_ADD(s->vms, s->n_vms);

	vm->pid = pid;
	vm->name = name ? xstrdup(name) : NULL;
	return vm;
}

static struct device *add_device(struct vm *vm, enum device_kind kind, const char *id, int fd,
				 const char *tap)
{
	struct device *d = ARRAY_ADD(vm->devices, vm->n_devices);

	d->kind = kind;
	d->fd = fd;
	snprintf(d->id, sizeof(d->id), "%s", id);
	d->tap = tap ? xstrdup(tap) : NULL;
	return d;
}

static void add_tap(struct vm *vm, const char *ifname)
{
	snprintf(ARRAY_ADD(vm->taps, vm->n_taps)->ifname, 16, "%s", ifname);
}

static void add_queue(struct device *d, unsigned int index)
{
	struct queue *q = ARRAY_ADD(d->queues, d->n_queues);

	q->index = index;
	queue_name(d->kind, index, q->name);
}

static void add_worker(struct device *d, int64_t id, size_t n_queues)
{
	struct worker *w = ARRAY_ADD(d->workers, d->n_workers);

	d->workers_known = true;
	w->id = id;
	w->queues = xcalloc(1, sizeof(*w->queues));
	w->n_queues = n_queues;
}

static void add_vm1(struct state *s)
{
	struct vm *vm = add_vm(s, 188, "vm1");
	struct device *d;

	vm->uuid = xstrdup("aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeef");
	add_device(vm, DEVICE_NET, "net0", 8, "tap0");
	add_device(vm, DEVICE_NET, "net1", 9, "tap0");
	d = add_device(vm, DEVICE_SCSI, "scsi0", 10, NULL);
	for (unsigned int i = 0; i < 4; i++)
		add_queue(d, i);
	add_worker(d, 0, 3);
	add_worker(d, 4, 1);
	add_worker(d, 7, 0);
	add_device(vm, DEVICE_SCSI, "scsi1", 11, NULL);
	add_tap(vm, "tap0");
	add_tap(vm, "t\x1b[2J");
}

static int setup(void **state)
{
	struct state *s = xcalloc(1, sizeof(*s));
	struct vm *vm;

	add_vm1(s);
	add_device(add_vm(s, 200, NULL), DEVICE_NET, "net0", 3, NULL);
	add_device(add_vm(s, 201, "my \"vm\"/2"), DEVICE_VSOCK, "vsock0", 3, NULL);
	add_vm(s, 300, "twin");
	add_vm(s, 301, "twin");
	add_vm(s, 400, "188");			/* another VM's pid */
	add_vm(s, 402, "x\x1b[31m\n");
	add_vm(s, 403, "x\xe2\x80\xae");	/* reorders what follows */
	add_vm(s, 404, "x\\y");
	add_vm(s, 405, "\xc3\xa4");
	add_vm(s, 406, "-t");
	add_vm(s, 407, "/x");
	vm = add_vm(s, 501, "zvm/net0");	/* as a device of the next one */
	add_device(vm, DEVICE_NET, "net0", 3, NULL);
	vm = add_vm(s, 502, "zvm");
	add_device(vm, DEVICE_NET, "net0", 3, NULL);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	state_free(*state);
	free(*state);
	return 0;
}

static void describe(const struct completions *c, char *out, size_t size)
{
	size_t len = 0;

	*out = '\0';
	for (size_t i = 0; i < c->n; i++)
		len += (size_t)snprintf(out + len, size - len, "%s%s:%s", len ? "|" : "",
					completion_kind_name(c->items[i].kind), c->items[i].text);
}

static void test_offers(void **state)
{
	static const struct { const char *typed, *offers; } cases[] = {
		/* VMs by a name that is one's own and can be shown, else by pid */
		{ "", "vm:vm1|vm:200|vm:my \"vm\"/2|vm:300|vm:301|vm:400|vm:402|vm:403|vm:x\\y|vm:\xc3\xa4|"
		      "vm:406|vm:407|vm:501|vm:zvm" },
		{ "4", "vm:400|vm:402|vm:403|pid:404|pid:405|vm:406|vm:407" },
		{ "nosuch", "" },
		{ "tw", "" },
		{ "x\x1b", "" },
		/* the next level once one is left */
		{ "vm", "vm:vm1|device:vm1/net0|device:vm1/net1|device:vm1/scsi0|device:vm1/scsi1|tap:vm1/tap0" },
		{ "200", "vm:200|device:200/net0|queue:200/net0/rx|queue:200/net0/tx" },
		{ "18", "pid:188|device:188/net0|device:188/net1|device:188/scsi0|device:188/scsi1|tap:188/tap0" },
		{ "my", "vm:my \"vm\"/2|device:my \"vm\"/2/vsock0|queue:my \"vm\"/2/vsock0/rx|"
			"queue:my \"vm\"/2/vsock0/tx" },
		{ "my \"vm\"/", "vm:my \"vm\"/2|device:my \"vm\"/2/vsock0|queue:my \"vm\"/2/vsock0/rx|"
				"queue:my \"vm\"/2/vsock0/tx" },
		{ "vm1/n", "device:vm1/net0|device:vm1/net1" },
		{ "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeef/n", "device:aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeef/net0|"
							    "device:aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeef/net1" },
		{ "vm1/t", "tap:vm1/tap0|queue:vm1/tap0/rx|queue:vm1/tap0/tx" },
		{ "vm1/x", "" },
		/* queues, of a list the last one */
		{ "vm1/net1/", "queue:vm1/net1/rx|queue:vm1/net1/tx" },
		{ "vm1/fd8/t", "queue:vm1/fd8/tx" },
		{ "vm1/scsi0/", "queue:vm1/scsi0/ctl|queue:vm1/scsi0/event|queue:vm1/scsi0/req0|queue:vm1/scsi0/req1" },
		{ "vm1/scsi1/", "queue:vm1/scsi1/ctl|queue:vm1/scsi1/event|queue:vm1/scsi1/req0" },
		{ "vm1/scsi0/req1,r", "queue:vm1/scsi0/req1,req0|queue:vm1/scsi0/req1,req1" },
		/* workers of what is a whole target */
		{ "vm1/scsi0", "device:vm1/scsi0|queue:vm1/scsi0/ctl|queue:vm1/scsi0/event|queue:vm1/scsi0/req0|"
			       "queue:vm1/scsi0/req1|worker:0|worker:4|idle:7" },
		{ "vm1/scsi0/2-3", "worker:0|worker:4|idle:7" },
		{ "vm1/net0", "device:vm1/net0|queue:vm1/net0/rx|queue:vm1/net0/tx|worker:0" },
		/* a slash can be a part of a name; what two VMs go by is completed, and then refused with words */
		{ "zvm/n", "device:zvm/net0|queue:zvm/net0/rx|queue:zvm/net0/tx" },
	};
	char got[1024];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct completions c = { 0 };

		complete_target(*state, cases[i].typed, true, &c);
		describe(&c, got, sizeof(got));
		if (strcmp(got, cases[i].offers))
			fail_msg("'%s': got      %s\n     expected %s", cases[i].typed, got, cases[i].offers);
		completions_free(&c);
	}
}

/* What reads the text knows no UTF-8: bytes above ASCII would be shown as something else. */
static void test_ascii(void **state)
{
	struct completions c = { 0 };
	char got[1024];

	complete_target(*state, "4", false, &c);
	describe(&c, got, sizeof(got));
	assert_string_equal(got, "vm:400|vm:402|vm:403|pid:404|vm:405|vm:406|vm:407");
	completions_free(&c);
}

static void test_what_the_kernel_is_to_be_asked(void **state)
{
	static const struct { const char *typed, *vm, *device; } cases[] = {
		{ "", NULL, NULL }, { "vm1", "vm1", NULL }, { "vm1/", "vm1", NULL },
		{ "vm1/s", "vm1", NULL }, { "vm1/scsi0", "vm1", "scsi0" }, { "vm1/scsi1/", "vm1", "scsi1" },
		{ "vm1/scsi1/0-3", "vm1", "scsi1" }, { "nosuch/scsi0", NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct completions c = { 0 };

		complete_target(*state, cases[i].typed, true, &c);
		assert_string_equal(c.vm ? c.vm->name : "-", cases[i].vm ? cases[i].vm : "-");
		assert_string_equal(c.device ? c.device->id : "-", cases[i].device ? cases[i].device : "-");
		completions_free(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_offers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ascii, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_the_kernel_is_to_be_asked, setup, teardown),
	};

	return cmocka_run_group_tests_name("complete", tests, NULL, NULL);
}
