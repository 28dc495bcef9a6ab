// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_worker.h"
#include "target.h"
#include "util.h"

#define UUID "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeef"

static struct vm *add_vm(struct state *s, pid_t pid, const char *name)
{
	struct vm *vm = ARRAY_ADD(s->vms, s->n_vms);

	vm->pid = pid;
	vm->name = name ? xstrdup(name) : NULL;
	return vm;
}

static void add_device(struct vm *vm, enum device_kind kind, const char *id, int fd, const char *tap)
{
	struct device *d = ARRAY_ADD(vm->devices, vm->n_devices);

	d->kind = kind;
	d->fd = fd;
	snprintf(d->id, sizeof(d->id), "%s", id);
	d->tap = tap ? xstrdup(tap) : NULL;
}

static void add_tap(struct vm *vm, const char *ifname)
{
	snprintf(ARRAY_ADD(vm->taps, vm->n_taps)->ifname, 16, "%s", ifname);
}

static int setup(void **state)
{
	struct state *s = xcalloc(1, sizeof(*s));
	struct vm *vm = add_vm(s, 188, "vm1");

	vm->uuid = xstrdup(UUID);
	add_device(vm, DEVICE_NET, "net0", 8, "tap0");
	add_device(vm, DEVICE_NET, "net1", 9, "tap0");
	add_device(vm, DEVICE_SCSI, "scsi0", 10, NULL);
	add_device(vm, DEVICE_VSOCK, "vsock0", 11, NULL);
	add_tap(vm, "tap0");
	vm = add_vm(s, 200, NULL);
	add_device(vm, DEVICE_NET, "net0", 3, NULL);
	add_tap(vm, "tapx");
	add_tap(vm, "tapy");
	vm = add_vm(s, 201, "a/b");
	add_device(vm, DEVICE_NET, "net0", 3, NULL);
	vm = add_vm(s, 202, "a");
	add_device(vm, DEVICE_NET, "b", 3, NULL);
	add_device(vm, DEVICE_NET, "net0", 4, "net1");
	add_device(vm, DEVICE_NET, "net1", 5, NULL);
	add_vm(s, 300, "twin");
	add_vm(s, 301, "twin");
	add_vm(s, 400, "188");		/* another VM's pid */
	add_vm(s, 401, "777");		/* nobody's pid */
	add_vm(s, 402, "twin\x1b[31m\n\xff");
	add_vm(s, 403, "/");
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	state_free(*state);
	free(*state);
	return 0;
}

/* "188:net0[0-0,2-4] 188:net1[] 200:*" */
static void describe(const struct selection *sel, char *out)
{
	*out = '\0';
	for (size_t i = 0; i < sel->n; i++) {
		const struct selected *it = &sel->items[i];

		out += sprintf(out, "%s%d:%s", i ? " " : "", (int)it->vm->pid,
			       it->device ? it->device->id : "*");
		for (size_t j = 0; j < it->queues.n; j++)
			out += sprintf(out, "%c%u-%u", j ? ',' : '[', it->queues.items[j].first,
				       it->queues.items[j].last);
		if (it->queues.n)
			out += sprintf(out, "]");
	}
}

static void assert_selects(void **state, const char *text, const char *want)
{
	struct selection sel = { 0 };
	struct error e = ERROR_INIT;
	char got[256];

	if (target_resolve(*state, text, &sel, &e))
		fail_msg("%s: %d %s", text, e.status, e.message);
	describe(&sel, got);
	assert_string_equal(got, want);
	selection_free(&sel);
}

static void assert_fails(void **state, const char *text, enum status status, const char *why)
{
	struct selection sel = { 0 };
	struct error e = ERROR_INIT;

	assert_int_equal(target_resolve(*state, text, &sel, &e), -1);
	if (e.status != status || !strstr(e.message, why))
		fail_msg("%s: %d %s: %s", text, e.status, e.target, e.message);
	selection_free(&sel);
}

static void vms(void **state)
{
	assert_selects(state, "vm1", "188:*");
	assert_selects(state, "188", "188:*");	/* the pid, not the guest named so */
	assert_selects(state, "400", "400:*");
	assert_selects(state, "777", "401:*");
	assert_selects(state, UUID, "188:*");
	assert_selects(state, "AAAAAAAA-bbbb-cccc-dddd-eeeeeeeeeeef", "188:*");
	assert_selects(state, "200", "200:*");
	assert_selects(state, "twin\x1b[31m\n\xff", "402:*");
	assert_fails(state, "nosuchvm", STATUS_NOT_FOUND, "there are: vm1 200 a/b a");
	assert_fails(state, "vm", STATUS_NOT_FOUND, "no such VM");
	assert_fails(state, "vm11", STATUS_NOT_FOUND, "no such VM");
	assert_fails(state, "VM1", STATUS_NOT_FOUND, "no such VM");
	assert_fails(state, "0188", STATUS_NOT_FOUND, "no such VM");
	assert_fails(state, "twin", STATUS_NOT_FOUND, "300 301");
	assert_fails(state, "twin/net0/7", STATUS_NOT_FOUND, "300 301");
	assert_fails(state, "99999999999999999999", STATUS_NOT_FOUND, "no such VM");
}

