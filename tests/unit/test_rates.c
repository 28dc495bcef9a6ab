// SPDX-License-Identifier: GPL-2.0-or-later
/* From two samples to rates, and rates as JSON and as a table; a sample as OpenMetrics. */
#include <linux/virtio_net.h>
#include <math.h>
#include <stdio.h>

#include "json_rates.h"
#include "openmetrics.h"
#include "rates.h"
#include "rates_table.h"
#include "samples.h"
#include "unit.h"

#define S 1000000000LL

static void one_queue_tap(struct state *s)
{
	struct device *net = &s->vms[0].devices[0];

	s->vms[0].taps[0].n_fds = 1;
	s->vms[0].taps[0].multi_queue = 0;
	net->inside.tap_ifindex = s->vms[0].taps[0].ifindex;
	net->inside.tap_netns = s->vms[0].taps[0].netns;
	for (size_t i = 0; i < net->n_queues; i++)
		net->queues[i].busyloop_usecs = 50;
}

/* @seconds after the first one; @busy: of each second, ns that the worker ran. */
static struct stat_sample sample_at(int seconds, int64_t busy)
{
	struct stat_sample s = { .at_ns = seconds * S, .time = 1764504000 + seconds, .ticks_per_s = 100,
			    .state = sample_snapshot() };
	struct vm *vm = &s.state.vms[0];
	struct vm_count *c;

	one_queue_tap(&s.state);
	s.counts = xcalloc(s.state.n_vms, sizeof(*s.counts));
	c = &s.counts[0];
	for (size_t i = 0; i < s.state.n_vms; i++)
		s.counts[i].process = (struct thread_count){
			.at_ns = s.at_ns, .user_ticks = 50 * seconds, .system_ticks = 25 * seconds };
	*ARRAY_ADD(c->threads, c->n_threads) = (struct thread_count){
		.tid = 191, .start_time = 5, .comm = "vhost-188", .at_ns = s.at_ns,
		.cpu_ns = seconds * busy, .wait_ns = seconds * S / 10, .user_ticks = 0,
		.system_ticks = seconds * 50, .voluntary = seconds * 300, .involuntary = seconds * 20 };
	for (unsigned int i = 0; i < 2; i++)
		*ARRAY_ADD(c->rings, c->n_rings) = (struct ring_count){
			.fd = vm->devices[0].fd, .index = i,
			.total = { .entries = (uint64_t)seconds * (i ? 1000 : 20), .at_ns = s.at_ns } };
	c->tap_at_ns = xcalloc(vm->n_taps, sizeof(*c->tap_at_ns));
	c->tap_at_ns[0] = s.at_ns;
	vm->taps[0].rx_packets = 77 + seconds * 990;
	vm->taps[0].tx_packets = seconds * 20;
	vm->taps[0].rx_bytes = seconds * 64000;
	vm->taps[0].tx_bytes = seconds * 2000;
	vm->taps[0].rx_dropped = seconds * 10;
	vm->taps[0].tx_dropped = 0;
	return s;
}

static struct rates rates_between(struct stat_sample from, struct stat_sample to)
{
	struct rates r;

	rates_make(&from, &to, &r);
	sample_free(&from);
	sample_free(&to);
	return r;
}

#define assert_about(a, b) assert_true(fabs((a) - (b)) < 1e-6)

static void test_rates(void **state)
{
	struct rates r = rates_between(sample_at(1, S / 4), sample_at(3, S / 4));
	const struct vm_rate *vm = &r.vms[0];
	const struct queue_rate *q = vm->devices[0].queues;

	(void)state;
	assert_about(r.seconds, 2);
	assert_about(vm->workers[0].cpu_percent, 25);
	assert_about(vm->workers[0].system_percent, 50);
	assert_about(vm->workers[0].wait_percent, 10);
	assert_about(vm->workers[0].voluntary_per_s, 300);
	assert_about(vm->workers[0].involuntary_per_s, 20);
	assert_string_equal(vm->workers[0].device, "net0");
	assert_int_equal(vm->workers[0].id, 0);
	assert_about(vm->workers[0].ns_per_entry, S / 4.0 / 1020);
	assert_about(q[0].packets_per_s, 20);
	assert_about(q[1].packets_per_s, 990);
	assert_int_equal(q[1].packets_source, PACKETS_TAP);
	assert_about(q[1].entries_per_s, 1000);
	assert_about(vm->taps[0].rx_dropped_per_s, 10);
	assert_about(vm->rx_bytes_per_s, 64000);
	assert_about(vm->cpu_percent, 75);
	assert_about(vm->worker_cpu_percent, 25);
	rates_free(&r);
}

