// SPDX-License-Identifier: GPL-2.0-or-later
/* Settings as they are typed, what puts them back, and both sides of what was measured. */
#include <math.h>
#include <stdio.h>

#include "json_trial.h"
#include "samples.h"
#include "trial_report.h"
#include "trial_steps.h"
#include "unit.h"

static void test_settings(void **state)
{
	static const char *const bad[] = { "", "busyloop", "busyloop=", "busyloop=-1", "rx-frames=65", "rx-frames=x",
					   "workers=0", "workers=1025", "workers=", "workers=all", "nice=1" };
	struct trial_setting s;
	struct error e;

	(void)state;
	assert_int_equal(trial_parse("busyloop=1ms", &s, &e), 0);
	assert_int_equal(s.kind, TRIAL_BUSYLOOP);
	assert_int_equal(s.value, 1000);
	assert_int_equal(trial_parse("rx-frames=64", &s, &e), 0);
	assert_int_equal(s.kind, TRIAL_RX_FRAMES);
	assert_int_equal(s.value, 64);
	assert_int_equal(trial_parse("workers=per-queue", &s, &e), 0);
	assert_int_equal(s.kind, TRIAL_WORKERS);
	assert_int_equal(s.value, 0);
	assert_int_equal(trial_parse("workers=4", &s, &e), 0);
	assert_int_equal(s.value, 4);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(trial_parse(bad[i], &s, &e), -1);
		assert_int_equal(e.status, STATUS_USAGE);
	}
}

static void test_remedy(void **state)
{
	struct trial_undo undos[] = {
		{ .kind = TRIAL_BUSYLOOP, .fd = 8, .queue = 0, .value = 10 },
		{ .kind = TRIAL_BUSYLOOP, .fd = 8, .queue = 1, .value = 20 },
		{ .kind = TRIAL_BUSYLOOP, .fd = 9, .queue = 0, .value = 10 },
		{ .kind = TRIAL_BUSYLOOP, .fd = 9, .queue = 1, .value = 10 },
		{ .kind = TRIAL_RX_FRAMES, .fd = 3, .value = 0 },
		{ .kind = TRIAL_WORKERS, .fd = 12, .queue = 2, .value = 0 },
		{ .kind = TRIAL_WORKERS, .fd = 12, .queue = 4, .value = 1 },
		{ .kind = TRIAL_WORKERS, .fd = 12, .queue = 3, .value = 0 },
	};
	struct trial t = { .pid = 188, .undos = undos, .n_undos = ARRAY_SIZE(undos) }, none = { .pid = 188 };
	_cleanup_free_ char *text = trial_remedy(&t);

	(void)state;
	assert_null(trial_remedy(&none));
	assert_string_equal(text, "vhostctl -q busyloop set --force 188/fd8/0 10 && "
				  "vhostctl -q busyloop set --force 188/fd8/1 20 && "
				  "vhostctl -q busyloop set --force 188/fd9/0,1 10 && "
				  "vhostctl -q coalesce set 188/fd3 0 && "
				  "vhostctl -q worker attach 188/fd12/2,3 0 && "
				  "vhostctl -q worker attach 188/fd12/4 1 && "
				  "vhostctl -q worker free --idle 188/fd12");
}

/* Only what was set and is so still; one that fails keeps no other back. */
static void test_remedy_of_what_is_left(void **state)
{
	struct trial_undo undos[24] = {
		{ .kind = TRIAL_BUSYLOOP, .fd = 8, .queue = 0, .value = 10 },
		{ .kind = TRIAL_BUSYLOOP, .fd = 8, .queue = 1, .value = 10, .set = true },
		{ .kind = TRIAL_BUSYLOOP, .fd = 9, .queue = 0, .value = 10, .set = true, .lost = true },
		{ .kind = TRIAL_WORKERS, .fd = 12, .queue = 2, .value = 0, .set = true },
	};
	struct trial_worker made[] = { { 12, 5 }, { 13, 6 } };
	struct trial t = { .pid = 188, .undos = undos, .n_undos = ARRAY_SIZE(undos), .made = made,
			   .n_made = ARRAY_SIZE(made) };
	char *text;

	(void)state;
	trial_forget_made(&t, 13);
	for (size_t i = 4; i < ARRAY_SIZE(undos); i++)
		undos[i] = (struct trial_undo){ .kind = TRIAL_RX_FRAMES, .fd = (int)i + 100, .set = i > 22 };
	text = trial_remedy_left(&t);
	assert_string_equal(text, "vhostctl -q busyloop set --force 188/fd8/1 10; "
				  "vhostctl -q worker attach 188/fd12/2 0; "
				  "vhostctl -q coalesce set 188/fd123 0; "
				  "vhostctl -q worker free 188/fd12 5");
	free(text);
	for (size_t i = 4; i < ARRAY_SIZE(undos); i++)
		undos[i].set = true;
	text = trial_remedy_left(&t);
	assert_true(strlen(text) > 700);
	assert_non_null(strstr(text, "set 188/fd104 0; vhostctl -q coalesce set 188/fd105 0; "));
	free(text);
	t.n_undos = t.n_made = 0;
	assert_null(trial_remedy_left(&t));
}

