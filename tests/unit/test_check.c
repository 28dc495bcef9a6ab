// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "util.h"

static const struct check_item *item(const struct check_list *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->items[i].name, name))
			return &list->items[i];
	fail_msg("no check %s", name);
	return NULL;
}

static void assert_item(const struct check_list *list, const char *name, int ok, const char *reason)
{
	const struct check_item *it = item(list, name);

	if (it->ok != ok || !strstr(it->reason, reason))
		fail_msg("%s: %d %s", name, it->ok, it->reason);
}

static void releases(void **state)
{
	(void)state;
	assert_int_equal(check_release("6.12.95+deb12-amd64"), 0x60c);
	assert_int_equal(check_release("6.5-rc1"), 0x605);
	assert_true(check_release("7.3.0") > check_release("6.18.1"));
	assert_int_equal(check_release("linux"), 0);
	assert_int_equal(check_release(""), 0);
	assert_int_equal(check_release("6.300"), 0);
}

static void status_plain(void **state)
{
	static const char s[] = "Name:\tq\nState:\tS (sleeping)\nTracerPid:\t0\nSeccomp:\t0\n"
				"Seccomp_filters:\t0\nx86_Thread_features:\t\n";
	struct check_list list = { 0 };

	(void)state;
	check_status_text(s, sizeof(s) - 1, &list);
	assert_int_equal(list.n, 4);
	for (size_t i = 0; i < list.n; i++)
		assert_int_equal(list.items[i].ok, CHECK_OK);
	free(list.items);
}

static void status_hindered(void **state)
{
	static const char s[] = "State:\tT (stopped)\nTracerPid:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n"
				"x86_Thread_features:\tshstk wrss \n";
	static const char strict[] = "State:\tt (tracing stop)\nTracerPid:\t999999999\nSeccomp:\t1\n";
	struct check_list list = { 0 };

	(void)state;
	check_status_text(s, sizeof(s) - 1, &list);
	assert_item(&list, "not_stopped", CHECK_NO, "workers not changed");
	assert_item(&list, "not_traced", CHECK_NO, "process 1 (");
	assert_item(&list, "seccomp", CHECK_UNKNOWN, "3 filters");
	assert_item(&list, "shadow_stack", CHECK_NO, "in use");
	free(list.items);
	list = (struct check_list){ 0 };
	check_status_text(strict, sizeof(strict) - 1, &list);
	assert_item(&list, "not_stopped", CHECK_NO, "by its tracer");
	assert_item(&list, "not_traced", CHECK_NO, "999999999 (gone)");
	assert_item(&list, "seccomp", CHECK_NO, "strict");
	free(list.items);
	list = (struct check_list){ 0 };
	check_status_text("", 0, &list);
	assert_item(&list, "not_traced", CHECK_UNKNOWN, "");
	assert_item(&list, "not_stopped", CHECK_UNKNOWN, "");
	assert_item(&list, "seccomp", CHECK_UNKNOWN, "");
	free(list.items);
}

/* The host's own answers, against what is known to be so here. */
static void host(void **state)
{
	struct check c = { .n_vms = 0 };

	(void)state;
	check_host(&c);
	assert_true(c.kernel[0]);
	assert_int_equal(c.host.n, 15);
	item(&c.host, "vhost_net");
	item(&c.host, "worker_mode");
	item(&c.host, "snapshot");
	if (!access("/dev/vhost-net", F_OK) && !access("/sys/module/vhost_net", F_OK))
		assert_item(&c.host, "vhost_net", CHECK_OK, "10:238");
	for (size_t i = 0; i < c.host.n; i++)
		assert_true(c.host.items[i].reason[0]);
	check_free(&c);
}

static void traced_child(void **state)
{
	struct error e = ERROR_INIT;
	struct check c = { .n_vms = 0 };
	struct vm vm = { .pid = fork() };
	char self[32];

	(void)state;
	if (vm.pid == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(check_vm(&c, &vm, &e), 0);
	assert_item(&c.vms[0].list, "not_traced", CHECK_OK, "");
	assert_item(&c.vms[0].list, "not_stopped", CHECK_OK, "");
	item(&c.vms[0].list, "not_frozen");
	kill(vm.pid, SIGSTOP);
	waitpid(vm.pid, NULL, WUNTRACED);
	if (ptrace(PTRACE_SEIZE, vm.pid, NULL, NULL) == 0) {
		assert_int_equal(check_vm(&c, &vm, &e), 0);
		assert_item(&c.vms[1].list, "not_stopped", CHECK_NO, "stopped");
		snprintf(self, sizeof(self), "process %d (", (int)getpid());
		assert_item(&c.vms[1].list, "not_traced", CHECK_NO, self);
		assert_item(&c.vms[1].list, "may_trace", CHECK_OK, "");
	}
	check_free(&c);
	kill(vm.pid, SIGKILL);
	waitpid(vm.pid, NULL, 0);
	assert_int_equal(check_vm(&c, &vm, &e), -1);
	assert_int_equal(e.status, STATUS_NOT_FOUND);
	check_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(releases), cmocka_unit_test(status_plain),
		cmocka_unit_test(status_hindered), cmocka_unit_test(host),
		cmocka_unit_test(traced_child),
	};

	return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