static void devices(void **state)
{
	assert_selects(state, "vm1/net0", "188:net0");
	assert_selects(state, "vm1/fd9", "188:net1");
	assert_selects(state, "vm1/tap0", "188:net0 188:net1");
	assert_selects(state, "a/b/net0", "201:net0");	/* the longest VM name */
	assert_fails(state, "a/b", STATUS_NOT_FOUND, "a pid, 201 or 202/b");
	assert_fails(state, "a/b/rx", STATUS_NOT_FOUND, "a pid, 201/rx or 202/b/rx");
	assert_selects(state, "a/net0", "202:net0");
	assert_selects(state, "a/net1", "202:net1");	/* the id, not the tap named so */
	assert_fails(state, "vm1/net7", STATUS_NOT_FOUND,
		     "no device net7 in vm1; it has net0 net1 scsi0 vsock0 tap0");
	assert_fails(state, "vm1/fd3", STATUS_NOT_FOUND, "no device fd3");
	assert_fails(state, "vm1/NET0", STATUS_NOT_FOUND, "no device");
	assert_fails(state, "200/tapx", STATUS_NOT_FOUND, "known to drive tap tapx");
	assert_fails(state, "twin\x1b[31m\n\xff/net0", STATUS_NOT_FOUND, "no vhost device");
}

static void queues(void **state)
{
	assert_selects(state, "vm1/net0/0", "188:net0[0-0]");
	assert_selects(state, "vm1/net0/rx", "188:net0[0-0]");
	assert_selects(state, "vm1/tap0/tx", "188:net0[1-1] 188:net1[1-1]");
	assert_selects(state, "vm1/net0/tx,0", "188:net0[0-1]");
	assert_selects(state, "vm1/net0/0,1,1", "188:net0[0-1]");
	assert_selects(state, "vm1/scsi0/0-3,7", "188:scsi0[0-3,7-7]");
	assert_selects(state, "vm1/scsi0/ctl,event,req0,req5", "188:scsi0[0-2,7-7]");
	assert_selects(state, "vm1/scsi0/0-4294967295", "188:scsi0[0-4294967295]");
	assert_selects(state, "vm1/scsi0/req4294967293", "188:scsi0[4294967295-4294967295]");
	assert_selects(state, "vm1/vsock0/rx", "188:vsock0[0-0]");
	assert_fails(state, "vm1/net0/7", STATUS_NOT_FOUND, "no queue 7 in vm1/net0; it has 0 1 (rx tx)");
	assert_fails(state, "vm1/net0/0-4294967295", STATUS_NOT_FOUND, "no queue 4294967295");
	assert_fails(state, "vm1/net0/ctl", STATUS_NOT_FOUND, "no queue ctl");
	assert_fails(state, "vm1/scsi0/rx", STATUS_NOT_FOUND, "no queue rx");
	assert_fails(state, "vm1/scsi0/req4294967294", STATUS_NOT_FOUND, "no queue req4294967294");
	assert_fails(state, "vm1/tap0/2", STATUS_NOT_FOUND, "no queue 2");
}

