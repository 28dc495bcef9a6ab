// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <string.h>

#include "spread.h"
#include "util.h"

/* A device of 8 queues; workers[i] serves queue i. Carries out the plan on a copy of the map. */
struct world {
	struct queue queues[8];
	struct spread plan;
};

static void setup(struct world *w, const int *workers, const char *requests, unsigned int count)
{
	struct error e = ERROR_INIT;
	struct ranges r;

	memset(w, 0, sizeof(*w));
	for (unsigned int i = 0; i < 8; i++) {
		w->queues[i].index = i;
		w->queues[i].worker_id = workers[i];
	}
	assert_int_equal(ranges_parse(requests, &r, &e), 0);
	spread_plan(w->queues, 8, &r, count, &w->plan);
	ranges_free(&r);
}

/* New worker -1 becomes 101, -2 becomes 102. */
static void carry_out(struct world *w)
{
	for (size_t i = 0; i < w->plan.n_moves; i++) {
		const struct spread_move *m = &w->plan.moves[i];

		assert_int_equal(w->queues[m->queue].worker_id, m->from);
		w->queues[m->queue].worker_id = m->to < 0 ? 100 - m->to : m->to;
	}
	spread_free(&w->plan);
}

static void assert_map(const struct world *w, const int *workers)
{
	for (unsigned int i = 0; i < 8; i++)
		if (w->queues[i].worker_id != workers[i])
			fail_msg("queue %u has worker %d, not %d", i, (int)w->queues[i].worker_id, workers[i]);
}

static void test_one_for_each(void **state)
{
	struct world w;

	(void)state;
	setup(&w, (int[8]){ 0 }, "2-5", 4);
	assert_int_equal(w.plan.n_new, 4);
	assert_int_equal(w.plan.n_moves, 4);
	assert_int_equal(w.plan.n_unneeded, 0);
	carry_out(&w);
	assert_map(&w, (int[8]){ 0, 0, 101, 102, 103, 104, 0, 0 });
}

static void test_second_run_changes_nothing(void **state)
{
	static const int maps[][8] = {
		{ 0, 0, 1, 2, 3, 4, 0, 0 }, { 0, 0, 4, 3, 2, 1, 0, 0 }, { 0, 0, 9, 2, 7, 5, 0, 0 },
	};
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		setup(&w, maps[i], "2-5", 4);
		assert_int_equal(w.plan.n_new + w.plan.n_moves + w.plan.n_unneeded, 0);
		spread_free(&w.plan);
	}
	setup(&w, (int[8]){ 0, 0, 1, 2, 2, 1, 1, 0 }, "2-6", 2);
	assert_int_equal(w.plan.n_new + w.plan.n_moves + w.plan.n_unneeded, 0);
	spread_free(&w.plan);
}

static void test_one_brings_it_back(void **state)
{
	struct world w;

	(void)state;
	setup(&w, (int[8]){ 0, 0, 1, 2, 3, 4, 0, 0 }, "2-5", 1);
	assert_int_equal(w.plan.n_new, 0);
	assert_int_equal(w.plan.n_moves, 4);
	assert_int_equal(w.plan.n_unneeded, 4);
	carry_out(&w);
	assert_map(&w, (int[8]){ 0 });
}

static void test_few_moves(void **state)
{
	struct world w;

	(void)state;
	/* Three of worker 1's five queues may stay. */
	setup(&w, (int[8]){ 0, 0, 1, 1, 1, 1, 1, 0 }, "2-6", 2);
	assert_int_equal(w.plan.n_new, 1);
	assert_int_equal(w.plan.n_moves, 2);
	carry_out(&w);
	assert_map(&w, (int[8]){ 0, 0, 1, 1, 1, 101, 101, 0 });
	/* The larger share stays with who has it. */
	setup(&w, (int[8]){ 0, 0, 1, 2, 2, 0, 0, 0 }, "2-4", 2);
	assert_int_equal(w.plan.n_moves, 0);
	spread_free(&w.plan);
}

static void test_fewer_workers(void **state)
{
	struct world w;

	(void)state;
	setup(&w, (int[8]){ 0, 0, 1, 2, 3, 4, 0, 0 }, "2-5", 2);
	assert_int_equal(w.plan.n_new, 0);
	assert_int_equal(w.plan.n_moves, 2);
	assert_int_equal(w.plan.n_unneeded, 2);
	assert_int_equal(w.plan.unneeded[0], 3);
	assert_int_equal(w.plan.unneeded[1], 4);
	carry_out(&w);
	assert_map(&w, (int[8]){ 0, 0, 1, 2, 1, 2, 0, 0 });
}