static void test_spinning(void **state)
{
	struct rates r = rates_between(sample_at(1, S), sample_at(2, S));

	(void)state;
	/* a whole CPU for 1,020 entries */
	assert_int_equal(r.vms[0].workers[0].spinning, 1);
	rates_free(&r);
	r = rates_between(sample_at(1, S / 4), sample_at(2, S / 4));
	assert_int_equal(r.vms[0].workers[0].spinning, 0);
	rates_free(&r);
	assert_int_equal(rates_is_spinning(50, 100, 1000), 0);
	assert_int_equal(rates_is_spinning(0, 100, 1e6), 0);
	assert_int_equal(rates_is_spinning(50, 100, NAN), UNKNOWN);
	assert_int_equal(rates_is_spinning(50, 100, INFINITY), 1);
	assert_int_equal(rates_is_spinning(UNKNOWN, 100, 1e6), UNKNOWN);
	assert_int_equal(rates_is_spinning(50, NAN, 1e6), UNKNOWN);
}

/* A thread, a tap or a VM of the same number that is another one has no rates. */
static void test_identity(void **state)
{
	struct stat_sample from = sample_at(1, S), to = sample_at(2, S);
	struct rates r;

	(void)state;
	to.counts[0].threads[0].start_time++;
	to.state.vms[0].taps[0].ifindex++;
	to.state.vms[0].devices[0].inside.tap_ifindex++;
	rates_make(&from, &to, &r);
	assert_true(isnan(r.vms[0].workers[0].cpu_percent));
	assert_true(isnan(r.vms[0].taps[0].rx_packets_per_s));
	assert_true(isnan(r.vms[0].rx_packets_per_s));
	/* tx: one entry a packet, whatever the tap is */
	assert_int_equal(r.vms[0].devices[0].queues[1].packets_source, PACKETS_RING);
	rates_free(&r);
	to.state.vms[0].start_time++;
	rates_make(&from, &to, &r);
	assert_int_equal(r.n_vms, 0);
	rates_free(&r);
	sample_free(&from);
	sample_free(&to);
}

/* The ring went round unseen: the tap tells how often. */
static void test_the_tap_settles_a_doubt(void **state)
{
	struct stat_sample from = sample_at(1, S), to = sample_at(2, S);
	struct rates r;

	(void)state;
	to.counts[0].rings[1].total.doubts = 1;
	to.counts[0].rings[1].total.entries = from.counts[0].rings[1].total.entries + 1000;
	to.state.vms[0].taps[0].rx_packets = from.state.vms[0].taps[0].rx_packets + 65536 + 990;
	rates_make(&from, &to, &r);
	assert_about(r.vms[0].devices[0].queues[1].entries_per_s, 65536 + 1000);
	rates_free(&r);
	/* two queues: it fits neither as it is nor can it be told whose the round was */
	to.state.vms[0].taps[0].n_fds = 2;
	rates_make(&from, &to, &r);
	assert_true(isnan(r.vms[0].devices[0].queues[1].entries_per_s));
	rates_free(&r);
	sample_free(&from);
	sample_free(&to);
}

static void test_a_counter_that_fell(void **state)
{
	struct rates r = rates_between(sample_at(3, S), sample_at(2, S));

	(void)state;
	assert_true(isnan(r.vms[0].workers[0].cpu_percent));
	assert_true(isnan(r.vms[0].devices[0].queues[0].entries_per_s));
	rates_free(&r);
}

static void test_table_fits(void **state)
{
	const struct rates_style narrow = { .width = 80, .height = 24 };
	struct rates r = rates_between(sample_at(1, S), sample_at(2, S));
	_cleanup_free_ char *text = rates_table(&r, &narrow);
	int lines = 0;

	(void)state;
	for (const char *p = text; *p; p += strcspn(p, "\n") + 1) {
		assert_true(strcspn(p, "\n") <= 80);
		lines++;
	}
	assert_true(lines > 8 && lines <= 24);
	assert_non_null(strstr(text, " net0 0               191    100.0     10.0    320.0"));
	assert_non_null(strstr(text, "  spinning\n"));
	assert_non_null(strstr(text, " net0/tx            990.0     1000"));
	rates_free(&r);
}