static void syntax(void **state)
{
	static const char *const bad[] = {
		"", "/net0", "vm1/", "vm1//0", "vm1/net0/", "vm1/net0/0/1", "vm1/net0/abc",
		"vm1/net0/-1", "vm1/net0/0,", "vm1/net0/,0", "vm1/net0/1-0", "vm1/net0/0-", "vm1/net0/ 0",
		"vm1/net0/rx-tx", "vm1/net0/4294967296", "vm1/scsi0/req", "vm1/scsi0/req1x", "vm1/net0/0x1",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_fails(state, bad[i], STATUS_USAGE, "");
}

static void selected_queues(void **state)
{
	struct selection sel = { 0 };
	struct error e = ERROR_INIT;
	struct device *scsi;

	assert_int_equal(target_resolve(*state, "vm1/scsi0/req0-3", &sel, &e), -1);
	assert_int_equal(target_resolve(*state, "vm1/scsi0/2-5", &sel, &e), 0);
	assert_true(target_has_queue(&sel.items[0], 2) && !target_has_queue(&sel.items[0], 1));
	scsi = sel.items[0].device;
	assert_int_equal(target_check_queues(&sel.items[0], &e), 0);	/* not known yet */
	scsi->queues_known = true;
	scsi->n_queues = 6;
	assert_int_equal(target_check_queues(&sel.items[0], &e), 0);
	scsi->n_queues = 5;
	assert_int_equal(target_check_queues(&sel.items[0], &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	assert_non_null(strstr(e.message, "no queue 5 in vm1/scsi0; its last one is 4"));
	scsi->queues_known = false;
	scsi->n_queues = 0;
	selection_free(&sel);
	assert_int_equal(target_resolve(*state, "vm1/scsi0", &sel, &e), 0);
	assert_true(target_has_queue(&sel.items[0], 77));
	selection_free(&sel);
}

/* Thousands of VMs and a target of a megabyte do not overrun a message. */
static void long_ones(void **state)
{
	struct state s = { 0 };
	char *text = malloc(1 << 20);

	(void)state;
	memset(text, 'x', 1 << 20);
	text[(1 << 20) - 1] = '\0';
	for (pid_t pid = 1; pid < 3000; pid++)
		add_vm(&s, pid, pid & 1 ? "same" : text + (1 << 20) - 100);
	{
		void *p = &s;

		assert_fails(&p, text, STATUS_NOT_FOUND, " ...");
		assert_fails(&p, "same", STATUS_NOT_FOUND, "1 3 5 7");
		assert_fails(&p, "2/net0", STATUS_NOT_FOUND, "no device net0");
	}
	state_free(&s);
	free(text);
}

/* By pid and fd it is found again, whatever the VM is called. */
static void fixed(void **state)
{
	static const struct {
		const char *typed, *fixed;
	} cases[] = {
		{ "vm1", "188" }, { "vm1/net1", "188/fd9" }, { "a/b/net0", "201/fd3" },
		{ "vm1/net0/tx", "188/fd8/1" }, { "vm1/scsi0/4,ctl,5", "188/fd10/0,4-5" },
	};
	struct state *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct selection sel = { 0 }, again = { 0 };
		struct error e = ERROR_INIT;

		assert_int_equal(target_resolve(s, cases[i].typed, &sel, &e), 0);
		_cleanup_free_ char *text = target_fixed(&sel.items[0]);

		assert_string_equal(text, cases[i].fixed);
		assert_int_equal(target_resolve(s, text, &again, &e), 0);
		assert_ptr_equal(again.items[0].device, sel.items[0].device);
		assert_true(ranges_equal(&again.items[0].queues, &sel.items[0].queues));
		selection_free(&sel);
		selection_free(&again);
	}
}

static void finding(void **state)
{
	const char *self[] = { NULL };
	struct state s = { 0 };
	struct selection sel = { 0 };
	struct error e = ERROR_INIT;
	char pid[16];

	(void)state;
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	self[0] = pid;
	assert_int_equal(target_find(self, 1, &s, &sel, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	assert_non_null(strstr(e.message, "holds no vhost device and no tap"));
	assert_string_equal(e.target, pid);
	state_free(&s);
	self[0] = "no such guest";
	assert_int_equal(target_find(self, 1, &s, &sel, &e), -1);
	state_free(&s);
	selection_free(&sel);
}

static void assert_error_target(const struct vm *vm, const char *before, const char *after)
{
	struct error e = ERROR_INIT;

	snprintf(e.target, sizeof(e.target), "%s", before);
	assert_int_equal(target_error(&e, vm), -1);
	assert_string_equal(e.target, after);
}

/* The VM once, whatever the layers below said. */
static void errors(void **state)
{
	struct state *s = *state;

	assert_error_target(&s->vms[0], "", "vm1");
	assert_error_target(&s->vms[0], "scsi0", "vm1/scsi0");
	assert_error_target(&s->vms[0], "vm1", "vm1");
	assert_error_target(&s->vms[0], "vm1/scsi0/9999", "vm1/scsi0/9999");
	assert_error_target(&s->vms[0], "vm10", "vm1/vm10");
	assert_error_target(&s->vms[1], "", "200");
	assert_error_target(&s->vms[1], "net0", "200/net0");
}

/* "--attach req0" of a VM that was named by its uuid, since another one has its name. */
static void queues_of_a_namesake(void **state)
{
	struct worker_command w = { .log.n = 0 };
	struct error e = ERROR_INIT;
	struct ranges queues;

	(void)state;
	add_vm(&w.state, 500, "twin");
	add_device(add_vm(&w.state, 501, "twin"), DEVICE_SCSI, "scsi0", 10, NULL);
	w.job.vm = &w.state.vms[1];
	w.job.device = &w.state.vms[1].devices[0];
	assert_int_equal(worker_queues(&w, "req0,5", &queues, &e), 0);
	assert_true(ranges_contain(&queues, 2) && ranges_contain(&queues, 5));
	ranges_free(&queues);
	assert_int_equal(worker_queues(&w, "tx", &queues, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	state_free(&w.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vms),	      cmocka_unit_test(devices),
		cmocka_unit_test(queues),     cmocka_unit_test(syntax),
		cmocka_unit_test(selected_queues), cmocka_unit_test(fixed),
		cmocka_unit_test(long_ones),  cmocka_unit_test(finding),
		cmocka_unit_test(errors),     cmocka_unit_test(queues_of_a_namesake),
	};

	return cmocka_run_group_tests_name("target", tests, setup, teardown);
}