static void test_others_go_to_the_default_worker(void **state)
{
	struct world w;

	(void)state;
	setup(&w, (int[8]){ 5, 1, 1, 0, 0, 0, 0, 6 }, "2-3", 2);
	assert_int_equal(w.plan.n_new, 1);
	assert_int_equal(w.plan.n_unneeded, 2);
	carry_out(&w);
	assert_map(&w, (int[8]){ 0, 0, 1, 101, 0, 0, 0, 0 });
}

/* Any map and any count: shares differ by one at most, none above the plan, nothing left over. */
static void test_always_even(void **state)
{
	unsigned int seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t shares[256] = { 0 }, least = 8, most = 0;
		unsigned int count;
		struct world w;
		int map[8];

		for (int i = 0; i < 8; i++) {
			seed = seed * 1103515245 + 12345;
			map[i] = (int)(seed >> 16) % 5;
		}
		count = 1 + (seed >> 20) % 6;
		setup(&w, map, "2-7", count);
		carry_out(&w);
		assert_int_equal(w.queues[0].worker_id, 0);
		assert_int_equal(w.queues[1].worker_id, 0);
		for (int i = 2; i < 8; i++)
			shares[w.queues[i].worker_id]++;
		if (count > 1)
			assert_int_equal(shares[0], 0);
		for (size_t i = 0, n = 0; i < 256; i++) {
			if (!shares[i])
				continue;
			least = shares[i] < least ? shares[i] : least;
			most = shares[i] > most ? shares[i] : most;
			assert_true(++n <= count);
		}
		assert_true(most - least <= 1);
		assert_int_equal(most, (6 + count - 1) / count);
		for (int i = 0; i < 8; i++)
			map[i] = (int)w.queues[i].worker_id;
		setup(&w, map, "2-7", count);
		assert_int_equal(w.plan.n_new + w.plan.n_moves + w.plan.n_unneeded, 0);
		spread_free(&w.plan);
	}
}

/* As in /proc: blanks become NULs. */
static unsigned int told(const char *words, int fd, bool sole)
{
	char text[512];
	size_t len = strlen(words);

	memcpy(text, words, len + 1);
	for (size_t i = 0; i < len; i++)
		if (text[i] == ' ')
			text[i] = '\0';
	return spread_cmdline_queues(text, len + 1, fd, sole);
}

static void test_cmdline(void **state)
{
	(void)state;
	assert_int_equal(told("qemu -device vhost-scsi-pci,wwpn=naa.6,num_queues=4", 9, true), 4);
	assert_int_equal(told("qemu -device {\"driver\":\"vhost-scsi-pci\",\"num_queues\":8}", 9, true), 8);
	assert_int_equal(told("qemu -device vhost-scsi-ccw,num_queues=2 -device virtio-scsi-pci,num_queues=9", 9,
			      true), 2);
	/* Not told, or not for sure. */
	assert_int_equal(told("qemu -device vhost-scsi-pci,wwpn=naa.6", 9, true), 0);
	assert_int_equal(told("qemu -device vhost-user-scsi-pci,num_queues=4", 9, true), 0);
	assert_int_equal(told("qemu -device vhost-scsi-pci,num_queues=4", 9, false), 0);
	assert_int_equal(told("qemu -device vhost-scsi-pci,num_queues=4 -device vhost-scsi-pci,num_queues=2", 9,
			      true), 0);
	assert_int_equal(told("qemu -device vhost-scsi-pci,num_queues=4,id=s -set device.s.num_queues=2", 9, true),
			 0);
	assert_int_equal(told("qemu -global vhost-scsi-pci.num_queues=2 -device vhost-scsi-pci,num_queues=4", 9,
			      true), 0);
	assert_int_equal(told("qemu -device vhost-scsi-pci,num_queues=-4", 9, true), 0);
	assert_int_equal(told("other -device vhost-scsi-pci,num_queues=4", 9, false), 0);
	/* A device is known by its fd among several. */
	assert_int_equal(told("qemu -device vhost-scsi-pci,vhostfd=9,num_queues=3 "
			      "-device vhost-scsi-pci,vhostfd=11,num_queues=5", 11, false), 5);
	assert_int_equal(told("qemu -device vhost-scsi-pci,vhostfd=9,num_queues=3", 11, false), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_for_each),
		cmocka_unit_test(test_second_run_changes_nothing),
		cmocka_unit_test(test_one_brings_it_back),
		cmocka_unit_test(test_few_moves),
		cmocka_unit_test(test_fewer_workers),
		cmocka_unit_test(test_others_go_to_the_default_worker),
		cmocka_unit_test(test_always_even),
		cmocka_unit_test(test_cmdline),
	};

	return cmocka_run_group_tests_name("spread", tests, NULL, NULL);
}