static void test_a_counter_of_entries_begins_anew_after_a_doubt(void **state)
{
	struct stat_sample a = sample_at(1, S), b = sample_at(2, S), c = sample_at(3, S);
	const struct vm *vm = &a.state.vms[0];
	struct ring_bases rings = { 0 };

	(void)state;
	ring_bases_update(&rings, &a);
	assert_int_equal(ring_bases_entries(&rings, vm, &a.counts[0].rings[1]), -1);
	b.counts[0].rings[1].total.doubts = c.counts[0].rings[1].total.doubts = 1;
	ring_bases_update(&rings, &b);
	assert_int_equal(ring_bases_entries(&rings, vm, &b.counts[0].rings[0]), 20);
	assert_int_equal(ring_bases_entries(&rings, vm, &b.counts[0].rings[1]), -1);
	ring_bases_update(&rings, &c);
	assert_int_equal(ring_bases_entries(&rings, vm, &c.counts[0].rings[0]), 40);
	assert_int_equal(ring_bases_entries(&rings, vm, &c.counts[0].rings[1]), 1000);
	c.counts[0].n_rings = 1;
	ring_bases_update(&rings, &c);
	assert_int_equal(rings.n, 1);
	ring_bases_free(&rings);
	sample_free(&a);
	sample_free(&b);
	sample_free(&c);
}

static struct stat_sample hostile_sample(void)
{
	struct stat_sample s = { .ticks_per_s = 100, .state = sample_hostile() };

	s.counts = xcalloc(s.state.n_vms, sizeof(*s.counts));
	for (size_t i = 0; i < s.state.n_vms; i++) {
		s.counts[i].tap_at_ns = xcalloc(s.state.vms[i].n_taps + 1, sizeof(int64_t));
		s.counts[i].process.user_ticks = s.counts[i].process.system_ticks = UNKNOWN;
	}
	return s;
}

static void test_hostile_names(void **state)
{
	const struct rates_style style = { .utf8 = true, .width = 80 };
	struct rates r = rates_between(hostile_sample(), hostile_sample());
	_cleanup_free_ char *text = rates_table(&r, &style);

	(void)state;
	for (const char *p = text; *p; p++)
		assert_true(*p == '\n' || ((unsigned char)*p >= 0x20 && *p != 0x7f));
	rates_free(&r);
}

static void print(char *text)
{
	fputs(text, stdout);
	free(text);
}

/* For test_schema.sh and test_openmetrics.sh. */
static int print_json(void)
{
	struct rates r = rates_between(sample_at(1, S), sample_at(2, S));

	print(json_rates(&r, false));
	print(json_rates(&r, true));
	rates_free(&r);
	r = rates_between(hostile_sample(), hostile_sample());
	print(json_rates(&r, false));
	rates_free(&r);
	return 0;
}

static int print_openmetrics(const char *which)
{
	bool hostile = !strcmp(which, "hostile");
	struct stat_sample from = hostile ? hostile_sample() : sample_at(1, S);
	struct stat_sample to = hostile ? hostile_sample() : sample_at(3, S);
	struct ring_bases rings = { 0 };

	ring_bases_update(&rings, &from);
	ring_bases_update(&rings, &to);
	print(openmetrics(&to, strcmp(which, "once") ? &rings : NULL));
	ring_bases_free(&rings);
	sample_free(&from);
	sample_free(&to);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_spinning),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_the_tap_settles_a_doubt),
		cmocka_unit_test(test_a_counter_that_fell),
		cmocka_unit_test(test_a_counter_of_entries_begins_anew_after_a_doubt),
		cmocka_unit_test(test_table_fits),
		cmocka_unit_test(test_hostile_names),
	};

	if (argc == 2 && strcmp(argv[1], "--print") == 0)
		return print_json();
	if (argc == 3 && strcmp(argv[1], "--openmetrics") == 0)
		return print_openmetrics(argv[2]);
	return cmocka_run_group_tests_name("rates", tests, NULL, NULL);
}