/* Somebody else set one of two queues while the baseline was measured, and a third one. */
static void test_what_was_there_when_it_was_set(void **state)
{
	struct trial t = { .pid = 188 };
	char *text;

	(void)state;
	trial_add_undo(&t, TRIAL_BUSYLOOP, 8, 0, 10);
	trial_add_undo(&t, TRIAL_BUSYLOOP, 8, 1, 10);
	trial_add_undo(&t, TRIAL_BUSYLOOP, 9, 0, 10);
	trial_note_set(&t, TRIAL_BUSYLOOP, 8, 0, 10);
	trial_note_set(&t, TRIAL_BUSYLOOP, 8, 1, 30);
	trial_note_set(&t, TRIAL_BUSYLOOP, 9, 1, 40);
	text = trial_remedy_left(&t);
	assert_string_equal(text, "vhostctl -q busyloop set --force 188/fd8/0 10; "
				  "vhostctl -q busyloop set --force 188/fd8/1 30; "
				  "vhostctl -q busyloop set --force 188/fd9/1 40");
	free(text);
	trial_free(&t);
}

/* Fd 8 with the default worker @tid; the VM's threads are @first to @last. */
static struct vm vm_with(enum device_kind kind, int64_t tid, int64_t first, int64_t last)
{
	struct vm vm = { .pid = 188 };
	struct device *d = ARRAY_ADD(vm.devices, vm.n_devices);

	d->fd = 8;
	d->kind = kind;
	if (tid != UNKNOWN)
		*ARRAY_ADD(d->workers, d->n_workers) = (struct worker){ .id = 0, .tid = tid };
	for (; first <= last; first++)
		ARRAY_ADD(vm.threads, vm.n_threads)->tid = first;
	return vm;
}

static void test_same_device(void **state)
{
	static const struct {
		int64_t before, now, first, last;
		enum device_kind kind;
		enum trial_verdict verdict;
	} cases[] = {
		{ 11, 11, 10, 12, DEVICE_NET, TRIAL_SAME },
		{ 11, UNKNOWN, 10, 12, DEVICE_NET, TRIAL_SAME },
		{ 11, 11, 11, 11, DEVICE_NET, TRIAL_SAME },
		/* its worker has ended: with the device, whatever the fd is now */
		{ 11, 13, 12, 13, DEVICE_NET, TRIAL_CLOSED },
		{ 11, 13, 12, 13, DEVICE_SCSI, TRIAL_CLOSED },
		/* it runs, but not here */
		{ 11, 12, 10, 12, DEVICE_NET, TRIAL_UNTOLD },
		{ 11, UNKNOWN, 10, 12, DEVICE_SCSI, TRIAL_UNTOLD },
		/* whose is not known: all of them, or there is no telling */
		{ UNKNOWN, UNKNOWN, 10, 13, DEVICE_NET, TRIAL_SAME },
		{ UNKNOWN, UNKNOWN, 11, 13, DEVICE_NET, TRIAL_UNTOLD },
		{ UNKNOWN, UNKNOWN, 11, 13, DEVICE_SCSI, TRIAL_CLOSED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct vm then = vm_with(DEVICE_NET, cases[i].before, 10, 12);
		struct vm now = vm_with(cases[i].kind, cases[i].now, cases[i].first, cases[i].last);
		struct trial t = { .pid = 188 };

		trial_note_device(&t, &then, 9);
		assert_int_equal(t.n_devices, 0);
		trial_note_device(&t, &then, 8);
		trial_note_device(&t, &then, 8);
		assert_int_equal(t.n_devices, 1);
		assert_int_equal(trial_judge(&now, &t.devices[0]), cases[i].verdict);
		trial_free(&t);
		vm_free(&then);
		vm_free(&now);
	}
}

/* One worker, one queue, one tap; to be freed with rates_free(). */
static struct rates rates_with(double packets, const char *name)
{
	struct rates r = { .seconds = 0.5 };
	struct vm_rate *vm = ARRAY_ADD(r.vms, r.n_vms);
	struct device_rate *d;
	struct tap_rate *t;
	struct worker_rate *w;

	*vm = (struct vm_rate){ .pid = 188, .name = xstrdup(name), .cpu_percent = 100 };
	d = ARRAY_ADD(vm->devices, vm->n_devices);
	strcpy(d->id, "net0");
	d->kind = DEVICE_NET;
	*ARRAY_ADD(d->queues, d->n_queues) = (struct queue_rate){
		.index = 1, .name = "tx", .entries_per_s = NAN, .packets_per_s = packets };
	w = ARRAY_ADD(vm->workers, vm->n_workers);
	*w = (struct worker_rate){ .device = "net0", .tid = 191, .cpu_percent = 12.5, .ns_per_entry = NAN };
	t = ARRAY_ADD(vm->taps, vm->n_taps);
	*t = (struct tap_rate){ .ifname = "tap0", .rx_packets_per_s = packets };
	return r;
}

static void add(struct measure *m, enum side side, double packets, const char *name)
{
	struct rates r = rates_with(packets, name);

	measure_add(m, side, &r);
	rates_free(&r);
}

static const struct metric *find(const struct measure *m, const char *target, const char *name)
{
	for (size_t i = 0; i < m->n_metrics; i++)
		if (!strcmp(m->metrics[i].target, target) && !strcmp(m->metrics[i].name, name))
			return &m->metrics[i];
	fail_msg("no %s of %s", name, target);
	return NULL;
}

#define assert_about(a, b) assert_true(fabs((a) - (b)) < 1e-6)

static void test_measure(void **state)
{
	struct measure m = { .n_metrics = 0 };
	const struct metric *metric;

	(void)state;
	for (int i = 0; i < 3; i++)
		add(&m, SIDE_BASELINE, 100 + 10 * i, "vm1");
	add(&m, SIDE_TRIAL, NAN, "vm1");
	add(&m, SIDE_TRIAL, 220, "vm1");
	metric = find(&m, "vm1/net0/tx", "packets_per_s");
	assert_about(series_mean(&metric->sides[SIDE_BASELINE]), 110);
	assert_about(series_stddev(&metric->sides[SIDE_BASELINE]), 10);
	assert_about(metric->sides[SIDE_BASELINE].min, 100);
	assert_about(metric->sides[SIDE_BASELINE].max, 120);
	/* what was not known in a slice does not count, and one slice has no spread */
	assert_int_equal(metric->sides[SIDE_TRIAL].n, 1);
	assert_true(isnan(series_stddev(&metric->sides[SIDE_TRIAL])));
	assert_about(metric_ratio(metric), 2);
	assert_true(isnan(metric_ratio(find(&m, "vm1/tap0", "dropped_per_s"))));
	assert_true(isnan(series_mean(&find(&m, "vm1/net0/tx", "entries_per_s")->sides[SIDE_TRIAL])));
	assert_about(series_stddev(&find(&m, "vm1/net0/worker0", "cpu_percent")->sides[SIDE_BASELINE]), 0);
	assert_about(m.seconds[SIDE_BASELINE], 1.5);
	measure_free(&m);
}

static void print_report(const char *name, bool table)
{
	struct measure m = { .n_metrics = 0 };
	char setting[] = "busyloop=50", *settings[] = { setting };
	struct trial t = { .text = xstrdup(name), .pid = 188, .changes = sample_changes(name) };
	struct trial_report r = { .kernel = "6.1.0", .source = "snapshot", .settings = settings, .n_settings = 1,
				  .trial = &t, .measure = &m, .interrupted = table ? NULL : "SIGINT",
				  .notes = { "a note" }, .n_notes = 1 };
	_cleanup_free_ char *text = NULL;

	add(&m, SIDE_BASELINE, 1234567, name);
	add(&m, SIDE_BASELINE, 0.001, name);
	add(&m, SIDE_TRIAL, 7e9, name);
	text = table ? trial_table(&r, true, 80) : json_trial(&r, false);
	if (!table)
		fputs(text, stdout);
	if (table) {
		for (const char *p = text; *p; p += strcspn(p, "\n") + 1)
			assert_true(strcspn(p, "\n") <= 80);
		for (const char *p = text; *p; p++)
			assert_true(*p == '\n' || ((unsigned char)*p >= 0x20 && *p != 0x7f));
	}
	measure_free(&m);
	trial_free(&t);
}

static void test_table_fits(void **state)
{
	(void)state;
	print_report(HOSTILE, true);
	print_report("vm1", true);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_remedy),
		cmocka_unit_test(test_remedy_of_what_is_left),
		cmocka_unit_test(test_what_was_there_when_it_was_set),
		cmocka_unit_test(test_same_device),
		cmocka_unit_test(test_measure),
		cmocka_unit_test(test_table_fits),
	};

	if (argc == 2 && strcmp(argv[1], "--print") == 0) {
		print_report("vm1", false);
		print_report(HOSTILE, false);
		return 0;
	}
	return cmocka_run_group_tests_name("trial", tests, NULL, NULL);
}
